//! The tables `flows` and `groups`: one row each, with the same measures.

use super::summary::{Percentiles, Place, Summary};
use super::{Measurement, group_index};
use crate::distribution::Times;
use crate::flow::{Flow, Totals};
use crate::formula::{self, bits_per_second, ratio};
use crate::settings::FlowDescription;
use crate::table::{Table, TableBuilder};
use fairwind_units::Span;

/// The percentiles of latencies that the columns of these tables show.
pub(super) const SHOWN_PERCENTILES: [f64; 2] = [50.0, 99.0];

/// The measures that flows and groups share.
pub(super) struct Measures {
    totals: Totals,
    measured: Span,
    pub(super) ack_latency: Summary,
    pub(super) delivery_latency: Summary,
    pub(super) response_time: Summary,
}

/// A row that has them.
pub(super) trait Measured {
    fn measures(&self) -> &Measures;

    fn totals(&self) -> &Totals {
        &self.measures().totals
    }

    fn rate(&self, bytes: u64) -> Option<f64> {
        bits_per_second(bytes, self.measures().measured)
    }
}

impl Measured for FlowRow<'_> {
    fn measures(&self) -> &Measures {
        &self.measures
    }
}

impl Measured for GroupRow<'_> {
    fn measures(&self) -> &Measures {
        &self.measures
    }
}

/// One flow.
pub(super) struct FlowRow<'a> {
    id: u64,
    description: &'a FlowDescription,
    group: &'a str,
    start_s: f64,
    setup_time: Option<Span>,
    completion_time: Option<Span>,
    finished_s: Option<f64>,
    failed_s: Option<f64>,
    measures: Measures,
}

/// One group, its latencies merged of its flows'.
pub(super) struct GroupRow<'a> {
    name: &'a str,
    flows: u64,
    established: u64,
    finished: u64,
    failed: u64,
    setup_nanos: u128,
    measures: Measures,
    ack_latency: Times,
    delivery_latency: Times,
    response_time: Times,
}

impl GroupRow<'_> {
    pub(super) fn name(&self) -> &str {
        self.name
    }

    /// All latencies by their kinds.
    pub(super) fn latencies(&self) -> [(&'static str, &Times); 3] {
        [
            ("ack", &self.ack_latency),
            ("delivery", &self.delivery_latency),
            ("response", &self.response_time),
        ]
    }
}

pub(super) fn flow_rows<'a>(
    measurement: &Measurement<'a>,
    percentiles: &Percentiles,
) -> Vec<FlowRow<'a>> {
    (0..)
        .zip(measurement.described_flows())
        .map(|(id, (description, flow))| flow_row(measurement, id, description, flow, percentiles))
        .collect()
}

pub(super) fn flows_table(rows: &[FlowRow<'_>], percentiles: &Percentiles) -> Table {
    let table = TableBuilder::new("flows", rows)
        .with("flow", |row| row.id)
        .with("name", |row| row.description.name.clone())
        .with("group", |row| row.group.to_owned())
        .with("start_s", |row| row.start_s)
        .with("established", |row| row.setup_time.is_some())
        .with("setup_time_s", |row| row.setup_time.map(Span::as_secs_f64))
        .with("finished", |row| row.finished_s.is_some())
        .with("finished_s", |row| row.finished_s)
        .with("completion_time_s", |row| row.completion_time.map(Span::as_secs_f64))
        .with("failed", |row| row.failed_s.is_some())
        .with("failed_s", |row| row.failed_s);
    with_measures(table, percentiles).build()
}

fn flow_row<'a>(
    measurement: &Measurement<'a>,
    id: u64,
    description: &'a FlowDescription,
    flow: &Flow,
    percentiles: &Percentiles,
) -> FlowRow<'a> {
    let stages = flow.milestones;
    let seconds = |at| measurement.seconds_at(at);
    FlowRow {
        id,
        description,
        group: measurement.group_name(description),
        start_s: seconds(description.start),
        setup_time: stages.established.map(|at| at.saturating_since(description.start)),
        completion_time: stages.finished.map(|at| at.saturating_since(description.start)),
        finished_s: stages.finished.map(seconds),
        failed_s: stages.failed.map(seconds),
        measures: Measures {
            totals: *flow.totals(),
            measured: measurement.measured,
            ack_latency: Summary::of(flow.ack_latency().samples(), percentiles),
            delivery_latency: Summary::of(flow.delivery_latency().samples(), percentiles),
            response_time: Summary::of(flow.response_time(), percentiles),
        },
    }
}

