//! Loss clustering: how losses come together.
//!
//! Source: the measure of the group around A. Petlund and C. Griwodz, as its own evaluation defines it. The
//! packets of a group of connections are a row; a *run* is a row of lost packets with none in between that
//! was spared. Of the losses it is told how many are in runs of two or more, in runs that hit more than one
//! connection, and in runs in which some connection lost more than one.
//!
//! Who makes the row decides where the packets stand in it: the order in which they came to a queue, or in
//! which they left at a tap.
//!
//! Cost: nothing for a packet that is spared; a short list for a run that is being made.

use std::collections::BTreeMap;

/// What is known of runs that are over.
///
/// ```
/// use fairwind_measure::{LossRun, LossRuns};
///
/// let (mut run, mut runs) = (LossRun::default(), LossRuns::default());
/// // The third and the fourth packet of a row, of two connections, and the ninth.
/// for (place, connection) in [(3, 1), (4, 2), (9, 1)] {
///     run.lose(place, connection, &mut runs);
/// }
/// run.end(&mut runs);
/// assert_eq!((runs.losses, runs.in_succession, runs.among_connections), (3, 2, 2));
/// assert_eq!(runs.lengths, [(1, 1), (2, 1)].into());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LossRuns {
    /// Packets in the row, as far as whoever makes it has counted them here.
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

/// A run that may go on.
#[derive(Debug, Clone, Default)]
pub struct LossRun {
    /// Place of its last packet in the row.
    last: u64,
    /// For each of its losses the connection that was hit.
    hit: Vec<u64>,
}

impl LossRun {
    /// The packet at `place` of the row, counted from 1, was lost, and was of `connection`. Losses come in
    /// the order of their places; one that does not follow the last one begins another run.
    pub fn lose(&mut self, place: u64, connection: u64, runs: &mut LossRuns) {
        if self.last + 1 != place {
            self.end(runs);
        }
        self.last = place;
        self.hit.push(connection);
    }

    /// The packet at `place` was spared, or will be if it comes: a run that ends before it is over.
    pub fn spare(&mut self, place: u64, runs: &mut LossRuns) {
        if self.last < place {
            self.end(runs);
        }
    }

    /// The run is over, if there is one.
    pub fn end(&mut self, runs: &mut LossRuns) {
        let (Some(first), length) = (self.hit.first(), self.hit.len()) else { return };
        let is_among = self.hit.iter().any(|connection| connection != first);
        self.hit.sort_unstable();
        let is_within = self.hit.windows(2).any(|pair| pair[0] == pair[1]);
        let length = u64::try_from(length).unwrap_or(u64::MAX);
        runs.losses += length;
        runs.in_succession += if length > 1 { length } else { 0 };
        runs.among_connections += if is_among { length } else { 0 };
        runs.within_connections += if is_within { length } else { 0 };
        *runs.lengths.entry(length).or_default() += 1;
        self.hit.clear();
    }
}
