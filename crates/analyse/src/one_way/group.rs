//! Sums and series of a group of connections, and its loss runs.
//!
//! Departures of the group at a tap are numbered in their order. Losses are found later and in any order;
//! [`LossRuns`] defines their runs.

use super::counts::{FirstArrivals, LossWindow, OneWayCounts, Timeline};
use super::delays::GroupDelays;
use fairwind_measure::{LossRun, LossRuns};
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

/// Departures and losses of a group at one tap.
#[derive(Debug, Clone, Default)]
pub(super) struct LossSequence {
    departed: u64,
    /// The last departure that does not count.
    uncounted: u64,
    /// Losses whose neighbours may be undecided: number of the departure, and connection.
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

    pub(super) const fn departed(&self) -> u64 {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_told_by_their_length_and_by_whom_they_hit() {
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
