//! When an acknowledgment goes out: at once, with the second segment, after a delay, or merged with
//! others.
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

use super::segment_size::Told;
use crate::config::{AckDelay, Config};
use crate::connection::Connection;
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
/// Acknowledgments of disorder that are not merged, so that the peer retransmits
/// (`TCP_FASTRETRANS_THRESH`).
const UNMERGED: u32 = 3;

/// What was received and not acknowledged, and how eager to be about it.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "as many marks as the kernel has")]
pub(crate) struct Acknowledger {
    /// An acknowledgment goes out at the next opportunity.
    pub(crate) now: bool,
    /// Something is to be acknowledged, now or later (`ICSK_ACK_SCHED`).
    pub(crate) scheduled: bool,
    /// What is to be acknowledged does not wait (`ICSK_ACK_NOW`).
    pub(crate) at_once: bool,
    /// Data had to be dropped for want of memory (`ICSK_ACK_NOMEM`).
    pub(crate) no_memory: bool,
    /// Segments since the last ACK that end what the peer wrote: none, one, or more
    /// (`ICSK_ACK_PUSHED`, `ICSK_ACK_PUSHED2`).
    small: u8,
    /// Segments still to be acknowledged at once (`quick`).
    pub(crate) quick: u32,
    /// How often data was sent shortly after data was received (`pingpong`).
    pub(crate) answers: u32,
    /// Current estimate of a good delay (`ato`); zero before the first data.
    pub(crate) delay: Span,
    /// When data was received last (`lrcvtime`).
    pub(crate) last_received: Instant,
    /// ACKs of disorder since the next number moved (`dup_ack_counter`).
    repeated: u32,
    /// The next number then.
    repeated_at: SequenceNumber,
    /// ACKs that wait to be merged into one (`compressed_ack`).
    pub(crate) merged: u32,
}

/// What an acknowledgment decision looks at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Standing {
    pub(crate) next: SequenceNumber,
    /// Something waits ahead of its turn.
    pub(crate) disorder: bool,
    /// Selective acknowledgments are agreed on.
    pub(crate) sack: bool,
    pub(crate) smoothed_rtt: Option<Span>,
    /// The receiver's own estimate.
    pub(crate) receiver_rtt: Span,
}

/// What is to become of an acknowledgment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    Now,
    After(Span),
}

impl Acknowledger {
    pub(crate) fn new() -> Self {
        Self {
            now: false,
            scheduled: false,
            at_once: false,
            no_memory: false,
            small: 0,
            quick: 0,
            answers: 0,
            delay: Span::ZERO,
            last_received: Instant::ZERO,
            repeated: 0,
            repeated_at: SequenceNumber::default(),
            merged: 0,
        }
    }

    /// The connection is taken for one that answers, not one that listens.
    #[inline]
    pub(crate) fn is_interactive(&self, config: &Config) -> bool {
        self.answers >= config.receiving.interactive_threshold
    }

    /// Notes what the size of a segment says about the end of a write.
    #[inline]
    pub(crate) fn note_size(&mut self, told: Told, pushed: bool) {
        match told {
            Told::Small => self.small = (self.small + 1).min(2),
            Told::Full | Told::NewFull if pushed => self.small = self.small.max(1),
            Told::Full | Told::NewFull | Told::Shrunk => {}
        }
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
    pub(crate) fn become_quick(&mut self, config: &Config, quick_by_window: u32, most: u32) {
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
            self.become_quick(config, quick_by_window, most);
            self.answers = 0;
            self.delay = LEAST_DELAY;
        } else {
            self.at_once = true;
        }
    }

    /// Whether each segment is acknowledged as it comes (`tcp_in_quickack_mode`).
    #[inline]
    pub(crate) fn is_quick(&self, config: &Config) -> bool {
        self.quick > 0 && !self.is_interactive(config)
    }

    /// What becomes of an acknowledgment that need not go out now for the amount that arrived.
    #[inline]
    pub(crate) fn defer(&mut self, config: &Config, standing: Standing) -> Decision {
        if standing.disorder {
            self.merge(config, standing)
        } else {
            self.delay_for(config, standing)
        }
    }

    fn delay_for(&self, config: &Config, standing: Standing) -> Decision {
        let mut delay = self.delay;
        if delay > LEAST_DELAY {
            let unhurried = self.small == 0 && !self.is_interactive(config);
            let greatest = if unhurried { UNHURRIED_DELAY } else { GREATEST_DELAY };
            let by_rtt = standing.smoothed_rtt.map_or(greatest, |rtt| rtt.max(LEAST_DELAY));
            delay = delay.min(greatest).min(by_rtt);
        }
        let below = config.minimum_rto.saturating_sub(BELOW_LEAST_TIMEOUT);
        Decision::After(delay.min(GREATEST_DELAY).min(below))
    }

