//! Send sequence space (RFC 9293 §3.3.1).

use fairwind_units::Instant;
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
