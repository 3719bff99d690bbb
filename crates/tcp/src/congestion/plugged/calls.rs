//! The occasions at which an algorithm is called: fields in, call, fields out.
//!
//! Source: Linux `tcp_init_congestion_control`, `tcp_cong_control`, `tcp_in_ack_event`, `tcp_set_ca_state`,
//! `tcp_ca_event`, `tcp_undo_cwnd_reduction`.

use super::samples::{AckReport, LostSegment, RateSample};
use super::sender::Sender;
use super::{
    ACK_ECHO, ACK_SLOW_PATH, ACK_WINDOW_UPDATE, CongestionControl, ControlComplaints, FLAG_ECHO,
    Hooks, WindowEvent,
};
use crate::congestion::{Congestion, INFINITE_SSTHRESH};
use crate::connection::Connection;
use crate::recovery::{AckNews, Findings};
use crate::state::RecoveryState;
use fairwind_units::{Instant, Span};
use fairwind_wire::Segment;

/// Linux' bits of `ecn_flags`: agreed on, the reduction is to be told, a mark is to be echoed, marks seen.
const ECN_AGREED: u8 = 1;
const ECN_OWES_REDUCED: u8 = 2;
const ECN_DEMANDS: u8 = 4;
const ECN_SEEN: u8 = 8;
/// Its bits of `icsk_ack.pending`: an acknowledgment is owed, a timer runs for it, it does not wait.
const OWED: u8 = 1;
const OWED_LATER: u8 = 2;
const OWED_AT_ONCE: u8 = 16;

/// A pace at which a full segment takes longer than this is hardly meant.
const LONGEST_SEGMENT_SECONDS: u64 = 60;

/// Whether a flow all but stands still at a rate in bytes per second; none at all is no pace (Linux
/// `tcp_update_skb_after_send`).
fn is_standstill(rate: u64, segment_bytes: u32) -> bool {
    rate != 0 && rate.saturating_mul(LONGEST_SEGMENT_SECONDS) < u64::from(segment_bytes)
}

/// Microseconds, in 32 bits as the kernel keeps spans.
fn micros(span: Span) -> u32 {
    u32::try_from(span.as_micros()).unwrap_or(u32::MAX)
}

fn jiffies(at: Instant) -> u32 {
    let millis = at.as_nanos() / 1_000_000;
    u32::try_from(millis & u64::from(u32::MAX)).unwrap_or(0)
}

impl Connection {
    /// Whether an algorithm from outside governs the window, and has any of these hooks.
    #[inline]
    fn has_hook(&self, hooks: Hooks) -> bool {
        matches!(&self.congestion, Congestion::Plugged(plugged) if plugged.is_begun && plugged.hooks.contains(hooks))
    }

    /// Whether an algorithm from outside governs the window.
    #[inline]
    pub(crate) fn is_governed(&self) -> bool {
        matches!(&self.congestion, Congestion::Plugged(_))
    }

    /// Whether an algorithm from outside alone decides on the window.
    #[inline]
    pub(crate) fn is_governed_alone(&self) -> bool {
        matches!(&self.congestion, Congestion::Plugged(plugged) if plugged.decides_alone())
    }

    /// It is `now` for the algorithm, too.
    #[inline]
    pub(crate) fn note_instant(&mut self, now: Instant) {
        if let Congestion::Plugged(plugged) = &mut self.congestion {
            plugged.sender.now_nanos = now.as_nanos();
        }
    }

    /// Shows the sender to the algorithm, and takes over what it has written.
    fn consult<R>(
        &mut self,
        ask: impl FnOnce(&mut dyn CongestionControl, &mut Sender) -> R,
    ) -> Option<R> {
        self.show_sender();
        self.ask(ask)
    }

    /// The same where the algorithm may have been asked about this acknowledgment before, and nothing has
    /// happened since.
    #[inline]
    fn consult_again<R>(
        &mut self,
        ask: impl FnOnce(&mut dyn CongestionControl, &mut Sender) -> R,
    ) -> Option<R> {
        let is_shown = matches!(&self.congestion, Congestion::Plugged(plugged) if plugged.is_shown);
        if !is_shown {
            self.show_sender();
        }
        self.ask(ask)
    }

    /// What was shown of the sender holds no longer.
    #[inline]
    pub(crate) fn forget_shown(&mut self) {
        if let Congestion::Plugged(plugged) = &mut self.congestion {
            plugged.is_shown = false;
        }
    }

    #[inline]
    fn ask<R>(
        &mut self,
        ask: impl FnOnce(&mut dyn CongestionControl, &mut Sender) -> R,
    ) -> Option<R> {
        let Congestion::Plugged(plugged) = &mut self.congestion else { return None };
        let answer = ask(&mut *plugged.control, &mut plugged.sender);
        self.adopt_sender();
        Some(answer)
    }

