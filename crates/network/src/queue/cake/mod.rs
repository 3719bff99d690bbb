//! CAKE's core: a shaper without bursts, tins by code point, fairness among hosts and flows, COBALT in every flow.
//!
//! Source: Høiland-Jørgensen, Täht and Morton, "Piece of CAKE: A Comprehensive Queue Management Solution for Home
//! Gateways", 2018; parameters as tc-cake(8). Code points by RFC 2474, RFC 2597, RFC 3246, RFC 5865 and RFC 8622. Left out:
//! washing of code points, NAT lookup, `ingress`, `autorate-ingress`, ATM and PTM compensation, a minimum
//! packet size. The memory limit counts bytes of packets; the kernel counts its buffers, which are larger.
//!
//! Cost per packet: as fair queueing with CoDel; for a host with n busy flows up to n looks at a deficit.

mod ack_filter;
mod tin;

use super::discipline::{DequeueResult, QueueActions, QueueDiscipline, QueuedPacket};
use crate::packet::{derive_seed, flow_hash};
use crate::{Backlog, DropReason, Header, TcpAck};
use ack_filter::AckFilter;
use fairwind_qdisc::{CakeIsolation, CakeTins, ETHERNET_FRAME};
use fairwind_units::{BitRate, ByteCount, Instant, Span};
use rand_pcg::Pcg32;
use tin::{CobaltSettings, Tin, TinContext, TinSettings};

const LOWER_EFFORT: u8 = 1;
const TOS4: u8 = 4;
const VOICE_ADMIT: u8 = 44;
const EXPEDITED: u8 = 46;

/// A tin's threshold as a share of the rate: below it, the tin has priority over those with a lower number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TinShare {
    numerator: u64,
    denominator: u64,
}

impl TinShare {
    const ALL: Self = Self::of(1, 1);

    const fn of(numerator: u64, denominator: u64) -> Self {
        Self { numerator, denominator }
    }

    /// This share of `whole`.
    pub(super) fn share_of(self, whole: u64) -> u64 {
        let share = u128::from(whole) * u128::from(self.numerator) / u128::from(self.denominator);
        u64::try_from(share).unwrap_or(u64::MAX)
    }
}

/// The shares of all tins, best effort first; among several below their thresholds the last goes first.
pub(super) fn shares(tins: CakeTins) -> Vec<TinShare> {
    match tins {
        CakeTins::Besteffort => vec![TinShare::ALL],
        CakeTins::Diffserv3 => vec![TinShare::ALL, TinShare::of(1, 16), TinShare::of(1, 4)],
        CakeTins::Diffserv4 => {
            vec![TinShare::ALL, TinShare::of(1, 16), TinShare::of(1, 2), TinShare::of(1, 4)]
        }
        CakeTins::Precedence => {
            (0..8).map(|class| TinShare::of(7_u64.pow(class), 8_u64.pow(class))).collect()
        }
    }
}

/// The tin of packets with `traffic_class`, an index into [`shares`].
pub(super) fn tin_of(tins: CakeTins, traffic_class: u8) -> usize {
    let code_point = traffic_class >> 2;
    // The upper three bits: the class selector.
    let class = code_point >> 3;
    match tins {
        CakeTins::Besteffort => 0,
        CakeTins::Precedence => usize::from(class),
        CakeTins::Diffserv3 => match code_point {
            LOWER_EFFORT | 0o10 => 1,
            TOS4 | VOICE_ADMIT | EXPEDITED | 0o60 | 0o70 => 2,
            _ => 0,
        },
        CakeTins::Diffserv4 => match code_point {
            LOWER_EFFORT | 0o10 => 1,
            0o40 | 0o50 | VOICE_ADMIT | EXPEDITED | 0o60 | 0o70 => 3,
            TOS4 => 2,
            // CS2, CS3 and all of AF2x, AF3x and AF4x.
            _ if (2..=4).contains(&class) && code_point.is_multiple_of(2) => 2,
            _ => 0,
        },
    }
}

