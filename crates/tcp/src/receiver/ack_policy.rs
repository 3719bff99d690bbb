//! Acknowledgment policy: immediate, every second segment, delayed, or compressed.
//!
//! Source: RFC 1122 §4.2.3.2, RFC 5681 §4.2; Linux 6.18 `__tcp_ack_snd_check`,
//! `tcp_event_data_recv`, `tcp_send_delayed_ack`, `tcp_delack_timer_handler`, `tcp_event_ack_sent`,
//! `tcp_enter_quickack_mode`.
//!
//! Linux delays ACKs for *interactive* connections (`pingpong`), which sent data shortly after they
//! received data: the ACK waits for a reply that carries it. On other connections the ACK of a
//! small segment is sent as soon as the application has read everything. Measured on Linux 6.18:
//! 120 B every 50 ms to a reader are acknowledged within 0.1 ms, without a reader after 40 ms.
//! Parameters: Linux delays between 40 ms and 200 ms, following the time between arrivals, after up
//! to 16 quick ACKs; a delay is at most the smoothed round-trip time if that is longer than 40 ms.

use super::Receiver;
use super::tuning::SizeClass;
use crate::config::{AckDelay, Config};
use crate::state::State;
use fairwind_units::{Instant, Span};
use fairwind_wire::SequenceNumber;

/// Minimum delay of Linux (`TCP_DELACK_MIN`, `TCP_ATO_MIN`).
const MIN_DELAY: Span = Span::from_millis(40);
/// Maximum delay of Linux (`TCP_DELACK_MAX`).
const MAX_DELAY: Span = Span::from_millis(200);
/// Maximum delay without small segments (half a second in `tcp_send_delayed_ack`), before the limit
/// above.
const MAX_DELAY_WITHOUT_SMALL: Span = Span::from_millis(500);
/// A delay stays below the minimum retransmission time-out by this margin (`tcp_delack_max`).
const DELAYED_ACK_MARGIN: Span = Span::from_millis(1);
/// How long the last ACK of the handshake waits for data, if it waits (`TCP_DELACK_MAX`).
const HANDSHAKE_DELAY: Span = Span::from_millis(200);
/// Acknowledgments of disorder that are not merged, so that the peer retransmits
/// (`TCP_FASTRETRANS_THRESH`).
const UNMERGED: u32 = 3;

/// State of pending acknowledgments (`icsk_ack`).
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "as many marks as the kernel has")]
pub(crate) struct AckPolicy {
    /// An acknowledgment is due at the next opportunity.
    now: bool,
    /// An acknowledgment is pending, now or later (`ICSK_ACK_SCHED`).
    scheduled: bool,
    /// The pending acknowledgment does not wait (`ICSK_ACK_NOW`).
    immediate: bool,
    /// Data was dropped for lack of memory (`ICSK_ACK_NOMEM`).
    no_memory: bool,
    /// Segments since the last ACK that end a write of the peer: none, one, or more
    /// (`ICSK_ACK_PUSHED`, `ICSK_ACK_PUSHED2`).
    small: u8,
    /// Remaining quick ACKs (`quick`).
    quick: u32,
    /// Replies sent shortly after received data (`pingpong`).
    pingpong: u32,
    /// Current estimate of a good delay (`ato`); zero before the first data.
    delay: Span,
    /// Time of the last received data (`lrcvtime`).
    last_received: Instant,
    /// ACKs of disorder since the next number moved (`dup_ack_counter`).
    repeated: u32,
    /// The next number then.
    repeated_at: SequenceNumber,
    /// ACKs that wait to be merged into one (`compressed_ack`).
    merged: u32,
}