    /// Reports of disorder: the first three go out, for the peer's fast retransmission, others are
    /// merged for a moment.
    fn merge(&mut self, config: &Config, standing: Standing) -> Decision {
        let Some(compression) = config.receiving.compression.filter(|_| standing.sack) else {
            return Decision::Now;
        };
        if self.merged >= compression.most {
            return Decision::Now;
        }
        if self.repeated_at != standing.next {
            self.repeated_at = standing.next;
            self.repeated = 0;
        }
        if self.repeated < UNMERGED {
            self.repeated += 1;
            return Decision::Now;
        }
        self.merged += 1;
        let rtt = match standing.smoothed_rtt {
            Some(rtt) => rtt.min(standing.receiver_rtt),
            None => standing.receiver_rtt,
        };
        Decision::After(compression.delay.min(rtt / 20) + compression.slack)
    }

    /// Whether an application that has read all there is gets its acknowledgment out.
    #[inline]
    pub(crate) fn is_due_when_drained(&self, config: &Config) -> bool {
        self.small > 1 || self.small > 0 && !self.is_interactive(config)
    }

    /// When data was received last.
    pub(crate) fn last_received(&self) -> Instant {
        self.last_received
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
    pub(crate) fn on_acknowledged(&mut self) {
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
}

impl Connection {
    /// Something has arrived that takes sequence space: decides on its acknowledgment
    /// (`tcp_ack_snd_check`).
    #[inline]
    pub(crate) fn check_acknowledgment(&mut self, now: Instant) {
        if !self.acknowledger.scheduled || self.acknowledger.now {
            return;
        }
        let decision = match self.config.ack_delay {
            AckDelay::None => Decision::Now,
            _ if self.acknowledger.at_once => Decision::Now,
            AckDelay::EverySecond { limit } => self.every_second(limit),
            AckDelay::Adaptive { .. } => self.adaptive(),
        };
        match decision {
            Decision::Now => self.acknowledger.now = true,
            Decision::After(delay) => self.delay_acknowledgment(delay, now),
        }
    }

    /// RFC 5681 §4.2: at least every second *full-sized* segment.
    fn every_second(&self, limit: Span) -> Decision {
        let full = self.unacknowledged_bytes() >= 2 * self.segment_size.estimate;
        if full || !self.reassembly.is_empty() { Decision::Now } else { Decision::After(limit) }
    }

    #[inline]
    fn adaptive(&mut self) -> Decision {
        let enough = self.unacknowledged_bytes() > self.segment_size.estimate
            && (self.receive.unread < self.config.receiving.low_water || self.window_advances());
        if enough || self.acknowledger.is_quick(&self.config) {
            return Decision::Now;
        }
        let standing = Standing {
            next: self.receive.next,
            disorder: !self.reassembly.is_empty(),
            sack: self.negotiated.sack,
            smoothed_rtt: self.rtt.smoothed(),
            receiver_rtt: self.tuning.rtt(),
        };
        self.acknowledger.defer(&self.config, standing)
    }

    /// Sequence space received and not acknowledged.
    #[inline]
    pub(crate) fn unacknowledged_bytes(&self) -> u32 {
        self.receive.next.distance_from(self.receive.last_acknowledged)
    }

    /// One that waits already and would go out soon goes out now.
    fn delay_acknowledgment(&mut self, delay: Span, now: Instant) {
        let due = self.timers.delayed_ack.due();
        let adaptive = matches!(self.config.ack_delay, AckDelay::Adaptive { .. });
        if adaptive && self.acknowledger.merged == 0 && due <= now + delay / 4 {
            self.acknowledger.now = true;
            return;
        }
        if self.acknowledger.merged > 0 {
            self.timers.delayed_ack.hasten_exactly(now + delay);
        } else {
            self.timers.delayed_ack.hasten(now, delay);
        }
    }

    /// Segments of half the window that Linux acknowledges at once after disorder.
    #[inline]
    pub(crate) fn quick_by_window(&self) -> u32 {
        self.announced_window_then() / (2 * self.segment_size.estimate)
    }

    /// Enters the mode of quick acknowledgments, for a duplicate or something unacceptable.
    #[cold]
    pub(crate) fn acknowledge_quickly(&mut self) {
        self.acknowledge_next_quickly(u32::MAX);
    }

    /// The same for at most so many segments.
    #[cold]
    pub(crate) fn acknowledge_next_quickly(&mut self, most: u32) {
        let quick = self.quick_by_window();
        self.acknowledger.on_disorder(&self.config, quick, most);
    }

    /// `TCP_QUICKACK`: 0 lets acknowledgments wait for answers to carry them; an odd value lets them go
    /// out, an even one does so once (`__tcp_sock_set_quickack`).
    pub fn set_quick_acknowledgments(&mut self, value: u32) {
        self.acknowledger.answers =
            if value == 0 { self.config.receiving.interactive_threshold } else { 0 };
        let open = matches!(self.state, crate::State::Established | crate::State::CloseWait);
        if value == 0 || !open || !self.acknowledger.scheduled {
            return;
        }
        self.acknowledger.note_end_of_write();
        self.acknowledge_what_was_read(1);
        if value & 1 == 0 {
            self.acknowledger.answers = self.config.receiving.interactive_threshold;
        }
    }

    /// Whether acknowledgments wait for answers to carry them (`TCP_QUICKACK` tells the contrary).
    pub fn is_interactive(&self) -> bool {
        self.acknowledger.is_interactive(&self.config)
    }
}
