//! The bytes of streams: zeros, or a pattern that encodes the offset.

use crate::plan::PayloadCheck;

/// The pattern repeats after so many bytes: a prime, so that nothing that is lost, doubled or moved
/// by a round number of bytes fits by chance.
const PERIOD: usize = 65_521;
/// Bytes that can be written at once from any place of a stream.
const WRITE_BYTES: usize = 64 << 10;

/// Source of a stream's bytes.
#[derive(Debug)]
pub(super) struct Payload {
    check: PayloadCheck,
    bytes: Vec<u8>,
}

impl Payload {
    pub(super) fn new(check: PayloadCheck) -> Self {
        let bytes = match check {
            PayloadCheck::Off => vec![0; WRITE_BYTES],
            PayloadCheck::Pattern => (0..PERIOD + WRITE_BYTES).map(pattern).collect(),
        };
        Self { check, bytes }
    }

    /// Whether read bytes are compared with the pattern.
    pub(super) fn is_checked(&self) -> bool {
        self.check == PayloadCheck::Pattern
    }

    /// At most `bytes` bytes of a stream from `offset` on.
    pub(super) fn stream(&self, offset: u64, bytes: u64) -> &[u8] {
        let begin = match self.check {
            PayloadCheck::Off => 0,
            PayloadCheck::Pattern => place(offset),
        };
        let length = usize::try_from(bytes).unwrap_or(usize::MAX).min(WRITE_BYTES);
        &self.bytes[begin..begin + length]
    }

    /// How many of the bytes, which stand at `offset` of their stream, are not what was written.
    pub(super) fn wrong_bytes(&self, offset: u64, received: &[u8]) -> u64 {
        let mut wrong = 0;
        let mut at = offset;
        for part in received.chunks(WRITE_BYTES) {
            let length = u64::try_from(part.len()).unwrap_or(u64::MAX);
            let expected = self.stream(at, length);
            if part != expected {
                wrong += part.iter().zip(expected).filter(|(one, other)| one != other).count();
            }
            at += length;
        }
        u64::try_from(wrong).unwrap_or(u64::MAX)
    }
}

fn place(offset: u64) -> usize {
    let period = u64::try_from(PERIOD).unwrap_or(u64::MAX);
    usize::try_from(offset % period).unwrap_or(0)
}

/// The byte at this place: the high bits of a product, in which neighbours differ.
fn pattern(place: usize) -> u8 {
    let place = u64::try_from(place % PERIOD).unwrap_or(0);
    let [.., high] = (place + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pattern_matches_only_at_its_offset() {
        let payload = Payload::new(PayloadCheck::Pattern);
        for offset in [0, 1, 65_520, 65_521, 1 << 33] {
            let bytes = payload.stream(offset, 1448);
            assert_eq!(payload.wrong_bytes(offset, bytes), 0);
            for moved in [1, 1448, 65_536] {
                assert!(payload.wrong_bytes(offset + moved, bytes) > 1400);
            }
        }
    }

    #[test]
    fn reads_may_be_longer_than_writes() {
        let payload = Payload::new(PayloadCheck::Pattern);
        let mut whole = Vec::new();
        while whole.len() < 300_000 {
            let offset = u64::try_from(whole.len()).expect("small");
            whole.extend_from_slice(payload.stream(offset, u64::MAX));
        }
        assert_eq!(payload.wrong_bytes(0, &whole), 0);
        whole[150_000] ^= 1;
        assert_eq!(payload.wrong_bytes(0, &whole), 1);
    }
}
