//! Between the endpoint's segments and packets as a script writes them, in the same numbers.

use super::options::{options_from_bytes, options_to_bytes};
use crate::outcome::{Step, Stop};
use crate::script::{Direction, Mark, Packet, TcpOption};
use fairwind_tcp::Ports;
use fairwind_wire::bytes::{append_options, read_options};
use fairwind_wire::{Ecn, Flags, Options, Segment, SequenceNumber, TrafficClass};

/// A segment of the endpoint as a packet with every field written.
pub(crate) fn to_packet(segment: &Segment) -> Packet {
    let acknowledges = segment.flags.contains(Flags::ACK);
    let urgent = segment.flags.contains(Flags::URG);
    Packet {
        direction: Direction::Out,
        mark: Some(mark_of(segment.traffic_class.ecn())),
        traffic_class: Some(segment.traffic_class.octet()),
        flags: segment.flags,
        sequence: segment.sequence.get(),
        payload_bytes: segment.payload_bytes,
        acknowledgment: acknowledges.then(|| segment.acknowledgment.get()),
        window: Some(segment.window),
        urgent: urgent.then_some(segment.urgent),
        options: Some(listed(&segment.options)),
    }
}

/// Options in the order in which they stand in the header.
fn listed(options: &Options) -> Vec<TcpOption> {
    let mut header = Vec::new();
    append_options(options, &mut header);
    options_from_bytes(&header)
}

/// The mark as a script writes it.
fn mark_of(ecn: Ecn) -> Mark {
    match ecn {
        Ecn::NotEct => Mark::NotCapable,
        Ecn::Ect0 => Mark::Capable0,
        Ecn::Ect1 => Mark::Capable1,
        Ecn::Ce => Mark::CongestionExperienced,
    }
}

/// The octet of an injected packet's IP header: as it is written, or with the mark alone.
fn traffic_class(packet: &Packet) -> TrafficClass {
    let octet = TrafficClass::new(packet.traffic_class.unwrap_or(0));
    if packet.mark.is_some() { octet.with_ecn(codepoint(packet.mark)) } else { octet }
}

/// The mark that an injected packet gets.
fn codepoint(mark: Option<Mark>) -> Ecn {
    match mark {
        None | Some(Mark::NotCapable) => Ecn::NotEct,
        Some(Mark::Capable0 | Mark::Capable) => Ecn::Ect0,
        Some(Mark::Capable1) => Ecn::Ect1,
        Some(Mark::CongestionExperienced) => Ecn::Ce,
    }
}

/// The segment that an injected packet is.
pub(crate) fn to_segment(packet: &Packet, ports: Ports) -> Step<Segment> {
    let Some(window) = packet.window else {
        return Err(Stop::failed("an injected packet needs a window (`win N`)"));
    };
    let Some(options) = &packet.options else {
        return Err(Stop::failed("an injected packet cannot have just any options"));
    };
    Ok(Segment {
        source_port: ports.remote,
        destination_port: ports.local,
        sequence: SequenceNumber::new(packet.sequence),
        acknowledgment: SequenceNumber::new(packet.acknowledgment.unwrap_or(0)),
        flags: packet.flags,
        window,
        urgent: packet.urgent.unwrap_or(0),
        traffic_class: traffic_class(packet),
        payload_bytes: packet.payload_bytes,
        options: gathered(options)?,
    })
}

/// Options as an endpoint reads them from a header.
fn gathered(listed: &[TcpOption]) -> Step<Options> {
    let header = options_to_bytes(listed)?;
    read_options(&header)
        .map_err(|error| Stop::failed(format!("the options of an injected packet: {error}")))
}
