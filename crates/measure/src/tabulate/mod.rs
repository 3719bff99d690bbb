//! From what was counted to tables, one file per concern.

mod endpoint;
mod fairness;
mod intervals;
mod latencies;
mod lateness;
mod queues;
mod summary;
mod totals;

pub(crate) use lateness::lateness_table;

use crate::endpoint::EndpointSample;
use crate::flow::Flow;
use crate::interval::{Scopes, Series};
use crate::queue::Queue;
use crate::settings::{FlowDescription, Settings};
use crate::table::Tables;
use fairwind_units::{Instant, Span};

/// Everything that was counted.
pub(crate) struct Measurement<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) flows: &'a [Flow],
    pub(crate) queues: &'a [Queue],
    pub(crate) series: &'a [Series],
    /// Whose the columns of these are.
    pub(crate) scopes: &'a Scopes,
    pub(crate) endpoint_samples: &'a [EndpointSample],
    /// From the end of the warm-up to the end.
    pub(crate) measured: Span,
}

/// All tables, in their fixed order.
pub(crate) fn tables(measurement: &Measurement<'_>) -> Tables {
    let percentiles = latencies::percentiles(measurement.settings);
    let flows = totals::flow_rows(measurement, &percentiles);
    let groups = totals::group_rows(measurement, &percentiles);
    Tables {
        tables: vec![
            totals::flows_table(&flows, &percentiles),
            totals::groups_table(&groups, &percentiles),
            intervals::intervals_table(measurement),
            latencies::latencies_table(measurement, &groups, &flows, &percentiles),
            latencies::histogram_table(&groups),
            queues::queues_table(measurement),
            queues::drops_table(measurement),
            fairness::fairness_table(measurement),
            endpoint::endpoint_table(measurement),
        ],
    }
}

impl<'a> Measurement<'a> {
    /// The flows' descriptions with what was counted of them, in the order of their ids.
    fn described_flows(&self) -> impl Iterator<Item = (&'a FlowDescription, &'a Flow)> {
        self.settings.flows.iter().zip(self.flows)
    }

    /// Name of the group of `flow`.
    fn group_name(&self, flow: &FlowDescription) -> &'a str {
        &self.settings.groups[group_index(flow)]
    }

    /// Seconds from the origin to `at`.
    fn seconds_at(&self, at: Instant) -> f64 {
        at.saturating_since(self.settings.origin).as_secs_f64()
    }

    /// Every group as a scope.
    fn group_scopes(&self) -> Vec<Scope<'a>> {
        let scope = |name: &'a String| Scope { kind: "group", flow: None, name, group: name };
        self.settings.groups.iter().map(scope).collect()
    }

    /// Every flow as a scope.
    fn flow_scopes(&self) -> Vec<Scope<'a>> {
        let scope = |(id, flow): (u64, &'a FlowDescription)| Scope {
            kind: "flow",
            flow: Some(id),
            name: &flow.name,
            group: self.group_name(flow),
        };
        (0..).zip(&self.settings.flows).map(scope).collect()
    }
}

/// The place of a flow's group in lists of groups.
fn group_index(flow: &FlowDescription) -> usize {
    usize::try_from(flow.group).expect("settings are checked before anything is counted")
}

/// What a row is about, where a table holds both groups and flows.
#[derive(Clone, Copy)]
struct Scope<'a> {
    kind: &'static str,
    flow: Option<u64>,
    name: &'a str,
    group: &'a str,
}
