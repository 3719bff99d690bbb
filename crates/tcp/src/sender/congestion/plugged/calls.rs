//! Calls of a plugged algorithm: copy fields in, call, copy fields out.
//!
//! Source: Linux `tcp_init_congestion_control`, `tcp_cong_control`, `tcp_in_ack_event`, `tcp_set_ca_state`,
//! `tcp_ca_event`, `tcp_undo_cwnd_reduction`.

use super::tcp_sock::{AckReport, LostSegment, RateSample, TcpSock};
use super::{
    ACK_ECHO, ACK_SLOW_PATH, ACK_WINDOW_UPDATE, CongestionControl, ControlFaults,
    FLAG_ACKNOWLEDGED, FLAG_ADVANCED, FLAG_ECHO, FLAG_SACKED, Hooks, PluggedAlgorithm,
    RequestedAck, WindowEvent,
};
use crate::config::AckCounting;
use crate::ecn::EcnReceiver;
use crate::sender::congestion::{Congestion, INFINITE_SSTHRESH};
use crate::sender::{AckEvent, AckFlags, Sender};
use crate::state::RecoveryState;
use fairwind_units::{Instant, Span};
use fairwind_wire::{Segment, SequenceNumber};

/// Bits of `ecn_flags` in Linux: negotiated, CWR pending, echo pending, marks seen.
const ECN_AGREED: u8 = 1;
const ECN_OWES_REDUCED: u8 = 2;
const ECN_DEMANDS: u8 = 4;
const ECN_SEEN: u8 = 8;

/// A pacing rate below one full segment in this time is a fault.
const MAX_SEGMENT_SECONDS: u64 = 60;

/// Whether a rate in bytes per second nearly stops a flow; zero is no pacing (Linux `tcp_update_skb_after_send`).
fn is_standstill(rate: u64, segment_bytes: u32) -> bool {
    rate != 0 && rate.saturating_mul(MAX_SEGMENT_SECONDS) < u64::from(segment_bytes)
}

/// Microseconds, in 32 bits as the kernel keeps spans.
fn micros(span: Span) -> u32 {
    u32::try_from(span.as_micros()).unwrap_or(u32::MAX)
}

fn jiffies(at: Instant) -> u32 {
    let millis = at.as_nanos() / 1_000_000;
    u32::try_from(millis & u64::from(u32::MAX)).unwrap_or(0)
}

#[inline]
fn ecn_flags(is_negotiated: bool, is_cwr_due: bool, receiver: ReceiverView) -> u8 {
    let bit = |holds: bool, bit: u8| if holds { bit } else { 0 };
    bit(is_negotiated, ECN_AGREED)
        | bit(is_cwr_due, ECN_OWES_REDUCED)
        | bit(receiver.is_echo_due, ECN_DEMANDS)
        | bit(receiver.has_seen_capable, ECN_SEEN)
}

/// The flags of `cong_control`.
fn control_flags(ack: &AckEvent) -> i32 {
    let bit = |has: AckFlags, bit: i32| if ack.has(has) { bit } else { 0 };
    bit(AckFlags::ACKNOWLEDGED, FLAG_ACKNOWLEDGED)
        | bit(AckFlags::SACKED, FLAG_SACKED)
        | bit(AckFlags::ADVANCED, FLAG_ADVANCED)
        | bit(AckFlags::CONGESTION_ECHOED, FLAG_ECHO)
}

/// Linux' bits of `icsk_ack.pending`: an acknowledgment is scheduled, delayed by a timer, due now.
const ACK_SCHEDULED: u8 = 1;
const ACK_TIMER: u8 = 2;
const ACK_NOW: u8 = 16;

/// View of the receiving half for an external congestion control.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ReceiverView {
    next: SequenceNumber,
    has_seen_capable: bool,
    is_echo_due: bool,
    /// Linux' bits of `icsk_ack.pending`.
    ack_pending: u8,
}

impl ReceiverView {
    /// `next` is the next number expected (RCV.NXT).
    pub(crate) fn new(next: SequenceNumber, ecn: &EcnReceiver) -> Self {
        let (has_seen_capable, is_echo_due) = (ecn.has_seen_capable(), ecn.is_echo_due());
        Self { next, has_seen_capable, is_echo_due, ack_pending: 0 }
    }

