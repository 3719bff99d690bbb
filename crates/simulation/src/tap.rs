//! What the network reports, told to the measures.

use crate::packet::SimulatedPacket;
use fairwind_measure::{Collector, DropReason, FlowId, Observation, QueueId};
use fairwind_network::{Backlog, LinkId, Observer};
use fairwind_units::{Instant, Span};

/// Which links have a queue that is measured, by link; links without rate and loss have none.
#[derive(Debug, Default)]
pub(crate) struct Queues {
    pub(crate) by_link: Vec<Option<QueueId>>,
}

/// The network's observer.
pub(crate) struct Tap<'a> {
    pub(crate) collector: &'a mut Collector,
    pub(crate) queues: &'a Queues,
}

impl Observer<SimulatedPacket> for Tap<'_> {
    #[inline]
    fn on_enqueue(
        &mut self,
        at: Instant,
        link: LinkId,
        packet: &SimulatedPacket,
        backlog: Backlog,
    ) {
        if let Some(queue) = self.queues.by_link[link.index()] {
            let enqueued = Observation::Enqueued {
                queue,
                flow: FlowId(packet.flow),
                wire_bytes: packet.wire_bytes,
                backlog_packets: backlog.packets,
                backlog_bytes: u32::try_from(backlog.bytes).unwrap_or(u32::MAX),
            };
            self.collector.observe(at, enqueued);
        }
    }

    #[inline]
    fn on_dequeue(&mut self, at: Instant, link: LinkId, packet: &SimulatedPacket, sojourn: Span) {
        if let Some(queue) = self.queues.by_link[link.index()] {
            let wire_bytes = packet.wire_bytes;
            self.collector.observe(at, Observation::Dequeued { queue, wire_bytes, sojourn });
        }
    }

    /// A link without effect has no queue, so none that is measured.
    #[inline]
    fn on_pass(&mut self, _: Instant, _: LinkId, _: &SimulatedPacket) {}

    #[inline]
    fn on_drop(
        &mut self,
        at: Instant,
        link: LinkId,
        packet: &SimulatedPacket,
        _backlog: Backlog,
        reason: fairwind_network::DropReason,
    ) {
        let queue = self.queues.by_link[link.index()].expect("only links with a queue drop");
        let dropped = Observation::Dropped {
            flow: FlowId(packet.flow),
            direction: packet.direction,
            queue,
            payload_bytes: packet.segment.payload_bytes,
            wire_bytes: packet.wire_bytes,
            reason: match reason {
                fairwind_network::DropReason::LinkLoss => DropReason::LinkLoss,
                _ => DropReason::QueueFull,
            },
        };
        self.collector.observe(at, dropped);
    }
}
