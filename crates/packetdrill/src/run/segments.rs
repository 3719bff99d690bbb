//! Between the endpoint's segments and packets as a script writes them, in the same numbers.

use crate::outcome::{Step, Stop};
use crate::script::{Direction, Mark, Packet, TcpOption};
use fairwind_tcp::Ports;
use fairwind_wire::{Flags, Options, SackBlock, SackBlocks, Segment, SequenceNumber, Timestamps};

/// A segment of the endpoint as a packet with every field written.
pub(crate) fn to_packet(segment: &Segment) -> Packet {
    let acknowledges = segment.flags.contains(Flags::ACK);
    let urgent = segment.flags.contains(Flags::URG);
    Packet {
        direction: Direction::Out,
        mark: Some(Mark::NotCapable),
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
    listed
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
            TcpOption::FastOpen(_) | TcpOption::Other(_) => {
                return Err(Stop::unsupported(format!(
                    "the endpoint does not know the TCP option `{option}`"
                )));
            }
        }
    }
    Ok(options)
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
