//! Acknowledgment policy: at once, with the second segment, delayed, or compressed.
//!
//! Source: RFC 1122 §4.2.3.2, RFC 5681 §4.2; Linux 6.18 `__tcp_ack_snd_check`,
//! `tcp_event_data_recv`, `tcp_send_delayed_ack`, `tcp_delack_timer_handler`,
//! `tcp_event_ack_sent`, `tcp_enter_quickack_mode`.
//!
//! In Linux a delay is for those who answer: an application that has read everything, a small
//! segment among it, is taken for one that only listens, and its ACK goes out at once. Only where
//! data was sent shortly after data was received (an *interactive* connection; `pingpong` in the
//! kernel) does the ACK wait for the next answer to carry it. Seen on Linux 6.18: 120 B every
//! 50 ms to a reader are acknowledged within 0.1 ms, to one that does not read after 40 ms.
//! Parameters: Linux delays between 40 ms and 200 ms, following the time between arrivals, after
//! up to 16 quick ACKs; a delay is at most the smoothed round-trip time where that is longer than
//! 40 ms.

use super::Receiver;
use super::tuning::SizeClass;
use crate::config::{AckDelay, Config};
use crate::state::State;
use fairwind_units::{Instant, Span};
use fairwind_wire::SequenceNumber;

/// Least delay of Linux (`TCP_DELACK_MIN`, `TCP_ATO_MIN`).
const LEAST_DELAY: Span = Span::from_millis(40);
/// Greatest delay of Linux (`TCP_DELACK_MAX`).
const GREATEST_DELAY: Span = Span::from_millis(200);
/// Greatest delay where no small segment has come (half a second in `tcp_send_delayed_ack`), before
/// the one above applies to all.
const UNHURRIED_DELAY: Span = Span::from_millis(500);
/// A delay stays so much below the least retransmission time-out (`tcp_delack_max`).
const BELOW_LEAST_TIMEOUT: Span = Span::from_millis(1);
/// How long the last ACK of the handshake waits for data to carry it, where it waits
/// (`TCP_DELACK_MAX`).
const HANDSHAKE_DELAY: Span = Span::from_millis(200);
/// Acknowledgments of disorder that are not merged, so that the peer retransmits
/// (`TCP_FASTRETRANS_THRESH`).
const UNMERGED: u32 = 3;

/// What was received and not acknowledged, and how eager to be about it.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "as many marks as the kernel has")]
pub(crate) struct AckPolicy {
    /// An acknowledgment goes out at the next opportunity.
    now: bool,
    /// Something is to be acknowledged, now or later (`ICSK_ACK_SCHED`).
    scheduled: bool,
    /// What is to be acknowledged does not wait (`ICSK_ACK_NOW`).
    at_once: bool,
    /// Data had to be dropped for want of memory (`ICSK_ACK_NOMEM`).
    no_memory: bool,
    /// Segments since the last ACK that end what the peer wrote: none, one, or more
    /// (`ICSK_ACK_PUSHED`, `ICSK_ACK_PUSHED2`).
    small: u8,
    /// Segments still to be acknowledged at once (`quick`).
    quick: u32,
    /// How often data was sent shortly after data was received (`pingpong`).
    answers: u32,
    /// Current estimate of a good delay (`ato`); zero before the first data.
    delay: Span,
    /// When data was received last (`lrcvtime`).
    last_received: Instant,
    /// ACKs of disorder since the next number moved (`dup_ack_counter`).
    repeated: u32,
    /// The next number then.
    repeated_at: SequenceNumber,
    /// ACKs that wait to be merged into one (`compressed_ack`).
    merged: u32,
}

/// What an acknowledgment decision looks at.
#[derive(Debug, Clone, Copy)]
struct AckContext {
    next: SequenceNumber,
    /// Something waits ahead of its turn.
    disorder: bool,
    /// Selective acknowledgments are agreed on.
    sack: bool,
    smoothed_rtt: Option<Span>,
    /// The receiver's own estimate.
    receiver_rtt: Span,
}

/// What is to become of an acknowledgment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decision {
    Now,
    After(Span),
}

impl AckPolicy {
    getters! {
        last_received: Instant,
        /// The present delay (`ato`).
        delay: Span,
    }

    /// The connection is taken for one that answers, not one that listens.
    pub(crate) fn is_interactive(&self, config: &Config) -> bool {
        self.answers >= config.receiving.interactive_threshold
    }

