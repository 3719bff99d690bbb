//! Cost of a packet that is matched between two taps: departures, arrivals and the acknowledgments
//! that come back, of many connections at once, without reading or decoding.
//!
//!     cargo run --release -p fairwind-analyse --example passage_speed [CONNECTIONS]

#![expect(clippy::print_stdout, reason = "a program for people")]
#![expect(clippy::disallowed_methods, reason = "it measures time")]

use fairwind_analyse::one_way::{
    ClockModel, FlowName, FlowPairDescription, OneWayFlows, OneWaySettings, Tap,
};
use fairwind_capture::Packet;
use fairwind_measure::Direction;
use fairwind_units::{Instant, Span};
use fairwind_wire::{Flags, Segment, SequenceNumber, Timestamps};

const PACKETS: u32 = 2_000_000;

/// One packet in this many is lost, and sent again later.
const LOST: u32 = 100;

fn data(number: u32, stamp: u32) -> Packet {
    let timestamps = Some(Timestamps { value: stamp, echo: 1 });
    let mut segment = Segment {
        sequence: SequenceNumber::new(number.wrapping_mul(1_000)),
        payload_bytes: 1_000,
        flags: Flags::ACK,
        ..Segment::default()
    };
    segment.options.timestamps = timestamps;
    Packet { wire_bytes: 1_052, segment, ..Packet::EMPTY }
}

fn acknowledgment(number: u32, stamp: u32) -> Packet {
    let mut packet = data(0, stamp);
    packet.wire_bytes = 52;
    packet.segment.payload_bytes = 0;
    packet.segment.acknowledgment = SequenceNumber::new(number.wrapping_mul(1_000));
    packet
}

/// Everything of `connections` connections, interleaved; gives how long it took.
fn run(clock: ClockModel, connections: u32) -> std::time::Duration {
    let mut passages = OneWayFlows::new(OneWaySettings {
        clock,
        intervals: vec![Span::from_secs(1)],
        ..OneWaySettings::default()
    });
    let group = passages.add_group("all");
    let description = FlowPairDescription {
        group,
        data_groups: [group; 2],
        connection: 0,
        opener: Tap::Sender,
        counted_from: Instant::ZERO,
    };
    let open: Vec<_> = (0..connections).map(|_| passages.open(description.clone())).collect();
    let begin = std::time::Instant::now();
    let flight = 20;
    for round in 0..PACKETS / connections {
        let at = Instant::from_nanos(u64::from(round) * 1_000_000);
        for &id in &open {
            passages.on_departure(id, Direction::Forward, at, &data(round, round));
            let Some(arriving) = round.checked_sub(flight) else { continue };
            let is_lost = arriving % LOST == LOST - 1;
            if is_lost {
                passages.on_departure(id, Direction::Forward, at, &data(arriving, round));
            } else {
                passages.on_arrival(id, Direction::Forward, at, &data(arriving, arriving));
            }
            if arriving % LOST == LOST / 2 && arriving > LOST {
                let again = arriving - LOST / 2 - 1;
                passages.on_arrival(id, Direction::Forward, at, &data(again, again + flight));
            }
            if arriving % 2 == 0 {
                let acknowledgment = acknowledgment(arriving, round);
                passages.on_departure(id, Direction::Reverse, at, &acknowledgment);
                passages.on_arrival(id, Direction::Reverse, at, &acknowledgment);
            }
            while passages.next_lost().is_some() {}
        }
    }
    for (number, &id) in (0..).zip(&open) {
        passages.close(id, FlowName { number, name: "flow" }, None);
    }
    passages.finish();
    while passages.take_rows(1_000).is_some() {}
    begin.elapsed()
}

fn main() {
    let connections = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(100);
    for clock in [ClockModel::Shared, ClockModel::Apart] {
        let mut times: Vec<_> = (0..5).map(|_| run(clock, connections)).collect();
        times.sort();
        let each = times[2].as_secs_f64() * 1e9 / f64::from(PACKETS);
        println!(
            "{clock:?} clocks, {connections} connections: {each:.0} ns per data packet, with its arrival and half an acknowledgment"
        );
    }
}
