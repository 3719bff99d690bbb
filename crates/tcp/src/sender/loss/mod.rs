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

pub(crate) use rack::{Delivery, LatestDelivered, Moment, Rack};
pub(crate) use tail_loss_probe::Pending;
pub(crate) use timeout::Backoff;

use crate::config::Config;
use crate::sender::Sender;
use crate::sender::congestion::Reduction;
use crate::sender::queue::Sent;
use crate::state::RecoveryState;
use fairwind_units::Instant;
use fairwind_wire::SequenceNumber;
use lost_retransmits::LostRetransmits;
use tail_loss_probe::Probe;
use undo::Undo;

/// State of loss recovery.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a separate fact")]
pub(crate) struct Recovery {
    pub(crate) state: RecoveryState,
    /// The state may end when this is acknowledged (`high_seq`; RFC 6675 `RecoveryPoint`).
    pub(crate) end: SequenceNumber,
    /// Duplicate ACKs of a connection without SACK, as segments that left the network.
    pub(crate) duplicates: u32,
    /// Duplicates that prove a loss: the configured number, or more where reordering was seen.
    pub(crate) threshold: u32,
    /// How often reordering was seen.
    pub(crate) reorderings: u32,
    pub(crate) rack: Rack,
    /// When a segment was sent last, for the first time or again.
    pub(crate) last_sent: Moment,
    pub(crate) reduction: Reduction,
    pub(crate) undo: Undo,
    repairs: LostRetransmits,
    pub(crate) probe: Probe,
    /// After a time-out, new data is tried first (RFC 5682).
    pub(crate) trial: bool,
    /// The receiver has dropped what it had reported; until the repair ends.
    pub(crate) reneged: bool,
    /// Segments delivered since the beginning, modulo 2^32; SYN counts.
    pub(crate) delivered: u32,
    /// Of those delivered, such as were acknowledged with an echo of congestion, modulo 2^32.
    pub(crate) delivered_marked: u32,
    /// What is to be sent for the sake of repair.
    pub(crate) due: Transmission,
    /// The oldest segment goes out whatever is in flight (a time-out; RFC 6675 §5 step 4.3).
    pub(crate) forced: bool,
    /// Segments of the burst of repairs under way that have not left yet, and of how many it is.
    pub(crate) burst: (u32, u32),
    /// Segments below this absolute index were retransmitted without proof of loss already.
    pub(crate) unproven_from: u64,
    /// The last segment was retransmitted without proof of loss in this repair already.
    pub(crate) rescued: bool,
    /// Retransmissions since the beginning, SYN included.
    pub(crate) retransmissions: u32,
    /// Segments reported to have arrived twice since the beginning.
    pub(crate) repeated: u32,
}

impl Recovery {
    pub(crate) fn new(config: &Config, initial: SequenceNumber) -> Self {
        Self {
            state: RecoveryState::Open,
            end: initial,
            duplicates: 0,
            threshold: config.duplicate_threshold,
            reorderings: 0,
            rack: Rack::new(),
            last_sent: Moment { at: Instant::ZERO, rank: 0 },
            reduction: Reduction::default(),
            undo: Undo::default(),
            repairs: LostRetransmits::default(),
            probe: Probe::default(),
            trial: false,
            reneged: false,
            delivered: 0,
            delivered_marked: 0,
            due: Transmission::None,
            forced: false,
            burst: (0, 0),
            unproven_from: 0,
            rescued: false,
            retransmissions: 0,
            repeated: 0,
        }
    }

    /// Follows the removal of the segment behind `index` by collapsing.
    pub(crate) fn on_collapsed(&mut self, index: u64) {
        if self.unproven_from > index + 1 {
            self.unproven_from -= 1;
        }
        self.rack.on_collapsed(index);
        self.duplicates = self.duplicates.saturating_sub(1);
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
        self.queue.sacked() + self.recovery.duplicates
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
    pub(crate) fn is_any_retransmitted(&self) -> bool {
        self.queue.retransmitted() > 0 || self.queue.front().is_some_and(Sent::is_retransmitted)
    }
}

/// What is to be sent for the sake of repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transmission {
    /// Nothing.
    None,
    /// Lost segments, as far as the window allows.
    Lost,
    /// New data; where none goes, lost segments (RFC 5682 §2.1 step 2).
    NewFirst,
}
