//! Messages between the parent and a host process over their Unix socket.
//!
//! | parent | host |
//! |---|---|
//! | [`ToHost::SetUp`] with a [`HostPlan`] | [`FromHost::Ready`] with its TUN device, or [`FromHost::Failed`] |
//! | [`ToHost::Start`] with the origin of the clock | [`FromHost::Events`], at least every 10 ms |
//! | [`ToHost::Stop`] | the last [`FromHost::Events`], then [`FromHost::Done`] |
//!
//! A frame is the length of the message (4 bytes, native byte order) and the message in the postcard format, in which events
//! are records of fixed length. The end of the socket ends the host.

use super::plan::HostPlan;
use fairwind_measure::{CongestionState, FailureReason, FlowId, Observation, SenderCounts};
use fairwind_units::{Instant, Span};
use serde::{Deserialize, Serialize};
use std::io::{ErrorKind, Read as _};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// The version of the protocol: parent and host come from the same build.
pub const PROTOCOL_VERSION: u32 = 7;

/// Messages from the parent to a host.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum ToHost {
    /// Become this host.
    SetUp(Box<HostPlan>),
    /// Begin; this is what `CLOCK_MONOTONIC` shows at the run's instant zero, which may lie ahead.
    Start(Instant),
    /// Report the last samples and statistics, and end.
    Stop,
}

/// Messages from a host to the parent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum FromHost {
    /// Everything is set up; the descriptor of its TUN device comes along.
    Ready,
    /// It cannot go on: what was tried, on what, what the system said, and what may be done about it.
    Failed(String),
    /// What has happened.
    Events(EventBatch),
    /// The last message.
    Done(HostStatistics),
}

/// Events in the order of their instants.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct EventBatch {
    /// All later events of this host are at or after this instant.
    pub watermark: Instant,
    /// What happened.
    #[serde(with = "records")]
    pub events: Vec<HostEvent>,
}

/// Statistics of a host, reported at the end.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HostStatistics {
    /// Writes that were due at an instant.
    pub timed_writes: u64,
    /// Their mean lateness.
    pub mean_lateness: Span,
    /// 99th percentile of their lateness, to 1 %.
    pub p99_lateness: Span,
    /// Their largest lateness.
    pub greatest_lateness: Span,
    /// Connections from unexpected addresses.
    pub unexpected_connections: u64,
    /// Connections that the other end broke off while this host was reading.
    pub broken_while_reading: u64,
    /// Checked bytes that differed from the pattern.
    pub wrong_bytes: u64,
    /// Bytes that were compared with the pattern.
    pub checked_bytes: u64,
    /// What limited the host's senders.
    pub senders: Vec<SenderStatistics>,
}

/// What the kernel counted of one sender until the end of the run, or of its connection (`struct tcp_info`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SenderStatistics {
    /// The flow of what it sent.
    pub flow: u32,
    /// The counts.
    pub counts: SenderCounts,
}

/// An event of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostEvent {
    /// By the host's clock, since the run's origin.
    pub at: Instant,
    /// The flow.
    pub flow: u32,
    /// What happened.
    pub kind: EventKind,
}

/// Event of a flow at a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// The application wrote, up to this offset.
    Written(u64),
    /// The application read in order, up to this offset.
    Read(u64),
    /// An answer has been read whole; its request was written at this instant.
    Answered(Instant),
    /// A datagram with so many bytes of payload was read.
    DatagramRead {
        /// Bytes of payload.
        payload_bytes: u32,
        /// When it was written; `None` if it has no room to say so.
        written: Option<Instant>,
        /// Its number in its stream, likewise; below the greatest that there is.
        number: Option<u64>,
    },
    /// A connection is opened that had to wait for another one's end.
    Opened,
    /// The connection was established at the end that writes.
    Established,
    /// The reader has read everything, the end included.
    Finished,
    /// The opener's connection was given up, for this errno.
    Failed(i32),
    /// The retransmission timer expired, at some time since the last look.
    Timeout,
    /// Fast recovery was entered, at some time since the last look.
    FastRetransmit,
    /// A sample of the sender's state.
    Endpoint(EndpointState),
}

/// A sample of a sender's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndpointState {
    /// Congestion window in segments.
    pub cwnd_packets: u32,
    /// Slow-start threshold in segments; `None` while it is unlimited.
    pub ssthresh_packets: Option<u32>,
    /// Smoothed round-trip time, in whole microseconds; `None` before the first measurement.
    pub smoothed_rtt: Option<Span>,
    /// Segments in flight.
    pub flight_packets: u32,
    /// State of loss recovery.
    pub state: CongestionState,
}

