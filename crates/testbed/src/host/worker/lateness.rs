//! How late applications wrote that were due at an instant.

use crate::host::protocol::HostStatistics;
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
        self.nanoseconds.saturating_record(lateness.as_nanos());
    }

    /// Fills in what is known of it.
    pub(super) fn tell(&self, statistics: &mut HostStatistics) {
        statistics.timed_writes = self.nanoseconds.len();
        statistics.mean_lateness = Span::from_secs_f64(self.nanoseconds.mean() / 1e9);
        statistics.p99_lateness = Span::from_nanos(self.nanoseconds.value_at_quantile(0.99));
        statistics.greatest_lateness = Span::from_nanos(self.nanoseconds.max());
    }
}
