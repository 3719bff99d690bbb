//! The wire between the transmitter and the other end: in order, or impaired.
//!
//! Source of the impairments: tc-netem(8), with its order of draws: duplication, loss, corruption, delay. Each impairment
//! has a separate random stream, so switching one on changes nothing about the others.

use super::delay::DelayProcess;
use super::loss::{CorrelatedChance, LossProcess};
use crate::LinkId;
use crate::event_queue::{Event, EventQueue};
use crate::packet::derive_seed;
use crate::pool::PacketRef;
use crate::topology::LinkSpec;
use fairwind_qdisc::{Chance, Impairments};
use fairwind_units::{Instant, Span};
use rand::Rng as _;
use rand_pcg::Pcg32;
use std::collections::VecDeque;
use std::collections::{BTreeMap, BTreeSet};

/// A packet that leaves the transmitter.
#[derive(Debug, Clone, Copy)]
pub(super) struct DepartedPacket {
    pub(super) at: Instant,
    pub(super) packet: PacketRef,
    pub(super) insertion: u64,
}

/// A packet that arrives at the other end.
#[derive(Debug, Clone, Copy)]
pub(super) struct ArrivedPacket {
    pub(super) packet: PacketRef,
    /// Whether a packet sent before it is still in flight.
    pub(super) has_overtaken: bool,
}

/// A packet in flight.
#[derive(Debug, Clone, Copy)]
pub(super) struct InFlight {
    delivery: Event,
    packet: PacketRef,
}

/// The wire of a link.
pub(super) enum Wire {
    /// All take the same time: the first sent is the first to arrive, and only it is in the event queue.
    InOrder { delay: Span, under_way: VecDeque<InFlight> },
    /// Each packet has its own delay; all are in the event queue.
    ImpairedWire(Box<ImpairedWire>),
}

/// A wire that may lose, duplicate, corrupt, delay and reorder packets.
pub(super) struct ImpairedWire {
    impairer: ImpairmentModel,
    generator: Pcg32,
    /// By delivery, then in the order of sending.
    under_way: BTreeMap<(Event, u64), PacketRef>,
    /// Numbers of the packets in flight.
    numbers: BTreeSet<u64>,
    sent: u64,
}

/// Fate of a packet on a wire without impairments.
const UNIMPAIRED: Fate = Fate { copies: 1, is_corrupted: false };

impl Wire {
    pub(super) fn new(spec: &LinkSpec, seed: u64) -> Self {
        if spec.impairments.is_none() {
            return Self::InOrder { delay: spec.delay, under_way: VecDeque::new() };
        }
        Self::ImpairedWire(Box::new(ImpairedWire {
            impairer: ImpairmentModel::new(&spec.impairments, spec.delay, seed),
            generator: Pcg32::new(derive_seed(seed, u64::MAX), 0),
            under_way: BTreeMap::new(),
            numbers: BTreeSet::new(),
            sent: 0,
        }))
    }

    /// Fate of the next packet, which leaves the transmitter at `at`.
    #[inline]
    pub(super) fn fate(&mut self, at: Instant) -> Fate {
        match self {
            Self::InOrder { .. } => UNIMPAIRED,
            Self::ImpairedWire(impaired) => impaired.impairer.fate(at),
        }
    }

    /// Fate of the copy of a packet.
    pub(super) fn fate_of_copy(&mut self) -> Fate {
        match self {
            Self::InOrder { .. } => UNIMPAIRED,
            Self::ImpairedWire(impaired) => impaired.impairer.fate_of_copy(),
        }
    }

    /// A random number that chooses what is corrupted.
    pub(super) fn draw(&mut self) -> u32 {
        match self {
            Self::InOrder { .. } => 0,
            Self::ImpairedWire(impaired) => impaired.generator.next_u32(),
        }
    }

