//! Round-trip time estimation, minimum round-trip filter, and the retransmission time-out.
//!
//! Source: RFC 6298; Linux `tcp_rtt_estimator` and `__tcp_set_rto`.
//! Differs: samples are in nanoseconds, so the clock granularity G is negligible.
//! Cost per sample: a few additions and shifts.
//!
//! **Minimum filter.** Source: Kathleen Nichols' windowed filter, as in Linux `lib/win_minmax.c`. It
//! keeps the minimum samples of three successively younger parts of the window, so the next minimum
//! is available when the first expires. Cost per sample: a few comparisons.

use crate::config::{Config, RttRule};
use crate::sender::congestion::plugged::TcpSock;
use fairwind_units::{Instant, Span};
use fairwind_wire::SequenceNumber;

/// No round trip is shorter, as the kernel counts.
const MIN_SAMPLE: Span = Span::from_micros(1);

/// Microseconds, in 32 bits as the kernel keeps spans.
fn micros(nanos: u64) -> u32 {
    u32::try_from(nanos / 1_000).unwrap_or(u32::MAX)
}

/// Smoothed round-trip time, its variation, and the time-out computed from them.
#[derive(Debug, Clone, Default)]
pub(crate) struct RttEstimator {
    /// Eight times the smoothed round-trip time in nanoseconds; 0 before the first sample.
    smoothed_times_8: u64,
    /// Four times the mean deviation in nanoseconds.
    deviation_times_4: u64,
    /// Largest deviation seen in this round trip, as above (Linux only).
    largest_deviation_times_4: u64,
    /// The variation term of the time-out in nanoseconds (four RTTVAR).
    variation_times_4: u64,
    /// When this is acknowledged the current round trip of samples is over (Linux only).
    round_end: SequenceNumber,
    min: MinRttFilter,
}

impl RttEstimator {
    /// The smoothed round-trip time (SRTT), after the first sample.
    pub(crate) fn smoothed(&self) -> Option<Span> {
        (self.smoothed_times_8 != 0).then(|| Span::from_nanos(self.smoothed_times_8 >> 3))
    }

    /// The smoothed round-trip time in eighths of microseconds, as Linux keeps it; 1 before the first
    /// sample.
    pub(crate) fn smoothed_eighths_of_micros(&self) -> u64 {
        (self.smoothed_times_8 / 1000).max(1)
    }

    /// Writes the round-trip state of the kernel.
    pub(crate) fn show(&self, sender: &mut TcpSock) {
        sender.smoothed_rtt_eighths = micros(self.smoothed_times_8);
        self.min.show(&mut sender.min_rtt_micros);
    }

    /// Writes the deviations for an external congestion control.
    pub(crate) fn copy_deviations(&self, sender: &mut TcpSock) {
        sender.deviation_quarters = micros(self.deviation_times_4);
        sender.variation_quarters = micros(self.variation_times_4);
    }

    /// Initialises the estimator from another connection (RFC 9040 §6.1).
    pub(crate) fn seed(&mut self, smoothed: Span, variation: Span) {
        self.smoothed_times_8 = smoothed.as_nanos() << 3;
        self.variation_times_4 = variation.as_nanos() << 2;
        self.deviation_times_4 = self.variation_times_4;
        self.largest_deviation_times_4 = self.variation_times_4;
    }

    /// Minimum sample of the filter's window.
    pub(crate) fn minimum(&self) -> Option<Span> {
        self.min.get()
    }

    #[inline]
    pub(crate) fn add_minimum_sample(&mut self, config: &Config, rtt: Span, now: Instant) {
        self.min.note(rtt.max(MIN_SAMPLE), now, config.loss.min_rtt_window);
    }

    /// Mean deviation of the samples (RTTVAR; the kernel's `tcpi_rttvar`).
    pub(crate) fn deviation(&self, rule: RttRule) -> Span {
        let times_4 = match rule {
            RttRule::Linux => self.deviation_times_4,
            RttRule::Rfc6298 | RttRule::Slop(_) => self.variation_times_4,
        };
        Span::from_nanos(times_4 / 4)
    }

    /// Adds a sample of data that was sent once (the caller applies Karn's rule), with the present
    /// SND.UNA and SND.NXT.
    pub(crate) fn sample(
        &mut self,
        config: &Config,
        rtt: Span,
        oldest_unacked: SequenceNumber,
        next: SequenceNumber,
    ) {
        let measured = rtt.max(MIN_SAMPLE).as_nanos();
        match config.rtt_rule {
            RttRule::Rfc6298 | RttRule::Slop(_) => self.sample_rfc(measured),
            RttRule::Linux => {
                self.sample_linux(measured, config.minimum_rto.as_nanos(), oldest_unacked, next);
            }
        }
    }

