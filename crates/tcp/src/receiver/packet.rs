//! How much memory a received packet takes.
//!
//! Source: Linux 6.18, seen with `SO_MEMINFO` at sockets that a TUN device feeds: the head of a
//! packet is allocated in powers of two (or one small size) with 64 bytes of room in front and the
//! 320 of `struct skb_shared_info` behind; 256 are the packet's own record. Packets that do not fit
//! into a page lie in pages of their own.

/// Room in front of a packet's first byte (`NET_SKB_PAD`).
const HEAD_ROOM: u32 = 64;
/// `struct skb_shared_info`, aligned.
const SHARED_BYTES: u32 = 320;
/// `struct sk_buff`, aligned.
const RECORD_BYTES: u32 = 256;
/// The size of heads that come from a cache of their own (`SKB_SMALL_HEAD_CACHE_SIZE`).
const SMALL_HEAD: u32 = 704;
const PAGE: u32 = 4096;
/// Largest piece that pages are allocated in (order 3).
const LARGEST_PIECE: u32 = 8 * PAGE;

/// A packet as the receive buffer sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packet {
    /// Payload in bytes.
    pub(crate) payload: u32,
    /// Bytes of memory (`truesize`).
    pub(crate) memory: u32,
    /// Free bytes behind the payload, for the next one's.
    pub(crate) tail_room: u32,
    /// Bytes of memory that are not pages of payload.
    head: u32,
}

impl Packet {
    /// A packet with so many bytes of payload behind so many of headers.
    #[inline]
    pub(crate) fn received(headers: u32, payload: u32) -> Self {
        let length = headers + payload;
        if HEAD_ROOM + length >= PAGE {
            return Self::in_pages(length, payload);
        }
        let needed = aligned(HEAD_ROOM + length);
        let head = head_size(needed + SHARED_BYTES);
        let tail_room = head - SHARED_BYTES - HEAD_ROOM - length;
        Self { payload, memory: head + RECORD_BYTES, tail_room, head: 0 }
    }

    #[cold]
    fn in_pages(length: u32, payload: u32) -> Self {
        let mut left = length;
        let mut pages = 0;
        while left > 0 {
            let mut piece = LARGEST_PIECE;
            while piece > PAGE && left.next_multiple_of(PAGE) < piece {
                piece /= 2;
            }
            pages += piece;
            left = left.saturating_sub(piece);
        }
        let head = SMALL_HEAD + RECORD_BYTES;
        Self { payload, memory: head + pages, tail_room: 0, head }
    }

    /// The memory that tells whether the window may grow: without the head where all the payload
    /// lies in pages (Linux `truesize_adjust`).
    #[inline]
    pub(crate) fn memory_for_growth(self) -> u32 {
        let adjusted = self.memory - self.head;
        if adjusted < self.payload { self.memory } else { adjusted }
    }

    /// Payload that lies in so much memory, to which nothing can be added.
    pub(crate) fn packed(payload: u32, memory: u32) -> Self {
        Self { payload, memory, tail_room: 0, head: 0 }
    }

    /// The packet with only so much of its payload.
    #[inline]
    pub(crate) fn holding(self, payload: u32) -> Self {
        Self { payload, ..self }
    }
}

fn aligned(bytes: u32) -> u32 {
    bytes.next_multiple_of(64)
}

/// The size that is allocated for a head of at least `bytes`.
#[inline]
fn head_size(bytes: u32) -> u32 {
    if bytes <= SMALL_HEAD { SMALL_HEAD } else { bytes.next_power_of_two() }
}

/// Memory that so much payload takes once it is packed anew (Linux `tcp_collapse`).
pub(crate) fn packed_memory(payload: u32) -> u32 {
    let full = PAGE - SHARED_BYTES;
    let rest = payload % full;
    let tail = if rest == 0 { 0 } else { head_size(aligned(rest) + SHARED_BYTES) + RECORD_BYTES };
    payload / full * (PAGE + RECORD_BYTES) + tail
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_ethernet_packet_takes_2304_bytes() {
        let packet = Packet::received(40, 1460);
        assert_eq!((packet.memory, packet.tail_room), (2304, 164));
        assert_eq!(Packet::received(52, 1000).memory, 2304);
        assert_eq!(Packet::received(40, 10).memory, 960);
    }
}