/// A virtual clock (CAKE's "deficit mode").
#[derive(Debug, Clone)]
pub(super) struct VirtualClock {
    rate: BitRate,
    next: Instant,
    /// Parts of a nanosecond beyond `next`, in units of one by the rate.
    remainder: u64,
}

impl VirtualClock {
    pub(super) fn new(rate: BitRate) -> Self {
        let rate = BitRate::from_bits_per_second(rate.as_bits_per_second().max(1));
        Self { rate, next: Instant::ZERO, remainder: 0 }
    }

    /// When the next packet may leave.
    pub(super) fn next(&self) -> Instant {
        self.next
    }

    /// The queue becomes busy at `now`; unused time is forfeited.
    pub(super) fn begin(&mut self, now: Instant) {
        if self.next < now {
            self.next = now;
            self.remainder = 0;
        }
    }

    /// A packet that costs `bytes` leaves.
    pub(super) fn charge(&mut self, bytes: u64) {
        let (nanos, remainder) = self.rate.serialisation(ByteCount::new(bytes), self.remainder);
        self.next += fairwind_units::Span::from_nanos(nanos);
        self.remainder = remainder;
    }

    /// As [`charge`](VirtualClock::charge), for a rate that may be exceeded without a debt for later packets.
    pub(super) fn charge_at_most(&mut self, now: Instant, bytes: u64) {
        if self.next < now {
            self.charge(bytes);
            return;
        }
        let mut from_now = Self { rate: self.rate, next: now, remainder: 0 };
        from_now.charge(bytes);
        if self.next < from_now.next {
            *self = from_now;
        }
    }
}

/// Targets per round trip.
const TARGETS_PER_ROUND_TRIP: u64 = 20;
/// Least memory in bytes, and greatest number of packets, by default.
const LEAST_MEMORY: u64 = 4 << 20;
const MOST_PACKETS: u64 = 10_240;
/// Least quantum of a flow in bytes.
const LEAST_QUANTUM: u64 = 300;
/// Quantum of the first tin in bytes without shaping.
const TIN_QUANTUM: u64 = 1024;

/// A tin and its threshold.
struct SharedTin {
    tin: Tin,
    /// When its next packet stays below the threshold.
    clock: VirtualClock,
    /// Quantum and deficit without shaping.
    quantum: i64,
    deficit: i64,
}

/// The discipline.
pub(super) struct Cake {
    shaper: Option<VirtualClock>,
    sorting: CakeTins,
    isolation: CakeIsolation,
    overhead_bytes: i64,
    memory_limit_bytes: u64,
    tins: Vec<SharedTin>,
    /// The current tin without shaping.
    current: usize,
    backlog: Backlog,
    filter: Option<AckFilter>,
    generator: Pcg32,
    seed: u64,
}

impl Cake {
    pub(super) fn new(cake: &fairwind_qdisc::Cake, seed: u64) -> Self {
        let tins = shares(cake.tins).into_iter().map(|share| shared_tin(cake, share));
        Self {
            shaper: cake.bandwidth.map(VirtualClock::new),
            sorting: cake.tins,
            isolation: cake.isolation,
            overhead_bytes: cake.overhead_bytes.into(),
            memory_limit_bytes: memory_limit(cake),
            tins: tins.collect(),
            current: 0,
            backlog: Backlog::default(),
            filter: AckFilter::new(cake.ack_filter),
            generator: Pcg32::new(derive_seed(seed, 0), 0),
            seed: derive_seed(seed, 1),
        }
    }

    /// The flow hash of a packet, by the mode of isolation.
    fn isolation_hash(&self, waiting: &QueuedPacket) -> u64 {
        let Header { source, .. } = waiting.header;
        let destination = waiting.destination();
        let hosts = |source: u32, destination: u32| {
            derive_seed(derive_seed(self.seed, u64::from(source)), u64::from(destination))
        };
        match self.isolation {
            CakeIsolation::Flowblind => 0,
            CakeIsolation::Srchost => hosts(source, 0),
            CakeIsolation::Dsthost => hosts(0, destination),
            CakeIsolation::Hosts => hosts(source, destination),
            _ => flow_hash(&waiting.header, self.seed),
        }
    }

