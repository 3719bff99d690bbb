//! The loop that drives a network in real time, and what the network reports meanwhile.

use super::buffers::{BufferId, Buffers};
use super::classifier::{Classification, Classifier};
use super::devices::{Devices, Port};
use super::error::RouterError;
use super::packet::{RoutedPacket, flip_bit, header_of};
use fairwind_assembly::{Damage, DelayQueue, QueueMap, Tap};
use fairwind_linux::{self as linux, Clock};
use fairwind_measure::Lateness;
use fairwind_network::{
    Backlog, CapacityRequest, Delivery, DropReason, LinkId, Network, NodeId, Observer,
    SlotAssignment,
};
use fairwind_recorder::{ObservationPoint, ObservationWriter};
use fairwind_scenario::Experiment;
use fairwind_units::{ByteCount, Instant, Span};
use fairwind_wire::bytes::mark_congestion;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Bound of the 99th percentile of the lateness, unless the path itself holds packets for long.
pub const LATENESS_BOUND: Span = Span::from_micros(200);

/// Part of the time for which the path holds a packet that lateness may be.
const LATENESS_PART: u64 = 10;

/// A tenth of a full packet's time on the bottleneck, or of the mean time from bunch to bunch where links release packets
/// in bunches; 0.2 ms where these are shorter.
pub fn lateness_bound(experiment: &Experiment) -> Span {
    let network = &experiment.network;
    let bottleneck = network.bottleneck.and_then(|index| network.links.get(index));
    let packet = bottleneck.and_then(|link| {
        let bytes = network.mtu + ByteCount::new(link.overhead_bytes.into());
        Some(link.rate?.serialisation_time(bytes))
    });
    // The last packet of a bunch is handed over when all others were.
    let bunches = network.links.iter().filter_map(|link| link.impairments.slot);
    let bunch = bunches.map(|slot| (slot.min_delay + slot.max_delay) / 2).min();
    let held = packet.max(bunch).unwrap_or(Span::ZERO);
    (held / LATENESS_PART).max(LATENESS_BOUND)
}

/// Parts of a [`Router`].
pub struct RouterParts<S> {
    /// The network.
    pub network: Network<RoutedPacket>,
    /// Which queue is on which link.
    pub queues: QueueMap,
    /// Devices of the hosts.
    pub ports: Vec<Port>,
    /// Finds the flow of a packet.
    pub classifier: S,
    /// Where events are reported.
    pub observations: ObservationWriter,
    /// Largest IP packet in bytes.
    pub mtu: usize,
    /// Limit of the 99th percentile of the lateness.
    pub lateness_bound: Span,
}

/// Control of a router from other threads.
#[derive(Debug, Clone)]
pub struct RouterControl {
    /// The run's origin by the machine's clock, in nanoseconds; far away until it is known.
    origin: Arc<AtomicU64>,
    stopped: Arc<AtomicBool>,
}

impl RouterControl {
    /// Control of a router before its start: the clock stays at the origin.
    pub fn new() -> Self {
        Self {
            origin: Arc::new(AtomicU64::new(u64::MAX)),
            stopped: Arc::new(AtomicBool::new(false)),
        }
    }

    /// Lets time begin at `origin` by the machine's clock.
    pub fn begin(&self, origin: Instant) {
        self.origin.store(origin.as_nanos(), Ordering::Relaxed);
    }

    /// Lets the router end soon.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Whether the router has been asked to end.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// What the machine's monotonic clock shows, as time since the origin; before the origin is zero.
    #[inline]
    pub fn time_of(&self, clock: Instant) -> Instant {
        let origin = Instant::from_nanos(self.origin.load(Ordering::Relaxed));
        Instant::ZERO + clock.saturating_since(origin)
    }
}

impl Default for RouterControl {
    fn default() -> Self {
        Self::new()
    }
}

/// Stops a router when it is dropped, so that none goes on where its run could not.
pub struct StopOnDrop(pub RouterControl);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// A network between hosts' devices.
pub struct Router<S, C> {
    network: Network<RoutedPacket>,
    queues: QueueMap,
    devices: Devices,
    /// The node of each device.
    nodes: Vec<NodeId>,
    /// Place of the device by node.
    device_of_node: Vec<Option<usize>>,
    classifier: S,
    observations: ObservationWriter,
    buffers: Buffers,
    /// The buffer that the next packet is read into.
    next_buffer: BufferId,
    /// What hosts hold back, with the node at which it is to enter.
    held: DelayQueue<(NodeId, RoutedPacket)>,
    lateness: Lateness,
    /// Largest IP packet in bytes.
    mtu: usize,
    control: RouterControl,
    clock: C,
}

