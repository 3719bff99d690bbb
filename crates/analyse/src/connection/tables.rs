//! Tables about connections: `connections`, `setups` and `setup_retries`, with their columns.

use super::endpoints::{Sent, Side, push_end, push_flags, push_flow};
use super::lifecycle::{Beginning, Ending, Lifecycle, SetUp, SynRecord};
use super::vantage::TapPosition;
use fairwind_measure::{DefinitionLine, Table, TableBuilder, TableDefinition, Times, seconds};
use fairwind_units::{Instant, Span};
use fairwind_wire::Flags;
use std::net::SocketAddr;

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
    ("group", "text", "The group of the first rule that matches the data of either side."),
    ("opener", "text", "Address and port of the side that opened the connection."),
    ("answerer", "text", "Address and port of the side that answered."),
    ("opener_guessed", "yes/no", "Whether the capture does not show who opened the connection; then the side with the lower port counts as the answerer."),
    ("start_s", "s", "When its first packet was seen, since the origin."),
    ("last_s", "s", "When its last packet was seen, since the origin."),
    ("duration_s", "s", "From its first packet to its last one."),
    ("longest_silence_s", "s", "The longest time between two consecutive packets, in either direction."),
    ("taps", "text", "The captures that contain it: `first`, `second` or `both`; with a single capture it is `first`."),
    ("vantage", "text", "Where the first tap is: `near-opener` or `near-answerer` if the other side took at least four times as long to answer, else `between`. `unknown` if the set-up does not show it; then the tap is assumed near the sender of the first data. `given-opener` or `given-answerer` if the settings say so."),
    ("beginning", "text", "The first packet: `syn`, `syn-ack`, or `midway` for anything else."),
];

#[rustfmt::skip]
const SET_UP_OF_ONE: &[DefinitionLine] = &[
    ("set_up", "text", "Result of the set-up: `completed`; `unanswered`: nobody answered the SYN; `refused`: a reset answered it; `half-open`: the answer was not acknowledged; `unseen`: the capture began later."),
    ("simultaneous_open", "yes/no", "Whether both sides sent a SYN without ACK (RFC 9293 §3.5)."),
    ("ending", "text", "`open`: no end was seen; `half-closed`: one side sent a FIN; `closed`: both did; `reset`; `not-established`: there was no connection."),
    ("ended_by", "text", "The side that reset the connection, or else that sent the first FIN: `opener`, `answerer`, or nothing."),
    ("syn_retries", "packets", "SYNs of the opener beyond its first."),
    ("syn_ack_retries", "packets", "SYNs of the answerer beyond its first."),
    ("answer_time_s", "s", "From the last SYN before the first SYN-ACK to that SYN-ACK, at the tap."),
    ("acknowledgment_time_s", "s", "From the last SYN-ACK to its acknowledgment, at the tap."),
    ("setup_time_s", "s", "From the first SYN to the acknowledgment of the SYN-ACK."),
];

