//! Transmission of new data, within both windows, Nagle's rule and bundling.
//!
//! Source: Linux `tcp_write_xmit`, `tcp_cwnd_test`, `tcp_snd_wnd_test`, `tcp_nagle_test`,
//! `tcp_mss_split_point`; RFC 9293 §3.8.6.2.1, RFC 896.
//!
//! A transmission is a *run* that ends when nothing more may be sent. A run decides on bundles; the
//! segments of a bundle then leave one by one. Cost: one decision per bundle, a few comparisons per
//! segment.

use super::mtu::MtuProbeDecision;
use crate::config::{Gathering, IdleRestart, Nagle, SillyWindow};
use crate::handshake::sack_option_bytes;
use crate::sender::congestion::plugged::WindowEvent;
use crate::sender::queue::SentFlags;
use crate::sender::statistics::SenderLimit;
use crate::sender::{Outgoing, Sender};
use crate::state::{RecoveryState, State};
use fairwind_units::Instant;
use fairwind_wire::SequenceNumber;

/// Treatment of small segments in this run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum NagleOverride {
    /// Nagle's rule decides, unless it is switched off.
    #[default]
    Usual,
    /// They are sent (`TCP_NAGLE_PUSH`).
    Push,
    /// They wait: more will follow (`MSG_MORE`).
    Hold,
    /// One bundle is sent, in the middle of a write (`tcp_push_one`).
    PushOne,
    /// One bundle is sent, of one segment even if the congestion window has no room: a tail loss
    /// probe.
    Probe,
    /// Nothing is sent, in the middle of a write.
    Wait,
}

/// The present run, and the start of the next one.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent of each other")]
pub(crate) struct TransmitBudget {
    /// Bytes of the present bundle that are not sent yet.
    bundle_left: u32,
    /// The bundle ends with PSH, being one of several segments.
    bundle_pushed: bool,
    /// The bundle is an MTU probe: one larger segment.
    probes_mtu: bool,
    sent: bool,
    /// The persist timer caused the transmission, so no tail loss probe follows (Linux
    /// `tcp_write_wakeup` bypasses `tcp_write_xmit`).
    woken: bool,
    /// The congestion window made a bundle wait for more.
    window_limited: bool,
    /// The peer's window was the limit.
    peer_limited: bool,
    nagle_override: NagleOverride,
    /// A buffer was begun with nothing outstanding: the window may be stale.
    resumes: bool,
    /// Data that fits is sent, however small, because the persist timer has expired.
    probes_with_data: bool,
}

impl TransmitBudget {
    pub(super) fn set_override(&mut self, nagle_override: NagleOverride) {
        self.nagle_override = nagle_override;
    }

    /// New data waits for another occasion.
    pub(super) fn hold(&mut self) {
        self.nagle_override = NagleOverride::Wait;
    }

    /// Sends data that fits, however small, because the persist timer has expired.
    pub(super) fn probe_with_data(&mut self) {
        self.probes_with_data = true;
    }

    /// Records a new buffer, `idle` with nothing outstanding.
    pub(super) fn note_resume(&mut self, idle: bool) {
        self.resumes |= idle;
    }

    pub(super) fn note_window_limit(&mut self) {
        self.window_limited = true;
    }

    pub(super) fn note_peer_limit(&mut self) {
        self.peer_limited = true;
    }

    /// Whether the persist timer caused the transmission.
    pub(super) fn is_woken(&self) -> bool {
        self.woken
    }

    /// Whether a tail loss probe is being sent.
    pub(super) fn is_tail_probe(&self) -> bool {
        self.nagle_override == NagleOverride::Probe
    }

    pub(super) fn has_bundle(&self) -> bool {
        self.bundle_left > 0
    }

    #[inline]
    fn overrides_nagle(&self) -> bool {
        matches!(
            self.nagle_override,
            NagleOverride::Push | NagleOverride::PushOne | NagleOverride::Probe
        )
    }

    /// Whether nothing was sent or decided.
    #[inline]
    pub(super) fn is_yet_to_begin(&self) -> bool {
        self.bundle_left == 0
            && !(self.sent || self.resumes || self.probes_with_data)
            && self.nagle_override != NagleOverride::Probe
    }
}

