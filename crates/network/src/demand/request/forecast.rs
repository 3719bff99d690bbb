//! Asking for what will be needed once the plan is in force.
//!
//! A terminal sees both sides of a connection's clock: what it sends now is acknowledged one round trip later, and what
//! the acknowledgments bring arrives in its queue. While slow start doubles (RFC 5681 §3.1), twice as much comes as left
//! a round trip before; afterwards as much. So the queue of a time to come follows from what has left already, from the
//! slots that are on their way, and from how many times over departures came back of late. A rate that was measured,
//! by contrast, is old by the time the slots come: allocation takes longer than the round trip in which it doubles.

use fairwind_qdisc::{Carrier, Terminal};
use fairwind_units::{BitRate, Span};
use std::collections::VecDeque;

/// Slow start doubles; more than that is a burst, which does not go on.
const MOST_GROWTH: u64 = 2;

/// What came and left in one frame, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Bin {
    arrived: u64,
    departed: u64,
}

/// How packets followed each other, frame by frame.
pub(super) struct Forecast {
    slot_bytes: u64,
    slot_bits_per_second: u64,
    /// A round trip, from a request to its slots, and from one request to the next, in frames.
    round_trip: usize,
    delay: usize,
    period: usize,
    most_slots: u64,
    guaranteed: u64,
    /// The frames before this one, the last one last, and this one.
    past: VecDeque<Bin>,
    now: Bin,
    slots: u64,
    /// Slots asked for, by how many frames from now they are expected.
    expected: VecDeque<(usize, u64)>,
}

impl Forecast {
    pub(super) fn new(carrier: &Carrier, terminal: &Terminal, round_trip: Span) -> Self {
        let frame = carrier.frame.as_nanos().max(1);
        let frames = |span: Span| {
            usize::try_from((span.as_nanos() + frame / 2) / frame).unwrap_or(usize::MAX).max(1)
        };
        let delay = carrier.signalling_delay * 2 + carrier.allocation_period / 2;
        let round_trip = frames(round_trip).min(LONGEST);
        Self {
            slot_bytes: u64::from(carrier.slot_bytes()),
            slot_bits_per_second: carrier.slot_rate.as_bits_per_second(),
            round_trip,
            delay: frames(delay).min(LONGEST),
            period: frames(carrier.request_period).min(LONGEST),
            most_slots: u64::from(terminal.max_slots(carrier.slots)),
            guaranteed: u64::from(terminal.guaranteed_slots),
            past: VecDeque::from(vec![Bin::default(); 2 * round_trip]),
            now: Bin::default(),
            slots: u64::from(terminal.guaranteed_slots),
            expected: VecDeque::new(),
        }
    }

    pub(super) fn arrive(&mut self, bytes: u64) {
        self.now.arrived += bytes;
    }

    pub(super) fn depart(&mut self, bytes: u64) {
        self.now.departed += bytes;
    }

    /// A frame begins, with so many slots for this terminal.
    pub(super) fn begin_frame(&mut self, slots: u32) {
        self.past.pop_front();
        self.past.push_back(std::mem::take(&mut self.now));
        self.slots = u64::from(slots);
        for (frames, _) in &mut self.expected {
            *frames = frames.saturating_sub(1);
        }
        while self.expected.front().is_some_and(|(frames, _)| *frames == 0) {
            self.expected.pop_front();
        }
    }

    /// The rate that empties the queue within a request period of the time when the slots come.
    pub(super) fn rate(&mut self, backlog: u64) -> BitRate {
        let mut departed: Vec<u64> =
            self.past.iter().skip(self.round_trip).map(|bin| bin.departed).collect();
        let growth = self.growth();
        let mut backlog = backlog;
        let mut needed = 0;
        for frame in 1..=self.delay + self.period {
            let before = departed[frame - 1];
            let arriving = before * growth.0 / growth.1;
            backlog += arriving;
            let leaving = if frame <= self.delay {
                backlog.min(self.slots_in(frame) * self.slot_bytes)
            } else {
                backlog
            };
            if frame > self.delay {
                needed += leaving;
            }
            backlog -= leaving;
            departed.push(leaving);
        }
        let frames = u64::try_from(self.period).unwrap_or(u64::MAX);
        let slots = needed.div_ceil(self.slot_bytes * frames);
        let slots = slots.clamp(self.guaranteed, self.most_slots.max(self.guaranteed));
        self.expected.push_back((self.delay, slots));
        // What is its own needs no asking.
        let asked = if slots == self.guaranteed { 0 } else { slots };
        BitRate::from_bits_per_second(asked * self.slot_bits_per_second)
    }

