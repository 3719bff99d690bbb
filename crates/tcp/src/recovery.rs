//! Finding and repairing losses.
//!
//! Source: RFC 5681 §3.2, RFC 6582 (NewReno, without SACK), RFC 6675 (with SACK), RFC 3042
//! (limited transmit). The states and counters are those of Linux.
//!
//! Without SACK, every duplicate ACK stands for one segment that has left the network; a partial
//! acknowledgment takes its share of them back. So both kinds of connection are governed by the
//! same rule: a segment may be sent while fewer than the window are in flight.
//! Cost per ACK: constant, plus what it newly tells.

use crate::connection::Connection;
use crate::event::Event;
use crate::scoreboard::Update;
use crate::send_queue::{Acknowledged, Marks};
use crate::state::RecoveryState;
use fairwind_units::Instant;
use fairwind_wire::SequenceNumber;

/// Window after a time-out in segments (RFC 5681 §3.1, loss window).
const LOSS_WINDOW: u32 = 1;

/// State of loss recovery.
#[derive(Debug)]
pub(crate) struct Recovery {
    pub(crate) state: RecoveryState,
    /// Recovery ends when this is acknowledged (RFC 6675 `RecoveryPoint`, RFC 6582 `recover`).
    point: SequenceNumber,
    /// Without SACK: nothing beyond `point` is acknowledged since a repair ended, so duplicates may
    /// come from repeated segments and prove nothing (RFC 6582 §3.2 step 2).
    guarded: bool,
    /// Duplicate ACKs of a connection without SACK, as segments that left the network.
    pub(crate) duplicates: u32,
    /// One retransmission goes out whatever is in flight (RFC 6675 §5 step 4.3, RFC 6582 §3.2 step 5).
    pub(crate) forced: bool,
    /// Segments below this absolute index were retransmitted without proof of loss already.
    pub(crate) unproven_from: u64,
}

impl Recovery {
    pub(crate) fn new(initial: SequenceNumber) -> Self {
        Self {
            state: RecoveryState::Open,
            point: initial,
            guarded: false,
            duplicates: 0,
            forced: false,
            unproven_from: 0,
        }
    }

    /// Follows the removal of the segment behind `index` by collapsing.
    pub(crate) fn on_collapsed(&mut self, index: u64) {
        if self.unproven_from > index + 1 {
            self.unproven_from -= 1;
        }
    }

    /// Everything up to here is to be acknowledged before the repair is over.
    pub(crate) fn begin_at(&mut self, point: SequenceNumber) {
        self.point = point;
    }

    /// Whether losses are being repaired.
    #[inline]
    pub(crate) fn is_repairing(&self) -> bool {
        matches!(self.state, RecoveryState::Recovery | RecoveryState::Loss)
    }
}

impl Connection {
    /// Segments believed to be in the network.
    #[inline]
    pub(crate) fn in_flight(&self) -> u32 {
        let gone = self.left_network() + self.queue.lost();
        (self.queue.outstanding() + self.queue.retransmitted()).saturating_sub(gone)
    }

