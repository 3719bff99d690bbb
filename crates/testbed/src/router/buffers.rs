//! Where the bytes of packets lie while they are inside the network: read into once, written out of
//! once, and used again.
//!
//! A buffer is named by its number, so that packets are small and plain. Whoever takes a packet out
//! of the network, or is told that it was dropped, gives its buffer back.

/// A buffer in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BufferId(u32);

/// All buffers; their number grows to the most packets that were ever inside at once.
pub(crate) struct Buffers {
    all: Vec<Box<[u8]>>,
    free: Vec<BufferId>,
    bytes_each: usize,
}

impl Buffers {
    /// No buffers yet; each will hold a packet of `bytes_each`.
    pub(crate) fn new(bytes_each: usize) -> Self {
        Self { all: Vec::new(), free: Vec::new(), bytes_each }
    }

    /// A buffer that nobody uses.
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
        // Giving every buffer back then needs no more room.
        self.free.reserve(self.all.len());
        id
    }

    /// Gives a buffer back.
    #[inline]
    pub(crate) fn give_back(&mut self, id: BufferId) {
        self.free.push(id);
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
    fn a_buffer_that_was_given_back_is_used_again() {
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
}
