//! One-way flows of all connections between two taps.
//!
//! A departure is settled `loss_timeout` after it was seen, or a little later to settle many at once. Time is
//! what *both* captures have reached, so that a pause in one of them, or an odd timestamp, makes no losses.

use super::clock_drift::{ClockDrift, ClockModel, DelayFloor};
use super::clock_offset::ClockOffset;
use super::context::{
    Arrival, CaptureSpan, Departure, FlowName, FlowPairDescription, FlowPairId, LostPacket,
    SharedState, TapActivity, index, way_and_tap,
};
use super::counts::Timeline;
use super::flow::OneWayFlow;
use super::group::{ClockCorrection, FlowDelays, Group, delays_of};
use super::samples::{ClosedFlow, ClosedFlows, SampleLog};
use super::tables;
use super::tables::{Clocks, DelayRow, FlowRow, GroupRow};
use crate::connection::Slots;
use fairwind_capture::Packet;
use fairwind_measure::{Direction, EmptyRowBudget, Percentiles, Table, Tables};
use fairwind_units::{Instant, Span};
use fairwind_wire::Flags;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Limit of departures per direction; beyond it the oldest are settled early.
const REMEMBERED: usize = 1 << 17;

/// Settings of one-way flows.
#[derive(Debug, Clone, PartialEq)]
pub struct OneWaySettings {
    /// Whether both captures share a clock. If so, both are assumed to be complete.
    pub clock: ClockModel,
    /// Offset that was already subtracted from the receiver's timestamps, if any.
    pub merged_by: Option<ClockOffset>,
    /// Time after which a departure without arrival is lost.
    pub loss_timeout: Span,
    /// Origin of windows.
    pub origin: Instant,
    /// Window lengths of loss and delay over time.
    pub intervals: Vec<Span>,
    /// Rows of empty windows in a series, see [`EmptyRowBudget`]; `None`: all.
    pub max_empty_rows: Option<u64>,
    /// Percentiles of delays, above 0 and up to 100.
    pub percentiles: Vec<f64>,
}

impl Default for OneWaySettings {
    /// One clock, a loss timeout of ten seconds, no windows, the percentiles of `measure`.
    fn default() -> Self {
        Self {
            clock: ClockModel::Shared,
            merged_by: None,
            loss_timeout: Span::from_secs(10),
            origin: Instant::ZERO,
            intervals: Vec::new(),
            max_empty_rows: Some(EmptyRowBudget::DEFAULT_ROWS),
            percentiles: fairwind_measure::Settings::default().percentiles,
        }
    }
}

/// One connection: a flow in each direction.
#[derive(Debug)]
pub(super) struct FlowPair {
    pub(super) description: FlowPairDescription,
    /// Index of the group of each direction: that of the connection until the direction has payload.
    groups: [u32; 2],
    /// Flow from the opener, and flow to it.
    pub(super) directions: [OneWayFlow; 2],
    /// Distinguishes reused ids in the agenda.
    serial: u64,
    /// Whether the agenda has it.
    is_due: bool,
    /// The taps that have seen it.
    is_seen_at: [bool; 2],
}

impl FlowPair {
    /// A packet in the direction `way` passes a tap: with the first payload the direction enters its group.
    #[inline]
    fn note_payload(&mut self, way: usize, packet: &Packet) {
        if packet.segment.payload_bytes > 0 {
            self.groups[way] = self.description.data_groups[way];
        }
    }
}

/// All connections between two taps.
#[derive(Debug)]
pub struct OneWayFlows {
    settings: OneWaySettings,
    common: SharedState,
    pairs: Slots<FlowPair>,
    serials: u64,
    /// Closed flows with delays that wait for the clocks.
    closed_flows: ClosedFlows,
    /// Rows that were not taken.
    rows: Vec<FlowRow>,
    delay_rows: Vec<DelayRow>,
    /// Drift, once all packets were seen.
    settled_drift: Option<ClockDrift>,
    lost: VecDeque<LostPacket>,
    found: Vec<LostPacket>,
    /// When to settle a pair: instant, id and serial.
    agenda: BinaryHeap<Reverse<(Instant, u32, u64)>>,
    next_due: Instant,
    /// Activity at each tap.
    seen: [TapActivity; 2],
}

