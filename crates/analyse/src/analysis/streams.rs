//! Streams of open flows, and counts of closed ones.

use crate::stream::{GroupMeasures, ProbeUseCounts, RowKey, Stream, StreamRows, TapSide};
use fairwind_measure::{FlowId, Table};
use fairwind_units::Instant;

/// Streams by flow index, and groups by number. Indexes are reused.
#[derive(Debug)]
pub(crate) struct Streams {
    followed: Vec<Stream>,
    /// Bytes of each stream that were acknowledged in order.
    acknowledged: Vec<u64>,
    probe_use: Vec<ProbeUseCounts>,
    groups: Vec<GroupMeasures>,
    /// Rows of closed streams that were not taken.
    pub(super) rows: StreamRows,
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

    /// The stream of a flow.
    #[inline]
    pub(crate) fn stream(&self, flow: FlowId) -> &Stream {
        &self.followed[flow.index()]
    }

    /// The stream of a flow, for its next packet.
    #[inline]
    pub(crate) fn stream_mut(&mut self, flow: FlowId) -> &mut Stream {
        &mut self.followed[flow.index()]
    }

    /// Prefetches the state that a packet needs.
    #[inline]
    pub(crate) fn prefetch(&self, flow: FlowId) -> u64 {
        self.followed.get(flow.index()).map_or(0, Stream::prefetch)
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

    /// Discards counts before `at`.
    pub(crate) fn reset_counts(&mut self, at: Instant) {
        self.followed.iter_mut().for_each(|stream| stream.reset_counts(at));
        self.groups.fill_with(GroupMeasures::default);
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
}

fn of_group(name: &str) -> RowKey {
    RowKey { flow: None, name: name.to_owned(), group: name.to_owned() }
}
