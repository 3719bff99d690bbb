//! Linux `tcp_metrics`: cached metrics of a destination.
//!
//! Source: `tcp_update_metrics` and `tcp_init_metrics` (`net/ipv4/tcp_metrics.c`) of Linux 5.6 and later.
//! Metrics: smoothed round trip and its variation, slow-start threshold, window, reordering. New connections
//! take the first time-out from the cached round trip if their own handshake was faster, and the reordering.
//! The window is cached but not used. The threshold is used only if switched on
//! (`tcp_no_ssthresh_metrics_save`, 1 since Linux 5.6, because an old one limits CUBIC).
//! Differs: times are in nanoseconds; there are no locked metrics (`ip route`, `ip tcp_metrics`) and no Fast
//! Open data.

use super::policy::{
    Advice, CacheMiss, CachedWindows, Entries, Opening, Policy, ReportKind, TimeoutSeed, WhenFull,
    WindowReport,
};
use fairwind_units::{Instant, Span};
use std::net::IpAddr;

/// Parameters of Linux' metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetricsConfig {
    /// The threshold is used (`tcp_no_ssthresh_metrics_save` = 0, as it was before Linux 5.6).
    pub threshold: bool,
}

/// Metrics of a destination; 0 means unknown, as in the kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Metric {
    rtt: Span,
    rtt_variation: Span,
    threshold: u32,
    window: u32,
    reordering: u32,
}

#[derive(Debug)]
pub(super) struct Metrics {
    entries: Entries<Metric>,
    config: MetricsConfig,
}

impl Metrics {
    pub(super) fn new(lifetime: Span, entries: usize, config: MetricsConfig) -> Self {
        let entries =
            Entries::new(lifetime, entries, WhenFull::Replace, |metric: &Metric| metric.window);
        Self { entries, config }
    }
}

impl Metric {
    /// A longer round trip replaces the cached one, a shorter one moves it by an eighth of the difference. The
    /// variation likewise moves by a quarter, and is at least the change of the round trip.
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

    fn learn_window(&mut self, report: &WindowReport, saves_threshold: bool) {
        let threshold = report.slow_start_threshold.unwrap_or(u32::MAX);
        if report.slow_start_threshold.is_none() {
            // Slow start did not end: the window is as large as it was needed.
            if saves_threshold && self.threshold > 0 && report.window / 2 > self.threshold {
                self.threshold = report.window / 2;
            }
            self.window = self.window.max(report.window);
        } else if report.window >= threshold && report.is_open {
            if saves_threshold {
                self.threshold = (report.window / 2).max(threshold);
            }
            self.window = u32::midpoint(self.window, report.window);
        } else {
            // The window is neither application-limited nor in congestion avoidance.
            self.window = u32::midpoint(self.window, threshold);
            if saves_threshold && self.threshold > 0 && threshold > self.threshold {
                self.threshold = threshold;
            }
            if self.reordering < report.reordering && report.reordering != report.usual_reordering {
                self.reordering = report.reordering;
            }
        }
    }
}

