//! CAKE's core: a shaper without bursts, tins by code points, fairness among hosts and flows, COBALT in every flow.
//!
//! Source: Høiland-Jørgensen, Täht and Morton, "Piece of CAKE: A Comprehensive Queue Management Solution for Home
//! Gateways", 2018; parameters as tc-cake(8). Left out: filtering of acknowledgments, washing of code points, looking
//! through address translation, `ingress`, `autorate-ingress`, compensation for ATM and PTM, a least packet size.
//! The memory limit counts bytes of packets; the kernel counts its buffers, which are larger.
//!
//! Cost per packet: as fair queueing with CoDel; for a host with n busy flows up to n looks at a deficit.

mod clock;
mod cobalt;
mod sorting;
mod tin;
mod ways;

use super::hash::hash;
use super::{DequeueResult, QueueActions, QueueDiscipline, QueuedPacket};
use crate::random::mixed;
use crate::{Backlog, DropReason, Header};
use clock::Clock;
use cobalt::CobaltSettings;
use fairwind_qdisc::{CakeIsolation, CakeTins, ETHERNET_FRAME};
use fairwind_units::{BitRate, ByteCount, Instant, Span};
use rand_pcg::Pcg32;
use sorting::{Share, shares, tin_of};
use tin::{Tin, TinContext, TinSettings};

/// The target is this part of the round trip.
const TARGETS_PER_ROUND_TRIP: u64 = 20;
/// Least memory, and packets of which no more may wait where no limit is given.
const LEAST_MEMORY: u64 = 4 << 20;
const MOST_PACKETS: u64 = 10_240;
/// Least bytes in a flow's turn.
const LEAST_QUANTUM: u64 = 300;
/// What the first tin may send in its turn where nothing is shaped.
const TIN_QUANTUM: u64 = 1024;

/// A tin with what it is sure of.
struct SharedTin {
    tin: Tin,
    /// When it may leave next to stay within its share.
    clock: Clock,
    /// What it may send in its turn, and may still, where nothing is shaped.
    quantum: i64,
    deficit: i64,
}

/// The discipline.
pub(super) struct Cake {
    shaper: Option<Clock>,
    sorting: CakeTins,
    isolation: CakeIsolation,
    overhead_bytes: i64,
    memory_limit_bytes: u64,
    tins: Vec<SharedTin>,
    /// The tin whose turn it is where nothing is shaped.
    current: usize,
    backlog: Backlog,
    generator: Pcg32,
    seed: u64,
}

impl Cake {
    pub(super) fn new(cake: &fairwind_qdisc::Cake, seed: u64) -> Self {
        let tins = shares(cake.tins).into_iter().map(|share| shared_tin(cake, share));
        Self {
            shaper: cake.bandwidth.map(Clock::new),
            sorting: cake.tins,
            isolation: cake.isolation,
            overhead_bytes: cake.overhead_bytes.into(),
            memory_limit_bytes: memory_limit(cake),
            tins: tins.collect(),
            current: 0,
            backlog: Backlog::default(),
            generator: Pcg32::new(mixed(seed, 0), 0),
            seed: mixed(seed, 1),
        }
    }

    /// What tells the flow of a packet from others, by what is to be isolated.
    fn flow_hash(&self, waiting: &QueuedPacket) -> u64 {
        let Header { source, .. } = waiting.header;
        let destination = waiting.destination();
        let hosts = |source: u32, destination: u32| {
            mixed(mixed(self.seed, u64::from(source)), u64::from(destination))
        };
        match self.isolation {
            CakeIsolation::Flowblind => 0,
            CakeIsolation::Srchost => hosts(source, 0),
            CakeIsolation::Dsthost => hosts(0, destination),
            CakeIsolation::Hosts => hosts(source, destination),
            _ => hash(&waiting.header, self.seed),
        }
    }

    /// What a packet costs in the shaper's account.
    fn cost(&self, packet_bytes: u32) -> u64 {
        u64::try_from(i64::from(packet_bytes) + self.overhead_bytes).unwrap_or(0)
    }

    /// The tin that is next: the last of those that are within their shares, or else the one that was within it first.
    fn scheduled_tin(&self, now: Instant) -> usize {
        let waiting = self.tins.iter().enumerate().filter(|(_, tin)| tin.tin.backlog().packets > 0);
        let keyed =
            waiting.map(|(place, tin)| (tin.clock.next().max(now), std::cmp::Reverse(place)));
        keyed.min().map_or(0, |(_, std::cmp::Reverse(place))| place)
    }