#[derive(Debug)]
pub(super) struct NagleState {
    /// End of the last segment sent that was not full-sized (Minshall's variant).
    small_end: SequenceNumber,
    /// Small segments may be sent until a new buffer is begun (Linux `TCP_NAGLE_PUSH`).
    pushes_once: bool,
}

impl NagleState {
    pub(super) fn new(initial: SequenceNumber) -> Self {
        Self { small_end: initial, pushes_once: false }
    }

    /// Releases small segments.
    pub(super) fn push_once(&mut self) {
        self.pushes_once = true;
    }

    pub(super) fn on_new_buffer(&mut self) {
        self.pushes_once = false;
    }
}

/// Contents of segments for the receiving half.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Piggyback {
    /// SACK blocks to report.
    sack_blocks: usize,
    /// Data is out of order there.
    has_hole: bool,
    ack_due: bool,
}

impl Piggyback {
    pub(super) fn new(sack_blocks: usize, in_order: bool, ack_due: bool) -> Self {
        Self { sack_blocks, has_hole: !in_order, ack_due }
    }

    pub(super) fn has_hole(&self) -> bool {
        self.has_hole
    }
}

impl Sender {
    /// The next segment with data: retransmissions first, then new data.
    #[inline]
    pub(crate) fn next_data(&mut self, now: Instant) -> Option<Outgoing> {
        // Data of a Fast Open connection is retransmitted after the handshake.
        if self.is_retransmission_due()
            && self.state != State::SynReceived
            && let Some(outgoing) = self.send_retransmission(now)
        {
            return Some(outgoing);
        }
        if self.has_data_to_transmit()
            && let Some(outgoing) = self.send_new(now)
        {
            return Some(outgoing);
        }
        if self.recovery.state() == RecoveryState::Recovery
            && self.config.loss.speculative_retransmission
            && self.negotiated.has_sack()
        {
            return self.send_speculative(now);
        }
        None
    }

    /// The next segment of new data, if allowed.
    #[inline]
    pub(crate) fn send_new(&mut self, now: Instant) -> Option<Outgoing> {
        if self.budget.resumes {
            self.resume(now);
        }
        self.stats.begin(SenderLimit::Busy, now);
        let mut is_fin_alone = false;
        if self.budget.bundle_left == 0 && self.written.has_any() {
            self.expire_path_mtu(now);
            match self.next_bundle(now) {
                Some(0) => is_fin_alone = true,
                Some(bytes) => self.begin_bundle(bytes, now),
                None => {}
            }
        }
        if self.budget.bundle_left == 0 && !is_fin_alone {
            self.end_transmission(now);
            return None;
        }
        let full = self.full_payload();
        let largest = if self.budget.probes_mtu { u32::MAX } else { full };
        self.budget.probes_mtu = false;
        let bytes = self.budget.bundle_left.min(largest);
        self.budget.bundle_left -= bytes;
        Some(self.transmit(bytes, full, now))
    }

    /// Ends a transmission immediately if only the full congestion window would end it. Returns whether
    /// it did.
    #[inline]
    pub(crate) fn skip_if_window_is_full(&mut self, now: Instant) -> bool {
        let is_held = self.is_limited_by_full_window();
        if is_held {
            self.usage.note_limit(self.queue.outstanding(), self.send.next(), now);
            self.budget = TransmitBudget::default();
        }
        is_held
    }

    #[inline]
    fn begin_bundle(&mut self, bytes: u32, now: Instant) {
        self.budget.bundle_left = bytes;
        self.budget.bundle_pushed = !self.budget.probes_mtu
            && self.config.sending.bundling.is_some_and(|rule| rule.pushed)
            && bytes > self.full_payload();
        if !self.fast_path.is_plain() {
            self.note_pace(bytes, self.full_payload(), now);
        }
    }

    /// Whether [`send_new`](Self::send_new) has anything to do.
    pub(crate) fn has_data_to_transmit(&self) -> bool {
        self.written.has_any() || self.budget.sent || self.send_buffer.wants_room()
    }

