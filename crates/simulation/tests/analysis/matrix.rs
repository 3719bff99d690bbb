//! Confusion matrix of retransmission causes.

use crate::conversation::Outcome;
use fairwind_analyse::stream::{Cause, SegmentKind};
use std::collections::BTreeMap;
use std::fmt;

/// Repetitions by the endpoint's cause and the stream's. The endpoint does not tell a time-out's own
/// segment from those that follow it: both stand as what follows.
#[derive(Debug, Default)]
pub(crate) struct Matrix {
    cells: BTreeMap<(&'static str, &'static str), u64>,
    /// Time-outs that occurred, and that the stream reported.
    timeouts: (u64, u64),
    /// Fast recoveries, likewise.
    fast_retransmits: (u64, u64),
}

impl Matrix {
    pub(crate) fn add(&mut self, outcome: &Outcome) {
        for repetition in &outcome.repetitions {
            let classified = match repetition.verdict {
                SegmentKind::Retransmission(classified) if classified.cause == Cause::Timeout => {
                    Cause::AfterTimeout.name()
                }
                SegmentKind::Retransmission(classified) => classified.cause.name(),
                _ => "no repetition",
            };
            *self.cells.entry((repetition.truth.name(), classified)).or_default() += 1;
        }
        self.timeouts.0 += outcome.timeouts;
        self.timeouts.1 += outcome.timeouts_told;
        self.fast_retransmits.0 += outcome.fast_retransmits;
        self.fast_retransmits.1 += outcome.fast_retransmits_told;
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (&cell, count) in &other.cells {
            *self.cells.entry(cell).or_default() += count;
        }
        self.timeouts.0 += other.timeouts.0;
        self.timeouts.1 += other.timeouts.1;
        self.fast_retransmits.0 += other.fast_retransmits.0;
        self.fast_retransmits.1 += other.fast_retransmits.1;
    }

    /// The share of a cause's retransmissions that were classified correctly.
    pub(crate) fn right_share(&self, cause: Cause) -> f64 {
        let of_cause = |(&(truth, _), &count): (&(&str, _), &u64)| {
            if truth == cause.name() { count } else { 0 }
        };
        let all: u64 = self.cells.iter().map(of_cause).sum();
        let right = self.cells.get(&(cause.name(), cause.name())).copied().unwrap_or(0);
        real(right) / real(all.max(1))
    }

    /// By how much the number of time-outs is wrong, as a share of it.
    pub(crate) fn timeout_error(&self) -> f64 {
        let (there_were, classified) = self.timeouts;
        (real(classified) / real(there_were.max(1)) - 1.0).abs()
    }
}

fn real(count: u64) -> f64 {
    f64::from(u32::try_from(count).expect("a test counts few"))
}

impl fmt::Display for Matrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for ((truth, classified), count) in &self.cells {
            write!(f, "{truth} classified as {classified}: {count}, ")?;
        }
        let ((timeouts, classified), (fast, fast_classified)) =
            (self.timeouts, self.fast_retransmits);
        write!(
            f,
            "time-outs {timeouts} classified {classified}, fast {fast} classified {fast_classified}"
        )
    }
}
