//! Thin streams: too few segments in flight for three duplicate ACKs.
//!
//! Source: Linux `tcp_stream_is_thin`, `tcp_time_to_recover` and `tcp_retransmit_timer` as of 3.16.

use crate::sender::Sender;
use crate::state::State;

/// Fewer segments outstanding than this make a stream thin.
const THIN_BELOW: u32 = 4;
/// Time-outs without back-off, at most (Linux `TCP_THIN_LINEAR_RETRIES`).
const LINEAR_RETRIES: u32 = 6;

impl Sender {
    /// Whether the stream is thin: fewer than four segments outstanding, and a loss has ended the
    /// initial slow start.
    #[inline]
    pub(crate) fn is_thin(&self) -> bool {
        self.queue.outstanding() < THIN_BELOW && !self.window.is_in_initial_slow_start()
    }

    /// Whether the first duplicate ACK suffices (modified fast retransmit): the stream is thin, SACK
    /// is in use, and there is nothing new whose sending would bring more duplicates.
    pub(crate) fn first_duplicate_suffices(&self) -> bool {
        self.config.modified_fast_retransmit
            && self.negotiated.has_sack()
            && self.written.unsent() == 0
            && self.is_thin()
    }

    /// Whether the time-out that just ran out for the `expired`-th time in a row does not back off
    /// (linear time-outs).
    pub(crate) fn stays_linear(&self, expired: u32) -> bool {
        self.config.linear_timeouts
            && self.state == State::Established
            && expired <= LINEAR_RETRIES
            && self.is_thin()
    }
}
