//! Tables of flows and groups: `flows`, `groups`, `latencies`, `latency_histogram`, `endpoint` and `fairness`.

use super::{Basis, Measurement, OpenFlow, Scope};
use crate::failure::{Milestones, Troubled};
use crate::flow::Totals;
use crate::formula;
use crate::formula::{Fairness, bits_per_second, ratio, seconds};
use crate::histogram::Bucket;
use crate::rows::{
    EndpointSample, FlowRow, GroupRow, Labels, Latencies, Measured, SHOWN_PERCENTILES,
};
use crate::settings::ObservationPoints;
use crate::summary::{PercentileIndex, Percentiles, Summary, percentile_name};
use crate::table::{Table, TableBuilder};
use fairwind_units::Span;

/// Rows in the order in which they are given.
pub(super) fn flows_table(basis: &Basis<'_>, rows: &[FlowRow]) -> Table {
    let table = TableBuilder::new("flows", rows)
        .with("flow", |row| row.number)
        .with_text("name", |row, text| text.push_str(&row.description.name))
        .with_text("group", |row, text| text.push_str(basis.group_name(&row.description)))
        .with("start_s", |row| basis.seconds_at(row.description.start))
        .with_known("established", |row| {
            of_connection(row).then_some(row.milestones.established.is_some())
        })
        .with("setup_time_s", |row| row.setup_time().map(Span::as_secs_f64))
        .with_known("finished", |row| {
            of_connection(row).then_some(row.milestones.finished.is_some())
        })
        .with("finished_s", |row| row.milestones.finished.map(|at| basis.seconds_at(at)))
        .with("completion_time_s", |row| row.completion_time().map(Span::as_secs_f64))
        .with_known("failed", |row| of_connection(row).then_some(row.milestones.failed.is_some()))
        .with("failed_s", |row| row.milestones.failed.map(|(at, _)| basis.seconds_at(at)))
        .with_text("failure", |row, text| {
            let Milestones { established, failed, .. } = row.milestones;
            text.push_str(failed.map_or("", |(_, reason)| reason.name(established.is_some())));
        });
    let at = ObservationPoints::SENDER;
    let seen = move |row: &FlowRow| row.knows(at).then_some(row.trouble);
    with_measures(table, basis)
        .with_known("timeouts_in_a_row_max", move |row| Some(seen(row)?.timeouts_in_a_row))
        .with("longest_wait_s", |row| {
            let wait =
                row.trouble.longest_wait.filter(|_| row.knows(ObservationPoints::APPLICATIONS));
            wait.map(Span::as_secs_f64)
        })
        .with_known("problematic", move |row| Some(seen(row)?.is_problematic()))
        .build()
}

/// Rows in the order of the groups.
pub(super) fn groups_table(basis: &Basis<'_>, rows: &[GroupRow<'_>]) -> Table {
    let table = TableBuilder::new("groups", rows)
        .with_text("group", |row, text| text.push_str(row.name))
        .with("flows", |row| row.sum.watched.flows())
        .with_known("flows_established", |row| of_connection(row).then_some(row.sum.established))
        .with_known("flows_finished", |row| of_connection(row).then_some(row.sum.finished))
        .with_known("flows_failed", |row| of_connection(row).then_some(row.sum.failed))
        .with("setup_time_mean_s", |row| {
            formula::mean(row.sum.setup_nanos, row.sum.established).map(|nanos| nanos / 1e9)
        })
        .with("goodput_per_flow_bits_per_second", |row| {
            let goodput = bits_per_second(row.totals().payload_bytes_read, basis.measured?)?;
            let flows = row.sum.watched.flows_at(ObservationPoints::READER);
            (flows > 0).then(|| goodput / formula::real(flows))
        });
    let at = ObservationPoints::SENDER;
    let count = |count: fn(&Troubled) -> u64| {
        move |row: &GroupRow<'_>| row.knows(at).then(|| count(&row.sum.troubled))
    };
    with_measures(table, basis)
        .with_known("flows_problematic", count(|troubled| troubled.problematic))
        .with_known("flows_without_connection", count(|troubled| troubled.failed))
        .with_known("flows_with_syn_retries", count(|troubled| troubled.with_repeated_syn))
        .with_known(
            "flows_with_timeouts_in_a_row",
            count(|troubled| troubled.with_repeated_timeouts),
        )
        .with_known("flows_with_long_waits", |row| {
            row.knows(ObservationPoints::APPLICATIONS).then_some(row.sum.troubled.with_long_waits)
        })
        .build()
}

/// Whether it is of a connection, or of some, as far as is known: of datagrams there is none.
fn of_connection<Row: Measured>(row: &Row) -> bool {
    row.knows(ObservationPoints::CONNECTION) || !row.knows(ObservationPoints::HOSTS)
}

