//! What happens to a packet behind the transmitter: netem's impairments, drawn packet by packet.
//!
//! Source: tc-netem(8). The order of the draws is netem's: duplication, loss, corruption, delay. Every impairment has a
//! stream of random numbers of its own, so that switching one on changes nothing about the others.

use crate::random::derive_seed;
use fairwind_qdisc::{Chance, DelayStep, Impairments, Jitter, Loss, Reorder, Slot};
use fairwind_units::{Instant, Ratio, Span};
use rand::{Rng as _, RngExt as _};
use rand_pcg::Pcg32;

use super::deviate::Deviate;

/// What becomes of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fate {
    /// How many of it go on: none where it is lost, two where it is duplicated.
    pub(super) copies: u8,
    pub(super) is_corrupted: bool,
}

/// All impairments of a link at work.
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

    /// Decides on the next packet, which leaves the transmitter at `at`.
    #[inline(never)]
    pub(super) fn fate(&mut self, at: Instant) -> Fate {
        let is_twice = self.duplicate.as_mut().is_some_and(CorrelatedChance::happens);
        let fate = self.fate_of(1 + u8::from(is_twice));
        if self.delay.is_out(at) { Fate { copies: 0, is_corrupted: false } } else { fate }
    }

    /// Decides on the copy of a packet: netem has it pass everything anew, but for duplication.
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

    /// When a packet of `bytes` that leaves the transmitter at `at` reaches the other end, and whether it overtakes.
    pub(super) fn arrival(&mut self, at: Instant, bytes: u32) -> (Instant, bool) {
        self.delay.arrival(at, bytes)
    }
}

/// A draw that has something of the last one in it (netem's `get_crandom`): `(1 - c) x + c last`.
struct Correlated {
    generator: Pcg32,
    correlation: u64,
    last: u64,
}

/// A whole, as the draws count.
const WHOLE: u64 = 1 << 32;

impl Correlated {
    fn new(correlation: Ratio, seed: u64) -> Self {
        let mut generator = Pcg32::new(derive_seed(seed, 0), 0);
        let last = u64::from(generator.next_u32());
        Self { generator, correlation: correlation.of(WHOLE).min(WHOLE), last }
    }

    fn draw(&mut self) -> u32 {
        let fresh = u64::from(self.generator.next_u32());
        if self.correlation > 0 {
            let sum = u128::from(fresh) * u128::from(WHOLE - self.correlation)
                + u128::from(self.last) * u128::from(self.correlation);
            self.last = u64::try_from(sum >> 32).unwrap_or(u64::MAX);
        } else {
            self.last = fresh;
        }
        u32::try_from(self.last).unwrap_or(u32::MAX)
    }
}

/// Something that happens to a share of the packets.
struct CorrelatedChance {
    probability: Ratio,
    draws: Correlated,
}

impl CorrelatedChance {
    fn new(chance: Chance, seed: u64) -> Self {
        Self { probability: chance.probability, draws: Correlated::new(chance.correlation, seed) }
    }

    fn happens(&mut self) -> bool {
        self.probability.happens(self.draws.draw())
    }
}

/// Which packets are lost.
enum LossProcess {
    Random(CorrelatedChance),
    Gemodel {
        p: Ratio,
        r: Ratio,
        losses: [Ratio; 2],
        is_bad: bool,
        generator: Pcg32,
    },
    Recorded {
        lost: Vec<bool>,
        next: usize,
    },
    /// Numbers of packets that are still to be lost, the next one last, and how many packets there have been.
    Packets {
        left: Vec<u64>,
        passed: u64,
    },
}

impl LossProcess {
    fn new(loss: &Loss, seed: u64) -> Self {
        match loss {
            &Loss::Random { probability, correlation } => {
                Self::Random(CorrelatedChance::new(Chance { probability, correlation }, seed))
            }
            &Loss::Gemodel { p, r, bad_loss, good_loss } => Self::Gemodel {
                p,
                r,
                losses: [good_loss, bad_loss],
                is_bad: false,
                generator: Pcg32::new(derive_seed(seed, 0), 0),
            },
            Loss::Recorded { lost } => Self::Recorded { lost: lost.clone(), next: 0 },
            Loss::Packets { numbers } => {
                Self::Packets { left: numbers.iter().rev().copied().collect(), passed: 0 }
            }
        }
    }

