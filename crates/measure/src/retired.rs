//! Reattribution and retirement of flows, and the tables at the end.
//!
//! A retired flow is a row that waits to be taken, and its part in the sums of its group; its place
//! serves the next flow. So memory is bounded by the flows that are open, the rows that wait, and
//! the windows of groups.

use crate::collector::Collector;
use crate::flow::Flow;
use crate::interval::{RetiredFlow, WindowCounts};
use crate::observation::{EarlyPackets, FlowId, PacketCount};
use crate::queue_series::QueueEvents;
use crate::rows::{FlowRow, GroupSum, Labels};
use crate::settings::{FlowDescription, ObservationPoints};
use crate::table::{Table, Tables};
use crate::tabulate::{Basis, Measurement, OpenFlow, Windows, chunk, queue_events_table, tables};
use fairwind_units::{Instant, Span};
use std::sync::Arc;

impl Collector {
    /// A connection that `opening` was the only flow of has got another one, `answering`: these packets,
    /// which were counted since the end of the warm-up, are counted as if that had been known before. In
    /// windows that are over they stay where they are.
    ///
    /// # Panics
    /// Where there is no such flow.
    pub fn reattribute(&mut self, opening: FlowId, answering: FlowId, early: &EarlyPackets) {
        let totals = &mut self.flow(opening).totals;
        take_early(&mut totals.packets_sent, &mut totals.wire_bytes_sent, early.bare_sent);
        take_early(
            &mut totals.packets_received,
            &mut totals.wire_bytes_received,
            early.bare_received,
        );
        let answers_sent = u64::from(early.answer_sent.packets);
        totals.ack_packets_sent = totals.ack_packets_sent.saturating_sub(answers_sent);
        let totals = &mut self.flow(answering).totals;
        totals.ack_packets_sent += u64::from(early.bare_sent.packets);
        totals.packets_sent += u64::from(early.answer_sent.packets);
        totals.wire_bytes_sent += u64::from(early.answer_sent.wire_bytes);
        totals.packets_received += u64::from(early.answer_received.packets);
        totals.wire_bytes_received += u64::from(early.answer_received.wire_bytes);
    }

    /// It has turned out that the flow is seen at these points only.
    ///
    /// # Panics
    /// Where there is no such flow, or no more.
    pub fn watch(&mut self, flow: FlowId, seen_at: ObservationPoints) {
        assert!(self.number_of(flow).is_some(), "the flow is there, and not retired");
        self.settings.flows[flow.index()].seen_at = seen_at;
    }

    /// Resets the counts of the flow, as at the end of the warm-up; the state of its stream stays. For flows without
    /// counts so far: ended windows keep their contents.
    ///
    /// # Panics
    /// Where there is no such flow.
    pub fn reset_flow_counts(&mut self, flow: FlowId) {
        self.flow(flow).end_warmup();
    }

    /// The flow ends at `at`, and no more reports of it follow: its row and its part in the sums of
    /// its group are taken, its memory is freed, and a later flow may have its id. What goes the other way
    /// on the same connection is another flow, and goes on.
    ///
    /// # Panics
    /// Where there is no such flow, or no more.
    pub fn retire(&mut self, flow: FlowId, at: Instant) {
        self.pass(at);
        let place = flow.index();
        let number = self.numbers[place].take().expect("a flow is retired once");
        let gone = &mut self.settings.flows[place];
        let description = FlowDescription { name: std::mem::take(&mut gone.name), ..*gone };
        let mut over = std::mem::replace(&mut self.flows[place], Flow::new(None));
        if let Some(opposite) = over.opposite {
            self.flow(opposite).opposite = None;
        }
        if !self.is_warm {
            over.end_warmup();
        }
        if let Some(&scope) = self.scopes.of_flow.get(place) {
            let totals = WindowCounts::of(&over.totals);
            let owner = Arc::new(RetiredFlow { number, description: description.clone() });
            self.series.iter_mut().for_each(|series| series.retire_scope(scope, &totals, &owner));
        }
        if self.settings.keeps_endpoint_samples {
            self.retired.labels.insert(number, description.clone());
        }
        self.retired.groups[description.group_index()].add(&description, &over, at);
        let row = FlowRow::of(number, description, &over, at, &self.percentiles);
        self.retired.rows.push(row);
        self.retired.free.push(flow);
    }

    /// Forgets the flows that are retired: they are in no sum of their group any more, and in no row.
    pub fn discard_retired(&mut self) {
        self.retired.groups.fill_with(GroupSum::new);
        self.retired.rows.clear();
        self.retired.labels.clear();
    }

    /// How many rows wait to be taken: of retired flows, of windows that ended, of endpoints' samples.
    pub fn pending_rows(&self) -> usize {
        let windows: usize = self.series.iter().map(crate::interval::Series::rows).sum();
        self.retired.rows.len() + windows + self.endpoint_samples.len()
    }

