//! Cost of a flight with hostile pairs of captures.

use super::*;
use crate::one_way::transmission::{FOR_DEPARTURE, FOR_SEARCH};

/// One direction, and the work that it did.
#[derive(Default)]
struct Direction {
    flight: Flight,
    pieces: Vec<MatchedPiece>,
    departures: u64,
    arrivals: u64,
}

impl Direction {
    fn on_departure(&mut self, start: u64, end: u64) {
        let at = Instant::from_nanos(self.departures * 1_000);
        self.departures += 1;
        let (mark, wire_bytes, ticket) = (TransmissionMark::default(), 40, self.departures);
        self.flight.on_departure(Departing { at, start, end, mark, wire_bytes, ticket });
    }

    /// Gives how many of the bytes were found.
    fn on_arrival(&mut self, start: u64, end: u64) -> u64 {
        self.arrivals += 1;
        let at = Instant::from_secs(1);
        match self.flight.on_arrival(
            at,
            (start, end),
            TransmissionMark::default(),
            &mut self.pieces,
        ) {
            ArrivalMatch::Oldest(_) => end - start,
            ArrivalMatch::Pieces => self.pieces.iter().map(|piece| piece.end - piece.start).sum(),
            ArrivalMatch::Early | ArrivalMatch::Nothing => 0,
        }
    }
}

#[test]
fn every_gap_is_found() {
    let mut lost_packets = Direction::default();
    lost_packets.on_departure(0, 60_000);
    // Every other byte comes alone, so that there are 30 000 gaps; then all others at once.
    let found: u64 =
        (0..30_000).map(|pair| lost_packets.on_arrival(2 * pair + 1, 2 * pair + 2)).sum();
    assert_eq!(found, 30_000);
    assert_eq!(lost_packets.on_arrival(0, 60_000), 30_000);
    assert_eq!(lost_packets.pieces.len(), 30_000);
    assert!(lost_packets.pieces.last().is_some_and(|piece| piece.is_whole));
    assert_eq!(lost_packets.flight.len(), 0);
    // A few steps for each gap, and not as many as there are gaps.
    assert!(
        lost_packets.flight.budget.spent < 6 * 30_000 * 16,
        "{} steps",
        lost_packets.flight.budget.spent
    );
}

#[test]
fn fragmented_retransmissions_cost_amortised_time() {
    let mut lost_packets = Direction::default();
    lost_packets.on_departure(0, 60_000);
    for _ in 0..5_000 {
        lost_packets.on_departure(0, 60_000);
    }
    for round in 0..200_u64 {
        // Each in other bits than the one before, so that they are put together of all that are there.
        for bit in 0..50 {
            let start = bit * 1_000 + round * 7 % 900;
            lost_packets.on_arrival(start, start + 3 + round % 5);
        }
        lost_packets.on_arrival(0, 59_999 - round);
        lost_packets.on_departure(round, 60_000);
    }
    let paid = lost_packets.departures * u64::from(FOR_DEPARTURE)
        + lost_packets.arrivals * u64::from(FOR_SEARCH);
    let spent = lost_packets.flight.budget.spent;
    // What a search has begun to look at it looks at, overdrawn by 16 first transmissions at most.
    assert!(spent <= paid + lost_packets.arrivals * 16, "{spent} steps of {paid}");
    // Were all repetitions looked at for each bit, it would be twice that.
    assert!(2 * paid < lost_packets.arrivals * 2 * 4_096, "the test asks for more than is paid");
}