    fn loses(&mut self) -> bool {
        match self {
            Self::Random(event) => event.happens(),
            Self::Gemodel { p, r, losses, is_bad, generator } => {
                let change = if *is_bad { *r } else { *p };
                if change.happens(generator.next_u32()) {
                    *is_bad = !*is_bad;
                }
                losses[usize::from(*is_bad)].happens(generator.next_u32())
            }
            Self::Recorded { lost, next } => {
                let is_lost = lost.get(*next).copied().unwrap_or(false);
                *next = if *next + 1 < lost.len() { *next + 1 } else { 0 };
                is_lost
            }
            Self::Packets { left, passed } => {
                *passed += 1;
                left.pop_if(|number| number == passed).is_some()
            }
        }
    }
}

/// When packets reach the other end.
struct DelayProcess {
    base: Span,
    /// What of it packets that overtake wait for as well: all but netem's own.
    least: Span,
    jitter: Option<(Deviate, Correlated)>,
    steps: Option<StepProcess>,
    keeps_order: bool,
    reorder: Option<(Reorder, CorrelatedChance)>,
    /// Packets since one overtook.
    since_overtaking: u32,
    slot: Option<SlotProcess>,
    latest: Instant,
}

impl DelayProcess {
    fn new(impairments: &Impairments, base: Span, seed: u64) -> Self {
        let jitter = impairments.jitter.as_ref();
        let reorder = impairments.reorder.map(|reorder| {
            let Reorder { probability, correlation, .. } = reorder;
            (
                reorder,
                CorrelatedChance::new(Chance { probability, correlation }, derive_seed(seed, 5)),
            )
        });
        Self {
            base,
            least: base.saturating_sub(impairments.delay),
            jitter: jitter.map(|jitter: &Jitter| {
                (Deviate::new(jitter), Correlated::new(jitter.correlation, derive_seed(seed, 4)))
            }),
            steps: StepProcess::new(&impairments.delay_steps),
            keeps_order: jitter.is_some_and(|jitter| jitter.keep_order)
                || !impairments.delay_steps.is_empty(),
            reorder,
            since_overtaking: 0,
            slot: impairments.slot.map(|slot| SlotProcess::new(slot, derive_seed(seed, 6))),
            latest: Instant::ZERO,
        }
    }

    fn arrival(&mut self, at: Instant, bytes: u32) -> (Instant, bool) {
        let added = self.steps.as_ref().and_then(|steps| steps.at(at));
        let added = added.map_or(Span::ZERO, |step| step.delay);
        if self.overtakes() {
            return (at + self.least + added, true);
        }
        let mut arrival = at + self.delay() + added;
        if self.keeps_order {
            arrival = arrival.max(self.latest);
        }
        if let Some(slot) = &mut self.slot {
            arrival = slot.next(arrival, bytes);
        }
        self.latest = self.latest.max(arrival);
        (arrival, false)
    }

    /// Whether nothing that is sent at `at` gets through.
    fn is_out(&self, at: Instant) -> bool {
        self.steps.as_ref().is_some_and(|steps| steps.at(at).is_some_and(|step| step.outage))
    }

    /// Whether the next packet does not wait for netem: of those whose turn it is by the gap, the drawn share.
    fn overtakes(&mut self) -> bool {
        let Some((reorder, event)) = &mut self.reorder else { return false };
        self.since_overtaking += 1;
        if self.since_overtaking < reorder.gap || !event.happens() {
            return false;
        }
        self.since_overtaking = 0;
        true
    }

    /// The link's delay and what it varies by, never below zero.
    fn delay(&mut self) -> Span {
        let Some((deviate, draws)) = &mut self.jitter else { return self.base };
        let nanos = i128::from(self.base.as_nanos()) + deviate.nanos(draws.draw());
        Span::from_nanos(u64::try_from(nanos.max(0)).unwrap_or(u64::MAX))
    }
}

/// Delays one after another.
struct StepProcess {
    /// Each step, and its end in nanoseconds from the beginning.
    steps: Vec<(u64, DelayStep)>,
    period: u64,
}

impl StepProcess {
    fn new(steps: &[DelayStep]) -> Option<Self> {
        let mut period = 0_u64;
        let lasting = steps.iter().filter(|step| !step.duration.is_zero());
        let steps: Vec<(u64, DelayStep)> = lasting
            .map(|step| {
                period = period.saturating_add(step.duration.as_nanos());
                (period, *step)
            })
            .collect();
        (period > 0).then_some(Self { steps, period })
    }