impl OneWayFlows {
    /// No connections.
    pub fn new(settings: OneWaySettings) -> Self {
        Self {
            next_due: Instant::ZERO,
            common: SharedState::new(settings.origin),
            settings,
            pairs: Slots::new(),
            serials: 0,
            closed_flows: ClosedFlows::new(),
            rows: Vec::new(),
            delay_rows: Vec::new(),
            settled_drift: None,
            lost: VecDeque::new(),
            found: Vec::new(),
            agenda: BinaryHeap::new(),
            seen: [TapActivity::default(); 2],
        }
    }

    /// Adds a group; returns its index.
    ///
    /// # Panics
    /// At 2^32 groups.
    pub fn add_group(&mut self, name: &str) -> u32 {
        let index = u32::try_from(self.common.groups.len()).expect("fewer than 2^32 groups");
        self.common.groups.push(Group::new(name, &self.settings.intervals));
        index
    }

    /// Opens a connection.
    ///
    /// # Panics
    /// If one of its groups does not exist; at 2^32 open connections.
    pub fn open(&mut self, description: FlowPairDescription) -> FlowPairId {
        let [opening, answering] = description.data_groups;
        for group in [description.group, opening, answering] {
            assert!(index(group) < self.common.groups.len(), "the group was added before");
        }
        self.serials += 1;
        let pair = FlowPair {
            groups: [description.group; 2],
            description,
            directions: [OneWayFlow::default(), OneWayFlow::default()],
            serial: self.serials,
            is_due: false,
            is_seen_at: [false; 2],
        };
        FlowPairId(self.pairs.insert(pair))
    }

    /// A packet departs, at `at` on the sender's clock.
    ///
    /// # Panics
    /// If the connection is closed.
    #[inline]
    pub fn on_departure(
        &mut self,
        id: FlowPairId,
        direction: Direction,
        at: Instant,
        packet: &Packet,
    ) -> Departure {
        let pair = self.pairs.get_mut(id.0).expect("the connection is open");
        let (way, tap) = way_and_tap(direction, pair.description.opener);
        self.seen[tap].note(at);
        pair.is_seen_at[tap] = true;
        pair.note_payload(way, packet);
        let mut context = self.common.context_for(&pair.description, pair.groups, direction);
        let [opening, answering] = &mut pair.directions;
        let (mine, other) = if way == 0 { (opening, answering) } else { (answering, opening) };
        let departure = mine.on_departure(at, packet, &mut context);
        if packet.segment.flags.contains(Flags::ACK) {
            // It acknowledges data of the other direction, at the tap where that arrived.
            context.turn(pair.groups[1 - way]);
            other.acknowledged(at, packet.segment.acknowledgment, &mut context);
        }
        let is_too_much = mine.len() > REMEMBERED;
        if !pair.is_due {
            pair.is_due = true;
            let due = at + self.settings.loss_timeout + self.settings.loss_timeout / 4;
            self.agenda.push(Reverse((due, id.0, pair.serial)));
            self.next_due = self.next_due.min(due);
        } else if is_too_much {
            self.settle_pair(id.0, None);
        }
        if at >= self.next_due {
            self.settle_due();
        }
        departure
    }

    /// A packet arrives, at `at` on the sender's clock.
    ///
    /// # Panics
    /// If the connection is closed.
    #[inline]
    pub fn on_arrival(
        &mut self,
        id: FlowPairId,
        direction: Direction,
        at: Instant,
        packet: &Packet,
    ) -> Arrival {
        let pair = self.pairs.get_mut(id.0).expect("the connection is open");
        let (way, tap) = way_and_tap(direction, pair.description.opener);
        self.seen[1 - tap].note(at);
        pair.is_seen_at[1 - tap] = true;
        pair.note_payload(way, packet);
        let mut context = self.common.context_for(&pair.description, pair.groups, direction);
        let arrival = pair.directions[way].on_arrival(at, packet, &mut context);
        if at >= self.next_due {
            self.settle_due();
        }
        arrival
    }

    /// The next lost packet that was found.
    #[inline]
    pub fn next_lost(&mut self) -> Option<LostPacket> {
        self.lost.pop_front()
    }

    /// The last packet at any tap.
    fn latest(&self) -> Instant {
        self.seen[0].last.max(self.seen[1].last)
    }

    fn slack(&self) -> Span {
        self.settings.loss_timeout / 4
    }

