//! Random loss on a link.

use crate::LinkId;
use crate::random::derive_seed;
use fairwind_units::Ratio;
use rand::Rng;
use rand_pcg::Pcg32;

/// Independent loss of each packet with one probability (Bernoulli), one draw per packet in the
/// order of serialisation.
pub(crate) struct BernoulliLoss {
    probability: Ratio,
    generator: Pcg32,
}

impl BernoulliLoss {
    /// Draws from a stream of its own for each `link` of a network with `seed`.
    pub(crate) fn new(probability: Ratio, seed: u64, link: LinkId) -> Self {
        let stream = u64::from(link.0);
        Self { probability, generator: Pcg32::new(derive_seed(seed, stream), stream) }
    }

    #[inline]
    pub(crate) fn happens(&mut self) -> bool {
        self.probability != Ratio::ZERO && self.probability.happens(self.generator.next_u32())
    }
}
