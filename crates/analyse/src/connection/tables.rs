//! Tables about connections: `connections`, `setups` and `setup_retries`, with their columns.

use super::endpoints::{Sent, Side, push_end, push_flags, push_flow};
use super::lifecycle::{Beginning, Ending, Lifecycle, SetUp, SynRecord};
use super::vantage::TapPosition;
use fairwind_measure::{Table, TableBuilder, TableDefinition, Times, seconds, table_columns};
use fairwind_units::{Instant, Span};
use fairwind_wire::Flags;
use std::net::SocketAddr;

/// The tables `connections`, `setups` and `setup_retries`.
pub(crate) const TABLES: [TableDefinition; 3] = [
    ("connections", &[CONNECTION, SET_UP_OF_ONE, OPENER, ANSWERER]),
    ("setups", &[SET_UPS]),
    ("setup_retries", &[RETRIES]),
];

table_columns! {
    CONNECTION: with_connection(Record, origin: Instant, groups: &[String]);
    "connection", "number", with(|row| row.number), "The connection's number, counted from 0 in the order in which connections were first seen.";
    "name", "text", with_text(|row, text| push_flow(text, row.opener, row.answerer)), "Address and port of the side that opened it, `>`, address and port of the side that answered.";
    "group", "text", with_text(|row, text| text.push_str(row.group_name(groups))), "The group of the first rule that matches the data of either side.";
    "opener", "text", with_text(|row, text| push_end(text, row.opener)), "Address and port of the side that opened the connection.";
    "answerer", "text", with_text(|row, text| push_end(text, row.answerer)), "Address and port of the side that answered.";
    "opener_guessed", "yes/no", with(|row| row.is_guessed), "Whether the capture does not show who opened the connection; then the side with the lower port counts as the answerer.";
    "start_s", "s", with(|row| row.began.saturating_since(origin).as_secs_f64()), "When its first packet was seen, since the origin.";
    "last_s", "s", with(|row| row.last.saturating_since(origin).as_secs_f64()), "When its last packet was seen, since the origin.";
    "duration_s", "s", with(|row| row.last.saturating_since(row.began).as_secs_f64()), "From its first packet to its last one.";
    "longest_silence_s", "s", with(|row| row.longest_silence.as_secs_f64()), "The longest time between two consecutive packets, in either direction.";
    "taps", "text", with_text(|row, text| text.push_str(row.taps)), "The captures that contain it: `first`, `second` or `both`; with a single capture it is `first`.";
    "vantage", "text", with_text(|row, text| text.push_str(row.place.name())), "Where the first tap is: `near-opener` or `near-answerer` if the other side took at least four times as long to answer, else `between`. After a repeated SYN or SYN-ACK, both the first and the last copy before the answer must show it. `unknown` if the set-up does not show it; then the tap is assumed near the sender of the first data. `given-opener` or `given-answerer` if the settings say so.";
    "beginning", "text", with_text(|row, text| text.push_str(row.beginning.name())), "The first packet: `syn`, `syn-ack`, or `midway` for anything else.";
}

table_columns! {
    SET_UP_OF_ONE: with_set_up(Record);
    "set_up", "text", with_text(|row, text| text.push_str(row.set_up.name())), "Result of the set-up: `completed`; `unanswered`: nobody answered the SYN; `refused`: a reset answered it; `half-open`: the answer was not acknowledged; `unseen`: the capture began later.";
    "simultaneous_open", "yes/no", with(|row| row.is_simultaneous), "Whether both sides sent a SYN without ACK (RFC 9293 §3.5).";
    "ending", "text", with_text(|row, text| text.push_str(row.ending.name())), "`open`: no end was seen; `half-closed`: one side sent a FIN; `closed`: both did; `reset`; `not-established`: there was no connection.";
    "ended_by", "text", with_text(|row, text| text.push_str(row.ended_by.map_or("", Side::name))), "The side that reset the connection, or else that sent the first FIN: `opener`, `answerer`, or nothing.";
    "syn_retries", "packets", with(|row| row.retries(Side::Opener)), "SYNs of the opener beyond its first.";
    "syn_ack_retries", "packets", with(|row| row.retries(Side::Answerer)), "SYNs of the answerer beyond its first.";
    "answer_time_s", "s", with(|row| row.times.answer.map(Span::as_secs_f64)), "From the last SYN before the first SYN-ACK to that SYN-ACK, at the tap.";
    "acknowledgment_time_s", "s", with(|row| row.times.acknowledgment.map(Span::as_secs_f64)), "From the last SYN-ACK to its acknowledgment, at the tap.";
    "setup_time_s", "s", with(|row| row.times.whole.map(Span::as_secs_f64)), "From the first SYN to the acknowledgment of the SYN-ACK.";
}

