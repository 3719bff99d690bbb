//! The messages between the parent and a host, and their frames on the socket.
//!
//! A frame is the length of what follows (4 bytes), one byte that tells the kind of message, and its
//! body: JSON, but for events, whose body is a watermark (8 bytes) and records of fixed length.

use super::event::{HostEvent, RECORD_BYTES};
use super::plan::HostPlan;
use fairwind_measure::SenderCounts;
use fairwind_units::{Instant, Span};
use serde::{Deserialize, Serialize};

/// What the parent tells a host.
#[derive(Debug, Clone)]
pub enum ToHost {
    /// Become this host.
    SetUp(Box<HostPlan>),
    /// Begin.
    Start(Start),
    /// Tell the last samples and statistics, and end.
    Stop,
}

/// When it all begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// What `CLOCK_MONOTONIC` shows at the run's instant zero, which may lie ahead.
    pub origin: Instant,
}

/// What a host tells the parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FromHost {
    /// Everything is set up; the descriptor of its TUN device comes along.
    Ready,
    /// It cannot go on.
    Failed(Failure),
    /// What has happened.
    Events(EventBatch),
    /// The last message.
    Done(HostStatistics),
}

/// Events in the order of their instants.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EventBatch {
    /// Nothing that this host tells later is earlier than this.
    pub watermark: Instant,
    /// What happened.
    pub events: Vec<HostEvent>,
}

/// Why a host cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What was tried, on what, what the system said, and what may be done about it.
    pub reason: String,
}

/// How it went at a host, told at the end.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HostStatistics {
    /// Writes that were due at an instant.
    pub timed_writes: u64,
    /// How late they were on average.
    pub mean_lateness: Span,
    /// How late 99 of 100 were at most, to a hundredth of itself.
    pub p99_lateness: Span,
    /// How late the latest was.
    pub greatest_lateness: Span,
    /// Connections that came from where nobody was expected.
    pub unexpected_connections: u64,
    /// Connections that the other end broke off while this host was reading.
    pub broken_while_reading: u64,
    /// Bytes that were held against the pattern and differed.
    pub wrong_bytes: u64,
    /// Bytes that were held against the pattern.
    pub checked_bytes: u64,
    /// What the host's senders were held back by.
    pub senders: Vec<SenderStatistics>,
}

/// What the kernel counted of one sender until the end of the run, or of its connection (`struct tcp_info`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SenderStatistics {
    /// The flow of what it sent.
    pub flow: u32,
    /// Time with something unacknowledged (`tcpi_busy_time`).
    pub busy: Span,
    /// Of it, that in which the peer's window held data back (`tcpi_rwnd_limited`).
    pub window_limited: Span,
    /// Of it, that in which the send buffer held the application back (`tcpi_sndbuf_limited`).
    pub buffer_limited: Span,
    /// Segments that were sent again (`tcpi_total_retrans`).
    pub segments_retransmitted: u32,
    /// The congestion window (`tcpi_snd_cwnd`).
    pub cwnd_packets: u32,
    /// Whether the congestion window was below the slow-start threshold.
    pub in_slow_start: bool,
}

impl SenderStatistics {
    /// The same as the measures take it.
    pub const fn counts(&self) -> SenderCounts {
        SenderCounts {
            busy: self.busy,
            window_limited: self.window_limited,
            buffer_limited: self.buffer_limited,
            segments_retransmitted: self.segments_retransmitted,
            cwnd_packets: self.cwnd_packets,
            in_slow_start: self.in_slow_start,
        }
    }
}

const SET_UP: u8 = 1;
const GO: u8 = 2;
const STOP: u8 = 3;
const READY: u8 = 17;
const FAILED: u8 = 18;
const EVENTS: u8 = 19;
const DONE: u8 = 20;

/// Bytes before a frame's body.
pub(super) const HEADER_BYTES: usize = 5;

/// A message that can be put into a frame and taken out of one.
pub(crate) trait Framed: Sized {
    /// Its kind, and its body appended to `bytes`.
    fn append_body(&self, bytes: &mut Vec<u8>) -> u8;

    /// The message of this kind and body.
    fn from_body(kind: u8, body: &[u8]) -> Result<Self, String>;

    /// Appends the message with its frame.
    fn append_to(&self, bytes: &mut Vec<u8>) {
        let begin = bytes.len();
        bytes.extend_from_slice(&[0; HEADER_BYTES]);
        let kind = self.append_body(bytes);
        let length = u32::try_from(bytes.len() - begin - 4).expect("messages are below 4 GiB");
        bytes[begin..begin + 4].copy_from_slice(&length.to_ne_bytes());
        bytes[begin + 4] = kind;
    }

