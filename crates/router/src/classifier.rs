//! Whose packet this is, and where it goes.

use super::datagrams::DatagramTable;
use fairwind_assembly::{
    DatagramPlan, FIRST_RECEIVER_PORT, FIRST_SENDER_PORT, FlowPlan, SENDER_PORTS,
    connection_of_ports, is_pure_ack,
};
use fairwind_measure::{ConnectionFlows, Direction};
use fairwind_network::NodeId;
use fairwind_recorder::{MeasuredPacket, ObservationWriter};
use fairwind_units::{Instant, Span};
use fairwind_wire::bytes::{Addresses, Parsed, parse};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// What a packet is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Classification {
    /// A flow's.
    Flow(NodeId, MeasuredPacket),
    /// For somebody here, but no flow's: carried, and told to nobody.
    Untracked(NodeId),
    /// For nobody here.
    NoDestination,
}

/// Finds the flow and the destination of packets.
pub trait Classifier {
    /// What the packet is that the host at `from` has sent, and was read `at`; what it says beyond
    /// that is observed.
    fn classify(
        &mut self,
        at: Instant,
        from: NodeId,
        packet: &[u8],
        observations: &mut ObservationWriter,
    ) -> Classification;

    /// The number of the connection of a packet that was sorted, and whether it goes back on it; `None` where
    /// connections have no numbers that others know.
    fn connection(&self, _: &MeasuredPacket) -> Option<(u32, bool)> {
        None
    }

    /// How long the host that has sent a packet holds it back.
    fn hold_time(&self, _: &MeasuredPacket) -> Span {
        Span::ZERO
    }

    /// Datagrams that hosts have sent, at least, and that never came out of their devices; none where they have
    /// no numbers.
    fn missing_datagrams(&self) -> u64 {
        0
    }
}

/// Finds the flows of an experiment, by their addresses and ports: the receiver's port says which
/// group it is, the sender's which of its flows.
pub struct FlowTable {
    flows: Vec<Ends>,
    groups: Vec<Group>,
    datagrams: DatagramTable,
    hosts: BTreeMap<IpAddr, NodeId>,
}

/// What is known by a receiver's port.
#[derive(Clone, Copy)]
struct Group {
    /// The first flow.
    first: u32,
    /// How many flows there are.
    count: u32,
    /// How long senders hold back what only acknowledges.
    ack_delay: Span,
}

/// Where packets from the sender of a flow to its receiver come from and go.
struct Ends {
    addresses: Addresses,
    sender_port: u16,
    receiver_port: u16,
    sender: NodeId,
    receiver: NodeId,
    connection: ConnectionFlows,
}

impl FlowTable {
    /// For the flows and streams of datagrams of an experiment.
    pub fn new(plans: &[FlowPlan], datagrams: &[DatagramPlan]) -> Self {
        let mut classifier = Self {
            flows: Vec::with_capacity(plans.len()),
            groups: Vec::new(),
            datagrams: DatagramTable::new(datagrams),
            hosts: BTreeMap::new(),
        };
        for plan in datagrams {
            classifier.hosts.insert(plan.sender_end().ip(), plan.sender_node);
            classifier.hosts.insert(plan.receiver_end().ip(), plan.receiver_node);
        }
        for (number, plan) in (0..).zip(plans) {
            if classifier.groups.len() <= plan.group {
                let group = Group { first: number, count: 0, ack_delay: plan.ack_delay };
                classifier.groups.resize(plan.group + 1, group);
            }
            classifier.groups[plan.group].count += 1;
            classifier.hosts.insert(plan.sender_end().ip(), plan.sender_node);
            classifier.hosts.insert(plan.receiver_end().ip(), plan.receiver_node);
            classifier.flows.push(Ends {
                addresses: plan.addresses,
                sender_port: plan.sender_port,
                receiver_port: plan.receiver_port,
                sender: plan.sender_node,
                receiver: plan.receiver_node,
                connection: plan.connection(),
            });
        }
        classifier
    }

    /// The flow whose packets have these addresses and ports on their way to its receiver. A group
    /// with more flows than a host has ports uses them again, from further addresses.
    #[inline]
    fn flow(&self, addresses: Addresses, sender_port: u16, receiver_port: u16) -> Option<u32> {
        let &Group { first, count, .. } = self.group(receiver_port)?;
        let place = u32::from(sender_port.checked_sub(FIRST_SENDER_PORT)?);
        let candidates =
            (place..count).step_by(usize::try_from(SENDER_PORTS).unwrap_or(usize::MAX));
        candidates.map(|place| first + place).find(|&number| {
            self.ends(number).is_some_and(|ends| {
                ends.addresses == addresses
                    && ends.sender_port == sender_port
                    && ends.receiver_port == receiver_port
            })
        })
    }

