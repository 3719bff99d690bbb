//! Many connections.

use crate::dialogue::{Dialogue, cell, cells, table};
use fairwind_analyse::{Analysis, NextPacket, Outcome, PacketSource, Progress, Settings};
use fairwind_capture::Packet;
use fairwind_measure::Tables;
use fairwind_units::Span;
use fairwind_wire::Flags;

/// Consecutive complete connections, a millisecond apart, each with different ports and addresses.
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
    fn next(&mut self, packet: &mut Packet) -> NextPacket {
        if self.place == self.packets.len() {
            (self.place, self.connection) = (0, self.connection + 1);
        }
        if self.connection == self.most {
            return NextPacket::End;
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
        NextPacket::Packet
    }
}

/// What is left at the end, and the rows of connections and flows that there were.
fn analysed(connections: u32, most_rows: usize) -> (Outcome, [usize; 2]) {
    let mut analysis =
        Analysis::of_one(Short::new(connections), Settings::default()).expect("they hold");
    let rows_of = |tables: &Tables| {
        ["connections", "flows"].map(|name| tables.get(name).expect("the table").rows())
    };
    let mut rows = [0; 2];
    while analysis.advance(1000) != Progress::Done {
        if let Some(tables) = analysis.take_rows(most_rows) {
            rows = add(rows, rows_of(&tables));
        }
    }
    let outcome = analysis.finish();
    let rows = add(rows, rows_of(&outcome.tables));
    (outcome, rows)
}

fn add(first: [usize; 2], second: [usize; 2]) -> [usize; 2] {
    [first[0] + second[0], first[1] + second[1]]
}

#[test]
fn memory_depends_on_open_connections_only() {
    let connections = 1_000_000;
    let (outcome, rows) = analysed(connections, 1000);
    assert_eq!(rows, [1_000_000; 2]);
    assert_eq!(outcome.facts.connections, u64::from(connections));
    // Two seconds of linger at ten connections a second, and the one that is open.
    assert!(outcome.facts.most_open <= 22, "{} were open", outcome.facts.most_open);
    assert!(table(&outcome, "connections").rows() < 1100);
    let groups = table(&outcome, "groups");
    assert_eq!(cells(groups, 0, ["flows", "data_segments_sent"]), ["1000000", "1000000"]);
}

#[test]
fn retired_rows_equal_final_rows() {
    let mut analysis = Analysis::of_one(Short::new(300), Settings::default()).expect("they hold");
    let mut names = Vec::new();
    let mut take = |tables: &Tables| {
        let table = tables.get("connections").expect("the connections");
        names.extend((0..table.rows()).map(|row| cell(table, row, "connection")));
    };
    while analysis.advance(100) != Progress::Done {
        if let Some(tables) = analysis.take_rows(10) {
            take(&tables);
        }
    }
    take(&analysis.finish().tables);
    let numbers: Vec<String> = (0..300).map(|number: u32| number.to_string()).collect();
    assert_eq!(names, numbers);
}

#[test]
fn snapshot_shows_open_connections_without_changes() {
    let mut analysis = Analysis::of_one(Short::new(3), Settings::default()).expect("they hold");
    analysis.advance(4);
    let now = analysis.snapshot();
    let connections = now.get("connections").expect("the connections");
    assert_eq!(cells(connections, 0, ["set_up", "opener_payload_bytes"]), ["completed", "100"]);
    let flows = now.get("flows").expect("the flows");
    assert_eq!(cells(flows, 0, ["data_segments_sent"]), ["1"]);
    while analysis.advance(100) != Progress::Done {}
    assert_eq!(analysis.finish().tables, analysed(3, 1000).0.tables);
}

#[test]
fn the_same_packets_give_the_same_tables() {
    let (first, _) = analysed(500, 100_000);
    let (second, _) = analysed(500, 100_000);
    assert_eq!(first.tables, second.tables);
}
