//! Streams of datagrams: applications without endpoints, and whose turn is next.

use fairwind_assembly::DatagramPlan;
use fairwind_network::NodeId;
use fairwind_units::Instant;
use fairwind_workload::Datagrams;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// All streams of datagrams. Those that are due at the same instant take turns in the order in which
/// their turns were set.
#[derive(Default)]
pub(crate) struct DatagramStreams {
    streams: Vec<Stream>,
    /// Deadline, number of the entry, and the place of the stream.
    turns: BinaryHeap<Reverse<(Instant, u64, usize)>>,
    entered: u64,
}

impl DatagramStreams {
    pub(crate) fn new(plans: Vec<DatagramPlan>) -> Self {
        let mut streams = Self::default();
        for (place, plan) in plans.into_iter().enumerate() {
            streams.streams.push(Stream::new(plan));
            streams.set_turn(place);
        }
        streams
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }

    /// When the next turn is.
    pub(crate) fn next(&self) -> Instant {
        self.turns.peek().map_or(Instant::MAX, |turn| turn.0.0)
    }

    /// The place of a stream whose turn is due at `now`, which it loses.
    pub(crate) fn take_turn(&mut self, now: Instant) -> Option<usize> {
        if self.next() > now {
            return None;
        }
        self.turns.pop().map(|turn| turn.0.2)
    }

    /// Gives the stream its next turn, where it has anything more to do.
    pub(crate) fn set_turn(&mut self, place: usize) {
        let deadline = self.streams[place].datagrams.deadline();
        if deadline < Instant::MAX {
            self.entered += 1;
            self.turns.push(Reverse((deadline, self.entered, place)));
        }
    }

    pub(crate) fn stream(&mut self, place: usize) -> &mut Stream {
        &mut self.streams[place]
    }

    /// The number, counted from 0, of a datagram of a flow of which the lowest bits are known; `None` where there
    /// is no such flow.
    pub(crate) fn number_of(&self, flow: u32, lowest: u32) -> Option<u64> {
        let place = self.streams.binary_search_by_key(&flow, |stream| stream.flow).ok()?;
        let sent = self.streams.get(place)?.sent;
        // It has left, and fewer than 2^32 others since.
        let since = low_half(sent).wrapping_sub(lowest).wrapping_sub(1);
        sent.checked_sub(u64::from(since) + 1)
    }
}

/// A stream of datagrams at work.
pub(crate) struct Stream {
    /// Its flow.
    pub(crate) flow: u32,
    pub(crate) sender_node: NodeId,
    pub(crate) receiver_node: NodeId,
    pub(crate) ports: (u16, u16),
    /// What leaves when.
    pub(crate) datagrams: Datagrams,
    /// How many have left.
    sent: u64,
}

impl Stream {
    fn new(plan: DatagramPlan) -> Self {
        Self {
            flow: plan.flow.0,
            sender_node: plan.sender_node,
            receiver_node: plan.receiver_node,
            ports: (plan.sender_port, plan.receiver_port),
            datagrams: Datagrams::new(plan.application, (plan.start, plan.stop), plan.most_payload),
            sent: 0,
        }
    }

    /// The lowest bits of the number of the datagram that leaves now.
    pub(crate) fn next_number(&mut self) -> u32 {
        let number = low_half(self.sent);
        self.sent += 1;
        number
    }
}

fn low_half(number: u64) -> u32 {
    u32::try_from(number & u64::from(u32::MAX)).unwrap_or(0)
}
