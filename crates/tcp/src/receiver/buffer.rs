//! The memory that received packets take, and the window that it stands for.
//!
//! Source: Linux 6.18 `tcp_queue_rcv`, `tcp_try_coalesce`, `tcp_try_rmem_schedule`,
//! `tcp_prune_queue`, `tcp_clamp_window`, `tcp_init_buffer_space`, `tcp_grow_window`.
//!
//! The memory of a packet, as seen on Linux 6.18 with `SO_MEMINFO` at sockets that a TUN device feeds: the
//! head of a packet is allocated in powers of two (or one small size) with 64 bytes of room in front and the
//! 320 of `struct skb_shared_info` behind; 256 are the packet's own record. What is larger than a page has a
//! head of a page, and further pages for the rest.
//!
//! Cost: a packet is one entry of a ring, or shares its predecessor's; where each is read before the
//! next one comes, the ring is not touched.

use crate::config::Receiving;
use std::collections::VecDeque;

/// Share of the buffer that is window until the peer's packets are known, of 256.
const FIRST_RATIO: u8 = 128;

/// Memory of received packets that were not read, and the limits of the window that follow.
#[derive(Debug)]
pub(crate) struct ReceiveBuffer {
    /// Most bytes of memory (`sk_rcvbuf`).
    limit: u32,
    /// Bytes of memory in use (`sk_rmem_alloc`).
    allocated: u32,
    /// Bytes of memory of packets ahead of their turn, part of `allocated`.
    allocated_ahead: u32,
    /// Share of memory that is payload, of 256 (`scaling_ratio`).
    ratio: u8,
    /// One packet may go beyond the limit.
    takes_beyond: bool,
    /// Largest window (`window_clamp`).
    clamp: u32,
    /// Present limit of the window (`rcv_ssthresh`).
    threshold: u32,
    /// In order, not read: all but the last.
    packets: VecDeque<Packet>,
    /// The last one in order that is not read; without payload if there is none.
    last: Packet,
}

impl ReceiveBuffer {
    getters! {
        limit: u32,
        clamp: u32,
        threshold: u32,
    }

    /// With so many bytes of memory; one packet may go beyond if the buffer `takes_beyond`.
    pub(crate) fn new(limit: u32, takes_beyond: bool) -> Self {
        Self {
            limit,
            allocated: 0,
            allocated_ahead: 0,
            ratio: FIRST_RATIO,
            takes_beyond,
            clamp: 0,
            threshold: 0,
            packets: VecDeque::new(),
            last: Packet::NONE,
        }
    }

    pub(crate) fn set_limit(&mut self, limit: u32) {
        self.limit = limit;
    }

    /// Raises the most bytes of memory, and the largest window with it.
    pub(crate) fn raise_limit(&mut self, memory: u32) {
        if memory > self.limit {
            self.limit = memory;
            self.clamp = self.full_window();
        }
    }

    pub(crate) fn is_unused(&self) -> bool {
        self.allocated == 0
    }

    /// The window that so much memory stands for (`tcp_win_from_space`).
    #[inline]
    pub(crate) fn window_of(&self, memory: u32) -> u32 {
        let product = u64::from(memory) * u64::from(self.ratio);
        u32::try_from(product >> 8).expect("a share of the memory")
    }

    /// The memory that so large a window needs (`tcp_space_from_win`).
    pub(crate) fn memory_for(&self, window: u64) -> u32 {
        u32::try_from((window << 8) / u64::from(self.ratio)).unwrap_or(u32::MAX)
    }

    /// The window of the empty buffer (`tcp_full_space`).
    pub(crate) fn full_window(&self) -> u32 {
        self.window_of(self.limit)
    }

    /// The window of what is free (`tcp_space`).
    pub(crate) fn free_window(&self) -> u32 {
        self.window_of(self.limit.saturating_sub(self.allocated))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.last.payload == 0
    }

    /// Payload of the packet that will be read next.
    pub(crate) fn first_payload(&self) -> u32 {
        self.packets.front().unwrap_or(&self.last).payload
    }

    /// The connection is open: sets the limits of the window (`tcp_init_buffer_space`, with
    /// `tcp_app_win` so large that it takes no part).
    pub(crate) fn open(&mut self, window: u32, clamp: u32, announced_mss: u32) {
        self.threshold = window;
        self.clamp = clamp;
        let most = self.full_window();
        if self.clamp >= most {
            self.clamp = most;
            if most > 4 * announced_mss {
                self.clamp = most.max(4 * announced_mss);
            }
        }
        if self.clamp > 2 * announced_mss && self.clamp + announced_mss > most {
            self.clamp = most.saturating_sub(announced_mss).max(2 * announced_mss);
        }
        self.threshold = self.threshold.min(self.clamp);
    }

    /// Sets the largest window (`tcp_set_window_clamp`).
    pub(crate) fn set_clamp(&mut self, clamp: u32, announced_window: u32) {
        let clamp = clamp.max(crate::config::MIN_BUFFER / 2);
        if clamp < self.clamp {
            self.threshold = self.threshold.min(clamp);
        } else if clamp > self.clamp {
            self.threshold = self.threshold.max(announced_window.min(clamp));
        }
        self.clamp = clamp;
    }