    /// The acknowledgment that waits: whether it is scheduled, delayed by a timer, due now.
    pub(crate) fn with_pending_ack(self, scheduled: bool, delayed: bool, now: bool) -> Self {
        let bit = |holds: bool, bit: u8| if holds { bit } else { 0 };
        let (scheduled, delayed) = (bit(scheduled, ACK_SCHEDULED), bit(delayed, ACK_TIMER));
        Self { ack_pending: scheduled | delayed | bit(now, ACK_NOW), ..self }
    }
}

/// An algorithm and the sender as it sees it.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a separate fact")]
pub(crate) struct Plugged {
    control: Box<dyn CongestionControl>,
    hooks: Hooks,
    sender: Box<TcpSock>,
    /// The connection is open, and the algorithm is initialised.
    is_begun: bool,
    /// The copy of the fields is up to date, and with which ECN flags and pending acknowledgments.
    is_shown: bool,
    shown: (u8, u8),
    /// Sample of an acknowledgment that is passed together with the growth.
    waiting: Option<AckReport>,
    /// In flight when the acknowledgment that is being processed came.
    flight_before: u32,
    /// The receiver's view, and whether the algorithm has changed it.
    receiver: ReceiverView,
    requests_ack_now: bool,
    requests_echo: bool,
    /// Number of requests for an empty window, and for a pacing rate that nearly stops the flow.
    empty_windows: u32,
    standstills: u32,
}

impl Plugged {
    pub(crate) fn new(algorithm: &PluggedAlgorithm) -> Self {
        let control = algorithm.0.create();
        let hooks = control.hooks();
        Self {
            control,
            hooks,
            sender: Box::default(),
            is_begun: false,
            is_shown: false,
            waiting: None,
            shown: (0, 0),
            flight_before: 0,
            receiver: ReceiverView::default(),
            requests_ack_now: false,
            requests_echo: false,
            empty_windows: 0,
            standstills: 0,
        }
    }

    /// Sets how the stack counts acknowledged segments.
    pub(crate) fn set_ack_counting(&mut self, counting: AckCounting) {
        self.sender.counting = match counting {
            AckCounting::Segments => 0,
            AckCounting::SegmentsInSlowStart => 1,
            AckCounting::PerAck => 2,
        };
    }

    pub(crate) fn has_hook(&self, hooks: Hooks) -> bool {
        self.hooks.contains(hooks)
    }

    /// Faults of the algorithm; its own message is returned once.
    fn complaints(&mut self) -> ControlFaults {
        ControlFaults {
            empty_windows: self.empty_windows,
            standstills: self.standstills,
            own: self.control.take_fault(),
        }
    }
}

impl Sender {
    /// Whether an algorithm from outside governs the window, and has any of these hooks.
    fn has_hook(&self, hooks: Hooks) -> bool {
        matches!(&self.congestion, Congestion::Plugged(plugged) if plugged.is_begun && plugged.hooks.contains(hooks))
    }

    /// Whether an algorithm from outside governs the window.
    pub(crate) fn is_plugged(&self) -> bool {
        matches!(&self.congestion, Congestion::Plugged(_))
    }

    /// Whether an algorithm from outside alone decides on the window.
    pub(crate) fn has_cong_control(&self) -> bool {
        matches!(&self.congestion, Congestion::Plugged(plugged) if plugged.has_hook(Hooks::CONG_CONTROL))
    }

    /// It is `now` for the algorithm, too.
    #[inline]
    pub(crate) fn note_instant(&mut self, now: Instant) {
        if let Congestion::Plugged(plugged) = &mut self.congestion {
            plugged.sender.now_nanos = now.as_nanos();
        }
    }

    /// Copies the sender's fields, calls the algorithm, and adopts its writes.
    fn consult<R>(
        &mut self,
        ask: impl FnOnce(&mut dyn CongestionControl, &mut TcpSock) -> R,
    ) -> Option<R> {
        self.copy_sender_fields();
        self.ask(ask)
    }

