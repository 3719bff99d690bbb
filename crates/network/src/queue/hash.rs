//! Into which bucket a flow falls.

use crate::Header;
use crate::random::mixed;

/// The bucket of the flow of `header`, one of `buckets`.
#[inline]
pub(super) fn bucket(header: &Header, seed: u64, buckets: u32) -> u32 {
    scaled(hash(header, seed), buckets)
}

/// A number that tells flows apart, most likely.
#[inline]
pub(super) fn hash(header: &Header, seed: u64) -> u64 {
    let flow = u64::from(header.connection) << 1 | u64::from(header.is_backward);
    let ports = u64::from(header.source_port) << 16 | u64::from(header.destination_port);
    mixed(mixed(seed, flow), ports << 8 | u64::from(header.protocol))
}

/// The share of `hash` in all numbers, as one of `buckets`.
#[inline]
pub(super) fn scaled(hash: u64, buckets: u32) -> u32 {
    let product = (hash >> 32) * u64::from(buckets);
    u32::try_from(product >> 32).expect("a share of 32 bits")
}
