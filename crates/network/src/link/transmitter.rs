//! Transmitters: serialisation at a constant rate, or along a recorded rate trace.
//!
//! Source of the traces: Mahimahi's packet-delivery traces (Netravali et al., 2015) for opportunities.

use fairwind_qdisc::{OPPORTUNITY_BYTES, RateStep, RateTrace};
use fairwind_units::{BitRate, ByteCount, Instant};

/// Serialises packets at a rate, or in no time without one.
///
/// Fractions of a nanosecond are carried from packet to packet while the transmitter is busy, so `n` packets back to
/// back take `n * size * 8 / rate`, rounded down once, not `n` times.
pub(crate) struct Transmitter {
    rate: Option<BitRate>,
    overhead_bytes: u32,
    busy_until: Instant,
    /// In units of `1 / rate` nanoseconds, less than one nanosecond.
    remainder: u64,
    /// Service times of the last large and the last small packet. A division costs as much as the rest of an
    /// acceptance, and sizes repeat; data and acknowledgments often share a link.
    repeated: [ServiceTime; 2],
}

/// Nanoseconds that `bytes` take, with the remainder in units of `1 / rate` nanoseconds.
#[derive(Clone, Copy, Default)]
struct ServiceTime {
    bytes: u64,
    nanos: u64,
    remainder: u64,
}

/// When a packet is being serialised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Service {
    pub(crate) start: Instant,
    pub(crate) end: Instant,
}

/// IP packets from this size on share a remembered service time.
const LARGE_BYTES: u64 = 256;

impl Transmitter {
    pub(crate) fn new(rate: Option<BitRate>, overhead_bytes: u32) -> Self {
        Self {
            rate,
            overhead_bytes,
            busy_until: Instant::ZERO,
            remainder: 0,
            repeated: [ServiceTime::default(); 2],
        }
    }

    /// Serves a packet of `wire_bytes` that is ready at `at`, after all earlier ones.
    #[inline]
    pub(crate) fn transmit(&mut self, at: Instant, wire_bytes: u32) -> Service {
        // With a remainder the true end of the last service lies after `busy_until`, so an arrival
        // at that very nanosecond still found the transmitter busy.
        if at > self.busy_until {
            self.remainder = 0;
        }
        let start = self.busy_until.max(at);
        let end = match self.rate {
            Some(rate) => {
                let bytes = u64::from(wire_bytes) + u64::from(self.overhead_bytes);
                Instant::from_nanos(start.as_nanos().saturating_add(self.nanos(rate, bytes)))
            }
            None => start,
        };
        self.busy_until = end;
        Service { start, end }
    }

    #[inline]
    fn nanos(&mut self, rate: BitRate, bytes: u64) -> u64 {
        let service = self.service_time(rate, bytes);
        let until_whole = rate.as_bits_per_second() - service.remainder;
        if self.remainder >= until_whole {
            self.remainder -= until_whole;
            service.nanos.saturating_add(1)
        } else {
            self.remainder += service.remainder;
            service.nanos
        }
    }

    #[inline]
    fn service_time(&mut self, rate: BitRate, bytes: u64) -> ServiceTime {
        let slot = &mut self.repeated[usize::from(bytes >= LARGE_BYTES)];
        if slot.bytes != bytes {
            let (nanos, remainder) = rate.serialisation(ByteCount::new(bytes), 0);
            *slot = ServiceTime { bytes, nanos, remainder };
        }
        *slot
    }
}

/// A transmitter that follows a trace.
pub(super) struct TraceTransmitter {
    trace: Trace,
    overhead_bytes: u32,
    busy_until: Instant,
}

enum Trace {
    Opportunities(Opportunities),
    Steps(Steps),
}

impl TraceTransmitter {
    pub(super) fn new(trace: &RateTrace, overhead_bytes: u32) -> Self {
        let trace = match trace {
            RateTrace::Opportunities { milliseconds } => {
                Trace::Opportunities(Opportunities::new(milliseconds))
            }
            RateTrace::Steps { steps } => Trace::Steps(Steps::new(steps)),
        };
        Self { trace, overhead_bytes, busy_until: Instant::ZERO }
    }