    /// Settles pairs that are due at the time that both captures have reached.
    #[cold]
    fn settle_due(&mut self) {
        let now = self.seen[0].last.min(self.seen[1].last);
        while let Some(&Reverse((due, place, serial))) = self.agenda.peek()
            && due <= now
        {
            self.agenda.pop();
            let pair = self.pairs.get(place);
            if pair.is_some_and(|pair| pair.serial == serial) {
                self.settle_pair(place, Some(now));
            }
        }
        let settled =
            now.as_nanos().saturating_sub((self.settings.loss_timeout + self.slack()).as_nanos());
        for group in &mut self.common.groups {
            group.settle(now, Instant::from_nanos(settled));
        }
        // Groups are settled from time to time without pairs that are due.
        let latest = self.latest() + self.slack();
        self.next_due = latest;
    }

    /// Settles departures before the loss timeout at `now`; without `now`, the older half.
    fn settle_pair(&mut self, place: u32, now: Option<Instant>) {
        let loss_timeout = self.settings.loss_timeout;
        let slack = self.slack();
        let Some(pair) = self.pairs.get(place) else { return };
        let watches = self.watches(pair);
        let Some(pair) = self.pairs.get_mut(place) else { return };
        let mut oldest = None;
        for way in 0..2 {
            let direction = if way == 0 { Direction::Forward } else { Direction::Reverse };
            let (_, tap) = way_and_tap(direction, pair.description.opener);
            let one_way = &mut pair.directions[way];
            let before = now.map_or_else(
                // Including the middle, or many departures of one instant would never be settled.
                || one_way.middle() + Span::from_nanos(1),
                |now| Instant::from_nanos(now.as_nanos().saturating_sub(loss_timeout.as_nanos())),
            );
            let mut context = self.common.context_for(&pair.description, pair.groups, direction);
            one_way.settle(before, watches[1 - tap], &mut context, &mut self.found);
            if now.is_some() {
                oldest = [oldest, one_way.oldest()].into_iter().flatten().min();
            }
        }
        self.lost.extend(self.found.drain(..));
        if now.is_none() {
            return;
        }
        pair.is_due = oldest.is_some();
        if let Some(oldest) = oldest {
            // Later than now, so that a loss timeout of zero ends.
            let due =
                (oldest + loss_timeout + slack).max(now.unwrap_or(oldest) + Span::from_nanos(1));
            self.agenda.push(Reverse((due, place, pair.serial)));
        }
    }

    /// The capture spans of a connection. With two clocks, a tap that has not seen the connection may be on
    /// another path.
    fn watches(&self, pair: &FlowPair) -> [CaptureSpan; 2] {
        [0, 1].map(|tap| match self.settings.clock {
            ClockModel::Apart if !pair.is_seen_at[tap] => {
                CaptureSpan { from: Instant::MAX, until: Instant::ZERO }
            }
            _ => self.watch(tap),
        })
    }

    /// The capture span of a tap.
    fn watch(&self, tap: usize) -> CaptureSpan {
        match self.settings.clock {
            ClockModel::Shared => CaptureSpan { from: Instant::ZERO, until: self.latest() },
            ClockModel::Apart => {
                let TapActivity { first, last } = self.seen[tap];
                CaptureSpan { from: first.unwrap_or(Instant::MAX), until: last }
            }
        }
    }

    /// Estimates of the clocks.
    fn clocks(&self) -> Clocks {
        let merged_by = self.settings.merged_by;
        Clocks {
            model: self.settings.clock,
            drift: self.drift(),
            merged_by_nanos: merged_by.map_or(0, |offset| offset.nanos),
            is_known: merged_by.is_some() || !self.common.floors.iter().all(DelayFloor::is_empty),
            is_symmetric: !self.common.floors.iter().any(DelayFloor::is_empty),
        }
    }

    /// Drift of the receiver's clock so far; zero with one clock.
    pub fn drift(&self) -> ClockDrift {
        match self.settings.clock {
            ClockModel::Shared => ClockDrift::default(),
            ClockModel::Apart => ClockDrift::of(&self.common.floors[0], &self.common.floors[1]),
        }
    }

    /// Departures in windows beyond the limit, which are in no row of losses over time.
    pub fn packets_beyond_windows(&self) -> u64 {
        let series = 0..self.settings.intervals.len();
        let of_series = |series: usize| -> u64 {
            let of_group = |group: &Group| {
                let beyond = group.loss_series.get(series).and_then(Timeline::beyond);
                beyond.map_or(0, |window| window.packets_sent)
            };
            self.common.groups.iter().map(of_group).sum()
        };
        series.map(of_series).max().unwrap_or(0)
    }

    /// The first error of the temporary file; delays are incomplete after it.
    pub const fn spill_error(&self) -> Option<&std::io::Error> {
        self.common.spill.failed()
    }
}