    /// The message at the beginning of `bytes`, and how long its frame is; `None` while it is
    /// incomplete.
    fn take(bytes: &[u8]) -> Result<Option<(Self, usize)>, String> {
        let Some((length, rest)) = bytes.split_first_chunk::<4>() else { return Ok(None) };
        let length = usize::try_from(u32::from_ne_bytes(*length)).map_err(|e| e.to_string())?;
        let Some((kind, body)) = rest.get(..length).and_then(<[u8]>::split_first) else {
            return if length == 0 { Err("an empty frame".to_owned()) } else { Ok(None) };
        };
        Ok(Some((Self::from_body(*kind, body)?, 4 + length)))
    }
}

fn append_json(value: &impl Serialize, bytes: &mut Vec<u8>) {
    serde_json::to_writer(bytes, value).expect("plain structures, into memory");
}

fn json<'b, T: Deserialize<'b>>(body: &'b [u8]) -> Result<T, String> {
    serde_json::from_slice(body).map_err(|error| error.to_string())
}

impl Framed for ToHost {
    fn append_body(&self, bytes: &mut Vec<u8>) -> u8 {
        match self {
            Self::SetUp(plan) => {
                append_json(plan, bytes);
                SET_UP
            }
            Self::Start(go) => {
                append_json(go, bytes);
                GO
            }
            Self::Stop => STOP,
        }
    }

    fn from_body(kind: u8, body: &[u8]) -> Result<Self, String> {
        match kind {
            SET_UP => Ok(Self::SetUp(json(body)?)),
            GO => Ok(Self::Start(json(body)?)),
            STOP => Ok(Self::Stop),
            _ => Err(format!("a message of unknown kind {kind}")),
        }
    }
}

impl Framed for FromHost {
    fn append_body(&self, bytes: &mut Vec<u8>) -> u8 {
        match self {
            Self::Ready => READY,
            Self::Failed(failure) => {
                append_json(failure, bytes);
                FAILED
            }
            Self::Events(batch) => {
                bytes.extend_from_slice(&batch.watermark.as_nanos().to_ne_bytes());
                batch.events.iter().for_each(|event| event.append_to(bytes));
                EVENTS
            }
            Self::Done(statistics) => {
                append_json(statistics, bytes);
                DONE
            }
        }
    }

    fn from_body(kind: u8, body: &[u8]) -> Result<Self, String> {
        match kind {
            READY => Ok(Self::Ready),
            FAILED => Ok(Self::Failed(json(body)?)),
            EVENTS => Ok(Self::Events(batch(body)?)),
            DONE => Ok(Self::Done(json(body)?)),
            _ => Err(format!("a message of unknown kind {kind}")),
        }
    }
}

fn batch(body: &[u8]) -> Result<EventBatch, String> {
    let Some((watermark, records)) = body.split_first_chunk::<8>() else {
        return Err("events without a watermark".to_owned());
    };
    let (records, rest) = records.as_chunks::<RECORD_BYTES>();
    if !rest.is_empty() {
        return Err(format!("{} bytes behind the last event", rest.len()));
    }
    let events = records.iter().map(HostEvent::from_record).collect::<Option<_>>();
    let watermark = Instant::from_nanos(u64::from_ne_bytes(*watermark));
    Ok(EventBatch { watermark, events: events.ok_or("an event of unknown kind")? })
}

#[cfg(test)]
mod tests {
    use super::super::event::EventKind;
    use super::*;

    #[test]
    fn messages_come_back_from_their_frames_however_these_are_cut() {
        let messages = [
            FromHost::Ready,
            FromHost::Failed(Failure { reason: "no TUN".to_owned() }),
            FromHost::Events(EventBatch {
                watermark: Instant::from_millis(7),
                events: vec![
                    HostEvent { at: Instant::from_millis(3), flow: 1, kind: EventKind::Read(9) },
                    HostEvent { at: Instant::from_millis(4), flow: 2, kind: EventKind::Finished },
                ],
            }),
            FromHost::Events(EventBatch::default()),
            FromHost::Done(HostStatistics { timed_writes: 5, ..HostStatistics::default() }),
        ];
        let mut bytes = Vec::new();
        for message in &messages {
            message.append_to(&mut bytes);
        }
        let (mut begin, mut taken) = (0, Vec::new());
        for end in 0..=bytes.len() {
            while let Some((message, length)) = FromHost::take(&bytes[begin..end]).expect("frames")
            {
                taken.push(message);
                begin += length;
            }
        }
        assert_eq!(taken, messages);
        assert_eq!(begin, bytes.len());
    }

    #[test]
    fn a_frame_of_unknown_kind_is_an_error() {
        assert!(FromHost::take(&[1, 0, 0, 0, 99]).is_err());
        assert!(FromHost::take(&[0, 0, 0, 0]).is_err());
    }
}
