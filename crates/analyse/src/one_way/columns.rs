//! What each column of the tables of passages means.

use fairwind_measure::{ColumnDefinition, DefinitionLine, TableDefinition, define};
use std::sync::LazyLock;

/// Every column of the tables that are made of two captures, in the order of tables and columns.
pub fn columns() -> &'static [ColumnDefinition] {
    static COLUMNS: LazyLock<Vec<ColumnDefinition>> = LazyLock::new(|| define(TABLES));
    &COLUMNS
}

const TABLES: &[TableDefinition] = &[
    ("passages", &[SCOPE, PACKETS, BYTES, RANGES, BUNDLES, RATIOS]),
    ("first_arrivals", &[SCOPE, FIRST_ARRIVALS]),
    ("delays", &[SCOPE, DELAYS]),
    ("delay_histogram", &[DELAY_HISTOGRAM]),
    ("queueing", &[QUEUEING]),
    ("losses", &[LOSSES]),
    ("loss_runs", &[LOSS_RUNS]),
    ("loss_run_lengths", &[RUN_LENGTHS]),
    ("clocks", &[CLOCKS]),
];

#[rustfmt::skip]
const SCOPE: &[DefinitionLine] = &[
    ("scope", "text", "What the row is about: `group` or `flow`."),
    ("name", "text", "Name of the group or the flow."),
    ("group", "text", "Name of the connection's group, as in the table `connections`: both of its flows are in it here."),
    ("flow", "number", "Number of the flow, as in the table `flows`; missing for a group."),
];

#[rustfmt::skip]
const PACKETS: &[DefinitionLine] = &[
    ("packets_sent", "packets", "Packets of the direction of the flow's data, of any kind, that the capture shows where they left."),
    ("packets_received", "packets", "Packets that the capture shows where they arrived, copies included."),
    ("packets_lost", "packets", "Packets that left and of which nothing arrived: waited for as long as the setting says, or to the end, if something that left later had arrived or the rest of the capture was longer than twice the longest delay."),
    ("packets_partly_lost", "packets", "Packets, larger than the network's, that were cut on their way and of which a part arrived and a part was lost."),
    ("packets_unjudged", "packets", "Packets of which nobody can know: still under way when the captures ended, gone before the receiver's capture began, or acknowledged though its capture misses them."),
    ("packets_duplicated", "packets", "Packets that arrived again, though they left once: copies that the network made."),
    ("packets_departure_unseen", "packets", "Packets that arrived and that the capture where they left misses."),
    ("packets_cut", "packets", "Packets that left as one and arrived as several: segmentation offload behind the sender's tap, or something that cuts on the way."),
    ("packets_merged", "packets", "Packets that arrived as one and had left as several: receive offload before the receiver's tap, or something that joins on the way."),
    ("data_packets_sent", "packets", "Packets with payload that left."),
    ("data_packets_received", "packets", "Packets with payload that arrived, copies included."),
    ("ack_packets_sent", "packets", "Packets of the other direction without payload, where they left: acknowledgments, and what sets up and ends the connection."),
    ("ack_packets_lost", "packets", "Of these, the ones that did not arrive."),
];

#[rustfmt::skip]
const BYTES: &[DefinitionLine] = &[
    ("wire_bytes_sent", "B", "Bytes on the link of the packets that left."),
    ("wire_bytes_lost", "B", "Bytes on the link of what was lost; where a packet was cut on the way, each part counts with a header of its own."),
    ("payload_bytes_sent", "B", "Payload bytes that left; sent = matched + lost + unjudged."),
    ("payload_bytes_received", "B", "Payload bytes that arrived; received = matched + duplicated + departure unseen."),
    ("payload_bytes_matched", "B", "Payload bytes that left and arrived."),
    ("payload_bytes_lost", "B", "Payload bytes that left and did not arrive, whether sent for the first time or again."),
    ("payload_bytes_unjudged", "B", "Payload bytes of which nobody can know whether they arrived."),
    ("payload_bytes_duplicated", "B", "Payload bytes that arrived once more than they left."),
    ("payload_bytes_departure_unseen", "B", "Payload bytes that arrived for the first time and that the capture where they left misses."),
    ("payload_bytes_arrival_unseen", "B", "Payload bytes that the receiver acknowledged and that its capture misses."),
];

