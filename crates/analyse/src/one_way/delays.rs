//! Delays of flows and groups, computed from the samples once the clocks are known.
//!
//! Source: one-way delay (RFC 7679) and its variation: the delay beyond the minimum of the same connection and
//! direction (RFC 5481 §4.2, with the minimum as reference). Three layers: *network*, from departure to arrival
//! of each packet; *transport*, from the first departure of bytes to their first arrival, including repairs;
//! *application*, to the instant at which everything before them has arrived, too. All are weighted by bytes,
//! as in analyseTCP.

use super::clock_drift::ClockDrift;
use super::counts::{QueryKind, Timeline};
use super::samples::{Layers, Sample, SampleLog, Spill, SpilledSamples};
use fairwind_measure::Times;
use fairwind_units::{Instant, Span};

/// The layers in the order of tables.
pub(super) const LAYERS: [(&str, Layers); 3] = [
    ("network", Layers::NETWORK),
    ("transport", Layers::TRANSPORT),
    ("application", Layers::APPLICATION),
];

/// One distribution per layer.
#[derive(Debug, Clone)]
pub(super) struct LayeredTimes {
    /// Samples that are equal in all layers, as most are.
    common: Times,
    /// All other samples.
    apart: [Times; 3],
}

impl LayeredTimes {
    pub(super) fn new() -> Self {
        Self { common: Times::new(), apart: [Times::new(), Times::new(), Times::new()] }
    }

    /// Counts a sample whose network delay is `delay`.
    fn record(&mut self, delay: u64, sample: &Sample) {
        let bytes = u64::from(sample.bytes);
        if sample.layers == Layers::ALL && sample.repair == 0 && sample.wait == 0 {
            self.common.record_many(delay, bytes);
            return;
        }
        let transport = delay.saturating_add(sample.repair);
        let values = [delay, transport, transport.saturating_add(sample.wait)];
        for ((times, value), (_, layer)) in self.apart.iter_mut().zip(values).zip(LAYERS) {
            if sample.layers.has(layer) {
                times.record_many(value, bytes);
            }
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.common.add(&other.common);
        for (sum, more) in self.apart.iter_mut().zip(&other.apart) {
            sum.add(more);
        }
    }

    /// The distributions of the layers.
    pub(super) fn layers(&self) -> impl Iterator<Item = (&'static str, Times)> {
        LAYERS.into_iter().zip(&self.apart).map(|((name, _), apart)| {
            let mut times = self.common.clone();
            times.add(apart);
            (name, times)
        })
    }
}

/// Delays of a group.
#[derive(Debug, Clone)]
pub(super) struct GroupDelays {
    /// Delay beyond the minimum of each flow.
    pub(super) variation: LayeredTimes,
    /// Absolute delay.
    pub(super) absolute: LayeredTimes,
    /// Delay beyond the minimum, over time.
    pub(super) series: Vec<Timeline<Times>>,
}

impl GroupDelays {
    pub(super) fn new(intervals: &[Span]) -> Self {
        Self {
            variation: LayeredTimes::new(),
            absolute: LayeredTimes::new(),
            series: intervals.iter().map(|&length| Timeline::new(length)).collect(),
        }
    }
}

/// Delays of one flow.
#[derive(Debug, Clone)]
pub(super) struct FlowDelays {
    /// The smallest network delay, in nanoseconds.
    pub(super) smallest: u64,
    pub(super) variation: LayeredTimes,
}

/// Source of samples.
pub(super) trait SampleSource {
    /// Passes every sample to `see`, in any order.
    fn each(&self, spill: &mut Spill, see: impl FnMut(&Sample));

    /// The smallest uncorrected delay, if known without reading.
    fn smallest(&self) -> Option<i64>;
}

impl SampleSource for SampleLog {
    fn each(&self, spill: &mut Spill, see: impl FnMut(&Sample)) {
        Self::each(self, spill, see);
    }

    fn smallest(&self) -> Option<i64> {
        Self::smallest(self)
    }
}

impl SampleSource for SpilledSamples {
    fn each(&self, spill: &mut Spill, see: impl FnMut(&Sample)) {
        Self::each(*self, spill, see);
    }

    fn smallest(&self) -> Option<i64> {
        None
    }
}

/// Correction of delays by the drift of the clocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClockCorrection {
    pub(super) drift: ClockDrift,
    /// Whether there is only one clock.
    pub(super) is_shared: bool,
    /// Whether packets go towards the drifting clock.
    pub(super) is_towards: bool,
    pub(super) origin: Instant,
}

impl ClockCorrection {
    fn of(&self, sample: &Sample) -> i64 {
        let ahead = if self.is_shared { 0 } else { self.drift.ahead_nanos(sample.departed) };
        let corrected = if self.is_towards {
            sample.delay.saturating_sub(ahead)
        } else {
            sample.delay.saturating_add(ahead)
        };
        // Values below zero are errors of the estimate.
        corrected.max(0)
    }
}

/// Computes the delays of a flow and adds them to its group; `None` without samples.
pub(super) fn delays_of(
    samples: &impl SampleSource,
    correction: &ClockCorrection,
    spill: &mut Spill,
    group: &mut GroupDelays,
) -> Option<FlowDelays> {
    // With one clock nothing is corrected.
    let mut smallest = samples.smallest().map(|delay| delay.max(0));
    if smallest.is_none() {
        samples.each(spill, |sample| {
            let delay = correction.of(sample);
            smallest = Some(smallest.map_or(delay, |known| known.min(delay)));
        });
    }
    let smallest = smallest?;
    let mut variation = LayeredTimes::new();
    samples.each(spill, |sample| {
        let delay = correction.of(sample);
        let beyond = (delay - smallest).unsigned_abs();
        variation.record(beyond, sample);
        group.absolute.record(delay.unsigned_abs(), sample);
        if sample.layers.has(Layers::NETWORK) {
            for series in &mut group.series {
                series.at(correction.origin, sample.departed, QueryKind::Departure).record(beyond);
            }
        }
    });
    group.variation.add(&variation);
    Some(FlowDelays { smallest: smallest.unsigned_abs(), variation })
}