table_columns! {
    OPENER: with_opener(Record);
    "opener_packets", "packets", with(|row| row.sent(Side::Opener).packets), "Packets from the opener; with two captures, at the tap near it. This table counts whole connections, including what lies before `--from` and outside the requested ages.";
    "opener_wire_bytes", "B", with(|row| row.sent(Side::Opener).wire_bytes), "Bytes of these on the link, headers included.";
    "opener_data_packets", "packets", with(|row| row.sent(Side::Opener).data_packets), "Those of them that carry payload.";
    "opener_payload_bytes", "B", with(|row| row.sent(Side::Opener).payload_bytes), "Payload in them, each byte as often as it was sent.";
    "opener_bare_acknowledgments", "packets", with(|row| row.sent(Side::Opener).bare_acknowledgments), "Those of them with neither payload nor SYN, FIN or RST.";
    "opener_largest_payload_bytes", "B", with(|row| u64::from(row.sent(Side::Opener).largest_payload_bytes)), "Payload of the largest one. More than the MSS means that a network card segmented it later or had merged it.";
    "opener_flags", "letters", with_text(|row, text| push_flags(text, row.sent(Side::Opener).flags)), "All flags that occurred: S(YN), F(IN), R(ST), P(SH), `.` for ACK, U(RG), E(CE), (C)W(R), A(E).";
    "opener_hop_limit", "hops", with(|row| row.sent(Side::Opener).first_hop_limit()), "Time to live, or hop limit, of its first packet.";
    "opener_mss_bytes", "B", with(|row| row.syn_of(Side::Opener)?.options.mss.map(u64::from)), "The maximum segment size in its SYN.";
    "opener_window_scale", "bits", with(|row| row.syn_of(Side::Opener)?.options.window_scale.map(u64::from)), "The window scale in its SYN.";
    "opener_sack_permitted", "0/1", with(|row| Some(u64::from(row.syn_of(Side::Opener)?.options.sack_permitted))), "Whether its SYN permits selective acknowledgments.";
    "opener_timestamps", "0/1", with(|row| Some(u64::from(row.syn_of(Side::Opener)?.options.timestamps.is_some()))), "Whether its SYN has timestamps.";
    "opener_ecn", "0/1", with(|row| Some(u64::from(has_ecn(row.syn_of(Side::Opener)?)))), "Whether its SYN asks for explicit congestion notification.";
}