#[rustfmt::skip]
const RANGES: &[DefinitionLine] = &[
    ("ranges_received", "ranges", "Stretches of packets that left which arrived in one packet each: what the network carried, whatever offload shows at the taps."),
    ("ranges_lost", "ranges", "Stretches of packets that left and that did not arrive; a packet larger than the network's counts as many as it is cut into."),
    ("ranges_unjudged", "ranges", "The same of what nobody can know of."),
];

#[rustfmt::skip]
const BUNDLES: &[DefinitionLine] = &[
    ("bundles_sent", "packets", "Packets that left with bytes sent before, ahead of new ones: redundant data bundling (RDB)."),
    ("bundles_lost", "packets", "Of these, the ones that were lost."),
    ("bundle_hits", "packets", "Bundles that brought old bytes first, because the packet that had them was lost or late."),
    ("bundle_misses", "packets", "Bundles whose old bytes had all arrived before."),
    ("bundled_bytes_sent", "B", "Old bytes in bundles."),
    ("bundled_bytes_hit", "B", "Old bytes that a bundle brought first."),
    ("bundled_bytes_missed", "B", "Old bytes that a bundle brought when they had arrived before."),
    ("redundant_bytes_sent", "B", "Bytes that left when they had been sent before, in bundles and retransmissions."),
];

#[rustfmt::skip]
const RATIOS: &[DefinitionLine] = &[
    ("packet_loss_ratio", "ratio", "Packets lost by packets sent."),
    ("packet_balance_ratio", "ratio", "(Packets sent - packets received) by packets sent: what others call packet loss. Below 0 where packets are cut behind the sender's tap; use ranges then."),
    ("payload_byte_loss_ratio", "ratio", "Payload bytes lost by payload bytes sent."),
    ("range_loss_ratio", "ratio", "Ranges lost by ranges of which the fate is known."),
    ("ack_loss_ratio", "ratio", "`ack_packets_lost` by `ack_packets_sent`."),
    ("is_cut_by_offload", "yes or no", "Whether packets left larger than they arrived, so that packets at the two taps are not the same things."),
];

#[rustfmt::skip]
const FIRST_ARRIVALS: &[DefinitionLine] = &[
    ("transmission", "text", "By what the bytes came first: `original`, `bundle` (old bytes of an RDB packet) or `retransmission`."),
    ("repeat", "number", "Which retransmission of these bytes; 8 stands for all later ones, too. Missing for the others."),
    ("ranges", "ranges", "Stretches of bytes that came first by it."),
    ("payload_bytes", "B", "Bytes in them."),
];

#[rustfmt::skip]
const DELAYS: &[DefinitionLine] = &[
    ("layer", "text", "`network`: from a packet's departure to its arrival, for each that arrived. `transport`: from the first departure of bytes to their first arrival, repairs included. `application`: from the first departure of bytes until they and all before them had arrived, so with the waiting behind holes."),
    ("payload_bytes", "B", "Bytes that the row is about; each counts as one sample."),
    ("min_s", "s", "Smallest delay. Two clocks are set so that the smallest delays of both directions are equal; if the path is asymmetric, all delays of a direction are wrong by the same."),
    ("mean_s", "s", "Mean delay."),
    ("p*_s", "s", "Percentile of the delay, by bytes."),
    ("max_s", "s", "Largest delay."),
    ("variation_mean_s", "s", "Mean of the delay beyond the smallest network delay of the same flow, drift of the clocks taken off: queueing, and in the other layers what repairs and holes added."),
    ("variation_p*_s", "s", "Percentile of the delay beyond the smallest, by bytes; a slot of the histogram wide at most (0.8 %)."),
    ("variation_max_s", "s", "Largest delay beyond the smallest."),
];

#[rustfmt::skip]
const DELAY_HISTOGRAM: &[DefinitionLine] = &[
    ("group", "text", "Name of the group."),
    ("layer", "text", "As in the table `delays`."),
    ("kind", "text", "`absolute`: the delay. `variation`: the delay beyond the smallest network delay of each flow."),
    ("lower_s", "s", "Smallest delay that falls into the slot."),
    ("upper_s", "s", "Smallest delay above the slot."),
    ("payload_bytes", "B", "Bytes with such a delay."),
];

