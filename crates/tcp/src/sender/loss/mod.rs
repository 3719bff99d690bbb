//! Finding and repairing losses: Linux' state machine, with every mechanism a switch of
//! [`LossRecovery`](crate::LossRecovery).
//!
//! Source: RFC 5681 §3.2, RFC 6582 (without SACK), RFC 6675, RFC 8985, RFC 9937, RFC 5682; Linux
//! `tcp_fastretrans_alert` and what it calls, whose states, counters and order of steps these are.
//!
//! Without SACK, every duplicate ACK stands for one segment that has left the network; a partial
//! acknowledgment takes its share of them back. So both kinds of connection are governed by the
//! same rule: a segment may be sent while fewer than the window are in flight.
//! Cost per ACK: constant, plus what it newly tells.
//!
//! | module | concern |
//! |---|---|
//! | `state` | the states, and the transitions between them |
//! | `detection`, `rack` | loss detection |
//! | `sack` | validity of SACK blocks, D-SACK |
//! | `reordering` | the reordering degree; duplicate ACKs without SACK |
//! | `lost_retransmits` | lost retransmissions |
//! | `timeout` | retransmission time-out, back-off, F-RTO |
//! | `tail_loss_probe` | tail loss probes, and which timer runs |
//! | `undo` | spurious retransmissions |
//! | `thin_stream` | thin streams |

mod detection;
mod lost_retransmits;
mod rack;
mod reordering;
mod sack;
mod state;
mod tail_loss_probe;
mod thin_stream;
mod timeout;
mod undo;

pub(crate) use lost_retransmits::LostRetransmits;
pub(crate) use rack::{Delivery, LatestDelivered, Moment, Rack};
pub(crate) use reordering::{DuplicateAcks, Reordering};
pub(crate) use tail_loss_probe::TailProbe;
pub(crate) use timeout::{FRto, Pending, Rto};
pub(crate) use undo::Undo;

use crate::sender::Sender;
use crate::sender::queue::Sent;
use crate::state::RecoveryState;
use fairwind_wire::SequenceNumber;

/// The state of loss recovery.
#[derive(Debug)]
pub(crate) struct Recovery {
    state: RecoveryState,
    /// The state may end when this is acknowledged (`high_seq`; RFC 6675 `RecoveryPoint`).
    end: SequenceNumber,
    /// The receiver has dropped data that it had reported; until recovery ends.
    reneged: bool,
}

impl Recovery {
    pub(crate) fn new(initial: SequenceNumber) -> Self {
        Self { state: RecoveryState::Open, end: initial, reneged: false }
    }

    /// The state.
    #[inline]
    pub(crate) fn state(&self) -> RecoveryState {
        self.state
    }

    /// Changes the state; the congestion control is notified before.
    #[inline]
    pub(crate) fn set_state(&mut self, state: RecoveryState) {
        self.state = state;
    }

    /// The number whose acknowledgment may end the state.
    #[inline]
    pub(crate) fn end(&self) -> SequenceNumber {
        self.end
    }

    /// Sets the number whose acknowledgment may end the state.
    #[inline]
    pub(crate) fn set_end(&mut self, end: SequenceNumber) {
        self.end = end;
    }

    /// Whether the receiver has dropped data that it had reported.
    #[inline]
    pub(crate) fn has_reneged(&self) -> bool {
        self.reneged
    }

    /// Notes whether the receiver has dropped data that it had reported.
    #[inline]
    pub(crate) fn set_reneged(&mut self, reneged: bool) {
        self.reneged = reneged;
    }

    /// Whether losses are being repaired.
    #[inline]
    pub(crate) fn is_repairing(&self) -> bool {
        matches!(self.state, RecoveryState::Recovery | RecoveryState::Loss)
    }

    /// Whether the window is on its way down to the threshold (Linux `tcp_in_cwnd_reduction`).
    #[inline]
    pub(crate) fn is_reducing(&self) -> bool {
        matches!(self.state, RecoveryState::Recovery | RecoveryState::WindowReduced)
    }
}

impl Sender {
    /// Segments believed to be in the network.
    #[inline]
    pub(crate) fn in_flight(&self) -> u32 {
        let gone = self.left_network() + self.queue.lost();
        (self.queue.outstanding() + self.queue.retransmitted()).saturating_sub(gone)
    }

    /// Outstanding segments known or presumed to have arrived.
    #[inline]
    pub(crate) fn left_network(&self) -> u32 {
        self.queue.sacked() + self.duplicate_acks.count()
    }

    /// Segments that count against the window when new data is to be sent: without limited
    /// transmit, duplicates do not make room before recovery (RFC 3042).
    #[inline]
    pub(crate) fn in_flight_for_new_data(&self) -> u32 {
        if self.config.limited_transmit || self.recovery.is_repairing() {
            self.in_flight()
        } else {
            self.queue.outstanding()
        }
    }

    /// Whether a segment that is outstanding was sent again (Linux `tcp_any_retrans_done`).
    #[inline]
    pub(crate) fn is_any_retransmitted(&self) -> bool {
        self.queue.retransmitted() > 0 || self.queue.front().is_some_and(Sent::is_retransmitted)
    }

    /// A segment at `lowest` arrived after one that ends at `highest`.
    #[cold]
    pub(crate) fn update_reordering(&mut self, lowest: SequenceNumber, highest: SequenceNumber) {
        if lowest.is_before(highest) {
            let segments = highest.distance_from(lowest).div_ceil(self.segment_bytes);
            self.reordering.on_distance(segments);
        }
    }

    /// End of the highest segment that was selectively acknowledged.
    #[inline]
    pub(crate) fn highest_sacked(&self) -> SequenceNumber {
        if self.negotiated.has_sack() {
            self.scoreboard.highest_end(&self.queue, self.send.oldest_unacked())
        } else {
            self.send.oldest_unacked()
        }
    }

    /// Counts duplicate ACKs without SACK. Returns how many segments arrived.
    pub(crate) fn count_duplicates(&mut self, duplicates: u32) -> u32 {
        let arrived = self.duplicate_acks.add(duplicates, &self.queue, &mut self.reordering);
        self.deliveries.add(arrived, false);
        arrived
    }
}