pub(super) fn group_rows<'a>(
    measurement: &Measurement<'a>,
    percentiles: &Percentiles,
) -> Vec<GroupRow<'a>> {
    let names = measurement.settings.groups.iter().enumerate();
    names.map(|(group, name)| group_row(measurement, group, name, percentiles)).collect()
}

fn group_row<'a>(
    measurement: &Measurement<'a>,
    group: usize,
    name: &'a str,
    percentiles: &Percentiles,
) -> GroupRow<'a> {
    let members: Vec<(&FlowDescription, &Flow)> =
        measurement.described_flows().filter(|(flow, _)| group_index(flow) == group).collect();
    let mut totals = Totals::default();
    for (_, flow) in &members {
        totals.add(flow.totals());
    }
    let merged = |times: fn(&Flow) -> &Times| {
        Times::merged(&members.iter().map(|(_, flow)| times(flow)).collect::<Vec<_>>())
    };
    let ack_latency = merged(|flow| flow.ack_latency().samples());
    let delivery_latency = merged(|flow| flow.delivery_latency().samples());
    let response_time = merged(Flow::response_time);
    let setup_time = |(description, flow): &(&FlowDescription, &Flow)| {
        let established = flow.milestones.established?;
        Some(u128::from(established.saturating_since(description.start).as_nanos()))
    };
    let count = |has_reached: fn(&Flow) -> bool| -> u64 {
        members.iter().map(|(_, flow)| u64::from(has_reached(flow))).sum()
    };
    GroupRow {
        name,
        flows: count(|_| true),
        established: count(|flow| flow.milestones.established.is_some()),
        finished: count(|flow| flow.milestones.finished.is_some()),
        failed: count(|flow| flow.milestones.failed.is_some()),
        setup_nanos: members.iter().filter_map(setup_time).sum(),
        measures: Measures {
            totals,
            measured: measurement.measured,
            ack_latency: Summary::of(&ack_latency, percentiles),
            delivery_latency: Summary::of(&delivery_latency, percentiles),
            response_time: Summary::of(&response_time, percentiles),
        },
        ack_latency,
        delivery_latency,
        response_time,
    }
}

pub(super) fn groups_table(rows: &[GroupRow<'_>], percentiles: &Percentiles) -> Table {
    let table = TableBuilder::new("groups", rows)
        .with("group", |row| row.name.to_owned())
        .with("flows", |row| row.flows)
        .with("flows_established", |row| row.established)
        .with("flows_finished", |row| row.finished)
        .with("flows_failed", |row| row.failed)
        .with("setup_time_mean_s", |row| {
            formula::mean(row.setup_nanos, row.established).map(|nanos| nanos / 1e9)
        })
        .with("goodput_per_flow_bits_per_second", |row| {
            let goodput = row.rate(row.totals().payload_bytes_read).filter(|_| row.flows > 0)?;
            Some(goodput / formula::real(row.flows))
        });
    with_measures(table, percentiles).build()
}

/// Adds the measures that flows and groups share.
fn with_measures<'a, Row: Measured>(
    table: TableBuilder<'a, Row>,
    percentiles: &Percentiles,
) -> TableBuilder<'a, Row> {
    let [p50, p99] = SHOWN_PERCENTILES.map(|percentile| percentiles.place(percentile));
    let table = with_counts(with_rates(table));
    let table = with_latency(table, "ack_latency", [p50, p99], |row| &row.measures().ack_latency);
    let table =
        with_latency(table, "delivery_latency", [p50, p99], |row| &row.measures().delivery_latency);
    let table = table.with("responses", |row| row.measures().response_time.count);
    with_latency(table, "response_time", [p50, p99], |row| &row.measures().response_time)
}

