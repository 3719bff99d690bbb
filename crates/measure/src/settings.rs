//! Settings of measures: flows, groups, queues, times and windows; and the points of observation.

use crate::observation::FlowId;
use crate::queue_series::QueueEventSettings;
use fairwind_units::{Instant, Span};
use std::ops::BitOr;

/// One flow, as it is named in tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowDescription {
    /// Its group: an index into [`Settings::groups`].
    pub group: u32,
    /// Its name.
    pub name: String,
    /// When its application opens it; set-up and completion time count from here. [`Self::START_PENDING`] where that is not
    /// known yet.
    pub start: Instant,
    /// On a connection with data both ways, the flow that opened it and that this one answers;
    /// `None` for the flow of the side that opened the connection.
    pub answers: Option<FlowId>,
    /// Where it is observed; measures that need other points are missing in tables.
    pub seen_at: ObservationPoints,
}

impl FlowDescription {
    /// The start of a flow that awaits the end of another one: later than any end. While it has this, it is in no table;
    /// [`Observation::Opened`](crate::Observation::Opened) reports when it has begun.
    pub const START_PENDING: Instant = Instant::from_nanos(u64::MAX - 1);

    /// The place of the flow's group in lists of groups.
    pub(crate) fn group_index(&self) -> usize {
        usize::try_from(self.group).expect("the check compared it with a length")
    }
}

/// What a [`Collector`](crate::Collector) measures.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Names of the groups of flows.
    pub groups: Vec<String>,
    /// The flows; a [`FlowId`](crate::FlowId) is an index into them.
    pub flows: Vec<FlowDescription>,
    /// Names of the queues; a [`QueueId`](crate::QueueId) is an index into them.
    pub queues: Vec<String>,
    /// When the experiment begins. Times in tables are seconds since then. [`Instant::ZERO`] in
    /// virtual time, the first packet's instant for a capture.
    pub origin: Instant,
    /// How long after the origin nothing counts yet, though state is already followed.
    pub warmup: Span,
    /// When counting stops: an observation at this instant, or later, is ignored.
    /// [`Instant::MAX`] leaves the end to [`Collector::finish`](crate::Collector::finish).
    pub end: Instant,
    /// Window lengths of the series in the table `intervals`, each its own series from the end of the
    /// warm-up on.
    pub intervals: Vec<Span>,
    /// The allowance of rows for windows in which nothing at all happens, see [`EmptyRowBudget`](crate::EmptyRowBudget):
    /// a clock that leaps must not make millions of them. `None` keeps all.
    pub max_empty_rows: Option<u64>,
    /// Whether the series are kept for each flow, and not for each group only.
    pub per_flow_intervals: bool,
    /// Percentiles in the table `latencies`, above 0 and up to 100.
    pub percentiles: Vec<f64>,
    /// Whether samples of endpoints are tabulated, in the table `endpoint`. The collector takes none by
    /// itself: it keeps those that are reported.
    pub keeps_endpoint_samples: bool,
    /// Length of the windows that the table `queue_intervals` has of every queue, from the end of the warm-up on;
    /// none unless said.
    pub queue_interval: Option<Span>,
    /// Which events of queues are tabulated, in the table `queue_events`; none unless said.
    pub queue_events: Option<QueueEventSettings>,
}

impl Default for Settings {
    /// Nothing to measure, without warm-up, end or series; the usual percentiles.
    fn default() -> Self {
        Self {
            groups: Vec::new(),
            flows: Vec::new(),
            queues: Vec::new(),
            origin: Instant::ZERO,
            warmup: Span::ZERO,
            end: Instant::MAX,
            intervals: Vec::new(),
            max_empty_rows: None,
            per_flow_intervals: false,
            percentiles: vec![1.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9],
            keeps_endpoint_samples: false,
            queue_interval: None,
            queue_events: None,
        }
    }
}

/// Why settings cannot be measured by.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// A flow's group is not in the list.
    #[error("flow {flow} (\"{name}\") is in group {group}, but only {groups} groups are named")]
    UnknownGroup {
        /// Index of the flow.
        flow: usize,
        /// The flow's name.
        name: String,
        /// The group that it names.
        group: u32,
        /// How many there are.
        groups: usize,
    },
    /// A flow answers one that is not there before it, or that is an answer itself.
    #[error(
        "flow {flow} (\"{name}\") answers flow {answers}, which must be an earlier flow that opens \
         a connection"
    )]
    NothingToAnswer {
        /// Index of the flow.
        flow: usize,
        /// The flow's name.
        name: String,
        /// The flow that it names.
        answers: u32,
    },
    /// Two flows answer the same one.
    #[error("flow {flow} (\"{name}\") answers flow {answers}, which has an answer already")]
    AnsweredTwice {
        /// Index of the flow.
        flow: usize,
        /// The flow's name.
        name: String,
        /// The flow that it names.
        answers: u32,
    },
    /// Nothing is left to measure.
    #[error(
        "the warm-up of {warmup} leaves no time to measure before the end at {end}; shorten it"
    )]
    WarmupPastEnd {
        /// The warm-up.
        warmup: Span,
        /// The end, since the clock's zero.
        end: Instant,
    },
    /// A window of no length.
    #[error("an interval of length zero has no rate; give it a length above zero")]
    EmptyInterval,
    /// The same length twice.
    #[error("the interval {0} is named twice; name each length once")]
    RepeatedInterval(Span),
    /// Not a percentile.
    #[error("{0} is not a percentile; give a number above 0 and up to 100")]
    Percentile(f64),
    /// The same percentile twice.
    #[error("the percentile {0} is named twice; name each once")]
    RepeatedPercentile(f64),
}