    /// The tin whose turn it is where nothing is shaped: deficit round robin.
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

    /// The longest queue gives up a packet.
    fn make_room(&mut self, now: Instant, effects: &mut QueueActions) {
        let longest = |shared: &SharedTin| shared.tin.longest();
        let Some(shared) = self.tins.iter_mut().max_by_key(|shared| longest(shared)) else {
            return;
        };
        let (_, place) = shared.tin.longest();
        let before = shared.tin.backlog();
        shared.tin.give_up(now, place, effects);
        self.backlog = self.backlog.minus(before).plus(shared.tin.backlog());
    }
}

fn shared_tin(cake: &fairwind_qdisc::Cake, share: Share) -> SharedTin {
    let whole = cake.bandwidth.map(BitRate::as_bits_per_second);
    let rate = whole.map(|whole| BitRate::from_bits_per_second(share.share_of(whole).max(1)));
    let settings = TinSettings {
        cobalt: cobalt_settings(cake.rtt, rate),
        quantum_bytes: rate.map_or(ETHERNET_FRAME, flow_quantum),
        isolation: cake.isolation,
    };
    let quantum = i64::try_from(share.share_of(TIN_QUANTUM)).unwrap_or(i64::MAX).max(1);
    let clock = Clock::new(rate.unwrap_or_default());
    SharedTin { tin: Tin::new(settings), clock, quantum, deficit: 0 }
}

/// Target and interval: no shorter than what a packet and a half, and three, take at the rate.
fn cobalt_settings(rtt: Span, rate: Option<BitRate>) -> CobaltSettings {
    let frame = ByteCount::new(ETHERNET_FRAME.into());
    let packet_time = rate.map_or(Span::ZERO, |rate| rate.serialisation_time(frame));
    let usual = Span::from_nanos(rtt.as_nanos() / TARGETS_PER_ROUND_TRIP);
    let target = usual.max(Span::from_nanos(packet_time.as_nanos().saturating_mul(3) / 2));
    let interval = (rtt + target - usual).max(target * 2);
    CobaltSettings { target, interval, packet_time }
}

/// Bytes of a flow's turn: what the rate brings in about a quarter of a millisecond.
fn flow_quantum(rate: BitRate) -> u32 {
    let bytes = (rate.as_bits_per_second() / 8) >> 12;
    u32::try_from(bytes.clamp(LEAST_QUANTUM, ETHERNET_FRAME.into())).unwrap_or(ETHERNET_FRAME)
}

/// Four times what rate and round trip hold.
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
        effects: &mut QueueActions,
    ) -> Result<(), DropReason> {
        let hash = self.flow_hash(&arrival);
        if let Some(shaper) = self.shaper.as_mut().filter(|_| self.backlog.packets == 0) {
            shaper.begin(now);
        }
        let shared = &mut self.tins[tin_of(self.sorting, arrival.header.traffic_class)];
        if shared.tin.backlog().packets == 0 {
            shared.clock.begin(now);
        }
        shared.tin.enqueue(now, hash, arrival);
        self.backlog = self.backlog.with(arrival.bytes());
        while self.backlog.bytes > self.memory_limit_bytes {
            self.make_room(now, effects);
        }
        Ok(())
    }

    fn dequeue(&mut self, now: Instant, effects: &mut QueueActions) -> DequeueResult {
        if self.backlog.packets == 0 {
            return DequeueResult::Empty;
        }
        let place = match &self.shaper {
            Some(shaper) if shaper.next() > now => return DequeueResult::NotBefore(shaper.next()),
            Some(_) => self.scheduled_tin(now),
            None => self.tin_in_turn(),
        };
        let before = self.tins[place].tin.backlog();
        let mut hands = TinContext { generator: &mut self.generator, effects };
        let next = self.tins[place].tin.dequeue(now, &mut hands);
        let after = self.tins[place].tin.backlog();
        self.backlog = self.backlog.minus(before).plus(after);
        let waiting = next.expect("a tin with packets has one that leaves");
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
    fn quanta_targets_and_memory_follow_from_rate_and_round_trip() {
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