    /// Notes what the size of a segment says about the end of a write.
    #[inline]
    pub(crate) fn note_size(&mut self, size_class: SizeClass, pushed: bool) {
        match size_class {
            SizeClass::Small => self.small = (self.small + 1).min(2),
            SizeClass::Full | SizeClass::NewFull if pushed => self.small = self.small.max(1),
            SizeClass::Full | SizeClass::NewFull | SizeClass::Shrunk => {}
        }
    }

    /// The connection is open: pauses count from now on (`lrcvtime`).
    pub(crate) fn begin(&mut self, now: Instant) {
        self.last_received = now;
    }

    /// Notes the end of a write, as one that asks for quick acknowledgments does.
    pub(crate) fn note_end_of_write(&mut self) {
        self.small = self.small.max(1);
    }

    /// Follows the time between arrivals of data in order; the first one, and a pause longer than the
    /// time-out, shall bring quick ACKs, which it says.
    #[inline]
    pub(crate) fn on_data(&mut self, timeout: Span, now: Instant) -> bool {
        let mut wants_quick = false;
        self.scheduled = true;
        if self.delay.is_zero() {
            wants_quick = true;
            self.delay = LEAST_DELAY;
        } else {
            let pause = now.saturating_since(self.last_received);
            if pause <= LEAST_DELAY / 2 {
                self.delay = self.delay / 2 + LEAST_DELAY / 2;
            } else if pause < self.delay {
                self.delay = (self.delay / 2 + pause).min(timeout);
            } else {
                wants_quick = pause > timeout;
            }
        }
        self.last_received = now;
        wants_quick
    }

    #[cold]
    pub(crate) fn enter_quick_mode(&mut self, config: &Config, quick_by_window: u32, most: u32) {
        if let AckDelay::Adaptive { quick_segments } = config.ack_delay {
            let by_window = if quick_by_window == 0 { 2 } else { quick_by_window };
            self.quick = self.quick.max(by_window.min(quick_segments).min(most));
        }
    }

    /// Something out of the ordinary arrived: acknowledge at once (RFC 5681 §4.2), and in Linux be
    /// quick for up to `most` segments (`tcp_enter_quickack_mode`).
    pub(crate) fn on_disorder(&mut self, config: &Config, quick_by_window: u32, most: u32) {
        self.scheduled = true;
        if let AckDelay::Adaptive { .. } = config.ack_delay {
            self.enter_quick_mode(config, quick_by_window, most);
            self.answers = 0;
            self.delay = LEAST_DELAY;
        } else {
            self.at_once = true;
        }
    }

    /// Whether each segment is acknowledged as it comes (`tcp_in_quickack_mode`).
    pub(crate) fn is_quick(&self, config: &Config) -> bool {
        self.quick > 0 && !self.is_interactive(config)
    }

    /// What becomes of an acknowledgment that need not go out now for the amount that arrived.
    fn defer(&mut self, config: &Config, context: AckContext) -> Decision {
        if context.disorder { self.merge(config, context) } else { self.delay_for(config, context) }
    }

    fn delay_for(&self, config: &Config, context: AckContext) -> Decision {
        let mut delay = self.delay;
        if delay > LEAST_DELAY {
            let unhurried = self.small == 0 && !self.is_interactive(config);
            let greatest = if unhurried { UNHURRIED_DELAY } else { GREATEST_DELAY };
            let by_rtt = context.smoothed_rtt.map_or(greatest, |rtt| rtt.max(LEAST_DELAY));
            delay = delay.min(greatest).min(by_rtt);
        }
        let below = config.minimum_rto.saturating_sub(BELOW_LEAST_TIMEOUT);
        Decision::After(delay.min(GREATEST_DELAY).min(below))
    }

    /// Reports of disorder: the first three go out, for the peer's fast retransmission, others are
    /// merged for a moment.
    fn merge(&mut self, config: &Config, context: AckContext) -> Decision {
        let Some(compression) = config.receiving.compression.filter(|_| context.sack) else {
            return Decision::Now;
        };
        if self.merged >= compression.most {
            return Decision::Now;
        }
        if self.repeated_at != context.next {
            self.repeated_at = context.next;
            self.repeated = 0;
        }
        if self.repeated < UNMERGED {
            self.repeated += 1;
            return Decision::Now;
        }
        self.merged += 1;
        let rtt = match context.smoothed_rtt {
            Some(rtt) => rtt.min(context.receiver_rtt),
            None => context.receiver_rtt,
        };
        Decision::After(compression.delay.min(rtt / 20) + compression.slack)
    }

