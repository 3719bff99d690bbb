//! Packets as bytes and as a script writes them, in live numbers.

use fairwind_packetdrill::{
    Direction, Mark, Packet, Step, Stop, options_from_bytes, options_to_bytes,
};
use fairwind_wire::bytes::{Addresses, IpHeader, emit_with_options, parse};
use fairwind_wire::{Ecn, Flags, Segment, SequenceNumber, TrafficClass};

/// The two ports of a connection, the kernel's first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ports {
    pub(super) local: u16,
    pub(super) remote: u16,
}

/// The hop limit of injected packets.
pub(super) const HOP_LIMIT: u8 = 255;

/// The bytes of a packet to the kernel.
pub(super) fn to_bytes(packet: &Packet, addresses: Addresses, ports: Ports) -> Step<Vec<u8>> {
    let Some(options) = &packet.options else {
        return Err(Stop::failed("an injected packet cannot have just any options"));
    };
    let mark = match packet.mark {
        None | Some(Mark::NotCapable) => Ecn::NotEct,
        Some(Mark::Capable0 | Mark::Capable) => Ecn::Ect0,
        Some(Mark::Capable1) => Ecn::Ect1,
        Some(Mark::CongestionExperienced) => Ecn::Ce,
    };
    let ip = IpHeader { hop_limit: HOP_LIMIT, ..IpHeader::new(addresses) };
    let segment = Segment {
        source_port: ports.remote,
        destination_port: ports.local,
        sequence: SequenceNumber::new(packet.sequence),
        acknowledgment: SequenceNumber::new(packet.acknowledgment.unwrap_or(0)),
        flags: packet.flags,
        window: packet.window.unwrap_or(0),
        urgent: packet.urgent.unwrap_or(0),
        payload_bytes: packet.payload_bytes,
        traffic_class: match (packet.traffic_class, packet.mark) {
            (Some(octet), None) => TrafficClass::new(octet),
            (octet, _) => TrafficClass::new(octet.unwrap_or(0)).with_ecn(mark),
        },
        ..Segment::default()
    };
    let payload = vec![0; usize::try_from(packet.payload_bytes).unwrap_or(0)];
    let mut bytes = Vec::new();
    emit_with_options(&ip, &segment, &options_to_bytes(options)?, &payload, &mut bytes)
        .map_err(|error| Stop::failed(error.to_string()))?;
    Ok(bytes)
}

/// A packet of the kernel, if it is one of TCP, and its ports.
pub(super) fn from_bytes(bytes: &[u8]) -> Option<(Packet, Ports, Addresses)> {
    let parsed = parse(bytes).ok()?;
    let segment = &parsed.segment;
    let ports = Ports { local: segment.source_port, remote: segment.destination_port };
    let mark = match segment.traffic_class.ecn() {
        Ecn::NotEct => Mark::NotCapable,
        Ecn::Ect0 => Mark::Capable0,
        Ecn::Ect1 => Mark::Capable1,
        Ecn::Ce => Mark::CongestionExperienced,
    };
    let acknowledges = segment.flags.contains(Flags::ACK);
    let urgent = segment.flags.contains(Flags::URG);
    let packet = Packet {
        direction: Direction::Out,
        mark: Some(mark),
        traffic_class: Some(segment.traffic_class.octet()),
        flags: segment.flags,
        sequence: segment.sequence.get(),
        payload_bytes: segment.payload_bytes,
        acknowledgment: acknowledges.then(|| segment.acknowledgment.get()),
        window: Some(segment.window),
        urgent: urgent.then_some(segment.urgent),
        options: Some(options_from_bytes(parsed.tcp_options())),
    };
    Some((packet, ports, parsed.ip.addresses))
}
