//! What Linux remembers of a destination.
//!
//! Source: `tcp_update_metrics` and `tcp_init_metrics` (`net/ipv4/tcp_metrics.c`) of Linux 5.6 and later.
//! Metrics: smoothed round trip and its variation, slow-start threshold, window, reordering. New connections
//! take the first time-out from the round trip where their own handshake was faster, and the reordering; the
//! window is kept and never begun with, the threshold only where that is switched on
//! (`tcp_no_ssthresh_metrics_save`, 1 since Linux 5.6, because an old one holds CUBIC back).
//! Differs: times are in nanoseconds, not in milliseconds or microseconds; metrics that `ip route` or
//! `ip tcp_metrics` lock are not to be had, nor what is kept for Fast Open.

use super::entries::{Entries, WhenFull};
use super::lesson::{Advice, Lesson, TimeoutSeed, Unused};
use super::{MetricsConfig, Moment, Opening, Policy, Remembered, Sharing};
use fairwind_units::{Instant, Span};
use std::net::IpAddr;

/// Metrics of a destination; 0 for what is not known, as in the kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Metric {
    pub(super) rtt: Span,
    pub(super) rtt_variation: Span,
    pub(super) threshold: u32,
    pub(super) window: u32,
    pub(super) reordering: u32,
}

/// The metrics of a host.
#[derive(Debug)]
pub(super) struct Metrics {
    entries: Entries<Metric>,
    config: MetricsConfig,
}

impl Metrics {
    pub(super) fn new(settings: &Sharing, config: MetricsConfig) -> Self {
        let entries = Entries::new(settings.lifetime, settings.entries, WhenFull::Replace);
        Self { entries, config }
    }
}

impl Metric {
    /// A longer round trip counts at once, a shorter one by an eighth of the difference; the variation likewise,
    /// by a quarter, and it is at least what the round trip has moved.
    fn learn_round_trip(&mut self, smoothed: Span, deviation: Span) {
        let known = self.rtt;
        self.rtt =
            if smoothed >= known { smoothed } else { known - known.saturating_sub(smoothed) / 8 };
        let moved = known.saturating_sub(smoothed).max(smoothed.saturating_sub(known));
        let variation = moved.max(deviation);
        self.rtt_variation = if variation >= self.rtt_variation {
            variation
        } else {
            self.rtt_variation - self.rtt_variation.saturating_sub(variation) / 4
        };
    }

    fn learn_window(&mut self, lesson: &Lesson, saves_threshold: bool) {
        let threshold = lesson.slow_start_threshold.unwrap_or(u32::MAX);
        if lesson.slow_start_threshold.is_none() {
            // Slow start did not end: the window is as large as it was needed.
            if saves_threshold && self.threshold > 0 && lesson.window / 2 > self.threshold {
                self.threshold = lesson.window / 2;
            }
            self.window = self.window.max(lesson.window);
        } else if lesson.window >= threshold && lesson.is_open {
            if saves_threshold {
                self.threshold = (lesson.window / 2).max(threshold);
            }
            self.window = u32::midpoint(self.window, lesson.window);
        } else {
            // Nothing can be said of the window.
            self.window = u32::midpoint(self.window, threshold);
            if saves_threshold && self.threshold > 0 && threshold > self.threshold {
                self.threshold = threshold;
            }
            if self.reordering < lesson.reordering && lesson.reordering != lesson.usual_reordering {
                self.reordering = lesson.reordering;
            }
        }
    }
}

fn line((peer, age, of): (IpAddr, Span, &Metric)) -> Remembered {
    Remembered { peer, window: of.window, age }
}

impl Policy for Metrics {
    fn advise(&mut self, opening: &Opening) -> Result<Advice, Unused> {
        let metric = *self.entries.look_up(opening.peer, opening.now)?;
        let known = |value: u32| (value > 0).then_some(value);
        Ok(Advice {
            slow_start_threshold: known(metric.threshold).filter(|_| self.config.threshold),
            reordering: known(metric.reordering),
            timeout: (metric.rtt > Span::ZERO)
                .then_some(TimeoutSeed::FirstTimeout { rtt: metric.rtt }),
            ..Advice::default()
        })
    }

    fn learn(&mut self, now: Instant, peer: IpAddr, lesson: &Lesson, _moment: Moment) {
        let known = self.entries.look_up(peer, now).ok().copied();
        let (Some(smoothed), false) = (lesson.smoothed_rtt, lesson.is_backed_off) else {
            // Nothing came back in time: what is known of the round trip is not to be believed either.
            if let Ok(metric) = self.entries.look_up(peer, now) {
                metric.rtt = Span::ZERO;
            }
            return;
        };
        let mut metric = known.unwrap_or_default();
        metric.learn_round_trip(smoothed, lesson.rtt_variation);
        metric.learn_window(lesson, self.config.threshold);
        self.entries.put(peer, metric, now);
    }

    fn list(&self, now: Instant) -> Vec<Remembered> {
        self.entries.iter(now).map(line).collect()
    }

    fn known(&self, peer: IpAddr, now: Instant) -> Option<Remembered> {
        self.entries.known(peer, now).map(line)
    }

    fn len(&self) -> usize {
        self.entries.len()
    }

    fn clear(&mut self) {
        self.entries.clear();
    }
}

#[cfg(test)]
mod tests;