    /// Payload bytes of a full-sized segment as of now: SACK blocks travel with new data, and take
    /// their share of it.
    #[inline]
    pub(super) fn full_payload(&self) -> u32 {
        let blocks = self.piggyback.sack_blocks;
        if self.ecn.is_accurate() {
            return self.full_payload_with_option();
        }
        if blocks == 0 {
            return self.segment_bytes;
        }
        let blocks = blocks.min(self.negotiated.sack_room(0, self.segment_bytes));
        self.segment_bytes.saturating_sub(sack_option_bytes(blocks)).max(1)
    }

    /// The same with the option of Accurate ECN.
    #[cold]
    fn full_payload_with_option(&self) -> u32 {
        let blocks =
            self.piggyback.sack_blocks.min(self.negotiated.sack_room(0, self.segment_bytes));
        let of_blocks = sack_option_bytes(blocks);
        let others = self.negotiated.option_bytes() + of_blocks;
        let of_option = self
            .ecn
            .accurate()
            .map_or(0, |feedback| feedback.option_bytes(&self.config.ecn, others, blocks));
        self.segment_bytes.saturating_sub(of_blocks + of_option).max(1)
    }

    /// Payload bytes of the next bundle; 0 for a FIN alone, `None` where all must wait.
    #[inline]
    fn next_bundle(&mut self, now: Instant) -> Option<u32> {
        if self.budget.probes_with_data {
            return self.probing_bundle();
        }
        if self.mtu_search.is_some()
            && !self.budget.sent
            && self.budget.nagle_override != NagleOverride::PushOne
        {
            match self.try_mtu_probe(now) {
                MtuProbeDecision::None => {}
                MtuProbeDecision::Waits => return None,
                MtuProbeDecision::Sends(bytes) => {
                    self.note_mtu_probe(bytes);
                    self.budget.probes_mtu = true;
                    return Some(bytes);
                }
            }
        }
        let window = if self.fast_path.is_plain() {
            self.window.segments()
        } else {
            self.unusual_window(now)?
        };
        let single =
            matches!(self.budget.nagle_override, NagleOverride::PushOne | NagleOverride::Probe);
        if self.budget.nagle_override == NagleOverride::Wait || single && self.budget.sent {
            return None;
        }
        let in_flight = self.in_flight_for_new_data();
        let min = u32::from(self.budget.nagle_override == NagleOverride::Probe);
        let room = window.saturating_sub(in_flight).max(min);
        if room == 0 {
            return None;
        }
        let full = self.full_payload();
        let max = self.max_bundled(full);
        let quota = self.bundle_quota(room).min(max);
        self.written.fill_first(quota.saturating_mul(full));
        let first = self.written.first_bytes();
        let usable = self.usable_window();
        if !self.is_worth_sending(first, full, usable) {
            self.budget.peer_limited = true;
            return None;
        }
        let sendable = match self.config.sending.silly_window {
            SillyWindow::WholeBuffer => first,
            SillyWindow::Rfc => first.min(usable),
        };
        if sendable <= full {
            let goes = !self.written.is_first_last() || self.passes_nagle(sendable < full);
            return goes.then_some(sendable);
        }
        if !single && self.waits_for_larger_bundle(first, room, max, now) {
            return None;
        }
        if self.urgent.is_set() {
            return Some(full);
        }
        Some(self.bundle_bytes(sendable, full, quota, usable).min(sendable))
    }

    /// Bytes of a buffer to send at once: whole segments if the rest has to wait (Linux
    /// `tcp_mss_split_point`).
    #[inline]
    fn bundle_bytes(&self, first: u32, full: u32, quota: u32, usable: u32) -> u32 {
        let max = full.saturating_mul(quota);
        if max <= usable && !self.written.is_first_last() {
            return max;
        }
        let needed = first.min(usable);
        if max <= needed {
            return max;
        }
        let partial = needed % full;
        // Full segments precede it, so data is outstanding then.
        if partial > 0 && self.nagle_holds(true) { needed - partial } else { needed }
    }