    /// The rows that are final and were not taken yet, to be put before those that come
    /// later: of the tables `flows`, `intervals`, `latencies` and `endpoint`. `None` where there are none.
    ///
    /// The measured time is known at the end only: these rows have no rates, see
    /// [`fill_rates`](crate::fill_rates).
    pub fn take_retired(&mut self) -> Option<Tables> {
        if self.pending_rows() == 0 {
            return None;
        }
        let open = self.open_flows();
        let labels = self.labels(&open);
        let windows = self.windows(&open);
        let basis = self.basis(None);
        let samples = &self.endpoint_samples;
        let taken = chunk(&basis, &self.retired.rows, &windows, samples, &labels);
        self.series.iter_mut().for_each(crate::interval::Series::forget_ended);
        self.endpoint_samples.clear();
        self.retired.rows.clear();
        self.retired.labels.clear();
        Some(taken)
    }

    /// The rows of the table `queue_events` that were not taken yet, to be put before later ones; `None` while
    /// there are fewer than `least`.
    pub fn take_queue_events(&mut self, least: usize) -> Option<Table> {
        let events = self.queue_events.as_ref().map_or(&[][..], |events| &events.kept);
        if events.is_empty() || events.len() < least {
            return None;
        }
        let taken = queue_events_table(&self.basis(None), events);
        self.queue_events.iter_mut().for_each(QueueEvents::forget_kept);
        Some(taken)
    }

    /// The tables as if the measurement ended at `now`, or at the settings' end if that is earlier;
    /// it goes on.
    pub fn snapshot(&self, now: Instant) -> Tables {
        self.clone().finish(now)
    }

    /// The tables of what was measured up to `end`, or up to the settings' end if that is earlier; but for
    /// the rows that were [taken](Self::take_retired) before.
    pub fn finish(mut self, end: Instant) -> Tables {
        let end = end.min(self.settings.end);
        self.pass(end);
        if !self.is_warm {
            // The run ended within the warm-up: nothing of it counts.
            self.end_warmup();
        }
        if let Some(series) = &self.queue_series {
            series.restore(&mut self.queues);
        }
        let mut flows = std::mem::take(&mut self.retired.rows);
        let open = self.open_flows();
        flows.reserve_exact(open.len());
        let mut groups = self.retired.groups.clone();
        for one in &open {
            let description = one.description.clone();
            groups[description.group_index()].add(&description, one.flow, end);
            flows.push(FlowRow::of(one.number, description, one.flow, end, &self.percentiles));
        }
        flows.sort_by_key(|row| row.number);
        tables(&Measurement {
            basis: self.basis(Some(end.saturating_since(self.measured_from))),
            flows: &flows,
            open: &open,
            retired: &self.retired.groups,
            groups: &groups,
            queues: &self.queues,
            queue_events: self.queue_events.as_ref(),
            queue_series: self.queue_series.as_ref(),
            slots: &self.slots,
            windows: &self.windows(&open),
            samples: &self.endpoint_samples,
            labels: &self.labels(&open),
        })
    }

    const fn basis(&self, measured: Option<Span>) -> Basis<'_> {
        Basis { settings: &self.settings, percentiles: &self.percentiles, measured }
    }

    /// The flows that are not retired, by their numbers; but for those that still await another one's end.
    pub(crate) fn open_flows(&self) -> Vec<OpenFlow<'_>> {
        let numbers = self.numbers.iter().enumerate();
        let open = numbers.filter_map(|(place, number)| {
            let (description, flow) = (&self.settings.flows[place], &self.flows[place]);
            Some(OpenFlow { place, number: (*number)?, description, flow })
        });
        let has_begun =
            |one: &OpenFlow<'_>| one.description.start != FlowDescription::START_PENDING;
        let mut open: Vec<OpenFlow<'_>> = open.filter(has_begun).collect();
        open.sort_by_key(|flow| flow.number);
        open
    }

    fn windows<'a>(&'a self, open: &'a [OpenFlow<'a>]) -> Windows<'a> {
        let mut groups: Vec<_> = self.retired.groups.iter().map(|sum| sum.watched).collect();
        for flow in open {
            groups[flow.description.group_index()].add(flow.description.seen_at);
        }
        Windows { series: &self.series, scopes: &self.scopes, groups, open }
    }

    /// Names for the samples; none where there are no samples.
    fn labels(&self, open: &[OpenFlow<'_>]) -> Labels {
        let mut labels = self.retired.labels.clone();
        if !self.endpoint_samples.is_empty() {
            labels.extend(open.iter().map(|flow| (flow.number, flow.description.clone())));
        }
        labels
    }
}

fn take_early(packets: &mut u64, wire_bytes: &mut u64, early: PacketCount) {
    *packets = packets.saturating_sub(u64::from(early.packets));
    *wire_bytes = wire_bytes.saturating_sub(u64::from(early.wire_bytes));
}
