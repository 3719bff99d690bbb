//! What a segment carries: given bytes, or a pattern that every reader can verify.
//!
//! The pattern divides the stream into words of eight bytes, and each word is its own stream
//! offset, big-endian: the byte at any offset is known, a displaced or stale copy shows, and so
//! does the offset to whoever reads a hexadecimal listing. Because 2^16 is 1 modulo 65535, a word
//! counts in the Internet checksum as the number that it is, so the sum of a stretch is an
//! arithmetic series.

use super::checksum::Sum;

const WORD_BYTES: u64 = 8;
/// Modulus of the ones' complement sum of 16-bit words.
const SUM_MODULUS: u128 = 0xffff;

/// The payload of a segment; its length is the segment's `payload_bytes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload<'a> {
    /// These bytes, as many as the segment says.
    Bytes(&'a [u8]),
    /// Bytes that follow from their place in the stream; [`pattern_mismatch`] verifies them.
    Pattern {
        /// Place of the first payload byte in the stream, in bytes from 0, below 2^63.
        stream_offset: u64,
    },
}

impl Payload<'_> {
    /// Adds the checksum of the first `length` bytes.
    pub(super) fn add_to(self, sum: &mut Sum, length: u32) {
        match self {
            Self::Bytes(bytes) => sum.add_bytes(bytes),
            Self::Pattern { stream_offset } => sum.add(pattern_sum(stream_offset, length)),
        }
    }

    /// Appends the first `length` bytes to `out`.
    pub(super) fn append_to(self, out: &mut Vec<u8>, length: usize) {
        match self {
            Self::Bytes(bytes) => out.extend_from_slice(&bytes[..length]),
            Self::Pattern { stream_offset } => append_pattern(stream_offset, length, out),
        }
    }
}

/// Where `bytes`, the first of which is at `stream_offset`, first differ from the pattern of
/// [`Payload::Pattern`]: an index in `bytes`, or `None` where all are as they should be.
pub fn pattern_mismatch(stream_offset: u64, bytes: &[u8]) -> Option<usize> {
    (stream_offset..)
        .zip(bytes)
        .position(|(offset, byte)| pattern_word(offset)[place_in_word(offset)] != *byte)
}

/// The word that the byte at `offset` is part of.
fn pattern_word(offset: u64) -> [u8; 8] {
    (offset / WORD_BYTES * WORD_BYTES).to_be_bytes()
}

fn place_in_word(offset: u64) -> usize {
    usize::try_from(offset % WORD_BYTES).expect("less than eight")
}

fn append_pattern(stream_offset: u64, length: usize, out: &mut Vec<u8>) {
    let end = out.len() + length;
    out.reserve(length + 8);
    let mut offset = stream_offset;
    while out.len() < end {
        let part = &pattern_word(offset)[place_in_word(offset)..];
        out.extend_from_slice(part);
        offset += WORD_BYTES - offset % WORD_BYTES;
    }
    out.truncate(end);
}

/// A number congruent to the ones' complement sum of `length` bytes of the pattern.
fn pattern_sum(stream_offset: u64, length: u32) -> u64 {
    if length == 0 {
        return 0;
    }
    let end = u128::from(stream_offset) + u128::from(length);
    let first = u128::from(stream_offset / WORD_BYTES * WORD_BYTES);
    let last = (end - 1) / 8 * 8;
    let words = (last - first) / 8 + 1;
    // Even, because either the number of words is, or the first and last differ by 16 times it.
    let whole = (first + last) * words / 2;
    let before = kept_bits(first, u128::from(stream_offset) - first);
    let behind = last & (u128::from(u64::MAX) >> (8 * (end - last)));
    let sum = (whole - before - behind) % SUM_MODULUS;
    // From an odd offset the pairs of the packet are those of the stream, shifted by a byte.
    let aligned = if stream_offset.is_multiple_of(2) { sum } else { sum * 0x100 % SUM_MODULUS };
    u64::try_from(aligned).expect("below 65535")
}

/// The word `word` with all but its first `bytes` bytes zero.
fn kept_bits(word: u128, bytes: u128) -> u128 {
    word & !(u128::from(u64::MAX) >> (8 * bytes))
}

#[cfg(test)]
mod tests {
    use super::{Payload, Sum, pattern_mismatch};
    use proptest::prelude::*;

    fn pattern(stream_offset: u64, length: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        Payload::Pattern { stream_offset }.append_to(&mut bytes, length);
        bytes
    }

    #[test]
    fn each_word_of_the_pattern_is_its_own_offset() {
        assert_eq!(pattern(0x0102_0304_0506_0708, 8), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(pattern(0x0102_0304_0506_070e, 4), [0x07, 0x08, 0x01, 0x02]);
    }

    #[test]
    fn a_flipped_bit_and_a_displaced_copy_are_found() {
        let mut bytes = pattern(1_000_003, 1448);
        assert_eq!(pattern_mismatch(1_000_003, &bytes), None);
        bytes[700] ^= 0x10;
        assert_eq!(pattern_mismatch(1_000_003, &bytes), Some(700));
        assert!(pattern_mismatch(1_000_003, &pattern(1_001_451, 1448)).is_some());
    }

    proptest! {
        #[test]
        fn the_sum_of_the_pattern_is_known_without_its_bytes(
            offset in prop_oneof![0_u64..100, any::<u64>().prop_map(|o| o >> 1)],
            length in prop_oneof![0_u32..40, 0_u32..65_536],
        ) {
            // The sum of a packet is never zero, because its header is not.
            let (mut known, mut added) = (Sum::default(), Sum::default());
            known.add(6);
            added.add(6);
            let payload = Payload::Pattern { stream_offset: offset };
            payload.add_to(&mut known, length);
            added.add_bytes(&pattern(offset, usize::try_from(length).unwrap()));
            prop_assert_eq!(known.finish(), added.finish());
        }

        #[test]
        fn a_stretch_of_the_pattern_is_the_same_wherever_it_begins(
            offset in 0_u64..1 << 40, cut in 0_usize..100,
        ) {
            let whole = pattern(offset, 200);
            prop_assert_eq!(&whole[cut..], &pattern(offset + u64::try_from(cut).unwrap(), 200 - cut));
        }
    }
}
