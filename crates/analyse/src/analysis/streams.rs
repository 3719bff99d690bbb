//! The streams of open flows, and what is kept of those that are over.

use crate::connection::ResetVerdict;
use crate::stream::{
    AckEvent, GroupMeasures, ProbeUseCounts, RowKey, SegmentKind, Stream, StreamRows, TapSide,
};
use fairwind_capture::Packet;
use fairwind_measure::{FlowId, Table};
use fairwind_units::Instant;
use fairwind_wire::{Segment, SequenceNumber};

/// Streams by their flows, which use places again, and groups by their numbers.
#[derive(Debug)]
pub(crate) struct Streams {
    followed: Vec<Stream>,
    /// Of each stream the bytes that were acknowledged in order.
    acknowledged: Vec<u64>,
    probe_use: Vec<ProbeUseCounts>,
    groups: Vec<GroupMeasures>,
    rows: StreamRows,
}

impl Streams {
    pub(crate) fn new(groups: usize, percentiles: &[f64]) -> Self {
        Self {
            followed: Vec::new(),
            acknowledged: Vec::new(),
            probe_use: vec![ProbeUseCounts::default(); groups],
            groups: vec![GroupMeasures::default(); groups],
            rows: StreamRows::new(percentiles),
        }
    }

    /// A flow begins.
    pub(crate) fn begin(&mut self, flow: FlowId, at: Instant, side: TapSide) {
        let mut stream = Stream::new(at);
        stream.set_side(side);
        let place = flow.index();
        if place < self.followed.len() {
            self.followed[place] = stream;
            self.acknowledged[place] = 0;
        } else {
            // The measures give each new flow the place behind all others, or one that was used before.
            self.followed.push(stream);
            self.acknowledged.push(0);
        }
    }

    /// Whether the numbers of a packet of the flow's data can belong to it.
    #[inline]
    pub(crate) fn accepts_data(&mut self, flow: FlowId, at: Instant, segment: &Segment) -> bool {
        self.followed[flow.index()].accepts_data(at, segment)
    }

    /// Whether something of the flow can be acknowledged so.
    #[inline]
    pub(crate) fn accepts_ack(&mut self, flow: FlowId, segment: &Segment) -> bool {
        self.followed[flow.index()].accepts_ack(segment)
    }

    /// A packet of the flow's data passes.
    #[inline]
    pub(crate) fn on_segment(&mut self, flow: FlowId, at: Instant, packet: &Packet) -> SegmentKind {
        let stream = &mut self.followed[flow.index()];
        stream.on_segment(at, &packet.segment, packet.identification)
    }

    /// Reads what a packet needs first.
    #[inline]
    pub(crate) fn prefetch(&self, flow: FlowId) -> u64 {
        self.followed.get(flow.index()).map_or(0, Stream::prefetch)
    }

    /// What the receiver of a reset with this number from the flow's sender makes of it; `None` where the
    /// stream does not tell.
    pub(crate) fn reset_verdict(
        &mut self,
        flow: FlowId,
        sequence: SequenceNumber,
    ) -> Option<ResetVerdict> {
        self.followed[flow.index()].reset_verdict(sequence)
    }

    /// The SYN of the flow's sender had passed before the flow was known.
    pub(crate) fn on_syn(&mut self, flow: FlowId, at: Instant, syn: &Segment) {
        self.followed[flow.index()].on_segment(at, syn, None);
    }

    /// That SYN had been acknowledged then, or nobody knows when.
    pub(crate) fn on_set_up(&mut self, flow: FlowId, acknowledged_at: Option<Instant>) {
        self.followed[flow.index()].on_set_up(acknowledged_at);
    }

    /// This window was offered when the flow began.
    pub(crate) fn on_window(&mut self, flow: FlowId, at: Instant, window: u16) {
        self.followed[flow.index()].on_window(at, window);
    }

    /// A packet passes that goes the other way.
    #[inline]
    pub(crate) fn on_reverse_packet(
        &mut self,
        flow: FlowId,
        at: Instant,
        packet: &Packet,
    ) -> AckEvent {
        self.followed[flow.index()].on_reverse_packet(at, packet)
    }

    /// The SYN of the other side had passed before the flow was known.
    pub(crate) fn on_other_syn(&mut self, flow: FlowId, at: Instant, syn: &Segment) {
        self.followed[flow.index()].on_acknowledgment(at, syn);
    }

    /// When the oldest segment of the flow that is outstanding was first sent.
    #[inline]
    pub(crate) fn oldest_sent_at(&self, flow: FlowId) -> Option<Instant> {
        self.followed[flow.index()].oldest_sent_at()
    }

    /// The stream of a flow.
    pub(crate) fn stream(&self, flow: FlowId) -> &Stream {
        &self.followed[flow.index()]
    }

    /// So many bytes more are acknowledged in order: how many there are now.
    #[inline]
    pub(crate) fn acknowledge(&mut self, flow: FlowId, bytes: u64) -> u64 {
        let acknowledged = &mut self.acknowledged[flow.index()];
        *acknowledged += bytes;
        *acknowledged
    }

    /// A flow of the group at this place is over: gives the number of time-outs that are known only now.
    pub(crate) fn retire(
        &mut self,
        flow: FlowId,
        at: Instant,
        group: usize,
        subject: RowKey,
    ) -> u64 {
        let mut stream = std::mem::replace(&mut self.followed[flow.index()], Stream::new(at));
        let timeouts = stream.finish(at, &mut self.probe_use[group]);
        self.groups[group].add(stream.side(), stream.measures());
        self.rows.push(subject, stream.measures());
        timeouts
    }

    /// Forgets what was counted before `at`.
    pub(crate) fn reset_counts(&mut self, at: Instant) {
        self.followed.iter_mut().for_each(|stream| stream.reset_counts(at));
        self.groups.fill_with(GroupMeasures::default);
    }

    /// Forgets what was counted of a flow before `at`.
    pub(crate) fn reset_flow_counts(&mut self, flow: FlowId, at: Instant) {
        self.followed[flow.index()].reset_counts(at);
    }

    /// The tables of streams that are over, which nobody has yet.
    pub(crate) fn take_tables(&mut self) -> Vec<Table> {
        self.rows.take()
    }

    /// The rest of the tables, with the rows of groups at their end.
    pub(crate) fn finish(mut self, groups: &[String]) -> Vec<Table> {
        for (name, measures) in groups.iter().zip(&self.groups) {
            self.rows.push(of_group(name), &measures.sum());
        }
        self.rows.take()
    }

    /// The tables as if everything ended now; `open` are the flows that have not ended, with the last packet
    /// of their connection and their groups.
    pub(crate) fn snapshot(
        &self,
        open: &[(FlowId, Instant, usize, RowKey)],
        groups: &[String],
    ) -> Vec<Table> {
        let (mut rows, mut sums) = (self.rows.clone(), self.groups.clone());
        let mut probe_use = self.probe_use.clone();
        for (flow, last, group, subject) in open {
            let mut stream = self.followed[flow.index()].clone();
            stream.finish(*last, &mut probe_use[*group]);
            sums[*group].add(stream.side(), stream.measures());
            rows.push(subject.clone(), stream.measures());
        }
        for (name, measures) in groups.iter().zip(&sums) {
            rows.push(of_group(name), &measures.sum());
        }
        rows.take()
    }

    /// Flows whose rows wait to be taken.
    pub(crate) fn waiting(&self) -> usize {
        self.rows.waiting()
    }
}

fn of_group(name: &str) -> RowKey {
    RowKey { flow: None, name: name.to_owned(), group: name.to_owned() }
}
