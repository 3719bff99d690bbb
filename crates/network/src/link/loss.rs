//! Loss processes of a link, and the correlated random numbers of netem.
//!
//! Source: tc-netem(8).

use crate::LinkId;
use crate::packet::derive_seed;
use fairwind_qdisc::{Chance, Loss};
use fairwind_units::Ratio;
use rand::Rng as _;
use rand_pcg::Pcg32;

/// Independent loss of each packet (Bernoulli), one draw per packet in the order of serialisation.
pub(crate) struct BernoulliLoss {
    probability: Ratio,
    generator: Pcg32,
}

impl BernoulliLoss {
    /// Uses an independent random stream for each `link` of a network with `seed`.
    pub(crate) fn new(probability: Ratio, seed: u64, link: LinkId) -> Self {
        let stream = u64::from(link.0);
        Self { probability, generator: Pcg32::new(derive_seed(seed, stream), stream) }
    }

    #[inline]
    pub(crate) fn happens(&mut self) -> bool {
        self.probability != Ratio::ZERO && self.probability.happens(self.generator.next_u32())
    }
}

/// Correlated random numbers (netem's `get_crandom`): `(1 - c) x + c last`.
pub(super) struct CorrelatedRandom {
    generator: Pcg32,
    correlation: u64,
    last: u64,
}

/// Upper bound of a draw.
const WHOLE: u64 = 1 << 32;

impl CorrelatedRandom {
    pub(super) fn new(correlation: Ratio, seed: u64) -> Self {
        let mut generator = Pcg32::new(derive_seed(seed, 0), 0);
        let last = u64::from(generator.next_u32());
        Self { generator, correlation: correlation.of(WHOLE).min(WHOLE), last }
    }

    pub(super) fn draw(&mut self) -> u32 {
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

/// An event that hits a share of the packets, with correlation.
pub(super) struct CorrelatedChance {
    probability: Ratio,
    draws: CorrelatedRandom,
}

impl CorrelatedChance {
    pub(super) fn new(chance: Chance, seed: u64) -> Self {
        Self {
            probability: chance.probability,
            draws: CorrelatedRandom::new(chance.correlation, seed),
        }
    }

    pub(super) fn happens(&mut self) -> bool {
        self.probability.happens(self.draws.draw())
    }
}

/// State of [`FourStates`]; the number is that of the paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LossState {
    /// 1: delivers.
    Gap,
    /// 2: delivers within a burst.
    BurstPause,
    /// 3: loses within a burst.
    Burst,
    /// 4: loses one packet outside of bursts.
    Isolated,
}

/// A Markov chain with four states, of which two lose packets (Salsano, Ludovici, Ordine and Giannuzzi, "Definition of a
/// general and intuitive loss model for packet networks", 2012).
pub(super) struct FourStates {
    to_burst: Ratio,
    to_isolated: Ratio,
    leave_burst: Ratio,
    pause_burst: Ratio,
    resume_burst: Ratio,
    state: LossState,
    generator: Pcg32,
}

impl FourStates {
    /// Moves to the state of the next packet, with one draw, and tells whether that loses it.
    fn loses(&mut self) -> bool {
        let draw = self.generator.next_u32();
        let either = |one: Ratio, other: Ratio| {
            let sum = one.as_parts_per_billion() + other.as_parts_per_billion();
            Ratio::from_parts_per_billion(sum).happens(draw)
        };
        self.state = match self.state {
            LossState::Gap if self.to_isolated.happens(draw) => LossState::Isolated,
            LossState::Gap if either(self.to_isolated, self.to_burst) => LossState::Burst,
            LossState::BurstPause if self.resume_burst.happens(draw) => LossState::Burst,
            LossState::Burst if self.pause_burst.happens(draw) => LossState::BurstPause,
            LossState::Burst if either(self.pause_burst, self.leave_burst) => LossState::Gap,
            LossState::Isolated => LossState::Gap,
            unchanged => unchanged,
        };
        matches!(self.state, LossState::Burst | LossState::Isolated)
    }
}

/// Loss process.
pub(super) enum LossProcess {
    Random(CorrelatedChance),
    Gemodel {
        p: Ratio,
        r: Ratio,
        losses: [Ratio; 2],
        is_bad: bool,
        generator: Pcg32,
    },
    State(FourStates),
    Recorded {
        lost: Vec<bool>,
        next: usize,
    },
    /// Numbers of packets still to be lost, the next one last, and the number of packets so far.
    Packets {
        left: Vec<u64>,
        passed: u64,
    },
}

impl LossProcess {
    pub(super) fn new(loss: &Loss, seed: u64) -> Self {
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
            &Loss::State { p13, p31, p32, p23, p14 } => Self::State(FourStates {
                to_burst: p13,
                to_isolated: p14,
                leave_burst: p31,
                pause_burst: p32,
                resume_burst: p23,
                state: LossState::Gap,
                generator: Pcg32::new(derive_seed(seed, 0), 0),
            }),
            Loss::Recorded { lost } => Self::Recorded { lost: lost.clone(), next: 0 },
            Loss::Packets { numbers } => {
                Self::Packets { left: numbers.iter().rev().copied().collect(), passed: 0 }
            }
        }
    }

    pub(super) fn loses(&mut self) -> bool {
        match self {
            Self::Random(event) => event.happens(),
            Self::Gemodel { p, r, losses, is_bad, generator } => {
                let change = if *is_bad { *r } else { *p };
                if change.happens(generator.next_u32()) {
                    *is_bad = !*is_bad;
                }
                losses[usize::from(*is_bad)].happens(generator.next_u32())
            }
            Self::State(states) => states.loses(),
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