fn with_rates<Row: Measured>(table: TableBuilder<'_, Row>) -> TableBuilder<'_, Row> {
    table
        .with("measured_s", |row| row.measures().measured.as_secs_f64())
        .with("throughput_bits_per_second", |row| row.rate(row.totals().wire_bytes_received))
        .with("goodput_bits_per_second", |row| row.rate(row.totals().payload_bytes_read))
}

fn with_counts<Row: Measured>(table: TableBuilder<'_, Row>) -> TableBuilder<'_, Row> {
    let share = |row: &Row, part: fn(&Totals) -> u64, whole: fn(&Totals) -> u64| {
        ratio(part(row.totals()), whole(row.totals()))
    };
    table
        .with("packets_sent", |row| row.totals().packets_sent)
        .with("wire_bytes_sent", |row| row.totals().wire_bytes_sent)
        .with("data_segments_sent", |row| row.totals().data_segments_sent)
        .with("payload_bytes_sent", |row| row.totals().payload_bytes_sent)
        .with("data_segments_retransmitted", |row| row.totals().data_segments_retransmitted)
        .with("bytes_retransmitted", |row| row.totals().payload_bytes_retransmitted)
        .with("retransmission_ratio", |row| {
            share(row, |sum| sum.data_segments_retransmitted, |sum| sum.data_segments_sent)
        })
        .with("packets_received", |row| row.totals().packets_received)
        .with("wire_bytes_received", |row| row.totals().wire_bytes_received)
        .with("payload_bytes_received", |row| row.totals().payload_bytes_received)
        .with("payload_bytes_duplicate", |row| row.totals().payload_bytes_duplicate)
        .with("payload_bytes_read", |row| row.totals().payload_bytes_read)
        .with("packets_lost", |row| row.totals().packets_lost)
        .with("wire_bytes_lost", |row| row.totals().wire_bytes_lost)
        .with("payload_bytes_lost", |row| row.totals().payload_bytes_lost)
        .with("packet_loss_ratio", |row| share(row, |sum| sum.packets_lost, |sum| sum.packets_sent))
        .with("wire_byte_loss_ratio", |row| {
            share(row, |sum| sum.wire_bytes_lost, |sum| sum.wire_bytes_sent)
        })
        .with("payload_byte_loss_ratio", |row| {
            share(row, |sum| sum.payload_bytes_lost, |sum| sum.payload_bytes_sent)
        })
        .with("ack_packets_sent", |row| row.totals().ack_packets_sent)
        .with("ack_packets_lost", |row| row.totals().ack_packets_lost)
        .with("ack_loss_ratio", |row| {
            share(row, |sum| sum.ack_packets_lost, |sum| sum.ack_packets_sent)
        })
        .with("timeouts", |row| row.totals().timeouts)
        .with("fast_retransmits", |row| row.totals().fast_retransmits)
        .with("syn_retries", |row| row.totals().syn_retries)
        .with("zero_window_probes", |row| row.totals().zero_window_probes)
}

fn with_latency<'a, Row: Measured>(
    table: TableBuilder<'a, Row>,
    kind: &str,
    [p50, p99]: [Place; 2],
    latency: impl Fn(&Row) -> &Summary,
) -> TableBuilder<'a, Row> {
    table
        .with(&format!("{kind}_mean_s"), |row| latency(row).mean_s())
        .with(&format!("{kind}_p50_s"), |row| latency(row).percentile_s(p50))
        .with(&format!("{kind}_p99_s"), |row| latency(row).percentile_s(p99))
        .with(&format!("{kind}_max_s"), |row| latency(row).maximum_s())
}
