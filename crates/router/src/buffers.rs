//! Bytes of packets, and bit errors in them.
//! once, and used again.
//!
//! A buffer is named by its number, so that packets are small and plain. Whoever takes a packet out
//! of the network, or is told that it was dropped, gives its buffer back. Copies of a packet share its
//! buffer until one of them is to be written on.
//!
//! Damage to a packet on its way: one bit is turned over, as netem's corruption does (tc-netem(8)).

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

/// Protocol number of UDP.
const UDP: u8 = 17;
/// Where the checksum stands in a UDP header.
const UDP_CHECKSUM: std::ops::Range<usize> = 6..8;

/// Turns one bit of `packet` over, which `draw` chooses, behind its IP header: there the checksum of TCP or
/// UDP covers every bit, so that the host that it is for notices and refuses it.
pub(super) fn flip_bit(packet: &mut [u8], draw: u32) {
    let Some((protocol, above)) = above_ip(packet) else { return };
    let draw = usize::try_from(draw).unwrap_or(usize::MAX);
    let (bit, mut place) = (draw % 8, draw / 8 % above.len().max(1));
    // A checksum that becomes 0 would mean that there is none (RFC 768).
    if protocol == UDP && UDP_CHECKSUM.contains(&place) {
        place = 0;
    }
    if let Some(byte) = above.get_mut(place) {
        *byte ^= 1 << bit;
    }
}

/// The protocol above IP, and what follows the header; extension headers of IPv6 count as that.
fn above_ip(packet: &mut [u8]) -> Option<(u8, &mut [u8])> {
    let first = *packet.first()?;
    let (protocol, header_bytes) = match first >> 4 {
        4 => (*packet.get(9)?, usize::from(first & 0xf) * 4),
        6 => (*packet.get(6)?, 40),
        _ => return None,
    };
    Some((protocol, packet.get_mut(header_bytes..)?))
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

    #[test]
    fn a_shared_buffer_is_free_when_all_have_given_it_back_and_copied_before_it_is_written_on() {
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

    /// An IPv4 packet of this protocol with ten bytes above its header.
    fn packet(protocol: u8) -> Vec<u8> {
        let mut packet = vec![0; 30];
        packet[0] = 0x45;
        packet[9] = protocol;
        packet
    }

    #[test]
    fn one_bit_behind_the_header_is_turned_whatever_is_drawn() {
        for protocol in [6, UDP] {
            for draw in [0, 7, 8, 79, 80, 6 * 8, 7 * 8 + 3, u32::MAX] {
                let before = packet(protocol);
                let mut after = before.clone();
                flip_bit(&mut after, draw);
                let turned: u32 =
                    before.iter().zip(&after).map(|(one, other)| (one ^ other).count_ones()).sum();
                assert_eq!(turned, 1, "{draw}");
                assert_eq!(before[..20], after[..20], "{draw}");
                assert!(protocol != UDP || after[26..28] == [0, 0], "{draw}");
            }
        }
    }

    #[test]
    fn every_bit_can_be_turned() {
        let turned = |draw| {
            let mut packet = packet(6);
            flip_bit(&mut packet, draw);
            packet
        };
        let all: std::collections::BTreeSet<_> = (0..80).map(turned).collect();
        assert_eq!(all.len(), 80);
    }

    #[test]
    fn what_is_no_packet_stays_as_it_is() {
        for bytes in [&b""[..], b"E", b"no packet"] {
            let mut damaged = bytes.to_vec();
            flip_bit(&mut damaged, 3);
            assert_eq!(damaged, bytes);
        }
    }
}
