//! Many connections.

use crate::dialogue::{Dialogue, table};
use fairwind_analyse::{Analysis, Next, Outcome, PacketSource, Progress, Settings};
use fairwind_capture::Packet;
use fairwind_units::Span;
use fairwind_wire::Flags;

/// One whole connection after the other, a millisecond apart, each with ports and addresses of its own.
struct Short {
    packets: Vec<Packet>,
    place: usize,
    connection: u32,
    most: u32,
}

impl Short {
    fn new(most: u32) -> Self {
        let mut dialogue = Dialogue::new();
        dialogue
            .set_up(0)
            .client(30_000, Flags::ACK, (1, 1, 100))
            .server(50_000, Flags::ACK | Flags::FIN, (1, 101, 0))
            .client(60_000, Flags::ACK | Flags::FIN, (101, 2, 0))
            .server(80_000, Flags::ACK, (2, 102, 0));
        Self { packets: dialogue.packets, place: 0, connection: 0, most }
    }
}

impl PacketSource for Short {
    fn next(&mut self, packet: &mut Packet) -> Next {
        if self.place == self.packets.len() {
            (self.place, self.connection) = (0, self.connection + 1);
        }
        if self.connection == self.most {
            return Next::End;
        }
        *packet = self.packets[self.place];
        // Whole connections follow one another, so that only the linger lets many be open.
        packet.at += Span::from_millis(100) * u64::from(self.connection);
        let port = 10_000 + u16::try_from(self.connection % 50_000).expect("a port");
        if packet.segment.destination_port == 80 {
            packet.segment.source_port = port;
        } else {
            packet.segment.destination_port = port;
        }
        self.place += 1;
        Next::Packet
    }
}

fn analysed(connections: u32, most_rows: usize) -> (Outcome, usize) {
    let mut analysis =
        Analysis::of_one(Short::new(connections), Settings::default()).expect("they hold");
    let mut rows = 0;
    while analysis.advance(1000) != Progress::Done {
        if let Some(tables) = analysis.take_rows(most_rows) {
            rows += tables.get("connections").expect("the connections").rows();
        }
    }
    let outcome = analysis.finish();
    let rest = table(&outcome, "connections").rows();
    (outcome, rows + rest)
}

#[test]
fn a_million_connections_need_the_memory_of_those_that_are_open() {
    let connections = 1_000_000;
    let (outcome, rows) = analysed(connections, 1000);
    assert_eq!(rows, 1_000_000);
    assert_eq!(outcome.facts.connections, u64::from(connections));
    // Two seconds of linger at ten connections a second, and the one that is open.
    assert!(outcome.facts.most_open <= 22, "{} were open", outcome.facts.most_open);
    assert!(table(&outcome, "connections").rows() < 1100);
}

#[test]
fn the_same_packets_give_the_same_tables() {
    let (first, _) = analysed(500, 100_000);
    let (second, _) = analysed(500, 100_000);
    assert_eq!(first.tables, second.tables);
}