impl OneWayFlows {
    /// Closes a connection: settles its departures, and makes rows of its flows, that of the opener's data and,
    /// if any, that of the answers.
    ///
    /// # Panics
    /// If the connection is closed.
    pub fn close(
        &mut self,
        id: FlowPairId,
        opening: FlowName<'_>,
        answering: Option<FlowName<'_>>,
    ) {
        let mut pair = self.pairs.remove(id.0).expect("the connection is open");
        self.settle_until(&mut pair, Instant::MAX);
        let [there, back] = pair.directions;
        let [there_group, back_group] = pair.groups;
        // The acknowledgments of a flow go in the other direction.
        let (mut there_counts, mut back_counts) = (there.counts, back.counts);
        (there_counts.ack_packets_sent, back_counts.ack_packets_sent) =
            (back.counts.ack_packets_sent, there.counts.ack_packets_sent);
        (there_counts.ack_packets_lost, back_counts.ack_packets_lost) =
            (back.counts.ack_packets_lost, there.counts.ack_packets_lost);
        let has_answers = back.has_payload();
        let answering = answering.filter(|_| has_answers);
        let opener = pair.description.opener;
        let flows = [
            (Direction::Forward, there_group, Some(opening), there, there_counts),
            (Direction::Reverse, back_group, answering, back, back_counts),
        ];
        for (direction, group, name, one_way, counts) in flows {
            let Some(name) = name else {
                one_way.log.discard(&mut self.common.spill);
                continue;
            };
            let sums = &mut self.common.groups[index(group)];
            sums.counts.add(&counts);
            sums.first.add(&one_way.first);
            let (flow, first) = (name.number, one_way.first);
            self.rows.push(FlowRow { flow, name: name.name.to_owned(), group, counts, first });
            let (_, tap) = way_and_tap(direction, opener);
            self.close_delays(one_way.log, tap, group, name);
        }
    }

    /// Discards the counts before `at` and the rows of closed connections. Packets under way count if they
    /// arrive, and are not counted as lost.
    pub fn reset_counts(&mut self, at: Instant) {
        self.common.counted_from = at;
        for one_way in self.pairs.iter_mut().flat_map(|open| &mut open.directions) {
            one_way.reset_counts(&mut self.common.spill);
        }
        for group in &mut self.common.groups {
            group.reset_counts(&self.settings.intervals);
        }
        self.discard_closed();
    }

    /// Discards the counts of a connection so far.
    ///
    /// # Panics
    /// If the connection is closed.
    pub fn reset_connection_counts(&mut self, id: FlowPairId) {
        let pair = self.pairs.get_mut(id.0).expect("the connection is open");
        for one_way in &mut pair.directions {
            one_way.reset_counts(&mut self.common.spill);
        }
    }

    /// Stops counting a connection at `at`, and settles its departures as at the end of a capture.
    ///
    /// # Panics
    /// If the connection is closed.
    pub fn end(&mut self, id: FlowPairId, at: Instant) {
        let mut pair = self.pairs.remove(id.0).expect("the connection is open");
        self.settle_until(&mut pair, at);
        // The slot that was freed last is used first.
        let slot = self.pairs.insert(pair);
        debug_assert_eq!(slot, id.0, "the connection keeps its slot");
    }

    /// Discards the rows of closed connections.
    pub fn discard_closed(&mut self) {
        self.rows.clear();
        self.delay_rows.clear();
        self.closed_flows = ClosedFlows::new();
    }

    /// Settles all departures; nothing comes after `end`.
    fn settle_until(&mut self, pair: &mut FlowPair, end: Instant) {
        let watches = self.watches(pair).map(|watch| watch.ending_at(end));
        for (way, direction) in [Direction::Forward, Direction::Reverse].into_iter().enumerate() {
            let (_, tap) = way_and_tap(direction, pair.description.opener);
            let mut context = self.common.context_for(&pair.description, pair.groups, direction);
            pair.directions[way].finish(watches[1 - tap], &mut context, &mut self.found);
        }
        self.lost.extend(self.found.drain(..));
    }

    /// Computes the delays now with one clock, or stores the samples until both clocks are known.
    fn close_delays(&mut self, log: SampleLog, tap: usize, group: u32, name: FlowName<'_>) {
        if self.settings.clock == ClockModel::Shared {
            let delays = self.delays(&log, tap, group);
            log.discard(&mut self.common.spill);
            let FlowName { number, name } = name;
            self.push_delays(delays, group, number, name);
            return;
        }
        let samples = log.spill_all(&mut self.common.spill);
        let (flow, name) = (name.number, name.name.to_owned());
        let tap = u8::from(tap > 0);
        if let Err(error) = self.closed_flows.put(&ClosedFlow { group, tap, flow, name, samples }) {
            self.common.spill.fail(error);
        }
    }

