//! Tables of a collector, with the definitions of their columns.

mod flows;
mod queues;
mod windows;

use crate::distribution::Percentiles;
use crate::engine_tables;
use crate::flow::Flow;
use crate::queue::Queue;
use crate::queue_series::{QueueEvents, QueueSeries, SlotBook};
use crate::rows::{EndpointSample, FlowRow, GroupRow, GroupSum, Labels};
use crate::settings::{FlowDescription, Settings};
use crate::table::{ColumnDefinition, TableDefinition, Tables, define};
use fairwind_units::{Instant, Span};
use std::sync::LazyLock;
pub(crate) use windows::{Windows, queue_events_table};

/// What every table rests on.
#[derive(Clone, Copy)]
pub(crate) struct Basis<'a> {
    pub(crate) settings: &'a Settings,
    /// Those that summaries were taken with.
    pub(crate) percentiles: &'a Percentiles,
    /// From the end of the warm-up to the end; `None` while that is not known.
    pub(crate) measured: Option<Span>,
}

/// A flow that is not retired.
#[derive(Clone, Copy)]
pub(crate) struct OpenFlow<'a> {
    /// Its place in lists of flows.
    pub(crate) place: usize,
    /// Its number in tables.
    pub(crate) number: u64,
    pub(crate) description: &'a FlowDescription,
    pub(crate) flow: &'a Flow,
}

/// Everything that was counted.
pub(crate) struct Measurement<'a> {
    pub(crate) basis: Basis<'a>,
    /// Flows with rows that were not taken yet.
    pub(crate) flows: &'a [FlowRow],
    /// Those that are not retired.
    pub(crate) open: &'a [OpenFlow<'a>],
    /// Of each group the sum of its flows that are retired.
    pub(crate) retired: &'a [GroupSum],
    /// Of each group the sum of all its flows.
    pub(crate) groups: &'a [GroupSum],
    pub(crate) queues: &'a [Queue],
    pub(crate) queue_events: Option<&'a QueueEvents>,
    pub(crate) queue_series: Option<&'a QueueSeries>,
    pub(crate) slots: &'a SlotBook,
    pub(crate) windows: &'a Windows<'a>,
    pub(crate) samples: &'a [EndpointSample],
    pub(crate) labels: &'a Labels,
}

/// All tables, in their fixed order.
pub(crate) fn tables(measurement: &Measurement<'_>) -> Tables {
    let basis = &measurement.basis;
    let (flows, names) = (measurement.flows, &basis.settings.groups);
    let groups: Vec<GroupRow<'_>> = names
        .iter()
        .zip(measurement.groups)
        .map(|(name, sum)| GroupRow::of(name, sum, basis.percentiles))
        .collect();
    let events = measurement.queue_events.map_or(&[][..], |events| &events.kept);
    let [loss_runs, loss_run_lengths] = queues::loss_runs_tables(measurement);
    Tables {
        tables: vec![
            flows::flows_table(basis, flows),
            flows::groups_table(basis, &groups),
            windows::intervals_table(basis, measurement.windows),
            flows::latencies_table(basis, &groups, flows),
            flows::histogram_table(&groups),
            queues::queues_table(measurement),
            queues::drops_table(measurement),
            loss_runs,
            loss_run_lengths,
            queues::sojourn_histogram_table(measurement),
            queues::backlog_histogram_table(measurement),
            windows::queue_intervals_table(basis, measurement.queue_series),
            windows::slots_table(basis, measurement.slots),
            windows::slot_intervals_table(basis, measurement.slots),
            queue_events_table(basis, events),
            flows::fairness_table(measurement),
            flows::endpoint_table(basis, measurement.samples, measurement.labels),
        ],
    }
}

/// Rows that will not change any more.
pub(crate) fn chunk(
    basis: &Basis<'_>,
    flows: &[FlowRow],
    windows: &Windows<'_>,
    samples: &[EndpointSample],
    labels: &Labels,
) -> Tables {
    Tables {
        tables: vec![
            flows::flows_table(basis, flows),
            windows::intervals_table(basis, windows),
            flows::latencies_table(basis, &[], flows),
            flows::endpoint_table(basis, samples, labels),
        ],
    }
}

