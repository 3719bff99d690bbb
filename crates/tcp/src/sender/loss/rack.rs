//! RACK loss detection, based on time.
//!
//! Source: RFC 8985 §6; Linux `tcp_recovery.c`.
//! Cost: an in-order acknowledgment costs one comparison per segment. The queue holds original
//! transmissions in order; a separate list holds retransmissions in order. The scan visits only
//! segments that may be lost, and skips each selectively acknowledged range at once.

use crate::sender::queue::{SendQueue, Sent, SentFlags, TransmitOrder};
use crate::sender::scoreboard::Scoreboard;
use fairwind_units::{Instant, Span};
use fairwind_wire::SequenceNumber;
use std::collections::VecDeque;

/// Recoveries without a D-SACK after which the reordering window is reset (Linux
/// `TCP_RACK_RECOVERY_THRESH`).
const RACK_RECOVERY_THRESHOLD: u8 = 16;

#[derive(Debug, Clone, Copy)]
struct Retransmission {
    sequence: SequenceNumber,
    at: Instant,
}

/// RACK state of a connection (`struct tcp_rack`).
#[derive(Debug, Default)]
pub(crate) struct Rack {
    /// Transmission of the most recently sent segment among the delivered ones (`rack.mstamp`,
    /// `rack.end_seq`).
    youngest: TransmitOrder,
    /// Round-trip time of the segment delivered last (`rack.rtt_us`).
    rtt: Span,
    /// A segment was delivered since the last detection (`rack.advanced`).
    advanced: bool,
    /// A D-SACK arrived, so the reordering window is due to grow (`rack.dsack_seen`).
    dsack_seen: bool,
    /// Reordering window in steps of a quarter of the minimum round-trip time, or another part
    /// ([`RecoveryConstants::reordering_window`](crate::RecoveryConstants)) (`rack.reo_wnd_steps`).
    window_steps: u8,
    /// Recoveries for which the window keeps its size (`rack.reo_wnd_persist`).
    window_persist: u8,
    /// Segments delivered when the window grew last (`rack.last_delivered`).
    last_delivered: u32,
    /// Original transmissions below this absolute index are delivered or lost.
    scanned_below: u64,
    /// Retransmissions in the order of transmission; settled ones leave at the front.
    retransmissions: VecDeque<Retransmission>,
}

impl Rack {
    pub(crate) fn new() -> Self {
        Self { window_steps: 1, ..Self::default() }
    }

    /// Whether a segment was delivered since the last detection; resets the answer.
    pub(crate) fn take_advanced(&mut self) -> bool {
        std::mem::take(&mut self.advanced)
    }

    /// Makes the next acknowledgment run the detection even if it delivers nothing.
    pub(crate) fn force_detection(&mut self) {
        self.advanced = true;
    }

    pub(crate) fn note_dsack(&mut self) {
        self.dsack_seen = true;
    }

    /// Whether a segment that was sent later has been delivered.
    fn is_overtaken(&self, sent: &Sent) -> bool {
        sent.transmit_order().is_before(self.youngest)
    }

    /// Takes a sample from a delivered segment. A retransmitted one counts only if the peer can have
    /// answered the last transmission (RFC 8985 §6.2 step 2).
    #[inline]
    pub(super) fn advance(&mut self, sent: &Sent, min_rtt: Span, now: Instant) {
        let rtt = now.saturating_since(sent.transmitted_at());
        if sent.is_retransmitted() && rtt < min_rtt {
            return;
        }
        self.advanced = true;
        self.rtt = rtt;
        if self.youngest.is_before(sent.transmit_order()) {
            self.youngest = sent.transmit_order();
        }
    }

    /// Takes a sample from our SYN, which was sent once.
    pub(crate) fn on_handshake(&mut self, sent_at: Instant, rtt: Span) {
        self.advanced = true;
        self.rtt = rtt;
        self.youngest = TransmitOrder::new(sent_at, 0);
    }

    /// Records a retransmission of the segment at `sequence`.
    pub(crate) fn on_retransmitted(&mut self, sequence: SequenceNumber, now: Instant) {
        self.retransmissions.push_back(Retransmission { sequence, at: now });
    }

    pub(crate) fn on_collapsed(&mut self, index: u64) {
        if self.scanned_below > index + 1 {
            self.scanned_below -= 1;
        }
    }

    /// Starts the scan at the oldest segment again; segments that RACK marked lost are left out.
    pub(crate) fn restart_scan(&mut self, queue: &SendQueue) {
        self.advanced = true;
        self.scanned_below = queue.first_index();
    }

    /// When a segment sent at `sent_at` counts as lost, if a later one has been delivered.
    pub(crate) fn lost_at(&self, sent_at: Instant, reordering_window: Span) -> Instant {
        sent_at + self.rtt + reordering_window
    }

    /// How long RACK waits for reordered segments beyond a round trip; `step` is the window without growth.
    pub(crate) fn reordering_window(&self, step: Span, smoothed: Span) -> Span {
        step.saturating_mul(u64::from(self.window_steps)).min(smoothed)
    }

    /// Lets the reordering window grow after a D-SACK, once per round trip (Linux
    /// `tcp_rack_update_reo_wnd`).
    #[inline]
    pub(crate) fn update_reordering_window(&mut self, delivered_at_sending: u32, delivered: u32) {
        if delivered_at_sending == 0 {
            return;
        }
        let since = delivered_at_sending.wrapping_sub(self.last_delivered);
        if since > u32::MAX / 2 {
            self.dsack_seen = false;
        }
        if self.dsack_seen {
            self.window_steps = self.window_steps.saturating_add(1);
            self.dsack_seen = false;
            self.last_delivered = delivered;
            self.window_persist = RACK_RECOVERY_THRESHOLD;
        } else if self.window_persist == 0 {
            self.window_steps = 1;
        }
    }

