//! What the columns of the tables about connections mean.

use fairwind_measure::{DefinitionLine, TableDefinition};

/// The tables `connections`, `setups` and `setup_retries`.
pub(crate) const TABLES: [TableDefinition; 3] = [
    ("connections", &[CONNECTION, SET_UP_OF_ONE, OPENER, ANSWERER]),
    ("setups", &[SET_UPS]),
    ("setup_retries", &[RETRIES]),
];

#[rustfmt::skip]
const CONNECTION: &[DefinitionLine] = &[
    ("connection", "number", "The connection's number, counted from 0 in the order in which connections were first seen."),
    ("name", "text", "Address and port of the side that opened it, `>`, address and port of the side that answered."),
    ("group", "text", "The group of the first rule that holds for the data of either side."),
    ("opener", "text", "Address and port of the side that opened the connection."),
    ("answerer", "text", "Address and port of the side that answered."),
    ("opener_guessed", "yes/no", "Whether nobody was seen to open the connection; then the side with the lower port is taken to have answered."),
    ("start_s", "s", "When its first packet was seen, since the origin."),
    ("last_s", "s", "When its last packet was seen, since the origin."),
    ("duration_s", "s", "From its first packet to its last one."),
    ("longest_silence_s", "s", "The longest time between two of its packets, of whatever direction."),
    ("taps", "text", "Which captures have seen it: `first`, `second` or `both`; with a single capture it is `first`."),
    ("vantage", "text", "Where the first tap is: `near-opener` or `near-answerer` if the other side's word took at least four times as long, `between` if not, `unknown` if the set-up does not tell (near the sender of the first data is assumed), `given-opener` or `given-answerer` as the settings say."),
    ("beginning", "text", "What the first packet was: `syn`, `syn-ack`, or anything else, `midway`."),
];

#[rustfmt::skip]
const SET_UP_OF_ONE: &[DefinitionLine] = &[
    ("set_up", "text", "How the set-up went: `completed`; `unanswered`: nobody answered the SYN; `refused`: a reset answered it; `half-open`: the answer was not acknowledged; `unseen`: the capture began later."),
    ("simultaneous_open", "yes/no", "Whether both sides sent a SYN of their own (RFC 9293 §3.5)."),
    ("ending", "text", "`open`: no end was seen; `half-closed`: one side sent a FIN; `closed`: both did; `reset`; `not-established`: there was no connection."),
    ("ended_by", "text", "The side that reset the connection, or else that sent the first FIN: `opener`, `answerer`, or nothing."),
    ("syn_retries", "packets", "SYNs of the opener beyond its first."),
    ("syn_ack_retries", "packets", "SYNs of the answerer beyond its first."),
    ("answer_time_s", "s", "From the last SYN before the first SYN-ACK to that, as the tap saw them."),
    ("acknowledgment_time_s", "s", "From the last SYN-ACK to its acknowledgment, as the tap saw them."),
    ("setup_time_s", "s", "From the first SYN to the acknowledgment of the SYN-ACK."),
];

#[rustfmt::skip]
const OPENER: &[DefinitionLine] = &[
    ("opener_packets", "packets", "Packets from the opener; with two captures, as they left it. This table counts whole connections: also what lies before `--from`, and outside of the ages that are asked for."),
    ("opener_wire_bytes", "B", "Bytes of these on the link, headers included."),
    ("opener_data_packets", "packets", "Those of them that carry payload."),
    ("opener_payload_bytes", "B", "Payload in them, each byte as often as it was sent."),
    ("opener_bare_acknowledgments", "packets", "Those of them with neither payload nor SYN, FIN or RST."),
    ("opener_largest_payload_bytes", "B", "Payload of the largest one; more than the MSS allows means that a network card cut it later or had joined it."),
    ("opener_flags", "letters", "Every flag that one of them had: S(YN), F(IN), R(ST), P(SH), `.` for ACK, U(RG), E(CE), (C)W(R), A(E)."),
    ("opener_hop_limit", "hops", "Time to live, or hop limit, of its first packet."),
    ("opener_mss_bytes", "B", "The maximum segment size in its SYN."),
    ("opener_window_scale", "bits", "The window scale in its SYN."),
    ("opener_sack_permitted", "0/1", "Whether its SYN permits selective acknowledgments."),
    ("opener_timestamps", "0/1", "Whether its SYN has timestamps."),
    ("opener_ecn", "0/1", "Whether its SYN asks for explicit congestion notification."),
];

