//! Bytes of packets, in buffers that are allocated once and used again.
//!
//! A packet holds the number of its buffer. The code that takes a packet out of the network, or handles
//! its drop, gives the buffer back. Copies of a packet share its buffer until one of them is modified.

/// A buffer in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BufferId(u32);

/// All buffers; their number grows to the most packets that were ever inside at once.
pub(crate) struct Buffers {
    all: Vec<Box<[u8]>>,
    /// How many packets each has beyond its first.
    further: Vec<u32>,
    free: Vec<BufferId>,
    bytes_each: usize,
}

impl Buffers {
    /// No buffers yet; each will hold a packet of `bytes_each`.
    pub(crate) fn new(bytes_each: usize) -> Self {
        Self { all: Vec::new(), further: Vec::new(), free: Vec::new(), bytes_each }
    }

    /// A free buffer.
    #[inline]
    pub(crate) fn take(&mut self) -> BufferId {
        match self.free.pop() {
            Some(id) => id,
            None => self.make(),
        }
    }

    #[cold]
    fn make(&mut self) -> BufferId {
        let id =
            BufferId(u32::try_from(self.all.len()).expect("fewer than 2^32 packets are inside"));
        self.all.push(vec![0; self.bytes_each].into_boxed_slice());
        self.further.push(0);
        // Giving every buffer back then needs no more room.
        self.free.reserve(self.all.len());
        id
    }

    /// One more packet has this buffer.
    pub(crate) fn share(&mut self, id: BufferId) {
        self.further[Self::index(id)] += 1;
    }

    /// A buffer with the same first `length` bytes that no other packet has: the same one where that is so.
    pub(crate) fn own(&mut self, id: BufferId, length: usize) -> BufferId {
        if self.further[Self::index(id)] == 0 {
            return id;
        }
        self.further[Self::index(id)] -= 1;
        let copy = self.take();
        let (from, to) = (Self::index(id), Self::index(copy));
        if let Ok([from, to]) = self.all.get_disjoint_mut([from, to]) {
            to[..length].copy_from_slice(&from[..length]);
        }
        copy
    }

    /// Gives a buffer back, which is free once all packets that have it did so.
    #[inline]
    pub(crate) fn give_back(&mut self, id: BufferId) {
        let further = &mut self.further[Self::index(id)];
        if *further == 0 {
            self.free.push(id);
        } else {
            *further -= 1;
        }
    }

    /// All bytes of a buffer.
    #[inline]
    pub(crate) fn bytes(&self, id: BufferId) -> &[u8] {
        &self.all[Self::index(id)]
    }

    /// All bytes of a buffer, to be filled.
    #[inline]
    pub(crate) fn bytes_mut(&mut self, id: BufferId) -> &mut [u8] {
        &mut self.all[Self::index(id)]
    }

    /// Buffers in use.
    #[cfg(test)]
    pub(crate) fn in_use(&self) -> usize {
        self.all.len() - self.free.len()
    }

    #[inline]
    fn index(BufferId(id): BufferId) -> usize {
        // Widening on every machine that this runs on.
        usize::try_from(id).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returned_buffer_is_reused() {
        let mut buffers = Buffers::new(4);
        let first = buffers.take();
        buffers.bytes_mut(first).copy_from_slice(b"abcd");
        let second = buffers.take();
        assert_ne!(first, second);
        assert_eq!(buffers.in_use(), 2);
        buffers.give_back(first);
        assert_eq!(buffers.take(), first);
        assert_eq!(buffers.bytes(first), b"abcd");
        assert_eq!(buffers.all.len(), 2);
    }

    #[test]
    fn shared_buffer_is_copied_before_write() {
        let mut buffers = Buffers::new(4);
        let first = buffers.take();
        buffers.bytes_mut(first).copy_from_slice(b"abcd");
        buffers.share(first);
        let own = buffers.own(first, 3);
        assert_ne!(own, first);
        assert_eq!(buffers.bytes(own)[..3], *b"abc");
        assert_eq!(buffers.own(first, 4), first, "nobody else has it any more");
        buffers.share(first);
        buffers.give_back(first);
        assert_eq!(buffers.in_use(), 2, "one packet still has it");
        buffers.give_back(first);
        assert_eq!(buffers.in_use(), 1);
    }
}
