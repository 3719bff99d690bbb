//! Groups of connections: sums, series, loss runs and delays.
//!
//! Departures of the group at a tap are numbered in their order. Losses are found later and in any order;
//! [`LossRuns`] defines their runs.
//!
//! Delays are computed from the samples once the clocks are known. Source: one-way delay (RFC 7679) and its
//! variation: the delay beyond the minimum of the same connection and direction (RFC 5481 §4.2, with the minimum as
//! reference). The minimum is that of all packets so far, counted or not, so that a queue which stands all the time
//! that counts is seen. Three layers: *network*, from departure to arrival of each packet; *transport*, from the first
//! departure of bytes to their first arrival, including repairs; *application*, to the instant at which everything
//! before them has arrived, too. All are weighted by bytes, as in analyseTCP.

use super::clock_drift::ClockDrift;
use super::counts::{FirstArrivals, LossWindow, OneWayCounts, QueryKind, Timeline};
use super::samples::{Layers, Sample, SampleLog, Spill};
use fairwind_measure::{LossRun, LossRuns, Times};
use fairwind_units::{Instant, Span};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Sums of a group.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) name: String,
    pub(super) counts: OneWayCounts,
    pub(super) first: FirstArrivals,
    pub(super) loss_series: Vec<Timeline<LossWindow>>,
    /// Departures at each tap.
    pub(super) rows: [LossSequence; 2],
    pub(super) runs: LossRuns,
    pub(super) delays: GroupDelays,
    /// Departures at instants that are not settled.
    checkpoints: VecDeque<(Instant, [u64; 2])>,
}

impl Group {
    pub(super) fn new(name: &str, intervals: &[Span]) -> Self {
        Self {
            name: name.to_owned(),
            counts: OneWayCounts::default(),
            first: FirstArrivals::default(),
            loss_series: intervals.iter().map(|&length| Timeline::new(length)).collect(),
            rows: [LossSequence::default(), LossSequence::default()],
            runs: LossRuns::default(),
            delays: GroupDelays::new(intervals),
            checkpoints: VecDeque::new(),
        }
    }

    /// Discards the counts.
    pub(super) fn reset_counts(&mut self, intervals: &[Span]) {
        let rows = std::mem::take(&mut self.rows);
        let checkpoints = std::mem::take(&mut self.checkpoints);
        *self = Self { rows, checkpoints, ..Self::new(&self.name, intervals) };
        self.rows.iter_mut().for_each(LossSequence::reset_counts);
    }

    /// At `now`, departures before `settled` have an outcome.
    pub(super) fn settle(&mut self, now: Instant, settled: Instant) {
        // When one capture is over, time does not advance and nothing more is settled.
        if self.checkpoints.back().is_none_or(|&(last, _)| last < now) {
            let departed = [self.rows[0].departed, self.rows[1].departed];
            self.checkpoints.push_back((now, departed));
        }
        while let Some(&(at, departed)) = self.checkpoints.front()
            && at < settled
        {
            self.checkpoints.pop_front();
            for (row, known) in self.rows.iter_mut().zip(departed) {
                row.settle(known, &mut self.runs);
            }
        }
    }

    /// Nothing more comes.
    pub(super) fn finish(&mut self) {
        for row in &mut self.rows {
            row.finish(&mut self.runs);
        }
    }
}

/// Departures and losses of a group at one tap.
#[derive(Debug, Clone, Default)]
pub(super) struct LossSequence {
    departed: u64,
    /// The last departure that does not count.
    uncounted: u64,
    /// Losses with possibly undecided neighbours: number of the departure, and connection.
    waiting: BinaryHeap<Reverse<(u64, u64)>>,
    /// The run in progress.
    run: LossRun,
}

impl LossSequence {
    /// A packet departs; returns its number.
    #[inline]
    pub(super) const fn on_departure(&mut self) -> u64 {
        self.departed += 1;
        self.departed
    }

    /// Discards all departures so far.
    pub(super) fn reset_counts(&mut self) {
        *self = Self { departed: self.departed, uncounted: self.departed, ..Self::default() };
    }

    /// A departure is lost.
    pub(super) fn lose(&mut self, ticket: u64, connection: u64) {
        if ticket <= self.uncounted {
            return;
        }
        self.waiting.push(Reverse((ticket, connection)));
    }

    /// All departures up to `known` have an outcome.
    pub(super) fn settle(&mut self, known: u64, runs: &mut LossRuns) {
        while let Some(&Reverse((ticket, connection))) = self.waiting.peek()
            && ticket <= known
        {
            self.waiting.pop();
            self.run.lose(ticket, connection, runs);
        }
        self.run.spare(known, runs);
    }

    /// Nothing more departs.
    pub(super) fn finish(&mut self, runs: &mut LossRuns) {
        self.settle(u64::MAX, runs);
        runs.packets += self.departed - self.uncounted;
    }
}

/// The layers in the order of tables.
const LAYERS: [(&str, Layers); 3] = [
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

    /// Counts a sample with the network delay `delay`.
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
    /// The smallest network delay, in nanoseconds, also before counting began.
    pub(super) smallest: u64,
    pub(super) variation: LayeredTimes,
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
    samples: &SampleLog,
    correction: &ClockCorrection,
    spill: &mut Spill,
    group: &mut GroupDelays,
) -> Option<FlowDelays> {
    // With one clock nothing is corrected.
    let mut smallest = samples.smallest.map(|delay| delay.max(0));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_have_length_and_affected_connections() {
        let (mut row, mut runs) = (LossSequence::default(), LossRuns::default());
        for _ in 0..20 {
            row.on_departure();
        }
        // A single loss; two of different connections; three, two of them of one connection.
        for (ticket, connection) in [(9, 1), (3, 1), (8, 2), (15, 4), (16, 3), (14, 4)] {
            row.lose(ticket, connection);
        }
        row.settle(8, &mut runs);
        assert_eq!(runs.losses, 1, "the run at 8 may go on");
        row.finish(&mut runs);
        let expected = LossRuns {
            packets: 20,
            losses: 6,
            in_succession: 5,
            among_connections: 5,
            within_connections: 3,
            lengths: [(1, 1), (2, 1), (3, 1)].into(),
        };
        assert_eq!(runs, expected);
    }
}
