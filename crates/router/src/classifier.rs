//! Classification: the flow and the destination of a packet, by the addresses and ports that are planned.

use super::packet::{IpFields, UDP};
use fairwind_assembly::{
    DatagramPlan, FIRST_RECEIVER_PORT, FIRST_SENDER_PORT, FlowPlan, SENDER_PORTS,
    connection_of_ports, is_pure_ack,
};
use fairwind_hosts::number_of;
use fairwind_measure::{ConnectionFlows, Direction, FlowId};
use fairwind_network::NodeId;
use fairwind_recorder::{MeasuredPacket, ObservationWriter};
use fairwind_units::{Instant, Span};
use fairwind_wire::bytes::{Addresses, Parsed, parse};
use fairwind_wire::{Segment, TrafficClass};
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

/// Classification of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Classification {
    /// A flow's.
    Flow(NodeId, MeasuredPacket),
    /// For a host here, but of no flow: forwarded, not reported.
    Untracked(NodeId),
    /// For no host here.
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

    /// The number of the connection of a packet that was sorted, and whether it goes back on it; `None` if
    /// connections have no numbers that others know.
    fn connection(&self, _: &MeasuredPacket) -> Option<(u32, bool)> {
        None
    }

    /// Delay of a packet at its sending host.
    fn hold_time(&self, _: &MeasuredPacket) -> Span {
        Span::ZERO
    }

    /// Datagrams that hosts have sent, at least, and that never came out of their devices; none if they have
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

/// Group of flows with one receiver port.
#[derive(Clone, Copy)]
struct Group {
    /// The first flow.
    first: u32,
    /// Number of flows.
    count: u32,
    /// Delay of pure acknowledgments at their sender.
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

    /// The flow with these addresses and ports in packets towards its receiver. A group
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

    /// The group with this receiver port.
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
        let host = IpFields::read(packet).and_then(|ip| self.hosts.get(&ip.destination));
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

/// Bytes of a UDP header (RFC 768).
const UDP_HEADER_BYTES: u16 = 8;

/// Addresses, and the ports of sender and receiver.
type AddressesAndPorts = (Addresses, u16, u16);

/// The streams of datagrams of an experiment.
pub(super) struct DatagramTable {
    streams: HashMap<AddressesAndPorts, Stream>,
    /// The numbers that their next datagrams should have, by the streams' places.
    expected: Vec<u64>,
    /// Datagrams that should have come before others, and have not.
    missing: u64,
}

#[derive(Debug, Clone, Copy)]
struct Stream {
    place: usize,
    flow: FlowId,
    sender: NodeId,
    receiver: NodeId,
}

/// A datagram of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FoundDatagram {
    pub(super) measured: MeasuredPacket,
    /// Length of its IP packet.
    pub(super) packet_bytes: u32,
    /// The hosts that it comes from and is for.
    pub(super) hosts: (NodeId, NodeId),
    /// The place of its stream.
    place: usize,
    /// Its number there, if it says so.
    number: Option<u64>,
}

impl DatagramTable {
    pub(super) fn new(plans: &[DatagramPlan]) -> Self {
        let stream = |(place, plan): (usize, &DatagramPlan)| {
            let ends = (plan.addresses, plan.sender_port, plan.receiver_port);
            let (sender, receiver) = (plan.sender_node, plan.receiver_node);
            (ends, Stream { place, flow: plan.flow, sender, receiver })
        };
        let streams = plans.iter().enumerate().map(stream).collect();
        Self { streams, expected: vec![0; plans.len()], missing: 0 }
    }

    /// The datagram has come from its host; the device keeps their order.
    pub(super) fn note(&mut self, found: &FoundDatagram) {
        if let (Some(number), Some(expected)) = (found.number, self.expected.get_mut(found.place)) {
            self.missing += number.saturating_sub(*expected);
            *expected = (*expected).max(number.saturating_add(1));
        }
    }

    /// Datagrams that hosts have sent before others that came, and that have not come themselves.
    pub(super) const fn missing(&self) -> u64 {
        self.missing
    }

