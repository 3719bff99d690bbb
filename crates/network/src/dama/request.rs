//! Request policies of terminals: how much capacity is asked for, and when.
//!
//! The forecast policy sees both sides of a connection's clock: what a terminal sends now is acknowledged one round trip
//! later, and what the acknowledgments release arrives in its queue. In slow start (RFC 5681 §3.1) twice as much arrives as
//! left a round trip before; afterwards as much. So the future queue follows from past departures, from the slots
//! under way, and from the recent ratio of arrivals to departures. A measured rate is old by the time the slots come:
//! allocation takes longer than the round trip in which the rate doubles.

use crate::observer::{CapacityRequest, VolumeRequest};
use fairwind_qdisc::{Carrier, RequestPolicy, Terminal};
use fairwind_units::{BitRate, Instant, Ratio, Span};
use std::collections::VecDeque;

/// What a terminal knows when it makes a request.
pub(super) struct RequestContext {
    pub(super) at: Instant,
    /// Bytes that arrived since the last request.
    pub(super) arrived: u64,
    /// Bytes that wait or are being sent.
    pub(super) backlog: u64,
}

/// A terminal's request policy and its state.
pub(super) struct Policy {
    period: Span,
    slot_bytes: u64,
    state: PolicyState,
}

enum PolicyState {
    Never,
    Rate { multiplier: Ratio },
    RateAtStart(StartDetector),
    Volume(AskedVolume),
    AbsoluteVolume,
    RateAndVolume(RateAndVolume),
    Forecast(Box<Forecast>),
}

/// What a terminal asked for that has not come yet, where it asks by rate and by volume at once.
struct RateAndVolume {
    multiplier: Ratio,
    /// How long a request by rate is counted on: two signals, a plan and a period. The wait for a frame may be longer.
    served_within: Span,
    /// Bytes that arrived and were asked for by rate, and until when they are expected to leave by it.
    by_rate: VecDeque<(Instant, u64)>,
    by_volume: AskedVolume,
}

/// Volume that was asked for and has not been assigned.
#[derive(Default)]
struct AskedVolume {
    bytes: u64,
}

/// Detects the start of a connection from the arrivals at the queue.
struct StartDetector {
    multiplier: Ratio,
    lasts: Span,
    idle: Span,
    began: Option<Instant>,
    last_arrival: Option<Instant>,
}

impl Policy {
    pub(super) fn new(carrier: &Carrier, terminal: &Terminal) -> Self {
        let state = match terminal.requests {
            RequestPolicy::None => PolicyState::Never,
            RequestPolicy::Rbdc { multiplier } => PolicyState::Rate { multiplier },
            RequestPolicy::RbdcStart { multiplier, lasts, idle } => {
                PolicyState::RateAtStart(StartDetector {
                    multiplier,
                    lasts,
                    idle,
                    began: None,
                    last_arrival: None,
                })
            }
            RequestPolicy::Vbdc => PolicyState::Volume(AskedVolume::default()),
            RequestPolicy::Avbdc => PolicyState::AbsoluteVolume,
            RequestPolicy::RbdcVbdc { multiplier } => {
                PolicyState::RateAndVolume(RateAndVolume::new(carrier, multiplier))
            }
            RequestPolicy::Forecast { round_trip } => {
                PolicyState::Forecast(Box::new(Forecast::new(carrier, terminal, round_trip)))
            }
        };
        Self { period: carrier.request_period, slot_bytes: u64::from(carrier.slot_bytes()), state }
    }

    pub(super) fn arrive(&mut self, at: Instant, bytes: u64) {
        match &mut self.state {
            PolicyState::RateAtStart(start) => start.arrive(at),
            PolicyState::Forecast(forecast) => forecast.arrive(bytes),
            _ => {}
        }
    }

    pub(super) fn depart(&mut self, bytes: u64) {
        if let PolicyState::Forecast(forecast) = &mut self.state {
            forecast.depart(bytes);
        }
    }

    /// A frame begins with `slots` slots, some of them for requested volume.
    pub(super) fn begin_frame(&mut self, slots: u32, by_volume: u32) {
        match &mut self.state {
            PolicyState::Volume(asked)
            | PolicyState::RateAndVolume(RateAndVolume { by_volume: asked, .. }) => {
                asked.assign(u64::from(by_volume) * self.slot_bytes);
            }
            PolicyState::Forecast(forecast) => forecast.begin_frame(slots),
            _ => {}
        }
    }

    pub(super) fn ask(&mut self, view: &RequestContext) -> CapacityRequest {
        let volume = |bytes, replaces| CapacityRequest {
            rate: None,
            volume: Some(VolumeRequest { bytes, replaces })
                .filter(|asked| asked.bytes > 0 || replaces),
        };
        match &mut self.state {
            PolicyState::Never => CapacityRequest::default(),
            PolicyState::Rate { multiplier } => measured(view.arrived, *multiplier, self.period),
            PolicyState::RateAtStart(start) => {
                measured(view.arrived, start.multiplier_at(view.at), self.period)
            }
            PolicyState::Volume(asked) => volume(asked.ask_for(view.backlog), false),
            PolicyState::AbsoluteVolume => volume(view.backlog, true),
            PolicyState::RateAndVolume(asked) => {
                let rate = measured(view.arrived, asked.multiplier, self.period).rate;
                CapacityRequest { rate, ..volume(asked.uncovered(view), false) }
            }
            PolicyState::Forecast(forecast) => {
                CapacityRequest { rate: Some(forecast.rate(view.backlog)), volume: None }
            }
        }
    }

