//! The least round-trip time of the recent past.
//!
//! Source: Kathleen Nichols' windowed filter, as in Linux `lib/win_minmax.c`: the three best samples
//! of ever younger parts of the window are kept, so that the next best is at hand when the best
//! becomes too old. Cost per sample: a few comparisons.

use fairwind_units::{Instant, Span};

#[derive(Debug, Clone, Copy)]
struct Sample {
    rtt: Span,
    at: Instant,
}

/// The filter.
#[derive(Debug, Clone, Default)]
pub(crate) struct LeastRtt {
    /// Best, second and third best; the same one thrice where no other is worth keeping.
    best: Option<[Sample; 3]>,
}

impl LeastRtt {
    #[inline]
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

    /// Takes a sample; none older than `window` is remembered.
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

    #[test]
    fn the_least_is_forgotten_after_the_window_and_the_next_best_is_at_hand() {
        let window = Span::from_secs(100);
        let mut least = LeastRtt::default();
        for second in 0..300 {
            let rtt = if second == 10 { 20 } else { 50 + (second % 7) };
            least.note(Span::from_millis(rtt), Instant::from_secs(second), window);
            let expected = if (10..=110).contains(&second) { 20 } else { 50 };
            let got = least.get().unwrap_or_default().as_millis();
            assert!((expected..expected + 3).contains(&got), "{got} ms after {second} s");
        }
    }
}
