//! Tables of flows and groups: `flows`, `groups`, `latencies`, `latency_histogram`, `endpoint` and `fairness`.

use super::{Basis, Measurement, OpenFlow, Scope};
use crate::distribution::{Percentiles, Summary};
use crate::flow::{Milestones, ProblemCounts, Totals};
use crate::formula;
use crate::formula::{Fairness, bits_per_second, ratio, seconds};
use crate::histogram::Bucket;
use crate::rows::{EndpointSample, FlowRow, GroupRow, Labels, Measured, SHOWN_PERCENTILES};
use crate::settings::ObservationPoints as Points;
use crate::table::{DefinitionLine, Table, TableBuilder};
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
    let at = Points::SENDER;
    let seen = move |row: &FlowRow| row.knows(at).then_some(row.problems);
    with_measures(table, basis)
        .with_known("timeouts_in_a_row_max", move |row| Some(seen(row)?.timeouts_in_a_row))
        .with("longest_wait_s", |row| {
            let wait = row.problems.longest_wait.filter(|_| row.knows(Points::APPLICATIONS));
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
            let flows = row.sum.watched.flows_at(Points::READER);
            (flows > 0).then(|| goodput / formula::real(flows))
        });
    let at = Points::SENDER;
    let count = |count: fn(&ProblemCounts) -> u64| {
        move |row: &GroupRow<'_>| row.knows(at).then(|| count(&row.sum.problem_counts))
    };
    with_measures(table, basis)
        .with_known("flows_problematic", count(|problem_counts| problem_counts.problematic))
        .with_known("flows_without_connection", count(|problem_counts| problem_counts.failed))
        .with_known(
            "flows_with_syn_retries",
            count(|problem_counts| problem_counts.with_repeated_syn),
        )
        .with_known(
            "flows_with_timeouts_in_a_row",
            count(|problem_counts| problem_counts.with_repeated_timeouts),
        )
        .with_known("flows_with_long_waits", |row| {
            row.knows(Points::APPLICATIONS).then_some(row.sum.problem_counts.with_long_waits)
        })
        .build()
}

/// Whether it is of a connection, or of some, as far as is known: of datagrams there is none.
fn of_connection<Row: Measured>(row: &Row) -> bool {
    row.knows(Points::CONNECTION) || !row.knows(Points::HOSTS)
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
    points: Points,
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
            rate(row, Points::ARRIVING, row.totals().wire_bytes_received)
        })
        .with("goodput_bits_per_second", |row| {
            rate(row, Points::READER, row.totals().payload_bytes_read)
        })
}

