//! When an acknowledgment goes out: at once, with the second segment, or after a delay.
//!
//! Source: RFC 1122 §4.2.3.2, RFC 5681 §4.2; Linux `__tcp_ack_snd_check`, `tcp_event_data_recv`,
//! `tcp_send_delayed_ack`, `tcp_cleanup_rbuf`.
//!
//! In Linux a delay is for those who answer: an application that has read everything, a small
//! segment among it, is taken for one that only listens, and its ACK goes out at once. Only where
//! data was sent shortly after data was received (an *interactive* connection; `pingpong` in the
//! kernel) does the ACK wait for the next answer to carry it. Seen on Linux 6.18: 120 B every
//! 50 ms to a reader are acknowledged within 0.1 ms, to one that does not read after 40 ms.
//! Parameters: Linux delays between 40 ms and 200 ms, following the time between arrivals, after
//! up to 16 quick ACKs; a delay is at most the smoothed round-trip time where that is longer than
//! 40 ms.

use crate::config::{AckDelay, Config};
use fairwind_units::{Instant, Span};

/// Least delay of Linux (`TCP_DELACK_MIN`, `TCP_ATO_MIN`).
const LEAST_DELAY: Span = Span::from_millis(40);
/// Greatest delay of Linux (`TCP_DELACK_MAX`).
const GREATEST_DELAY: Span = Span::from_millis(200);
/// Segment size assumed before one was seen (Linux `TCP_MSS_DEFAULT`).
const ASSUMED_SEGMENT: u32 = 536;

/// What was received and not acknowledged, and how eager to be about it.
#[derive(Debug)]
pub(crate) struct Acknowledger {
    /// An acknowledgment is owed at the next opportunity.
    pub(crate) now: bool,
    /// Bytes received since the last acknowledgment.
    unacknowledged: u32,
    /// Largest segment received: what counts as full-sized.
    full_size: u32,
    /// Segments still to be acknowledged at once (Linux' quick ACK).
    quick_left: u32,
    /// Current estimate of a good delay (Linux' `ato`); zero before the first data.
    delay: Span,
    last_received: Instant,
    /// Segments less than full-sized since the last acknowledgment (Linux `ICSK_ACK_PUSHED`).
    small_segments: u32,
    /// Data was sent within the delay after data was received (Linux `pingpong`).
    interactive: bool,
}

impl Acknowledger {
    pub(crate) fn new() -> Self {
        Self {
            now: false,
            unacknowledged: 0,
            full_size: ASSUMED_SEGMENT,
            quick_left: 0,
            delay: Span::ZERO,
            last_received: Instant::ZERO,
            small_segments: 0,
            interactive: false,
        }
    }

    /// Takes in-order data into account; returns when the acknowledgment is due at the latest, or
    /// `None` where it is due at once.
    #[inline]
    pub(crate) fn on_data(
        &mut self,
        config: &Config,
        payload_bytes: u32,
        receive_window: u32,
        timeout: Span,
        smoothed_rtt: Option<Span>,
        now: Instant,
    ) -> Option<Instant> {
        if payload_bytes < self.full_size {
            self.small_segments += 1;
        } else {
            self.full_size = payload_bytes.min(u32::from(config.mss));
        }
        self.unacknowledged += payload_bytes;
        match config.ack_delay {
            AckDelay::None => self.at_once(),
            AckDelay::EverySecond { limit } => {
                // RFC 5681 §4.2: at least every second *full-sized* segment.
                if self.unacknowledged >= 2 * self.full_size {
                    return self.at_once();
                }
                Some(now + limit)
            }
            AckDelay::Adaptive { quick_segments } => {
                self.adapt(quick_segments, receive_window, timeout, now);
                let quick = self.quick_left > 0 && !self.interactive;
                if quick || self.unacknowledged > self.full_size {
                    return self.at_once();
                }
                Some(now + self.bounded_delay(smoothed_rtt))
            }
        }
    }

    fn at_once(&mut self) -> Option<Instant> {
        self.now = true;
        None
    }

    /// Follows the time between arrivals; a pause longer than the time-out brings quick ACKs back.
    #[inline]
    fn adapt(&mut self, quick_segments: u32, receive_window: u32, timeout: Span, now: Instant) {
        if self.delay.is_zero() {
            self.become_quick(quick_segments, receive_window);
            self.delay = LEAST_DELAY;
        } else {
            let pause = now.saturating_since(self.last_received);
            if pause <= LEAST_DELAY / 2 {
                self.delay = self.delay / 2 + LEAST_DELAY / 2;
            } else if pause < self.delay {
                self.delay = (self.delay / 2 + pause).min(timeout);
            } else if pause > timeout {
                self.become_quick(quick_segments, receive_window);
            }
        }
        self.last_received = now;
    }

