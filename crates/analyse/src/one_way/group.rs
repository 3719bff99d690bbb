//! What is kept of a group of connections: sums of those that are closed, and series.

use super::clustering::LossRow;
use super::counts::OneWayCounts;
use super::delays::GroupDelays;
use super::first::FirstArrivals;
use super::timeline::Timeline;
use super::windows::LossWindow;
use fairwind_measure::LossRuns;
use fairwind_units::{Instant, Span};
use std::collections::VecDeque;

/// One group.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) name: String,
    pub(super) counts: OneWayCounts,
    pub(super) first: FirstArrivals,
    pub(super) loss_series: Vec<Timeline<LossWindow>>,
    /// What departed at the sender's tap, and at the receiver's.
    pub(super) rows: [LossRow; 2],
    pub(super) runs: LossRuns,
    pub(super) delays: GroupDelays,
    /// How far the rows had come at instants not yet settled.
    checkpoints: VecDeque<(Instant, [u64; 2])>,
}

impl Group {
    pub(super) fn new(name: &str, intervals: &[Span]) -> Self {
        Self {
            name: name.to_owned(),
            counts: OneWayCounts::default(),
            first: FirstArrivals::default(),
            loss_series: intervals.iter().map(|&length| Timeline::new(length)).collect(),
            rows: [LossRow::default(), LossRow::default()],
            runs: LossRuns::default(),
            delays: GroupDelays::new(intervals),
            checkpoints: VecDeque::new(),
        }
    }

    /// Forgets what was counted.
    pub(super) fn reset_counts(&mut self, intervals: &[Span]) {
        let rows = std::mem::take(&mut self.rows);
        let checkpoints = std::mem::take(&mut self.checkpoints);
        *self = Self { rows, checkpoints, ..Self::new(&self.name, intervals) };
        self.rows.iter_mut().for_each(LossRow::reset_counts);
    }

    /// At `now`, everything that departed before `settled` has a fate.
    pub(super) fn settle(&mut self, now: Instant, settled: Instant) {
        // Where time does not go on, since one capture is over, nothing more is settled.
        if self.checkpoints.back().is_none_or(|&(last, _)| last < now) {
            let departed = [self.rows[0].departed(), self.rows[1].departed()];
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
