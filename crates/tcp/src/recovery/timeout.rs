//! After a time-out: what is lost, and whether the time-out was spurious.
//!
//! Source: RFC 5681 §3.1, RFC 6675 §5.1, RFC 8985 §6.3, RFC 5682 (F-RTO); Linux `tcp_enter_loss`,
//! `tcp_timeout_mark_lost`, `tcp_process_loss`.

use super::{AckNews, Findings, Transmission};
use crate::congestion::plugged::WindowEvent;
use crate::connection::Connection;
use crate::event::Event;
use crate::send_queue::Marks;
use crate::state::RecoveryState;
use fairwind_units::{Instant, Span};

impl Connection {
    /// Enters repair after a time-out. The window has room for one segment beyond what is taken to
    /// be under way still: the oldest one, which goes out whatever happens.
    pub(crate) fn begin_loss(&mut self, now: Instant) {
        let state = self.recovery.state;
        let is_new = !self.recovery.is_repairing();
        let repeats = self.backoff.expired > 1;
        self.mark_lost_after_timeout(now);
        if self.has_extras {
            self.tell_lost();
        }
        // Once per window: a time-out in the midst of another repair reduces nothing more, unless it
        // is over but for its name (Linux `tcp_enter_loss`).
        let reduces = matches!(state, RecoveryState::Open | RecoveryState::Disorder)
            || !self.recovery.end.is_after(self.send.oldest_unacked)
            || state == RecoveryState::Loss && !repeats;
        if reduces {
            self.recovery.undo.threshold = self.threshold_without_reduction();
            self.recovery.reduction.window_before = self.window.segments;
            self.reduce_threshold();
            self.tell_event(WindowEvent::TimedOut);
            self.begin_account();
        }
        self.window.segments = self.in_flight() + 1;
        self.window.drop_credit();
        self.usage.on_reduction(now);
        // So many duplicates, and a time-out all the same: reordering was overestimated.
        let configured = self.config.duplicate_threshold;
        if matches!(state, RecoveryState::Open | RecoveryState::Disorder)
            && self.queue.sacked() >= configured
        {
            self.recovery.threshold = self.recovery.threshold.min(configured);
        }
        self.enter_loss(now);
        self.recovery.end = self.send.next;
        self.recovery.probe.end = None;
        self.ecn.on_reduction();
        let probes_mtu = self.path.search.is_some_and(|search| search.is_under_way());
        self.recovery.trial = self.config.loss.forward_rto && (is_new || repeats) && !probes_mtu;
        self.recovery.due = Transmission::None;
        self.recovery.forced = true;
        self.end_resumption_by_timeout();
        self.follow_framing();
        self.events.push_back(Event::RetransmissionTimeout);
    }

    /// Everything is lost but what was sent so recently that it may still be acknowledged.
    fn mark_lost_after_timeout(&mut self, now: Instant) {
        let first = self.queue.first_index();
        let reneged = self.queue.front().is_some_and(|front| front.marks.contains(Marks::SACKED));
        if reneged {
            // The receiver gave up what it had reported (RFC 2018 §8).
            self.queue.forget_sacks();
            self.scoreboard.clear();
            self.recovery.reneged = true;
        }
        self.recovery.duplicates = 0;
        for index in first..self.queue.end_index() {
            let sent_at = self.queue.get(index).transmitted_at;
            let recent = self.config.loss.timeout_spares_recent
                && !reneged
                && index != first
                && self.recovery.rack.lost_at(sent_at, Span::ZERO) > now;
            if !self.config.loss.timeout_spares_recent {
                self.queue.forget_retransmission(index);
            }
            if !recent {
                self.queue.mark_lost(index);
            }
        }
        self.queue.retransmit_from_front();
        if !self.config.loss.timeout_spares_recent {
            self.scoreboard.settle_all(&self.queue);
        }
    }

    /// All that is outstanding was dropped, though not for congestion: it is sent again, and the
    /// window stays (Linux `tcp_non_congestion_loss_retransmit`).
    #[cold]
    pub(crate) fn repeat_without_reduction(&mut self, now: Instant) {
        for index in self.queue.first_index()..self.queue.end_index() {
            self.queue.mark_lost(index);
        }
        self.scoreboard.settle_all(&self.queue);
        if self.recovery.state != RecoveryState::Loss {
            self.recovery.end = self.send.next;
            self.window.slow_start_threshold = self.threshold_without_reduction();
            self.recovery.undo.threshold = 0;
            self.recovery.undo.from = None;
            self.enter_loss(now);
        }
        self.recovery.due = Transmission::Lost;
    }

    /// Follows one acknowledgment after a time-out.
    pub(super) fn process_loss(&mut self, news: &mut AckNews) {
        let repaired = self.send.oldest_unacked.is_at_or_after(self.recovery.end);
        if news.has(Findings::ADVANCED) && self.try_undo_timeout(news, false) {
            return;
        }
        if self.recovery.trial && self.continue_trial(news, repaired) {
            return;
        }
        if repaired {
            self.try_undo_repair(news);
            return;
        }
        if !self.negotiated.sack {
            if self.send.next.is_after(self.recovery.end) && news.duplicates > 0 {
                // The new data of the trial has arrived: room for a retransmission.
                news.delivered += self.count_duplicates(news.duplicates);
            } else if news.has(Findings::ADVANCED) {
                self.recovery.duplicates = 0;
            }
        }
        self.recovery.due = Transmission::Lost;
    }

    /// Forward RTO recovery: an acknowledgment of data that was sent once proves the time-out
    /// spurious; the first that advances without that is answered by new data, to see what comes of
    /// it. Returns whether all is done for this acknowledgment.
    fn continue_trial(&mut self, news: &AckNews, repaired: bool) -> bool {
        if news.has(Findings::ORIGINAL_ACKNOWLEDGED) && self.try_undo_timeout(news, true) {
            return true;
        }
        if self.send.next.is_after(self.recovery.end) {
            if news.has(Findings::SACKED) || news.duplicates > 0 {
                self.recovery.trial = false;
            }
        } else if news.has(Findings::ADVANCED) && !repaired {
            self.recovery.end = self.send.next;
            if self.queue.unsent > 0 && self.usable_window() > 0 {
                self.recovery.due = Transmission::NewFirst;
                return true;
            }
            self.recovery.trial = false;
        }
        false
    }
}