    /// What a packet costs in the shaper's account.
    fn cost(&self, packet_bytes: u32) -> u64 {
        u64::try_from(i64::from(packet_bytes) + self.overhead_bytes).unwrap_or(0)
    }

    /// The next tin: the last of those below their thresholds, or else the one that gets below its threshold first.
    fn scheduled_tin(&self, now: Instant) -> usize {
        let waiting = self.tins.iter().enumerate().filter(|(_, tin)| tin.tin.backlog().packets > 0);
        let keyed =
            waiting.map(|(place, tin)| (tin.clock.next().max(now), std::cmp::Reverse(place)));
        keyed.min().map_or(0, |(_, std::cmp::Reverse(place))| place)
    }

    /// The next tin without shaping: deficit round robin.
    fn tin_in_turn(&mut self) -> usize {
        loop {
            let tin = &mut self.tins[self.current];
            if tin.deficit > 0 && tin.tin.backlog().packets > 0 {
                return self.current;
            }
            if tin.deficit <= 0 {
                tin.deficit += tin.quantum;
            }
            self.current = (self.current + 1) % self.tins.len();
        }
    }

    /// Puts an arrival into its queue; returns its tin and the number of the queue.
    fn join(&mut self, now: Instant, arrival: QueuedPacket) -> (usize, u32) {
        let hash = self.isolation_hash(&arrival);
        if let Some(shaper) = self.shaper.as_mut().filter(|_| self.backlog.packets == 0) {
            shaper.begin(now);
        }
        let sorted = tin_of(self.sorting, arrival.header.traffic_class);
        let shared = &mut self.tins[sorted];
        if shared.tin.backlog().packets == 0 {
            shared.clock.begin(now);
        }
        let place = shared.tin.enqueue(now, hash, arrival);
        self.backlog = self.backlog.with(arrival.bytes());
        (sorted, place)
    }

    /// Drops packets until the others fit into memory.
    fn limit_memory(&mut self, now: Instant, actions: &mut QueueActions) {
        while self.backlog.bytes > self.memory_limit_bytes {
            self.make_room(now, actions);
        }
    }

    /// Drops a packet of the longest queue.
    fn make_room(&mut self, now: Instant, actions: &mut QueueActions) {
        let longest = |shared: &SharedTin| shared.tin.longest();
        let Some(shared) = self.tins.iter_mut().max_by_key(|shared| longest(shared)) else {
            return;
        };
        let (_, place) = shared.tin.longest();
        let before = shared.tin.backlog();
        shared.tin.give_up(now, place, actions);
        if let (Some(filter), Some((victim, _))) = (&mut self.filter, actions.dropped.last()) {
            filter.forget(victim);
        }
        self.backlog = self.backlog.minus(before).plus(shared.tin.backlog());
    }
}

fn shared_tin(cake: &fairwind_qdisc::Cake, share: TinShare) -> SharedTin {
    let whole = cake.bandwidth.map(BitRate::as_bits_per_second);
    let rate = whole.map(|whole| BitRate::from_bits_per_second(share.share_of(whole).max(1)));
    let settings = TinSettings {
        cobalt: cobalt_settings(cake.rtt, rate),
        quantum_bytes: rate.map_or(ETHERNET_FRAME, flow_quantum),
        isolation: cake.isolation,
    };
    let quantum = i64::try_from(share.share_of(TIN_QUANTUM)).unwrap_or(i64::MAX).max(1);
    let clock = VirtualClock::new(rate.unwrap_or_default());
    SharedTin { tin: Tin::new(settings), clock, quantum, deficit: 0 }
}

