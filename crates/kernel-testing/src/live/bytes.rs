//! The bytes of a stream, by their offset from its beginning.

use std::collections::VecDeque;

/// Bytes that were written, until the peer has acknowledged them.
#[derive(Debug, Default)]
pub(super) struct SentBytes {
    /// Offset of the first byte that is kept.
    base: u64,
    kept: VecDeque<u8>,
}

impl SentBytes {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.kept.extend(bytes);
    }

    /// Forgets what lies before `offset`.
    pub(super) fn release(&mut self, offset: u64) {
        let count = offset.saturating_sub(self.base).min(length(self.kept.len()));
        self.kept.drain(..index(count));
        self.base += count;
    }

    /// The `bytes` bytes from `offset` on.
    ///
    /// # Panics
    /// Where they were never written, or are released: the endpoint sends nothing of the kind.
    pub(super) fn get(&self, offset: u64, bytes: u32) -> Vec<u8> {
        let begin = offset.checked_sub(self.base).expect("acknowledged bytes are not sent again");
        let begin = index(begin);
        let end = begin + index(u64::from(bytes));
        self.kept.range(begin..end).copied().collect()
    }
}

/// Bytes that have come, until they are read. Which of them are there is what the endpoint knows.
#[derive(Debug, Default)]
pub(super) struct ReceivedBytes {
    /// Offset of the first byte that was not read.
    base: u64,
    kept: VecDeque<u8>,
}

/// Further ahead than any window reaches nothing is kept.
const FURTHEST: u64 = 1 << 30;

impl ReceivedBytes {
    /// Keeps bytes that stand at `offset`; those that were read already are left out.
    pub(super) fn put(&mut self, offset: u64, bytes: &[u8]) {
        let known = index(self.base.saturating_sub(offset)).min(bytes.len());
        let (offset, bytes) = (offset.max(self.base), &bytes[known..]);
        if bytes.is_empty() || offset - self.base > FURTHEST {
            return;
        }
        let begin = index(offset - self.base);
        if begin + bytes.len() > self.kept.len() {
            self.kept.resize(begin + bytes.len(), 0);
        }
        for (place, byte) in self.kept.range_mut(begin..begin + bytes.len()).zip(bytes) {
            *place = *byte;
        }
    }

    /// Takes the first `bytes` bytes.
    pub(super) fn take(&mut self, bytes: u32) -> Vec<u8> {
        let count = index(u64::from(bytes)).min(self.kept.len());
        self.base += u64::from(bytes);
        self.kept.drain(..count).collect()
    }
}

fn index(offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}

fn length(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::{ReceivedBytes, SentBytes};

    #[test]
    fn sent_bytes_are_found_by_their_offset_until_released() {
        let mut sent = SentBytes::default();
        sent.push(b"hello ");
        sent.push(b"world");
        assert_eq!(sent.get(4, 4), b"o wo");
        sent.release(6);
        sent.release(2);
        assert_eq!(sent.get(6, 5), b"world");
    }

    #[test]
    fn received_bytes_come_in_any_order_and_more_than_once() {
        let mut received = ReceivedBytes::default();
        received.put(6, b"world");
        received.put(0, b"hel");
        received.put(2, b"llo ");
        assert_eq!(received.take(6), b"hello ");
        received.put(3, b"lo wo");
        assert_eq!(received.take(5), b"world");
    }
}