    /// Whether an application that has read all there is gets its acknowledgment out.
    pub(crate) fn is_due_when_drained(&self, config: &Config) -> bool {
        self.small > 1 || self.small > 0 && !self.is_interactive(config)
    }

    /// Data goes out: soon after data came in, it is an answer.
    #[inline]
    pub(crate) fn on_data_sent(&mut self, now: Instant) {
        if now.saturating_since(self.last_received) < self.delay {
            self.answers = self.answers.saturating_add(1);
        }
    }

    /// The delay ran out: acknowledge, and be less hasty (Linux doubles the estimate), unless it was
    /// an answer that was waited for in vain.
    pub(crate) fn on_deadline(&mut self, config: &Config, timeout: Span) {
        if self.merged > 0 {
            self.now = true;
            return;
        }
        if !self.scheduled {
            return;
        }
        self.now = true;
        if self.is_interactive(config) {
            self.answers = 0;
            self.delay = LEAST_DELAY;
        } else {
            self.delay = (self.delay * 2).min(timeout);
        }
    }

    /// A segment with an acknowledgment has been sent.
    #[inline]
    pub(crate) fn on_ack_sent(&mut self) {
        self.now = false;
        self.merged = 0;
        if self.quick > 0 && self.scheduled {
            self.quick -= 1;
            if self.quick == 0 {
                self.delay = LEAST_DELAY;
            }
        }
        self.scheduled = false;
        self.at_once = false;
        self.no_memory = false;
        self.small = 0;
    }

    pub(crate) fn is_due(&self) -> bool {
        self.now
    }

    pub(crate) fn set_due(&mut self) {
        self.now = true;
    }

    /// No acknowledgment goes out.
    pub(crate) fn clear_due(&mut self) {
        self.now = false;
    }

    pub(crate) fn schedule(&mut self) {
        self.scheduled = true;
    }

    pub(crate) fn is_scheduled(&self) -> bool {
        self.scheduled
    }

    /// Whether the scheduled acknowledgment does not wait.
    pub(crate) fn is_at_once(&self) -> bool {
        self.at_once
    }

    pub(crate) fn set_at_once(&mut self, at_once: bool) {
        self.at_once = at_once;
    }

    /// Whether acknowledgments wait to be merged into one.
    pub(crate) fn has_merged(&self) -> bool {
        self.merged > 0
    }

    /// Data was dropped for want of memory: the window closes, and the peer is told at once.
    pub(crate) fn on_no_memory(&mut self) {
        self.no_memory = true;
        self.at_once = true;
        self.scheduled = true;
    }

    /// Whether data was dropped for want of memory since the last acknowledgment.
    pub(crate) fn has_no_memory(&self) -> bool {
        self.no_memory
    }

    /// How many acknowledgments still go out quickly.
    pub(crate) fn quick_acks(&self) -> u32 {
        self.quick
    }

    /// Leaves the mode of quick acknowledgments.
    pub(crate) fn leave_quick_mode(&mut self) {
        self.quick = 0;
    }

    /// The window has grown: at least the next segment is acknowledged quickly.
    pub(crate) fn on_window_growth(&mut self) {
        self.quick |= 1;
    }

    /// Takes the connection for one that answers, or for one that listens.
    pub(crate) fn set_interactive(&mut self, interactive: bool, config: &Config) {
        self.answers = if interactive { config.receiving.interactive_threshold } else { 0 };
    }

    /// The acknowledgment of FIN waits for the application's own FIN, which is likely to follow, where
    /// the policy is Linux'.
    pub(crate) fn delay_ack_of_fin(&mut self, config: &Config) {
        if let AckDelay::Adaptive { .. } = config.ack_delay {
            self.set_interactive(true, config);
        } else {
            self.at_once = true;
        }
    }
}

impl Receiver {
    /// Data has arrived that takes sequence space: decides on its acknowledgment
    /// (`tcp_ack_snd_check`). `smoothed_rtt` is the sender's.
    #[inline]
    pub(crate) fn check_ack(&mut self, smoothed_rtt: Option<Span>, now: Instant) {
        if !self.ack_policy.scheduled || self.ack_policy.now {
            return;
        }
        let decision = match self.config.ack_delay {
            AckDelay::None => Decision::Now,
            _ if self.ack_policy.at_once => Decision::Now,
            AckDelay::EverySecond { limit } => self.every_second(limit),
            AckDelay::Adaptive { .. } => self.adaptive(smoothed_rtt),
        };
        match decision {
            Decision::Now => self.ack_policy.now = true,
            Decision::After(delay) => self.delay_ack(delay, now),
        }
    }