    /// Outstanding segments known or presumed to have arrived.
    #[inline]
    fn left_network(&self) -> u32 {
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

    /// Follows one acknowledgment through the states of recovery.
    pub(crate) fn recover(
        &mut self,
        acknowledged: &Acknowledged,
        advanced: bool,
        duplicate: bool,
        update: &Update,
        now: Instant,
    ) {
        if !self.negotiated.sack {
            self.count_duplicates(acknowledged, advanced, duplicate);
        }
        if self.recovery.is_repairing() {
            if advanced && self.is_repaired() {
                self.end_repair();
            } else {
                self.continue_repair(advanced, update);
                return;
            }
        }
        let evidence = self.left_network();
        if evidence == 0 {
            self.recovery.state = RecoveryState::Open;
        } else if self.is_loss_proven(evidence) {
            self.begin_repair(now);
        } else {
            self.recovery.state = RecoveryState::Disorder;
        }
    }

    /// NewReno's picture of what has left the network (RFC 6582 §3.2 steps 4 and 5).
    fn count_duplicates(&mut self, acknowledged: &Acknowledged, advanced: bool, duplicate: bool) {
        if advanced {
            self.recovery.guarded &= self.send.oldest_unacked == self.recovery.point;
            // One of the acknowledged segments filled the hole, the others were the duplicates.
            let arrived = acknowledged.segments.saturating_sub(1);
            self.recovery.duplicates = if self.recovery.is_repairing() {
                self.recovery.duplicates.saturating_sub(arrived)
            } else {
                0
            };
        } else if duplicate {
            self.recovery.duplicates += 1;
        }
        // At least the hole itself has not arrived.
        let holes = self.queue.lost().max(1);
        let most = self.queue.outstanding().saturating_sub(holes);
        self.recovery.duplicates = self.recovery.duplicates.min(most);
    }

    fn is_repaired(&self) -> bool {
        self.send.oldest_unacked.is_at_or_after(self.recovery.point)
    }

    fn end_repair(&mut self) {
        if self.recovery.state == RecoveryState::Recovery {
            self.window.segments = self.window.segments.min(self.window.slow_start_threshold);
        }
        self.recovery.state = RecoveryState::Open;
        self.recovery.forced = false;
        if !self.negotiated.sack {
            self.recovery.duplicates = 0;
            self.recovery.guarded = self.send.oldest_unacked == self.recovery.point;
        }
    }

    fn continue_repair(&mut self, advanced: bool, update: &Update) {
        if self.negotiated.sack {
            if update.newly_sacked > 0 {
                self.scoreboard.mark_losses(&mut self.queue, self.config.duplicate_threshold);
            }
        } else if advanced && self.recovery.state == RecoveryState::Recovery {
            // A partial acknowledgment proves the next hole (RFC 6582 §3.2 step 5).
            self.queue.mark_lost(self.queue.first_index());
            self.recovery.forced = true;
        }
    }

    fn is_loss_proven(&self, evidence: u32) -> bool {
        !self.recovery.guarded
            && (evidence >= self.config.duplicate_threshold || self.first_duplicate_suffices())
    }

    /// Enters fast recovery (RFC 5681 §3.2 step 2, RFC 6675 §5 step 4).
    fn begin_repair(&mut self, now: Instant) {
        self.reduce_threshold();
        self.window.segments = self.window.slow_start_threshold;
        self.window.drop_credit();
        self.recovery.state = RecoveryState::Recovery;
        self.recovery.point = self.send.next;
        self.recovery.forced = true;
        self.recovery.unproven_from = self.queue.first_index();
        if self.negotiated.sack {
            self.scoreboard.mark_losses(&mut self.queue, self.config.duplicate_threshold);
        }
        self.queue.mark_lost(self.queue.first_index());
        self.usage.on_reduction(now);
        self.events.push_back(Event::FastRetransmit);
    }

    /// Packets of ours were marked: reduce the window, once per window (RFC 3168 §6.1.2; Linux
    /// `tcp_enter_cwr`).
    #[cold]
    pub(crate) fn on_congestion_echo(&mut self, now: Instant) {
        if self.recovery.is_repairing() || !self.is_repaired() {
            return;
        }
        self.reduce_threshold();
        self.window.segments = self.window.slow_start_threshold;
        self.window.drop_credit();
        self.recovery.point = self.send.next;
        self.usage.on_reduction(now);
    }

    fn reduce_threshold(&mut self) {
        let flight = self.queue.outstanding();
        self.window.slow_start_threshold =
            self.congestion.ssthresh(&self.window, self.config.reduction_base, flight);
        self.ecn.on_reduction();
    }

    /// Enters recovery after a time-out: everything not known to have arrived is lost
    /// (RFC 5681 §3.1, RFC 6675 §5.1).
    pub(crate) fn begin_loss(&mut self, now: Instant) {
        let first_time = match self.recovery.state {
            RecoveryState::Open | RecoveryState::Disorder => true,
            RecoveryState::Recovery => false,
            RecoveryState::Loss => self.backoff.expired <= 1,
        };
        if first_time {
            self.reduce_threshold();
        }
        self.congestion.on_timeout();
        self.window.segments = LOSS_WINDOW;
        self.window.drop_credit();
        self.recovery.state = RecoveryState::Loss;
        self.recovery.point = self.send.next;
        self.recovery.duplicates = 0;
        self.recovery.forced = true;
        if self.queue.front().is_some_and(|front| front.marks.contains(Marks::SACKED)) {
            // The receiver gave up what it had reported (RFC 2018 §8).
            self.queue.forget_sacks();
            self.scoreboard.clear();
        }
        self.queue.mark_all_lost();
        self.scoreboard.settle_all(&self.queue);
        self.usage.on_reduction(now);
        self.events.push_back(Event::RetransmissionTimeout);
    }
}
