//! What the columns of the tables about streams mean.

use fairwind_measure::{ColumnDefinition, DefinitionLine, TableDefinition, define};

/// The columns of the tables about streams, in their order.
pub fn columns() -> Vec<ColumnDefinition> {
    define(&TABLES)
}

/// The tables `transport`, `retransmissions`, `stream_times` and `stream_sizes`.
const TABLES: [TableDefinition; 4] = [
    ("transport", &[SUBJECT, DATA, REPAIRS, ODDITIES, ANSWERS, FLIGHT, ROUND_TRIPS, TIME]),
    ("retransmissions", &[SUBJECT, REPEATED]),
    ("stream_times", &[SUBJECT, TIMES]),
    ("stream_sizes", &[SUBJECT, SIZES]),
];

#[rustfmt::skip]
const SUBJECT: &[DefinitionLine] = &[
    ("scope", "text", "`flow`, or `group` for all flows of a group together."),
    ("name", "text", "Name of the flow or group."),
    ("group", "text", "The group, or the group of the flow."),
    ("flow", "number", "The flow's number; missing for a group."),
];

#[rustfmt::skip]
const DATA: &[DefinitionLine] = &[
    ("streams", "flows", "Flows that are counted here: 1, or those of the group."),
    ("observed_s", "s", "From the first packet of the connection to its last, or the part of that time that is asked for, summed over flows."),
    ("data_segments", "segments", "Packets that carry payload, as they passed the tap; what an offload engine has joined is one."),
    ("payload_bytes", "B", "Payload bytes in them, repeated ones included."),
];

#[rustfmt::skip]
const REPAIRS: &[DefinitionLine] = &[
    ("retransmitted_segments", "segments", "Data segments of which everything, or all but what a repair has filled them up with, was sent before. Bundles, copies made by the network, keep-alives and probes of closed windows are none."),
    ("retransmitted_bytes", "B", "Their payload bytes that were sent before."),
    ("estimated_loss_ratio", "ratio", "Retransmitted segments over data segments: what one tap can say of loss, and more than was lost where repetitions were needless."),
    ("fast_retransmit_segments", "segments", "Of them, those sent because acknowledgments gave evidence of a loss. Near the receiver, where reactions come a round trip later and timers are not seen, causes are estimates; `docs/concepts/analyser.md` tells their error."),
    ("timeout_segments", "segments", "Of them, those sent because the retransmission timer ran out."),
    ("after_timeout_segments", "segments", "Of them, those that followed a time-out as part of the same repair."),
    ("tail_loss_probe_segments", "segments", "Of them, tail loss probes; a probe that carries new data is not recognised."),
    ("unknown_segments", "segments", "Of them, those that nothing seen at the tap explains."),
    ("fast_recoveries", "events", "Repairs that began by a fast retransmit."),
    ("timeouts", "events", "Expiries of the retransmission timer with data or FIN outstanding, one for each segment that it made the sender repeat first."),
    ("spurious_by_report", "segments", "Retransmissions, of whatever cause, that the receiver reported as duplicates (D-SACK, RFC 2883)."),
    ("spurious_by_timestamp", "segments", "Retransmissions of the oldest outstanding segment whose acknowledgment echoes a timestamp older than theirs (RFC 3522); one that is reported, too, is counted once, where it was found first."),
    ("fin_retransmissions", "segments", "Segments sent again that carry FIN and no payload."),
];

#[rustfmt::skip]
const ODDITIES: &[DefinitionLine] = &[
    ("bundles", "segments", "Data segments that carry, before new bytes, some that are outstanding (redundant data bundling); they are no retransmissions here."),
    ("bundled_bytes", "B", "Payload bytes in bundles that were sent before."),
    ("keep_alives", "segments", "Segments just below what the other side expects, with at most one byte, while nothing is outstanding and the window is open (RFC 9293 §3.8.4)."),
    ("window_probes", "segments", "The same, or one byte beyond, while the window is closed (RFC 9293 §3.8.6.1)."),
    ("out_of_order_segments", "segments", "Data segments that fill a gap and were sent before what followed it, by their timestamps, their IPv4 identification, or because they come within half a round trip."),
    ("duplicate_segments", "segments", "Data segments with the sequence number, timestamp and IPv4 identification of one that passed before: copies, not retransmissions. Not recognised without an identification."),
    ("missing_bytes", "B", "Bytes that were acknowledged and never passed the tap: the capture is incomplete, or the tap does not see all of the path."),
    ("segments_out_of_window", "segments", "Data segments whose numbers cannot be the stream's: further ahead than four of the largest windows that were offered (1 MiB at least, 1 GiB where no SYN told the scale) or more than 1 GiB behind. They count as packets without data, unless the next one continues them."),
    ("forgotten_ranges", "ranges", "Outstanding ranges that were given up, since nobody acknowledged them and there were too many."),
];

