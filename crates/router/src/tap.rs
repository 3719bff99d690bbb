//! What the network reports while it carries packets in real time.

use super::buffers::Buffers;
use super::packet::RoutedPacket;
use fairwind_assembly::{QueueMap, Tap};
use fairwind_network::{
    Backlog, CapacityRequest, DropReason, LinkId, NodeId, Observer, SlotAssignment,
};
use fairwind_recorder::ObservationWriter;
use fairwind_units::{Instant, Span};

/// Writes down what happens to packets of flows, and takes the buffers of those that are lost
/// back.
pub(super) struct RouterTap<'a> {
    pub(super) observations: &'a mut ObservationWriter,
    pub(super) queues: &'a QueueMap,
    pub(super) buffers: &'a mut Buffers,
}

impl RouterTap<'_> {
    #[inline]
    fn tap(&mut self) -> Tap<'_, ObservationWriter> {
        Tap { sink: self.observations, queues: self.queues }
    }
}

impl Observer<RoutedPacket> for RouterTap<'_> {
    /// A link without effect has no queue, so none that is measured.
    const OBSERVES_TRANSPARENT_LINKS: bool = false;

    #[inline]
    fn on_enqueue(&mut self, at: Instant, link: LinkId, packet: &RoutedPacket, backlog: Backlog) {
        if packet.measured.is_some() {
            self.tap().on_enqueue(at, link, packet, backlog);
        }
    }

    #[inline]
    fn on_dequeue(&mut self, at: Instant, link: LinkId, packet: &RoutedPacket, sojourn: Span) {
        if packet.measured.is_some() {
            self.tap().on_dequeue(at, link, packet, sojourn);
        }
    }

    #[inline]
    fn on_bypass(&mut self, at: Instant, link: LinkId, packet: &RoutedPacket) {
        if packet.measured.is_some() {
            self.tap().on_bypass(at, link, packet);
        }
    }

    #[inline]
    fn on_mark(&mut self, at: Instant, link: LinkId, packet: &RoutedPacket) {
        if packet.measured.is_some() {
            self.tap().on_mark(at, link, packet);
        }
    }

    fn on_duplicate(&mut self, at: Instant, link: LinkId, packet: &RoutedPacket) {
        self.buffers.share(packet.buffer);
        if packet.measured.is_some() {
            self.tap().on_duplicate(at, link, packet);
        }
    }

    fn on_reorder(&mut self, at: Instant, link: LinkId, wire_bytes: u32) {
        Observer::<RoutedPacket>::on_reorder(&mut self.tap(), at, link, wire_bytes);
    }

    fn on_request(&mut self, at: Instant, link: LinkId, ask: &CapacityRequest) {
        Observer::<RoutedPacket>::on_request(&mut self.tap(), at, link, ask);
    }

    fn on_assignment(&mut self, at: Instant, link: LinkId, assignment: &SlotAssignment) {
        Observer::<RoutedPacket>::on_assignment(&mut self.tap(), at, link, assignment);
    }

    fn on_slot(&mut self, at: Instant, link: LinkId, sent_bytes: u32) {
        Observer::<RoutedPacket>::on_slot(&mut self.tap(), at, link, sent_bytes);
    }

    /// It goes on, so that the host that it is for has something to refuse.
    fn on_corrupt(&mut self, at: Instant, link: LinkId, packet: &RoutedPacket) {
        if packet.measured.is_some() {
            self.tap().on_corrupt(at, link, packet);
        }
    }

    #[inline]
    fn on_drop(
        &mut self,
        at: Instant,
        link: LinkId,
        packet: &RoutedPacket,
        backlog: Backlog,
        reason: DropReason,
        waited: Option<Span>,
    ) {
        if packet.measured.is_some() {
            self.tap().on_drop(at, link, packet, backlog, reason, waited);
        }
        self.buffers.give_back(packet.buffer);
    }

    fn on_unroutable(&mut self, _: Instant, _: NodeId, packet: &RoutedPacket) {
        self.buffers.give_back(packet.buffer);
    }
}