impl Policy for Metrics {
    fn advise(&mut self, opening: &Opening) -> Result<Advice, CacheMiss> {
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

    fn learn(&mut self, now: Instant, peer: IpAddr, report: &WindowReport, _moment: ReportKind) {
        let known = self.entries.look_up(peer, now).ok().copied();
        let (Some(smoothed), false) = (report.smoothed_rtt, report.is_backed_off) else {
            // The time-out is backed off, so the cached round trip is invalid.
            if let Ok(metric) = self.entries.look_up(peer, now) {
                metric.rtt = Span::ZERO;
            }
            return;
        };
        let mut metric = known.unwrap_or_default();
        metric.learn_round_trip(smoothed, report.rtt_variation);
        metric.learn_window(report, self.config.threshold);
        self.entries.put(peer, metric, now);
    }

    fn entries(&self) -> &dyn CachedWindows {
        &self.entries
    }

    fn clear(&mut self) {
        self.entries.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::Metric;
    use crate::WindowReport;
    use crate::window_cache::tests::{Host, window_report};
    use crate::window_cache::{MetricsConfig, PolicyConfig, Sharing, TimeoutSeed};
    use fairwind_units::Span;

    fn host(threshold: bool) -> Host {
        Host::new(&Sharing::usual(PolicyConfig::Metrics(MetricsConfig { threshold })))
    }

    const fn ms(millis: u64) -> Span {
        Span::from_millis(millis)
    }

    #[expect(clippy::unnecessary_wraps, reason = "as advice has it")]
    fn first_timeout(rtt: Span) -> Option<TimeoutSeed> {
        Some(TimeoutSeed::FirstTimeout { rtt })
    }

    #[test]
    fn cached_window_is_not_used() {
        let mut host = host(false);
        host.ends(1, 1, window_report(40));
        assert_eq!(host.list(1)[0].window, 20, "the mean with nothing, as the kernel has it");
        let advice = host.incoming(2, 1);
        assert_eq!(
            (advice.window, advice.min_window, advice.slow_start_threshold),
            (None, None, None)
        );
    }

    /// 100 ms; then 200 ms immediately; then 200 - (200 - 120) / 8 = 190 ms.
    #[test]
    fn shorter_rtt_counts_by_an_eighth() {
        let mut host = host(false);
        for (smoothed, expected) in [(100, 100), (200, 200), (120, 190)] {
            host.ends(1, 1, WindowReport { smoothed_rtt: Some(ms(smoothed)), ..window_report(10) });
            assert_eq!(host.incoming(2, 1).timeout, first_timeout(ms(expected)));
        }
    }

    /// The first deviation is the whole round trip, which has changed from zero. Then, with 100 ms again and 20
    /// ms of deviation, 100 - (100 - 20) / 4 = 80 ms.
    #[test]
    fn variation_falls_by_a_quarter() {
        let mut metric = Metric::default();
        metric.learn_round_trip(ms(100), ms(20));
        assert_eq!(metric.rtt_variation, ms(100));
        metric.learn_round_trip(ms(100), ms(20));
        assert_eq!(metric.rtt_variation, ms(80));
        metric.learn_round_trip(ms(300), ms(20));
        assert_eq!(metric.rtt_variation, ms(200));
    }

    #[test]
    fn backed_off_connection_clears_cached_rtt() {
        let mut host = host(false);
        host.ends(1, 1, window_report(10));
        host.ends(2, 1, WindowReport { is_backed_off: true, ..window_report(10) });
        assert_eq!(host.incoming(3, 1).timeout, None);
        assert_eq!(host.cache().len(), 1);
    }

    /// Slow start without an end raises a known threshold to half of its window. Congestion avoidance sets the
    /// larger of half the window and its threshold. Other states raise a known threshold to their own.
    #[test]
    fn threshold_is_saved_only_on_request() {
        let slow_start =
            |window| WindowReport { slow_start_threshold: None, ..window_report(window) };
        let at = |threshold, window| WindowReport {
            slow_start_threshold: Some(threshold),
            ..window_report(window)
        };
        let mut host = host(true);
        let mut after = |report| {
            host.ends(1, 1, report);
            host.incoming(2, 1).slow_start_threshold
        };
        assert_eq!(after(slow_start(64)), None, "there is none to be raised");
        assert_eq!(after(at(10, 30)), Some(15));
        assert_eq!(after(at(20, 30)), Some(20));
        assert_eq!(after(slow_start(64)), Some(32));
        assert_eq!(after(slow_start(20)), Some(32));
        assert_eq!(after(at(40, 30)), Some(40));
        let mut host = self::host(false);
        host.ends(1, 1, at(10, 30));
        assert_eq!(host.incoming(2, 1).slow_start_threshold, None);
    }

    /// Slow start is over once the window reaches the threshold: the cached one is the larger of half the
    /// window and the threshold. Other states set none if none is known.
    #[test]
    fn at_the_threshold_slow_start_is_over() {
        let mut host = host(true);
        host.ends(1, 1, WindowReport { slow_start_threshold: Some(30), ..window_report(30) });
        assert_eq!(host.incoming(2, 1).slow_start_threshold, Some(30));
    }

    /// Slow start keeps the larger window, congestion avoidance the mean, other states the mean with the
    /// threshold.
    #[test]
    fn cached_window_follows_final_phase() {
        let mut metric = Metric { window: 20, ..Metric::default() };
        let in_slow_start =
            |window| WindowReport { slow_start_threshold: None, ..window_report(window) };
        metric.learn_window(&in_slow_start(10), false);
        assert_eq!(metric.window, 20);
        metric.learn_window(&in_slow_start(50), false);
        assert_eq!(metric.window, 50);
        metric.learn_window(&window_report(30), false);
        assert_eq!(metric.window, 40);
        metric.learn_window(
            &WindowReport { is_open: false, slow_start_threshold: Some(10), ..window_report(30) },
            false,
        );
        assert_eq!(metric.window, 25);
    }

    #[test]
    fn disorder_updates_cached_reordering() {
        let mut host = host(false);
        host.ends(1, 1, WindowReport { reordering: 9, ..window_report(30) });
        assert_eq!(host.incoming(2, 1).reordering, None, "congestion avoidance without disorder");
        host.ends(3, 1, WindowReport { reordering: 9, is_open: false, ..window_report(30) });
        assert_eq!(host.incoming(4, 1).reordering, Some(9));
        host.ends(5, 1, WindowReport { reordering: 5, is_open: false, ..window_report(30) });
        assert_eq!(host.incoming(6, 1).reordering, Some(9), "the greatest stays");
    }

    #[test]
    fn metrics_are_believed_for_an_hour() {
        let mut host = host(false);
        host.ends(1, 1, window_report(10));
        assert!(host.incoming(3601, 1).timeout.is_some());
        assert!(host.incoming(3602, 1).timeout.is_none());
    }
}