#[derive(Debug, Clone, Copy)]
struct AckContext {
    next: SequenceNumber,
    /// Data is out of order.
    disorder: bool,
    /// Selective acknowledgments are agreed on.
    sack: bool,
    smoothed_rtt: Option<Span>,
    /// The receiver's own estimate.
    receiver_rtt: Span,
}

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
        is_due: bool = now,
        is_scheduled: bool = scheduled,
        /// Whether the scheduled acknowledgment does not wait.
        is_immediate: bool = immediate,
        /// Whether data was dropped for lack of memory since the last acknowledgment.
        has_no_memory: bool = no_memory,
        quick_acks: u32 = quick,
    }

    /// Whether the connection is interactive (`tcp_in_pingpong_mode`).
    pub(crate) fn is_interactive(&self, config: &Config) -> bool {
        self.pingpong >= config.receiving.interactive_threshold
    }

    /// Notes whether the size of a segment indicates the end of a write.
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

    /// Notes the end of a write, as a request for quick ACKs does.
    pub(crate) fn note_end_of_write(&mut self) {
        self.small = self.small.max(1);
    }

    /// Updates the estimate of the time between arrivals. Returns whether to begin quick ACKs: for
    /// the first data, and after a pause longer than the time-out.
    #[inline]
    pub(crate) fn on_data(&mut self, timeout: Span, now: Instant) -> bool {
        let mut wants_quick = false;
        self.scheduled = true;
        if self.delay.is_zero() {
            wants_quick = true;
            self.delay = MIN_DELAY;
        } else {
            let pause = now.saturating_since(self.last_received);
            if pause <= MIN_DELAY / 2 {
                self.delay = self.delay / 2 + MIN_DELAY / 2;
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
    pub(crate) fn enter_quick_mode(&mut self, config: &Config, quick_by_window: u32, max: u32) {
        if let AckDelay::Adaptive { quick_segments } = config.ack_delay {
            let by_window = if quick_by_window == 0 { 2 } else { quick_by_window };
            self.quick = self.quick.max(by_window.min(quick_segments).min(max));
        }
    }

    /// Acknowledges immediately after disorder (RFC 5681 §4.2); Linux adds up to `most` quick ACKs
    /// (`tcp_enter_quickack_mode`).
    pub(crate) fn on_disorder(&mut self, config: &Config, quick_by_window: u32, max: u32) {
        self.scheduled = true;
        if let AckDelay::Adaptive { .. } = config.ack_delay {
            self.enter_quick_mode(config, quick_by_window, max);
            self.pingpong = 0;
            self.delay = MIN_DELAY;
        } else {
            self.immediate = true;
        }
    }

    /// Whether quick ACKs are on (`tcp_in_quickack_mode`).
    pub(crate) fn is_quick(&self, config: &Config) -> bool {
        self.quick > 0 && !self.is_interactive(config)
    }

    /// Decision for an acknowledgment that the amount of data does not force.
    fn defer(&mut self, config: &Config, context: AckContext) -> Decision {
        if context.disorder { self.merge(config, context) } else { self.delay_for(config, context) }
    }

    fn delay_for(&self, config: &Config, context: AckContext) -> Decision {
        let mut delay = self.delay;
        if delay > MIN_DELAY {
            let unhurried = self.small == 0 && !self.is_interactive(config);
            let max = if unhurried { MAX_DELAY_WITHOUT_SMALL } else { MAX_DELAY };
            let by_rtt = context.smoothed_rtt.map_or(max, |rtt| rtt.max(MIN_DELAY));
            delay = delay.min(max).min(by_rtt);
        }
        let below = config.minimum_rto.saturating_sub(DELAYED_ACK_MARGIN);
        Decision::After(delay.min(MAX_DELAY).min(below))
    }

    /// Decision for disorder: the first three ACKs are immediate, for the peer's fast retransmit;
    /// others are compressed.
    fn merge(&mut self, config: &Config, context: AckContext) -> Decision {
        let Some(compression) = config.receiving.compression.filter(|_| context.sack) else {
            return Decision::Now;
        };
        if self.merged >= compression.max_acks {
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

    /// Records sent data; shortly after received data it is a reply.
    #[inline]
    pub(crate) fn on_data_sent(&mut self, now: Instant) {
        if now.saturating_since(self.last_received) < self.delay {
            self.pingpong = self.pingpong.saturating_add(1);
        }
    }

    /// Handles the delayed-ACK timer: acknowledges, and doubles the delay in Linux, unless the ACK
    /// waited for a reply.
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
            self.pingpong = 0;
            self.delay = MIN_DELAY;
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
                self.delay = MIN_DELAY;
            }
        }
        self.scheduled = false;
        self.immediate = false;
        self.no_memory = false;
        self.small = 0;
    }

    pub(crate) fn set_due(&mut self) {
        self.now = true;
    }

    pub(crate) fn clear_due(&mut self) {
        self.now = false;
    }

    pub(crate) fn schedule(&mut self) {
        self.scheduled = true;
    }

    pub(crate) fn set_immediate(&mut self, immediate: bool) {
        self.immediate = immediate;
    }

    /// Whether acknowledgments wait to be merged into one.
    pub(crate) fn has_merged(&self) -> bool {
        self.merged > 0
    }

    /// Records that data was dropped for lack of memory: the window closes, and the acknowledgment
    /// is immediate.
    pub(crate) fn on_no_memory(&mut self) {
        self.no_memory = true;
        self.immediate = true;
        self.scheduled = true;
    }

    pub(crate) fn leave_quick_mode(&mut self) {
        self.quick = 0;
    }

    /// Records that the window has grown: at least the next ACK is quick.
    pub(crate) fn on_window_growth(&mut self) {
        self.quick |= 1;
    }

    pub(crate) fn set_interactive(&mut self, interactive: bool, config: &Config) {
        self.pingpong = if interactive { config.receiving.interactive_threshold } else { 0 };
    }

    /// Delays the acknowledgment of FIN in Linux, because the application's own FIN is likely to
    /// follow.
    pub(crate) fn delay_ack_of_fin(&mut self, config: &Config) {
        if let AckDelay::Adaptive { .. } = config.ack_delay {
            self.set_interactive(true, config);
        } else {
            self.immediate = true;
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
            _ if self.ack_policy.immediate => Decision::Now,
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

    /// Sends a delayed acknowledgment immediately if its timer is due soon.
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

    /// Number of quick ACKs after disorder in Linux: half the window in segments.
    pub(super) fn quick_ack_budget(&self) -> u32 {
        self.last_announced_window() / (2 * self.segment_size.estimate())
    }

    /// Enables at most this number of quick ACKs, after a duplicate or an unacceptable segment.
    #[cold]
    pub(crate) fn enter_quick_ack_mode(&mut self, max: u32) {
        self.steady_window = None;
        let budget = self.quick_ack_budget();
        self.ack_policy.on_disorder(&self.config, budget, max);
    }

    /// Acknowledges the peer's SYN-ACK immediately, unless data is expected that can carry it.
    pub(crate) fn ack_handshake(&mut self, data_waits: bool, now: Instant) {
        if !(self.config.receiving.starts_interactive || data_waits) {
            self.ack_policy.now = true;
            return;
        }
        self.enter_quick_ack_mode(u32::MAX);
        self.delayed_ack.set(now, HANDSHAKE_DELAY);
    }

    /// After a read of `bytes`: sends a delayed acknowledgment, or announces a window that has opened.
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
