//! The Internet checksum (RFC 1071): the complement of the ones' complement sum of 16-bit words.

/// A running ones' complement sum of big-endian words.
///
/// The number is congruent to the sum modulo 65535, and zero only if every word was zero, so the
/// order and width of additions do not matter.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sum(u64);

impl Sum {
    /// Adds bytes; an odd number is padded with a zero byte, so only the last piece of a packet may
    /// be odd.
    ///
    /// It adds little-endian words of four bytes, a loop that compilers vectorise, and swaps the
    /// bytes of the folded sum once (RFC 1071 §2 (B)). The sum of a packet, at most 2^14 words of
    /// 32 bits, cannot overflow.
    pub(super) fn add_bytes(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<4>();
        let sum: u64 = words.iter().map(|word| u64::from(u32::from_le_bytes(*word))).sum();
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        self.add(u64::from(fold(sum + u64::from(u32::from_le_bytes(last))).swap_bytes()));
    }

    /// Adds a number that is congruent, modulo 65535, to the sum of some words.
    pub(super) fn add(&mut self, number: u64) {
        self.0 = u64::from(fold(self.0)) + u64::from(fold(number));
    }

    /// The value of the checksum field: the complement of the sum.
    pub(super) fn finish(self) -> u16 {
        !fold(self.0)
    }

    /// Whether the words, a checksum field among them, add up as they should (RFC 1071 §1 (3)).
    pub(super) fn is_complete(self) -> bool {
        fold(self.0) == 0xffff
    }
}

/// The 16-bit ones' complement sum of the four words of `number`.
fn fold(number: u64) -> u16 {
    let mut number = number;
    while number > 0xffff {
        number = (number >> 16) + (number & 0xffff);
    }
    u16::try_from(number).expect("the loop ends at 16 bits")
}

#[cfg(test)]
mod tests {
    use super::Sum;
    use proptest::prelude::*;

    /// The definition, word by word.
    fn plain_checksum(bytes: &[u8]) -> u16 {
        let mut sum = 0_u32;
        for pair in bytes.chunks(2) {
            sum += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !u16::try_from(sum).unwrap()
    }

    #[test]
    fn rfc_1071_example_matches() {
        let mut sum = Sum::default();
        sum.add_bytes(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]);
        assert_eq!(sum.finish(), !0xddf2);
    }

    proptest! {
        #[test]
        fn wide_sum_equals_word_sum(
            mut head in proptest::collection::vec(any::<u8>(), 0..60),
            tail in proptest::collection::vec(any::<u8>(), 0..3000),
        ) {
            head.truncate(head.len() / 2 * 2);
            let mut sum = Sum::default();
            sum.add_bytes(&head);
            sum.add_bytes(&tail);
            prop_assert_eq!(sum.finish(), plain_checksum(&[head, tail].concat()));
        }
    }
}
