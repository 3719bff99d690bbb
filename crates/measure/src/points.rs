//! Where a flow is watched, and so what can be known of it.
//!
//! An engine sees a flow everywhere. A capture sees it at its sender's host, at its receiver's or at both,
//! and no application. What nobody could see is missing in tables; it is not 0.

use std::ops::BitOr;

/// Points of a flow at which somebody watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ObservationPoints(u8);

impl ObservationPoints {
    /// Nowhere.
    pub const NOWHERE: Self = Self(0);
    /// The data sender's host: what leaves it, what reaches it, and what its endpoint does.
    pub const SENDER: Self = Self(1 | Self::CONNECTION.0);
    /// The receiver's host: what reaches it, and what leaves it. What was lost is known where both
    /// hosts are watched.
    pub const RECEIVER: Self = Self((1 << 1) | Self::CONNECTION.0);
    /// The application that writes the data.
    pub const WRITER: Self = Self(1 << 2);
    /// The application that reads the data, or whatever stands for it. Delivery latency and response
    /// time are known where both applications are watched.
    pub const READER: Self = Self(1 << 3);
    /// All of them.
    pub const EVERYWHERE: Self = Self(Self::ALL);
    /// All of them, of a stream of datagrams: there is no connection, so nothing is acknowledged, repeated
    /// or given up, and what would be told of that is missing.
    pub const DATAGRAMS: Self = Self(Self::ALL & !Self::CONNECTION.0);

    /// There is a connection, of which a host that is watched tells.
    pub(crate) const CONNECTION: Self = Self(1 << 4);
    /// What leaves the data sender's host.
    pub(crate) const LEAVING: Self = Self(1);
    /// What reaches the receiver's host.
    pub(crate) const ARRIVING: Self = Self(1 << 1);
    /// Both hosts.
    pub(crate) const HOSTS: Self = Self(Self::LEAVING.0 | Self::ARRIVING.0);
    /// Both hosts of a connection.
    pub(crate) const ENDPOINTS: Self = Self(Self::HOSTS.0 | Self::CONNECTION.0);
    /// Both applications.
    pub(crate) const APPLICATIONS: Self = Self(Self::WRITER.0 | Self::READER.0);

    const ALL: u8 = 0b1_1111;
    /// How many sets of points there are.
    const SETS: usize = 1 << 5;

    /// Whether all points of `others` are among these.
    pub const fn contains(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    /// Place in lists by sets of points.
    fn index(self) -> usize {
        usize::from(self.0 & Self::ALL)
    }
}

impl Default for ObservationPoints {
    /// Everywhere.
    fn default() -> Self {
        Self::EVERYWHERE
    }
}

impl BitOr for ObservationPoints {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// How many flows are watched at which points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Watched([u64; ObservationPoints::SETS]);

impl Watched {
    /// One flow.
    pub(crate) fn one(points: ObservationPoints) -> Self {
        let mut watched = Self::default();
        watched.add(points);
        watched
    }

    /// Counts one more flow.
    pub(crate) fn add(&mut self, points: ObservationPoints) {
        self.0[points.index()] += 1;
    }

    /// How many flows there are.
    pub(crate) fn flows(&self) -> u64 {
        self.0.iter().sum()
    }

    /// How many of them are watched at all of these points.
    pub(crate) fn flows_at(&self, points: ObservationPoints) -> u64 {
        let sets = (0..=ObservationPoints::ALL).map(ObservationPoints).zip(&self.0);
        sets.filter(|(set, _)| set.contains(points)).map(|(_, flows)| flows).sum()
    }

    /// Whether what only these points tell is known: of some flow, or of all where there are none.
    pub(crate) fn knows(&self, points: ObservationPoints) -> bool {
        self.flows_at(points) > 0 || self.flows() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_known_of_flows_that_are_watched_at_both_hosts() {
        let mut watched = Watched::one(ObservationPoints::SENDER);
        watched.add(ObservationPoints::RECEIVER | ObservationPoints::READER);
        assert!(
            watched.knows(ObservationPoints::SENDER) && watched.knows(ObservationPoints::RECEIVER)
        );
        assert!(
            !watched.knows(ObservationPoints::HOSTS)
                && !watched.knows(ObservationPoints::APPLICATIONS)
        );
        watched.add(ObservationPoints::EVERYWHERE);
        assert!(watched.knows(ObservationPoints::HOSTS));
        assert_eq!((watched.flows(), watched.flows_at(ObservationPoints::RECEIVER)), (3, 2));
    }

    #[test]
    fn of_datagrams_packets_are_known_and_nothing_of_a_connection() {
        let mut watched = Watched::one(ObservationPoints::DATAGRAMS);
        assert!(
            watched.knows(ObservationPoints::HOSTS)
                && watched.knows(ObservationPoints::APPLICATIONS)
        );
        assert!(
            !watched.knows(ObservationPoints::SENDER)
                && !watched.knows(ObservationPoints::RECEIVER)
        );
        assert!(!watched.knows(ObservationPoints::ENDPOINTS));
        watched.add(ObservationPoints::SENDER);
        assert!(
            watched.knows(ObservationPoints::SENDER)
                && !watched.knows(ObservationPoints::ENDPOINTS)
        );
    }

    #[test]
    fn of_no_flows_everything_is_known() {
        assert!(Watched::default().knows(ObservationPoints::EVERYWHERE));
    }
}
