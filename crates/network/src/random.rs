//! Seeds of independent random streams, and flow hashes.

use crate::Header;

/// The seed of stream number `stream` under `seed`.
///
/// Neighbouring streams that begin in the same state are correlated, so the state depends on the
/// stream as well, through the finaliser of `SplitMix64` (Steele, Lea and Flood, 2014).
pub(crate) fn derive_seed(seed: u64, stream: u64) -> u64 {
    let mut state = seed ^ stream.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

/// The hash bucket of the flow of `header`, one of `buckets`.
#[inline]
pub(crate) fn bucket(header: &Header, seed: u64, buckets: u32) -> u32 {
    scale_hash(flow_hash(header, seed), buckets)
}

/// The hash of the flow of `header`.
#[inline]
pub(crate) fn flow_hash(header: &Header, seed: u64) -> u64 {
    let flow = u64::from(header.connection) << 1 | u64::from(header.is_backward);
    let ports = u64::from(header.source_port) << 16 | u64::from(header.destination_port);
    derive_seed(derive_seed(seed, flow), ports << 8 | u64::from(header.protocol))
}

/// Maps `hash` to one of `buckets`.
#[inline]
pub(crate) fn scale_hash(hash: u64, buckets: u32) -> u32 {
    let product = (hash >> 32) * u64::from(buckets);
    u32::try_from(product >> 32).expect("a share of 32 bits")
}