/// Adds the measures that flows and groups share.
fn with_measures<'a, Row: Measured>(
    table: TableBuilder<'a, Row>,
    basis: &Basis<'_>,
) -> TableBuilder<'a, Row> {
    let table = with_losses(with_arrivals(with_departures(with_rates(table, basis.measured))));
    let table = with_endpoint_events(table);
    with_latencies(table, basis.percentiles)
}

/// What stands in a column where `points` are watched.
fn known<Row: Measured, Value>(
    points: ObservationPoints,
    value: impl Fn(&Totals) -> Value,
) -> impl Fn(&Row) -> Option<Value> {
    move |row| row.knows(points).then(|| value(row.totals()))
}

/// Without the measured time rates are missing, to be made of the bytes when it is known.
fn with_rates<Row: Measured>(
    table: TableBuilder<'_, Row>,
    measured: Option<Span>,
) -> TableBuilder<'_, Row> {
    let rate = |row: &Row, points, bytes: u64| {
        let measured = measured.filter(|_| row.knows(points))?;
        bits_per_second(bytes, measured)
    };
    table
        .with_known("measured_s", |_| measured.map(Span::as_secs_f64))
        .with("throughput_bits_per_second", |row| {
            rate(row, ObservationPoints::ARRIVING, row.totals().wire_bytes_received)
        })
        .with("goodput_bits_per_second", |row| {
            rate(row, ObservationPoints::READER, row.totals().payload_bytes_read)
        })
}

fn with_departures<Row: Measured>(table: TableBuilder<'_, Row>) -> TableBuilder<'_, Row> {
    let (at, repeating) = (ObservationPoints::LEAVING, ObservationPoints::SENDER);
    table
        .with_known("packets_sent", known(at, |sum| sum.packets_sent))
        .with_known("wire_bytes_sent", known(at, |sum| sum.wire_bytes_sent))
        .with_known("data_segments_sent", known(at, |sum| sum.data_segments_sent))
        .with_known("payload_bytes_sent", known(at, |sum| sum.payload_bytes_sent))
        .with_known(
            "data_segments_retransmitted",
            known(repeating, |sum| sum.data_segments_retransmitted),
        )
        .with_known("bytes_retransmitted", known(repeating, |sum| sum.payload_bytes_retransmitted))
        .with("retransmission_ratio", |row: &Row| {
            let sum = row.totals();
            let share = ratio(sum.data_segments_retransmitted, sum.data_segments_sent);
            share.filter(|_| row.knows(repeating))
        })
        .with_known("bundles_sent", known(repeating, |sum| sum.bundles_sent))
        .with_known("bundled_bytes_sent", known(repeating, |sum| sum.payload_bytes_bundled))
}

fn with_arrivals<Row: Measured>(table: TableBuilder<'_, Row>) -> TableBuilder<'_, Row> {
    let at = ObservationPoints::ARRIVING;
    table
        .with_known("packets_received", known(at, |sum| sum.packets_received))
        .with_known("wire_bytes_received", known(at, |sum| sum.wire_bytes_received))
        .with_known("payload_bytes_received", known(at, |sum| sum.payload_bytes_received))
        .with_known(
            "payload_bytes_duplicate",
            known(ObservationPoints::RECEIVER, |sum| sum.payload_bytes_duplicate),
        )
        .with_known(
            "payload_bytes_read",
            known(ObservationPoints::READER, |sum| sum.payload_bytes_read),
        )
}

fn with_losses<Row: Measured>(table: TableBuilder<'_, Row>) -> TableBuilder<'_, Row> {
    let (at, acknowledging) = (ObservationPoints::HOSTS, ObservationPoints::ENDPOINTS);
    let share = |row: &Row, part: fn(&Totals) -> u64, whole: fn(&Totals) -> u64| {
        let sum = row.totals_at_both_hosts();
        ratio(part(sum), whole(sum)).filter(|_| row.knows(at))
    };
    table
        .with_known("packets_lost", known(at, |sum| sum.packets_lost))
        .with_known("wire_bytes_lost", known(at, |sum| sum.wire_bytes_lost))
        .with_known("payload_bytes_lost", known(at, |sum| sum.payload_bytes_lost))
        .with("packet_loss_ratio", |row| share(row, |sum| sum.packets_lost, |sum| sum.packets_sent))
        .with("wire_byte_loss_ratio", |row| {
            share(row, |sum| sum.wire_bytes_lost, |sum| sum.wire_bytes_sent)
        })
        .with("payload_byte_loss_ratio", |row| {
            share(row, |sum| sum.payload_bytes_lost, |sum| sum.payload_bytes_sent)
        })
        .with_known(
            "ack_packets_sent",
            known(ObservationPoints::RECEIVER, |sum| sum.ack_packets_sent),
        )
        .with_known("ack_packets_lost", known(acknowledging, |sum| sum.ack_packets_lost))
        .with("ack_loss_ratio", |row| {
            share(row, |sum| sum.ack_packets_lost, |sum| sum.ack_packets_sent)
        })
}

fn with_endpoint_events<Row: Measured>(table: TableBuilder<'_, Row>) -> TableBuilder<'_, Row> {
    let at = ObservationPoints::SENDER;
    table
        .with_known("timeouts", known(at, |sum| sum.timeouts))
        .with_known("fast_retransmits", known(at, |sum| sum.fast_retransmits))
        .with_known("syn_retries", known(at, |sum| sum.syn_retries))
        .with_known("zero_window_probes", known(at, |sum| sum.zero_window_probes))
        .with_known("packets_marked", known(ObservationPoints::RECEIVER, |sum| sum.packets_marked))
        .with_known(
            "wire_bytes_marked",
            known(ObservationPoints::RECEIVER, |sum| sum.wire_bytes_marked),
        )
        .with("packet_mark_ratio", |row: &Row| {
            let sum = row.totals();
            let share = ratio(sum.packets_marked, sum.packets_received);
            share.filter(|_| row.knows(ObservationPoints::RECEIVER))
        })
}

fn with_latencies<'a, Row: Measured>(
    table: TableBuilder<'a, Row>,
    percentiles: &Percentiles,
) -> TableBuilder<'a, Row> {
    let places = SHOWN_PERCENTILES.map(|percentile| percentiles.place(percentile));
    let table = with_latency(table, "ack_latency", places, |latencies| &latencies.ack);
    let table = with_latency(table, "delivery_latency", places, |latencies| &latencies.delivery);
    let table = table.with_known("responses", |row: &Row| {
        let is_asked = row.knows(ObservationPoints::APPLICATIONS) && of_connection(row);
        is_asked.then_some(row.latencies().response.count)
    });
    with_latency(table, "response_time", places, |latencies| &latencies.response)
}

/// Where it was not to be seen there are no samples.
fn with_latency<'a, Row: Measured>(
    table: TableBuilder<'a, Row>,
    kind: &str,
    [p50, p99]: [PercentileIndex; 2],
    latency: impl Fn(&Latencies) -> &Summary,
) -> TableBuilder<'a, Row> {
    table
        .with(&format!("{kind}_mean_s"), |row| latency(row.latencies()).mean_s())
        .with(&format!("{kind}_p50_s"), |row| latency(row.latencies()).percentile_s(p50))
        .with(&format!("{kind}_p99_s"), |row| latency(row.latencies()).percentile_s(p99))
        .with(&format!("{kind}_max_s"), |row| latency(row.latencies()).maximum_s())
}