    /// What an IP packet is, as far as its headers are there; `None` of what is no datagram of a flow.
    pub(super) fn find(&self, packet: &[u8]) -> Option<FoundDatagram> {
        if self.streams.is_empty() {
            return None;
        }
        let ip = IpFields::read(packet).filter(|ip| ip.protocol == UDP && !ip.is_fragment)?;
        let addresses = match (ip.source, ip.destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => Addresses::V4 { source, destination },
            (IpAddr::V6(source), IpAddr::V6(destination)) => Addresses::V6 { source, destination },
            _ => return None,
        };
        let [s0, s1, d0, d1, l0, l1] = *ip.above.first_chunk::<6>()?;
        let ports = (u16::from_be_bytes([s0, s1]), u16::from_be_bytes([d0, d1]));
        let stream = self.streams.get(&(addresses, ports.0, ports.1))?;
        let length = u16::from_be_bytes([l0, l1]);
        let segment = Segment {
            source_port: ports.0,
            destination_port: ports.1,
            traffic_class: TrafficClass::new(ip.traffic_class),
            payload_bytes: length.saturating_sub(UDP_HEADER_BYTES).into(),
            ..Segment::default()
        };
        let (flow, direction) = (stream.flow, Direction::Forward);
        Some(FoundDatagram {
            measured: MeasuredPacket { flow, direction, segment, is_datagram: true },
            packet_bytes: ip.packet_bytes,
            hosts: (stream.sender, stream.receiver),
            place: stream.place,
            number: ip.above.get(UDP_HEADER_BYTES.into()..).and_then(number_of),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwind_scenario::Document;

    /// The stream of one group that sends datagrams over this version of IP.
    fn plans(ip_version: u8) -> Vec<DatagramPlan> {
        let text = format!(
            "name = \"call\"\nduration = \"1 s\"\n[path]\nrate = \"1 Mbit/s\"\nrtt = \"10 ms\"\n\
             queue = {{ limit = \"9 packets\" }}\nip_version = {ip_version}\n\
             [[flows]]\nname = \"greedy\"\nworkload = {{ kind = \"greedy\" }}\n\
             [[flows]]\nname = \"call\"\ncount = 2\n\
             workload = {{ kind = \"constant\", rate = \"64 kbit/s\", packet = \"200 B\" }}\n"
        );
        let document = Document::parse("call.toml", &text).expect("it is valid");
        let experiment = document.experiment(&document.grid().expect("a grid")[0]).expect("whole");
        let assembly =
            fairwind_assembly::Assembly::<crate::RoutedPacket>::new(&experiment, 1, |_| true);
        assembly.expect("it is consistent").datagrams
    }

    /// A datagram of 100 bytes, by hand.
    fn packet(plan: &DatagramPlan) -> Vec<u8> {
        let mut packet = match plan.addresses {
            Addresses::V4 { source, destination } => {
                let head = [0x45, 0x03, 0, 128, 0, 7, 0x40, 0, 64, UDP, 0, 0];
                [&head[..], &source.octets(), &destination.octets()].concat()
            }
            Addresses::V6 { source, destination } => {
                let head = [0x60, 0x30, 0, 0, 0, 108, UDP, 64];
                [&head[..], &source.octets(), &destination.octets()].concat()
            }
        };
        packet.extend_from_slice(&plan.sender_port.to_be_bytes());
        packet.extend_from_slice(&plan.receiver_port.to_be_bytes());
        packet.extend_from_slice(&[0, 108, 0, 0]);
        packet.extend_from_slice(&[0; 100]);
        packet
    }

    #[test]
    fn datagram_is_classified_from_partial_bytes() {
        for (ip_version, packet_bytes) in [(4, 128), (6, 148)] {
            let plans = plans(ip_version);
            let planned = DatagramTable::new(&plans);
            for plan in &plans {
                let packet = packet(plan);
                for seen in [&packet[..], &packet[..60]] {
                    let found = planned.find(seen).expect("it is a flow's");
                    assert_eq!(found.measured.flow, plan.flow);
                    assert_eq!(found.hosts, (plan.sender_node, plan.receiver_node));
                    let segment = found.measured.segment;
                    assert_eq!((segment.payload_bytes, found.packet_bytes), (100, packet_bytes));
                    assert_eq!(segment.traffic_class, TrafficClass::new(3));
                }
            }
        }
    }

    /// Numbers stand behind the instant of the write: the ninth to the sixteenth byte.
    #[test]
    fn datagram_gaps_count_as_missing() {
        let plans = plans(4);
        let mut planned = DatagramTable::new(&plans);
        for (plan, number, missing) in
            [(0, 0_u64, 0), (0, 1, 0), (0, 4, 2), (1, 3, 5), (0, 5, 5), (1, 4, 5)]
        {
            let mut packet = packet(&plans[plan]);
            packet[36..44].copy_from_slice(&number.to_ne_bytes());
            let found = planned.find(&packet).expect("it is a flow's");
            planned.note(&found);
            assert_eq!(planned.missing(), missing, "number {number} of stream {plan}");
        }
    }

    #[test]
    fn partial_datagram_is_not_classified() {
        let plans = plans(4);
        let planned = DatagramTable::new(&plans);
        let with = |place: usize, value: u8| {
            let mut packet = packet(&plans[0]);
            packet[place] = value;
            planned.find(&packet)
        };
        assert_ne!(with(0, 0x45), None);
        // Another protocol, a part of a packet, a port of nobody's, and no packet at all.
        for (place, value) in [(9, 6), (6, 0x20), (7, 1), (23, 0xff), (0, 0x15)] {
            assert_eq!(with(place, value), None, "{place}");
        }
        assert_eq!(planned.find(b"E"), None);
    }
}