    pub(super) fn is_at_rest(&self) -> bool {
        match &self.state {
            PolicyState::Volume(asked) => asked.bytes == 0,
            PolicyState::RateAndVolume(asked) => {
                asked.by_volume.bytes == 0 && asked.by_rate.is_empty()
            }
            PolicyState::Forecast(forecast) => forecast.is_at_rest(),
            _ => true,
        }
    }
}

/// A request for the rate at which `bytes` arrived within `period`, multiplied.
fn measured(bytes: u64, multiplier: Ratio, period: Span) -> CapacityRequest {
    let nanobits =
        u128::from(bytes) * 8_000_000_000 * u128::from(multiplier.as_parts_per_billion());
    let rate = nanobits / (u128::from(period.as_nanos()).max(1) * 1_000_000_000);
    let rate = BitRate::from_bits_per_second(u64::try_from(rate).unwrap_or(u64::MAX));
    CapacityRequest { rate: Some(rate), volume: None }
}

impl RateAndVolume {
    fn new(carrier: &Carrier, multiplier: Ratio) -> Self {
        let delay = carrier.signalling_delay * 2 + carrier.allocation_period;
        let served_within = delay + carrier.request_period;
        Self {
            multiplier,
            served_within,
            by_rate: VecDeque::new(),
            by_volume: AskedVolume::default(),
        }
    }

    /// The bytes that wait and are asked for neither by rate nor by an earlier request of volume. They are asked for now.
    ///
    /// A rate that the master could not give is no longer counted on once its time is over.
    fn uncovered(&mut self, view: &RequestContext) -> u64 {
        while self.by_rate.front().is_some_and(|(until, _)| *until <= view.at) {
            self.by_rate.pop_front();
        }
        if view.arrived > 0 {
            // A multiplied rate carries no more than what arrived.
            let carried = self.multiplier.of(view.arrived).min(view.arrived);
            self.by_rate.push_back((view.at + self.served_within, carried));
        }
        let by_rate: u64 = self.by_rate.iter().map(|(_, bytes)| bytes).sum();
        self.by_volume.ask_for(view.backlog.saturating_sub(by_rate))
    }
}

impl AskedVolume {
    /// Asks for what of `bytes` was not asked for yet, and returns how much that is.
    fn ask_for(&mut self, bytes: u64) -> u64 {
        let new = bytes.saturating_sub(self.bytes);
        self.bytes += new;
        new
    }

    fn assign(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}

impl StartDetector {
    fn arrive(&mut self, at: Instant) {
        let is_beginning =
            self.last_arrival.is_none_or(|last| at.saturating_since(last) > self.idle);
        if is_beginning {
            self.began = Some(at);
        }
        self.last_arrival = Some(at);
    }

    fn multiplier_at(&self, at: Instant) -> Ratio {
        let starts = self.began.is_some_and(|began| at.saturating_since(began) <= self.lasts);
        if starts { self.multiplier } else { Ratio::ONE }
    }
}

/// Slow start doubles; faster growth is a burst, which does not last.
const MOST_GROWTH: u64 = 2;

/// Arrivals and departures of one frame, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct FrameVolume {
    arrived: u64,
    departed: u64,
}

/// The forecast of a terminal's queue from its arrivals and departures per frame.
pub(super) struct Forecast {
    slot_bytes: u64,
    slot_bits_per_second: u64,
    /// A round trip, from a request to its slots, and from one request to the next, in frames.
    round_trip: usize,
    delay: usize,
    period: usize,
    most_slots: u64,
    guaranteed: u64,
    /// Earlier frames, the last one at the back, and the current one.
    past: VecDeque<FrameVolume>,
    now: FrameVolume,
    slots: u64,
    /// Requested slots, by the number of frames until they are expected.
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
            past: VecDeque::from(vec![FrameVolume::default(); 2 * round_trip]),
            now: FrameVolume::default(),
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
        // Guaranteed slots need no request.
        let asked = if slots == self.guaranteed { 0 } else { slots };
        BitRate::from_bits_per_second(asked * self.slot_bits_per_second)
    }

    /// Ratio of the arrivals of the last round trip to the departures of the one before, between one and two, as a
    /// fraction.
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

    /// Slots expected in a future frame.
    fn slots_in(&self, frame: usize) -> u64 {
        let expected = self.expected.iter().rev().find(|(frames, _)| *frames <= frame);
        expected.map_or(self.slots, |(_, slots)| *slots)
    }

    pub(super) fn is_at_rest(&self) -> bool {
        let nothing = FrameVolume::default();
        self.now == nothing
            && self.past.iter().all(|bin| *bin == nothing)
            && self.expected.iter().all(|(_, slots)| *slots == self.guaranteed)
    }
}

/// Greatest number of frames to look back or ahead.
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
    fn forecast_doubles_in_slow_start_only() {
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
    fn backlog_is_requested_minus_assigned_slots() {
        let mut first = forecast();
        // 9000 wait; one slot a frame takes 4000 of them by the time that slots come. What left in the first two frames
        // comes back doubled in the fourth and the fifth: 2000 each.
        assert_eq!(first.rate(9_000).as_bits_per_second(), 900_000);
        // Asked again at once: the nine slots are on their way, and take all that waits in frame 4.
        assert_eq!(first.rate(9_000).as_bits_per_second(), 200_000);
    }
}
