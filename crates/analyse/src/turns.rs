//! Turns of a connection: how long one side takes to answer the other, in the table `turns`.
//!
//! Source: our own rule. A turn begins with the first new payload of one side (the responder) after new payload of the
//! other (the requester), if it acknowledges all of that. So data that crosses on the path begins no turn. Payload is new
//! if it lies beyond all that the side has sent, or fills a gap at the tap. What a capture cannot show is which bytes are
//! a request: pipelined requests and unrequested data blur the times.
//!
//! Cost: two comparisons for each packet with payload. Memory: 40 bytes for each open connection and tap, and two
//! distributions for each side that answers.

use crate::connection::{Side, TapMapping, TapPosition};
use crate::stream::RowKey;
use fairwind_measure::{
    Percentiles, Summary, Table, TableBuilder, TableDefinition, Times, named_enum, table_columns,
};
use fairwind_units::{Instant, Span};
use fairwind_wire::{Flags, Segment, SequenceNumber};
use std::collections::BTreeMap;

named_enum! {
    /// Position of a tap relative to the side that answers.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub(crate) enum TurnTap {
        /// Near the side that answers.
        NearResponder = "near-responder",
        /// Near the side that is answered.
        NearRequester = "near-requester",
        /// On the path, far from both.
        Between = "between",
        /// Not known.
        Unknown = "unknown",
    }
}

impl TurnTap {
    fn of(mapping: &TapMapping, tap: usize, responder: Side) -> Self {
        match mapping.place {
            TapPosition::Between(_) => Self::Between,
            TapPosition::Unknown(_) => Self::Unknown,
            TapPosition::Near(_) | TapPosition::Given(_) if mapping.leaves(tap, responder) => {
                Self::NearResponder
            }
            TapPosition::Near(_) | TapPosition::Given(_) => Self::NearRequester,
        }
    }
}

/// Times of turns, from the last new payload of the requester.
#[derive(Debug, Clone)]
struct TurnTimes {
    /// To the first new payload of the responder.
    first: Times,
    /// To the last one before the requester sends again.
    last: Times,
}

impl TurnTimes {
    fn new() -> Self {
        Self { first: Times::new(), last: Times::new() }
    }

    fn add(&mut self, other: &Self) {
        self.first.add(&other.first);
        self.last.add(&other.last);
    }
}

/// Turns of one connection at one tap.
#[derive(Debug, Clone, Default)]
pub(crate) struct Turns {
    /// When the last new payload passed.
    last_at: Instant,
    /// When the last new payload passed before the present sender's.
    asked_at: Instant,
    /// The sequence number behind all payload of each side.
    ends: [SequenceNumber; 2],
    /// Bytes of the present sender from the first to the last that have not passed; empty without a gap.
    gap: (SequenceNumber, SequenceNumber),
    /// The side that sent the last new payload.
    sender: Option<Side>,
    is_known: [bool; 2],
    /// Whether the present sender's payload is a turn that counts.
    is_turn: bool,
    /// Turns of each side that answers.
    times: Option<Box<[TurnTimes; 2]>>,
}

impl Turns {
    /// Takes a segment that `side` sent.
    #[inline]
    pub(crate) fn on_segment(&mut self, at: Instant, side: Side, segment: &Segment) {
        if self.sender == Some(side) && segment.sequence == self.ends[side.index()] {
            self.ends[side.index()] = segment.sequence + segment.payload_bytes;
            self.last_at = at;
        } else {
            self.on_discontinuous_segment(at, side, segment);
        }
    }