impl<S: Classifier, C: Clock> Router<S, C> {
    /// A router of these parts, with which nothing has happened yet.
    pub fn new(
        parts: RouterParts<S>,
        control: RouterControl,
        clock: C,
    ) -> Result<Self, RouterError> {
        let nodes: Vec<_> = parts.ports.iter().map(|port| port.node).collect();
        let mut device_of_node = vec![None; parts.network.node_ids().count()];
        for (place, node) in nodes.iter().enumerate() {
            device_of_node[node.index()] = Some(place);
        }
        let mut buffers = Buffers::new(parts.mtu);
        Ok(Self {
            network: parts.network,
            queues: parts.queues,
            devices: Devices::new(parts.ports)?,
            nodes,
            device_of_node,
            classifier: parts.classifier,
            observations: parts.observations,
            next_buffer: buffers.take(),
            buffers,
            held: DelayQueue::default(),
            lateness: Lateness::new(parts.lateness_bound),
            mtu: parts.mtu,
            control,
            clock,
        })
    }

    /// Forwards packets until it is stopped; returns how well it kept time.
    pub fn run(mut self) -> Result<Lateness, RouterError> {
        linux::prefer();
        if self.clock.is_virtual() {
            self.devices.join_calls(self.mtu);
        }
        let result = self.forward().and_then(|()| {
            let buffer = self.buffers.bytes_mut(self.next_buffer);
            self.devices.finish(buffer)
        });
        self.advance();
        self.observations.finish();
        self.lateness.packets.refused += self.devices.refused;
        self.lateness.packets.missing = self.classifier.missing_datagrams();
        result.map(|()| self.lateness)
    }

    fn forward(&mut self) -> Result<(), RouterError> {
        let mut now = self.now();
        while !self.control.is_stopped() {
            self.wait(now)?;
            self.take_arrivals()?;
            let reached = self.advance();
            let has_delivered = self.deliver_due()?;
            self.observations.advance(reached);
            now = if has_delivered { self.now() } else { reached };
        }
        Ok(())
    }

    /// Time since the origin.
    #[inline]
    fn now(&self) -> Instant {
        self.control.time_of(self.clock.now())
    }

    /// Sleeps until there is something to do, or to report.
    fn wait(&mut self, now: Instant) -> Result<(), RouterError> {
        let due = self.network.next_event().unwrap_or(Instant::MAX).min(self.held.next_deadline());
        let limit = due.saturating_since(now).min(self.observations.interval());
        self.devices.wait(&self.clock, limit)
    }

    /// Takes what hosts have sent, and hands over meanwhile what is due.
    fn take_arrivals(&mut self) -> Result<(), RouterError> {
        let mut of_one_host = (usize::MAX, 0);
        loop {
            let buffer = self.buffers.bytes_mut(self.next_buffer);
            let Some(read) = self.devices.read(buffer)? else { break };
            if of_one_host.0 != read.place {
                self.count_batch(of_one_host.1);
                of_one_host = (read.place, 0);
            }
            of_one_host.1 += 1;
            self.inject(self.now(), read.place, read.length);
            self.deliver_due()?;
        }
        self.count_batch(of_one_host.1);
        Ok(())
    }

    fn count_batch(&mut self, packets: u64) {
        if packets > 0 {
            self.lateness.on_batch(packets);
        }
    }

