//! What tables tell of one flow, or of a group: taken when a flow is over, or at the end.

use crate::distribution::Times;
use crate::endpoint::Labels;
use crate::flow::{Flow, Totals};
use crate::group::GroupSum;
use crate::observation::FlowId;
use crate::points::ObservationPoints;
use crate::settings::{FlowDescription, Settings};
use crate::summary::{Percentiles, Summary};
use crate::trouble::Milestones;
use crate::trouble::Trouble;
use fairwind_units::{Instant, Span};

/// The percentiles of latencies that the columns of `flows` and `groups` show.
pub(crate) const SHOWN_PERCENTILES: [f64; 2] = [50.0, 99.0];

/// The percentiles of latencies that some table shows.
pub(crate) fn latency_percentiles(settings: &Settings) -> Percentiles {
    Percentiles::new(settings.percentiles.iter().copied().chain(SHOWN_PERCENTILES))
}

/// The latencies of a row.
#[derive(Debug, Clone)]
pub(crate) struct Latencies {
    pub(crate) ack: Summary,
    pub(crate) delivery: Summary,
    pub(crate) response: Summary,
}

impl Latencies {
    fn of([ack, delivery, response]: [&Times; 3], percentiles: &Percentiles) -> Self {
        Self {
            ack: Summary::of(ack, percentiles),
            delivery: Summary::of(delivery, percentiles),
            response: Summary::of(response, percentiles),
        }
    }
}

/// A row of the measures that flows and groups share.
pub(crate) trait Measured {
    fn totals(&self) -> &Totals;

    /// Totals of flows watched at both hosts.
    fn totals_at_both_hosts(&self) -> &Totals;

    fn latencies(&self) -> &Latencies;

    /// Whether what these points tell is known.
    fn knows(&self, points: ObservationPoints) -> bool;
}

/// One flow.
#[derive(Debug, Clone)]
pub(crate) struct FlowRow {
    /// Its number in tables.
    pub(crate) number: u64,
    pub(crate) description: FlowDescription,
    pub(crate) milestones: Milestones,
    pub(crate) trouble: Trouble,
    totals: Totals,
    latencies: Latencies,
}

impl FlowRow {
    /// As it is `now`.
    pub(crate) fn of(
        number: u64,
        description: FlowDescription,
        flow: &Flow,
        now: Instant,
        percentiles: &Percentiles,
    ) -> Self {
        let trouble = flow.trouble(description.start, now);
        let times = [flow.ack_latency(), flow.delivery_latency(), flow.response_time()];
        Self {
            number,
            description,
            milestones: flow.milestones,
            trouble,
            totals: *flow.totals(),
            latencies: Latencies::of(times, percentiles),
        }
    }

    pub(crate) fn setup_time(&self) -> Option<Span> {
        let established = self.milestones.established;
        established.map(|at| at.saturating_since(self.description.start))
    }

    pub(crate) fn completion_time(&self) -> Option<Span> {
        self.milestones.finished.map(|at| at.saturating_since(self.description.start))
    }
}

impl Measured for FlowRow {
    fn totals(&self) -> &Totals {
        &self.totals
    }

    fn totals_at_both_hosts(&self) -> &Totals {
        &self.totals
    }

    fn latencies(&self) -> &Latencies {
        &self.latencies
    }

    fn knows(&self, points: ObservationPoints) -> bool {
        self.description.seen_at.contains(points)
    }
}

/// One group.
#[derive(Debug, Clone)]
pub(crate) struct GroupRow<'a> {
    pub(crate) name: &'a str,
    pub(crate) sum: &'a GroupSum,
    latencies: Latencies,
}

impl<'a> GroupRow<'a> {
    pub(crate) fn of(name: &'a str, sum: &'a GroupSum, percentiles: &Percentiles) -> Self {
        let times = [&sum.ack_latency, &sum.delivery_latency, &sum.response_time];
        Self { name, sum, latencies: Latencies::of(times, percentiles) }
    }
}

impl Measured for GroupRow<'_> {
    fn totals(&self) -> &Totals {
        &self.sum.totals
    }

    fn totals_at_both_hosts(&self) -> &Totals {
        &self.sum.totals_at_both_hosts
    }

    fn latencies(&self) -> &Latencies {
        &self.latencies
    }

    fn knows(&self, points: ObservationPoints) -> bool {
        self.sum.watched.knows(points)
    }
}

/// What is kept of retired flows.
#[derive(Debug, Clone)]
pub(crate) struct Retired {
    /// Of each group the sum of its flows that are retired.
    pub(crate) groups: Vec<GroupSum>,
    /// Flows whose rows nobody has yet.
    pub(crate) rows: Vec<FlowRow>,
    /// Names for the samples that nobody has yet.
    pub(crate) labels: Labels,
    /// Places of retired flows that serve no other yet.
    pub(crate) free: Vec<FlowId>,
    /// How many flows there were, which is the next one's number.
    flows: u64,
}

impl Retired {
    /// Of no flows yet.
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            groups: settings.groups.iter().map(|_| GroupSum::new()).collect(),
            rows: Vec::new(),
            labels: Labels::new(),
            free: Vec::new(),
            flows: u64::try_from(settings.flows.len()).unwrap_or(u64::MAX),
        }
    }

    /// The number in tables of one more flow.
    pub(crate) const fn next_number(&mut self) -> u64 {
        self.flows += 1;
        self.flows - 1
    }

    /// The number that the next flow will have, for messages.
    pub(crate) fn coming_number(&self) -> usize {
        usize::try_from(self.flows).unwrap_or(usize::MAX)
    }

    /// The place of a retired flow, for another one.
    pub(crate) fn reused_place(&mut self) -> Option<FlowId> {
        self.free.pop()
    }
}