    /// Writes the fields that the algorithm may read.
    fn show_sender(&mut self) {
        let in_order = self.queue.sacked() + self.recovery.duplicates;
        let ecn_flags = self.ecn_flags();
        let Congestion::Plugged(plugged) = &self.congestion else { return };
        let pending =
            if plugged.hooks.contains(Hooks::NEEDS_ECN) { self.owed_acknowledgment() } else { 0 };
        let Congestion::Plugged(plugged) = &mut self.congestion else { return };
        plugged.is_shown = true;
        plugged.shown = (ecn_flags, pending);
        let sender = &mut *plugged.sender;
        sender.now_micros = sender.now_nanos / 1_000;
        sender.control.pacing.rate = self.pacer.rate;
        sender.control.state = self.recovery.state.number();
        sender.control.pending = pending;
        sender.window = self.window.segments;
        sender.credit = self.window.credit;
        sender.threshold = self.window.slow_start_threshold;
        sender.window_before = self.recovery.reduction.window_before;
        sender.most_outstanding = self.usage.most_outstanding();
        sender.window_limited = u8::from(self.usage.is_held_by_window());
        sender.ecn_flags = ecn_flags;
        sender.outstanding = self.queue.outstanding();
        sender.retransmitted = self.queue.retransmitted();
        sender.lost = self.queue.lost();
        sender.sacked = in_order;
        sender.delivered = self.recovery.delivered;
        sender.delivered_marked = self.recovery.delivered_marked;
        sender.losses = self.queue.losses();
        sender.segment_bytes = self.negotiated.segment_bytes;
        sender.oldest_unacked = self.send.oldest_unacked.get();
        sender.next = self.send.next.get();
        sender.expected = self.receive.next.get();
        sender.last_sent_jiffies = jiffies(self.send.last_sent);
        self.rtt.show(sender);
        if !plugged.hooks.contains(Hooks::LOOKS_AT_LITTLE) {
            self.show_more();
        }
        let Congestion::Plugged(plugged) = &mut self.congestion else { return };
        let sender = &mut *plugged.sender;
        if self.has_extras {
            self.delivery_rate.show(sender);
        }
    }

    /// Writes the fields at which only few algorithms look.
    fn show_more(&mut self) {
        let unsent = u32::try_from(self.queue.unsent & u64::from(u32::MAX)).unwrap_or(0);
        let Congestion::Plugged(plugged) = &mut self.congestion else { return };
        let sender = &mut *plugged.sender;
        sender.control.timeouts = u8::try_from(self.backoff.expired).unwrap_or(u8::MAX);
        sender.threshold_before = self.recovery.undo.threshold();
        sender.reordering = self.recovery.threshold;
        sender.retransmissions = self.recovery.retransmissions;
        sender.written_end = (self.send.next + unsent).get();
        sender.recovery_end = self.recovery.end.get();
        sender.peer_window = self.send.window;
        sender.acknowledged_bytes = self.send.acknowledged_bytes;
        sender.segments_sent = self.account.segments;
        sender.data_segments_sent = self.account.data_segments;
        sender.paced_until_nanos = self.pacer.through_at().as_nanos();
        self.rtt.show_deviations(sender);
    }

    /// Takes over the fields that the algorithm may write.
    #[inline]
    fn adopt_sender(&mut self) {
        let Congestion::Plugged(plugged) = &mut self.congestion else { return };
        let sender = &mut *plugged.sender;
        if sender.window == 0 {
            plugged.empty_windows += 1;
            sender.window = 1;
        }
        self.window.segments = sender.window;
        self.window.credit = sender.credit;
        self.window.slow_start_threshold = sender.threshold.min(INFINITE_SSTHRESH);
        let paces = self.has_extras
            || sender.control.pacing.rate != self.pacer.rate
            || sender.control.pacing.status != 0;
        if paces || plugged.shown != (sender.ecn_flags, sender.control.pending) {
            self.adopt_what_is_rarely_written();
        }
    }

    fn adopt_what_is_rarely_written(&mut self) {
        let Congestion::Plugged(plugged) = &mut self.congestion else { return };
        let sender = &*plugged.sender;
        self.has_extras |= sender.control.pacing.status != 0;
        let pacing = &sender.control.pacing;
        if pacing.status != 0 && pacing.rate != self.pacer.rate {
            let is_standstill = is_standstill(pacing.rate, self.negotiated.segment_bytes);
            plugged.standstills += u32::from(is_standstill);
        }
        self.pacer.take_rate(pacing, &self.config.sending.pacing);
        self.delivery_rate.limit_until(sender.application_limited);
        let ecn_flags = sender.ecn_flags;
        if plugged.hooks.contains(Hooks::NEEDS_ECN) {
            self.acknowledger.at_once = sender.control.pending & OWED_AT_ONCE != 0;
        }
        self.ecn.adopt(ecn_flags & ECN_OWES_REDUCED != 0, ecn_flags & ECN_DEMANDS != 0);
    }