struct Row<'a> {
    scope: Scope<'a>,
    kind: &'static str,
    latency: &'a Summary,
}

/// Rows for each group, then for each flow: ACK latency, delivery latency, and the response time of
/// those that asked for anything; as far as they could be seen.
pub(super) fn latencies_table(
    basis: &Basis<'_>,
    groups: &[GroupRow<'_>],
    flows: &[FlowRow],
) -> Table {
    let of_groups = basis.group_scopes().zip(groups);
    let of_groups = of_groups.flat_map(|(scope, group)| all_kinds(scope, group));
    let of_flows = flows
        .iter()
        .flat_map(|flow| all_kinds(basis.flow_scope(flow.number, &flow.description), flow));
    let rows: Vec<Row<'_>> = of_groups.chain(of_flows).collect();
    let mut table = TableBuilder::new("latencies", &rows)
        .with_text("scope", |row, text| text.push_str(row.scope.kind))
        .with_text("name", |row, text| text.push_str(row.scope.name))
        .with_text("group", |row, text| text.push_str(row.scope.group))
        .with("flow", |row| row.scope.flow)
        .with_text("kind", |row, text| text.push_str(row.kind))
        .with("count", |row| row.latency.count)
        .with("min_s", |row| row.latency.minimum_s())
        .with("mean_s", |row| row.latency.mean_s());
    for &percentile in &basis.settings.percentiles {
        let place = basis.percentiles.place(percentile);
        let name = format!("{}_s", percentile_name(percentile));
        table = table.with(&name, |row| row.latency.percentile_s(place));
    }
    table.with("max_s", |row| row.latency.maximum_s()).build()
}

fn all_kinds<'a>(scope: Scope<'a>, row: &'a impl Measured) -> impl Iterator<Item = Row<'a>> {
    let latencies = row.latencies();
    let response = Some(&latencies.response).filter(|times| times.count > 0);
    let kinds = [
        ("ack", Some(&latencies.ack).filter(|_| row.knows(ObservationPoints::SENDER))),
        (
            "delivery",
            Some(&latencies.delivery).filter(|_| row.knows(ObservationPoints::APPLICATIONS)),
        ),
        ("response", response),
    ];
    kinds
        .into_iter()
        .filter_map(move |(kind, latency)| Some(Row { scope, kind, latency: latency? }))
}

struct SlotRow<'a> {
    group: &'a str,
    kind: &'static str,
    slot: Bucket,
}

