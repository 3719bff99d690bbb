//! How late applications wrote that were due at an instant.

use crate::protocol::HostStatistics;
use fairwind_units::Span;
use hdrhistogram::Histogram;

/// The writes that were due at an instant, by their lateness.
#[derive(Debug)]
pub(super) struct Lateness {
    nanoseconds: Histogram<u64>,
}

impl Default for Lateness {
    fn default() -> Self {
        // Two digits: a hundredth of the value.
        Self { nanoseconds: Histogram::new(2).expect("two digits are allowed") }
    }
}

impl Lateness {
    pub(super) fn record(&mut self, lateness: Span) {
        // It grows as far as is needed, which fails for no number of 64 bits.
        let _ = self.nanoseconds.record(lateness.as_nanos());
    }

    /// Fills in what is known of it.
    pub(super) fn tell(&self, statistics: &mut HostStatistics) {
        statistics.timed_writes = self.nanoseconds.len();
        statistics.mean_lateness = Span::from_secs_f64(self.nanoseconds.mean() / 1e9);
        statistics.p99_lateness = Span::from_nanos(self.nanoseconds.value_at_quantile(0.99));
        statistics.greatest_lateness = Span::from_nanos(self.nanoseconds.max());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lateness_is_told_to_a_hundredth_however_long() {
        let mut lateness = Lateness::default();
        for _ in 0..199 {
            lateness.record(Span::from_micros(50));
        }
        lateness.record(Span::from_secs(2));
        let mut statistics = HostStatistics::default();
        lateness.tell(&mut statistics);
        let near = |span: Span, wanted: u64| span.as_nanos().abs_diff(wanted) <= wanted / 100;
        assert_eq!(statistics.timed_writes, 200);
        assert!(near(statistics.p99_lateness, 50_000), "{statistics:?}");
        assert!(near(statistics.greatest_lateness, 2_000_000_000), "{statistics:?}");
        assert!(near(statistics.mean_lateness, 10_049_750), "{statistics:?}");
    }
}
