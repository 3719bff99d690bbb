//! Streams of datagrams: applications without endpoints.

use crate::packet::Datagram;
use fairwind_assembly::{DatagramPlan, DelayQueue};
use fairwind_measure::FlowId;
use fairwind_network::NodeId;
use fairwind_units::Instant;
use fairwind_workload::Datagrams;

/// All streams of datagrams; those that are due at the same instant write in the order in which they were scheduled.
#[derive(Default)]
pub(crate) struct DatagramStreams {
    streams: Vec<DatagramStream>,
    /// The streams by their deadlines.
    schedule: DelayQueue<usize>,
}

impl DatagramStreams {
    pub(crate) fn new(plans: Vec<DatagramPlan>) -> Self {
        let mut streams = Self::default();
        for plan in plans {
            streams.streams.push(DatagramStream::new(plan));
            streams.schedule(streams.streams.len() - 1);
        }
        streams
    }

    /// When the next stream is due.
    pub(crate) fn next_deadline(&self) -> Instant {
        self.schedule.next_deadline()
    }

    /// Takes a stream that is due off the schedule.
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<usize> {
        self.schedule.pop_due(now).map(|(_, place)| place)
    }

    /// Schedules the stream if it has anything more to write.
    pub(crate) fn schedule(&mut self, place: usize) {
        let deadline = self.streams[place].datagrams.deadline();
        if deadline < Instant::MAX {
            self.schedule.insert(deadline, place);
        }
    }

    pub(crate) fn stream(&mut self, place: usize) -> &mut DatagramStream {
        &mut self.streams[place]
    }
}

/// A stream of datagrams at work.
pub(crate) struct DatagramStream {
    pub(crate) flow: FlowId,
    pub(crate) sender_node: NodeId,
    pub(crate) receiver_node: NodeId,
    ports: (u16, u16),
    datagrams: Datagrams,
    /// How many have left.
    sent: u64,
}

impl DatagramStream {
    fn new(plan: DatagramPlan) -> Self {
        Self {
            flow: plan.flow,
            sender_node: plan.sender_node,
            receiver_node: plan.receiver_node,
            ports: (plan.sender_port, plan.receiver_port),
            datagrams: Datagrams::new(plan.application, (plan.start, plan.stop), plan.most_payload),
            sent: 0,
        }
    }

    /// The next datagram that the application writes now, if it writes any.
    pub(crate) fn poll_datagram(&mut self, now: Instant) -> Option<Datagram> {
        let payload_bytes = self.datagrams.poll_payload(now)?;
        let datagram = Datagram::new(self.ports, payload_bytes, self.sent, now);
        self.sent += 1;
        Some(datagram)
    }
}