    /// Takes a segment of another sender than the one before, or of other bytes than the next ones.
    #[inline(never)]
    fn on_discontinuous_segment(&mut self, at: Instant, side: Side, segment: &Segment) {
        if segment.flags.contains(Flags::RST) {
            return;
        }
        let place = side.index();
        let start = segment.sequence + u32::from(segment.flags.contains(Flags::SYN));
        let end = start + segment.payload_bytes;
        if !std::mem::replace(&mut self.is_known[place], true) {
            self.ends[place] = start;
        }
        let is_beyond = end.is_after(self.ends[place]);
        let fills_gap = self.sender == Some(side) && self.fill_gap(start, end);
        if !is_beyond && !fills_gap {
            return;
        }
        if self.sender != Some(side) {
            self.change_sender(at, side, segment);
        }
        if start.is_after(self.ends[place]) {
            let (first, last) = self.gap;
            self.gap = (if first == last { self.ends[place] } else { first }, start);
        }
        if is_beyond {
            self.ends[place] = end;
        }
        self.last_at = at;
    }

    /// Whether bytes fill the gap, at least in part.
    fn fill_gap(&mut self, start: SequenceNumber, end: SequenceNumber) -> bool {
        let (first, last) = self.gap;
        if !end.is_after(first) || !last.is_after(start) {
            return false;
        }
        if !start.is_after(first) {
            self.gap.0 = if end.is_after(last) { last } else { end };
        } else if !last.is_after(end) {
            self.gap.1 = start;
        }
        true
    }

    /// The other side begins to send.
    fn change_sender(&mut self, at: Instant, side: Side, segment: &Segment) {
        self.end();
        let acknowledges_all = segment.flags.contains(Flags::ACK)
            && !self.ends[side.other().index()].is_after(segment.acknowledgment);
        self.is_turn = self.sender.is_some() && acknowledges_all;
        self.asked_at = self.last_at;
        self.sender = Some(side);
        self.gap = <(SequenceNumber, SequenceNumber)>::default();
        if self.is_turn {
            let time = at.saturating_since(self.asked_at);
            self.times_of(side).first.record_deferred(time.as_nanos());
        }
    }

    /// The present sender's payload is over.
    fn end(&mut self) {
        if let Some(sender) = self.sender
            && std::mem::replace(&mut self.is_turn, false)
        {
            let time: Span = self.last_at.saturating_since(self.asked_at);
            self.times_of(sender).last.record_deferred(time.as_nanos());
        }
    }

    fn times_of(&mut self, side: Side) -> &mut TurnTimes {
        let times =
            self.times.get_or_insert_with(|| Box::new([TurnTimes::new(), TurnTimes::new()]));
        &mut times[side.index()]
    }

    /// Discards the turns so far.
    pub(crate) fn reset_counts(&mut self) {
        self.times = None;
        self.is_turn = false;
    }
}

/// Turns of a group: those that one of the sides answers, at taps of one position.
#[derive(Debug, Clone)]
struct GroupTurns {
    flows: u64,
    times: TurnTimes,
}

/// A row of the table.
#[derive(Debug, Clone)]
struct TurnRow {
    subject: RowKey,
    responder: Side,
    tap: TurnTap,
    flows: u64,
    kind: &'static str,
    summary: Summary,
}

/// Rows of the table that were not taken, and the turns of groups.
#[derive(Debug, Clone)]
pub(crate) struct TurnRows {
    percentiles: Vec<f64>,
    summaries: Percentiles,
    rows: Vec<TurnRow>,
    /// By index of the group.
    groups: BTreeMap<(usize, usize, TurnTap), GroupTurns>,
}

impl TurnRows {
    /// No rows; distributions get these percentiles.
    pub(crate) fn new(percentiles: &[f64]) -> Self {
        Self {
            percentiles: percentiles.to_vec(),
            summaries: Percentiles::new(percentiles.iter().copied()),
            rows: Vec::new(),
            groups: BTreeMap::new(),
        }
    }

    /// Adds the turns that `side` of a connection answers; the connection has ended.
    pub(crate) fn push(
        &mut self,
        subject: &RowKey,
        group: usize,
        side: Side,
        mapping: &TapMapping,
        turns: &[Turns; 2],
    ) {
        for (tap, turns) in turns.iter().enumerate().filter(|(_, turns)| turns.times.is_some()) {
            let mut turns = turns.clone();
            turns.end();
            let times = turns.times_of(side);
            if times.first.is_empty() {
                continue;
            }
            let place = TurnTap::of(mapping, tap, side);
            self.push_rows(subject, side, place, 1, times);
            let of_group = self.groups.entry((group, side.index(), place));
            let of_group =
                of_group.or_insert_with(|| GroupTurns { flows: 0, times: TurnTimes::new() });
            of_group.flows += 1;
            of_group.times.add(times);
        }
    }