    /// Counts a finished recovery: a spurious one extends the life of the window, others shorten it.
    pub(crate) fn on_recovery_ended(&mut self, spurious: bool) {
        self.window_persist = if spurious {
            (self.window_persist + 1).min(RACK_RECOVERY_THRESHOLD)
        } else {
            self.window_persist.saturating_sub(1)
        };
    }

    /// Marks lost segments. Returns how long to wait until every overtaken segment is either
    /// delivered or lost (Linux `tcp_rack_detect_loss`).
    pub(crate) fn detect_losses(
        &mut self,
        queue: &mut SendQueue,
        scoreboard: &Scoreboard,
        reordering_window: Span,
        now: Instant,
    ) -> Option<Span> {
        let originals = self.detect_lost_originals(queue, scoreboard, reordering_window, now);
        let retransmissions = self.detect_lost_retransmissions(queue, reordering_window, now);
        originals.max(retransmissions).map(|last| last.saturating_since(now))
    }

    fn detect_lost_originals(
        &mut self,
        queue: &mut SendQueue,
        scoreboard: &Scoreboard,
        reordering_window: Span,
        now: Instant,
    ) -> Option<Instant> {
        let mut last = None;
        let mut index = self.scanned_below.max(queue.first_index());
        while index < queue.end_index() {
            let sent = *queue.get(index);
            if sent.flags().contains(SentFlags::SACKED) {
                index = scoreboard.skip_range(queue, index);
            } else {
                let settled = sent.is_retransmitted()
                    || sent.flags().contains(SentFlags::LOST)
                    || sent.flags().contains(SentFlags::RACK_LOST);
                if !settled {
                    if !self.is_overtaken(&sent) {
                        break;
                    }
                    last = last.max(self.detect_lost_segment(queue, index, reordering_window, now));
                }
                index += 1;
            }
            if last.is_none() {
                self.scanned_below = index;
            }
        }
        last
    }

    /// Marks an overtaken segment lost if its time is over; else returns when that will be.
    #[inline]
    fn detect_lost_segment(
        &self,
        queue: &mut SendQueue,
        index: u64,
        reordering_window: Span,
        now: Instant,
    ) -> Option<Instant> {
        let lost_at = self.lost_at(queue.get(index).transmitted_at(), reordering_window);
        if lost_at > now {
            return Some(lost_at);
        }
        queue.mark_rack_lost(index);
        None
    }

    fn detect_lost_retransmissions(
        &mut self,
        queue: &mut SendQueue,
        reordering_window: Span,
        now: Instant,
    ) -> Option<Instant> {
        let mut last = None;
        let mut place = 0;
        while let Some(&retransmission) = self.retransmissions.get(place) {
            let index = queue.index_of(retransmission.sequence);
            let current = (index < queue.end_index())
                .then(|| *queue.get(index))
                .filter(|sent| {
                    sent.is_retransmitted() && sent.transmitted_at() == retransmission.at
                })
                .filter(|sent| {
                    !sent.flags().contains(SentFlags::SACKED)
                        && !sent.flags().contains(SentFlags::RACK_LOST)
                });
            let Some(sent) = current else {
                self.pop_if_front(place);
                // An entry elsewhere leaves when it reaches the front.
                place += usize::from(place > 0);
                continue;
            };
            place += 1;
            if sent.flags().contains(SentFlags::LOST)
                && !sent.flags().contains(SentFlags::RETRANSMITTED)
            {
                continue;
            }
            if !self.is_overtaken(&sent) {
                break;
            }
            last = last.max(self.detect_lost_segment(queue, index, reordering_window, now));
        }
        last
    }

    fn pop_if_front(&mut self, place: usize) {
        if place == 0 {
            self.retransmissions.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::connection::{Connection, Ports};
    use crate::{Config, Profile};
    use fairwind_units::{Instant, Span};
    use fairwind_wire::{Flags, Options, Segment, SequenceNumber};
    use std::sync::Arc;

    #[test]
    fn only_rack_keeps_retransmissions() {
        let lasting = Span::from_secs(1);
        for (profile, sack, keeps) in [
            (Profile::Rfc, true, false),
            (Profile::Linux6_18, false, false),
            (Profile::Linux6_18, true, true),
        ] {
            let config = Config {
                sack,
                maximum_rto: lasting,
                retransmission_limit: 100,
                ..profile.config()
            };
            let number = SequenceNumber::new(0);
            let ports = Ports { local: 1, remote: 2 };
            let mut end = Connection::connect(Arc::new(config), ports, number);
            let mut now = Instant::from_secs(1);
            end.poll_segment(now);
            let options = Options { sack_permitted: sack, ..Options::NONE };
            let flags = Flags::SYN | Flags::ACK;
            let acknowledgment = number + 1;
            end.on_segment(
                now,
                &Segment { flags, acknowledgment, options, window: 9000, ..Segment::default() },
            );
            end.write(100);
            while end.poll_segment(now).is_some() {}
            for _ in 0..20 {
                now = end.next_deadline();
                end.on_deadline(now);
                while end.poll_segment(now).is_some() {}
            }
            assert!(end.sender().stats.retransmissions() > 10);
            assert_eq!(
                !end.sender().rack.retransmissions.is_empty(),
                keeps,
                "{} {sack}",
                profile.name()
            );
        }
    }
}