    fn become_quick(&mut self, quick_segments: u32, receive_window: u32) {
        let by_window = (receive_window / (2 * self.full_size)).max(2);
        self.quick_left = self.quick_left.max(by_window.min(quick_segments));
    }

    /// Up to `most` of the next segments are acknowledged at once (Linux `tcp_enter_quickack_mode`).
    pub(crate) fn enter_quick(&mut self, most: u32, receive_window: u32) {
        self.become_quick(most, receive_window);
        self.interactive = false;
        self.delay = LEAST_DELAY;
    }

    fn bounded_delay(&self, smoothed_rtt: Option<Span>) -> Span {
        let greatest =
            smoothed_rtt.map_or(GREATEST_DELAY, |rtt| rtt.max(LEAST_DELAY).min(GREATEST_DELAY));
        self.delay.min(greatest)
    }

    /// The application has read all there was.
    #[inline]
    pub(crate) fn on_drained(&mut self, config: &Config) {
        if self.small_segments == 0 || self.unacknowledged == 0 {
            return;
        }
        if matches!(config.ack_delay, AckDelay::Adaptive { .. })
            && (!self.interactive || self.small_segments > 1)
        {
            self.now = true;
        }
    }

    /// When data was received last.
    pub(crate) fn last_received(&self) -> Instant {
        self.last_received
    }

    /// Data goes out: soon after data came in, it is an answer.
    #[inline]
    pub(crate) fn on_data_sent(&mut self, now: Instant) {
        if now.saturating_since(self.last_received) < self.delay {
            self.interactive = true;
        }
    }

    /// The delay ran out: acknowledge, and be less hasty (Linux doubles the estimate), unless it was
    /// an answer that was waited for in vain.
    pub(crate) fn on_deadline(&mut self, timeout: Span) {
        if self.unacknowledged == 0 {
            return;
        }
        self.now = true;
        self.delay = if self.interactive { LEAST_DELAY } else { (self.delay * 2).min(timeout) };
        self.interactive = false;
    }

    /// Something out of order or a duplicate arrived: acknowledge at once (RFC 5681 §4.2), and in
    /// Linux be quick for a while.
    pub(crate) fn on_disorder(&mut self, config: &Config, receive_window: u32) {
        self.now = true;
        if let AckDelay::Adaptive { quick_segments } = config.ack_delay {
            self.interactive = false;
            self.become_quick(quick_segments, receive_window);
        }
    }

    /// A segment with an acknowledgment has been sent.
    #[inline]
    pub(crate) fn on_acknowledged(&mut self) {
        self.now = false;
        self.unacknowledged = 0;
        self.small_segments = 0;
        if self.quick_left > 0 {
            self.quick_left -= 1;
            if self.quick_left == 0 {
                self.delay = LEAST_DELAY;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;

    const WINDOW: u32 = 1 << 20;

    fn receive(acknowledger: &mut Acknowledger, config: &Config, at_ms: u64) -> Option<Instant> {
        let rtt = Some(Span::from_millis(100));
        let timeout = Span::from_millis(300);
        let due =
            acknowledger.on_data(config, 120, WINDOW, timeout, rtt, Instant::from_millis(at_ms));
        if due.is_none() {
            acknowledger.on_acknowledged();
        }
        due
    }

    #[test]
    fn linux_acknowledges_the_first_sixteen_segments_at_once() {
        let config = Profile::Linux6_18.config();
        let mut acknowledger = Acknowledger::new();
        for at in 0..16 {
            assert_eq!(receive(&mut acknowledger, &config, 150 * at), None);
        }
        let due = receive(&mut acknowledger, &config, 150 * 16);
        assert_eq!(due, Some(Instant::from_millis(150 * 16 + 40)));
    }

    #[test]
    fn every_second_full_segment_is_acknowledged_at_once() {
        let config = Profile::Rfc.config();
        let mut acknowledger = Acknowledger::new();
        let mut data = |at_ms| {
            acknowledger.on_data(
                &config,
                1448,
                WINDOW,
                Span::from_secs(1),
                None,
                Instant::from_millis(at_ms),
            )
        };
        assert_eq!(data(10), Some(Instant::from_millis(210)));
        assert_eq!(data(20), None);
    }
}