#[rustfmt::skip]
const ANSWERS: &[DefinitionLine] = &[
    ("acknowledgments", "segments", "Segments of the other direction that acknowledge, with or without data."),
    ("duplicate_acks", "segments", "Duplicate acknowledgments as RFC 5681 §2 defines them: data is outstanding, no payload, SYN or FIN, the same number and the same window as before."),
    ("sack_segments", "segments", "Acknowledgments with selective ones."),
    ("sack_blocks", "blocks", "Blocks in them."),
    ("reports_of_duplicates", "blocks", "Blocks that report a duplicate (RFC 2883 §4)."),
    ("zero_windows", "events", "How often the other side closed its window."),
    ("zero_window_s", "s", "How long it was closed."),
    ("window_min_bytes", "B", "Smallest window that was offered, for answers from the last one before their first data on; missing, like the next two, where no SYN told the scale."),
    ("window_mean_bytes", "B", "Mean window, over acknowledgments."),
    ("window_max_bytes", "B", "Largest window that was offered."),
];

#[rustfmt::skip]
const FLIGHT: &[DefinitionLine] = &[
    ("flight_mean_bytes", "B", "Mean, over data segments, of the bytes outstanding once it was sent: from the last acknowledged to the last sent one."),
    ("flight_max_bytes", "B", "The most bytes outstanding."),
    ("flight_mean_packets", "packets", "The same mean in packets; what an offload engine has joined counts with the segments that it makes of it."),
    ("flight_max_packets", "packets", "The most packets outstanding."),
    ("initial_window_mean_packets", "packets", "Packets sent before the first acknowledgment of data; the mean, for groups. Of a connection whose beginning was not seen, what was sent before the first one that was."),
    ("initial_window_mean_bytes", "B", "Payload in them, likewise."),
    ("few_in_flight_ratio", "ratio", "Data segments that were sent with fewer than four packets in flight, themselves included, over all."),
    ("thin_ratio", "ratio", "The same of those that were sent after a loss has ended the initial slow start: when Linux takes a stream for thin (`tcp_stream_is_thin`)."),
];

#[rustfmt::skip]
const ROUND_TRIPS: &[DefinitionLine] = &[
    ("handshake_rtt_mean_s", "s", "From SYN (or SYN with ACK) to what acknowledges it, if it was sent once; the mean, for groups."),
    ("rtt_samples", "samples", "Round trips measured (of a group of which one tap saw flows leave and flows arrive, those of the former, as `handshake_rtt_mean_s`): one for each acknowledgment of something new, from the sending of the newest segment it covers; where that was sent again, of the oldest one, if its timestamp names the transmission (RFC 6298 §3, RFC 7323 §4). What went again in bundles was not: it is the newest that is covered only if it has come by itself."),
    ("rtt_min_s", "s", "The shortest round trip between tap and receiver."),
    ("rtt_mean_s", "s", "The mean round trip."),
    ("rtt_p50_s", "s", "The median round trip, at most 1 % above the true one."),
    ("rtt_p99_s", "s", "The 99th percentile of round trips."),
    ("rtt_max_s", "s", "The longest round trip."),
];

#[rustfmt::skip]
const TIME: &[DefinitionLine] = &[
    ("idle_ratio", "ratio", "Part of the observed time in which nothing was outstanding and the window had room for a full segment. With the next three it makes up the whole."),
    ("application_limited_ratio", "ratio", "Part of the time in which something was outstanding, and the last new segment was not full, or what followed came without an acknowledgment that made room for it, or nothing followed when everything was acknowledged: the application gave no more."),
    ("receiver_limited_ratio", "ratio", "Part of the time in which the window that the other side offered had no room for a full segment, and nothing was repaired."),
    ("congestion_limited_ratio", "ratio", "The rest: the congestion window, or a repair, held data back."),
    ("thin_time_ratio", "ratio", "Part of the time in which fewer than four packets were in flight, after the initial slow start."),
];

#[rustfmt::skip]
const REPEATED: &[DefinitionLine] = &[
    ("kind", "text", "What is counted: `cause`: retransmitted segments by why they were sent; `order`: by how often the byte in them that was sent most often had been sent again; `timeout_in_row`: time-outs by how many had run out since something was last acknowledged; `duplicate_ack`: duplicate acknowledgments by how many came in a row."),
    ("value", "text", "The cause, or the number; `10+` for all from the tenth on."),
    ("count", "number", "How many; what did not happen has no row."),
    ("bytes", "B", "Payload bytes in them that were sent before; missing for what is no segment of data."),
    ("spurious_by_report", "segments", "Of these, those that the receiver reported as duplicates; only by cause."),
    ("spurious_by_timestamp", "segments", "Of these, those that a timestamp proved needless; only by cause."),
];

#[rustfmt::skip]
const TIMES: &[DefinitionLine] = &[
    ("kind", "text", "`rtt`: round trips, as in `transport`, of a group likewise of flows seen leaving where there are any; `inter_transmission`: between one data segment and the next; `ack_after_N`: ACK latency of what was sent again N times, from its first sending to the acknowledgment that first covers it."),
    ("count", "samples", "Samples."),
    ("min_s", "s", "The smallest."),
    ("mean_s", "s", "The mean."),
    ("p*_s", "s", "What this per cent of the samples do not exceed, at most 1 % above the true one."),
    ("max_s", "s", "The largest."),
];

#[rustfmt::skip]
const SIZES: &[DefinitionLine] = &[
    ("count", "segments", "Data segments, repeated ones included."),
    ("min_bytes", "B", "The smallest payload."),
    ("mean_bytes", "B", "The mean payload."),
    ("p*_bytes", "B", "The payload that this per cent of the segments do not exceed, exact up to 255 and at most 1 % above the true one."),
    ("max_bytes", "B", "The largest payload."),
];
