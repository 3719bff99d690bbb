//! Between the endpoint's segments and packets as a script writes them, in the same numbers.

use crate::outcome::{Step, Stop};
use crate::script::{Direction, Mark, Packet, TcpOption};
use fairwind_tcp::Ports;
use fairwind_wire::{
    Cookie, Ecn, FastOpen, FastOpenKind, Flags, Options, SackBlock, SackBlocks, Segment,
    SequenceNumber, Timestamps,
};

/// A segment of the endpoint as a packet with every field written.
pub(crate) fn to_packet(segment: &Segment) -> Packet {
    let acknowledges = segment.flags.contains(Flags::ACK);
    let urgent = segment.flags.contains(Flags::URG);
    Packet {
        direction: Direction::Out,
        mark: Some(mark_of(segment.traffic_class.ecn())),
        flags: segment.flags,
        sequence: segment.sequence.get(),
        payload_bytes: segment.payload_bytes,
        acknowledgment: acknowledges.then(|| segment.acknowledgment.get()),
        window: Some(segment.window),
        urgent: urgent.then_some(segment.urgent),
        options: Some(listed(&segment.options)),
    }
}

/// Options in the order in which they stand in the header (see `Options::wire_bytes`).
fn listed(options: &Options) -> Vec<TcpOption> {
    let mut listed = Vec::new();
    listed.extend(options.mss.map(TcpOption::MaximumSegment));
    match (options.sack_permitted, options.timestamps) {
        (true, Some(_)) => listed.push(TcpOption::SackPermitted),
        (true, None) => {
            listed.extend([TcpOption::NoOperation, TcpOption::NoOperation]);
            listed.push(TcpOption::SackPermitted);
        }
        (false, Some(_)) => listed.extend([TcpOption::NoOperation, TcpOption::NoOperation]),
        (false, None) => {}
    }
    listed.extend(
        options
            .timestamps
            .map(|stamps| TcpOption::Timestamps { value: stamps.value, echo: stamps.echo }),
    );
    if let Some(shift) = options.window_scale {
        listed.extend([TcpOption::NoOperation, TcpOption::WindowScale(shift)]);
    }
    if !options.sack.is_empty() {
        let blocks = options.sack.as_slice().iter();
        let edges = blocks.map(|block| (block.left.get(), block.right.get())).collect();
        listed.extend([TcpOption::NoOperation, TcpOption::NoOperation]);
        listed.push(TcpOption::Sack(edges));
    }
    if let Some(fast_open) = options.fast_open() {
        listed.extend(fast_open_listed(&fast_open));
    }
    listed
}

/// The option with the NOPs that align what is behind it.
fn fast_open_listed(option: &FastOpen) -> Vec<TcpOption> {
    let digits: Vec<String> =
        option.cookie.as_slice().iter().map(|byte| format!("{byte:02x}")).collect();
    let digits = digits.concat();
    let mut listed = vec![match option.kind {
        FastOpenKind::Assigned => TcpOption::FastOpen(digits),
        FastOpenKind::Experimental => TcpOption::FastOpenExperimental(digits),
    }];
    let mut bytes = option.option_bytes();
    while !bytes.is_multiple_of(4) {
        listed.push(TcpOption::NoOperation);
        bytes += 1;
    }
    listed
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
        traffic_class: codepoint(packet.mark).into(),
        payload_bytes: packet.payload_bytes,
        options: gathered(options)?,
    })
}

fn gathered(listed: &[TcpOption]) -> Step<Options> {
    let mut options = Options::NONE;
    for option in listed {
        match option {
            TcpOption::NoOperation => {}
            TcpOption::End => break,
            TcpOption::MaximumSegment(bytes) => options.mss = Some(*bytes),
            TcpOption::WindowScale(shift) => options.window_scale = Some(*shift),
            TcpOption::SackPermitted => options.sack_permitted = true,
            TcpOption::Sack(edges) => options.sack = blocks(edges),
            TcpOption::Timestamps { value, echo } => {
                options.timestamps = Some(Timestamps { value: *value, echo: *echo });
            }
            TcpOption::FastOpen(digits) => {
                options = options.with_fast_open(&fast_open(FastOpenKind::Assigned, digits)?);
            }
            TcpOption::FastOpenExperimental(digits) => {
                options = options.with_fast_open(&fast_open(FastOpenKind::Experimental, digits)?);
            }
            TcpOption::Other(_) => {
                return Err(Stop::unsupported(format!(
                    "the endpoint does not know the TCP option `{option}`"
                )));
            }
        }
    }
    Ok(options)
}

/// A cookie of hexadecimal digits.
fn fast_open(kind: FastOpenKind, digits: &str) -> Step<FastOpen> {
    let malformed = || Stop::failed(format!("`{digits}` is no cookie of at most 16 bytes"));
    let mut bytes = Vec::new();
    for pair in digits.as_bytes().chunks(2) {
        let pair = std::str::from_utf8(pair).map_err(|_| malformed())?;
        bytes.push(u8::from_str_radix(pair, 16).map_err(|_| malformed())?);
    }
    let cookie = Cookie::new(&bytes).ok_or_else(malformed)?;
    Ok(FastOpen { kind, cookie })
}

fn blocks(edges: &[(u32, u32)]) -> SackBlocks {
    edges
        .iter()
        .map(|&(left, right)| SackBlock {
            left: SequenceNumber::new(left),
            right: SequenceNumber::new(right),
        })
        .collect()
}