impl<'a> Basis<'a> {
    /// The measured time; none while it is not known.
    fn measured(&self) -> Span {
        self.measured.unwrap_or(Span::ZERO)
    }

    /// Name of the group of the flow so described.
    fn group_name(&self, flow: &FlowDescription) -> &'a str {
        &self.settings.groups[flow.group_index()]
    }

    /// Seconds from the origin to `at`.
    fn seconds_at(&self, at: Instant) -> f64 {
        at.saturating_since(self.settings.origin).as_secs_f64()
    }

    /// Seconds from the origin to the window `number` of a series.
    fn window_start_s(&self, length: Span, number: u64) -> f64 {
        self.seconds_at(self.settings.measured_from() + length.saturating_mul(number))
    }

    /// Every group as a scope.
    fn group_scopes(&self) -> impl Iterator<Item = Scope<'a>> {
        let scope = |name: &'a String| Scope { kind: "group", flow: None, name, group: name };
        self.settings.groups.iter().map(scope)
    }

    /// A flow as a scope.
    fn flow_scope<'b>(&self, number: u64, flow: &'b FlowDescription) -> Scope<'b>
    where
        'a: 'b,
    {
        Scope { kind: "flow", flow: Some(number), name: &flow.name, group: self.group_name(flow) }
    }
}

/// What a row is about, where a table holds both groups and flows.
#[derive(Clone, Copy)]
struct Scope<'a> {
    kind: &'static str,
    flow: Option<u64>,
    name: &'a str,
    group: &'a str,
}

/// Every column that the tables of a [`Collector`](crate::Collector) can have, in the order of tables and
/// columns.
pub fn columns() -> &'static [ColumnDefinition] {
    static COLUMNS: LazyLock<Vec<ColumnDefinition>> = LazyLock::new(|| define(TABLES));
    &COLUMNS
}

const TABLES: &[TableDefinition] = &[
    ("flows", &[flows::FLOW, flows::RATES, flows::COUNTS, flows::LATENCIES, flows::FLOW_TROUBLE]),
    (
        "groups",
        &[flows::GROUP, flows::RATES, flows::COUNTS, flows::LATENCIES, flows::GROUP_TROUBLE],
    ),
    ("intervals", &[windows::INTERVAL]),
    ("latencies", &[flows::LATENCY]),
    ("latency_histogram", &[flows::LATENCY_HISTOGRAM]),
    ("queues", &[queues::QUEUE]),
    ("queue_drops", &[queues::QUEUE_DROPS]),
    ("queue_loss_runs", &[queues::QUEUE_LOSS_RUNS]),
    ("queue_loss_run_lengths", &[queues::QUEUE_LOSS_RUN_LENGTHS]),
    ("queue_sojourn_histogram", &[queues::QUEUE_SOJOURN_HISTOGRAM]),
    ("queue_backlog_histogram", &[queues::QUEUE_BACKLOG_HISTOGRAM]),
    ("queue_intervals", &[windows::QUEUE_INTERVAL]),
    ("slots", &[windows::SLOTS, windows::SLOT_COUNTS]),
    ("slot_intervals", &[windows::SLOT_INTERVALS, windows::SLOT_COUNTS]),
    ("queue_events", &[windows::QUEUE_EVENTS]),
    ("fairness", &[flows::FAIRNESS]),
    ("endpoint", &[flows::ENDPOINT]),
    ("lateness", &[engine_tables::LATENESS]),
    ("hosts", &[engine_tables::HOST]),
    ("control_complaints", &[engine_tables::CONTROL_COMPLAINT]),
    ("senders", &[engine_tables::SENDER]),
    ("resumptions", &[engine_tables::RESUMPTION]),
    ("remembered", &[engine_tables::REMEMBERED]),
];