    #[inline]
    fn ecn_flags(&self) -> u8 {
        let bit = |holds: bool, bit: u8| if holds { bit } else { 0 };
        bit(self.ecn.is_agreed(), ECN_AGREED)
            | bit(self.ecn.owes_reduced(), ECN_OWES_REDUCED)
            | bit(self.ecn.demands_reduction(), ECN_DEMANDS)
            | bit(self.ecn.seen, ECN_SEEN)
    }

    /// Linux' bits of `icsk_ack.pending`.
    #[inline]
    fn owed_acknowledgment(&self) -> u8 {
        let bit = |holds: bool, bit: u8| if holds { bit } else { 0 };
        let is_delayed = self.timers.delayed_ack.is_set() && self.acknowledger.merged == 0;
        bit(self.acknowledger.scheduled, OWED)
            | bit(is_delayed, OWED_LATER)
            | bit(self.acknowledger.at_once, OWED_AT_ONCE)
    }

    /// The connection is open (Linux `tcp_init_congestion_control`).
    #[cold]
    pub(crate) fn begin_control(&mut self, now: Instant) {
        self.congestion.begin(now, self.send.next);
        let Congestion::Plugged(plugged) = &mut self.congestion else { return };
        if plugged.is_begun {
            return;
        }
        plugged.is_begun = true;
        plugged.sender.control.pacing.status = u32::from(self.config.sending.pacing.enabled);
        plugged.count_as(self.config.ack_counting);
        self.note_instant(now);
        if self.has_hook(Hooks::SEGMENTS) {
            self.queue.note_marked_lost();
        }
        self.consult(|control, sender| control.init(sender));
    }

    /// The connection is over.
    #[cold]
    pub(crate) fn end_control(&mut self) {
        if self.has_hook(Hooks(u16::MAX)) {
            self.consult(|control, sender| control.release(sender));
        }
        if let Congestion::Plugged(plugged) = &mut self.congestion {
            plugged.is_begun = false;
        }
    }

    /// The threshold after a loss, where an algorithm from outside says it.
    #[cold]
    pub(crate) fn plugged_threshold(&mut self) -> Option<u32> {
        self.has_hook(Hooks::SSTHRESH).then_some(())?;
        let answer = self.consult(|control, sender| control.ssthresh(sender))?;
        Some(self.something_of(answer))
    }

    /// The window before a reduction that was needless, where such an algorithm says it.
    #[cold]
    pub(crate) fn plugged_undo(&mut self) -> Option<u32> {
        self.has_hook(Hooks::UNDO_CWND).then_some(())?;
        let answer = self.consult(|control, sender| control.undo_cwnd(sender))?;
        Some(self.something_of(answer))
    }

    /// One segment where an algorithm has answered with none, which is noted.
    fn something_of(&mut self, answer: u32) -> u32 {
        if let (0, Congestion::Plugged(plugged)) = (answer, &mut self.congestion) {
            plugged.empty_windows += 1;
        }
        answer.max(1)
    }

    /// The state of recovery changes.
    #[inline]
    pub(crate) fn enter(&mut self, state: RecoveryState) {
        if self.has_hook(Hooks::SET_STATE) {
            self.tell_state(state);
        }
        self.recovery.state = state;
    }

    /// All is taken for lost: the algorithm begins anew.
    pub(crate) fn enter_loss(&mut self, now: Instant) {
        self.congestion.on_timeout(now, self.send.next);
        self.enter(RecoveryState::Loss);
    }

    #[cold]
    fn tell_state(&mut self, state: RecoveryState) {
        self.consult(|control, sender| control.set_state(sender, state.number()));
    }

    /// Something happens to the window.
    #[inline]
    pub(crate) fn tell_event(&mut self, event: WindowEvent) {
        if self.has_hook(Hooks::CWND_EVENT) {
            self.consult(|control, sender| control.cwnd_event(sender, event));
        }
    }

    /// An acknowledgment begins to be processed.
    #[inline]
    pub(crate) fn note_flight(&mut self, segment: &Segment) {
        let flight = if self.has_extras { self.in_flight() } else { 0 };
        let is_stamped = self.negotiated.timestamps;
        if let Congestion::Plugged(plugged) = &mut self.congestion {
            plugged.is_shown = false;
            plugged.flight_before = flight;
            plugged.sender.note_timestamps(segment.options.timestamps, is_stamped);
        }
    }