#[rustfmt::skip]
const OPENER: &[DefinitionLine] = &[
    ("opener_packets", "packets", "Packets from the opener; with two captures, at the tap near it. This table counts whole connections, including what lies before `--from` and outside the requested ages."),
    ("opener_wire_bytes", "B", "Bytes of these on the link, headers included."),
    ("opener_data_packets", "packets", "Those of them that carry payload."),
    ("opener_payload_bytes", "B", "Payload in them, each byte as often as it was sent."),
    ("opener_bare_acknowledgments", "packets", "Those of them with neither payload nor SYN, FIN or RST."),
    ("opener_largest_payload_bytes", "B", "Payload of the largest one. More than the MSS means that a network card segmented it later or had merged it."),
    ("opener_flags", "letters", "All flags that occurred: S(YN), F(IN), R(ST), P(SH), `.` for ACK, U(RG), E(CE), (C)W(R), A(E)."),
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
    ("answerer_largest_payload_bytes", "B", "Payload of the largest one. More than the MSS means that a network card segmented it later or had merged it."),
    ("answerer_flags", "letters", "All flags that occurred, in the letters of `opener_flags`."),
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
    ("attempts", "connections", "Connections with a captured beginning: all but the unseen ones."),
    ("completed", "connections", "Attempts with a captured three-way handshake, or with packets that can only follow it."),
    ("unanswered", "connections", "Attempts that nobody answered."),
    ("refused", "connections", "Attempts that a reset answered."),
    ("half_open", "connections", "Attempts with an answer that was not acknowledged."),
    ("aborted", "connections", "Half-open attempts that one side reset."),
    ("unseen", "connections", "Connections that existed before the capture began."),
    ("simultaneous_opens", "connections", "Attempts in which both sides sent a SYN without ACK."),
    ("syn_retries", "packets", "SYNs beyond the first of each attempt."),
    ("syn_ack_retries", "packets", "SYN-ACKs beyond the first of each attempt."),
    ("answer_time_min_s", "s", "Shortest time from the last SYN before the first SYN-ACK to that SYN-ACK."),
    ("answer_time_mean_s", "s", "The mean of these times."),
    ("answer_time_p50_s", "s", "Their median."),
    ("answer_time_p99_s", "s", "Their 99th percentile."),
    ("answer_time_max_s", "s", "The longest of them."),
    ("acknowledgment_time_min_s", "s", "Shortest time from the last SYN-ACK to its acknowledgment."),
    ("acknowledgment_time_mean_s", "s", "The mean of these times."),
    ("acknowledgment_time_p50_s", "s", "Their median."),
    ("acknowledgment_time_p99_s", "s", "Their 99th percentile."),
    ("acknowledgment_time_max_s", "s", "The longest of them."),
    ("setup_time_min_s", "s", "Shortest time from the first SYN to the acknowledgment of the SYN-ACK."),
    ("setup_time_mean_s", "s", "The mean of these times."),
    ("setup_time_p50_s", "s", "Their median."),
    ("setup_time_p99_s", "s", "Their 99th percentile."),
    ("setup_time_max_s", "s", "The longest of them."),
];

#[rustfmt::skip]
const RETRIES: &[DefinitionLine] = &[
    ("group", "text", "The group's name."),
    ("syn_retries", "packets", "SYNs beyond the first; 15 stands for more as well."),
    ("attempts", "connections", "Attempts with this number of retries."),
    ("completed", "connections", "Those of them that were completed."),
];

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
    let since = |at: Instant| at.saturating_since(origin).as_secs_f64();
    let group = |record: &Record| {
        let place = usize::try_from(record.group).ok();
        place.and_then(|place| groups.get(place)).map_or("", String::as_str)
    };
    let mut table = TableBuilder::new("connections", records)
        .with("connection", |row| row.number)
        .with_text("name", |row, text| push_flow(text, row.opener, row.answerer))
        .with_text("group", |row, text| text.push_str(group(row)))
        .with_text("opener", |row, text| push_end(text, row.opener))
        .with_text("answerer", |row, text| push_end(text, row.answerer))
        .with("opener_guessed", |row| row.is_guessed)
        .with("start_s", |row| since(row.began))
        .with("last_s", |row| since(row.last))
        .with("duration_s", |row| row.last.saturating_since(row.began).as_secs_f64())
        .with("longest_silence_s", |row| row.longest_silence.as_secs_f64())
        .with_text("taps", |row, text| text.push_str(row.taps))
        .with_text("vantage", |row, text| text.push_str(row.place.name()))
        .with_text("beginning", |row, text| text.push_str(row.beginning.name()))
        .with_text("set_up", |row, text| text.push_str(row.set_up.name()))
        .with("simultaneous_open", |row| row.is_simultaneous)
        .with_text("ending", |row, text| text.push_str(row.ending.name()))
        .with_text("ended_by", |row, text| text.push_str(row.ended_by.map_or("", Side::name)))
        .with("syn_retries", |row| row.retries(Side::Opener))
        .with("syn_ack_retries", |row| row.retries(Side::Answerer))
        .with("answer_time_s", |row| row.times.answer.map(Span::as_secs_f64))
        .with("acknowledgment_time_s", |row| row.times.acknowledgment.map(Span::as_secs_f64))
        .with("setup_time_s", |row| row.times.whole.map(Span::as_secs_f64));
    for side in [Side::Opener, Side::Answerer] {
        table = with_side(table, side);
    }
    table.build()
}