    /// RFC 6298 §2.2 and §2.3, with alpha 1/8 and beta 1/4.
    fn sample_rfc(&mut self, measured: u64) {
        if self.smoothed_times_8 == 0 {
            self.smoothed_times_8 = measured << 3;
            self.variation_times_4 = measured << 1;
            return;
        }
        let error = (self.smoothed_times_8 >> 3).abs_diff(measured);
        self.variation_times_4 = self.variation_times_4 - (self.variation_times_4 >> 2) + error;
        self.smoothed_times_8 = self.smoothed_times_8 - (self.smoothed_times_8 >> 3) + measured;
    }

    fn sample_linux(
        &mut self,
        measured: u64,
        min_variation: u64,
        oldest_unacked: SequenceNumber,
        next: SequenceNumber,
    ) {
        if self.smoothed_times_8 == 0 {
            self.smoothed_times_8 = measured << 3;
            self.deviation_times_4 = measured << 1;
            self.variation_times_4 = self.deviation_times_4.max(min_variation);
            self.largest_deviation_times_4 = self.variation_times_4;
            self.round_end = next;
            return;
        }
        self.update_deviation(measured);
        self.smoothed_times_8 = self.smoothed_times_8 - (self.smoothed_times_8 >> 3) + measured;
        if self.deviation_times_4 > self.largest_deviation_times_4 {
            self.largest_deviation_times_4 = self.deviation_times_4;
            self.variation_times_4 = self.variation_times_4.max(self.largest_deviation_times_4);
        }
        if oldest_unacked.is_after(self.round_end) {
            let excess = self.variation_times_4.saturating_sub(self.largest_deviation_times_4);
            self.variation_times_4 -= excess >> 2;
            self.round_end = next;
            self.largest_deviation_times_4 = min_variation;
        }
    }

    /// The mean deviation moves by a quarter of the error, but by 1/32 if the round trip became
    /// shorter by more than the deviation: a falling RTT must not raise the time-out.
    fn update_deviation(&mut self, measured: u64) {
        let smoothed = self.smoothed_times_8 >> 3;
        let error = smoothed.abs_diff(measured);
        let decay = self.deviation_times_4 >> 2;
        if measured < smoothed && error > decay {
            self.deviation_times_4 += (error - decay) >> 3;
        } else {
            self.deviation_times_4 = self.deviation_times_4 + error - decay;
        }
    }

    /// The time-out without back-off: initial before the first sample, else smoothed plus variation.
    #[inline]
    pub(crate) fn timeout(&self, config: &Config) -> Span {
        if self.smoothed_times_8 == 0 {
            return config.initial_rto;
        }
        let timeout = Span::from_nanos((self.smoothed_times_8 >> 3) + self.variation_times_4);
        let timeout = match config.rtt_rule {
            RttRule::Rfc6298 => timeout.max(config.minimum_rto),
            RttRule::Slop(slop) => (timeout + slop).max(config.minimum_rto),
            // The minimum is in the variation term already.
            RttRule::Linux => timeout,
        };
        timeout.min(config.maximum_rto)
    }
}

#[derive(Debug, Clone, Copy)]
struct Sample {
    rtt: Span,
    at: Instant,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct MinRttFilter {
    /// The three minimum samples; equal if no other is worth keeping.
    best: Option<[Sample; 3]>,
}

impl MinRttFilter {
    pub(crate) fn get(&self) -> Option<Span> {
        self.best.as_ref().map(|[best, _, _]| best.rtt)
    }

    /// Writes the three as instants in jiffies of a millisecond and round trips in microseconds.
    pub(crate) fn show(&self, places: &mut [[u32; 2]; 3]) {
        let Some(best) = &self.best else { return };
        let place = |sample: Sample| {
            let millis = sample.at.as_nanos() / 1_000_000;
            let stamp = u32::try_from(millis & u64::from(u32::MAX)).unwrap_or(0);
            [stamp, u32::try_from(sample.rtt.as_micros()).unwrap_or(u32::MAX)]
        };
        let first = place(best[0]);
        *places = if best[2].at == best[0].at {
            [first; 3]
        } else {
            [first, place(best[1]), place(best[2])]
        };
    }