    /// The same; copies nothing if nothing has changed since the last call.
    #[inline]
    fn consult_again<R>(
        &mut self,
        ask: impl FnOnce(&mut dyn CongestionControl, &mut TcpSock) -> R,
    ) -> Option<R> {
        if !matches!(&self.congestion, Congestion::Plugged(plugged) if plugged.is_shown) {
            self.copy_sender_fields();
        }
        self.ask(ask)
    }

    /// Invalidates the copy of the fields.
    #[inline]
    pub(crate) fn invalidate_view(&mut self) {
        if let Congestion::Plugged(plugged) = &mut self.congestion {
            plugged.is_shown = false;
        }
    }

    #[inline]
    fn ask<R>(
        &mut self,
        ask: impl FnOnce(&mut dyn CongestionControl, &mut TcpSock) -> R,
    ) -> Option<R> {
        let Congestion::Plugged(plugged) = &mut self.congestion else { return None };
        let answer = ask(&mut *plugged.control, &mut plugged.sender);
        self.adopt_sender();
        Some(answer)
    }

    /// Writes the fields that the algorithm may read.
    fn copy_sender_fields(&mut self) {
        let in_order = self.queue.sacked() + self.duplicate_acks.count();
        let Congestion::Plugged(plugged) = &mut self.congestion else { return };
        let receiver = plugged.receiver;
        let ecn_flags = ecn_flags(self.ecn.is_classic(), self.ecn.is_cwr_due(), receiver);
        let needs_ecn = plugged.hooks.contains(Hooks::NEEDS_ECN);
        let pending = if needs_ecn { receiver.ack_pending } else { 0 };
        plugged.is_shown = true;
        plugged.shown = (ecn_flags, pending);
        let sender = &mut *plugged.sender;
        sender.now_micros = sender.now_nanos / 1_000;
        sender.control.pacing.rate = self.pacer.rate();
        sender.control.state = self.recovery.state().number();
        sender.control.pending = pending;
        sender.window = self.window.segments;
        sender.credit = self.window.credit;
        sender.threshold = self.window.slow_start_threshold;
        sender.window_before = self.reduction.window_before();
        sender.max_outstanding = self.usage.max_outstanding();
        sender.window_limited = u8::from(self.usage.is_limited_by_window());
        sender.ecn_flags = ecn_flags;
        sender.outstanding = self.queue.outstanding();
        sender.retransmitted = self.queue.retransmitted();
        sender.lost = self.queue.lost();
        sender.sacked = in_order;
        sender.delivered = self.deliveries.segments();
        sender.delivered_marked = self.deliveries.marked();
        sender.losses = self.queue.losses();
        sender.segment_bytes = self.segment_bytes;
        sender.oldest_unacked = self.send.oldest_unacked().get();
        sender.next = self.send.next().get();
        sender.expected = receiver.next.get();
        sender.last_sent_jiffies = jiffies(self.send.last_sent());
        self.rtt.show(sender);
        if !plugged.hooks.contains(Hooks::USES_FEW_FIELDS) {
            self.copy_rare_fields();
        }
        if let Congestion::Plugged(plugged) = &mut self.congestion
            && !self.fast_path.is_plain()
        {
            self.delivery_rate.show(&mut plugged.sender);
        }
    }

    /// Copies the fields that only few algorithms use.
    fn copy_rare_fields(&mut self) {
        let unsent = u32::try_from(self.written.unsent() & u64::from(u32::MAX)).unwrap_or(0);
        let Congestion::Plugged(plugged) = &mut self.congestion else { return };
        let sender = &mut *plugged.sender;
        sender.control.timeouts = u8::try_from(self.rto.consecutive_timeouts()).unwrap_or(u8::MAX);
        sender.threshold_before = self.undo.threshold();
        (sender.reduction_delivered, sender.reduction_sent) = self.reduction.counts();
        sender.reordering = self.reordering.threshold();
        sender.retransmissions = self.stats.retransmissions();
        sender.written_end = (self.send.next() + unsent).get();
        sender.recovery_end = self.recovery.end().get();
        sender.peer_window = self.peer_window.bytes();
        sender.acknowledged_bytes = self.send.acknowledged_bytes();
        sender.segments_sent = self.stats.segments();
        sender.data_segments_sent = self.stats.data_segments();
        sender.paced_until_nanos = self.pacer.through_at().as_nanos();
        self.rtt.copy_deviations(sender);
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
        let paces = !self.fast_path.is_plain()
            || sender.control.pacing.rate != self.pacer.rate()
            || sender.control.pacing.status != 0;
        if paces || plugged.shown != (sender.ecn_flags, sender.control.pending) {
            self.adopt_rare_fields();
        }
    }