    /// Sends a packet.
    #[inline]
    pub(super) fn send(&mut self, leaving: DepartedPacket, link: LinkId, events: &mut EventQueue) {
        let DepartedPacket { at, packet, insertion } = leaving;
        match self {
            Self::InOrder { delay, under_way } => {
                let delivery = Event::delivery(at + *delay, insertion, link);
                if under_way.is_empty() {
                    events.push(delivery);
                }
                under_way.push_back(InFlight { delivery, packet });
            }
            Self::ImpairedWire(impaired) => impaired.send(leaving, link, events),
        }
    }

    /// Removes the packet of the first event, and that event.
    #[inline]
    pub(super) fn deliver(&mut self, events: &mut EventQueue) -> ArrivedPacket {
        let expected = "a delivery on the events has its packet";
        match self {
            Self::InOrder { under_way, .. } => {
                let packet = under_way.pop_front().expect(expected).packet;
                match under_way.front() {
                    Some(next) => events.replace_first(next.delivery),
                    None => events.remove_first(),
                }
                ArrivedPacket { packet, has_overtaken: false }
            }
            Self::ImpairedWire(impaired) => impaired.deliver(events).expect(expected),
        }
    }
}

impl ImpairedWire {
    #[inline(never)]
    fn send(&mut self, leaving: DepartedPacket, link: LinkId, events: &mut EventQueue) {
        let DepartedPacket { at, packet, insertion } = leaving;
        let (arrival, _) = self.impairer.arrival(at, packet.bytes());
        let delivery = Event::delivery(arrival, insertion, link);
        self.sent += 1;
        self.numbers.insert(self.sent);
        self.under_way.insert((delivery, self.sent), packet);
        events.push(delivery);
    }

    #[inline(never)]
    fn deliver(&mut self, events: &mut EventQueue) -> Option<ArrivedPacket> {
        events.remove_first();
        let ((_, number), packet) = self.under_way.pop_first()?;
        let has_overtaken = self.numbers.first().is_some_and(|first| *first < number);
        self.numbers.remove(&number);
        Some(ArrivedPacket { packet, has_overtaken })
    }
}

/// Fate of a packet on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fate {
    /// Copies that go on: none if it is lost, two if it is duplicated.
    pub(super) copies: u8,
    pub(super) is_corrupted: bool,
}

/// The impairments of a link.
pub(super) struct ImpairmentModel {
    loss: Option<LossProcess>,
    duplicate: Option<CorrelatedChance>,
    corrupt: Option<CorrelatedChance>,
    delay: DelayProcess,
}

impl ImpairmentModel {
    pub(super) fn new(impairments: &Impairments, base: Span, seed: u64) -> Self {
        let event = |chance: Option<Chance>, stream| {
            chance.map(|chance| CorrelatedChance::new(chance, derive_seed(seed, stream)))
        };
        Self {
            loss: impairments
                .loss
                .as_ref()
                .map(|loss| LossProcess::new(loss, derive_seed(seed, 1))),
            duplicate: event(impairments.duplicate, 2),
            corrupt: event(impairments.corrupt, 3),
            delay: DelayProcess::new(impairments, base, seed),
        }
    }

    /// Draws the fate of the next packet, which leaves the transmitter at `at`.
    #[inline(never)]
    pub(super) fn fate(&mut self, at: Instant) -> Fate {
        let is_twice = self.duplicate.as_mut().is_some_and(CorrelatedChance::happens);
        let fate = self.fate_of(1 + u8::from(is_twice));
        if self.delay.is_out(at) { Fate { copies: 0, is_corrupted: false } } else { fate }
    }

    /// Draws the fate of a copy: as in netem, it passes everything again except duplication.
    pub(super) fn fate_of_copy(&mut self) -> Fate {
        self.fate_of(1)
    }

    fn fate_of(&mut self, copies: u8) -> Fate {
        let is_lost = self.loss.as_mut().is_some_and(LossProcess::loses);
        // As in netem, loss takes one of two.
        let copies = copies - u8::from(is_lost);
        let is_corrupted =
            copies > 0 && self.corrupt.as_mut().is_some_and(CorrelatedChance::happens);
        Fate { copies, is_corrupted }
    }