    fn push_rows(
        &mut self,
        subject: &RowKey,
        responder: Side,
        tap: TurnTap,
        flows: u64,
        times: &TurnTimes,
    ) {
        for (kind, times) in [("first_byte", &times.first), ("last_byte", &times.last)] {
            let summary = Summary::of(times, &self.summaries);
            let subject = subject.clone();
            self.rows.push(TurnRow { subject, responder, tap, flows, kind, summary });
        }
    }

    /// Discards all turns.
    pub(crate) fn reset_counts(&mut self) {
        self.rows.clear();
        self.groups.clear();
    }

    /// Takes the pending rows.
    pub(crate) fn take(&mut self) -> Table {
        let rows = std::mem::take(&mut self.rows);
        let table = with_turn(TableBuilder::new(TURNS, &rows));
        with_times(table, &self.percentiles, &self.summaries).build()
    }

    /// Takes the pending rows, with those of the groups at the end.
    pub(crate) fn finish(&mut self, groups: &[String]) -> Table {
        for ((group, side, tap), turns) in std::mem::take(&mut self.groups) {
            let Some(name) = groups.get(group) else { continue };
            let subject = RowKey { flow: None, name: name.clone(), group: name.clone() };
            let sides = [Side::Opener, Side::Answerer];
            self.push_rows(&subject, sides[side], tap, turns.flows, &turns.times);
        }
        self.take()
    }
}

/// The name of the table.
const TURNS: &str = "turns";

/// What its columns mean.
pub(crate) const COLUMNS: TableDefinition = (TURNS, &[TURN, TIMES]);

table_columns! {
    TURN: with_turn(TurnRow);
    "scope", "text", with_text(|row, text| text.push_str(if row.subject.flow.is_some() { "flow" } else { "group" })), "`flow`, or `group` for all flows of a group together.";
    "name", "text", with_text(|row, text| text.push_str(&row.subject.name)), "Name of the flow that answers, or of the group.";
    "group", "text", with_text(|row, text| text.push_str(&row.subject.group)), "The group, or the group of the flow.";
    "flow", "number", with(|row| row.subject.flow), "The number of the flow that answers; missing for a group.";
    "responder", "text", with_text(|row, text| text.push_str(row.responder.name())), "The side that answers: `answerer`, which is the server as a rule, or `opener`, for the time until its next request.";
    "tap", "text", with_text(|row, text| text.push_str(row.tap.name())), "Where the turns were seen: `near-responder`, where `first_byte` is the time that the side takes itself; `near-requester`, where it is the response time; `between` or `unknown` as in the column `vantage` of `connections`.";
    "flows", "flows", with(|row| row.flows), "Flows with turns: 1, or those of the group.";
    "kind", "text", with_text(|row, text| text.push_str(row.kind)), "`first_byte`: from the last new payload of one side to the first new payload of the other. `last_byte`: to its last one before the first side sends again, or the connection ends. New is what lies beyond all payload before, or fills a gap at the tap, so retransmissions do not count. This assumes that the sides alternate strictly. Pipelined requests and data that nobody asked for blur the times; data that does not acknowledge all payload of the other side begins no turn.";
}