    /// The group whose receivers have this port.
    fn group(&self, receiver_port: u16) -> Option<&Group> {
        self.groups.get(usize::from(receiver_port.checked_sub(FIRST_RECEIVER_PORT)?))
    }

    fn ends(&self, flow: u32) -> Option<&Ends> {
        self.flows.get(usize::try_from(flow).ok()?)
    }

    /// What a packet is to the measures, wherever it is seen, as far as its headers are there, and its length in bytes.
    pub fn identify(&self, packet: &[u8]) -> Option<(MeasuredPacket, u32)> {
        let Ok(parsed) = parse(packet) else {
            return self.datagrams.find(packet).map(|found| (found.measured, found.packet_bytes));
        };
        self.identify_with_ends(&parsed).map(|(measured, _)| (measured, parsed.packet_bytes))
    }

    /// What a packet of a connection is, and which hosts it comes from and is for.
    #[inline]
    fn identify_with_ends(
        &self,
        packet: &Parsed<'_>,
    ) -> Option<(MeasuredPacket, (NodeId, NodeId))> {
        let segment = packet.segment;
        let addresses = packet.ip.addresses;
        let (source, destination) = (segment.source_port, segment.destination_port);
        let forward =
            self.flow(addresses, source, destination).map(|flow| (flow, Direction::Forward));
        let (number, way) = forward.or_else(|| {
            let flow = self.flow(addresses.reversed(), destination, source)?;
            Some((flow, Direction::Reverse))
        })?;
        let ends = self.ends(number)?;
        let hosts = match way {
            Direction::Forward => (ends.sender, ends.receiver),
            Direction::Reverse => (ends.receiver, ends.sender),
        };
        let (flow, direction) = ends.connection.attribute(way, &segment);
        Some((MeasuredPacket { flow, direction, segment, is_datagram: false }, hosts))
    }

    #[inline]
    fn measured(&self, from: NodeId, packet: &Parsed<'_>) -> Option<Classification> {
        let (measured, (source, destination)) = self.identify_with_ends(packet)?;
        (source == from).then_some(Classification::Flow(destination, measured))
    }

    /// A datagram of a stream.
    fn datagram(&mut self, from: NodeId, packet: &[u8]) -> Option<Classification> {
        let found = self.datagrams.find(packet)?;
        let (source, destination) = found.hosts;
        if source == from {
            self.datagrams.note(&found);
        }
        (source == from).then_some(Classification::Flow(destination, found.measured))
    }

    /// What is no flow's packet is carried where it is for a host of the experiment: complaints
    /// (ICMP) matter to TCP.
    #[cold]
    fn unmeasured(&self, packet: &[u8]) -> Classification {
        let host = destination_of(packet).and_then(|address| self.hosts.get(&address));
        host.map_or(Classification::NoDestination, |&node| Classification::Untracked(node))
    }
}

impl Classifier for FlowTable {
    #[inline]
    fn classify(
        &mut self,
        _: Instant,
        from: NodeId,
        packet: &[u8],
        _: &mut ObservationWriter,
    ) -> Classification {
        parse(packet)
            .ok()
            .and_then(|parsed| self.measured(from, &parsed))
            .or_else(|| self.datagram(from, packet))
            .unwrap_or_else(|| self.unmeasured(packet))
    }

    #[inline]
    fn connection(&self, measured: &MeasuredPacket) -> Option<(u32, bool)> {
        let segment = &measured.segment;
        Some(connection_of_ports(segment.source_port, segment.destination_port))
    }

    #[inline]
    fn hold_time(&self, measured: &MeasuredPacket) -> Span {
        let segment = &measured.segment;
        let delay = self.group(segment.destination_port).map_or(Span::ZERO, |it| it.ack_delay);
        if delay.is_zero() || !is_pure_ack(segment) { Span::ZERO } else { delay }
    }

    fn missing_datagrams(&self) -> u64 {
        self.datagrams.missing()
    }
}

/// The destination address of an IP packet of whatever protocol.
fn destination_of(packet: &[u8]) -> Option<IpAddr> {
    match packet.first()? >> 4 {
        4 => packet.get(16..20)?.first_chunk::<4>().map(|&octets| IpAddr::from(octets)),
        6 => packet.get(24..40)?.first_chunk::<16>().map(|&octets| IpAddr::from(octets)),
        _ => None,
    }
}
