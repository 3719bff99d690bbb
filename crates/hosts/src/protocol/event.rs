//! Events of a host while it runs: one record of fixed length each.
//!
//! | bytes | content |
//! |---|---|
//! | 0-7 | instant, nanoseconds since the run's origin |
//! | 8-11 | flow |
//! | 12-13 | kind |
//! | 14-15 | a small number: congestion state |
//! | 16-23 | first number: offset, count, errno, instant, or window and threshold |
//! | 24-31 | second number: smoothed round-trip time in nanoseconds, or bytes |
//! | 32-39 | third number: segments in flight |
//!
//! Numbers stand in the machine's own order of bytes: both ends run on it.

use fairwind_measure::{CongestionState, FailureReason, FlowId, Observation};
use fairwind_units::{Instant, Span};

/// Length of a record.
pub(super) const RECORD_BYTES: usize = 40;

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

/// What a host has seen of a flow.
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
        /// When it was written; `None` where it has no room to say so.
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
    /// What loss recovery is doing.
    pub state: CongestionState,
}

const NO_THRESHOLD: u32 = u32::MAX;

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

    /// The event of a record; `None` where the record is none.
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

/// Why a connection was given up that ended with this error.
fn reason_of(errno: i32) -> FailureReason {
    match errno {
        libc::ECONNREFUSED | libc::ECONNRESET | libc::EPIPE => FailureReason::Reset,
        libc::ETIMEDOUT => FailureReason::TimedOut,
        libc::EHOSTUNREACH | libc::ENETUNREACH => FailureReason::Unreachable,
        _ => FailureReason::Other,
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

fn state_number(state: CongestionState) -> u16 {
    let place = STATES.iter().position(|&one| one == state);
    place.and_then(|place| u16::try_from(place).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back(kind: EventKind) {
        let event = HostEvent { at: Instant::from_nanos(u64::MAX - 3), flow: 70_000, kind };
        let mut bytes = Vec::new();
        event.append_to(&mut bytes);
        let record: [u8; RECORD_BYTES] = bytes.try_into().expect("one record");
        assert_eq!(HostEvent::from_record(&record), Some(event));
    }

    #[test]
    fn every_fact_comes_back_from_its_record() {
        there_and_back(EventKind::Written(u64::MAX));
        there_and_back(EventKind::Read(1 << 40));
        there_and_back(EventKind::Answered(Instant::from_nanos(u64::MAX - 5)));
        there_and_back(EventKind::Established);
        there_and_back(EventKind::Finished);
        there_and_back(EventKind::Failed(libc::ECONNREFUSED));
        for (written, number) in [(None, None), (Some(Instant::from_nanos(7)), Some(1 << 40))] {
            there_and_back(EventKind::DatagramRead { payload_bytes: u32::MAX, written, number });
        }
        there_and_back(EventKind::Timeout);
        there_and_back(EventKind::FastRetransmit);
        for state in STATES {
            for (threshold, rtt) in [(None, None), (Some(7), Some(Span::from_millis(100)))] {
                there_and_back(EventKind::Endpoint(EndpointState {
                    cwnd_packets: u32::MAX,
                    ssthresh_packets: threshold,
                    smoothed_rtt: rtt,
                    flight_packets: 12,
                    state,
                }));
            }
        }
    }

    #[test]
    fn a_record_of_no_known_kind_is_none() {
        let mut record = [0; RECORD_BYTES];
        record[12..14].copy_from_slice(&99_u16.to_ne_bytes());
        assert_eq!(HostEvent::from_record(&record), None);
    }
}
