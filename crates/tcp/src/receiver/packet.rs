//! How much memory a received packet takes.
//!
//! Source: Linux 6.18, seen with `SO_MEMINFO` at sockets that a TUN device feeds: the head of a
//! packet is allocated in powers of two (or one small size) with 64 bytes of room in front and the
//! 320 of `struct skb_shared_info` behind; 256 are the packet's own record. What is larger than a
//! page has a head of a page, and further pages for the rest.

/// Room in front of a packet's first byte (`NET_SKB_PAD`).
const HEAD_ROOM: u32 = 64;
/// `struct skb_shared_info`, aligned.
const SHARED_BYTES: u32 = 320;
/// `struct sk_buff`, aligned.
const RECORD_BYTES: u32 = 256;
/// The size of heads that come from a cache of their own (`SKB_SMALL_HEAD_CACHE_SIZE`).
const SMALL_HEAD: u32 = 576;
const PAGE: u32 = 4096;
/// What the head of a packet that needs more than a page holds of it.
const PAGE_HEAD: u32 = PAGE - HEAD_ROOM - SHARED_BYTES;

/// A packet as the receive buffer sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packet {
    /// Payload in bytes.
    pub(crate) payload: u32,
    /// Bytes of memory (`truesize`).
    pub(crate) memory: u32,
    /// Free bytes behind the payload, for the next one's.
    pub(crate) tail_room: u32,
}

impl Packet {
    /// No packet at all.
    pub(crate) const NONE: Self = Self { payload: 0, memory: 0, tail_room: 0 };

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
        Self { payload, memory: head + RECORD_BYTES, tail_room }
    }

    #[cold]
    fn in_pages(length: u32, payload: u32) -> Self {
        let pages = (length - PAGE_HEAD).div_ceil(PAGE);
        Self { payload, memory: RECORD_BYTES + (1 + pages) * PAGE, tail_room: 0 }
    }

    /// The share of its memory that is payload, of 256.
    pub(crate) fn ratio(self) -> u8 {
        let ratio = (u64::from(self.payload) << 8) / u64::from(self.memory);
        u8::try_from(ratio).unwrap_or(u8::MAX).max(1)
    }

    /// The memory that packets like this one take for so many bytes of payload.
    pub(crate) fn memory_for(self, payload: u32) -> u32 {
        let memory = (u64::from(payload) << 8).div_ceil(u64::from(self.ratio()));
        u32::try_from(memory).unwrap_or(u32::MAX)
    }

    /// Payload that lies in so much memory, to which nothing can be added.
    pub(crate) fn packed(payload: u32, memory: u32) -> Self {
        Self { payload, memory, tail_room: 0 }
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
    fn memory_is_what_linux_tells() {
        let told = [
            (1, 832),
            (152, 832),
            (153, 1280),
            (600, 1280),
            (1000, 2304),
            (1460, 2304),
            (1625, 4352),
            (3676, 8448),
            (8000, 12_544),
            (12_000, 16_640),
            (60_000, 61_696),
        ];
        for (payload, memory) in told {
            assert_eq!(Packet::received(40, payload).memory, memory, "{payload} bytes");
        }
        assert_eq!(Packet::received(40, 1460).tail_room, 164);
    }
}
