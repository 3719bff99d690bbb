//! Loss clustering: how losses of a group come together.
//!
//! Source: the `clustering.py` of A. Petlund's and C. Griwodz' group, kept as their measure. The packets of
//! a group are a row, in the order in which they left at one tap; a *run* is a row of lost packets with
//! none in between that arrived. Of the losses it is told how many are in runs of two or more, in runs
//! that hit more than one connection, and in runs in which some connection lost more than one.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// What is known of the runs of one group.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LossRuns {
    /// Packets in the row.
    pub packets: u64,
    /// Losses.
    pub losses: u64,
    /// Losses in runs of two or more.
    pub in_succession: u64,
    /// Losses in runs that hit more than one connection.
    pub among_connections: u64,
    /// Losses in runs in which some connection lost more than one packet.
    pub within_connections: u64,
    /// Runs by their length.
    pub lengths: BTreeMap<u64, u64>,
}

/// The row of one group at one tap.
#[derive(Debug, Clone, Default)]
pub(super) struct LossRow {
    departed: u64,
    /// Losses whose neighbours may still be unknown: ticket and connection.
    waiting: BinaryHeap<Reverse<(u64, u64)>>,
    /// The run that is being made: its last ticket, and the connections that it hit.
    run: Option<(u64, Vec<u64>)>,
}

impl LossRow {
    /// A packet departs; gives its ticket.
    #[inline]
    pub(super) const fn depart(&mut self) -> u64 {
        self.departed += 1;
        self.departed
    }

    pub(super) const fn departed(&self) -> u64 {
        self.departed
    }

    /// The packet with this ticket is lost.
    pub(super) fn lose(&mut self, ticket: u64, connection: u64) {
        self.waiting.push(Reverse((ticket, connection)));
    }

    /// All packets up to the ticket `known` have a fate.
    pub(super) fn settle(&mut self, known: u64, runs: &mut LossRuns) {
        while let Some(&Reverse((ticket, connection))) = self.waiting.peek()
            && ticket <= known
        {
            self.waiting.pop();
            match &mut self.run {
                Some((last, hit)) if *last + 1 == ticket => {
                    *last = ticket;
                    hit.push(connection);
                }
                _ => {
                    self.end_run(runs);
                    self.run = Some((ticket, vec![connection]));
                }
            }
        }
        if self.run.as_ref().is_some_and(|(last, _)| *last < known) {
            self.end_run(runs);
        }
    }

    /// Nothing more departs.
    pub(super) fn finish(&mut self, runs: &mut LossRuns) {
        self.settle(u64::MAX, runs);
        runs.packets += self.departed;
    }

    fn end_run(&mut self, runs: &mut LossRuns) {
        let Some((_, mut hit)) = self.run.take() else { return };
        let length = u64::try_from(hit.len()).unwrap_or(u64::MAX);
        hit.sort_unstable();
        let is_within = hit.windows(2).any(|pair| pair[0] == pair[1]);
        let is_among = hit.first() != hit.last();
        runs.losses += length;
        runs.in_succession += if length > 1 { length } else { 0 };
        runs.among_connections += if is_among { length } else { 0 };
        runs.within_connections += if is_within { length } else { 0 };
        *runs.lengths.entry(length).or_default() += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_told_by_their_length_and_by_whom_they_hit() {
        let (mut row, mut runs) = (LossRow::default(), LossRuns::default());
        for _ in 0..20 {
            row.depart();
        }
        // One alone; two of different connections; three, two of them of one connection.
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