    fn delays(&mut self, samples: &SampleLog, tap: usize, group: u32) -> Option<FlowDelays> {
        let correction = ClockCorrection {
            drift: self.settled_drift.unwrap_or_default(),
            is_shared: self.settings.clock == ClockModel::Shared,
            is_towards: tap == 0,
            origin: self.settings.origin,
        };
        let group = &mut self.common.groups[index(group)].delays;
        delays_of(samples, &correction, &mut self.common.spill, group)
    }

    fn push_delays(&mut self, delays: Option<FlowDelays>, group: u32, flow: u64, name: &str) {
        let Some(delays) = delays else { return };
        let percentiles = self.percentiles();
        let rows = delays.variation.layers().map(|(layer, variation)| {
            DelayRow::of_flow((flow, name, group), layer, delays.smallest, &variation, &percentiles)
        });
        self.delay_rows.extend(rows.filter(DelayRow::has_samples));
    }

    fn percentiles(&self) -> Percentiles {
        Percentiles::new(self.settings.percentiles.iter().copied())
    }

    /// All connections are closed: the clocks are known.
    pub fn finish(&mut self) {
        self.settled_drift = Some(self.drift());
        self.common.groups.iter_mut().for_each(Group::finish);
    }

    /// Rows that can be taken.
    pub fn pending_rows(&self) -> usize {
        self.rows.len() + self.delay_rows.len()
    }

    /// Rows of closed flows. After [`OneWayFlows::finish`], about `most` at a time, with delays by two clocks.
    /// `None` at the end.
    pub fn take_rows(&mut self, most: usize) -> Option<Tables> {
        while self.settled_drift.is_some() && self.pending_rows() < most {
            match self.closed_flows.next() {
                Ok(Some(closed)) => {
                    let tap = usize::from(closed.tap);
                    let delays =
                        self.delays(&SampleLog::spilled(closed.samples), tap, closed.group);
                    self.push_delays(delays, closed.group, closed.flow, &closed.name);
                }
                Ok(None) => break,
                Err(error) => {
                    self.common.spill.fail(error);
                    break;
                }
            }
        }
        if self.pending_rows() == 0 {
            return None;
        }
        let (rows, delays) = (std::mem::take(&mut self.rows), std::mem::take(&mut self.delay_rows));
        let groups = self.group_names();
        Some(Tables {
            tables: vec![
                tables::passages_table(&[], &rows, &groups),
                tables::first_arrivals_table(&[], &rows, &groups),
                tables::delays_table(&delays, &groups, &self.settings.percentiles),
            ],
        })
    }

    fn group_names(&self) -> Vec<&str> {
        self.common.groups.iter().map(|group| group.name.as_str()).collect()
    }

    /// Tables of groups and clocks as of now; delays are those of closed connections. Complete after
    /// [`OneWayFlows::finish`] and the last [`OneWayFlows::take_rows`].
    pub fn group_tables(&self) -> Tables {
        let names = self.group_names();
        let mut rows: Vec<GroupRow> = (0..)
            .zip(&self.common.groups)
            .map(|(group, sums)| GroupRow { group, counts: sums.counts, first: sums.first })
            .collect();
        for (_, pair) in self.pairs.iter() {
            let [opening, answering] = &pair.directions;
            let answering = Some(answering).filter(|answering| answering.has_payload());
            for (one_way, group) in std::iter::once(opening).chain(answering).zip(pair.groups) {
                let row = &mut rows[index(group)];
                row.counts.add(&one_way.counts);
                row.first.add(&one_way.first);
            }
        }
        let percentiles = self.percentiles();
        let delays: Vec<DelayRow> = (0..)
            .zip(&self.common.groups)
            .flat_map(|(group, sums)| DelayRow::of_group(group, &sums.delays, &percentiles))
            .collect();
        let mut all: Vec<Table> = vec![
            tables::passages_table(&rows, &[], &names),
            tables::first_arrivals_table(&rows, &[], &names),
            tables::delays_table(&delays, &names, &self.settings.percentiles),
        ];
        let max_empty_rows = self.settings.max_empty_rows;
        all.extend(tables::group_series(&self.common.groups, max_empty_rows));
        all.push(tables::clocks_table(&self.clocks()));
        Tables { tables: all }
    }
}