    fn adopt_rare_fields(&mut self) {
        let Congestion::Plugged(plugged) = &mut self.congestion else { return };
        let sender = &*plugged.sender;
        if sender.control.pacing.status != 0 {
            self.fast_path.leave();
        }
        let pacing = &sender.control.pacing;
        if pacing.status != 0 && pacing.rate != self.pacer.rate() {
            let is_standstill = is_standstill(pacing.rate, self.segment_bytes);
            plugged.standstills += u32::from(is_standstill);
        }
        self.pacer.take_rate(pacing, &self.config.sending.pacing);
        self.delivery_rate.limit_until(sender.application_limited);
        let ecn_flags = sender.ecn_flags;
        if plugged.hooks.contains(Hooks::NEEDS_ECN) {
            plugged.receiver.ack_pending =
                plugged.receiver.ack_pending & !ACK_NOW | sender.control.pending & ACK_NOW;
            plugged.requests_ack_now = true;
        }
        if self.ecn.is_negotiated() {
            self.ecn.set_cwr_due(ecn_flags & ECN_OWES_REDUCED != 0);
            plugged.receiver.is_echo_due = ecn_flags & ECN_DEMANDS != 0;
            plugged.requests_echo = true;
        }
    }

    /// An external congestion control sees this of the receiving half from now on.
    pub(crate) fn set_receiver_view(&mut self, view: ReceiverView) {
        if let Congestion::Plugged(plugged) = &mut self.congestion {
            plugged.receiver = view;
        }
    }

    /// Whether a transmission of new data may call an external congestion control: nothing may be in flight.
    #[inline]
    pub(crate) fn may_consult_on_sending(&self) -> bool {
        self.is_plugged() && (self.queue.is_empty() || self.recovery.state() != RecoveryState::Open)
    }

    /// Whether an external congestion control sees the pending acknowledgment.
    #[inline]
    pub(crate) fn sees_pending_ack(&self) -> bool {
        matches!(&self.congestion, Congestion::Plugged(plugged) if plugged.has_hook(Hooks::NEEDS_ECN))
    }

    /// Whether an external congestion control has changed the receiving half.
    #[inline]
    pub(crate) fn has_receiver_requests(&self) -> bool {
        matches!(&self.congestion, Congestion::Plugged(plugged)
            if plugged.requests_ack_now | plugged.requests_echo)
    }

    /// Takes changes of the receiving half: whether the acknowledgment is immediate, and whether a mark
    /// is echoed.
    pub(crate) fn take_receiver_requests(&mut self) -> (Option<bool>, Option<bool>) {
        let Congestion::Plugged(plugged) = &mut self.congestion else { return (None, None) };
        let view = plugged.receiver;
        let ack_now = std::mem::take(&mut plugged.requests_ack_now);
        let echo = std::mem::take(&mut plugged.requests_echo);
        (ack_now.then_some(view.ack_pending & ACK_NOW != 0), echo.then_some(view.is_echo_due))
    }

    /// Data has come with or without a CE mark. Returns the acknowledgment that the congestion control
    /// requests (RFC 8257 §3.2; Linux `tcp_data_ecn_check`, `__tcp_send_ack`).
    #[cold]
    pub(crate) fn notify_ce_mark(&mut self, event: WindowEvent) -> Option<RequestedAck> {
        self.notify_control(event);
        match &mut self.congestion {
            Congestion::Plugged(plugged) => plugged.control.take_requested_ack(),
            _ => None,
        }
    }