table_columns! {
    ANSWERER: with_answerer(Record);
    "answerer_packets", "packets", with(|row| row.sent(Side::Answerer).packets), "Packets from the answerer, likewise.";
    "answerer_wire_bytes", "B", with(|row| row.sent(Side::Answerer).wire_bytes), "Bytes of these on the link, headers included.";
    "answerer_data_packets", "packets", with(|row| row.sent(Side::Answerer).data_packets), "Those of them that carry payload.";
    "answerer_payload_bytes", "B", with(|row| row.sent(Side::Answerer).payload_bytes), "Payload in them, each byte as often as it was sent.";
    "answerer_bare_acknowledgments", "packets", with(|row| row.sent(Side::Answerer).bare_acknowledgments), "Those of them with neither payload nor SYN, FIN or RST.";
    "answerer_largest_payload_bytes", "B", with(|row| u64::from(row.sent(Side::Answerer).largest_payload_bytes)), "Payload of the largest one. More than the MSS means that a network card segmented it later or had merged it.";
    "answerer_flags", "letters", with_text(|row, text| push_flags(text, row.sent(Side::Answerer).flags)), "All flags that occurred, in the letters of `opener_flags`.";
    "answerer_hop_limit", "hops", with(|row| row.sent(Side::Answerer).first_hop_limit()), "Time to live, or hop limit, of its first packet.";
    "answerer_mss_bytes", "B", with(|row| row.syn_of(Side::Answerer)?.options.mss.map(u64::from)), "The maximum segment size in its SYN.";
    "answerer_window_scale", "bits", with(|row| row.syn_of(Side::Answerer)?.options.window_scale.map(u64::from)), "The window scale in its SYN.";
    "answerer_sack_permitted", "0/1", with(|row| Some(u64::from(row.syn_of(Side::Answerer)?.options.sack_permitted))), "Whether its SYN permits selective acknowledgments.";
    "answerer_timestamps", "0/1", with(|row| Some(u64::from(row.syn_of(Side::Answerer)?.options.timestamps.is_some()))), "Whether its SYN has timestamps.";
    "answerer_ecn", "0/1", with(|row| Some(u64::from(has_ecn(row.syn_of(Side::Answerer)?)))), "Whether its SYN agrees to explicit congestion notification.";
}

table_columns! {
    SET_UPS: with_set_ups['a](SetUpsRow<'a>);
    "group", "text", with_text(|row, text| text.push_str(row.0)), "The group's name.";
    "attempts", "connections", with(|row| row.1.attempts()), "Connections with a captured beginning: all but the unseen ones.";
    "completed", "connections", with(|row| row.1.outcome(SetUp::Completed)), "Attempts with a captured three-way handshake, or with packets that can only follow it.";
    "unanswered", "connections", with(|row| row.1.outcome(SetUp::Unanswered)), "Attempts that nobody answered.";
    "refused", "connections", with(|row| row.1.outcome(SetUp::Refused)), "Attempts that a reset answered.";
    "half_open", "connections", with(|row| row.1.outcome(SetUp::HalfOpen)), "Attempts with an answer that was not acknowledged.";
    "aborted", "connections", with(|row| row.1.aborted), "Half-open attempts that one side reset.";
    "unseen", "connections", with(|row| row.1.outcome(SetUp::Unseen)), "Connections that existed before the capture began.";
    "simultaneous_opens", "connections", with(|row| row.1.simultaneous), "Attempts in which both sides sent a SYN without ACK.";
    "syn_retries", "packets", with(|row| row.1.syn_retries), "SYNs beyond the first of each attempt.";
    "syn_ack_retries", "packets", with(|row| row.1.syn_ack_retries), "SYN-ACKs beyond the first of each attempt.";
    "answer_time_min_s", "s", with(|row| row.1.answer.minimum().map(seconds)), "Shortest time from the last SYN before the first SYN-ACK to that SYN-ACK.";
    "answer_time_mean_s", "s", with(|row| row.1.answer.mean().map(|mean| mean / 1e9)), "The mean of these times.";
    "answer_time_p50_s", "s", with(|row| row.1.answer.percentile(50.0).map(seconds)), "Their median.";
    "answer_time_p99_s", "s", with(|row| row.1.answer.percentile(99.0).map(seconds)), "Their 99th percentile.";
    "answer_time_max_s", "s", with(|row| row.1.answer.maximum().map(seconds)), "The longest of them.";
    "acknowledgment_time_min_s", "s", with(|row| row.1.acknowledgment.minimum().map(seconds)), "Shortest time from the last SYN-ACK to its acknowledgment.";
    "acknowledgment_time_mean_s", "s", with(|row| row.1.acknowledgment.mean().map(|mean| mean / 1e9)), "The mean of these times.";
    "acknowledgment_time_p50_s", "s", with(|row| row.1.acknowledgment.percentile(50.0).map(seconds)), "Their median.";
    "acknowledgment_time_p99_s", "s", with(|row| row.1.acknowledgment.percentile(99.0).map(seconds)), "Their 99th percentile.";
    "acknowledgment_time_max_s", "s", with(|row| row.1.acknowledgment.maximum().map(seconds)), "The longest of them.";
    "setup_time_min_s", "s", with(|row| row.1.whole.minimum().map(seconds)), "Shortest time from the first SYN to the acknowledgment of the SYN-ACK.";
    "setup_time_mean_s", "s", with(|row| row.1.whole.mean().map(|mean| mean / 1e9)), "The mean of these times.";
    "setup_time_p50_s", "s", with(|row| row.1.whole.percentile(50.0).map(seconds)), "Their median.";
    "setup_time_p99_s", "s", with(|row| row.1.whole.percentile(99.0).map(seconds)), "Their 99th percentile.";
    "setup_time_max_s", "s", with(|row| row.1.whole.maximum().map(seconds)), "The longest of them.";
}