impl HostEvent {
    /// The event as the measures take it.
    pub fn observation(&self) -> Observation<'static> {
        let flow = FlowId(self.flow);
        match self.kind {
            EventKind::Written(end_offset) => Observation::Written { flow, end_offset },
            EventKind::Read(end_offset) => Observation::Read { flow, end_offset },
            EventKind::Answered(asked) => Observation::Answered { flow, asked },
            EventKind::Opened => Observation::Opened { flow },
            EventKind::Established => Observation::Established { flow },
            EventKind::Finished => Observation::Finished { flow },
            EventKind::DatagramRead { payload_bytes, written, number } => {
                Observation::DatagramRead { flow, payload_bytes, written, number }
            }
            EventKind::Failed(errno) => Observation::Failed { flow, reason: reason_of(errno) },
            EventKind::Timeout => Observation::Timeout { flow },
            EventKind::FastRetransmit => Observation::FastRetransmit { flow },
            EventKind::Endpoint(state) => Observation::Endpoint {
                flow,
                cwnd_packets: state.cwnd_packets,
                ssthresh_packets: state.ssthresh_packets,
                smoothed_rtt: state.smoothed_rtt,
                flight_packets: state.flight_packets,
                state: state.state,
            },
        }
    }
}

/// Why a connection was given up that ended with this error.
fn reason_of(errno: i32) -> FailureReason {
    match errno {
        libc::ECONNREFUSED | libc::ECONNRESET | libc::EPIPE => FailureReason::Reset,
        libc::ETIMEDOUT => FailureReason::TimedOut,
        libc::EHOSTUNREACH | libc::ENETUNREACH => FailureReason::Unreachable,
        _ => FailureReason::Other,
    }
}

/// The states in the kernel's order (`enum tcp_ca_state`).
const STATES: [CongestionState; 5] = [
    CongestionState::Open,
    CongestionState::Disorder,
    CongestionState::WindowReduced,
    CongestionState::Recovery,
    CongestionState::Loss,
];

/// The state that the kernel has this number for.
pub(crate) fn state_of(number: u16) -> Option<CongestionState> {
    STATES.get(usize::from(number)).copied()
}

/// Length of the record of an event:
///
/// | bytes | content |
/// |---|---|
/// | 0-7 | instant, nanoseconds since the run's origin |
/// | 8-11 | flow |
/// | 12-13 | kind |
/// | 14-15 | congestion state |
/// | 16-23 | offset, count, errno, instant, or window and threshold |
/// | 24-31 | smoothed round-trip time in nanoseconds, or bytes |
/// | 32-39 | segments in flight |
///
/// Postcard's own format of an event has a third of the bytes, but takes 220 instructions to write and 210 to read,
/// where a record takes 72 and 45.
const RECORD_BYTES: usize = 40;

/// Value of an unlimited slow-start threshold.
const NO_THRESHOLD: u32 = u32::MAX;

impl HostEvent {
    /// Appends the record of this event.
    pub fn append_to(&self, bytes: &mut Vec<u8>) {
        let (kind, small, numbers): (u16, u16, [u64; 3]) = match self.kind {
            EventKind::Written(offset) => (0, 0, [offset, 0, 0]),
            EventKind::Read(offset) => (1, 0, [offset, 0, 0]),
            EventKind::Established => (2, 0, [0; 3]),
            EventKind::Finished => (3, 0, [0; 3]),
            EventKind::Failed(errno) => (4, 0, [u64::from(errno.unsigned_abs()), 0, 0]),
            EventKind::Timeout => (5, 0, [0; 3]),
            EventKind::FastRetransmit => (6, 0, [0; 3]),
            EventKind::Answered(asked) => (8, 0, [asked.as_nanos(), 0, 0]),
            EventKind::DatagramRead { payload_bytes, written, number } => {
                let written = written.unwrap_or(Instant::MAX).as_nanos();
                (9, 0, [written, payload_bytes.into(), number.unwrap_or(u64::MAX)])
            }
            EventKind::Opened => (10, 0, [0; 3]),
            EventKind::Endpoint(state) => (7, state_number(state.state), state.numbers()),
        };
        bytes.extend_from_slice(&self.at.as_nanos().to_ne_bytes());
        bytes.extend_from_slice(&self.flow.to_ne_bytes());
        bytes.extend_from_slice(&kind.to_ne_bytes());
        bytes.extend_from_slice(&small.to_ne_bytes());
        for number in numbers {
            bytes.extend_from_slice(&number.to_ne_bytes());
        }
    }