/// Rows for each group and kind, in ascending order of latency, without empty slots.
pub(super) fn histogram_table(groups: &[GroupRow<'_>]) -> Table {
    let mut rows = Vec::new();
    for group in groups {
        let sum = group.sum;
        let kinds = [
            ("ack", &sum.ack_latency),
            ("delivery", &sum.delivery_latency),
            ("response", &sum.response_time),
        ];
        for (kind, latency) in kinds {
            let row = |slot| SlotRow { group: group.name, kind, slot };
            rows.extend(latency.slots().map(row));
        }
    }
    TableBuilder::new("latency_histogram", &rows)
        .with_text("group", |row, text| text.push_str(row.group))
        .with_text("kind", |row, text| text.push_str(row.kind))
        .with("lower_s", |row| seconds(row.slot.lower))
        .with("upper_s", |row| seconds(row.slot.upper))
        .with("count", |row| row.slot.count)
        .build()
}

/// Rows in the order in which the samples were taken.
pub(super) fn endpoint_table(
    basis: &Basis<'_>,
    samples: &[EndpointSample],
    labels: &Labels,
) -> Table {
    TableBuilder::new("endpoint", samples)
        .with("time_s", |sample| basis.seconds_at(sample.at))
        .with("flow", |sample| sample.flow)
        .with("name", |sample| labels[&sample.flow].name.clone())
        .with("group", |sample| basis.group_name(&labels[&sample.flow]).to_owned())
        .with("cwnd_packets", |sample| u64::from(sample.cwnd_packets))
        .with("ssthresh_packets", |sample| sample.ssthresh_packets.map(u64::from))
        .with("smoothed_rtt_s", |sample| sample.smoothed_rtt.map(Span::as_secs_f64))
        .with("flight_packets", |sample| u64::from(sample.flight_packets))
        .with("state", |sample| sample.state.name().to_owned())
        .build()
}

struct FairnessRow<'a> {
    scope: &'static str,
    name: &'a str,
    fairness: Fairness,
}

/// Rows: all flows; the flows of each group; the groups, each by its mean per flow. Flows whose reader
/// nobody watches do not compete.
pub(super) fn fairness_table(measurement: &Measurement<'_>) -> Table {
    let goodputs = goodput_by_group(measurement);
    let open: Vec<f64> = goodputs.iter().flatten().copied().collect();
    // Of retired flows only the bytes are kept, in sums.
    let unit = bits_per_second(1, measurement.basis.measured());
    let with_retired = |fairness: Fairness, group: usize| match unit {
        Some(unit) => fairness.and(&measurement.retired[group].bytes_read, unit),
        None => fairness,
    };
    let groups: Vec<Fairness> = goodputs
        .iter()
        .enumerate()
        .map(|(group, goodputs)| with_retired(Fairness::among(goodputs), group))
        .collect();
    let all = (0..groups.len()).fold(Fairness::among(&open), with_retired);
    let means: Vec<f64> = groups.iter().filter_map(Fairness::mean).collect();
    let mut rows = vec![FairnessRow { scope: "all", name: "all", fairness: all }];
    for (name, fairness) in measurement.basis.settings.groups.iter().zip(groups) {
        rows.push(FairnessRow { scope: "group", name, fairness });
    }
    rows.push(FairnessRow {
        scope: "between_groups",
        name: "all",
        fairness: Fairness::among(&means),
    });
    TableBuilder::new("fairness", &rows)
        .with("scope", |row| row.scope.to_owned())
        .with("name", |row| row.name.to_owned())
        .with("members", |row| row.fairness.members)
        .with("jain_index", |row| row.fairness.jain_index())
        .with("minimum_to_maximum_ratio", |row| row.fairness.minimum_to_maximum())
        .with("goodput_min_bits_per_second", |row| row.fairness.minimum)
        .with("goodput_max_bits_per_second", |row| row.fairness.maximum)
        .build()
}

/// Goodput of the open flows of each group in bits per second; nobody where nothing was measured.
fn goodput_by_group(measurement: &Measurement<'_>) -> Vec<Vec<f64>> {
    let mut groups = vec![Vec::new(); measurement.basis.settings.groups.len()];
    for OpenFlow { description, flow, .. } in measurement.open {
        if description.seen_at.contains(ObservationPoints::READER) {
            let bytes = flow.totals().payload_bytes_read;
            let goodput = bits_per_second(bytes, measurement.basis.measured());
            groups[description.group_index()].extend(goodput);
        }
    }
    groups
}
