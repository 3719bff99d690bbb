//! Rows of tables: flows, groups and retired flows.

use crate::distribution::Times;
use crate::distribution::{Percentiles, Summary};
use crate::flow::{Flow, FlowProblems, Milestones, ProblemCounts, Totals};
use crate::formula::Shares;
use crate::observation::{CongestionState, FlowId};
use crate::settings::{FlowDescription, ObservationPoints, ObservedCounts, Settings};
use fairwind_units::{Instant, Span};
use std::collections::BTreeMap;

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

    /// Whether measures of these points are known.
    fn knows(&self, points: ObservationPoints) -> bool;
}

/// One flow.
#[derive(Debug, Clone)]
pub(crate) struct FlowRow {
    /// Its number in tables.
    pub(crate) number: u64,
    pub(crate) description: FlowDescription,
    pub(crate) milestones: Milestones,
    pub(crate) problems: FlowProblems,
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
        let problems = flow.problems(description.start, now);
        let times = [&flow.ack_latency, &flow.delivery_latency, &flow.response_time];
        Self {
            number,
            description,
            milestones: flow.milestones,
            problems,
            totals: flow.totals,
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

/// Summary of retired flows.
#[derive(Debug, Clone)]
pub(crate) struct Retired {
    /// Of each group the sum of its flows that are retired.
    pub(crate) groups: Vec<GroupSum>,
    /// Flows with rows that were not taken yet.
    pub(crate) rows: Vec<FlowRow>,
    /// Names for the samples that were not taken yet.
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
}

/// The sum over some flows.
///
/// Whole numbers only, so that it does not matter in which order flows are added.
#[derive(Debug, Clone)]
pub(crate) struct GroupSum {
    pub(crate) watched: ObservedCounts,
    pub(crate) established: u64,
    pub(crate) finished: u64,
    pub(crate) failed: u64,
    /// Sum of the set-up times of established flows, in nanoseconds.
    pub(crate) setup_nanos: u128,
    pub(crate) problem_counts: ProblemCounts,
    pub(crate) totals: Totals,
    /// Of flows watched at both hosts only: what a loss is a share of.
    pub(crate) totals_at_both_hosts: Totals,
    pub(crate) ack_latency: Times,
    pub(crate) delivery_latency: Times,
    pub(crate) response_time: Times,
    /// The bytes that the reader of each flow read.
    pub(crate) bytes_read: Shares,
}

impl GroupSum {
    /// Of no flows yet.
    pub(crate) fn new() -> Self {
        Self {
            watched: ObservedCounts::default(),
            established: 0,
            finished: 0,
            failed: 0,
            setup_nanos: 0,
            problem_counts: ProblemCounts::default(),
            totals: Totals::default(),
            totals_at_both_hosts: Totals::default(),
            ack_latency: Times::new(),
            delivery_latency: Times::new(),
            response_time: Times::new(),
            bytes_read: Shares::default(),
        }
    }

    /// Adds a flow as it is `now`.
    pub(crate) fn add(&mut self, description: &FlowDescription, flow: &Flow, now: Instant) {
        let stages = &flow.milestones;
        self.watched.add(description.seen_at);
        self.established += u64::from(stages.established.is_some());
        self.finished += u64::from(stages.finished.is_some());
        self.failed += u64::from(stages.failed.is_some());
        let setup_time = stages.established.map(|at| at.saturating_since(description.start));
        if description.seen_at.contains(ObservationPoints::SENDER) {
            self.problem_counts.add(&flow.problems(description.start, now));
        }
        self.setup_nanos += setup_time.map_or(0, |time| u128::from(time.as_nanos()));
        self.totals.add(&flow.totals);
        if description.seen_at.contains(ObservationPoints::HOSTS) {
            self.totals_at_both_hosts.add(&flow.totals);
        }
        self.ack_latency.add(&flow.ack_latency);
        self.delivery_latency.add(&flow.delivery_latency);
        self.response_time.add(&flow.response_time);
        if description.seen_at.contains(ObservationPoints::READER) {
            self.bytes_read.add(flow.totals.payload_bytes_read);
        }
    }
}

/// What the flows of samples are called, by their numbers in tables.
pub(crate) type Labels = BTreeMap<u64, FlowDescription>;

/// One sample of a data sender's state.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EndpointSample {
    pub(crate) at: Instant,
    /// The flow's number in tables.
    pub(crate) flow: u64,
    pub(crate) cwnd_packets: u32,
    pub(crate) ssthresh_packets: Option<u32>,
    pub(crate) smoothed_rtt: Option<Span>,
    pub(crate) flight_packets: u32,
    pub(crate) state: CongestionState,
}
