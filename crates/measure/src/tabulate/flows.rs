//! Tables of flows and groups: `flows`, `groups`, `latencies`, `latency_histogram`, `endpoint` and `fairness`.

use super::{Basis, Measurement, OpenFlow, Scope};
use crate::distribution::{Percentiles, Summary};
use crate::flow::{FlowProblems, Totals};
use crate::formula;
use crate::formula::{Fairness, bits_per_second, ratio, seconds};
use crate::histogram::Bucket;
use crate::rows::{EndpointSample, FlowRow, GroupRow, Labels, Measured, SHOWN_PERCENTILES};
use crate::settings::ObservationPoints as Points;
use crate::table::{Table, TableBuilder};
use crate::table_columns;
use fairwind_units::Span;

/// Rows in the order in which they are given.
pub(super) fn flows_table(basis: &Basis<'_>, rows: &[FlowRow]) -> Table {
    let table = with_flow(TableBuilder::new("flows", rows), basis);
    with_flow_trouble(with_measures(table, basis)).build()
}

/// Rows in the order of the groups.
pub(super) fn groups_table(basis: &Basis<'_>, rows: &[GroupRow<'_>]) -> Table {
    let table = with_group(TableBuilder::new("groups", rows), basis);
    with_group_trouble(with_measures(table, basis)).build()
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
    let table = with_counts(with_rates(table, basis.measured));
    with_latencies(table, basis.percentiles)
}

/// What stands in a column where `points` are watched.
fn known<Row: Measured, Value>(
    points: Points,
    value: impl Fn(&Totals) -> Value,
) -> impl Fn(&Row) -> Option<Value> {
    move |row| row.knows(points).then(|| value(row.totals()))
}

/// A share of what left the sender's host, or of its acknowledgments, where both hosts are watched.
fn lost_share<Row: Measured>(
    row: &Row,
    part: fn(&Totals) -> u64,
    whole: fn(&Totals) -> u64,
) -> Option<f64> {
    let sum = row.totals_at_both_hosts();
    ratio(part(sum), whole(sum)).filter(|_| row.knows(Points::HOSTS))
}

/// The rate of `bytes` where `points` are watched; without the measured time it is missing, to be made of the bytes when
/// that is known.
fn rate(row: &impl Measured, measured: Option<Span>, points: Points, bytes: u64) -> Option<f64> {
    bits_per_second(bytes, measured.filter(|_| row.knows(points))?)
}

fn goodput_per_flow(row: &GroupRow<'_>, measured: Span) -> Option<f64> {
    let goodput = bits_per_second(row.totals().payload_bytes_read, measured)?;
    let flows = row.sum.watched.flows_at(Points::READER);
    (flows > 0).then(|| goodput / formula::real(flows))
}

/// The flow's problems where `points` are watched.
fn seen(row: &FlowRow, points: Points) -> Option<&FlowProblems> {
    row.knows(points).then_some(&row.problems)
}

/// A number of flows where `points` are watched.
fn counted(row: &GroupRow<'_>, points: Points, flows: u64) -> Option<u64> {
    row.knows(points).then_some(flows)
}

/// A share where `points` are watched.
fn share<Row: Measured>(
    row: &Row,
    points: Points,
    part: fn(&Totals) -> u64,
    whole: fn(&Totals) -> u64,
) -> Option<f64> {
    ratio(part(row.totals()), whole(row.totals())).filter(|_| row.knows(points))
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
    with_latency(TableBuilder::new("latencies", &rows), basis).build()
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
    with_slots(TableBuilder::new("latency_histogram", &rows)).build()
}

