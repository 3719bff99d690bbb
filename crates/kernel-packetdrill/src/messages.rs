//! ICMP messages as bytes.

use super::packets::{HOP_LIMIT, Ports};
use fairwind_packetdrill::{Icmp, Step, Stop};
use fairwind_wire::bytes::{Addresses, IcmpMessage, IpHeader, Payload, emit_icmp, emit_prefix};
use fairwind_wire::{Flags, Segment, SequenceNumber};

/// Type and code of RFC 792, by the script's names.
const V4: &[(&str, u8, u8)] = &[
    ("unreachable net_unreachable", 3, 0),
    ("unreachable host_unreachable", 3, 1),
    ("unreachable protocol_unreachable", 3, 2),
    ("unreachable port_unreachable", 3, 3),
    ("unreachable frag_needed", 3, 4),
    ("unreachable source_route_failed", 3, 5),
    ("unreachable net_unknown", 3, 6),
    ("unreachable host_unknown", 3, 7),
    ("unreachable source_host_isolated", 3, 8),
    ("unreachable net_prohibited", 3, 9),
    ("unreachable host_prohibited", 3, 10),
    ("unreachable net_unreachable_for_tos", 3, 11),
    ("unreachable host_unreachable_for_tos", 3, 12),
    ("unreachable packet_filtered", 3, 13),
    ("source_quench", 4, 0),
    ("time_exceeded exceeded_in_transit", 11, 0),
    ("time_exceeded", 11, 0),
    ("parameter_problem", 12, 0),
];

/// Type and code of RFC 4443.
const V6: &[(&str, u8, u8)] = &[
    ("unreachable noroute", 1, 0),
    ("unreachable admin_prohibited", 1, 1),
    ("unreachable not_neighbour", 1, 2),
    ("unreachable addr_unreachable", 1, 3),
    ("unreachable port_unreachable", 1, 4),
    ("packet_too_big", 2, 0),
    ("time_exceeded exceeded_in_transit", 3, 0),
    ("time_exceeded", 3, 0),
    ("parameter_problem", 4, 0),
];

/// Bytes of the TCP header that a message quotes: the ports and the sequence number.
const QUOTED_BYTES: u32 = 8;

/// The bytes of a message to the kernel about a packet that it has sent.
pub(super) fn to_bytes(message: &Icmp, inward: Addresses, ports: Ports) -> Step<Vec<u8>> {
    let table = match inward {
        Addresses::V4 { .. } => V4,
        Addresses::V6 { .. } => V6,
    };
    let (_, kind, code) =
        table.iter().find(|(name, _, _)| *name == message.kind).ok_or_else(|| {
            Stop::unsupported(format!("the message `icmp {}` is not known here", message.kind))
        })?;
    let (sequence, payload_bytes) = message.quoted.unwrap_or((0, 0));
    let segment = Segment {
        source_port: ports.local,
        destination_port: ports.remote,
        sequence: SequenceNumber::new(sequence),
        flags: Flags::ACK,
        payload_bytes,
        ..Segment::default()
    };
    let ip = IpHeader::new(inward.reversed());
    let mut quoted = Vec::new();
    let limit = ip.header_bytes() + QUOTED_BYTES;
    emit_prefix(&ip, &segment, Payload::Pattern { stream_offset: 0 }, limit, &mut quoted)
        .map_err(|error| Stop::failed(error.to_string()))?;
    let outer = IpHeader { hop_limit: HOP_LIMIT, ..IpHeader::new(inward) };
    let rest = message.mtu.unwrap_or(0);
    let message = IcmpMessage { kind: *kind, code: *code, rest, quoted: &quoted };
    let mut bytes = Vec::new();
    emit_icmp(&outer, &message, &mut bytes).map_err(|error| Stop::failed(error.to_string()))?;
    Ok(bytes)
}
