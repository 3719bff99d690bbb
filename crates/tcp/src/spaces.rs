//! The two halves of sequence space (RFC 9293 §3.3.1), and how often a time-out ran out.

use crate::receiver::UrgentByte;
use fairwind_units::{Instant, Span};
use fairwind_wire::SequenceNumber;

/// Send sequence space (RFC 9293 §3.3.1).
#[derive(Debug)]
pub(crate) struct SendSpace {
    /// Initial sequence number (ISS).
    pub(crate) initial: SequenceNumber,
    /// Oldest unacknowledged number (SND.UNA).
    pub(crate) oldest_unacked: SequenceNumber,
    /// Next number to send (SND.NXT).
    pub(crate) next: SequenceNumber,
    /// Window offered by the peer in bytes (SND.WND).
    pub(crate) window: u32,
    /// Largest window ever offered.
    pub(crate) largest_window: u32,
    /// Sequence number of the segment that set the window (SND.WL1).
    pub(crate) window_set_by: SequenceNumber,
    /// End of the last segment sent that was not full-sized (for Minshall's Nagle).
    pub(crate) small_end: SequenceNumber,
    /// When the peer acknowledged last, new data or not.
    pub(crate) last_heard: Instant,
    /// When data was sent last, or else could be sent first (Linux `lsndtime`).
    pub(crate) last_sent: Instant,
    /// When anything was sent last.
    pub(crate) last_transmitted: Instant,
    /// Number after the last byte of urgent data, until that is acknowledged (SND.UP).
    pub(crate) urgent_end: Option<SequenceNumber>,
    /// The application has found the send buffer full.
    pub(crate) wants_room: bool,
    /// Size to which the send buffer has grown by itself; 0 where it has not.
    pub(crate) grown_buffer: u32,
    /// What waits for want of size may go, until a new buffer is begun (Linux `TCP_NAGLE_PUSH`).
    pub(crate) pushes_once: bool,
    /// Payload bytes acknowledged since the beginning.
    pub(crate) acknowledged_bytes: u64,
}

impl SendSpace {
    /// Nothing sent yet; numbers begin with `initial`.
    pub(crate) fn new(initial: SequenceNumber) -> Self {
        Self {
            initial,
            oldest_unacked: initial,
            next: initial,
            window: 0,
            largest_window: 0,
            window_set_by: SequenceNumber::default(),
            small_end: initial,
            last_heard: Instant::ZERO,
            last_sent: Instant::ZERO,
            last_transmitted: Instant::ZERO,
            urgent_end: None,
            wants_room: false,
            grown_buffer: 0,
            pushes_once: false,
            acknowledged_bytes: 0,
        }
    }
}

/// Receive sequence space (RFC 9293 §3.3.1).
#[derive(Debug)]
pub(crate) struct ReceiveSpace {
    /// The peer's initial sequence number (IRS).
    pub(crate) initial: SequenceNumber,
    /// Next number expected (RCV.NXT).
    pub(crate) next: SequenceNumber,
    /// Number after the last one that was ever offered to the peer; what lies below is taken.
    pub(crate) offered: SequenceNumber,
    /// Number after the window announced last (RCV.NXT + RCV.WND).
    pub(crate) announced: SequenceNumber,
    /// Acknowledgment number sent last (Last.ACK.sent of RFC 7323).
    pub(crate) last_acknowledged: SequenceNumber,
    /// Where FIN stands, once it was seen.
    pub(crate) fin: Option<SequenceNumber>,
    /// Payload bytes received in order and not read.
    pub(crate) unread: u32,
    /// The urgent byte that is not read past.
    pub(crate) urgent: Option<UrgentByte>,
    /// Payload bytes read since the beginning.
    pub(crate) read_bytes: u64,
    /// Latest timestamp to be echoed (TS.Recent).
    pub(crate) recent_timestamp: u32,
    /// When it was noted.
    pub(crate) stamped_at: Instant,
    /// Nothing will be read any more: the peer has sent FIN, or the application does not want to.
    pub(crate) is_shut: bool,
}

impl ReceiveSpace {
    /// Before the peer's numbers are known.
    pub(crate) fn new() -> Self {
        Self {
            initial: SequenceNumber::default(),
            next: SequenceNumber::default(),
            offered: SequenceNumber::default(),
            announced: SequenceNumber::default(),
            last_acknowledged: SequenceNumber::default(),
            fin: None,
            unread: 0,
            urgent: None,
            read_bytes: 0,
            recent_timestamp: 0,
            stamped_at: Instant::ZERO,
            is_shut: false,
        }
    }

    /// Whether everything up to the peer's FIN was received.
    pub(crate) fn has_taken_fin(&self) -> bool {
        self.fin.is_some_and(|fin| fin.is_before(self.next))
    }
}

/// The current time-out and how often it ran out.
#[derive(Debug)]
pub(crate) struct Backoff {
    /// The time-out in force, back-off included (RTO).
    pub(crate) timeout: Span,
    /// Time-outs since the last progress.
    pub(crate) expired: u32,
    /// How often it was doubled since the last sample of the round-trip time.
    pub(crate) doublings: u32,
    /// When the first of them happened.
    pub(crate) since: Instant,
    /// Probes of a closed window since it closed.
    pub(crate) probes: u32,
    /// When probing began to count against the user's patience.
    pub(crate) probing_since: Option<Instant>,
    /// Probes since the peer was heard of last.
    pub(crate) unanswered_probes: u32,
}

impl Backoff {
    /// Nothing has run out, and `timeout` is in force.
    pub(crate) fn new(timeout: Span) -> Self {
        Self {
            timeout,
            expired: 0,
            doublings: 0,
            since: Instant::ZERO,
            probes: 0,
            probing_since: None,
            unanswered_probes: 0,
        }
    }
}
