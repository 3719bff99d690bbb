//! One connection between two taps, observed packet by packet.

use fairwind_analyse::one_way::{
    Arrival, Departure, FlowName, FlowPairDescription, FlowPairId, LostPacket, OneWayFlows,
    OneWaySettings, Tap,
};
use fairwind_capture::Packet;
use fairwind_measure::{Direction, Table, Tables};
use fairwind_units::Instant;
use fairwind_wire::{Flags, Segment, SequenceNumber, Timestamps};

/// Header bytes of every packet here.
pub const HEADER: u32 = 52;

/// A packet with payload; milliseconds, and the sequence number of its first byte.
pub fn data(sequence: u32, payload_bytes: u32) -> Packet {
    Packet {
        wire_bytes: payload_bytes + HEADER,
        segment: Segment {
            sequence: SequenceNumber::new(sequence),
            payload_bytes,
            flags: Flags::ACK,
            ..Segment::default()
        },
        ..Packet::EMPTY
    }
}

/// A packet without payload.
pub fn bare(flags: Flags, sequence: u32, acknowledgment: u32) -> Packet {
    let mut packet = data(sequence, 0);
    packet.segment.flags = flags;
    packet.segment.acknowledgment = SequenceNumber::new(acknowledgment);
    packet
}

/// The same packet with a time stamp.
pub fn stamped(mut packet: Packet, value: u32) -> Packet {
    packet.segment.options.timestamps = Some(Timestamps { value, echo: 0 });
    packet
}

/// The same packet with an identification.
pub fn numbered(mut packet: Packet, identification: u16) -> Packet {
    packet.identification = Some(identification);
    packet
}

/// `millis` of the clock.
pub const fn ms(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// One connection.
pub struct World {
    pub passages: OneWayFlows,
    pub id: FlowPairId,
}

impl World {
    pub fn new(settings: OneWaySettings) -> Self {
        let mut passages = OneWayFlows::new(settings);
        let group = passages.add_group("all");
        let description = FlowPairDescription {
            group,
            data_groups: [group; 2],
            connection: 7,
            opener: Tap::Sender,
            counted_from: Instant::ZERO,
        };
        let id = passages.open(description);
        Self { passages, id }
    }

    pub fn sent(&mut self, at: u64, packet: &Packet) -> Departure {
        self.passages.on_departure(self.id, Direction::Forward, ms(at), packet)
    }

    pub fn came(&mut self, at: u64, packet: &Packet) -> Arrival {
        self.passages.on_arrival(self.id, Direction::Forward, ms(at), packet)
    }

    /// Sent, and there after 10 ms.
    pub fn passed(&mut self, at: u64, packet: &Packet) {
        self.sent(at, packet);
        self.came(at + 10, packet);
    }

    pub fn sent_back(&mut self, at: u64, packet: &Packet) {
        self.passages.on_departure(self.id, Direction::Reverse, ms(at), packet);
    }

    pub fn came_back(&mut self, at: u64, packet: &Packet) {
        self.passages.on_arrival(self.id, Direction::Reverse, ms(at), packet);
    }

    /// Ends everything, and gives what was lost, and the tables.
    pub fn end(mut self) -> (Vec<LostPacket>, Report) {
        let opening = FlowName { number: 0, name: "there" };
        let answering = FlowName { number: 1, name: "back" };
        self.passages.close(self.id, opening, Some(answering));
        let lost = std::iter::from_fn(|| self.passages.next_lost()).collect();
        self.passages.finish();
        let flows = self.passages.take_rows(100).unwrap();
        assert!(self.passages.take_rows(100).is_none());
        assert!(self.passages.spill_error().is_none());
        (lost, Report { flows, groups: self.passages.group_tables() })
    }
}

/// What came of it.
pub struct Report {
    pub flows: Tables,
    pub groups: Tables,
}

impl Report {
    /// A count of the flow that was sent there.
    pub fn count(&self, column: &str) -> f64 {
        number(self.flows.get("passages").unwrap(), column, 0)
    }

    /// All of these counts.
    pub fn counts<const MANY: usize>(&self, columns: [&str; MANY]) -> [f64; MANY] {
        columns.map(|column| self.count(column))
    }

    /// A delay of the flow that was sent there, in milliseconds.
    pub fn delay(&self, layer: &str, column: &str) -> f64 {
        let table = self.flows.get("delays").unwrap();
        let row = (0..table.rows())
            .find(|&row| table.column("layer").unwrap().text(row) == Some(layer))
            .unwrap();
        (number(table, column, row) * 1e9).round() / 1e6
    }

    /// Transmission, repeat, ranges and bytes of each row of the flow.
    pub fn first_arrivals(&self) -> Vec<(String, f64, f64, f64)> {
        let table = self.flows.get("first_arrivals").unwrap();
        (0..table.rows())
            .filter(|&row| number(table, "flow", row) == 0.0)
            .map(|row| {
                let text = table.column("transmission").unwrap().text(row).unwrap();
                let repeat = table.column("repeat").unwrap().number(row).unwrap_or(0.0);
                let rest = ["ranges", "payload_bytes"].map(|column| number(table, column, row));
                (text.to_owned(), repeat, rest[0], rest[1])
            })
            .collect()
    }
}

pub fn number(table: &Table, column: &str, row: usize) -> f64 {
    let values = table.column(column).unwrap_or_else(|| panic!("there is {column}"));
    values.number(row).unwrap_or_else(|| panic!("{column} has a number in row {row}"))
}

/// That nothing is lost from the books.
pub fn assert_conserved(report: &Report) {
    let [sent, matched, lost, unjudged] = report.counts([
        "payload_bytes_sent",
        "payload_bytes_matched",
        "payload_bytes_lost",
        "payload_bytes_unjudged",
    ]);
    assert_eq!(sent, matched + lost + unjudged, "bytes sent");
    let [received, copies, unseen] = report.counts([
        "payload_bytes_received",
        "payload_bytes_duplicated",
        "payload_bytes_departure_unseen",
    ]);
    assert_eq!(received, matched + copies + unseen, "bytes received");
}
