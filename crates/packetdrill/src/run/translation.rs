//! Between a script's numbers and those on the wire.
//!
//! A script counts our sequence numbers from the SYN that it expects, usually 0, whatever the
//! system began with; the peer's numbers are the script's own. It names our timestamps from the
//! first one that it expects; the peer's are its own again.

use crate::script::{Icmp, Packet, TcpOption};
use fairwind_wire::Flags;
use std::collections::BTreeMap;

/// The first timestamp of a connection in a recording.
const FIRST_TIMESTAMP: u32 = 100;

/// The two number spaces of one connection.
#[derive(Debug, Default)]
pub(crate) struct Translation {
    /// The system's initial sequence number, once its SYN was seen.
    initial: Option<u32>,
    /// The same in the script, once its SYN was expected.
    scripted_initial: Option<u32>,
    /// The first timestamp that was expected: in the script, and as it was.
    first_timestamp: Option<(u32, u32)>,
    /// Every timestamp that was expected since, from the script's to the system's.
    timestamps: BTreeMap<u32, u32>,
}

impl Translation {
    /// Learns from a packet of the system, expected or not, where its numbers begin.
    pub(crate) fn notice(&mut self, live: &Packet) {
        if live.flags.contains(Flags::SYN) && self.initial.is_none() {
            self.initial = Some(live.sequence);
        }
    }

    /// Learns from an expected packet and the one that came for it where the script counts from. To
    /// be called before [`to_script`](Self::to_script).
    pub(crate) fn learn(&mut self, expected: &Packet, live: &Packet) {
        let opens = live.flags.contains(Flags::SYN) && expected.flags.contains(Flags::SYN);
        if opens && self.scripted_initial.is_none() {
            self.scripted_initial = Some(expected.sequence);
        }
        if let (Some(live), Some(scripted)) = (timestamp(live), timestamp(expected)) {
            self.first_timestamp.get_or_insert((scripted, live));
            self.timestamps.insert(scripted, live);
        }
    }

    /// A packet of the system as a script that expects it may write it, which then counts from it:
    /// our numbers from 0, our timestamps from 100.
    pub(crate) fn adopt(&mut self, live: &Packet) -> Packet {
        self.notice(live);
        let begins = live.flags.contains(Flags::SYN) && self.scripted_initial.is_none();
        let stamps = self.first_timestamp.is_none();
        let mut expected = self.to_script(live);
        if begins {
            expected.sequence = 0;
        }
        if stamps && let Some(options) = &mut expected.options {
            for option in options {
                if let TcpOption::Timestamps { value, .. } = option {
                    *value = FIRST_TIMESTAMP;
                }
            }
        }
        self.learn(&expected, live);
        expected
    }

    /// What is added to a live number of ours to get the script's.
    fn scripted_offset(&self) -> u32 {
        self.scripted_initial.unwrap_or(0).wrapping_sub(self.initial.unwrap_or(0))
    }

    /// A packet of the system in the script's numbers.
    pub(crate) fn to_script(&self, live: &Packet) -> Packet {
        let options = live
            .options
            .as_ref()
            .map(|options| options.iter().map(|option| self.option_to_script(option)).collect());
        let sequence = live.sequence.wrapping_add(self.scripted_offset());
        Packet { sequence, options, ..live.clone() }
    }

    fn option_to_script(&self, option: &TcpOption) -> TcpOption {
        match (option, self.first_timestamp) {
            (&TcpOption::Timestamps { value, echo }, Some((scripted, first))) => {
                let value = value.wrapping_sub(first).wrapping_add(scripted);
                TcpOption::Timestamps { value, echo }
            }
            (other, _) => other.clone(),
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

    /// A packet of the script in live numbers.
    pub(crate) fn to_live(&self, packet: &Packet) -> Packet {
        let acknowledgment = packet.acknowledgment.map(|number| self.sequence_to_live(number));
        let options = packet
            .options
            .as_ref()
            .map(|options| options.iter().map(|option| self.option_to_live(option)).collect());
        Packet { acknowledgment, options, ..packet.clone() }
    }

    fn sequence_to_live(&self, scripted: u32) -> u32 {
        scripted.wrapping_sub(self.scripted_offset())
    }

    fn option_to_live(&self, option: &TcpOption) -> TcpOption {
        match option {
            TcpOption::Sack(edges) => TcpOption::Sack(
                edges
                    .iter()
                    .map(|&(left, right)| {
                        (self.sequence_to_live(left), self.sequence_to_live(right))
                    })
                    .collect(),
            ),
            &TcpOption::Timestamps { value, echo } => {
                TcpOption::Timestamps { value, echo: self.echo_to_live(echo) }
            }
            other => other.clone(),
        }
    }

    /// A message of the path with what it quotes of ours in live numbers.
    pub(crate) fn message_to_live(&self, message: &Icmp) -> Icmp {
        let quoted = message.quoted.map(|(first, bytes)| (self.sequence_to_live(first), bytes));
        Icmp { quoted, ..message.clone() }
    }
}

fn timestamp(packet: &Packet) -> Option<u32> {
    packet.options.iter().flatten().find_map(|option| match option {
        TcpOption::Timestamps { value, .. } => Some(*value),
        _ => None,
    })
}