/// Rows in the order in which the samples were taken.
pub(super) fn endpoint_table(
    basis: &Basis<'_>,
    samples: &[EndpointSample],
    labels: &Labels,
) -> Table {
    with_endpoint(TableBuilder::new("endpoint", samples), basis, labels).build()
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
    with_fairness(TableBuilder::new("fairness", &rows)).build()
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

table_columns! {
    pub(super) FLOW: with_flow(FlowRow, basis: &Basis<'_>);
    "flow", "number", with(|row| row.number), "The flow's number, counted from 0 in the order of the scenario or, in captures, of appearance.";
    "name", "text", with_text(|row, text| text.push_str(&row.description.name)), "The flow's name.";
    "group", "text", with_text(|row, text| text.push_str(basis.group_name(&row.description))), "The group that the flow belongs to.";
    "start_s", "s", with(|row| basis.seconds_at(row.description.start)), "When the application opened the flow, since the experiment began.";
    "established", "yes/no", with_known(|row| of_connection(row).then_some(row.milestones.established.is_some())), "Whether the connection was established, during the warm-up or after it; missing where there is none, as with datagrams.";
    "setup_time_s", "s", with(|row| row.setup_time().map(Span::as_secs_f64)), "From the flow's start to the establishment of the connection at the side that opened it.";
    "finished", "yes/no", with_known(|row| of_connection(row).then_some(row.milestones.finished.is_some())), "Whether the flow completed its workload.";
    "finished_s", "s", with(|row| row.milestones.finished.map(|at| basis.seconds_at(at))), "When the flow finished, since the experiment began.";
    "completion_time_s", "s", with(|row| row.completion_time().map(Span::as_secs_f64)), "From the flow's start to its finish.";
    "failed", "yes/no", with_known(|row| of_connection(row).then_some(row.milestones.failed.is_some())), "Whether the connection was given up.";
    "failed_s", "s", with(|row| row.milestones.failed.map(|(at, _)| basis.seconds_at(at))), "When the connection was given up, since the experiment began.";
    "failure", "text", with_text(|row, text| text.push_str(row.milestones.failure())), "Why the connection was given up: refused, reset, timed-out, unreachable or other; empty if it was not.";
}

table_columns! {
    pub(super) GROUP: with_group['a](GroupRow<'a>, basis: &Basis<'_>);
    "group", "text", with_text(|row, text| text.push_str(row.name)), "The group's name.";
    "flows", "flows", with(|row| row.sum.watched.flows()), "Flows in the group.";
    "flows_established", "flows", with_known(|row| of_connection(row).then_some(row.sum.established)), "Flows with an established connection, during the warm-up or after it.";
    "flows_finished", "flows", with_known(|row| of_connection(row).then_some(row.sum.finished)), "Flows that completed their workload.";
    "flows_failed", "flows", with_known(|row| of_connection(row).then_some(row.sum.failed)), "Flows with a connection that was given up.";
    "setup_time_mean_s", "s", with(|row| formula::mean(row.sum.setup_nanos, row.sum.established).map(|nanos| nanos / 1e9)), "Mean, over established flows, of the time from the flow's start to the establishment.";
    "goodput_per_flow_bits_per_second", "bit/s", with(|row| goodput_per_flow(row, basis.measured?)), "The group's goodput divided by its flows.";
}

table_columns! {
    pub(super) RATES: with_rates[Row: Measured](Row, measured: Option<Span>);
    "measured_s", "s", with_known(|_| measured.map(Span::as_secs_f64)), "Measured time, from the end of the warm-up to the end of the run. It is the same for every flow, whenever the flow started.";
    "throughput_bits_per_second", "bit/s", with(|row| rate(row, measured, Points::ARRIVING, row.totals().wire_bytes_received)), "Bytes on the wire that reached the receiving host, headers and retransmissions included, per measured time.";
    "goodput_bits_per_second", "bit/s", with(|row| rate(row, measured, Points::READER, row.totals().payload_bytes_read)), "Payload that the receiving application read in order, each byte once, per measured time. In captures, data counts as read when it has arrived in order at the receiving host; without a capture there, when it was acknowledged.";
}

table_columns! {
    pub(super) COUNTS: with_counts[Row: Measured](Row);
    "packets_sent", "packets", with_known(known(Points::LEAVING, |sum| sum.packets_sent)), "Packets that left the data sender's host, those without payload included. If the connection carries data in both directions, packets that occupy no sequence numbers are not counted.";
    "wire_bytes_sent", "B", with_known(known(Points::LEAVING, |sum| sum.wire_bytes_sent)), "Bytes on the wire of the packets sent.";
    "data_segments_sent", "segments", with_known(known(Points::LEAVING, |sum| sum.data_segments_sent)), "Packets sent that carry payload; SYN and FIN are not payload.";
    "payload_bytes_sent", "B", with_known(known(Points::LEAVING, |sum| sum.payload_bytes_sent)), "Payload bytes sent, retransmissions and the old bytes of bundles included.";
    "data_segments_retransmitted", "segments", with_known(known(Points::SENDER, |sum| sum.data_segments_retransmitted)), "Data segments of which every byte had been sent before. A segment that also carries new bytes is a bundle.";
    "bytes_retransmitted", "B", with_known(known(Points::SENDER, |sum| sum.payload_bytes_retransmitted)), "Payload bytes of the data segments retransmitted.";
    "retransmission_ratio", "ratio", with(|row| share(row, Points::SENDER, |sum| sum.data_segments_retransmitted, |sum| sum.data_segments_sent)), "Data segments retransmitted over data segments sent.";
    "bundles_sent", "segments", with_known(known(Points::SENDER, |sum| sum.bundles_sent)), "Data segments that carry bytes sent before, ahead of new ones (redundant data bundling, RDB). They are not retransmissions.";
    "bundled_bytes_sent", "B", with_known(known(Points::SENDER, |sum| sum.payload_bytes_bundled)), "Payload bytes in bundles that had been sent before.";
    "packets_received", "packets", with_known(known(Points::ARRIVING, |sum| sum.packets_received)), "Packets that reached the receiving host.";
    "wire_bytes_received", "B", with_known(known(Points::ARRIVING, |sum| sum.wire_bytes_received)), "Bytes on the wire of the packets received.";
    "payload_bytes_received", "B", with_known(known(Points::ARRIVING, |sum| sum.payload_bytes_received)), "Payload bytes that reached the receiving host, repeated ones included.";
    "payload_bytes_duplicate", "B", with_known(known(Points::RECEIVER, |sum| sum.payload_bytes_duplicate)), "Payload bytes received that had been received before.";
    "payload_bytes_read", "B", with_known(known(Points::READER, |sum| sum.payload_bytes_read)), "Payload bytes that the receiving application read, in order and each once; in captures, what has arrived in order, or was acknowledged, as for goodput. A datagram counts once, however often a link copies it (on the kernel only from 16 bytes of payload on).";
    "packets_lost", "packets", with_known(known(Points::HOSTS, |sum| sum.packets_lost)), "Packets of the data sender that the network dropped, as reported where they were dropped. Between two captures, packets that left the sender's host and never reached the receiver's.";
    "wire_bytes_lost", "B", with_known(known(Points::HOSTS, |sum| sum.wire_bytes_lost)), "Bytes on the wire of the packets lost.";
    "payload_bytes_lost", "B", with_known(known(Points::HOSTS, |sum| sum.payload_bytes_lost)), "Payload bytes of the packets lost.";
    "packet_loss_ratio", "ratio", with(|row| lost_share(row, |sum| sum.packets_lost, |sum| sum.packets_sent)), "Packets lost over packets sent.";
    "wire_byte_loss_ratio", "ratio", with(|row| lost_share(row, |sum| sum.wire_bytes_lost, |sum| sum.wire_bytes_sent)), "Bytes on the wire lost over bytes on the wire sent.";
    "payload_byte_loss_ratio", "ratio", with(|row| lost_share(row, |sum| sum.payload_bytes_lost, |sum| sum.payload_bytes_sent)), "Payload bytes lost over payload bytes sent.";
    "ack_packets_sent", "packets", with_known(known(Points::RECEIVER, |sum| sum.ack_packets_sent)), "Packets without payload that left the receiver's host towards the data sender. A packet with data counts in its own direction, whatever it acknowledges.";
    "ack_packets_lost", "packets", with_known(known(Points::ENDPOINTS, |sum| sum.ack_packets_lost)), "Packets without payload towards the data sender that were dropped in the network.";
    "ack_loss_ratio", "ratio", with(|row| lost_share(row, |sum| sum.ack_packets_lost, |sum| sum.ack_packets_sent)), "ACK packets lost over ACK packets sent.";
    "timeouts", "events", with_known(known(Points::SENDER, |sum| sum.timeouts)), "Expiries of the data sender's retransmission timer.";
    "fast_retransmits", "events", with_known(known(Points::SENDER, |sum| sum.fast_retransmits)), "Entries into fast retransmit.";
    "syn_retries", "events", with_known(known(Points::SENDER, |sum| sum.syn_retries)), "SYN packets sent again.";
    "zero_window_probes", "events", with_known(known(Points::SENDER, |sum| sum.zero_window_probes)), "Probes sent into a closed window.";
    "packets_marked", "packets", with_known(known(Points::RECEIVER, |sum| sum.packets_marked)), "Packets received that carried a mark of congestion (Congestion Experienced, RFC 3168).";
    "wire_bytes_marked", "B", with_known(known(Points::RECEIVER, |sum| sum.wire_bytes_marked)), "Bytes on the wire of the packets marked.";
    "packet_mark_ratio", "ratio", with(|row| share(row, Points::RECEIVER, |sum| sum.packets_marked, |sum| sum.packets_received)), "Packets marked over packets received.";
}

table_columns! {
    pub(super) LATENCIES: with_latencies[Row: Measured](Row, percentiles: &Percentiles);
    "ack_latency_mean_s", "s", = with_times("ack_latency_", &SHOWN_PERCENTILES, percentiles, |row| &row.latencies().ack), "Mean ACK latency. Each segment of new data is one sample: from its first transmission to the first acknowledgment at the sender that covers it.";
    "ack_latency_p50_s", "s", _, "Median ACK latency, at most 1 % above the true one.";
    "ack_latency_p99_s", "s", _, "99th percentile of the ACK latency, at most 1 % above the true one.";
    "ack_latency_max_s", "s", _, "Largest ACK latency.";
    "delivery_latency_mean_s", "s", = with_times("delivery_latency_", &SHOWN_PERCENTILES, percentiles, |row| &row.latencies().delivery), "Mean delivery latency. Each write of the application is one sample: from the write to the in-order read of its last byte. Each datagram that arrives is one sample, at its first copy.";
    "delivery_latency_p50_s", "s", _, "Median delivery latency, at most 1 % above the true one.";
    "delivery_latency_p99_s", "s", _, "99th percentile of the delivery latency, at most 1 % above the true one.";
    "delivery_latency_max_s", "s", _, "Largest delivery latency.";
    "responses", "responses", with_known(|row| (row.knows(Points::APPLICATIONS) && of_connection(row)).then_some(row.latencies().response.count)), "Requests with a response that the requesting application has read completely.";
    "response_time_mean_s", "s", = with_times("response_time_", &SHOWN_PERCENTILES, percentiles, |row| &row.latencies().response), "Mean response time. Each request is one sample of the flow that carries it: from the write of its first byte to the read of the response's last byte.";
    "response_time_p50_s", "s", _, "Median response time, at most 1 % above the true one.";
    "response_time_p99_s", "s", _, "99th percentile of the response time, at most 1 % above the true one.";
    "response_time_max_s", "s", _, "Largest response time.";
}

table_columns! {
    pub(super) FLOW_TROUBLE: with_flow_trouble(FlowRow);
    "timeouts_in_a_row_max", "events", with_known(|row| seen(row, Points::SENDER).map(|problems| problems.timeouts_in_a_row)), "Largest number of consecutive time-outs, with no segment of new data sent or acknowledged in between.";
    "longest_wait_s", "s", with(|row| seen(row, Points::APPLICATIONS)?.longest_wait.map(Span::as_secs_f64)), "Longest time from a write until it was read completely, or until the run or the flow ended. Writes of the warm-up count from their write.";
    "problematic", "yes/no", with_known(|row| seen(row, Points::SENDER).map(FlowProblems::is_problematic)), "Whether the network hardly served the flow. The connection was given up, or was requested 1 s or more before the end and never established, or a SYN was sent again (all of these also in the warm-up). Or three or more time-outs were consecutive (RFC 1122 §4.2.3.5), or a write waited for 10 s or more.";
}

table_columns! {
    pub(super) GROUP_TROUBLE: with_group_trouble['a](GroupRow<'a>);
    "flows_problematic", "flows", with_known(|row| counted(row, Points::SENDER, row.sum.problem_counts.problematic)), "Flows that the network hardly served, for any of the four reasons of the following columns.";
    "flows_without_connection", "flows", with_known(|row| counted(row, Points::SENDER, row.sum.problem_counts.failed)), "Flows without a connection: it was given up, or was requested 1 s or more before the end and never established.";
    "flows_with_syn_retries", "flows", with_known(|row| counted(row, Points::SENDER, row.sum.problem_counts.with_repeated_syn)), "Flows that sent a SYN again, in the warm-up or after it.";
    "flows_with_timeouts_in_a_row", "flows", with_known(|row| counted(row, Points::SENDER, row.sum.problem_counts.with_repeated_timeouts)), "Flows with three or more consecutive time-outs, with no segment of new data sent or acknowledged in between (RFC 1122 §4.2.3.5).";
    "flows_with_long_waits", "flows", with_known(|row| counted(row, Points::APPLICATIONS, row.sum.problem_counts.with_long_waits)), "Flows with a write that waited for 10 s or more until it was read completely, or until the end.";
}

table_columns! {
    pub(super) LATENCY: with_latency['a](Row<'a>, basis: &Basis<'_>);
    "scope", "text", with_text(|row, text| text.push_str(row.scope.kind)), "`group` or `flow`; a group has all samples of its flows.";
    "name", "text", with_text(|row, text| text.push_str(row.scope.name)), "Name of the group or flow.";
    "group", "text", with_text(|row, text| text.push_str(row.scope.group)), "The group, or the group of the flow.";
    "flow", "number", with(|row| row.scope.flow), "The flow's number; missing for a group.";
    "kind", "text", with_text(|row, text| text.push_str(row.kind)), "`ack`: from the first transmission of new data to the first acknowledgment that covers it. `delivery`: from the application's write to the in-order read of its last byte. `response`, only for flows with requests: from the write of a request's first byte to the read of its response's last byte.";
    "count", "samples", with(|row| row.latency.count), "Samples; a sample belongs to the instant at which it is complete.";
    "min_s", "s", with(|row| row.latency.minimum_s()), "Smallest latency.";
    "mean_s", "s", = with_times("", &basis.settings.percentiles, basis.percentiles, |row| row.latency), "Mean latency.";
    "p*_s", "s", _, "The percentile of the latency, at most 1 % (or 0.5 us) above the true one.";
    "max_s", "s", _, "Largest latency.";
}

table_columns! {
    pub(super) LATENCY_HISTOGRAM: with_slots['a](SlotRow<'a>);
    "group", "text", with_text(|row, text| text.push_str(row.group)), "The group.";
    "kind", "text", with_text(|row, text| text.push_str(row.kind)), "`ack`, `delivery` or `response`, as in the table `latencies`.";
    "lower_s", "s", with(|row| seconds(row.slot.lower)), "Smallest latency that falls into the slot.";
    "upper_s", "s", with(|row| seconds(row.slot.upper)), "Smallest latency above the slot.";
    "count", "samples", with(|row| row.slot.count), "Samples in the slot; empty slots are left out.";
}

table_columns! {
    pub(super) FAIRNESS: with_fairness['a](FairnessRow<'a>);
    "scope", "text", with(|row| row.scope.to_owned()), "`all`: among all flows; `group`: among the flows of one group; `between_groups`: among the groups' means per flow.";
    "name", "text", with(|row| row.name.to_owned()), "The group's name, or `all`.";
    "members", "number", with(|row| row.fairness.members), "How many flows or groups compete.";
    "jain_index", "ratio", with(|row| row.fairness.jain_index()), "Jain's index of goodput, 1 if all are equal; missing if all are 0.";
    "minimum_to_maximum_ratio", "ratio", with(|row| row.fairness.minimum_to_maximum()), "The smallest goodput over the largest.";
    "goodput_min_bits_per_second", "bit/s", with(|row| row.fairness.minimum), "The smallest goodput.";
    "goodput_max_bits_per_second", "bit/s", with(|row| row.fairness.maximum), "The largest goodput.";
}

table_columns! {
    pub(super) ENDPOINT: with_endpoint(EndpointSample, basis: &Basis<'_>, labels: &Labels);
    "time_s", "s", with(|sample| basis.seconds_at(sample.at)), "When the sample was taken, since the experiment began; samples of the warm-up are kept.";
    "flow", "number", with(|sample| sample.flow), "The flow's number.";
    "name", "text", with(|sample| labels[&sample.flow].name.clone()), "The flow's name.";
    "group", "text", with(|sample| basis.group_name(&labels[&sample.flow]).to_owned()), "The flow's group.";
    "cwnd_packets", "packets", with(|sample| u64::from(sample.cwnd_packets)), "The data sender's congestion window in segments.";
    "ssthresh_packets", "packets", with(|sample| sample.ssthresh_packets.map(u64::from)), "Its slow-start threshold in segments; missing while it is unlimited.";
    "smoothed_rtt_s", "s", with(|sample| sample.smoothed_rtt.map(Span::as_secs_f64)), "Its smoothed round-trip time; missing before the first measurement.";
    "flight_packets", "packets", with(|sample| u64::from(sample.flight_packets)), "Its segments in flight.";
    "state", "text", with(|sample| sample.state.name().to_owned()), "The state of its loss recovery: open, disorder, window_reduced, recovery or loss.";
}
