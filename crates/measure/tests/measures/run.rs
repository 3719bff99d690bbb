//! A small language to make observations by hand: one second-scale run with instants in milliseconds.

use fairwind_measure::{
    Collector, Direction, FlowDescription, FlowId, Observation, ObservationPoints, Settings, Tables,
};
use fairwind_units::Instant;
use fairwind_wire::{Flags, Segment, SequenceNumber};

/// Headers of every packet made here.
pub(crate) const HEADER_BYTES: u32 = 40;

/// The initial sequence number of every flow made here, close to the end of the numbers.
pub(crate) const INITIAL: u32 = u32::MAX - 5_000;

/// Settings for flows in groups: one letter a flow, a group for each letter, `"aab"`.
pub(crate) fn settings(flows: &str) -> Settings {
    let mut groups: Vec<String> = Vec::new();
    let mut described = Vec::new();
    for (index, letter) in flows.chars().enumerate() {
        let name = letter.to_string();
        let group = groups.iter().position(|known| *known == name).unwrap_or_else(|| {
            groups.push(name.clone());
            groups.len() - 1
        });
        described.push(FlowDescription {
            group: u32::try_from(group).unwrap(),
            name: format!("{name}-{index}"),
            start: Instant::ZERO,
            answers: None,
            seen_at: ObservationPoints::EVERYWHERE,
        });
    }
    Settings {
        groups,
        flows: described,
        queues: vec!["bottleneck".to_owned()],
        ..Settings::default()
    }
}

pub(crate) struct Run {
    pub(crate) collector: Collector,
}

impl Run {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self { collector: Collector::new(settings) }
    }

    pub(crate) fn at(&mut self, millis: u64, observation: Observation<'_>) -> &mut Self {
        self.collector.observe(Instant::from_millis(millis), observation);
        self
    }

    pub(crate) fn syn(&mut self, millis: u64, flow: u32) -> &mut Self {
        let sequence = SequenceNumber::new(INITIAL);
        let segment = Segment { flags: Flags::SYN, sequence, ..Segment::default() };
        self.sent(millis, flow, &segment)
    }

    /// `length` payload bytes from the stream's offset `offset` leave the sender.
    pub(crate) fn send(&mut self, millis: u64, flow: u32, offset: u64, length: u32) -> &mut Self {
        self.sent(millis, flow, &data(offset, length))
    }

    pub(crate) fn sent(&mut self, millis: u64, flow: u32, segment: &Segment) -> &mut Self {
        let wire_bytes = segment.payload_bytes + HEADER_BYTES;
        let (flow, direction) = (FlowId(flow), Direction::Forward);
        self.at(millis, Observation::Sent { flow, direction, segment, wire_bytes })
    }

    /// They reach the receiver.
    pub(crate) fn receive(
        &mut self,
        millis: u64,
        flow: u32,
        offset: u64,
        length: u32,
    ) -> &mut Self {
        let segment = &data(offset, length);
        let wire_bytes = length + HEADER_BYTES;
        let (flow, direction) = (FlowId(flow), Direction::Forward);
        self.at(millis, Observation::Received { flow, direction, segment, wire_bytes })
    }

    /// An acknowledgment of everything before `offset` reaches the sender.
    pub(crate) fn acknowledge(&mut self, millis: u64, flow: u32, offset: u64) -> &mut Self {
        let segment = &acknowledgment(offset);
        let (flow, direction) = (FlowId(flow), Direction::Reverse);
        self.at(
            millis,
            Observation::Received { flow, direction, segment, wire_bytes: HEADER_BYTES },
        )
    }

    pub(crate) fn write(&mut self, millis: u64, flow: u32, end_offset: u64) -> &mut Self {
        self.at(millis, Observation::Written { flow: FlowId(flow), end_offset })
    }

    pub(crate) fn read(&mut self, millis: u64, flow: u32, end_offset: u64) -> &mut Self {
        self.at(millis, Observation::Read { flow: FlowId(flow), end_offset })
    }

    pub(crate) fn finish(self, millis: u64) -> Tables {
        self.collector.finish(Instant::from_millis(millis))
    }
}

pub(crate) fn data(offset: u64, length: u32) -> Segment {
    Segment {
        sequence: sequence(offset),
        flags: Flags::ACK,
        payload_bytes: length,
        ..Segment::default()
    }
}

pub(crate) fn acknowledgment(offset: u64) -> Segment {
    Segment { acknowledgment: sequence(offset), flags: Flags::ACK, ..Segment::default() }
}

/// Offset 0 is the byte behind the SYN.
fn sequence(offset: u64) -> SequenceNumber {
    let low_bits = u32::try_from(offset & 0xffff_ffff).unwrap();
    SequenceNumber::new(INITIAL) + 1 + low_bits
}

/// The number in one cell.
pub(crate) fn number(tables: &Tables, table: &str, column: &str, row: usize) -> Option<f64> {
    let table = tables.get(table).expect("the table exists");
    table.column(column).unwrap_or_else(|| panic!("no column {column}")).number(row)
}

/// The number in one cell, which is there, as a whole one.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be whole")]
pub(crate) fn count(tables: &Tables, table: &str, column: &str, row: usize) -> u64 {
    let value = number(tables, table, column, row).expect("the cell has a number");
    assert!(value >= 0.0 && value.fract() == 0.0, "{value} is a whole number");
    value as u64
}

/// Whether a cell has this number, but for the last bits of a division.
#[track_caller]
pub(crate) fn assert_number(tables: &Tables, table: &str, column: &str, row: usize, expected: f64) {
    let value = number(tables, table, column, row).expect("the cell has a number");
    let tolerance = expected.abs() * 1e-12;
    assert!((value - expected).abs() <= tolerance, "{column} is {value}, not {expected}");
}
