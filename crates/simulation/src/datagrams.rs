//! Streams of datagrams: applications without endpoints, and whose turn is next.

use fairwind_assembly::DatagramPlan;
use fairwind_network::NodeId;
use fairwind_units::Instant;
use fairwind_workload::Application;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// All streams of datagrams. Those that are due at the same instant take turns in the order in which
/// their turns were set.
#[derive(Default)]
pub(crate) struct DatagramStreams {
    streams: Vec<Datagrams>,
    /// Deadline, number of the entry, and the place of the stream.
    turns: BinaryHeap<Reverse<(Instant, u64, usize)>>,
    entered: u64,
}

impl DatagramStreams {
    pub(crate) fn new(plans: Vec<DatagramPlan>) -> Self {
        let mut streams = Self::default();
        for (place, plan) in plans.into_iter().enumerate() {
            streams.streams.push(Datagrams::new(plan));
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
        let deadline = self.streams[place].deadline();
        if deadline < Instant::MAX {
            self.entered += 1;
            self.turns.push(Reverse((deadline, self.entered, place)));
        }
    }

    pub(crate) fn stream(&mut self, place: usize) -> &mut Datagrams {
        &mut self.streams[place]
    }
}

/// A stream of datagrams at work.
pub(crate) struct Datagrams {
    /// Its flow.
    pub(crate) flow: u32,
    application: Application,
    pub(crate) sender_node: NodeId,
    pub(crate) receiver_node: NodeId,
    pub(crate) ports: (u16, u16),
    /// When the application begins; [`Instant::MAX`] once it has.
    start: Instant,
    /// When the application stops.
    stop: Instant,
    most_payload: u32,
    /// Bytes of the last write that are in no datagram yet.
    unsent_bytes: u64,
}

impl Datagrams {
    fn new(plan: DatagramPlan) -> Self {
        Self {
            flow: plan.flow.0,
            application: plan.application,
            sender_node: plan.sender_node,
            receiver_node: plan.receiver_node,
            ports: (plan.sender_port, plan.receiver_port),
            start: plan.start,
            stop: plan.stop,
            most_payload: plan.most_payload,
            unsent_bytes: 0,
        }
    }

    /// When there is something to do by the clock.
    fn deadline(&self) -> Instant {
        if self.start != Instant::MAX {
            return self.start;
        }
        // At its stop it writes nothing more, which needs no turn of its own.
        let next = self.application.next_write();
        if next < self.stop { next } else { Instant::MAX }
    }

    /// Payload of the next datagram that leaves now, if one does.
    pub(crate) fn poll_payload(&mut self, now: Instant) -> Option<u32> {
        if self.start <= now {
            self.start = Instant::MAX;
            self.application.begin(now);
        }
        if self.unsent_bytes == 0 && now < self.stop {
            self.unsent_bytes = self.application.poll_write(now, 0).unwrap_or(0);
        }
        let payload = self.most_payload.min(u32::try_from(self.unsent_bytes).unwrap_or(u32::MAX));
        self.unsent_bytes -= u64::from(payload);
        (payload > 0).then_some(payload)
    }
}