#[rustfmt::skip]
const ANSWERER: &[DefinitionLine] = &[
    ("answerer_packets", "packets", "Packets from the answerer, likewise."),
    ("answerer_wire_bytes", "B", "Bytes of these on the link, headers included."),
    ("answerer_data_packets", "packets", "Those of them that carry payload."),
    ("answerer_payload_bytes", "B", "Payload in them, each byte as often as it was sent."),
    ("answerer_bare_acknowledgments", "packets", "Those of them with neither payload nor SYN, FIN or RST."),
    ("answerer_largest_payload_bytes", "B", "Payload of the largest one; more than the MSS allows means that a network card cut it later or had joined it."),
    ("answerer_flags", "letters", "Every flag that one of them had, in the letters of `opener_flags`."),
    ("answerer_hop_limit", "hops", "Time to live, or hop limit, of its first packet."),
    ("answerer_mss_bytes", "B", "The maximum segment size in its SYN."),
    ("answerer_window_scale", "bits", "The window scale in its SYN."),
    ("answerer_sack_permitted", "0/1", "Whether its SYN permits selective acknowledgments."),
    ("answerer_timestamps", "0/1", "Whether its SYN has timestamps."),
    ("answerer_ecn", "0/1", "Whether its SYN agrees to explicit congestion notification."),
];

#[rustfmt::skip]
const SET_UPS: &[DefinitionLine] = &[
    ("group", "text", "The group's name."),
    ("attempts", "connections", "Connections whose beginning was seen: all but the unseen ones."),
    ("completed", "connections", "Attempts of which the three ways were seen, or what can only follow them."),
    ("unanswered", "connections", "Attempts that nobody answered."),
    ("refused", "connections", "Attempts that a reset answered."),
    ("half_open", "connections", "Attempts whose answer was not acknowledged."),
    ("aborted", "connections", "Those of the half-open ones that one side reset."),
    ("unseen", "connections", "Connections that were there before the capture began."),
    ("simultaneous_opens", "connections", "Attempts in which both sides sent a SYN of their own."),
    ("syn_retries", "packets", "SYNs beyond the first of each attempt."),
    ("syn_ack_retries", "packets", "SYN-ACKs beyond the first of each attempt."),
    ("answer_time_min_s", "s", "From the last SYN before the first SYN-ACK to that: the shortest."),
    ("answer_time_mean_s", "s", "The mean of these times."),
    ("answer_time_p50_s", "s", "Their median."),
    ("answer_time_p99_s", "s", "Their 99th percentile."),
    ("answer_time_max_s", "s", "The longest of them."),
    ("acknowledgment_time_min_s", "s", "From the last SYN-ACK to its acknowledgment: the shortest."),
    ("acknowledgment_time_mean_s", "s", "The mean of these times."),
    ("acknowledgment_time_p50_s", "s", "Their median."),
    ("acknowledgment_time_p99_s", "s", "Their 99th percentile."),
    ("acknowledgment_time_max_s", "s", "The longest of them."),
    ("setup_time_min_s", "s", "From the first SYN to the acknowledgment of the SYN-ACK: the shortest."),
    ("setup_time_mean_s", "s", "The mean of these times."),
    ("setup_time_p50_s", "s", "Their median."),
    ("setup_time_p99_s", "s", "Their 99th percentile."),
    ("setup_time_max_s", "s", "The longest of them."),
];

#[rustfmt::skip]
const RETRIES: &[DefinitionLine] = &[
    ("group", "text", "The group's name."),
    ("syn_retries", "packets", "SYNs beyond the first; 15 stands for more as well."),
    ("attempts", "connections", "Attempts with so many."),
    ("completed", "connections", "Those of them that were completed."),
];