    /// How many times over what left came back in the last round trip, between one and two: above and below a line.
    fn growth(&self) -> (u64, u64) {
        let (before, last) =
            (self.past.iter().take(self.round_trip), self.past.iter().skip(self.round_trip));
        let departed: u64 = before.map(|bin| bin.departed).sum();
        let arrived: u64 = last.map(|bin| bin.arrived).sum();
        if departed == 0 {
            return (MOST_GROWTH, 1);
        }
        (arrived.clamp(departed, departed * MOST_GROWTH), departed)
    }

    /// Slots that are expected in a frame to come.
    fn slots_in(&self, frame: usize) -> u64 {
        let expected = self.expected.iter().rev().find(|(frames, _)| *frames <= frame);
        expected.map_or(self.slots, |(_, slots)| *slots)
    }

    pub(super) fn is_at_rest(&self) -> bool {
        let nothing = Bin::default();
        self.now == nothing
            && self.past.iter().all(|bin| *bin == nothing)
            && self.expected.iter().all(|(_, slots)| *slots == self.guaranteed)
    }
}

/// Frames that are looked back or ahead at most.
const LONGEST: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use fairwind_qdisc::RequestPolicy;

    /// Slots of 1000 bytes in frames of 80 ms; a round trip of three frames, four from a request to its slots.
    fn forecast() -> Forecast {
        let carrier = Carrier {
            frame: Span::from_millis(80),
            slots: 100,
            slot_rate: BitRate::from_bits_per_second(100_000),
            request_period: Span::from_millis(80),
            allocation_period: Span::from_millis(80),
            signalling_delay: Span::from_millis(140),
            request_lifetime: Span::from_millis(160),
            ..Carrier::default()
        };
        let round_trip = Span::from_millis(240);
        let requests = RequestPolicy::Forecast { round_trip };
        let terminal = Terminal { guaranteed_slots: 1, most_slots: 0, takes_free: false, requests };
        Forecast::new(&carrier, &terminal, round_trip)
    }

    #[test]
    fn what_left_comes_back_twice_over_in_slow_start_and_once_after_it() {
        // Two in each of three frames, then four in each, the queue empty: slow start with slots enough.
        let rate = |first: u64, then: u64| {
            let mut forecast = forecast();
            for bytes in [first, first, first, then, then, then] {
                forecast.arrive(bytes);
                forecast.depart(bytes);
                forecast.begin_frame(20);
            }
            forecast.rate(0).as_bits_per_second()
        };
        // In frames 1 to 3 arrive 8000 each, in frame 5, when the slots are there, 16 000.
        assert_eq!(rate(2_000, 4_000), 1_600_000);
        assert_eq!(rate(4_000, 4_000), 400_000);
        // Less is not foreseen to become less.
        assert_eq!(rate(4_000, 3_000), 300_000);
    }

    #[test]
    fn what_waits_is_asked_for_unless_it_leaves_in_slots_that_are_coming() {
        let mut first = forecast();
        // 9000 wait; one slot a frame takes 4000 of them by the time that slots come. What left in the first two frames
        // comes back doubled in the fourth and the fifth: 2000 each.
        assert_eq!(first.rate(9_000).as_bits_per_second(), 900_000);
        // Asked again at once: the nine slots are on their way, and take all that waits in frame 4.
        assert_eq!(first.rate(9_000).as_bits_per_second(), 200_000);
    }
}
