//! The seeds of an experiment's repetitions.

/// Seed of one repetition, below 2^63.
///
/// It depends on nothing else, so that all points of a grid see the same seeds and can be compared
/// in pairs. The mixing is the finaliser of `SplitMix64` (Steele, Lea, Flood 2014), which spreads
/// neighbouring seeds and repetitions over the whole range.
pub fn replicate_seed(base_seed: u64, replicate: u32) -> u64 {
    const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;
    let step = GOLDEN_GAMMA.wrapping_mul(u64::from(replicate) + 1);
    let mut mixed = base_seed.wrapping_add(step);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ (mixed >> 31)) >> 1
}