table_columns! {
    TIMES: with_times(TurnRow, shown: &[f64], percentiles: &Percentiles);
    "turns", "turns", with(|row| row.summary.count), "Turns.";
    "min_s", "s", with(|row| row.summary.minimum_s()), "The shortest time.";
    "mean_s", "s", = with_times("", shown, percentiles, |row| &row.summary), "The mean time.";
    "p*_s", "s", _, "The percentile of the times, at most 1 % above the true one.";
    "max_s", "s", _, "The longest time.";
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A segment from `start` on, which acknowledges `acknowledgment`.
    fn segment(start: u32, payload_bytes: u32, acknowledgment: u32) -> Segment {
        Segment {
            sequence: SequenceNumber::new(start),
            acknowledgment: SequenceNumber::new(acknowledgment),
            flags: Flags::ACK,
            payload_bytes,
            ..Segment::default()
        }
    }

    /// Times of both kinds in milliseconds, of the turns that `side` answers.
    fn times(turns: &Turns, side: Side) -> [Vec<u64>; 2] {
        let mut turns = turns.clone();
        turns.end();
        let times = turns.times_of(side);
        [&times.first, &times.last].map(|times| {
            let of = [0.0, 100.0].map(|place| times.percentile(place));
            of.into_iter().flatten().map(|nanos| nanos / 1_000_000).collect()
        })
    }

    fn after(packets: &[(u64, Side, Segment)]) -> Turns {
        let mut turns = Turns::default();
        for (millis, side, segment) in packets {
            turns.on_segment(Instant::from_millis(*millis), *side, segment);
        }
        turns
    }

    const CLIENT: Side = Side::Opener;
    const SERVER: Side = Side::Answerer;

    #[test]
    fn request_and_response_make_one_turn() {
        let turns = after(&[
            (10, CLIENT, segment(0, 100, 0)),
            (11, CLIENT, segment(100, 100, 0)),
            (31, SERVER, segment(0, 1000, 200)),
            (36, SERVER, segment(1000, 1000, 200)),
            (96, CLIENT, segment(200, 100, 2000)),
        ]);
        assert_eq!(times(&turns, SERVER), [[20, 20], [25, 25]]);
        assert_eq!(times(&turns, CLIENT), [[60, 60], [60, 60]]);
    }

    #[test]
    fn retransmissions_change_no_turn() {
        let turns = after(&[
            (10, CLIENT, segment(0, 100, 0)),
            (15, CLIENT, segment(0, 100, 0)),
            (30, SERVER, segment(0, 1000, 100)),
            (32, CLIENT, segment(0, 100, 0)),
            (35, SERVER, segment(0, 1000, 100)),
        ]);
        assert_eq!(times(&turns, SERVER), [[20, 20], [20, 20]]);
        assert_eq!(times(&turns, CLIENT), [[], []] as [[u64; 0]; 2]);
    }

    /// The request is complete at the tap when its lost segment arrives.
    #[test]
    fn filled_gap_is_new_payload_once() {
        let turns = after(&[
            (9, CLIENT, segment(0, 100, 0)),
            (10, CLIENT, segment(200, 100, 0)),
            (11, CLIENT, segment(400, 100, 0)),
            (40, CLIENT, segment(300, 100, 0)),
            (50, CLIENT, segment(100, 100, 0)),
            (60, CLIENT, segment(100, 100, 0)),
            (70, SERVER, segment(0, 1000, 500)),
        ]);
        assert_eq!(times(&turns, SERVER), [[20, 20], [20, 20]]);
    }

    #[test]
    fn crossing_data_begins_no_turn() {
        let turns = after(&[
            (10, CLIENT, segment(0, 100, 0)),
            (11, CLIENT, segment(100, 100, 0)),
            (12, SERVER, segment(0, 1000, 100)),
            (20, CLIENT, segment(200, 100, 1000)),
        ]);
        assert_eq!(times(&turns, SERVER), [[], []] as [[u64; 0]; 2]);
        assert_eq!(times(&turns, CLIENT), [[8, 8], [8, 8]]);
    }

    #[test]
    fn first_byte_after_reset_begins_count() {
        let mut turns = after(&[
            (10, CLIENT, segment(0, 100, 0)),
            (20, SERVER, segment(0, 10, 100)),
            (30, CLIENT, segment(100, 100, 10)),
        ]);
        turns.reset_counts();
        turns.on_segment(Instant::from_millis(37), SERVER, &segment(10, 10, 200));
        assert_eq!(times(&turns, SERVER), [[7, 7], [7, 7]]);
        assert_eq!(times(&turns, CLIENT), [[], []] as [[u64; 0]; 2]);
    }
}