    /// Serves a packet of `wire_bytes` that is ready at `at`, after all earlier ones.
    pub(super) fn transmit(&mut self, at: Instant, wire_bytes: u32) -> Service {
        let start = self.busy_until.max(at);
        let bytes = u64::from(wire_bytes) + u64::from(self.overhead_bytes);
        let end = match &mut self.trace {
            Trace::Opportunities(opportunities) => opportunities.carry(start, bytes),
            Trace::Steps(steps) => steps.carry(start, bytes),
        };
        self.busy_until = end;
        Service { start, end }
    }
}

/// Instants at which a number of bytes may leave.
struct Opportunities {
    /// Nanoseconds from the beginning of the trace.
    instants: Vec<u64>,
    period: u64,
    /// Completed rounds of the trace, and the position in it.
    rounds: u64,
    next: usize,
    /// Bytes that may still leave at the opportunity at `next`.
    bytes_left: u64,
}

impl Opportunities {
    fn new(milliseconds: &[u64]) -> Self {
        let instants: Vec<u64> =
            milliseconds.iter().map(|instant| instant.saturating_mul(1_000_000)).collect();
        let period = instants.last().copied().unwrap_or(0).max(1);
        Self { instants, period, rounds: 0, next: 0, bytes_left: OPPORTUNITY_BYTES }
    }

    fn instant(&self) -> u64 {
        self.instants[self.next].saturating_add(self.rounds.saturating_mul(self.period))
    }

    fn advance(&mut self) {
        self.bytes_left = OPPORTUNITY_BYTES;
        self.next += 1;
        if self.next == self.instants.len() {
            self.next = 0;
            self.rounds += 1;
        }
    }

    /// Skips opportunities before `start`, whole rounds at once.
    fn seek(&mut self, start: u64) {
        let round = start / self.period;
        if round > self.rounds + 1 {
            (self.rounds, self.next, self.bytes_left) = (round - 1, 0, OPPORTUNITY_BYTES);
        }
        while self.instant() < start {
            self.advance();
        }
    }

    /// When the last of `bytes` leaves, if they are ready at `start`.
    fn carry(&mut self, start: Instant, mut bytes: u64) -> Instant {
        self.seek(start.as_nanos());
        loop {
            let at = self.instant();
            let taken = bytes.min(self.bytes_left);
            bytes -= taken;
            self.bytes_left -= taken;
            if self.bytes_left == 0 {
                self.advance();
            }
            if bytes == 0 || at == u64::MAX {
                return Instant::from_nanos(at);
            }
        }
    }
}

/// A sequence of rates.
struct Steps {
    /// End of each step, in nanoseconds from the beginning of the trace, and rate in bits per second.
    rates: Vec<(u64, u64)>,
    period: u64,
    /// Billionths of a bit that the whole trace carries.
    work: u128,
    /// Unused part of the last nanosecond, in billionths of a bit.
    spare: u128,
    last_end: Instant,
}

impl Steps {
    fn new(steps: &[RateStep]) -> Self {
        let (mut period, mut work, mut rates) = (0_u64, 0, Vec::with_capacity(steps.len()));
        for RateStep { duration, rate } in steps.iter().filter(|step| !step.duration.is_zero()) {
            period = period.saturating_add(duration.as_nanos());
            work += u128::from(duration.as_nanos()) * u128::from(rate.as_bits_per_second());
            rates.push((period, rate.as_bits_per_second()));
        }
        Self { rates, period: period.max(1), work, spare: 0, last_end: Instant::ZERO }
    }

    /// When the last of `bytes` leaves, if the first is sent at `start`.
    fn carry(&mut self, start: Instant, bytes: u64) -> Instant {
        let spare = if start == self.last_end { self.spare } else { 0 };
        let work = u128::from(bytes) * 8_000_000_000;
        self.spare = spare.saturating_sub(work);
        let mut left = work.saturating_sub(spare);
        let mut at = start.as_nanos();
        // Whole rounds of the trace at once, then step by step; never all of them, as a round may end with rate zero.
        let rounds = left.saturating_sub(1) / self.work.max(1);
        let rounds = u64::try_from(rounds).unwrap_or(u64::MAX);
        at = at.saturating_add(rounds.saturating_mul(self.period));
        left -= u128::from(rounds) * self.work;
        while left > 0 && at < u64::MAX {
            let (until, rate) = self.step_at(at);
            let room = u128::from(until - at) * u128::from(rate);
            if room >= left {
                let nanos = left.div_ceil(u128::from(rate));
                self.spare = nanos * u128::from(rate) - left;
                at += u64::try_from(nanos).unwrap_or(0);
                left = 0;
            } else {
                left -= room;
                at = until;
            }
        }
        self.last_end = Instant::from_nanos(at);
        self.last_end
    }