    /// Adds a sample; forgets samples older than `window`.
    #[inline]
    pub(crate) fn note(&mut self, rtt: Span, at: Instant, window: Span) {
        let sample = Sample { rtt, at };
        match &mut self.best {
            Some(best) if rtt > best[0].rtt && at.saturating_since(best[2].at) <= window => {
                Self::replace(best, sample, window);
            }
            best => *best = Some([sample; 3]),
        }
    }

    fn replace(best: &mut [Sample; 3], sample: Sample, window: Span) {
        if sample.rtt <= best[1].rtt {
            best[1] = sample;
            best[2] = sample;
        } else if sample.rtt <= best[2].rtt {
            best[2] = sample;
        }
        let age = sample.at.saturating_since(best[0].at);
        if age > window {
            Self::drop_best(best, sample);
            if sample.at.saturating_since(best[0].at) > window {
                Self::drop_best(best, sample);
            }
        } else if best[1].at == best[0].at && age > window / 4 {
            // A quarter of the window without a second best: take one of this quarter.
            best[1] = sample;
            best[2] = sample;
        } else if best[2].at == best[1].at && age > window / 2 {
            best[2] = sample;
        }
    }

    fn drop_best(best: &mut [Sample; 3], sample: Sample) {
        *best = [best[1], best[2], sample];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;

    fn estimator_after(config: &Config, samples_ms: &[u64]) -> RttEstimator {
        let mut estimator = RttEstimator::default();
        for (at, &sample) in (0..).zip(samples_ms) {
            let sequence = SequenceNumber::new(at * 10);
            estimator.sample(config, Span::from_millis(sample), sequence, sequence + 5);
        }
        estimator
    }

    /// Worked by hand after RFC 6298 §2: SRTT 100 -> 7/8 100 + 1/8 180 = 110,
    /// RTTVAR 50 -> 3/4 50 + 1/4 80 = 57.5, RTO = 110 + 4 x 57.5 = 340 ms.
    #[test]
    fn rfc_6298_worked_by_hand() {
        let config = Config { minimum_rto: Span::from_millis(1), ..Profile::Rfc.config() };
        let first = estimator_after(&config, &[100]);
        assert_eq!(first.smoothed(), Some(Span::from_millis(100)));
        assert_eq!(first.timeout(&config), Span::from_millis(300));
        let second = estimator_after(&config, &[100, 180]);
        assert_eq!(second.smoothed(), Some(Span::from_millis(110)));
        assert_eq!(second.timeout(&config), Span::from_millis(340));
    }

    #[test]
    fn rfc_6298_rto_is_at_least_one_second() {
        let config = Profile::Rfc.config();
        assert_eq!(estimator_after(&config, &[10]).timeout(&config), Span::from_secs(1));
    }

    /// On a quiet path the variation term rests at its floor of 200 ms.
    #[test]
    fn linux_rto_is_rtt_plus_200_ms() {
        let config = Profile::Linux6_18.config();
        let quiet = estimator_after(&config, &[100; 50]);
        assert_eq!(quiet.smoothed(), Some(Span::from_millis(100)));
        assert_eq!(quiet.timeout(&config), Span::from_millis(300));
        assert_eq!(estimator_after(&config, &[100]).timeout(&config), Span::from_millis(300));
        assert_eq!(estimator_after(&config, &[150]).timeout(&config), Span::from_millis(450));
    }

    #[test]
    fn freebsd_adds_a_fixed_allowance() {
        let config = Profile::FreeBsd5_4.config();
        let first = estimator_after(&config, &[100]);
        assert_eq!(first.timeout(&config), Span::from_millis(300 + 200));
    }

    #[test]
    fn initial_rto_holds_before_samples() {
        let config = Profile::Linux6_18.config();
        assert_eq!(RttEstimator::default().timeout(&config), Span::from_secs(1));
    }
}

#[cfg(test)]
mod min_rtt_tests {
    use super::*;

    #[test]
    fn windowed_min_expires_to_next_best() {
        let window = Span::from_secs(100);
        let mut min = MinRttFilter::default();
        for second in 0..300 {
            let rtt = if second == 10 { 20 } else { 50 + (second % 7) };
            min.note(Span::from_millis(rtt), Instant::from_secs(second), window);
            let expected = if (10..=110).contains(&second) { 20 } else { 50 };
            let got = min.get().unwrap_or_default().as_millis();
            assert!((expected..expected + 3).contains(&got), "{got} ms after {second} s");
        }
    }
}
