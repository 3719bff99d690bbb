//! Packets as bytes and as a script writes them, in live numbers.

use fairwind_packetdrill::{Direction, Mark, Packet, Step, Stop, TcpOption};
use fairwind_wire::bytes::{Addresses, IpHeader, Parsed, emit_with_options, parse};
use fairwind_wire::{Ecn, Flags, Segment, SequenceNumber};

/// The two ports of a connection, the kernel's first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ports {
    pub(super) local: u16,
    pub(super) remote: u16,
}

/// The number of the experiment that Fast Open was (RFC 7413 appendix A).
const FAST_OPEN_EXPERIMENT: [u8; 2] = [0xf9, 0x89];

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
        traffic_class: mark.into(),
        ..Segment::default()
    };
    let payload = vec![0; usize::try_from(packet.payload_bytes).unwrap_or(0)];
    let mut bytes = Vec::new();
    emit_with_options(&ip, &segment, &options_to_bytes(options)?, &payload, &mut bytes)
        .map_err(|error| Stop::failed(error.to_string()))?;
    Ok(bytes)
}

fn options_to_bytes(options: &[TcpOption]) -> Step<Vec<u8>> {
    let mut bytes = Vec::new();
    for option in options {
        match option {
            TcpOption::End => bytes.push(0),
            TcpOption::NoOperation => bytes.push(1),
            TcpOption::MaximumSegment(size) => {
                bytes.extend_from_slice(&[2, 4]);
                bytes.extend_from_slice(&size.to_be_bytes());
            }
            TcpOption::WindowScale(shift) => bytes.extend_from_slice(&[3, 3, *shift]),
            TcpOption::SackPermitted => bytes.extend_from_slice(&[4, 2]),
            TcpOption::Sack(edges) => {
                bytes.extend_from_slice(&[5, u8::try_from(2 + 8 * edges.len()).unwrap_or(255)]);
                for (left, right) in edges {
                    bytes.extend_from_slice(&left.to_be_bytes());
                    bytes.extend_from_slice(&right.to_be_bytes());
                }
            }
            TcpOption::Timestamps { value, echo } => {
                bytes.extend_from_slice(&[8, 10]);
                bytes.extend_from_slice(&value.to_be_bytes());
                bytes.extend_from_slice(&echo.to_be_bytes());
            }
            TcpOption::FastOpen(cookie) => {
                let cookie = from_digits(cookie).ok_or_else(|| {
                    Stop::failed(format!("`{option}` has no whole number of bytes"))
                })?;
                bytes.extend_from_slice(&[34, u8::try_from(2 + cookie.len()).unwrap_or(255)]);
                bytes.extend_from_slice(&cookie);
            }
            TcpOption::FastOpenExperimental(cookie) => {
                let cookie = from_digits(cookie).ok_or_else(|| {
                    Stop::failed(format!("`{option}` has no whole number of bytes"))
                })?;
                bytes.extend_from_slice(&[254, u8::try_from(4 + cookie.len()).unwrap_or(255)]);
                bytes.extend_from_slice(&FAST_OPEN_EXPERIMENT);
                bytes.extend_from_slice(&cookie);
            }
            TcpOption::Other(text) => {
                return Err(Stop::unsupported(format!("the option `{text}` is not known here")));
            }
        }
    }
    Ok(bytes)
}

fn from_digits(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text
        .chars()
        .map(|digit| digit.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect::<Option<_>>()?;
    let (pairs, rest) = digits.as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
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
        flags: segment.flags,
        sequence: segment.sequence.get(),
        payload_bytes: segment.payload_bytes,
        acknowledgment: acknowledges.then(|| segment.acknowledgment.get()),
        window: Some(segment.window),
        urgent: urgent.then_some(segment.urgent),
        options: Some(options_from_bytes(&parsed)),
    };
    Some((packet, ports, parsed.ip.addresses))
}

/// Options in the order in which they stand in the header. Behind the end of the list only padding
/// stands, which is not listed.
fn options_from_bytes(parsed: &Parsed<'_>) -> Vec<TcpOption> {
    let mut listed = Vec::new();
    let mut rest = parsed.tcp_options();
    while let Some((&kind, behind)) = rest.split_first() {
        match kind {
            0 => {
                listed.push(TcpOption::End);
                break;
            }
            1 => {
                listed.push(TcpOption::NoOperation);
                rest = behind;
            }
            _ => {
                let length = usize::from(behind.first().copied().unwrap_or(0));
                let (Some(content), true) = (rest.get(2..length), length >= 2) else { break };
                listed.push(option_from_bytes(kind, content));
                rest = &rest[length..];
            }
        }
    }
    listed
}

fn option_from_bytes(kind: u8, content: &[u8]) -> TcpOption {
    let words: Vec<u32> =
        content.as_chunks::<4>().0.iter().map(|word| u32::from_be_bytes(*word)).collect();
    match (kind, content) {
        (2, &[high, low]) => TcpOption::MaximumSegment(u16::from_be_bytes([high, low])),
        (3, &[shift]) => TcpOption::WindowScale(shift),
        (4, []) => TcpOption::SackPermitted,
        (5, _) if content.len().is_multiple_of(8) => {
            TcpOption::Sack(words.as_chunks::<2>().0.iter().map(|[l, r]| (*l, *r)).collect())
        }
        (8, _) if content.len() == 8 => TcpOption::Timestamps { value: words[0], echo: words[1] },
        (34, _) => TcpOption::FastOpen(digits(content)),
        (254, [0xf9, 0x89, cookie @ ..]) => TcpOption::FastOpenExperimental(digits(cookie)),
        _ => TcpOption::Other(format!("kind {kind} {}", digits(content))),
    }
}

fn digits(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('?');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