table_columns! {
    RETRIES: with_retries['a](RetriesRow<'a>);
    "group", "text", with_text(|row, text| text.push_str(row.group)), "The group's name.";
    "syn_retries", "packets", with(|row| row.retries), "SYNs beyond the first; 15 stands for more as well.";
    "attempts", "connections", with(|row| row.attempts), "Attempts with this number of retries.";
    "completed", "connections", with(|row| row.completed), "Those of them that were completed.";
}

/// Row of the table `connections`.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    /// Number, from 0 in the order of first packets.
    pub(crate) number: u64,
    pub(crate) opener: SocketAddr,
    pub(crate) answerer: SocketAddr,
    pub(crate) group: u32,
    /// Whether its handshake was not seen.
    pub(crate) is_guessed: bool,
    pub(crate) began: Instant,
    pub(crate) last: Instant,
    pub(crate) longest_silence: Span,
    pub(crate) place: TapPosition,
    pub(crate) taps: &'static str,
    pub(crate) times: SetUpTimes,
    pub(crate) beginning: Beginning,
    pub(crate) set_up: SetUp,
    pub(crate) ending: Ending,
    pub(crate) ended_by: Option<Side>,
    pub(crate) is_simultaneous: bool,
    pub(crate) sent: [Sent; 2],
    pub(crate) syn_records: [Option<SynRecord>; 2],
    /// SYN retries of each side.
    pub(crate) retries: [u32; 2],
}

/// Times of a handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SetUpTimes {
    /// From the last SYN before the first SYN-ACK to that.
    pub(crate) answer: Option<Span>,
    /// From the last SYN-ACK to its acknowledgment.
    pub(crate) acknowledgment: Option<Span>,
    /// From the first SYN to the acknowledgment of the SYN-ACK.
    pub(crate) whole: Option<Span>,
}

impl SetUpTimes {
    pub(crate) fn of(lifecycle: &Lifecycle) -> Self {
        let asked = lifecycle.syn_of(Side::Opener);
        let answered = lifecycle.syn_of(Side::Answerer);
        let acknowledged = lifecycle.established_at;
        let between = |from: Option<Instant>, to: Option<Instant>| {
            let (from, to) = (from?, to?);
            (to >= from).then(|| to.saturating_since(from))
        };
        let answered_first = answered.map(|offer| offer.first_at);
        // A SYN repeated after the SYN-ACK did not cause it.
        let asked_last = asked.map(|offer| {
            if answered_first.is_some_and(|answered| offer.last_at > answered) {
                offer.first_at
            } else {
                offer.last_at
            }
        });
        let acknowledged_from = acknowledged.filter(|_| answered.is_some() && asked.is_some());
        Self {
            answer: between(asked_last, answered_first),
            acknowledgment: between(answered.map(|offer| offer.last_at), acknowledged),
            whole: between(asked.map(|offer| offer.first_at), acknowledged_from),
        }
    }
}

impl Record {
    fn group_name<'g>(&self, groups: &'g [String]) -> &'g str {
        let place = usize::try_from(self.group).ok();
        place.and_then(|place| groups.get(place)).map_or("", String::as_str)
    }

    fn sent(&self, side: Side) -> &Sent {
        &self.sent[side.index()]
    }

    fn syn_of(&self, side: Side) -> Option<&SynRecord> {
        self.syn_records[side.index()].as_ref()
    }

    fn retries(&self, side: Side) -> u64 {
        u64::from(self.retries[side.index()])
    }
}