    /// Whether the peer's window has room for a segment that is worth it; FIN takes a place too.
    #[inline]
    fn is_worth_sending(&self, first: u32, full: u32, usable: u32) -> bool {
        let finishes = self.written.is_fin_waiting() && self.written.is_first_last();
        if first == 0 {
            return usable > 0 || self.config.sending.silly_window == SillyWindow::Rfc;
        }
        let min = match self.config.sending.silly_window {
            SillyWindow::WholeBuffer if first > full => full,
            SillyWindow::WholeBuffer => first + u32::from(finishes),
            SillyWindow::Rfc => first.min(full).min((self.peer_window.largest() / 2).max(1)),
        };
        usable >= min
    }

    /// Whether the peer's window has room for the next segment (Linux `tcp_snd_wnd_test`).
    #[cold]
    pub(super) fn has_room_for_next(&self) -> bool {
        let usable = self.usable_window();
        usable > 0 && self.is_worth_sending(self.written.first_bytes(), self.full_payload(), usable)
    }

    /// Whether a segment that is not full-sized may be sent, if it is `partial` (Linux
    /// `tcp_nagle_test`). It lies at the end of the written data; others cannot grow any more.
    #[inline]
    fn passes_nagle(&self, partial: bool) -> bool {
        !partial
            || self.budget.overrides_nagle()
            || self.nagle.pushes_once
            || self.written.is_fin_waiting()
            || self.urgent.is_set()
            || !self.nagle_holds(!self.queue.is_empty())
    }

    /// Whether less than a full segment has to wait (RFC 896; Linux `tcp_nagle_check`).
    #[inline]
    fn nagle_holds(&self, outstanding: bool) -> bool {
        if self.config.sending.cork || self.budget.nagle_override == NagleOverride::Hold {
            return true;
        }
        if self.budget.overrides_nagle() || self.nagle.pushes_once {
            return false;
        }
        match self.config.nagle {
            Nagle::Off => false,
            Nagle::Classic => outstanding,
            Nagle::Minshall => !self.queue.is_empty() && self.is_small_outstanding(),
        }
    }

    /// Whether the last small segment is unacknowledged. One sent 2^31 bytes or more ago seems to be
    /// in the future.
    #[inline]
    fn is_small_outstanding(&self) -> bool {
        let small_end = self.nagle.small_end;
        small_end.is_after(self.send.oldest_unacked())
            && small_end.is_at_or_before(self.send.next())
    }

    /// Sends what fits in a small window after the persist timer, with PSH (Linux
    /// `tcp_write_wakeup`).
    #[cold]
    fn probing_bundle(&mut self) -> Option<u32> {
        self.budget.probes_with_data = false;
        let bytes = self.written.first_bytes().min(self.usable_window()).min(self.full_payload());
        if bytes == 0 {
            return (self.written.unsent() == 0).then_some(0);
        }
        self.written.split_first_pushed(bytes);
        self.budget.woken = true;
        Some(bytes)
    }

    /// Sends `bytes` of new data; `full` is the payload of a full-sized segment.
    #[inline]
    fn transmit(&mut self, bytes: u32, full: u32, now: Instant) -> Outgoing {
        let mut sent_flags = self.note_sending(now);
        if bytes > 0 {
            let taken = self.written.take(bytes);
            if taken.pushed() {
                sent_flags.set(SentFlags::PUSH);
            }
            if taken.ends_record() {
                self.queue.note_record_end(self.send.next() + bytes);
            }
        }
        let with_fin = self.written.take_fin();
        if with_fin {
            sent_flags.set(SentFlags::FIN);
        }
        if self.budget.bundle_left == 0 {
            sent_flags.set(SentFlags::BUNDLE_END);
        }
        let (sequence, length) = (self.send.next(), bytes + u32::from(with_fin));
        let first = self.queue.is_empty();
        self.queue.push(sequence, length, self.deliveries.segments(), sent_flags, now);
        self.on_new_data_sent(first, now);
        self.send.on_new_data_sent(sequence + length, now);
        self.budget.sent = true;
        if bytes < full {
            self.nagle.small_end = self.send.next();
        }
        let outgoing = if self.fast_path.is_plain() {
            Outgoing::new(sequence, bytes, sent_flags.control_bits())
        } else {
            self.with_old_data()
        };
        if self.budget.bundle_left == 0 && self.budget.bundle_pushed {
            outgoing.pushed()
        } else {
            outgoing
        }
    }