fn with_departures<Row: Measured>(table: TableBuilder<'_, Row>) -> TableBuilder<'_, Row> {
    let (at, repeating) = (Points::LEAVING, Points::SENDER);
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
    let at = Points::ARRIVING;
    table
        .with_known("packets_received", known(at, |sum| sum.packets_received))
        .with_known("wire_bytes_received", known(at, |sum| sum.wire_bytes_received))
        .with_known("payload_bytes_received", known(at, |sum| sum.payload_bytes_received))
        .with_known(
            "payload_bytes_duplicate",
            known(Points::RECEIVER, |sum| sum.payload_bytes_duplicate),
        )
        .with_known("payload_bytes_read", known(Points::READER, |sum| sum.payload_bytes_read))
}

fn with_losses<Row: Measured>(table: TableBuilder<'_, Row>) -> TableBuilder<'_, Row> {
    let (at, acknowledging) = (Points::HOSTS, Points::ENDPOINTS);
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
        .with_known("ack_packets_sent", known(Points::RECEIVER, |sum| sum.ack_packets_sent))
        .with_known("ack_packets_lost", known(acknowledging, |sum| sum.ack_packets_lost))
        .with("ack_loss_ratio", |row| {
            share(row, |sum| sum.ack_packets_lost, |sum| sum.ack_packets_sent)
        })
}

fn with_endpoint_events<Row: Measured>(table: TableBuilder<'_, Row>) -> TableBuilder<'_, Row> {
    let at = Points::SENDER;
    table
        .with_known("timeouts", known(at, |sum| sum.timeouts))
        .with_known("fast_retransmits", known(at, |sum| sum.fast_retransmits))
        .with_known("syn_retries", known(at, |sum| sum.syn_retries))
        .with_known("zero_window_probes", known(at, |sum| sum.zero_window_probes))
        .with_known("packets_marked", known(Points::RECEIVER, |sum| sum.packets_marked))
        .with_known("wire_bytes_marked", known(Points::RECEIVER, |sum| sum.wire_bytes_marked))
        .with("packet_mark_ratio", |row: &Row| {
            let sum = row.totals();
            let share = ratio(sum.packets_marked, sum.packets_received);
            share.filter(|_| row.knows(Points::RECEIVER))
        })
}

/// Unobserved latencies have no samples.
fn with_latencies<'a, Row: Measured>(
    table: TableBuilder<'a, Row>,
    percentiles: &Percentiles,
) -> TableBuilder<'a, Row> {
    let shown = &SHOWN_PERCENTILES;
    table
        .with_times("ack_latency_", shown, percentiles, |row| &row.latencies().ack)
        .with_times("delivery_latency_", shown, percentiles, |row| &row.latencies().delivery)
        .with_known("responses", |row: &Row| {
            let is_asked = row.knows(Points::APPLICATIONS) && of_connection(row);
            is_asked.then_some(row.latencies().response.count)
        })
        .with_times("response_time_", shown, percentiles, |row| &row.latencies().response)
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
    TableBuilder::new("latencies", &rows)
        .with_text("scope", |row, text| text.push_str(row.scope.kind))
        .with_text("name", |row, text| text.push_str(row.scope.name))
        .with_text("group", |row, text| text.push_str(row.scope.group))
        .with("flow", |row| row.scope.flow)
        .with_text("kind", |row, text| text.push_str(row.kind))
        .with("count", |row| row.latency.count)
        .with("min_s", |row| row.latency.minimum_s())
        .with_times("", &basis.settings.percentiles, basis.percentiles, |row| row.latency)
        .build()
}

fn all_kinds<'a>(scope: Scope<'a>, row: &'a impl Measured) -> impl Iterator<Item = Row<'a>> {
    let latencies = row.latencies();
    let response = Some(&latencies.response).filter(|times| times.count > 0);
    let kinds = [
        ("ack", Some(&latencies.ack).filter(|_| row.knows(Points::SENDER))),
        ("delivery", Some(&latencies.delivery).filter(|_| row.knows(Points::APPLICATIONS))),
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

/// Rows: all flows; the flows of each group; the groups, each by its mean per flow. Flows with an unobserved
/// reader do not compete.
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

/// Goodput of the open flows of each group in bits per second; empty if nothing was measured.
fn goodput_by_group(measurement: &Measurement<'_>) -> Vec<Vec<f64>> {
    let mut groups = vec![Vec::new(); measurement.basis.settings.groups.len()];
    for OpenFlow { description, flow, .. } in measurement.open {
        if description.seen_at.contains(Points::READER) {
            let bytes = flow.totals.payload_bytes_read;
            let goodput = bits_per_second(bytes, measurement.basis.measured());
            groups[description.group_index()].extend(goodput);
        }
    }
    groups
}

#[rustfmt::skip]
pub(super) const FLOW: &[DefinitionLine] = &[
    ("flow", "number", "The flow's number, counted from 0 in the order of the scenario or, in captures, of appearance."),
    ("name", "text", "The flow's name."),
    ("group", "text", "The group that the flow belongs to."),
    ("start_s", "s", "When the application opened the flow, since the experiment began."),
    ("established", "yes/no", "Whether the connection was established, during the warm-up or after it; missing where there is none, as with datagrams."),
    ("setup_time_s", "s", "From the flow's start to the establishment of the connection at the side that opened it."),
    ("finished", "yes/no", "Whether the flow completed its workload."),
    ("finished_s", "s", "When the flow finished, since the experiment began."),
    ("completion_time_s", "s", "From the flow's start to its finish."),
    ("failed", "yes/no", "Whether the connection was given up."),
    ("failed_s", "s", "When the connection was given up, since the experiment began."),
    ("failure", "text", "Why the connection was given up: refused, reset, timed-out, unreachable or other; empty if it was not."),
];

#[rustfmt::skip]
pub(super) const GROUP: &[DefinitionLine] = &[
    ("group", "text", "The group's name."),
    ("flows", "flows", "Flows in the group."),
    ("flows_established", "flows", "Flows with an established connection, during the warm-up or after it."),
    ("flows_finished", "flows", "Flows that completed their workload."),
    ("flows_failed", "flows", "Flows with a connection that was given up."),
    ("setup_time_mean_s", "s", "Mean, over established flows, of the time from the flow's start to the establishment."),
    ("goodput_per_flow_bits_per_second", "bit/s", "The group's goodput divided by its flows."),
];

#[rustfmt::skip]
pub(super) const RATES: &[DefinitionLine] = &[
    ("measured_s", "s", "Measured time, from the end of the warm-up to the end of the run. It is the same for every flow, whenever the flow started."),
    ("throughput_bits_per_second", "bit/s", "Bytes on the wire that reached the receiving host, headers and retransmissions included, per measured time."),
    ("goodput_bits_per_second", "bit/s", "Payload that the receiving application read in order, each byte once, per measured time. In captures, data counts as read when it has arrived in order at the receiving host; without a capture there, when it was acknowledged."),
];

#[rustfmt::skip]
pub(super) const COUNTS: &[DefinitionLine] = &[
    ("packets_sent", "packets", "Packets that left the data sender's host, those without payload included. If the connection carries data in both directions, packets that occupy no sequence numbers are not counted."),
    ("wire_bytes_sent", "B", "Bytes on the wire of the packets sent."),
    ("data_segments_sent", "segments", "Packets sent that carry payload; SYN and FIN are not payload."),
    ("payload_bytes_sent", "B", "Payload bytes sent, retransmissions and the old bytes of bundles included."),
    ("data_segments_retransmitted", "segments", "Data segments of which every byte had been sent before. A segment that also carries new bytes is a bundle."),
    ("bytes_retransmitted", "B", "Payload bytes of the data segments retransmitted."),
    ("retransmission_ratio", "ratio", "Data segments retransmitted over data segments sent."),
    ("bundles_sent", "segments", "Data segments that carry bytes sent before, ahead of new ones (redundant data bundling, RDB). They are not retransmissions."),
    ("bundled_bytes_sent", "B", "Payload bytes in bundles that had been sent before."),
    ("packets_received", "packets", "Packets that reached the receiving host."),
    ("wire_bytes_received", "B", "Bytes on the wire of the packets received."),
    ("payload_bytes_received", "B", "Payload bytes that reached the receiving host, repeated ones included."),
    ("payload_bytes_duplicate", "B", "Payload bytes received that had been received before."),
    ("payload_bytes_read", "B", "Payload bytes that the receiving application read, in order and each once; in captures, what has arrived in order, or was acknowledged, as for goodput. A datagram counts once, however often a link copies it (on the kernel only from 16 bytes of payload on)."),
    ("packets_lost", "packets", "Packets of the data sender that the network dropped, as reported where they were dropped. Between two captures, packets that left the sender's host and never reached the receiver's."),
    ("wire_bytes_lost", "B", "Bytes on the wire of the packets lost."),
    ("payload_bytes_lost", "B", "Payload bytes of the packets lost."),
    ("packet_loss_ratio", "ratio", "Packets lost over packets sent."),
    ("wire_byte_loss_ratio", "ratio", "Bytes on the wire lost over bytes on the wire sent."),
    ("payload_byte_loss_ratio", "ratio", "Payload bytes lost over payload bytes sent."),
    ("ack_packets_sent", "packets", "Packets without payload that left the receiver's host towards the data sender. A packet with data counts in its own direction, whatever it acknowledges."),
    ("ack_packets_lost", "packets", "Packets without payload towards the data sender that were dropped in the network."),
    ("ack_loss_ratio", "ratio", "ACK packets lost over ACK packets sent."),
    ("timeouts", "events", "Expiries of the data sender's retransmission timer."),
    ("fast_retransmits", "events", "Entries into fast retransmit."),
    ("syn_retries", "events", "SYN packets sent again."),
    ("zero_window_probes", "events", "Probes sent into a closed window."),
    ("packets_marked", "packets", "Packets received that carried a mark of congestion (Congestion Experienced, RFC 3168)."),
    ("wire_bytes_marked", "B", "Bytes on the wire of the packets marked."),
    ("packet_mark_ratio", "ratio", "Packets marked over packets received."),
];

#[rustfmt::skip]
pub(super) const LATENCIES: &[DefinitionLine] = &[
    ("ack_latency_mean_s", "s", "Mean ACK latency. Each segment of new data is one sample: from its first transmission to the first acknowledgment at the sender that covers it."),
    ("ack_latency_p50_s", "s", "Median ACK latency, at most 1 % above the true one."),
    ("ack_latency_p99_s", "s", "99th percentile of the ACK latency, at most 1 % above the true one."),
    ("ack_latency_max_s", "s", "Largest ACK latency."),
    ("delivery_latency_mean_s", "s", "Mean delivery latency. Each write of the application is one sample: from the write to the in-order read of its last byte. Each datagram that arrives is one sample, at its first copy."),
    ("delivery_latency_p50_s", "s", "Median delivery latency, at most 1 % above the true one."),
    ("delivery_latency_p99_s", "s", "99th percentile of the delivery latency, at most 1 % above the true one."),
    ("delivery_latency_max_s", "s", "Largest delivery latency."),
    ("responses", "responses", "Requests with a response that the requesting application has read completely."),
    ("response_time_mean_s", "s", "Mean response time. Each request is one sample of the flow that carries it: from the write of its first byte to the read of the response's last byte."),
    ("response_time_p50_s", "s", "Median response time, at most 1 % above the true one."),
    ("response_time_p99_s", "s", "99th percentile of the response time, at most 1 % above the true one."),
    ("response_time_max_s", "s", "Largest response time."),
];

#[rustfmt::skip]
pub(super) const FLOW_TROUBLE: &[DefinitionLine] = &[
    ("timeouts_in_a_row_max", "events", "Largest number of consecutive time-outs, with no segment of new data sent or acknowledged in between."),
    ("longest_wait_s", "s", "Longest time from a write until it was read completely, or until the run or the flow ended. Writes of the warm-up count from their write."),
    ("problematic", "yes/no", "Whether the network hardly served the flow. The connection was given up, or was requested 1 s or more before the end and never established, or a SYN was sent again (all of these also in the warm-up). Or three or more time-outs were consecutive (RFC 1122 §4.2.3.5), or a write waited for 10 s or more."),
];

#[rustfmt::skip]
pub(super) const GROUP_TROUBLE: &[DefinitionLine] = &[
    ("flows_problematic", "flows", "Flows that the network hardly served, for any of the four reasons of the following columns."),
    ("flows_without_connection", "flows", "Flows without a connection: it was given up, or was requested 1 s or more before the end and never established."),
    ("flows_with_syn_retries", "flows", "Flows that sent a SYN again, in the warm-up or after it."),
    ("flows_with_timeouts_in_a_row", "flows", "Flows with three or more consecutive time-outs, with no segment of new data sent or acknowledged in between (RFC 1122 §4.2.3.5)."),
    ("flows_with_long_waits", "flows", "Flows with a write that waited for 10 s or more until it was read completely, or until the end."),
];

#[rustfmt::skip]
pub(super) const LATENCY: &[DefinitionLine] = &[
    ("scope", "text", "`group` or `flow`; a group has all samples of its flows."),
    ("name", "text", "Name of the group or flow."),
    ("group", "text", "The group, or the group of the flow."),
    ("flow", "number", "The flow's number; missing for a group."),
    ("kind", "text", "`ack`: from the first transmission of new data to the first acknowledgment that covers it. `delivery`: from the application's write to the in-order read of its last byte. `response`, only for flows with requests: from the write of a request's first byte to the read of its response's last byte."),
    ("count", "samples", "Samples; a sample belongs to the instant at which it is complete."),
    ("min_s", "s", "Smallest latency."),
    ("mean_s", "s", "Mean latency."),
    ("p*_s", "s", "The percentile of the latency, at most 1 % (or 0.5 us) above the true one."),
    ("max_s", "s", "Largest latency."),
];

#[rustfmt::skip]
pub(super) const LATENCY_HISTOGRAM: &[DefinitionLine] = &[
    ("group", "text", "The group."),
    ("kind", "text", "`ack`, `delivery` or `response`, as in the table `latencies`."),
    ("lower_s", "s", "Smallest latency that falls into the slot."),
    ("upper_s", "s", "Smallest latency above the slot."),
    ("count", "samples", "Samples in the slot; empty slots are left out."),
];

#[rustfmt::skip]
pub(super) const FAIRNESS: &[DefinitionLine] = &[
    ("scope", "text", "`all`: among all flows; `group`: among the flows of one group; `between_groups`: among the groups' means per flow."),
    ("name", "text", "The group's name, or `all`."),
    ("members", "number", "How many flows or groups compete."),
    ("jain_index", "ratio", "Jain's index of goodput, 1 if all are equal; missing if all are 0."),
    ("minimum_to_maximum_ratio", "ratio", "The smallest goodput over the largest."),
    ("goodput_min_bits_per_second", "bit/s", "The smallest goodput."),
    ("goodput_max_bits_per_second", "bit/s", "The largest goodput."),
];

#[rustfmt::skip]
pub(super) const ENDPOINT: &[DefinitionLine] = &[
    ("time_s", "s", "When the sample was taken, since the experiment began; samples of the warm-up are kept."),
    ("flow", "number", "The flow's number."),
    ("name", "text", "The flow's name."),
    ("group", "text", "The flow's group."),
    ("cwnd_packets", "packets", "The data sender's congestion window in segments."),
    ("ssthresh_packets", "packets", "Its slow-start threshold in segments; missing while it is unlimited."),
    ("smoothed_rtt_s", "s", "Its smoothed round-trip time; missing before the first measurement."),
    ("flight_packets", "packets", "Its segments in flight."),
    ("state", "text", "The state of its loss recovery: open, disorder, window_reduced, recovery or loss."),
];
