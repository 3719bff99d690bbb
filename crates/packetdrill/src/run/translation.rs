//! Between a script's numbers and the endpoint's own.
//!
//! A script counts our sequence numbers from the SYN that it expects, usually 0, whatever the
//! endpoint began with; the peer's numbers are the script's own. It names our timestamps from the
//! first one that it expects; the peer's are its own again.

use crate::outcome::{Step, Stop};
use crate::script::{Direction, Mark, Packet, TcpOption};
use fairwind_tcp::Ports;
use fairwind_wire::{Flags, Options, SackBlock, SackBlocks, Segment, SequenceNumber, Timestamps};
use std::collections::BTreeMap;

/// The two number spaces of one connection.
#[derive(Debug)]
pub(crate) struct Translation {
    ports: Ports,
    /// The endpoint's initial sequence number.
    initial: SequenceNumber,
    /// The same in the script, once its SYN was expected.
    scripted_initial: Option<u32>,
    /// The first timestamp that was expected: in the script, and as it was.
    first_timestamp: Option<(u32, u32)>,
    /// Every timestamp that was expected since, from the script's to the endpoint's.
    timestamps: BTreeMap<u32, u32>,
}

impl Translation {
    pub(crate) fn new(ports: Ports, initial: SequenceNumber) -> Self {
        Self {
            ports,
            initial,
            scripted_initial: None,
            first_timestamp: None,
            timestamps: BTreeMap::new(),
        }
    }

    /// Learns from an expected packet and the segment that came for it where the script counts
    /// from. To be called before [`to_script`](Self::to_script).
    pub(crate) fn learn(&mut self, expected: &Packet, segment: &Segment) {
        let opens = segment.flags.contains(Flags::SYN) && expected.flags.contains(Flags::SYN);
        if opens && self.scripted_initial.is_none() {
            self.scripted_initial = Some(expected.sequence);
        }
        let Some(live) = segment.options.timestamps else { return };
        let scripted = expected.options.iter().flatten().find_map(|option| match option {
            TcpOption::Timestamps { value, .. } => Some(*value),
            _ => None,
        });
        if let Some(scripted) = scripted {
            self.first_timestamp.get_or_insert((scripted, live.value));
            self.timestamps.insert(scripted, live.value);
        }
    }

    fn scripted_offset(&self) -> u32 {
        self.scripted_initial.unwrap_or(0).wrapping_sub(self.initial.get())
    }

    /// A segment of the endpoint as a script would write it, with every field written.
    pub(crate) fn to_script(&self, segment: &Segment) -> Packet {
        let acknowledges = segment.flags.contains(Flags::ACK);
        let urgent = segment.flags.contains(Flags::URG);
        Packet {
            direction: Direction::Out,
            mark: Some(Mark::NotCapable),
            flags: segment.flags,
            sequence: segment.sequence.get().wrapping_add(self.scripted_offset()),
            payload_bytes: segment.payload_bytes,
            acknowledgment: acknowledges.then(|| segment.acknowledgment.get()),
            window: Some(segment.window),
            urgent: urgent.then_some(segment.urgent),
            options: Some(self.options_to_script(&segment.options)),
        }
    }

    /// Options in the order in which they stand in the header (see `Options::wire_bytes`).
    fn options_to_script(&self, options: &Options) -> Vec<TcpOption> {
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
        listed.extend(options.timestamps.map(|stamps| TcpOption::Timestamps {
            value: self.timestamp_to_script(stamps.value),
            echo: stamps.echo,
        }));
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

    fn timestamp_to_script(&self, live: u32) -> u32 {
        match self.first_timestamp {
            Some((scripted, first)) => live.wrapping_sub(first).wrapping_add(scripted),
            None => live,
        }
    }

    /// A timestamp of ours that the peer echoes: as it was when the script expected it, else as far
    /// from the first one as the script says.
    fn echo_to_live(&self, scripted: u32) -> u32 {
        match (self.timestamps.get(&scripted), self.first_timestamp) {
            (Some(&live), _) => live,
            (None, Some((first, live))) if scripted != 0 => {
                scripted.wrapping_sub(first).wrapping_add(live)
            }
            _ => scripted,
        }
    }

    /// The segment that an injected packet is.
    pub(crate) fn to_live(&self, packet: &Packet) -> Step<Segment> {
        let Some(window) = packet.window else {
            return Err(Stop::failed("an injected packet needs a window (`win N`)"));
        };
        let Some(options) = &packet.options else {
            return Err(Stop::failed("an injected packet cannot have just any options"));
        };
        Ok(Segment {
            source_port: self.ports.remote,
            destination_port: self.ports.local,
            sequence: SequenceNumber::new(packet.sequence),
            acknowledgment: packet
                .acknowledgment
                .map_or(SequenceNumber::default(), |number| self.sequence_to_live(number)),
            flags: packet.flags,
            window,
            urgent: packet.urgent.unwrap_or(0),
            payload_bytes: packet.payload_bytes,
            options: self.options_to_live(options)?,
        })
    }

    fn sequence_to_live(&self, scripted: u32) -> SequenceNumber {
        SequenceNumber::new(scripted.wrapping_sub(self.scripted_offset()))
    }

    fn options_to_live(&self, listed: &[TcpOption]) -> Step<Options> {
        let mut options = Options::NONE;
        for option in listed {
            match option {
                TcpOption::NoOperation => {}
                TcpOption::End => break,
                TcpOption::MaximumSegment(bytes) => options.mss = Some(*bytes),
                TcpOption::WindowScale(shift) => options.window_scale = Some(*shift),
                TcpOption::SackPermitted => options.sack_permitted = true,
                TcpOption::Sack(edges) => options.sack = self.blocks_to_live(edges),
                TcpOption::Timestamps { value, echo } => {
                    let echo = self.echo_to_live(*echo);
                    options.timestamps = Some(Timestamps { value: *value, echo });
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

    fn blocks_to_live(&self, edges: &[(u32, u32)]) -> SackBlocks {
        edges
            .iter()
            .map(|&(left, right)| SackBlock {
                left: self.sequence_to_live(left),
                right: self.sequence_to_live(right),
            })
            .collect()
    }
}