/// Target and interval: at least the service time of one and a half, and of three packets.
fn cobalt_settings(rtt: Span, rate: Option<BitRate>) -> CobaltSettings {
    let frame = ByteCount::new(ETHERNET_FRAME.into());
    let packet_time = rate.map_or(Span::ZERO, |rate| rate.serialisation_time(frame));
    let usual = Span::from_nanos(rtt.as_nanos() / TARGETS_PER_ROUND_TRIP);
    let target = usual.max(Span::from_nanos(packet_time.as_nanos().saturating_mul(3) / 2));
    let interval = (rtt + target - usual).max(target * 2);
    CobaltSettings { target, interval, packet_time }
}

/// Quantum of a flow: bytes at the rate in about a quarter of a millisecond.
fn flow_quantum(rate: BitRate) -> u32 {
    let bytes = (rate.as_bits_per_second() / 8) >> 12;
    u32::try_from(bytes.clamp(LEAST_QUANTUM, ETHERNET_FRAME.into())).unwrap_or(ETHERNET_FRAME)
}

/// Default memory limit: four bandwidth-delay products.
fn memory_limit(cake: &fairwind_qdisc::Cake) -> u64 {
    let most = MOST_PACKETS * u64::from(ETHERNET_FRAME);
    let usual = cake.bandwidth.map_or(most, |rate| {
        rate.bytes_in(cake.rtt).get().saturating_mul(4).clamp(LEAST_MEMORY, most)
    });
    cake.memory_limit_bytes.unwrap_or(usual)
}

impl QueueDiscipline for Cake {
    fn enqueue(
        &mut self,
        now: Instant,
        arrival: QueuedPacket,
        actions: &mut QueueActions,
    ) -> Result<(), DropReason> {
        self.join(now, arrival);
        self.limit_memory(now, actions);
        Ok(())
    }

    fn reads_acks(&self) -> bool {
        self.filter.is_some()
    }

    fn enqueue_ack(
        &mut self,
        now: Instant,
        arrival: QueuedPacket,
        ack: &TcpAck,
        actions: &mut QueueActions,
    ) -> Result<(), DropReason> {
        let (sorted, place) = self.join(now, arrival);
        let tin = &mut self.tins[sorted].tin;
        if let Some(filter) = &mut self.filter {
            filter.note(&arrival, *ack);
            let needless = filter.needless(tin.line(place));
            if let Some(victim) = needless.and_then(|number| tin.remove(place, number)) {
                filter.forget(&victim);
                self.backlog = self.backlog.without(victim.bytes());
                actions.drop(victim, DropReason::Early);
            }
        }
        self.limit_memory(now, actions);
        Ok(())
    }