    /// When a packet of `bytes` that leaves the transmitter at `at` arrives, and whether it is reordered.
    pub(super) fn arrival(&mut self, at: Instant, bytes: u32) -> (Instant, bool) {
        self.delay.arrival(at, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::loss::CorrelatedRandom;
    use fairwind_qdisc::{DelayStep, Jitter, JitterDistribution, Loss, Reorder, Slot};
    use fairwind_units::Ratio;

    fn ratio(text: &str) -> Ratio {
        text.parse().unwrap()
    }

    fn impairer(impairments: &Impairments) -> ImpairmentModel {
        ImpairmentModel::new(impairments, Span::from_millis(50), 11)
    }

    const PACKETS: u32 = 400_000;

    fn losses(loss: Loss) -> Vec<bool> {
        let mut impairer = impairer(&Impairments { loss: Some(loss), ..Impairments::default() });
        (0..PACKETS).map(|_| impairer.fate(Instant::ZERO).copies == 0).collect()
    }

    fn share(hits: &[bool]) -> f64 {
        let count = hits.iter().filter(|hit| **hit).count();
        f64::from(u32::try_from(count).unwrap()) / f64::from(u32::try_from(hits.len()).unwrap())
    }

    #[test]
    fn delay_steps_never_reorder_packets() {
        let step = |seconds, millis| DelayStep {
            duration: Span::from_secs(seconds),
            delay: Span::from_millis(millis),
            outage: false,
        };
        let delay_steps = vec![step(15, 20), step(0, 900), step(15, 5)];
        let mut impairer = impairer(&Impairments { delay_steps, ..Impairments::default() });
        let mut arrivals = |millis: &[u64]| -> Vec<u64> {
            let mut arrival = |at| impairer.arrival(Instant::from_millis(at), 100).0;
            millis.iter().map(|at| arrival(*at).as_nanos() / 1_000_000).collect()
        };
        // 50 ms of the link, and 20 ms before 15 s, 5 ms from then on, 20 ms again from 30 s on.
        assert_eq!(arrivals(&[0, 14_999]), [70, 15_069]);
        assert_eq!(arrivals(&[15_000, 15_015, 29_999]), [15_069, 15_070, 30_054]);
        assert_eq!(arrivals(&[30_000, 45_000]), [30_070, 45_055]);
    }

    #[test]
    fn outage_loses_exactly_its_packets() {
        let step = |seconds, outage| DelayStep {
            duration: Span::from_secs(seconds),
            delay: Span::ZERO,
            outage,
        };
        let delay_steps = vec![step(2, false), step(1, true)];
        let mut impairer = impairer(&Impairments { delay_steps, ..Impairments::default() });
        let copies = [0, 1_999, 2_000, 2_999, 3_000, 5_500]
            .map(|at| impairer.fate(Instant::from_millis(at)).copies);
        assert_eq!(copies, [1, 1, 0, 0, 1, 0]);
    }

    #[test]
    fn gemodel_has_expected_loss_and_bursts() {
        let (p, r) = (ratio("1 %"), ratio("20 %"));
        let lost = losses(Loss::Gemodel { p, r, bad_loss: Ratio::ONE, good_loss: Ratio::ZERO });
        // In the bad state p / (p + r) of the time, for 1 / r packets.
        assert!((share(&lost) - 0.01 / 0.21).abs() < 0.002, "{}", share(&lost));
        let runs: Vec<usize> =
            lost.split(|lost| !lost).map(<[bool]>::len).filter(|n| *n > 0).collect();
        let mean = f64::from(u32::try_from(runs.iter().sum::<usize>()).unwrap())
            / f64::from(u32::try_from(runs.len()).unwrap());
        assert!((mean - 5.0).abs() < 0.2, "{mean}");
        let both = Loss::Gemodel { p, r, bad_loss: ratio("50 %"), good_loss: ratio("1 %") };
        let expected = (0.01 * 0.5 + 0.20 * 0.01) / 0.21;
        assert!((share(&losses(both)) - expected).abs() < 0.002);
    }

    /// Lengths of the runs of `lost` packets, or of delivered ones.
    fn run_lengths(lost: &[bool], of_losses: bool) -> Vec<usize> {
        let runs = lost.chunk_by(|one, next| one == next);
        runs.filter(|run| run[0] == of_losses).map(<[bool]>::len).collect()
    }

    fn frequency(lengths: &[usize], wanted: usize) -> f64 {
        share(&lengths.iter().map(|length| *length == wanted).collect::<Vec<_>>())
    }

    #[test]
    fn four_states_have_their_stationary_shares() {
        let (p13, p31, p32, p23, p14) = (0.02, 0.3, 0.2, 0.5, 0.01);
        let lost = losses(Loss::State {
            p13: ratio("2 %"),
            p31: ratio("30 %"),
            p32: ratio("20 %"),
            p23: ratio("50 %"),
            p14: ratio("1 %"),
        });
        // Balance of the chain: 3 from 1 at p13 / p31, 2 from 3 at p32 / p23, 4 from 1 at p14.
        let (three, four) = (p13 / p31, p14);
        let all = 1.0 + three + three * p32 / p23 + four;
        assert!((share(&lost) - (three + four) / all).abs() < 0.002, "{}", share(&lost));
        // Runs of losses begin in state 4, which they leave at once, or in state 3, which they leave with p31 + p32. They
        // begin from 1 with p14 or p13, and from 2 with p23.
        let begins = [p14, p13 + three * p32 / p23 * p23];
        let of_one = (begins[0] + begins[1] * (p31 + p32)) / (begins[0] + begins[1]);
        let runs = run_lengths(&lost, true);
        assert!((frequency(&runs, 1) - of_one).abs() < 0.015, "{}", frequency(&runs, 1));
        // Within a burst one packet is delivered with p23; after other losses, state 1 with p13 + p14.
        let ends = [three * p32, three * p31 + four];
        let pause_of_one = (ends[0] * p23 + ends[1] * (p13 + p14)) / (ends[0] + ends[1]);
        let gaps = run_lengths(&lost, false);
        assert!((frequency(&gaps, 1) - pause_of_one).abs() < 0.015, "{}", frequency(&gaps, 1));
    }

    #[test]
    fn single_losses_of_four_states_never_join() {
        let [p13, p31, p32, p23] = [Ratio::ZERO; 4];
        let lost = losses(Loss::State { p13, p31, p32, p23, p14: ratio("20 %") });
        assert!(run_lengths(&lost, true).iter().all(|length| *length == 1));
        assert!((share(&lost) - 0.2 / 1.2).abs() < 0.003, "{}", share(&lost));
    }

    #[test]
    fn first_state_parameter_alone_is_bernoulli() {
        let Some(Loss::State { p13, p31, p32, p23, p14 }) =
            fairwind_qdisc::tc::parse_netem("netem loss state 3%").unwrap().impairments.loss
        else {
            panic!("a model with four states")
        };
        let lost = losses(Loss::State { p13, p31, p32, p23, p14 });
        assert!((share(&lost) - 0.03).abs() < 0.001, "{}", share(&lost));
        let runs = run_lengths(&lost, true);
        assert!((frequency(&runs, 1) - 0.97).abs() < 0.006, "{}", frequency(&runs, 1));
    }

    #[test]
    fn recorded_losses_repeat() {
        let lost = losses(Loss::Recorded { lost: vec![false, true, true] });
        assert_eq!(lost[..6], [false, true, true, false, true, true]);
    }

    #[test]
    fn packets_are_lost_by_their_numbers_and_once() {
        let lost = losses(Loss::Packets { numbers: vec![1, 4, 5] });
        let places: Vec<usize> = lost
            .iter()
            .enumerate()
            .filter(|(_, lost)| **lost)
            .map(|(place, _)| place + 1)
            .collect();
        assert_eq!(places, [1, 4, 5]);
    }

    #[test]
    fn correlation_makes_first_order_runs() {
        let mut draws = CorrelatedRandom::new(ratio("25 %"), 3);
        let values: Vec<f64> =
            (0..PACKETS).map(|_| f64::from(draws.draw()) / 4_294_967_296.0).collect();
        let mean = values.iter().sum::<f64>() / f64::from(PACKETS);
        let spread = |lag: usize| {
            values.windows(lag + 1).map(|w| (w[0] - mean) * (w[lag] - mean)).sum::<f64>()
        };
        assert!((spread(1) / spread(0) - 0.25).abs() < 0.01, "{}", spread(1) / spread(0));
    }

    #[test]
    fn duplicates_and_corruption_draw_independently() {
        let chance = |text| Some(Chance { probability: ratio(text), correlation: Ratio::ZERO });
        let plain = Impairments { corrupt: chance("2 %"), ..Impairments::default() };
        let also = Impairments { duplicate: chance("3 %"), ..plain.clone() };
        let fates = |impairments: &Impairments| {
            let mut impairer = impairer(impairments);
            (0..PACKETS).map(|_| impairer.fate(Instant::ZERO)).collect::<Vec<Fate>>()
        };
        let (plain, also) = (fates(&plain), fates(&also));
        let corrupted =
            |fates: &[Fate]| fates.iter().map(|fate| fate.is_corrupted).collect::<Vec<_>>();
        assert_eq!(corrupted(&plain), corrupted(&also));
        assert!((share(&corrupted(&also)) - 0.02).abs() < 0.001);
        let twice: Vec<bool> = also.iter().map(|fate| fate.copies == 2).collect();
        assert!((share(&twice) - 0.03).abs() < 0.001);
    }

    #[test]
    fn reorder_gap_limits_overtaking() {
        let reorder = Reorder { probability: ratio("25 %"), correlation: Ratio::ZERO, gap: 5 };
        let mut impairer =
            impairer(&Impairments { reorder: Some(reorder), ..Impairments::default() });
        let overtaking: Vec<bool> =
            (0..PACKETS).map(|_| impairer.arrival(Instant::ZERO, 100).1).collect();
        // Four that may not, then a geometric number of tries with 1/4 each: one of 4 + 4.
        assert!((share(&overtaking) - 1.0 / 8.0).abs() < 0.002, "{}", share(&overtaking));
    }

    #[test]
    fn overtaking_skips_netem_delay_only() {
        let reorder = Reorder { probability: Ratio::ONE, correlation: Ratio::ZERO, gap: 2 };
        let delay = Span::from_millis(10);
        let mut impairer =
            impairer(&Impairments { delay, reorder: Some(reorder), ..Impairments::default() });
        let arrivals = [1, 2].map(|millis| impairer.arrival(Instant::from_millis(millis), 100).0);
        // Of the 50 ms, 40 are the link's.
        assert_eq!(arrivals, [51, 42].map(Instant::from_millis));
    }

    #[test]
    fn slots_deliver_waiting_packets_up_to_limit() {
        let slot = Slot {
            min_delay: Span::from_millis(10),
            max_delay: Span::from_millis(10),
            packets: Some(2),
            bytes: None,
        };
        let mut impairer = impairer(&Impairments { slot: Some(slot), ..Impairments::default() });
        let mut at = |millis| impairer.arrival(Instant::from_millis(millis), 100).0;
        // Ready at 51, 52, 53 and 75 ms; a slot begins 10 ms after what it begins with.
        let arrivals = [at(1), at(2), at(3), at(25)];
        assert_eq!(arrivals, [61, 61, 71, 85].map(Instant::from_millis));
    }

    #[test]
    fn ordered_jitter_never_reorders() {
        let jitter = |keep_order| Impairments {
            jitter: Some(Jitter {
                deviation: Span::from_millis(20),
                distribution: JitterDistribution::Normal,
                table: Vec::new(),
                correlation: Ratio::ZERO,
                keep_order,
            }),
            ..Impairments::default()
        };
        let arrivals = |impairments: &Impairments| {
            let mut impairer = impairer(impairments);
            (0..1000).map(|n| impairer.arrival(Instant::from_millis(n), 100).0).collect::<Vec<_>>()
        };
        assert!(arrivals(&jitter(true)).is_sorted());
        assert!(!arrivals(&jitter(false)).is_sorted());
    }
}
