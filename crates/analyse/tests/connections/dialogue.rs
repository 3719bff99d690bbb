//! Packets of hand-made dialogues.

use fairwind_analyse::{Analysis, NextPacket, Outcome, PacketSource, Settings};
use fairwind_capture::Packet;
use fairwind_measure::{Table, Values};
use fairwind_units::{Instant, Span};
use fairwind_wire::bytes::Addresses;
use fairwind_wire::{Flags, Segment, SequenceNumber};
use std::net::Ipv4Addr;

pub(crate) const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
pub(crate) const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
/// First sequence numbers, unless another one is asked for.
pub(crate) const CLIENT_FIRST: u32 = 1000;
pub(crate) const SERVER_FIRST: u32 = 9000;
/// Bytes of IP and TCP headers.
pub(crate) const HEADERS: u32 = 40;

/// Packets between a client and a server in the order in which they pass the tap.
#[derive(Debug, Clone, Default)]
pub(crate) struct Dialogue {
    pub(crate) packets: Vec<Packet>,
    pub(crate) client_port: u16,
    pub(crate) server_port: u16,
}

impl Dialogue {
    pub(crate) fn new() -> Self {
        Self { packets: Vec::new(), client_port: 50_000, server_port: 80 }
    }

    /// Any packet; numbers count from the side's first one.
    pub(crate) fn any(
        &mut self,
        micros: u64,
        from_client: bool,
        flags: Flags,
        (sequence, acknowledgment, payload_bytes): (u32, u32, u32),
    ) -> &mut Self {
        let (ours, theirs, addresses, ports) = if from_client {
            let addresses = Addresses::V4 { source: CLIENT, destination: SERVER };
            (CLIENT_FIRST, SERVER_FIRST, addresses, (self.client_port, self.server_port))
        } else {
            let addresses = Addresses::V4 { source: SERVER, destination: CLIENT };
            (SERVER_FIRST, CLIENT_FIRST, addresses, (self.server_port, self.client_port))
        };
        let acknowledges = flags.contains(Flags::ACK);
        let segment = Segment {
            source_port: ports.0,
            destination_port: ports.1,
            sequence: SequenceNumber::new(ours) + sequence,
            acknowledgment: if acknowledges {
                SequenceNumber::new(theirs) + acknowledgment
            } else {
                SequenceNumber::default()
            },
            flags,
            window: 1000,
            payload_bytes,
            ..Segment::default()
        };
        self.packets.push(Packet {
            at: Instant::from_nanos(micros * 1000),
            number: u64::try_from(self.packets.len()).expect("few packets") + 1,
            wire_bytes: HEADERS + payload_bytes,
            addresses,
            hop_limit: 64,
            segment,
            ..Packet::EMPTY
        });
        self
    }

    pub(crate) fn client(
        &mut self,
        micros: u64,
        flags: Flags,
        numbers: (u32, u32, u32),
    ) -> &mut Self {
        self.any(micros, true, flags, numbers)
    }

    pub(crate) fn server(
        &mut self,
        micros: u64,
        flags: Flags,
        numbers: (u32, u32, u32),
    ) -> &mut Self {
        self.any(micros, false, flags, numbers)
    }

    pub(crate) fn syn(&mut self, micros: u64) -> &mut Self {
        self.client(micros, Flags::SYN, (0, 0, 0))
    }

    pub(crate) fn syn_ack(&mut self, micros: u64) -> &mut Self {
        self.server(micros, Flags::SYN | Flags::ACK, (0, 1, 0))
    }

    pub(crate) fn ack(&mut self, micros: u64) -> &mut Self {
        self.client(micros, Flags::ACK, (1, 1, 0))
    }

    /// The three ways, as seen near the client with 20 ms to the server and back.
    pub(crate) fn set_up(&mut self, micros: u64) -> &mut Self {
        self.syn(micros).syn_ack(micros + 20_000).ack(micros + 20_010)
    }

    pub(crate) fn analysed(&self) -> Outcome {
        self.analysed_by(Settings::default())
    }

    pub(crate) fn analysed_by(&self, settings: Settings) -> Outcome {
        let mut analysis = Analysis::of_one(Row::of(self), settings).expect("the settings hold");
        while analysis.advance(7) != fairwind_analyse::Progress::Done {}
        analysis.finish()
    }
}

/// A dialogue as seen near the client, and what a tap near the server sees of it: packets of the client come
/// `WAY` later, and those of the server left so much earlier.
#[derive(Debug, Clone)]
pub(crate) struct Pair {
    pub(crate) near_client: Dialogue,
    pub(crate) near_server: Dialogue,
}

/// From one tap to the other.
pub(crate) const WAY: Span = Span::from_millis(9);

impl Pair {
    pub(crate) fn of(dialogue: &Dialogue) -> Self {
        let mut near_server = dialogue.clone();
        for packet in &mut near_server.packets {
            let is_of_client = packet.segment.destination_port == dialogue.server_port;
            packet.at = if is_of_client {
                packet.at + WAY
            } else {
                Instant::ZERO + packet.at.since_origin().saturating_sub(WAY)
            };
        }
        near_server.packets.sort_by_key(|packet| packet.at);
        Self { near_client: dialogue.clone(), near_server }
    }

    pub(crate) fn analysed_by(&self, settings: Settings) -> Outcome {
        let (first, second) = (Row::of(&self.near_client), Row::of(&self.near_server));
        let mut analysis = Analysis::of_two(first, second, settings).expect("the settings hold");
        while analysis.advance(7) != fairwind_analyse::Progress::Done {}
        analysis.finish()
    }
}

/// Packets one after the other.
#[derive(Debug)]
pub(crate) struct Row(std::vec::IntoIter<Packet>);

impl Row {
    pub(crate) fn of(dialogue: &Dialogue) -> Self {
        Self(dialogue.packets.clone().into_iter())
    }
}

impl PacketSource for Row {
    fn next(&mut self, packet: &mut Packet) -> NextPacket {
        match self.0.next() {
            Some(next) => {
                *packet = next;
                NextPacket::Packet
            }
            None => NextPacket::End,
        }
    }
}

/// A table of the outcome.
pub(crate) fn table<'a>(outcome: &'a Outcome, name: &str) -> &'a Table {
    outcome.tables.get(name).unwrap_or_else(|| panic!("a table {name}"))
}

/// A cell as text: empty where there is nothing.
pub(crate) fn cell(table: &Table, row: usize, column: &str) -> String {
    let values = table.column(column).unwrap_or_else(|| panic!("a column {column}"));
    match values {
        Values::Text(values) => values[row].to_owned(),
        Values::Bool(values) => values[row].to_string(),
        _ => values.number(row).map(|number| number.to_string()).unwrap_or_default(),
    }
}

/// Some cells of one row.
pub(crate) fn cells<const N: usize>(table: &Table, row: usize, columns: [&str; N]) -> [String; N] {
    columns.map(|column| cell(table, row, column))
}