    /// The rate at an instant, and until when it lasts.
    fn step_at(&self, at: u64) -> (u64, u64) {
        let within = at % self.period;
        let place = self.rates.partition_point(|(end, _)| *end <= within);
        self.rates
            .get(place)
            .map_or((u64::MAX, 1), |(end, rate)| (at.saturating_add(end - within), *rate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwind_units::{BitRate, Span};

    fn ends(trace: &RateTrace, packets: &[(u64, u32)]) -> Vec<f64> {
        let mut traced = TraceTransmitter::new(trace, 0);
        let at = |millis| Instant::from_millis(millis);
        let services = packets.iter().map(|(millis, bytes)| traced.transmit(at(*millis), *bytes));
        services.map(|service| service.end.as_secs_f64() * 1000.0).collect()
    }

    #[test]
    fn small_packets_share_opportunities_large_need_several() {
        let trace = RateTrace::Opportunities { milliseconds: vec![2, 5, 10] };
        // 500 B share the one at 2 ms; 2000 B take what is left of it and the one at 5 ms in part.
        assert_eq!(ends(&trace, &[(0, 500), (0, 500), (0, 2000), (0, 100)]), [2.0, 2.0, 5.0, 10.0]);
        // Unused opportunities are lost; after the end the trace repeats: 12, 15, 20, 22.
        assert_eq!(
            ends(&trace, &[(3, 100), (6, 1500), (10, 1500), (11, 4500)]),
            [5.0, 10.0, 12.0, 22.0]
        );
        // A thousand rounds later, without a step for each.
        assert_eq!(ends(&trace, &[(1_000_000_001, 100)]), [1_000_000_002.0]);
    }

    #[test]
    fn rate_steps_apply_within_packets_and_silence() {
        let step = |millis, rate| RateStep {
            duration: Span::from_millis(millis),
            rate: BitRate::from_bits_per_second(rate),
        };
        let trace =
            RateTrace::Steps { steps: vec![step(1, 12_000_000), step(2, 0), step(2, 6_000_000)] };
        // 1500 B take the first millisecond; the next 1500 B wait two and take two; then it begins again.
        assert_eq!(ends(&trace, &[(0, 1500), (0, 1500), (0, 750)]), [1.0, 5.0, 5.5]);
        // One packet over several rounds: 3000 B each.
        assert_eq!(ends(&trace, &[(0, 9000)]), [15.0]);
    }

    #[test]
    fn packet_of_whole_rounds_departs_before_silence() {
        let step = |millis, rate| RateStep {
            duration: Span::from_millis(millis),
            rate: BitRate::from_bits_per_second(rate),
        };
        // Rounds of 1500 B each, in the first of their three milliseconds.
        let trace = RateTrace::Steps { steps: vec![step(1, 12_000_000), step(2, 0)] };
        assert_eq!(ends(&trace, &[(0, 1500), (0, 1500), (0, 4500)]), [1.0, 4.0, 13.0]);
    }

    #[test]
    fn packet_within_rest_of_nanosecond_uses_it() {
        let fast = RateStep {
            duration: Span::from_secs(1),
            rate: BitRate::from_bits_per_second(1_000_000_000_000),
        };
        let mut traced = TraceTransmitter::new(&RateTrace::Steps { steps: vec![fast] }, 0);
        // 40 B take 0.32 ns: three end within the first nanosecond, the fourth and three more in the second and third.
        let ends = [(); 7].map(|()| traced.transmit(Instant::ZERO, 40).end.as_nanos());
        assert_eq!(ends, [1, 1, 1, 2, 2, 2, 3]);
    }

    #[test]
    fn no_time_is_lost_to_rounding() {
        let seventh = RateStep {
            duration: Span::from_secs(1),
            rate: BitRate::from_bits_per_second(7_777_777),
        };
        let mut traced = TraceTransmitter::new(&RateTrace::Steps { steps: vec![seventh] }, 0);
        let mut end = Instant::ZERO;
        for _ in 0..10_000 {
            end = traced.transmit(Instant::ZERO, 1500).end;
        }
        let exact = 10_000.0 * 12_000.0 / 7_777_777.0;
        assert!((end.as_secs_f64() - exact).abs() < 2e-9, "{}", end.as_secs_f64() - exact);
    }
}