    /// The event of a record; `None` if the record is none.
    pub fn from_record(record: &[u8; RECORD_BYTES]) -> Option<Self> {
        let (words, _) = record.as_chunks::<8>();
        let [at, head, numbers @ ..] = words else { return None };
        let [f0, f1, f2, f3, k0, k1, s0, s1] = *head;
        let numbers = <[[u8; 8]; 3]>::try_from(numbers).ok()?.map(u64::from_ne_bytes);
        let kind = match u16::from_ne_bytes([k0, k1]) {
            0 => EventKind::Written(numbers[0]),
            1 => EventKind::Read(numbers[0]),
            2 => EventKind::Established,
            3 => EventKind::Finished,
            4 => EventKind::Failed(i32::try_from(numbers[0]).ok()?),
            5 => EventKind::Timeout,
            6 => EventKind::FastRetransmit,
            10 => EventKind::Opened,
            8 => EventKind::Answered(Instant::from_nanos(numbers[0])),
            9 => EventKind::DatagramRead {
                payload_bytes: u32::try_from(numbers[1]).ok()?,
                written: Some(Instant::from_nanos(numbers[0])).filter(|&at| at != Instant::MAX),
                number: Some(numbers[2]).filter(|&number| number != u64::MAX),
            },
            7 => EventKind::Endpoint(EndpointState::from_numbers(
                state_of(u16::from_ne_bytes([s0, s1]))?,
                numbers,
            )?),
            _ => return None,
        };
        let at = Instant::from_nanos(u64::from_ne_bytes(*at));
        Some(Self { at, flow: u32::from_ne_bytes([f0, f1, f2, f3]), kind })
    }
}

impl EndpointState {
    fn numbers(&self) -> [u64; 3] {
        let threshold = self.ssthresh_packets.unwrap_or(NO_THRESHOLD);
        let windows = u64::from(self.cwnd_packets) | (u64::from(threshold) << 32);
        let rtt = self.smoothed_rtt.unwrap_or(Span::MAX).as_nanos();
        [windows, rtt, u64::from(self.flight_packets)]
    }

    fn from_numbers(state: CongestionState, [windows, rtt, flight]: [u64; 3]) -> Option<Self> {
        let threshold = u32::try_from(windows >> 32).ok()?;
        Some(Self {
            cwnd_packets: u32::try_from(windows & u64::from(u32::MAX)).ok()?,
            ssthresh_packets: Some(threshold).filter(|&packets| packets != NO_THRESHOLD),
            smoothed_rtt: Some(Span::from_nanos(rtt)).filter(|&rtt| rtt != Span::MAX),
            flight_packets: u32::try_from(flight).ok()?,
            state,
        })
    }
}

fn state_number(state: CongestionState) -> u16 {
    let place = STATES.iter().position(|&one| one == state);
    place.and_then(|place| u16::try_from(place).ok()).unwrap_or(0)
}

/// Events as one string of bytes with their records.
mod records {
    use super::{HostEvent, RECORD_BYTES};
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub(super) fn serialize<S: Serializer>(events: &[HostEvent], to: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::with_capacity(events.len() * RECORD_BYTES);
        for event in events {
            event.append_to(&mut bytes);
        }
        to.serialize_bytes(&bytes)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<HostEvent>, D::Error> {
        let bytes = <&[u8]>::deserialize(from)?;
        let (records, rest) = bytes.as_chunks::<RECORD_BYTES>();
        let events: Option<Vec<HostEvent>> = records.iter().map(HostEvent::from_record).collect();
        events.filter(|_| rest.is_empty()).ok_or_else(|| D::Error::custom("not records of events"))
    }
}

/// Bytes of a frame before its message.
const LENGTH_BYTES: usize = 4;

/// Appends a message with its frame.
pub(crate) fn append_frame(message: &impl Serialize, bytes: &mut Vec<u8>) {
    let begin = bytes.len();
    bytes.extend_from_slice(&[0; LENGTH_BYTES]);
    let frame = std::mem::take(bytes);
    *bytes = postcard::to_extend(message, frame).expect("plain structures, into memory");
    let length =
        u32::try_from(bytes.len() - begin - LENGTH_BYTES).expect("messages are below 4 GiB");
    bytes[begin..begin + LENGTH_BYTES].copy_from_slice(&length.to_ne_bytes());
}

/// The message at the start of `bytes`, and the length of its frame; `None` while it is incomplete.
pub(crate) fn take_frame<'b, T: Deserialize<'b>>(
    bytes: &'b [u8],
) -> Result<Option<(T, usize)>, String> {
    let Some((length, rest)) = bytes.split_first_chunk::<LENGTH_BYTES>() else { return Ok(None) };
    let length = usize::try_from(u32::from_ne_bytes(*length)).map_err(|error| error.to_string())?;
    let Some(body) = rest.get(..length) else { return Ok(None) };
    match postcard::take_from_bytes(body) {
        Ok((message, [])) => Ok(Some((message, LENGTH_BYTES + length))),
        Ok((_, rest)) => Err(format!("a message with {} further bytes", rest.len())),
        Err(error) => Err(format!("not a message of this protocol: {error}")),
    }
}

/// Bytes of one read.
const CHUNK: usize = 1 << 16;

/// Messages of the parent.
#[derive(Debug)]
pub(crate) struct ParentSocket {
    socket: Arc<UnixStream>,
    pending: Vec<u8>,
}

impl ParentSocket {
    pub(crate) fn new(socket: Arc<UnixStream>) -> Self {
        Self { socket, pending: Vec::new() }
    }