    /// Puts the packet that was just read into the network, or holds it back.
    fn inject(&mut self, now: Instant, place: usize, length: usize) {
        self.release_held(now);
        self.lateness.packets.taken += 1;
        let node = self.nodes[place];
        let bytes = &self.buffers.bytes(self.next_buffer)[..length];
        let (destination, measured) =
            match self.classifier.classify(now, node, bytes, &mut self.observations) {
                Classification::Flow(destination, measured) => (destination, Some(measured)),
                Classification::Untracked(destination) => {
                    self.lateness.packets.unmeasured += 1;
                    (destination, None)
                }
                Classification::NoDestination => {
                    self.lateness.packets.discarded += 1;
                    return;
                }
            };
        let wire_bytes = u32::try_from(length).unwrap_or(u32::MAX);
        let hold_time =
            measured.as_ref().map_or(Span::ZERO, |packet| self.classifier.hold_time(packet));
        let buffer = std::mem::replace(&mut self.next_buffer, self.buffers.take());
        let connection = measured.as_ref().and_then(|packet| self.classifier.connection(packet));
        let header = header_of(node, connection, &self.buffers.bytes(buffer)[..length]);
        let packet = RoutedPacket {
            buffer,
            wire_bytes,
            destination,
            header,
            is_marked: false,
            damage: None,
            damaged: Damage::None,
            measured,
        };
        if hold_time.is_zero() {
            self.enter_network(now, node, packet);
        } else {
            self.held.insert(now + hold_time, (node, packet));
        }
    }

    /// Puts what was held back until now into the network, at the instant at which that ended.
    #[inline]
    fn release_held(&mut self, now: Instant) {
        while let Some((until, (node, packet))) = self.held.pop_due(now) {
            self.enter_network(until, node, packet);
        }
    }

    /// Puts a packet into the network, which leaves its host by that.
    fn enter_network(&mut self, at: Instant, node: NodeId, packet: RoutedPacket) {
        if let Some(measured) = &packet.measured {
            let bytes = &self.buffers.bytes(packet.buffer)[..length_of(&packet)];
            self.observations.on_packet(
                at,
                ObservationPoint::Departure,
                measured,
                packet.wire_bytes,
                bytes,
            );
        }
        let mut tap = RouterTap {
            observations: &mut self.observations,
            queues: &self.queues,
            buffers: &mut self.buffers,
        };
        self.network.inject(at, node, packet, &mut tap);
    }

    /// Processes everything that is due, and returns the current instant.
    fn advance(&mut self) -> Instant {
        let now = self.now();
        self.release_held(now);
        let mut tap = RouterTap {
            observations: &mut self.observations,
            queues: &self.queues,
            buffers: &mut self.buffers,
        };
        self.network.advance_to(now, &mut tap);
        now
    }

    /// Hands over what is due; returns whether anything was.
    #[inline]
    fn deliver_due(&mut self) -> Result<bool, RouterError> {
        let mut has_delivered = false;
        while let Some(delivery) = self.network.poll_delivery() {
            self.deliver(&delivery)?;
            has_delivered = true;
        }
        Ok(has_delivered)
    }

    fn deliver(&mut self, delivery: &Delivery<RoutedPacket>) -> Result<(), RouterError> {
        let packet = &delivery.packet;
        let buffer = self.final_bytes(packet);
        let bytes = &self.buffers.bytes(buffer)[..length_of(packet)];
        if let Some(place) = self.device_of_node[delivery.node.index()] {
            let now = self.now();
            self.lateness.on_delivery(now.saturating_since(delivery.at));
            // A damaged packet was reported as lost: its host refuses it.
            if let Some(measured) = packet.measured.as_ref().filter(|_| packet.damage.is_none()) {
                self.observations.on_packet(
                    now,
                    ObservationPoint::Arrival,
                    measured,
                    packet.wire_bytes,
                    bytes,
                );
            }
            self.devices.write(place, bytes)?;
        }
        self.buffers.give_back(buffer);
        Ok(())
    }

    /// The buffer with the bytes of `packet` as they are at the end of its way.
    #[inline]
    fn final_bytes(&mut self, packet: &RoutedPacket) -> BufferId {
        if !packet.is_marked && packet.damage.is_none() {
            return packet.buffer;
        }
        let length = length_of(packet);
        let buffer = self.buffers.own(packet.buffer, length);
        let bytes = &mut self.buffers.bytes_mut(buffer)[..length];
        if packet.is_marked {
            mark_congestion(bytes);
        }
        if let Some(draw) = packet.damage {
            flip_bit(bytes, draw);
        }
        buffer
    }
}

fn length_of(packet: &RoutedPacket) -> usize {
    usize::try_from(packet.wire_bytes).unwrap_or(usize::MAX)
}

/// Writes down what happens to packets of flows, and takes the buffers of those that are lost
/// back.
struct RouterTap<'a> {
    observations: &'a mut ObservationWriter,
    queues: &'a QueueMap,
    buffers: &'a mut Buffers,
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