    /// A full-sized segment of another size has come: the share of payload is measured anew.
    /// Returns whether it has changed.
    #[cold]
    pub(crate) fn measure_ratio(&mut self, packet: Packet, announced_window: u32) -> bool {
        let ratio = packet.ratio();
        if ratio == self.ratio {
            return false;
        }
        self.ratio = ratio;
        self.set_clamp(self.full_window(), announced_window);
        true
    }

    /// Lets the window grow towards what the buffer can hold (`tcp_grow_window`); says whether it
    /// did.
    #[inline]
    pub(crate) fn grow(
        &mut self,
        packet: Packet,
        announced_mss: u32,
        segment: u32,
        receiving: &Receiving,
    ) -> bool {
        let room = self.clamp.min(self.free_window()).saturating_sub(self.threshold);
        if room == 0 {
            return false;
        }
        let step = if self.window_of(packet.memory) <= packet.payload {
            2 * announced_mss
        } else {
            self.cautious_step(packet, segment, receiving)
        };
        if step == 0 {
            return false;
        }
        self.threshold += room.min(step.max(2 * packet.payload));
        true
    }

    /// A packet that wastes memory lets only a small window grow (`__tcp_grow_window`).
    fn cautious_step(&self, packet: Packet, segment: u32, receiving: &Receiving) -> u32 {
        let mut memory = self.window_of(packet.memory) >> 1;
        let greatest = receiving.max_buffer.max(self.limit);
        let mut window = self.window_of(greatest) >> 1;
        while self.threshold <= window {
            if memory <= packet.payload {
                return 2 * segment;
            }
            memory >>= 1;
            window >>= 1;
            if window == 0 {
                break;
            }
        }
        0
    }

    /// Whether there is room for a packet, if need be after packing what is there
    /// (`tcp_try_rmem_schedule`).
    pub(crate) fn has_room(&self, packet: Packet) -> bool {
        let payload = if self.takes_beyond { 0 } else { packet.payload };
        self.allocated.saturating_add(payload) <= self.limit
    }

    /// The buffer is full: grows it where nobody has set it, and offers little from now on
    /// (`tcp_clamp_window`).
    #[cold]
    pub(crate) fn clamp_to_use(&mut self, receiving: &Receiving, announced_mss: u32) {
        if self.limit < receiving.max_buffer && !receiving.buffer_is_set {
            self.limit = self.allocated.min(receiving.max_buffer).max(self.limit);
        }
        if self.allocated > self.limit {
            self.threshold = self.clamp.min(2 * announced_mss);
        }
    }

    /// Packs what is in order anew, without the waste (`tcp_collapse`).
    #[cold]
    pub(crate) fn pack(&mut self) {
        let before_last: u32 = self.packets.iter().map(|packet| packet.payload).sum();
        let payload = before_last + self.last.payload;
        let before = self.allocated - self.allocated_ahead;
        let packed = packed_memory(payload);
        if packed >= before || payload == 0 {
            return;
        }
        self.packets.clear();
        self.last = Packet::packed(payload, packed);
        self.allocated = self.allocated_ahead + packed;
    }

    /// Takes a packet behind those in order; small ones move in with their predecessor.
    #[inline]
    pub(crate) fn queue(&mut self, packet: Packet) {
        if packet.payload <= self.last.tail_room {
            self.last.payload += packet.payload;
            self.last.tail_room -= packet.payload;
            return;
        }
        self.allocated += packet.memory;
        let last = std::mem::replace(&mut self.last, packet);
        if last.payload > 0 {
            self.packets.push_back(last);
        }
    }

    /// Takes a packet that is ahead of its turn.
    pub(crate) fn queue_ahead(&mut self, packet: Packet) {
        self.allocated += packet.memory;
        self.allocated_ahead += packet.memory;
    }

    /// Gives up memory of packets that were ahead of their turn.
    pub(crate) fn release_ahead(&mut self, memory: u32) {
        let memory = memory.min(self.allocated_ahead);
        self.allocated_ahead -= memory;
        self.allocated -= memory;
    }

    /// The application has read so many bytes.
    #[inline]
    pub(crate) fn release(&mut self, mut bytes: u32) {
        while let Some(first) = self.packets.front_mut() {
            if first.payload > bytes {
                *first = first.holding(first.payload - bytes);
                return;
            }
            bytes -= first.payload;
            self.allocated -= first.memory;
            self.packets.pop_front();
        }
        if self.last.payload > bytes {
            self.last = self.last.holding(self.last.payload - bytes);
        } else {
            self.allocated -= self.last.memory;
            self.last = Packet::NONE;
        }
    }
}

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
    payload: u32,
    /// Bytes of memory (`truesize`).
    memory: u32,
    /// Free bytes behind the payload, for the next one's.
    tail_room: u32,
}

impl Packet {
    /// No packet at all.
    const NONE: Self = Self { payload: 0, memory: 0, tail_room: 0 };

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

    pub(crate) fn memory(self) -> u32 {
        self.memory
    }

    /// The share of its memory that is payload, of 256.
    fn ratio(self) -> u8 {
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
fn packed_memory(payload: u32) -> u32 {
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