    /// What is watched for the parent's messages.
    pub(crate) fn socket(&self) -> &UnixStream {
        &self.socket
    }

    /// The next message; `None` if the socket does not block and nothing has come. The end of the
    /// parent is an error.
    pub(crate) fn receive(&mut self) -> Result<Option<ToHost>, String> {
        loop {
            if let Some((message, length)) = take_frame::<ToHost>(&self.pending)? {
                self.pending.drain(..length);
                return Ok(Some(message));
            }
            let kept = self.pending.len();
            self.pending.resize(kept + CHUNK, 0);
            let read = (&*self.socket).read(&mut self.pending[kept..]);
            self.pending.truncate(kept + read.as_ref().copied().unwrap_or(0));
            match read {
                Ok(0) => return Err("the parent has ended".to_owned()),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(format!("listen to the parent: {error}")),
            }
        }
    }

    pub(crate) fn expect(&mut self) -> Result<ToHost, String> {
        self.receive()?.ok_or_else(|| "the parent says nothing".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds() -> Vec<EventKind> {
        let mut kinds = vec![
            EventKind::Written(u64::MAX),
            EventKind::Read(1 << 40),
            EventKind::Answered(Instant::from_nanos(u64::MAX - 5)),
            EventKind::Opened,
            EventKind::Established,
            EventKind::Finished,
            EventKind::Failed(libc::ECONNREFUSED),
            EventKind::Timeout,
            EventKind::FastRetransmit,
        ];
        for (written, number) in [(None, None), (Some(Instant::from_nanos(7)), Some(1 << 40))] {
            kinds.push(EventKind::DatagramRead { payload_bytes: u32::MAX, written, number });
        }
        for state in STATES {
            for (threshold, rtt) in [(None, None), (Some(7), Some(Span::from_millis(100)))] {
                kinds.push(EventKind::Endpoint(EndpointState {
                    cwnd_packets: u32::MAX,
                    ssthresh_packets: threshold,
                    smoothed_rtt: rtt,
                    flight_packets: 12,
                    state,
                }));
            }
        }
        kinds
    }

    #[test]
    fn messages_survive_frames_cut_anywhere() {
        let event = |kind| HostEvent { at: Instant::from_nanos(u64::MAX - 3), flow: 70_000, kind };
        let messages = [
            FromHost::Ready,
            FromHost::Failed("no TUN".to_owned()),
            FromHost::Events(EventBatch {
                watermark: Instant::from_millis(7),
                events: kinds().into_iter().map(event).collect(),
            }),
            FromHost::Events(EventBatch::default()),
            FromHost::Done(HostStatistics { timed_writes: 5, ..HostStatistics::default() }),
        ];
        let mut bytes = Vec::new();
        for message in &messages {
            append_frame(message, &mut bytes);
        }
        let (mut begin, mut taken) = (0, Vec::new());
        for end in 0..=bytes.len() {
            while let Some((message, length)) =
                take_frame::<FromHost>(&bytes[begin..end]).expect("frames")
            {
                taken.push(message);
                begin += length;
            }
        }
        assert_eq!(taken, messages);
        assert_eq!(begin, bytes.len());
    }

    #[test]
    fn frame_of_unknown_kind_is_an_error() {
        assert!(take_frame::<FromHost>(&[1, 0, 0, 0, 99]).is_err());
        assert!(take_frame::<FromHost>(&[0, 0, 0, 0]).is_err());
        assert!(take_frame::<FromHost>(&[2, 0, 0, 0, 0, 0]).is_err());
    }
}