/// Whether a SYN negotiates ECN (RFC 3168 §6.1.1, RFC 9768 §3.1).
fn has_ecn(offer: &SynRecord) -> bool {
    offer.flags.intersects(Flags::ECE | Flags::CWR | Flags::AE)
}

/// The table `connections`; times count from `origin`.
pub(crate) fn connections_table(records: &[Record], origin: Instant, groups: &[String]) -> Table {
    let table = TableBuilder::new("connections", records);
    let table = with_set_up(with_connection(table, origin, groups));
    with_answerer(with_opener(table)).build()
}

/// More retries count with this number.
const MOST_RETRIES: usize = 15;

/// Handshakes of one group.
#[derive(Debug, Clone, Default)]
pub(crate) struct SetUps {
    by_outcome: [u64; SetUp::ALL.len()],
    aborted: u64,
    simultaneous: u64,
    syn_retries: u64,
    syn_ack_retries: u64,
    /// Attempts and completed ones, by SYN retries.
    by_retries: [(u64, u64); MOST_RETRIES + 1],
    answer: Times,
    acknowledgment: Times,
    whole: Times,
}

fn record(times: &mut Times, span: Option<Span>) {
    if let Some(span) = span {
        times.record(span.as_nanos());
    }
}

impl SetUps {
    /// Counts the handshake of one connection.
    pub(crate) fn count(&mut self, record: &Record) {
        self.by_outcome[place(record.set_up)] += 1;
        if record.set_up == SetUp::Unseen {
            return;
        }
        self.aborted += u64::from(record.set_up == SetUp::HalfOpen && record.ended_by.is_some());
        self.simultaneous += u64::from(record.is_simultaneous);
        let [syn, syn_ack] = record.retries;
        self.syn_retries += u64::from(syn);
        self.syn_ack_retries += u64::from(syn_ack);
        let retries = usize::try_from(record.retries[Side::Opener.index()]).unwrap_or(MOST_RETRIES);
        let by_retries = &mut self.by_retries[retries.min(MOST_RETRIES)];
        by_retries.0 += 1;
        by_retries.1 += u64::from(record.set_up == SetUp::Completed);
        self::record(&mut self.answer, record.times.answer);
        self::record(&mut self.acknowledgment, record.times.acknowledgment);
        self::record(&mut self.whole, record.times.whole);
    }

    fn outcome(&self, set_up: SetUp) -> u64 {
        self.by_outcome[place(set_up)]
    }

    fn attempts(&self) -> u64 {
        self.by_outcome.iter().sum::<u64>() - self.outcome(SetUp::Unseen)
    }
}

fn place(set_up: SetUp) -> usize {
    SetUp::ALL.iter().position(|each| *each == set_up).unwrap_or_default()
}

/// Counts the handshake of `record` in its group.
pub(crate) fn count_setup(setups: &mut [SetUps], record: &Record) {
    let group = usize::try_from(record.group).ok();
    if let Some(setups) = group.and_then(|group| setups.get_mut(group)) {
        setups.count(record);
    }
}

/// A group and its handshakes.
type SetUpsRow<'a> = (&'a String, &'a SetUps);

/// The tables `setups` and `setup_retries`: rows for each group.
pub(crate) fn setup_tables(groups: &[String], setups: &[SetUps]) -> [Table; 2] {
    let rows: Vec<SetUpsRow<'_>> = groups.iter().zip(setups).collect();
    [with_set_ups(TableBuilder::new("setups", &rows)).build(), retries_table(&rows)]
}

struct RetriesRow<'a> {
    group: &'a String,
    retries: u64,
    attempts: u64,
    completed: u64,
}

fn retries_table(groups: &[SetUpsRow<'_>]) -> Table {
    let mut rows = Vec::new();
    for &(group, setups) in groups {
        for (retries, &(attempts, completed)) in (0..).zip(&setups.by_retries) {
            if attempts > 0 {
                rows.push(RetriesRow { group, retries, attempts, completed });
            }
        }
    }
    with_retries(TableBuilder::new("setup_retries", &rows)).build()
}
