//! Streams of open flows, and counts of closed ones.

use crate::connection::ResetVerdict;
use crate::stream::{
    AckEvent, GroupMeasures, ProbeUseCounts, RowKey, SegmentKind, Stream, StreamRows, TapSide,
};
use fairwind_capture::Packet;
use fairwind_measure::{FlowId, Table};
use fairwind_units::Instant;
use fairwind_wire::{Segment, SequenceNumber};

/// Streams by flow index, and groups by number. Indexes are reused.
#[derive(Debug)]
pub(crate) struct Streams {
    followed: Vec<Stream>,
    /// Bytes of each stream that were acknowledged in order.
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

    /// Starts the stream of a flow.
    pub(crate) fn begin(&mut self, flow: FlowId, at: Instant, side: TapSide) {
        let mut stream = Stream::new(at);
        stream.set_side(side);
        let place = flow.index();
        if place < self.followed.len() {
            self.followed[place] = stream;
            self.acknowledged[place] = 0;
        } else {
            // The collector gives new flows the next index, or a free one.
            self.followed.push(stream);
            self.acknowledged.push(0);
        }
    }

    /// Whether the sequence number of a data packet is plausible.
    #[inline]
    pub(crate) fn accepts_data(&mut self, flow: FlowId, at: Instant, segment: &Segment) -> bool {
        self.followed[flow.index()].accepts_data(at, segment)
    }

    /// Whether the acknowledgment number is plausible.
    #[inline]
    pub(crate) fn accepts_ack(&mut self, flow: FlowId, segment: &Segment) -> bool {
        self.followed[flow.index()].accepts_ack(segment)
    }

    /// A packet of the flow's data passes the tap.
    #[inline]
    pub(crate) fn on_segment(&mut self, flow: FlowId, at: Instant, packet: &Packet) -> SegmentKind {
        let stream = &mut self.followed[flow.index()];
        stream.on_segment(at, &packet.segment, packet.identification)
    }

    /// Prefetches the state that a packet needs.
    #[inline]
    pub(crate) fn prefetch(&self, flow: FlowId) -> u64 {
        self.followed.get(flow.index()).map_or(0, Stream::prefetch)
    }

    /// The verdict of the receiver on a reset with this sequence number; `None` if unknown.
    pub(crate) fn reset_verdict(
        &mut self,
        flow: FlowId,
        sequence: SequenceNumber,
    ) -> Option<ResetVerdict> {
        self.followed[flow.index()].reset_verdict(sequence)
    }

    /// The SYN of the data sender, which passed before the flow existed.
    pub(crate) fn on_syn(&mut self, flow: FlowId, at: Instant, syn: &Segment) {
        self.followed[flow.index()].on_segment(at, syn, None);
    }

    /// When that SYN was acknowledged, if known.
    pub(crate) fn on_set_up(&mut self, flow: FlowId, acknowledged_at: Option<Instant>) {
        self.followed[flow.index()].on_set_up(acknowledged_at);
    }

    /// The window that was offered when the flow began.
    pub(crate) fn on_window(&mut self, flow: FlowId, at: Instant, window: u16) {
        self.followed[flow.index()].on_window(at, window);
    }

    /// A packet of the other direction passes the tap.
    #[inline]
    pub(crate) fn on_reverse_packet(
        &mut self,
        flow: FlowId,
        at: Instant,
        packet: &Packet,
    ) -> AckEvent {
        self.followed[flow.index()].on_reverse_packet(at, packet)
    }

    /// The SYN of the other side, which passed before the flow existed.
    pub(crate) fn on_other_syn(&mut self, flow: FlowId, at: Instant, syn: &Segment) {
        self.followed[flow.index()].on_acknowledgment(at, syn);
    }

    /// When the oldest outstanding segment was first sent.
    #[inline]
    pub(crate) fn oldest_sent_at(&self, flow: FlowId) -> Option<Instant> {
        self.followed[flow.index()].oldest_sent_at()
    }

    /// The stream of a flow.
    pub(crate) fn stream(&self, flow: FlowId) -> &Stream {
        &self.followed[flow.index()]
    }

    /// Counts bytes that were acknowledged in order; returns the total.
    #[inline]
    pub(crate) fn acknowledge(&mut self, flow: FlowId, bytes: u64) -> u64 {
        let acknowledged = &mut self.acknowledged[flow.index()];
        *acknowledged += bytes;
        *acknowledged
    }

    /// Ends the stream of a flow; returns timeouts that were taken for probes until now.
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

    /// Discards what was counted before `at`.
    pub(crate) fn reset_counts(&mut self, at: Instant) {
        self.followed.iter_mut().for_each(|stream| stream.reset_counts(at));
        self.groups.fill_with(GroupMeasures::default);
    }

    /// Discards what was counted of a flow before `at`.
    pub(crate) fn reset_flow_counts(&mut self, flow: FlowId, at: Instant) {
        self.followed[flow.index()].reset_counts(at);
    }

    /// Tables of closed streams whose rows were not taken.
    pub(crate) fn take_tables(&mut self) -> Vec<Table> {
        self.rows.take()
    }

    /// The remaining tables, with rows of the groups at the end.
    pub(crate) fn finish(mut self, groups: &[String]) -> Vec<Table> {
        for (name, measures) in groups.iter().zip(&self.groups) {
            self.rows.push(of_group(name), &measures.sum());
        }
        self.rows.take()
    }

    /// The tables as if all streams ended now; `open` has the open flows with the last packet of their
    /// connection.
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