    /// Ends a run: records whether the window was the limit (Linux `tcp_cwnd_validate`), and arms
    /// the persist timer if data waits with nothing outstanding (`tcp_check_probe_timer`).
    #[inline]
    fn end_transmission(&mut self, now: Instant) {
        if self.budget.sent
            && self.budget.nagle_override != NagleOverride::Probe
            && !self.budget.woken
        {
            self.schedule_tail_probe_after_sending(now);
        }
        let limited = self.budget.window_limited || self.in_flight() >= self.window.segments();
        if limited || self.budget.sent {
            self.note_usage(limited, now);
        }
        if self.budget.peer_limited {
            self.stats.begin(SenderLimit::PeerLimited, now);
        } else {
            self.end_limit(SenderLimit::PeerLimited, now);
        }
        if self.queue.is_empty() && self.written.has_any() && !self.persist.is_armed() {
            self.arm_persist(now);
        }
        if self.send_buffer.wants_room() {
            self.look_for_room(limited, now);
        }
        // A dropped segment that is not answered yet does not trigger a transmission.
        let nagle_override = match self.budget.nagle_override {
            NagleOverride::Wait if self.piggyback.ack_due => NagleOverride::Wait,
            _ => NagleOverride::Usual,
        };
        self.budget = TransmitBudget { nagle_override, ..TransmitBudget::default() };
    }

    /// Handles the start of a write with nothing in flight: the window may be stale (RFC 5681 §4.1;
    /// Linux `tcp_slow_start_after_idle_check`).
    #[cold]
    fn resume(&mut self, now: Instant) {
        self.budget.resumes = false;
        if self.queue.is_empty() && !self.has_cong_control() {
            let idle = now.saturating_since(self.send.last_sent());
            if idle > self.rto.timeout() && self.config.idle_restart != IdleRestart::Off {
                self.note_instant(now);
                self.notify_control(WindowEvent::Restarted);
            }
            self.usage.restart(&self.config, &mut self.window, idle, self.rto.timeout(), now);
        }
        self.update_framing();
    }

    #[inline]
    fn note_usage(&mut self, limited: bool, now: Instant) {
        let (oldest, next) = (self.send.oldest_unacked(), self.send.next());
        if limited {
            self.usage.note_limit(self.queue.outstanding(), next, now);
            return;
        }
        self.usage.note(self.queue.outstanding(), oldest, next);
        // An algorithm with `cong_control` keeps its window (Linux `tcp_cwnd_validate`).
        let open = self.recovery.state() == RecoveryState::Open && !self.has_cong_control();
        let timeout = self.rto.timeout();
        self.usage.validate(&self.config, &mut self.window, &self.queue, open, timeout, now);
    }

    /// Bytes that a buffer holds as of now (Linux `tcp_xmit_size_goal`).
    #[inline]
    pub(crate) fn buffer_goal(&self) -> u32 {
        match self.config.sending.gathering {
            Gathering::Stream => u32::MAX,
            Gathering::Buffers { largest_bytes } => {
                let full = self.full_payload();
                let max = self.bound_to_half_window(largest_bytes);
                (max / full * full).max(full)
            }
        }
    }

    /// At most half the largest window of the peer, so that two fit; the whole of a tiny one (Linux
    /// `tcp_bound_to_half_wnd`).
    #[inline]
    pub(crate) fn bound_to_half_window(&self, bytes: u32) -> u32 {
        const TINY: u32 = 536;
        const MIN: u32 = 68 - 20;
        let min = MIN.saturating_sub(self.negotiated.option_bytes());
        let largest = self.peer_window.largest();
        let bound = if largest > TINY { largest / 2 } else { largest };
        if bound > 0 && bytes > bound { bound.max(min) } else { bytes }
    }
}