fn with_side(table: TableBuilder<'_, Record>, side: Side) -> TableBuilder<'_, Record> {
    let name = |what: &str| format!("{}_{what}", side.name());
    table
        .with(&name("packets"), |row| row.sent(side).packets)
        .with(&name("wire_bytes"), |row| row.sent(side).wire_bytes)
        .with(&name("data_packets"), |row| row.sent(side).data_packets)
        .with(&name("payload_bytes"), |row| row.sent(side).payload_bytes)
        .with(&name("bare_acknowledgments"), |row| row.sent(side).bare_acknowledgments)
        .with(&name("largest_payload_bytes"), |row| u64::from(row.sent(side).largest_payload_bytes))
        .with_text(&name("flags"), |row, text| push_flags(text, row.sent(side).flags))
        .with(&name("hop_limit"), |row| {
            let sent = row.sent(side);
            (sent.packets > 0).then(|| u64::from(sent.hop_limit))
        })
        .with(&name("mss_bytes"), |row| row.syn_of(side)?.options.mss.map(u64::from))
        .with(&name("window_scale"), |row| row.syn_of(side)?.options.window_scale.map(u64::from))
        .with(&name("sack_permitted"), |row| {
            row.syn_of(side).map(|offer| u64::from(offer.options.sack_permitted))
        })
        .with(&name("timestamps"), |row| {
            row.syn_of(side).map(|offer| u64::from(offer.options.timestamps.is_some()))
        })
        .with(&name("ecn"), |row| row.syn_of(side).map(|offer| u64::from(has_ecn(offer))))
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

/// Name and times of a part of the handshake.
type Kind = (&'static str, fn(&SetUps) -> &Times);

/// The tables `setups` and `setup_retries`: rows for each group.
pub(crate) fn setup_tables(groups: &[String], setups: &[SetUps]) -> [Table; 2] {
    let rows: Vec<(&String, &SetUps)> = groups.iter().zip(setups).collect();
    let mut table = TableBuilder::new("setups", &rows)
        .with_text("group", |row, text| text.push_str(row.0))
        .with("attempts", |row| row.1.attempts())
        .with("completed", |row| row.1.outcome(SetUp::Completed))
        .with("unanswered", |row| row.1.outcome(SetUp::Unanswered))
        .with("refused", |row| row.1.outcome(SetUp::Refused))
        .with("half_open", |row| row.1.outcome(SetUp::HalfOpen))
        .with("aborted", |row| row.1.aborted)
        .with("unseen", |row| row.1.outcome(SetUp::Unseen))
        .with("simultaneous_opens", |row| row.1.simultaneous)
        .with("syn_retries", |row| row.1.syn_retries)
        .with("syn_ack_retries", |row| row.1.syn_ack_retries);
    let kinds: [Kind; 3] = [
        ("answer_time", |setups| &setups.answer),
        ("acknowledgment_time", |setups| &setups.acknowledgment),
        ("setup_time", |setups| &setups.whole),
    ];
    for (name, times) in kinds {
        table = table
            .with(&format!("{name}_min_s"), |row| times(row.1).minimum().map(seconds))
            .with(&format!("{name}_mean_s"), |row| times(row.1).mean().map(|mean| mean / 1e9))
            .with(&format!("{name}_p50_s"), |row| times(row.1).percentile(50.0).map(seconds))
            .with(&format!("{name}_p99_s"), |row| times(row.1).percentile(99.0).map(seconds))
            .with(&format!("{name}_max_s"), |row| times(row.1).maximum().map(seconds));
    }
    [table.build(), retries_table(&rows)]
}

struct RetriesRow<'a> {
    group: &'a String,
    retries: u64,
    attempts: u64,
    completed: u64,
}

fn retries_table(groups: &[(&String, &SetUps)]) -> Table {
    let mut rows = Vec::new();
    for &(group, setups) in groups {
        for (retries, &(attempts, completed)) in (0..).zip(&setups.by_retries) {
            if attempts > 0 {
                rows.push(RetriesRow { group, retries, attempts, completed });
            }
        }
    }
    TableBuilder::new("setup_retries", &rows)
        .with_text("group", |row, text| text.push_str(row.group))
        .with("syn_retries", |row| row.retries)
        .with("attempts", |row| row.attempts)
        .with("completed", |row| row.completed)
        .build()
}
