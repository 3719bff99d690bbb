//! Closing of connections: rows, delays and tables of one-way flows.

use super::{FlowPair, OneWayFlows};
use crate::one_way::clock_drift::ClockModel;
use crate::one_way::context::{FlowName, FlowPairId, index, way_and_tap};
use crate::one_way::delays::{ClockCorrection, FlowDelays, SampleSource, delays_of};
use crate::one_way::group::Group;
use crate::one_way::samples::{ClosedFlow, ClosedFlows, SampleLog};
use crate::one_way::tables;
use crate::one_way::tables::{DelayRow, FlowRow, GroupRow};
use fairwind_measure::{Direction, Percentiles, Table, Tables};
use fairwind_units::Instant;

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
        let mut pair = self.pairs[index(id.0)].take().expect("the connection is open");
        self.free.push(id.0);
        self.settle_until(&mut pair, Instant::MAX);
        let [there, back] = pair.directions;
        let group = pair.description.group;
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
            (Direction::Forward, Some(opening), there, there_counts),
            (Direction::Reverse, answering, back, back_counts),
        ];
        for (direction, name, one_way, counts) in flows {
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
        for one_way in self.pairs.iter_mut().flatten().flat_map(|open| &mut open.directions) {
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
        let pair = self.pairs[index(id.0)].as_mut().expect("the connection is open");
        for one_way in &mut pair.directions {
            one_way.reset_counts(&mut self.common.spill);
        }
    }

    /// Stops counting a connection at `at`, and settles its departures as at the end of a capture.
    ///
    /// # Panics
    /// If the connection is closed.
    pub fn end(&mut self, id: FlowPairId, at: Instant) {
        let mut pair = self.pairs[index(id.0)].take().expect("the connection is open");
        self.settle_until(&mut pair, at);
        self.pairs[index(id.0)] = Some(pair);
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
            let mut context = self.common.context_for(&pair.description, direction);
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

    fn delays(
        &mut self,
        samples: &impl SampleSource,
        tap: usize,
        group: u32,
    ) -> Option<FlowDelays> {
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
                    let delays = self.delays(&closed.samples, tap, closed.group);
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
        for pair in self.pairs.iter().flatten() {
            let row = &mut rows[index(pair.description.group)];
            let ways = pair.directions.iter().zip([true, false]);
            for (one_way, _) in ways.filter(|(one_way, opens)| *opens || one_way.has_payload()) {
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
