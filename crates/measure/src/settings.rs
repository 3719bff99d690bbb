//! What is measured, from when to when, and how it is cut.

use crate::observation::FlowId;
use crate::points::ObservationPoints;
use crate::queue_events::QueueEventSettings;
use fairwind_units::{Instant, Span};

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
    /// Where it is watched; what only other points could tell of it is missing in tables.
    pub seen_at: ObservationPoints,
}

impl FlowDescription {
    /// The start of a flow that awaits the end of another one: later than any end. While it has this, it is in no table;
    /// [`Observation::Opened`](crate::Observation::Opened) tells when it has begun.
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
    /// itself: it keeps those that it is told.
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
        "flow {flow} (\"{name}\") answers flow {answers}, which is not an earlier flow that opens \
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
        "the warm-up of {warmup} leaves nothing to measure before the end at {end}; shorten it"
    )]
    WarmupPastEnd {
        /// The warm-up.
        warmup: Span,
        /// The end, since the clock's zero.
        end: Instant,
    },
    /// A window of no length.
    #[error("an interval of no length has no rate; give it a length above zero")]
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

    /// Whether `flow` may be the flow number `index`, as far as one flow alone tells.
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
