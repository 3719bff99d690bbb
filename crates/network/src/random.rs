//! Seeds of streams that know nothing of one another.

/// Neighbouring streams that begin in the same state are correlated, so the state depends on the
/// stream as well, through the finaliser of `SplitMix64` (Steele, Lea and Flood, 2014).
pub(crate) fn mixed(seed: u64, stream: u64) -> u64 {
    let mut state = seed ^ stream.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}