    fn dequeue(&mut self, now: Instant, actions: &mut QueueActions) -> DequeueResult {
        if self.backlog.packets == 0 {
            return DequeueResult::Empty;
        }
        let place = match &self.shaper {
            Some(shaper) if shaper.next() > now => return DequeueResult::NotBefore(shaper.next()),
            Some(_) => self.scheduled_tin(now),
            None => self.tin_in_turn(),
        };
        let before = self.tins[place].tin.backlog();
        let mut context = TinContext { generator: &mut self.generator, actions: &mut *actions };
        let next = self.tins[place].tin.dequeue(now, &mut context);
        let after = self.tins[place].tin.backlog();
        self.backlog = self.backlog.minus(before).plus(after);
        let waiting = next.expect("a tin with packets has one that leaves");
        if let Some(filter) = &mut self.filter {
            filter.forget(&waiting);
            actions.dropped.iter().for_each(|(victim, _)| filter.forget(victim));
        }
        let cost = self.cost(waiting.bytes());
        let shared = &mut self.tins[place];
        shared.tin.spend(cost);
        match &mut self.shaper {
            Some(shaper) => {
                shared.clock.charge_at_most(now, cost);
                shaper.charge(cost);
            }
            None => shared.deficit -= i64::try_from(cost).unwrap_or(i64::MAX),
        }
        DequeueResult::Packet(waiting)
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_points_map_to_documented_tins() {
        let of = |tins, points: &[u8]| -> Vec<usize> {
            points.iter().map(|point| tin_of(tins, point << 2 | 0b10)).collect()
        };
        // Ordinary, LE, CS1, AF11, TOS4, CS2, AF21, CS3, AF31, CS4, AF41, CS5, VA, EF, CS6, CS7.
        let points = [0, 1, 8, 10, 4, 16, 18, 24, 26, 32, 34, 40, 44, 46, 48, 56];
        let three = [0, 1, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2];
        let four = [0, 1, 1, 0, 2, 2, 2, 2, 2, 3, 2, 3, 3, 3, 3, 3];
        assert_eq!(of(CakeTins::Diffserv3, &points), three);
        assert_eq!(of(CakeTins::Diffserv4, &points), four);
        assert_eq!(of(CakeTins::Precedence, &points[..4]), [0, 0, 1, 1]);
        assert_eq!(of(CakeTins::Besteffort, &points), [0; 16]);
        // Unassigned code points are best effort, even above CS6 or CS7.
        let unassigned = [49, 55, 57, 63, 41, 33];
        assert_eq!(of(CakeTins::Diffserv3, &unassigned), [0; 6]);
        assert_eq!(of(CakeTins::Diffserv4, &unassigned), [0; 6]);
    }

    #[test]
    fn tins_have_documented_guaranteed_shares() {
        let of = |tins| -> Vec<u64> {
            shares(tins).into_iter().map(|share| share.share_of(1600)).collect()
        };
        assert_eq!(of(CakeTins::Diffserv3), [1600, 100, 400]);
        assert_eq!(of(CakeTins::Diffserv4), [1600, 100, 800, 400]);
        assert_eq!(of(CakeTins::Precedence)[..3], [1600, 1400, 1225]);
    }

    #[test]
    fn packets_advance_shaper_by_their_time() {
        // 7 bit/s: a byte takes 1 142 857 142 6/7 ns; seven of them eight seconds.
        let mut clock = VirtualClock::new(BitRate::from_bits_per_second(7));
        clock.charge(1);
        assert_eq!(clock.next(), Instant::from_nanos(1_142_857_142));
        for _ in 0..6 {
            clock.charge(1);
        }
        assert_eq!(clock.next(), Instant::from_secs(8));
    }

    #[test]
    fn idle_saves_no_tokens_borrowing_is_free() {
        let mut clock = VirtualClock::new(BitRate::from_bits_per_second(12_000_000));
        clock.begin(Instant::from_secs(5));
        assert_eq!(clock.next(), Instant::from_secs(5));
        // Ten packets at once at a rate that may be exceeded count as one.
        for _ in 0..10 {
            clock.charge_at_most(Instant::from_secs(5), 1500);
        }
        assert_eq!(clock.next(), Instant::from_millis(5001));
    }

    #[test]
    fn cake_defaults_follow_rate_and_rtt() {
        // As `tc -s qdisc` shows them for 100 Mbit/s, and tc-cake(8) in its example.
        let megabits = |rate: u64| BitRate::from_bits_per_second(rate * 1_000_000);
        let quanta = [6, 100, 25].map(|rate| flow_quantum(megabits(rate)));
        assert_eq!(quanta, [300, 1514, 762]);
        let cake = fairwind_qdisc::Cake {
            bandwidth: Some(megabits(100)),
            ..fairwind_qdisc::Cake::default()
        };
        assert_eq!(memory_limit(&cake), 5_000_000);
        let fast = cobalt_settings(cake.rtt, cake.bandwidth);
        assert_eq!((fast.target, fast.interval), (Span::from_millis(5), cake.rtt));
        // At 1 Mbit/s a frame takes 12.112 ms: one and a half 18.168 ms.
        let slow = cobalt_settings(cake.rtt, Some(megabits(1)));
        assert_eq!(slow.target, Span::from_micros(18_168));
        assert_eq!(slow.interval, Span::from_micros(113_168));
    }
}
