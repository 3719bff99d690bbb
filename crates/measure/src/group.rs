//! What is known of a group: sums over its flows, each added once.

use crate::distribution::Times;
use crate::fairness::Shares;
use crate::flow::{Flow, Totals};
use crate::points::{ObservationPoints, Watched};
use crate::settings::FlowDescription;
use crate::trouble::Troubled;
use fairwind_units::Instant;

/// The sum over some flows.
///
/// Whole numbers only, so that it does not matter in which order flows are added.
#[derive(Debug, Clone)]
pub(crate) struct GroupSum {
    pub(crate) watched: Watched,
    pub(crate) established: u64,
    pub(crate) finished: u64,
    pub(crate) failed: u64,
    /// Sum of the set-up times of established flows, in nanoseconds.
    pub(crate) setup_nanos: u128,
    pub(crate) troubled: Troubled,
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
            watched: Watched::default(),
            established: 0,
            finished: 0,
            failed: 0,
            setup_nanos: 0,
            troubled: Troubled::default(),
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
            self.troubled.add(&flow.trouble(description.start, now));
        }
        self.setup_nanos += setup_time.map_or(0, |time| u128::from(time.as_nanos()));
        self.totals.add(flow.totals());
        if description.seen_at.contains(ObservationPoints::HOSTS) {
            self.totals_at_both_hosts.add(flow.totals());
        }
        self.ack_latency.add(flow.ack_latency());
        self.delivery_latency.add(flow.delivery_latency());
        self.response_time.add(flow.response_time());
        if description.seen_at.contains(ObservationPoints::READER) {
            self.bytes_read.add(flow.totals().payload_bytes_read);
        }
    }
}