    /// The connection is open (Linux `tcp_init_congestion_control`).
    #[cold]
    pub(crate) fn begin_control(&mut self, now: Instant) {
        self.congestion.begin(now, self.send.next());
        let Congestion::Plugged(plugged) = &mut self.congestion else { return };
        if plugged.is_begun {
            return;
        }
        plugged.is_begun = true;
        plugged.sender.control.pacing.status = u32::from(self.config.sending.pacing.enabled);
        plugged.set_ack_counting(self.config.ack_counting);
        self.note_instant(now);
        if self.has_hook(Hooks::SEGMENTS) {
            self.queue.track_marked_lost();
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

    /// Threshold after a loss, from a plugged algorithm.
    #[cold]
    pub(crate) fn plugged_ssthresh(&mut self) -> Option<u32> {
        self.has_hook(Hooks::SSTHRESH).then_some(())?;
        let answer = self.consult(|control, sender| control.ssthresh(sender))?;
        Some(self.at_least_one(answer))
    }

    /// Window before a spurious reduction, from a plugged algorithm.
    #[cold]
    pub(crate) fn plugged_undo(&mut self) -> Option<u32> {
        self.has_hook(Hooks::UNDO_CWND).then_some(())?;
        let answer = self.consult(|control, sender| control.undo_cwnd(sender))?;
        Some(self.at_least_one(answer))
    }

    /// Minimum segments of the next bundle (`min_tso_segs`), if the algorithm decides on it; its writes do not count.
    #[inline]
    pub(crate) fn plugged_min_bundle(&mut self) -> Option<u32> {
        self.has_hook(Hooks::MIN_TSO_SEGS).then_some(())?;
        self.copy_sender_fields();
        let Congestion::Plugged(plugged) = &mut self.congestion else { return None };
        Some(plugged.control.min_tso_segs(&mut plugged.sender))
    }

    /// At least one segment; records an answer of zero.
    fn at_least_one(&mut self, answer: u32) -> u32 {
        if let (0, Congestion::Plugged(plugged)) = (answer, &mut self.congestion) {
            plugged.empty_windows += 1;
        }
        answer.max(1)
    }

    #[inline]
    pub(crate) fn enter(&mut self, state: RecoveryState) {
        if self.has_hook(Hooks::SET_STATE) {
            self.consult(|control, sender| control.set_state(sender, state.number()));
        }
        self.recovery.set_state(state);
    }

    /// Notifies the algorithm of a time-out.
    pub(crate) fn enter_loss(&mut self, now: Instant) {
        self.congestion.on_timeout(now, self.send.next());
        self.enter(RecoveryState::Loss);
    }

    /// Notifies the algorithm of a window event.
    #[inline]
    pub(crate) fn notify_control(&mut self, event: WindowEvent) {
        if self.has_hook(Hooks::CWND_EVENT) {
            self.consult(|control, sender| control.cwnd_event(sender, event));
        }
    }

    /// An acknowledgment begins to be processed.
    #[inline]
    pub(crate) fn begin_plugged_ack(&mut self, segment: &Segment) {
        let flight = if self.fast_path.is_plain() { 0 } else { self.in_flight() };
        let is_stamped = self.negotiated.has_timestamps();
        if let Congestion::Plugged(plugged) = &mut self.congestion {
            plugged.is_shown = false;
            plugged.flight_before = flight;
            plugged.sender.note_timestamps(segment.options.timestamps, is_stamped);
        }
    }

    /// Passes the sample of an acknowledgment, before the window changes.
    #[inline]
    pub(crate) fn plugged_pkts_acked(
        &mut self,
        acknowledged: u32,
        rtt: Option<Span>,
        ack: &AckEvent,
    ) {
        let Congestion::Plugged(plugged) = &self.congestion else { return };
        let (is_begun, hooks) = (plugged.is_begun, plugged.hooks);
        if is_begun && hooks.contains(Hooks::PKTS_ACKED) {
            let since = self.deliveries.segments().wrapping_sub(ack.delivered_at_sending());
            let report = AckReport {
                acknowledged,
                rtt_micros: rtt
                    .map_or(-1, |rtt| i32::try_from(rtt.as_micros()).unwrap_or(i32::MAX)),
                flight_bytes: self.segment_bytes.wrapping_mul(since),
            };
            if !hooks.contains(Hooks::IN_ACK_EVENT) && self.only_grows(ack) {
                self.defer_report(report);
                return;
            }
            self.consult(|control, sender| control.pkts_acked(sender, &report));
        }
        if hooks.contains(Hooks::IN_ACK_EVENT) {
            self.plugged_in_ack_event(ack);
        }
    }

    /// Whether an acknowledgment only lets the window grow, so that the algorithm gets both in one call.
    fn only_grows(&self, ack: &AckEvent) -> bool {
        self.fast_path.is_plain()
            && !self.tail_probe.is_outstanding()
            && !self.is_dubious(ack.flags())
            && !self.recovery.is_reducing()
            && self.may_grow(ack)
    }

    fn defer_report(&mut self, report: AckReport) {
        if let Congestion::Plugged(plugged) = &mut self.congestion {
            plugged.waiting = Some(report);
        }
    }

    /// Linux `tcp_in_ack_event`. The kernel's fast path is that of headers which were foreseen; here it is
    /// that of acknowledgments which only advance.
    pub(crate) fn plugged_in_ack_event(&mut self, ack: &AckEvent) {
        if !self.has_hook(Hooks::IN_ACK_EVENT) {
            return;
        }
        let echoed = ack.has(AckFlags::CONGESTION_ECHOED);
        let is_plain = ack.has(AckFlags::ADVANCED)
            && !ack.has(AckFlags::SUSPICIOUS)
            && self.recovery.state() == RecoveryState::Open;
        let mut flags = if is_plain && !echoed { 0 } else { ACK_SLOW_PATH };
        if ack.has(AckFlags::WINDOW_UPDATED) || flags == 0 {
            flags |= ACK_WINDOW_UPDATE;
        }
        if echoed {
            flags |= ACK_ECHO;
        }
        self.consult_again(|control, sender| control.in_ack_event(sender, flags));
    }

    /// The window may grow.
    #[inline]
    pub(crate) fn plugged_cong_avoid(&mut self, segments: u32) {
        let acknowledgment = self.send.oldest_unacked().get();
        let segments = self.window.counted(segments);
        let Congestion::Plugged(plugged) = &mut self.congestion else { return };
        let waiting = plugged.waiting.take();
        self.consult_again(|control, sender| match waiting {
            Some(report) => control.acknowledge(sender, &report, acknowledgment, segments),
            None => control.cong_avoid(sender, acknowledgment, segments),
        });
    }

    /// Reports segments marked lost since the last call.
    #[cold]
    pub(crate) fn report_lost(&mut self) {
        if !self.has_hook(Hooks::SEGMENTS) {
            return;
        }
        for (losses, sent) in self.queue.take_marked_lost() {
            let at_sending = self.delivery_rate.at_sending(sent.delivered_before(), sent.flags());
            let Some(at_sending) = at_sending else { continue };
            let (begin, end) = (sent.sequence().get(), sent.end().get());
            let lost = LostSegment { begin, end, losses, at_sending };
            self.consult(|control, sender| control.segment_lost(sender, &lost));
        }
    }

    /// The algorithm alone decides.
    #[cold]
    pub(crate) fn run_cong_control(
        &mut self,
        mut sample: RateSample,
        rtt: Option<Span>,
        ack: &AckEvent,
    ) {
        let Congestion::Plugged(plugged) = &self.congestion else { return };
        sample.flight_before = plugged.flight_before;
        sample.rtt_micros = rtt.map_or(-1, |rtt| i64::from(micros(rtt)));
        let acknowledgment = self.send.oldest_unacked().get();
        let flags = control_flags(ack);
        let at_sending = self.delivery_rate.take_at_sending();
        self.consult_again(|control, sender| {
            if let Some(at_sending) = at_sending {
                control.segment_sampled(&at_sending);
            }
            control.cong_control(sender, acknowledgment, flags, &sample);
        });
    }

    /// Faults of the plugged algorithm.
    pub(crate) fn control_faults(&mut self) -> ControlFaults {
        match &mut self.congestion {
            Congestion::Plugged(plugged) => plugged.complaints(),
            _ => ControlFaults::default(),
        }
    }
}
