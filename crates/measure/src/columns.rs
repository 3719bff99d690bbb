//! What each column means: the page about tables is made of this list, and a test keeps it complete.

use crate::table::{Table, Tables};
use std::sync::LazyLock;

/// The meaning of one column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnDefinition {
    /// The table.
    pub table: &'static str,
    /// The column's name; a `*` stands for a percentile, as in `p*_s` for `p99_9_s`.
    pub column: &'static str,
    /// Its unit, or what kind of value it is.
    pub unit: &'static str,
    /// What it is, in a sentence.
    pub definition: &'static str,
}

impl ColumnDefinition {
    /// Whether this defines the column `column` of the table `table`.
    pub fn defines(&self, table: &str, column: &str) -> bool {
        let is_column = match self.column.split_once('*') {
            None => self.column == column,
            Some((before, behind)) => column
                .strip_prefix(before)
                .and_then(|rest| rest.strip_suffix(behind))
                .is_some_and(|number| number.starts_with(|digit: char| digit.is_ascii_digit())),
        };
        self.table == table && is_column
    }
}

/// Column, unit, definition.
pub type DefinitionLine = (&'static str, &'static str, &'static str);

/// A table and its columns, in parts that tables can share.
pub type TableDefinition = (&'static str, &'static [&'static [DefinitionLine]]);

/// Every column that the tables of a [`Collector`](crate::Collector) can have, in the order of tables and
/// columns.
pub fn columns() -> &'static [ColumnDefinition] {
    static COLUMNS: LazyLock<Vec<ColumnDefinition>> = LazyLock::new(|| define(TABLES));
    &COLUMNS
}

/// The columns of these tables one by one: how other rooms define their tables.
pub fn define(tables: &[TableDefinition]) -> Vec<ColumnDefinition> {
    let lines = tables
        .iter()
        .flat_map(|(table, parts)| parts.iter().copied().flatten().map(|line| (*table, *line)));
    lines
        .map(|(table, (column, unit, definition))| ColumnDefinition {
            table,
            column,
            unit,
            definition,
        })
        .collect()
}

/// What is wrong with `definitions` of columns, given tables that have all of them, for tests: columns not
/// defined once or not in the order of the list, defined ones that are not there, definitions that are no
/// sentences or have another unit than the name says, columns of a table that are not equally long.
pub fn definition_faults(definitions: &[ColumnDefinition], tables: &Tables) -> Vec<String> {
    let of_tables = tables.iter().flat_map(|table| table_faults(definitions, table));
    let of_definitions = definitions.iter().flat_map(|defined| {
        let is_there = tables.get(defined.table).is_some_and(|table| {
            table.columns.iter().any(|column| defined.defines(table.name, &column.name))
        });
        let unit = UNITS.iter().find(|(end, _)| defined.column.ends_with(end));
        [
            (!is_there).then_some("is in no table"),
            (!defined.definition.ends_with('.')).then_some("has no sentence for a definition"),
            defined.unit.is_empty().then_some("has no unit"),
            unit.is_some_and(|(_, unit)| *unit != defined.unit).then_some("has another unit"),
        ]
        .into_iter()
        .flatten()
        .map(|fault| format!("{}.{} {fault}", defined.table, defined.column))
    });
    of_tables.chain(of_definitions).collect()
}

/// Units that names end in.
const UNITS: [(&str, &str); 5] = [
    ("_bits_per_second", "bit/s"),
    ("_packets", "packets"),
    ("_bytes", "B"),
    ("_s", "s"),
    ("_ratio", "ratio"),
];

fn table_faults(definitions: &[ColumnDefinition], table: &Table) -> Vec<String> {
    let (mut faults, mut last) = (Vec::new(), 0);
    for column in &table.columns {
        let name = format!("{}.{}", table.name, column.name);
        let mut defining = definitions
            .iter()
            .enumerate()
            .filter(|(_, defined)| defined.defines(table.name, &column.name))
            .map(|(place, _)| place);
        match (defining.next(), defining.next()) {
            (Some(place), None) if place < last => faults.push(format!("{name} is out of order")),
            (Some(place), None) => last = place,
            _ => faults.push(format!("{name} is not defined once")),
        }
        if column.values.len() != table.rows() {
            faults.push(format!("{name} is not as long as its table"));
        }
    }
    faults
}

type Line = DefinitionLine;

const TABLES: &[TableDefinition] = &[
    ("flows", &[FLOW, RATES, COUNTS, LATENCIES, FLOW_TROUBLE]),
    ("groups", &[GROUP, RATES, COUNTS, LATENCIES, GROUP_TROUBLE]),
    ("intervals", &[INTERVAL]),
    ("latencies", &[LATENCY]),
    ("latency_histogram", &[LATENCY_HISTOGRAM]),
    ("queues", &[QUEUE]),
    ("queue_drops", &[QUEUE_DROPS]),
    ("queue_loss_runs", &[QUEUE_LOSS_RUNS]),
    ("queue_loss_run_lengths", &[QUEUE_LOSS_RUN_LENGTHS]),
    ("queue_sojourn_histogram", &[QUEUE_SOJOURN_HISTOGRAM]),
    ("queue_backlog_histogram", &[QUEUE_BACKLOG_HISTOGRAM]),
    ("queue_intervals", &[QUEUE_INTERVAL]),
    ("slots", &[SLOTS, SLOT_COUNTS]),
    ("slot_intervals", &[SLOT_INTERVALS, SLOT_COUNTS]),
    ("queue_events", &[QUEUE_EVENTS]),
    ("fairness", &[FAIRNESS]),
    ("endpoint", &[ENDPOINT]),
    ("lateness", &[LATENESS]),
    ("hosts", &[HOST]),
    ("control_complaints", &[CONTROL_COMPLAINT]),
    ("senders", &[SENDER]),
    ("resumptions", &[RESUMPTION]),
    ("remembered", &[REMEMBERED]),
];

#[rustfmt::skip]
const RESUMPTION: &[Line] = &[
    ("time_s", "s", "When the phase began, since the experiment began; the table is there, of simulations, where connections opened at a host that remembers windows (`tcp.sharing`)."),
    ("flow", "number", "The number of the flow whose data it is."),
    ("name", "text", "The flow's name."),
    ("group", "text", "The group of the flow."),
    ("phase", "text", "`opening` when the handshake of a connection is over whose host had looked up a window for it; with careful-resume also reconnaissance, unvalidated, validating, safe-retreat, and normal when the resumption is over (RFC 9959)."),
    ("reason", "text", "Of an opening why it does not use what is remembered: unknown (nothing is), outdated, in-use (another connection resumes it), unfit (a loss in the handshake or another path), too-small (no more than the initial window); empty where it does. Of normal why the resumption is over: congested (before the jump), path-changed, nothing-to-gain, rate-limited, validated, retreated, timed-out or closed (the connection ended first)."),
    ("cwnd_packets", "packets", "The congestion window in segments with which the phase began."),
    ("saved_packets", "packets", "Of an opening the window in segments that was remembered of the peer, outdated or not; missing where nothing was, and in other phases."),
];

#[rustfmt::skip]
const REMEMBERED: &[Line] = &[
    ("host", "text", "Who remembers; there is a row for each peer of each host that remembers windows (`tcp.sharing`) when the run is over, as the report's `/proc/project` lists them, outdated ones included until they are looked up."),
    ("peer", "text", "The peer's address."),
    ("window_packets", "packets", "The window in segments that is remembered: the largest (classic), the mean (rfc9040), Linux' (tcp-metrics), the saved one (careful-resume)."),
    ("age_s", "s", "How long ago it was written down. On the kernel since its hosts had ended, which leave windows of connections that were still open, too."),
];

#[rustfmt::skip]
const SENDER: &[Line] = &[
    ("flow", "number", "The flow's number; there is a row for each data sender, of runs, not of captures."),
    ("name", "text", "The flow's name."),
    ("group", "text", "The group of the flow."),
    ("open_s", "s", "From the flow's start until it finished, was given up, or the run ended; this table counts the warm-up, too."),
    ("busy_s", "s", "Time in which something was written that was not acknowledged; in the rest the application had nothing to send."),
    ("window_limited_s", "s", "Of the busy time that in which the peer's window held data back."),
    ("buffer_limited_s", "s", "Of the busy time that in which all that the send buffer holds was sent, and the application had more."),
    ("total_segments_retransmitted", "segments", "Segments that the sender sent again."),
    ("cwnd_packets", "packets", "Congestion window at the end; 0 only on the kernel, where a congestion control may have set it: nothing but probes leaves then."),
    ("in_slow_start", "yes/no", "Whether the congestion window was below the slow-start threshold at the end: with no segment sent again, the flow never left slow start."),
];

#[rustfmt::skip]
const CONTROL_COMPLAINT: &[Line] = &[
    ("group", "text", "The group of flows; the table is there only if a congestion control did what it should not."),
    ("congestion", "text", "The congestion control, by its name in the scenario."),
    ("complaint", "text", "What was amiss: a window of no segments was asked for, or a pace at which a segment takes longer than a minute, or a hook was ended, and why, with the line of its source where that is known."),
    ("connections", "number", "Connections of the group with which it was."),
    ("times", "number", "How often it was, of all connections together; missing where only the first time is told."),
];

#[rustfmt::skip]
const FLOW: &[Line] = &[
    ("flow", "number", "The flow's number, counted from 0 in the order of the scenario, or in which flows came."),
    ("name", "text", "The flow's name."),
    ("group", "text", "The group that the flow belongs to."),
    ("start_s", "s", "When the application opened the flow, since the experiment began."),
    ("established", "yes/no", "Whether the connection was established, during the warm-up or after it; missing where there is none, as with datagrams."),
    ("setup_time_s", "s", "From the flow's start to the establishment of the connection at the side that opened it."),
    ("finished", "yes/no", "Whether the flow did all that it was meant to do."),
    ("finished_s", "s", "When the flow finished, since the experiment began."),
    ("completion_time_s", "s", "From the flow's start to its finish."),
    ("failed", "yes/no", "Whether the connection was given up."),
    ("failed_s", "s", "When the connection was given up, since the experiment began."),
    ("failure", "text", "Why the connection was given up: refused, reset, timed-out, unreachable or other; nothing where it was not."),
];

#[rustfmt::skip]
const GROUP: &[Line] = &[
    ("group", "text", "The group's name."),
    ("flows", "flows", "Flows in the group."),
    ("flows_established", "flows", "Flows whose connection was established, during the warm-up or after it."),
    ("flows_finished", "flows", "Flows that did all that they were meant to do."),
    ("flows_failed", "flows", "Flows whose connection was given up."),
    ("setup_time_mean_s", "s", "Mean, over established flows, of the time from the flow's start to the establishment."),
    ("goodput_per_flow_bits_per_second", "bit/s", "The group's goodput divided by its flows."),
];

#[rustfmt::skip]
const RATES: &[Line] = &[
    ("measured_s", "s", "Measured time, from the end of the warm-up to the end of the run; the same for every flow, whenever it started."),
    ("throughput_bits_per_second", "bit/s", "Bytes on the wire that reached the receiving host, headers and retransmissions included, per measured time."),
    ("goodput_bits_per_second", "bit/s", "Payload that the receiving application read in order, each byte once, per measured time. In captures what has arrived in order at the receiving host counts as read; where that was not watched, what it acknowledged."),
];

#[rustfmt::skip]
const COUNTS: &[Line] = &[
    ("packets_sent", "packets", "Packets that left the data sender's host, those without payload included; where data goes both ways on the connection, without those that take no place in its sequence numbers."),
    ("wire_bytes_sent", "B", "Bytes on the wire of the packets sent."),
    ("data_segments_sent", "segments", "Packets sent that carry payload; SYN and FIN are not payload."),
    ("payload_bytes_sent", "B", "Payload bytes sent, retransmissions and the old bytes of bundles included."),
    ("data_segments_retransmitted", "segments", "Data segments sent of which every byte had been sent before; one with new bytes, too, is a bundle."),
    ("bytes_retransmitted", "B", "Payload bytes of the data segments retransmitted."),
    ("retransmission_ratio", "ratio", "Data segments retransmitted over data segments sent."),
    ("bundles_sent", "segments", "Data segments sent that carry bytes that had been sent before, ahead of new ones, as redundant data bundling (RDB) makes them: they are no retransmissions."),
    ("bundled_bytes_sent", "B", "Payload bytes in bundles that had been sent before."),
    ("packets_received", "packets", "Packets that reached the receiving host."),
    ("wire_bytes_received", "B", "Bytes on the wire of the packets received."),
    ("payload_bytes_received", "B", "Payload bytes that reached the receiving host, repeated ones included."),
    ("payload_bytes_duplicate", "B", "Payload bytes received that had been received before."),
    ("payload_bytes_read", "B", "Payload bytes that the receiving application read, in order and each once; in captures, what has arrived in order, or was acknowledged, as for goodput. Of datagrams each once, too, however often a link has copied it (on the kernel those of 16 bytes of payload or more)."),
    ("packets_lost", "packets", "Packets of the data sender that were dropped in the network, as seen where it happened; between two captures, those that left its host and never reached the other one."),
    ("wire_bytes_lost", "B", "Bytes on the wire of the packets lost."),
    ("payload_bytes_lost", "B", "Payload bytes of the packets lost."),
    ("packet_loss_ratio", "ratio", "Packets lost over packets sent."),
    ("wire_byte_loss_ratio", "ratio", "Bytes on the wire lost over bytes on the wire sent."),
    ("payload_byte_loss_ratio", "ratio", "Payload bytes lost over payload bytes sent."),
    ("ack_packets_sent", "packets", "Packets without payload that left the receiver's host towards the data sender; a packet with data of the other direction is counted there, whatever it acknowledges."),
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
const LATENCIES: &[Line] = &[
    ("ack_latency_mean_s", "s", "Mean ACK latency; one sample for each segment of new data, from its first sending to the first acknowledgment at the sender that covers it."),
    ("ack_latency_p50_s", "s", "Median ACK latency, at most 1 % above the true one."),
    ("ack_latency_p99_s", "s", "99th percentile of the ACK latency, at most 1 % above the true one."),
    ("ack_latency_max_s", "s", "Largest ACK latency."),
    ("delivery_latency_mean_s", "s", "Mean delivery latency; one sample for each write of the application, from the write to the in-order read of its last byte, or for each datagram that arrived, for the first of its copies."),
    ("delivery_latency_p50_s", "s", "Median delivery latency, at most 1 % above the true one."),
    ("delivery_latency_p99_s", "s", "99th percentile of the delivery latency, at most 1 % above the true one."),
    ("delivery_latency_max_s", "s", "Largest delivery latency."),
    ("responses", "responses", "Requests whose response the application that asked has read whole."),
    ("response_time_mean_s", "s", "Mean response time; one sample for each request, at the flow that carries the requests: from the write of its first byte to the read of its response's last byte."),
    ("response_time_p50_s", "s", "Median response time, at most 1 % above the true one."),
    ("response_time_p99_s", "s", "99th percentile of the response time, at most 1 % above the true one."),
    ("response_time_max_s", "s", "Largest response time."),
];

#[rustfmt::skip]
const FLOW_TROUBLE: &[Line] = &[
    ("timeouts_in_a_row_max", "events", "Most time-outs one after another without a segment of new data sent or acknowledged in between."),
    ("longest_wait_s", "s", "The longest that a write waited to be read whole, or had been waiting when the run ended or the flow was over; what was written in the warm-up waits since then."),
    ("problematic", "yes/no", "Whether the network hardly served the flow: its connection was given up, or never came to be (though asked for 1 s or more before the end), or its SYN was sent again (all of these in the warm-up, too), or three or more time-outs came in a row (RFC 1122 §4.2.3.5), or a write waited for 10 s or more."),
];

#[rustfmt::skip]
const GROUP_TROUBLE: &[Line] = &[
    ("flows_problematic", "flows", "Flows that the network hardly served, for any of the four reasons of the following columns."),
    ("flows_without_connection", "flows", "Flows whose connection was given up, or never came to be though it was asked for 1 s or more before the end."),
    ("flows_with_syn_retries", "flows", "Flows whose SYN was sent again, in the warm-up or after it."),
    ("flows_with_timeouts_in_a_row", "flows", "Flows with three or more time-outs one after another without a segment of new data sent or acknowledged in between (RFC 1122 §4.2.3.5)."),
    ("flows_with_long_waits", "flows", "Flows of which a write waited for 10 s or more to be read whole, or had been waiting so long at the end."),
];

#[rustfmt::skip]
const INTERVAL: &[Line] = &[
    ("interval_s", "s", "Length of the window; each requested length is a series of its own."),
    ("start_s", "s", "Beginning of the window since the experiment began; the first begins with the end of the warm-up, and a last one that the run does not fill is left out. Of captures, silence that is long for its windows has no rows: 131 072 rows of it are shown, and 4096 more for each window in which something happened."),
    ("scope", "text", "`group`, or `flow` where series of flows were asked for."),
    ("name", "text", "Name of the group or flow."),
    ("group", "text", "The group, or the group of the flow."),
    ("flow", "number", "The flow's number; missing for a group."),
    ("throughput_bits_per_second", "bit/s", "Bytes on the wire that reached the receiving host in the window, over its length."),
    ("goodput_bits_per_second", "bit/s", "Payload read in order in the window, over its length."),
    ("packets_sent", "packets", "Packets that left the data sender's host in the window."),
    ("bytes_retransmitted", "B", "Payload bytes of the data segments retransmitted in the window."),
    ("bundled_bytes_sent", "B", "Payload bytes in the bundles of the window that had been sent before."),
    ("packets_lost", "packets", "Packets of the data sender dropped in the network in the window; between two captures, those that left in the window."),
    ("wire_bytes_sent", "B", "Bytes on the wire of the packets sent in the window."),
    ("wire_bytes_lost", "B", "Bytes on the wire of the packets lost in the window."),
    ("packet_loss_ratio", "ratio", "Packets lost in the window over packets sent in it; above 1 where more of earlier windows were lost than left in this one."),
    ("wire_byte_loss_ratio", "ratio", "Bytes on the wire lost in the window over those sent in it."),
    ("packets_received", "packets", "Packets that reached the receiving host in the window."),
    ("packets_marked", "packets", "Packets received in the window that carried a mark of congestion."),
];

#[rustfmt::skip]
const LATENCY: &[Line] = &[
    ("scope", "text", "`group` or `flow`; a group has all samples of its flows."),
    ("name", "text", "Name of the group or flow."),
    ("group", "text", "The group, or the group of the flow."),
    ("flow", "number", "The flow's number; missing for a group."),
    ("kind", "text", "`ack`: from the first sending of new data to the first acknowledgment that covers it; `delivery`: from the application's write to the in-order read of its last byte; `response`, only of flows that asked for something: from the write of a request's first byte to the read of its response's last byte."),
    ("count", "samples", "Samples; a sample belongs to the instant at which it is complete."),
    ("min_s", "s", "Smallest latency."),
    ("mean_s", "s", "Mean latency."),
    ("p*_s", "s", "The latency that this per cent of the samples do not exceed, at most 1 % (or 0.5 us) above the true one."),
    ("max_s", "s", "Largest latency."),
];

#[rustfmt::skip]
const LATENCY_HISTOGRAM: &[Line] = &[
    ("group", "text", "The group."),
    ("kind", "text", "`ack`, `delivery` or `response`, as in the table `latencies`."),
    ("lower_s", "s", "Smallest latency that falls into the slot."),
    ("upper_s", "s", "Smallest latency above the slot."),
    ("count", "samples", "Samples in the slot; empty slots are left out."),
];

#[rustfmt::skip]
const QUEUE: &[Line] = &[
    ("queue", "text", "The queue's name."),
    ("enqueued_packets", "packets", "Packets that the queue accepted."),
    ("enqueued_bytes", "B", "Bytes on the wire that the queue accepted."),
    ("drops_packets", "packets", "Packets dropped at the queue or lost on the link behind it."),
    ("drops_bytes", "B", "Bytes on the wire of these packets."),
    ("drops_queue_full_packets", "packets", "Packets dropped because the queue was full."),
    ("drops_queue_full_bytes", "B", "Bytes on the wire of these packets."),
    ("drops_early_packets", "packets", "Packets dropped by the queue discipline although there was room."),
    ("drops_early_bytes", "B", "Bytes on the wire of these packets."),
    ("drops_link_loss_packets", "packets", "Packets lost or damaged on the link behind the queue."),
    ("drops_link_loss_bytes", "B", "Bytes on the wire of these packets."),
    ("arrival_backlog_mean_packets", "packets", "Mean number of packets that an accepted packet found waiting."),
    ("arrival_backlog_p50_packets", "packets", "Median of the packets found waiting; exact below 256, else at most 1 % above."),
    ("arrival_backlog_p90_packets", "packets", "90th percentile of the packets found waiting."),
    ("arrival_backlog_p99_packets", "packets", "99th percentile of the packets found waiting."),
    ("arrival_backlog_max_packets", "packets", "Most packets that an accepted packet found waiting."),
    ("arrival_backlog_mean_bytes", "B", "Mean number of bytes that an accepted packet found waiting."),
    ("arrival_backlog_max_bytes", "B", "Most bytes that an accepted packet found waiting."),
    ("backlog_mean_packets", "packets", "Time-weighted mean of the packets waiting: the sum of the waiting times of packets that left, over the measured time."),
    ("backlog_mean_bytes", "B", "Time-weighted mean of the bytes waiting, counted likewise."),
    ("sojourn_mean_s", "s", "Mean time that a packet waited before it was transmitted."),
    ("sojourn_p50_s", "s", "Median of the waiting time, at most 1 % above the true one."),
    ("sojourn_p90_s", "s", "90th percentile of the waiting time."),
    ("sojourn_p99_s", "s", "99th percentile of the waiting time."),
    ("sojourn_max_s", "s", "Longest waiting time."),
    ("marks_packets", "packets", "Packets that the queue marked instead of dropping them (RFC 3168)."),
    ("marks_bytes", "B", "Bytes on the wire of these packets."),
    ("duplicated_packets", "packets", "Packets that the link behind the queue made, beside those that came to it."),
    ("damaged_packets", "packets", "Packets that the link behind the queue damaged; they are among those of `drops_link_loss_packets`, for no host takes them."),
    ("reordered_packets", "packets", "Packets that reached the end of the link behind the queue before one that was sent earlier."),
    ("events_left_out", "events", "Events of all queues that were asked for and that the table `queue_events` had no room for."),
];

#[rustfmt::skip]
const QUEUE_DROPS: &[Line] = &[
    ("queue", "text", "The queue's name."),
    ("group", "text", "The group whose packets these are, in either direction."),
    ("packets", "packets", "Packets of the group dropped at the queue or lost on the link behind it."),
    ("bytes", "B", "Bytes on the wire of these packets."),
    ("share", "ratio", "The group's part of all packets dropped there."),
    ("enqueued_packets", "packets", "Packets of the group that the queue accepted."),
    ("enqueued_bytes", "B", "Bytes on the wire of these packets."),
    ("offered_packets", "packets", "Packets of the group that came to the queue, let in or not."),
    ("offered_bytes", "B", "Bytes on the wire of these packets."),
    ("drops_queue_full_packets", "packets", "Packets of the group dropped because the queue was full."),
    ("drops_queue_full_bytes", "B", "Bytes on the wire of these packets."),
    ("drops_early_packets", "packets", "Packets of the group dropped by the queue discipline although there was room."),
    ("drops_early_bytes", "B", "Bytes on the wire of these packets."),
    ("drops_link_loss_packets", "packets", "Packets of the group lost or damaged on the link behind the queue."),
    ("drops_link_loss_bytes", "B", "Bytes on the wire of these packets."),
    ("packet_drop_ratio", "ratio", "The group's relative packet loss at the queue: packets that the queue dropped, for whatever reason, over packets offered."),
    ("byte_drop_ratio", "ratio", "The group's relative byte loss at the queue: bytes on the wire that the queue dropped over bytes offered."),
    ("marked_packets", "packets", "Packets of the group that the queue marked instead of dropping them."),
    ("marked_bytes", "B", "Bytes on the wire of these packets."),
    ("sojourn_mean_s", "s", "Mean time that a packet of the group waited before it was transmitted."),
    ("sojourn_p50_s", "s", "Median of the group's waiting time, at most 1 % above the true one."),
    ("sojourn_p90_s", "s", "90th percentile of the group's waiting time."),
    ("sojourn_p99_s", "s", "99th percentile of the group's waiting time."),
    ("sojourn_max_s", "s", "Longest waiting time of the group."),
];

#[rustfmt::skip]
const QUEUE_LOSS_RUNS: &[Line] = &[
    ("queue", "text", "The queue's name."),
    ("group", "text", "The group whose packets these are, in either direction."),
    ("packets_sent", "packets", "Packets of the group that came to the queue, in the order in which they came."),
    ("packets_lost", "packets", "Packets of the group dropped at the queue or lost on the link behind it."),
    ("packet_loss_ratio", "ratio", "Lost by sent."),
    ("in_succession_ratio", "ratio", "Share of the losses that are in runs of two or more packets of the group, one after another: refused arrivals with none in between that was let in; packets dropped out of the queue with none in between that left it; packets lost on the link with none in between that was not."),
    ("among_connections_ratio", "ratio", "Share of the losses that are in runs which hit more than one connection."),
    ("within_connections_ratio", "ratio", "Share of the losses that are in runs in which some connection lost more than one packet."),
];

#[rustfmt::skip]
const QUEUE_LOSS_RUN_LENGTHS: &[Line] = &[
    ("queue", "text", "The queue's name."),
    ("group", "text", "The group whose packets these are, in either direction."),
    ("length_packets", "packets", "Length of a run of lost packets, as in the table `queue_loss_runs`."),
    ("runs", "runs", "How often there was a run of this length."),
];

#[rustfmt::skip]
const QUEUE_SOJOURN_HISTOGRAM: &[Line] = &[
    ("queue", "text", "The queue's name."),
    ("group", "text", "The group whose packets these are, in either direction."),
    ("lower_s", "s", "Smallest waiting time that falls into the slot."),
    ("upper_s", "s", "Smallest waiting time above the slot."),
    ("count", "packets", "Packets of the group that waited so long and left; empty slots are left out."),
];

#[rustfmt::skip]
const QUEUE_BACKLOG_HISTOGRAM: &[Line] = &[
    ("queue", "text", "The queue's name."),
    ("of", "text", "What is counted of those that an accepted packet found waiting: `packets`, or, in scenarios that ask for `measure.queue_events`, `bytes` on the wire, too."),
    ("lower", "packets or B", "Smallest backlog that falls into the slot."),
    ("upper", "packets or B", "Smallest backlog above the slot."),
    ("count", "packets", "Accepted packets that found so much waiting; empty slots are left out."),
];

#[rustfmt::skip]
const QUEUE_INTERVAL: &[Line] = &[
    ("interval_s", "s", "Length of the window, `measure.queue_interval`."),
    ("start_s", "s", "Beginning of the window since the experiment began; the first begins with the end of the warm-up, and a last one that the run does not fill is left out."),
    ("queue", "text", "The queue's name."),
    ("enqueued_packets", "packets", "Packets that the queue accepted in the window."),
    ("drops_packets", "packets", "Packets dropped at the queue or lost on the link behind it in the window."),
    ("marks_packets", "packets", "Packets that the queue marked in the window."),
    ("arrival_backlog_mean_packets", "packets", "Mean number of packets that a packet accepted in the window found waiting."),
    ("arrival_backlog_max_packets", "packets", "Most packets that it found waiting."),
    ("sojourn_mean_s", "s", "Mean time that the packets waited whose departure was told in the window; the last one before a link falls idle is told when it next has something to do."),
    ("sojourn_max_s", "s", "Longest waiting time of these packets."),
];

#[rustfmt::skip]
const SLOTS: &[Line] = &[
    ("queue", "text", "The queue's name; only queues that have slots of a carrier have rows here."),
    ("frame_s", "s", "How long a frame of the carrier lasts."),
];

#[rustfmt::skip]
const SLOT_INTERVALS: &[Line] = &[
    ("interval_s", "s", "Length of the window, `measure.queue_interval`."),
    ("start_s", "s", "Beginning of the window since the experiment began; the first begins with the end of the warm-up."),
    ("queue", "text", "The queue's name."),
];

#[rustfmt::skip]
const SLOT_COUNTS: &[Line] = &[
    ("frames", "frames", "Frames of the carrier that began."),
    ("slots_assigned", "slots", "Slots of these frames that the queue had, used or not."),
    ("slots_guaranteed", "slots", "Those that were its own (CRA)."),
    ("slots_by_rate", "slots", "Those for a rate that it asked for (RBDC)."),
    ("slots_by_volume", "slots", "Those for a volume that it asked for (VBDC, AVBDC)."),
    ("slots_free", "slots", "Those that nobody asked for (FCA)."),
    ("slots_used", "slots", "Slots in which something was sent."),
    ("slot_use_ratio", "ratio", "Slots used over slots assigned."),
    ("capacity_bytes", "B", "Bytes that the slots assigned carry, with what the link adds to packets."),
    ("carried_bytes", "B", "Bytes that were sent in them."),
    ("capacity_use_ratio", "ratio", "Bytes sent over what the slots assigned carry."),
    ("assigned_bits_per_second", "bit/s", "What the slots assigned carry, over the time of the frames that began."),
    ("requests", "requests", "Requests of the terminal, those for nothing left out."),
    ("requested_mean_bits_per_second", "bit/s", "Mean of the rates asked for."),
    ("requested_max_bits_per_second", "bit/s", "The highest rate asked for."),
    ("requested_bytes", "B", "Volumes asked for, together."),
];

#[rustfmt::skip]
const QUEUE_EVENTS: &[Line] = &[
    ("time_s", "s", "When it happened, since the experiment began; the warm-up included. Only scenarios that ask for `measure.queue_events` have rows here."),
    ("queue", "text", "The queue's name."),
    ("flow", "number", "The number of the packet's flow."),
    ("group", "text", "The flow's group."),
    ("event", "text", "`accepted`: the queue let the packet in; `refused`: it did not; `dropped`: dropped after it was let in; `lost`: on the link behind the queue; `marked` instead of being dropped."),
    ("reason", "text", "Why it was dropped: `queue_full`, `early` or `link_loss`; else nothing."),
    ("wire_bytes", "B", "Bytes of the packet on the wire."),
    ("backlog_packets", "packets", "Packets that waited before it came, or, of one that was dropped after it was let in, with it; missing where that is not told."),
    ("backlog_bytes", "B", "Bytes on the wire of these packets."),
    ("waited_s", "s", "How long it had waited when it was dropped, where it was let in before."),
];

#[rustfmt::skip]
const FAIRNESS: &[Line] = &[
    ("scope", "text", "`all`: among all flows; `group`: among the flows of one group; `between_groups`: among the groups' means per flow."),
    ("name", "text", "The group's name, or `all`."),
    ("members", "number", "How many flows or groups compete."),
    ("jain_index", "ratio", "Jain's index of goodput, 1 where all are equal; missing where nobody has any."),
    ("minimum_to_maximum_ratio", "ratio", "The smallest goodput over the largest."),
    ("goodput_min_bits_per_second", "bit/s", "The smallest goodput."),
    ("goodput_max_bits_per_second", "bit/s", "The largest goodput."),
];

#[rustfmt::skip]
const ENDPOINT: &[Line] = &[
    ("time_s", "s", "When the sample was taken, since the experiment began; samples of the warm-up are kept."),
    ("flow", "number", "The flow's number."),
    ("name", "text", "The flow's name."),
    ("group", "text", "The flow's group."),
    ("cwnd_packets", "packets", "The data sender's congestion window in segments."),
    ("ssthresh_packets", "packets", "Its slow-start threshold in segments; missing while it is unlimited."),
    ("smoothed_rtt_s", "s", "Its smoothed round-trip time; missing before the first measurement."),
    ("flight_packets", "packets", "Its segments in flight."),
    ("state", "text", "What its loss recovery is doing: open, disorder, window_reduced, recovery or loss."),
];

#[rustfmt::skip]
const LATENESS: &[Line] = &[
    ("bound_s", "s", "What the 99th percentile of the lateness may be: 0.2 ms, or a tenth of the time that a full packet takes on the bottleneck where that is longer. Only runs in real time have this table."),
    ("exceeds_bound", "yes/no", "Whether the 99th percentile of the lateness is above the bound, so that the run was not what it claims to be."),
    ("deliveries", "packets", "Packets handed over to hosts, warm-up included."),
    ("deliveries_beyond_bound", "packets", "Packets handed over later than the bound after they were due."),
    ("lateness_mean_s", "s", "Mean lateness; one sample for each delivery, from the instant at which it was due to the one at which the router handed it to the host's kernel."),
    ("lateness_p50_s", "s", "Median of the lateness, at most 1 % (or 0.5 us) above the true one."),
    ("lateness_p90_s", "s", "90th percentile of the lateness."),
    ("lateness_p99_s", "s", "99th percentile of the lateness."),
    ("lateness_p99_9_s", "s", "99.9th percentile of the lateness."),
    ("lateness_max_s", "s", "Largest lateness."),
    ("batch_mean_packets", "packets", "Mean number of packets of one host that the router found waiting at once; 1 where it took every packet as it came."),
    ("batch_p99_packets", "packets", "99th percentile of the packets found waiting at once."),
    ("batch_max_packets", "packets", "Most packets found waiting at once."),
    ("packets_taken", "packets", "Packets that the router took from hosts, whatever became of them."),
    ("packets_unmeasured", "packets", "Packets carried although they belong to no flow that is measured, such as ICMP."),
    ("packets_discarded", "packets", "Packets for nobody in the experiment, such as announcements of IPv6 neighbours; the router threw them away."),
    ("packets_refused", "packets", "Packets that the kernel did not take at their destination."),
    ("datagrams_missing", "packets", "Datagrams that hosts sent and that never came to the router, at least, as the numbers in those after them tell: the host's own device had no room for them. They count nowhere else. Those with fewer than 16 bytes of payload have no numbers; behind the kernel's own router nobody looks."),
    ("events_missed", "events", "Events of the kernel's endpoints, or of its own router, that no program told of, at least, so that some counts are too low: they came faster than they were read, or, behind the kernel's own router, the hosts' devices counted more packets than were told of; 0 where the kernel is not watched by tracepoints."),
];

#[rustfmt::skip]
const HOST: &[Line] = &[
    ("host", "text", "The host's name in the scenario. Only runs in real time have this table."),
    ("timed_writes", "writes", "Writes of the host's applications that were due at an instant, as those of thin streams are; warm-up included."),
    ("late_write_mean_s", "s", "How late the timed writes were on average, since the host's process was not woken in time; missing where there were none. Latencies are measured from the write that was made, not from the one that was due."),
    ("late_write_p99_s", "s", "99th percentile of how late the timed writes were."),
    ("late_write_max_s", "s", "How late the latest of the timed writes was."),
    ("unexpected_connections", "connections", "Connections that came from where nobody was expected; they were closed."),
    ("broken_connections", "connections", "Connections that the other end broke off while this host was reading."),
];