    /// RFC 5681 §4.2: at least every second *full-sized* segment.
    fn every_second(&self, limit: Span) -> Decision {
        let full = self.unacknowledged_bytes() >= 2 * self.segment_size.estimate();
        if full || !self.reassembly.is_empty() { Decision::Now } else { Decision::After(limit) }
    }

    #[inline]
    fn adaptive(&mut self, smoothed_rtt: Option<Span>) -> Decision {
        let enough = self.unacknowledged_bytes() > self.segment_size.estimate()
            && (self.space.unread < self.config.receiving.low_water || self.window_advances());
        if enough || self.ack_policy.is_quick(&self.config) {
            return Decision::Now;
        }
        let context = AckContext {
            next: self.space.next,
            disorder: !self.reassembly.is_empty(),
            sack: self.negotiated.has_sack(),
            smoothed_rtt,
            receiver_rtt: self.tuning.rtt(),
        };
        self.ack_policy.defer(&self.config, context)
    }

    /// Sequence space received and not acknowledged.
    fn unacknowledged_bytes(&self) -> u32 {
        self.space.next.distance_from(self.space.last_acknowledged)
    }

    /// An acknowledgment that waits already and would go out soon goes out now.
    fn delay_ack(&mut self, delay: Span, now: Instant) {
        let due = self.delayed_ack.due();
        let adaptive = matches!(self.config.ack_delay, AckDelay::Adaptive { .. });
        let merged = self.ack_policy.has_merged();
        if adaptive && !merged && due <= now + delay / 4 {
            self.ack_policy.now = true;
        } else if merged {
            self.delayed_ack.hasten_exactly(now + delay);
        } else {
            self.delayed_ack.hasten(now, delay);
        }
    }

    /// Segments of half the window that Linux acknowledges at once after disorder.
    pub(super) fn quick_ack_budget(&self) -> u32 {
        self.last_announced_window() / (2 * self.segment_size.estimate())
    }

    /// Acknowledges at most so many segments quickly, after a duplicate or an unacceptable segment.
    #[cold]
    pub(crate) fn enter_quick_ack_mode(&mut self, most: u32) {
        self.steady_window = None;
        let budget = self.quick_ack_budget();
        self.ack_policy.on_disorder(&self.config, budget, most);
    }

    /// The handshake is over: the acknowledgment of the peer's SYN-ACK goes out at once, unless data
    /// is expected that can carry it.
    pub(crate) fn ack_handshake(&mut self, data_waits: bool, now: Instant) {
        if !(self.config.receiving.starts_interactive || data_waits) {
            self.ack_policy.now = true;
            return;
        }
        self.enter_quick_ack_mode(u32::MAX);
        self.delayed_ack.set(now, HANDSHAKE_DELAY);
    }

    /// The application has read `bytes`: a delayed acknowledgment may go out now, or a window that has
    /// opened is announced.
    pub(crate) fn acknowledge_read_data(&mut self, bytes: u32, state: State) {
        if self.ack_policy.now {
            return;
        }
        if self.ack_policy.scheduled && self.is_ack_due_after_read(bytes) {
            self.ack_policy.now = true;
            return;
        }
        if bytes == 0 || !state.may_receive() {
            return;
        }
        if !self.counts_memory() {
            self.announce_window_if_opened();
            return;
        }
        let announced = self.announced_window();
        if u64::from(announced) * 2 > u64::from(self.buffer.clamp()) {
            return;
        }
        let window = self.select_window();
        if window > 0 && window >= 2 * announced {
            self.ack_policy.now = true;
        }
    }

    fn is_ack_due_after_read(&self, bytes: u32) -> bool {
        if !matches!(self.config.ack_delay, AckDelay::Adaptive { .. }) {
            return false;
        }
        let drained =
            if self.counts_memory() { self.buffer.is_unused() } else { self.space.unread == 0 };
        self.unacknowledged_bytes() > self.segment_size.estimate()
            || bytes > 0 && drained && self.ack_policy.is_due_when_drained(&self.config)
    }
}