impl Settings {
    /// When counting begins.
    pub fn measured_from(&self) -> Instant {
        self.origin + self.warmup
    }

    /// Whether these settings can be measured by.
    ///
    /// # Errors
    /// The first rule that they break.
    pub fn check(&self) -> Result<(), SettingsError> {
        self.check_flows()?;
        if self.measured_from() >= self.end {
            return Err(SettingsError::WarmupPastEnd { warmup: self.warmup, end: self.end });
        }
        if self.queue_interval.is_some_and(Span::is_zero) {
            return Err(SettingsError::EmptyInterval);
        }
        for (index, length) in self.intervals.iter().enumerate() {
            if length.is_zero() {
                return Err(SettingsError::EmptyInterval);
            }
            if self.intervals[..index].contains(length) {
                return Err(SettingsError::RepeatedInterval(*length));
            }
        }
        for (index, percentile) in self.percentiles.iter().enumerate() {
            if !(*percentile > 0.0 && *percentile <= 100.0) {
                return Err(SettingsError::Percentile(*percentile));
            }
            if self.percentiles[..index].contains(percentile) {
                return Err(SettingsError::RepeatedPercentile(*percentile));
            }
        }
        Ok(())
    }

    fn check_flows(&self) -> Result<(), SettingsError> {
        let mut is_answered = vec![false; self.flows.len()];
        for (index, flow) in self.flows.iter().enumerate() {
            self.check_flow(index, flow)?;
            let Some(answered) = flow.answers else { continue };
            if std::mem::replace(&mut is_answered[answered.index()], true) {
                let name = flow.name.clone();
                return Err(SettingsError::AnsweredTwice {
                    flow: index,
                    name,
                    answers: answered.0,
                });
            }
        }
        Ok(())
    }

    /// Whether there is the group of `flow`, which is the flow number `index`.
    pub(crate) fn check_group(
        &self,
        index: usize,
        flow: &FlowDescription,
    ) -> Result<(), SettingsError> {
        let groups = self.groups.len();
        if usize::try_from(flow.group).is_ok_and(|group| group < groups) {
            return Ok(());
        }
        let (name, group) = (flow.name.clone(), flow.group);
        Err(SettingsError::UnknownGroup { flow: index, name, group, groups })
    }

    /// Whether `flow` may be the flow number `index`, as far as one flow alone shows.
    fn check_flow(&self, index: usize, flow: &FlowDescription) -> Result<(), SettingsError> {
        self.check_group(index, flow)?;
        match flow.answers {
            Some(answered)
                if answered.index() >= index || self.flows[answered.index()].answers.is_some() =>
            {
                let name = flow.name.clone();
                Err(SettingsError::NothingToAnswer { flow: index, name, answers: answered.0 })
            }
            _ => Ok(()),
        }
    }
}

/// Points at which a flow is observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ObservationPoints(u8);

impl ObservationPoints {
    /// Nowhere.
    pub const NOWHERE: Self = Self(0);
    /// The data sender's host: what leaves it, what reaches it, and what its endpoint does.
    pub const SENDER: Self = Self(1 | Self::CONNECTION.0);
    /// The receiver's host: packets that reach it, and packets that leave it. Losses are known where both
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
    /// or given up, and the measures of that are missing.
    pub const DATAGRAMS: Self = Self(Self::ALL & !Self::CONNECTION.0);

    /// There is a connection, and one of its hosts is observed.
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
pub(crate) struct ObservedCounts([u64; ObservationPoints::SETS]);

impl ObservedCounts {
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

    /// Whether measures that need these points are known: of some flow, or of all if there are none.
    pub(crate) fn knows(&self, points: ObservationPoints) -> bool {
        self.flows_at(points) > 0 || self.flows() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_need_both_hosts() {
        let mut watched = ObservedCounts::one(ObservationPoints::SENDER);
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
    fn datagram_flows_have_no_connection_measures() {
        let mut watched = ObservedCounts::one(ObservationPoints::DATAGRAMS);
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
    fn empty_group_has_known_values() {
        assert!(ObservedCounts::default().knows(ObservationPoints::EVERYWHERE));
    }
}