    /// What an acknowledgment has told is known, and nothing has come of it yet.
    #[inline(never)]
    pub(crate) fn report_acknowledgment(
        &mut self,
        acknowledged: u32,
        rtt: Option<Span>,
        news: &AckNews,
    ) {
        let Congestion::Plugged(plugged) = &self.congestion else { return };
        let (is_begun, hooks) = (plugged.is_begun, plugged.hooks);
        if is_begun && hooks.contains(Hooks::PKTS_ACKED) {
            let since = self.recovery.delivered.wrapping_sub(news.delivered_at_sending);
            let report = AckReport {
                acknowledged,
                rtt_micros: rtt
                    .map_or(-1, |rtt| i32::try_from(rtt.as_micros()).unwrap_or(i32::MAX)),
                flight_bytes: self.negotiated.segment_bytes.wrapping_mul(since),
            };
            if !hooks.contains(Hooks::IN_ACK_EVENT) && self.only_grows(news) {
                self.let_report_wait(report);
                return;
            }
            self.consult(|control, sender| control.pkts_acked(sender, &report));
        }
        if hooks.contains(Hooks::IN_ACK_EVENT) {
            self.announce_acknowledgment(news);
        }
    }

    /// Whether nothing comes of an acknowledgment but growth, so that an algorithm may be told of both at
    /// once.
    fn only_grows(&self, news: &AckNews) -> bool {
        !self.has_extras
            && self.recovery.probe.end.is_none()
            && !self.is_dubious(news.findings)
            && !self.recovery.is_reducing()
            && self.may_grow(news)
    }

    fn let_report_wait(&mut self, report: AckReport) {
        if let Congestion::Plugged(plugged) = &mut self.congestion {
            plugged.waiting = Some(report);
        }
    }

    /// Linux `tcp_in_ack_event`. The kernel's fast path is that of headers which were foreseen; here it is
    /// that of acknowledgments which only advance.
    pub(crate) fn announce_acknowledgment(&mut self, news: &AckNews) {
        if !self.has_hook(Hooks::IN_ACK_EVENT) {
            return;
        }
        let echoed = news.has(Findings::CONGESTION_ECHOED);
        let is_plain = news.has(Findings::ADVANCED)
            && !news.has(Findings::ALARMING)
            && self.recovery.state == RecoveryState::Open;
        let mut flags = if is_plain && !echoed { 0 } else { ACK_SLOW_PATH };
        if news.has(Findings::WINDOW_UPDATED) || flags == 0 {
            flags |= ACK_WINDOW_UPDATE;
        }
        if echoed {
            flags |= ACK_ECHO;
        }
        self.consult_again(|control, sender| control.in_ack_event(sender, flags));
    }

    /// The window may grow.
    #[inline(never)]
    pub(crate) fn plugged_growth(&mut self, segments: u32) {
        let acknowledgment = self.send.oldest_unacked.get();
        let segments = self.window.counted(segments);
        let Congestion::Plugged(plugged) = &mut self.congestion else { return };
        let waiting = plugged.waiting.take();
        self.consult_again(|control, sender| match waiting {
            Some(report) => control.acknowledge(sender, &report, acknowledgment, segments),
            None => control.cong_avoid(sender, acknowledgment, segments),
        });
    }

    /// Segments were marked lost since the last time.
    #[cold]
    pub(crate) fn tell_lost(&mut self) {
        if !self.has_hook(Hooks::SEGMENTS) {
            return;
        }
        for (losses, sent) in self.queue.take_marked_lost() {
            let at_sending = self.delivery_rate.at_sending(sent.delivered_before, sent.marks);
            let Some(at_sending) = at_sending else { continue };
            let (begin, end) = (sent.sequence.get(), sent.end().get());
            let lost = LostSegment { begin, end, losses, at_sending };
            self.consult(|control, sender| control.segment_lost(sender, &lost));
        }
    }

    /// The algorithm alone decides.
    #[cold]
    pub(crate) fn govern(&mut self, mut sample: RateSample, rtt: Option<Span>, news: &AckNews) {
        let Congestion::Plugged(plugged) = &self.congestion else { return };
        sample.flight_before = plugged.flight_before;
        sample.rtt_micros = rtt.map_or(-1, |rtt| i64::from(micros(rtt)));
        let acknowledgment = self.send.oldest_unacked.get();
        let flags = if news.has(Findings::CONGESTION_ECHOED) { FLAG_ECHO } else { 0 };
        let at_sending = self.delivery_rate.take_at_sending();
        self.consult_again(|control, sender| {
            if let Some(at_sending) = at_sending {
                control.segment_sampled(&at_sending);
            }
            control.cong_control(sender, acknowledgment, flags, &sample);
        });
    }

    /// What was amiss with the algorithm from outside.
    pub fn control_complaints(&mut self) -> ControlComplaints {
        match &mut self.congestion {
            Congestion::Plugged(plugged) => plugged.complaints(),
            _ => ControlComplaints::default(),
        }
    }
}