#[rustfmt::skip]
const QUEUEING: &[DefinitionLine] = &[
    ("interval_s", "s", "Length of the window."),
    ("start_s", "s", "Beginning of the window, in which the packets left; windows without any have no rows. Of more than 1 048 576 windows those that come last are left out, and a caveat says so."),
    ("group", "text", "Name of the group."),
    ("ranges", "ranges", "Ranges with payload that left in the window and arrived."),
    ("min_s", "s", "Smallest network delay beyond the smallest of the flow: the queue that everybody met."),
    ("mean_s", "s", "Mean of the network delay beyond the smallest of the flow, by ranges."),
    ("p99_s", "s", "99th percentile of it."),
    ("max_s", "s", "Largest of them."),
];

#[rustfmt::skip]
const LOSSES: &[DefinitionLine] = &[
    ("interval_s", "s", "Length of the window."),
    ("start_s", "s", "Beginning of the window, in which the packets left, whenever their loss became known. Windows without any packet have rows, but for silence of captures that is long for its windows (131 072 rows of it, and 4096 for each window with packets). Of more than 1 048 576 windows with packets those that come last are left out, and a caveat says so."),
    ("group", "text", "Name of the group."),
    ("packets_sent", "packets", "Packets that left in the window, both directions of connections that the group has."),
    ("packets_lost", "packets", "Of these, the ones of which nothing arrived."),
    ("ranges_sent", "ranges", "Ranges that left in the window and whose fate is known."),
    ("ranges_lost", "ranges", "Of these, the ones lost."),
    ("payload_bytes_sent", "B", "Payload bytes that left in the window."),
    ("old_bytes_sent", "B", "Of these, the ones that had been sent before."),
    ("new_bytes_sent", "B", "Of these, the ones sent for the first time."),
    ("payload_bytes_lost", "B", "Payload bytes that left in the window and were lost."),
    ("old_bytes_lost", "B", "Of these, the ones that had been sent before."),
    ("new_bytes_lost", "B", "Of these, the ones sent for the first time."),
    ("range_loss_ratio", "ratio", "Ranges lost by ranges sent in the window."),
    ("payload_byte_loss_ratio", "ratio", "Bytes lost by bytes sent in the window."),
    ("old_byte_loss_ratio", "ratio", "Old bytes lost by bytes sent in the window."),
    ("new_byte_loss_ratio", "ratio", "New bytes lost by bytes sent in the window."),
    ("old_share_of_lost_ratio", "ratio", "Old bytes lost by bytes lost in the window."),
    ("range_loss_of_total_ratio", "ratio", "Ranges lost in the window by all ranges of the group whose fate is known."),
    ("payload_byte_loss_of_total_ratio", "ratio", "Bytes lost in the window by all bytes that the group sent."),
];

#[rustfmt::skip]
const LOSS_RUNS: &[DefinitionLine] = &[
    ("group", "text", "Name of the group."),
    ("packets_sent", "packets", "Packets with a place in sequence space, in the order in which they left at one tap; rows of both taps are added."),
    ("packets_lost", "packets", "Of these, the ones lost, wholly or in part."),
    ("packet_loss_ratio", "ratio", "Lost by sent."),
    ("in_succession_ratio", "ratio", "Share of the losses that are in runs of two or more consecutive packets of the group."),
    ("among_connections_ratio", "ratio", "Share of the losses that are in runs which hit more than one connection."),
    ("within_connections_ratio", "ratio", "Share of the losses that are in runs in which some connection lost more than one packet."),
];

#[rustfmt::skip]
const RUN_LENGTHS: &[DefinitionLine] = &[
    ("group", "text", "Name of the group."),
    ("length_packets", "packets", "Length of a run of consecutive lost packets."),
    ("runs", "runs", "How often there was a run of this length."),
];

#[rustfmt::skip]
const CLOCKS: &[DefinitionLine] = &[
    ("clock", "text", "`shared`: both captures were taken with one clock. `apart`: with two, of which the following is estimated."),
    ("offset_s", "s", "By how much the receiver's clock was ahead of the sender's at the first packet, so that the smallest delays of both directions are equal. 0 for one clock; missing where no packet is in both captures."),
    ("is_symmetric", "yes or no", "Whether packets of both directions are in both captures. If not, the smallest delay of the one direction counts as none: with two clocks, all its delays are too small by what it was."),
    ("drift_parts_per_million", "ppm", "What the receiver's clock gains on the sender's: the slope of the lines under the delays of both directions."),
    ("drift_uncertainty_parts_per_million", "ppm", "By how much the slope may be wrong, from how uneven the floor of the delays is. Missing where there was too little to draw a line under."),
    ("is_compensated", "yes or no", "Whether the drift is larger than its uncertainty, and was taken off the delays."),
];
