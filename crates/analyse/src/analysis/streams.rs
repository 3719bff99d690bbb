//! The streams of open flows, and what is kept of those that are over.

use crate::stream::{AckFacts, Habits, Measures, SegmentKind, Stream, TapSide};
use fairwind_capture::Packet;
use fairwind_measure::FlowId;
use fairwind_units::Instant;
use fairwind_wire::Segment;

/// What is kept of a stream that is over.
#[derive(Debug, Clone)]
#[expect(dead_code, reason = "tables of streams are still to be made of them")]
pub(crate) struct StreamRow {
    /// The flow's number in tables.
    pub(crate) flow: u64,
    pub(crate) name: String,
    pub(crate) group: u32,
    pub(crate) measures: Measures,
}

/// The stream of a flow.
#[derive(Debug)]
struct Followed {
    stream: Stream,
    /// Bytes that were acknowledged in order.
    acknowledged: u64,
}

/// Streams by their flows, which use places again, and groups by their numbers.
#[derive(Debug)]
pub(crate) struct Streams {
    followed: Vec<Followed>,
    habits: Vec<Habits>,
    groups: Vec<Measures>,
    rows: Vec<StreamRow>,
}

impl Streams {
    pub(crate) fn new(groups: usize) -> Self {
        Self {
            followed: Vec::new(),
            habits: vec![Habits::default(); groups],
            groups: vec![Measures::new(); groups],
            rows: Vec::new(),
        }
    }

    /// A flow begins.
    pub(crate) fn begin(&mut self, flow: FlowId, at: Instant, side: TapSide) {
        let mut stream = Stream::new(at);
        stream.set_side(side);
        let followed = Followed { stream, acknowledged: 0 };
        let place = flow.index();
        if place < self.followed.len() {
            self.followed[place] = followed;
        } else {
            // The measures give each new flow the place behind all others, or one that was used before.
            self.followed.push(followed);
        }
    }

    /// A packet of the flow's data passes.
    #[inline]
    pub(crate) fn on_segment(&mut self, flow: FlowId, at: Instant, packet: &Packet) -> SegmentKind {
        let followed = &mut self.followed[flow.index()];
        followed.stream.on_segment(at, &packet.segment, packet.identification)
    }

    /// The SYN of the flow's sender had passed before the flow was known.
    pub(crate) fn on_syn(&mut self, flow: FlowId, at: Instant, syn: &Segment) {
        self.followed[flow.index()].stream.on_segment(at, syn, None);
    }

    /// A packet passes that goes the other way.
    #[inline]
    pub(crate) fn on_acknowledgment(
        &mut self,
        flow: FlowId,
        at: Instant,
        segment: &Segment,
    ) -> AckFacts {
        self.followed[flow.index()].stream.on_acknowledgment(at, segment)
    }

    /// So many bytes more are acknowledged in order: how many there are now.
    #[inline]
    pub(crate) fn acknowledge(&mut self, flow: FlowId, bytes: u64) -> u64 {
        let followed = &mut self.followed[flow.index()];
        followed.acknowledged += bytes;
        followed.acknowledged
    }

    /// A flow of this group is over: gives the number of time-outs that are known only now.
    pub(crate) fn retire(
        &mut self,
        flow: FlowId,
        at: Instant,
        (number, name, group): (u64, String, u32),
    ) -> u64 {
        let Ok(place) = usize::try_from(group) else { return 0 };
        let ended = Followed { stream: Stream::new(at), acknowledged: 0 };
        let mut stream = std::mem::replace(&mut self.followed[flow.index()], ended).stream;
        let timeouts = stream.finish(at, &mut self.habits[place]);
        self.groups[place].merge(stream.measures());
        let measures = stream.measures().clone();
        self.rows.push(StreamRow { flow: number, name, group, measures });
        timeouts
    }

    /// The rows of streams that are over, which nobody has yet.
    pub(crate) fn take_rows(&mut self) -> Vec<StreamRow> {
        std::mem::take(&mut self.rows)
    }

    /// Rows that wait to be taken.
    pub(crate) fn rows(&self) -> usize {
        self.rows.len()
    }
}
