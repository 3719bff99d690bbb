//! Random loss on a link.

use crate::LinkId;
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
        Self { probability, generator: Pcg32::new(mixed(seed, stream), stream) }
    }

    #[inline]
    pub(crate) fn happens(&mut self) -> bool {
        self.probability != Ratio::ZERO && self.probability.happens(self.generator.next_u32())
    }
}

/// Neighbouring streams that begin in the same state are correlated, so the state depends on the
/// stream as well, through the finaliser of `SplitMix64` (Steele, Lea and Flood, 2014).
fn mixed(seed: u64, stream: u64) -> u64 {
    let mut state = seed ^ stream.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}