    /// The step in which something is sent at `at`.
    fn at(&self, at: Instant) -> Option<&DelayStep> {
        let within = at.as_nanos() % self.period;
        let place = self.steps.partition_point(|(end, _)| *end <= within);
        self.steps.get(place).map(|(_, step)| step)
    }
}

/// Slots: what comes until one begins is delivered then, as far as it holds so much.
struct SlotProcess {
    slot: Slot,
    generator: Pcg32,
    /// Begin of the last slot that was used.
    begin: Instant,
    packets_left: u32,
    bytes_left: u64,
}

impl SlotProcess {
    fn new(slot: Slot, seed: u64) -> Self {
        Self {
            slot,
            generator: Pcg32::new(derive_seed(seed, 0), 0),
            begin: Instant::ZERO,
            packets_left: 0,
            bytes_left: 0,
        }
    }

    /// The first slot at or after `arrival` that has room for `bytes`.
    fn next(&mut self, arrival: Instant, bytes: u32) -> Instant {
        let bytes = u64::from(bytes);
        if self.begin < arrival || self.packets_left == 0 || self.bytes_left < bytes {
            // As in netem, a slot begins so long after what it begins with, not at fixed instants.
            self.begin = self.begin.max(arrival) + self.wait();
            self.packets_left = self.slot.packets.unwrap_or(u32::MAX).max(1);
            // A slot that is smaller than a packet takes one.
            self.bytes_left = self.slot.bytes.unwrap_or(u64::MAX).max(bytes);
        }
        self.packets_left -= 1;
        self.bytes_left -= bytes;
        self.begin
    }

    fn wait(&mut self) -> Span {
        let (least, greatest) = (self.slot.min_delay.as_nanos(), self.slot.max_delay.as_nanos());
        let nanos = self.generator.random_range(least..=greatest.max(least));
        Span::from_nanos(nanos.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwind_qdisc::JitterDistribution;

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
    fn steps_add_a_delay_for_their_time_and_nothing_overtakes_where_it_falls() {
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
    fn nothing_gets_through_during_an_outage_and_all_does_besides() {
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
    fn gilbert_and_elliott_lose_their_share_in_bursts_of_their_length() {
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
    fn correlation_makes_runs_and_the_mix_is_of_first_order() {
        let mut draws = Correlated::new(ratio("25 %"), 3);
        let values: Vec<f64> =
            (0..PACKETS).map(|_| f64::from(draws.draw()) / 4_294_967_296.0).collect();
        let mean = values.iter().sum::<f64>() / f64::from(PACKETS);
        let spread = |lag: usize| {
            values.windows(lag + 1).map(|w| (w[0] - mean) * (w[lag] - mean)).sum::<f64>()
        };
        assert!((spread(1) / spread(0) - 0.25).abs() < 0.01, "{}", spread(1) / spread(0));
    }

    #[test]
    fn duplicates_and_corruption_have_their_shares_and_streams_of_their_own() {
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
    fn every_so_many_packets_the_drawn_share_overtakes() {
        let reorder = Reorder { probability: ratio("25 %"), correlation: Ratio::ZERO, gap: 5 };
        let mut impairer =
            impairer(&Impairments { reorder: Some(reorder), ..Impairments::default() });
        let overtaking: Vec<bool> =
            (0..PACKETS).map(|_| impairer.arrival(Instant::ZERO, 100).1).collect();
        // Four that may not, then a geometric number of tries with 1/4 each: one of 4 + 4.
        assert!((share(&overtaking) - 1.0 / 8.0).abs() < 0.002, "{}", share(&overtaking));
    }

    #[test]
    fn who_overtakes_skips_the_delay_of_netem_and_not_that_of_the_link() {
        let reorder = Reorder { probability: Ratio::ONE, correlation: Ratio::ZERO, gap: 2 };
        let delay = Span::from_millis(10);
        let mut impairer =
            impairer(&Impairments { delay, reorder: Some(reorder), ..Impairments::default() });
        let arrivals = [1, 2].map(|millis| impairer.arrival(Instant::from_millis(millis), 100).0);
        // Of the 50 ms, 40 are the link's.
        assert_eq!(arrivals, [51, 42].map(Instant::from_millis));
    }

    #[test]
    fn slots_deliver_what_came_before_as_far_as_they_hold_it() {
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
    fn jitter_that_keeps_the_order_never_lets_packets_overtake() {
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
