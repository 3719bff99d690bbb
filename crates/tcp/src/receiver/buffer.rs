//! Receive buffer: memory accounting (`sk_rmem_alloc`) and the window that it allows.
//!
//! Source: Linux 6.18 `tcp_queue_rcv`, `tcp_try_coalesce`, `tcp_try_rmem_schedule`,
//! `tcp_prune_queue`, `tcp_clamp_window`, `tcp_init_buffer_space`, `tcp_grow_window`.
//!
//! `truesize` of a packet, measured on Linux 6.18 with `SO_MEMINFO` at sockets behind a TUN device: the head
//! has 64 bytes of headroom, the packet, and 320 bytes of `struct skb_shared_info`. It is allocated in powers
//! of two, or in one small size. `struct sk_buff` takes 256 bytes. A packet larger than a page has a head of
//! one page, and further pages for the rest.
//!
//! Cost: a packet is one entry of a ring, or coalesced with the one before. The ring stays untouched while
//! the application reads each packet before the next one arrives.

use crate::config::Receiving;
use std::collections::VecDeque;

/// Initial scaling ratio, before the first full-sized segment (of 256).
const INITIAL_SCALING_RATIO: u8 = 128;

/// Memory of unread packets, and the window limits that follow from it.
#[derive(Debug)]
pub(crate) struct ReceiveBuffer {
    /// Maximum bytes of memory (`sk_rcvbuf`).
    limit: u32,
    /// Bytes of memory in use (`sk_rmem_alloc`).
    allocated: u32,
    /// Bytes of memory of out-of-order packets, part of `allocated`.
    out_of_order_allocated: u32,
    /// Share of memory that is payload, of 256 (`scaling_ratio`).
    scaling_ratio: u8,
    /// One packet may go beyond the limit.
    allows_overcommit: bool,
    /// Maximum window (`window_clamp`).
    clamp: u32,
    /// Present limit of the window (`rcv_ssthresh`).
    window_threshold: u32,
    /// Unread packets in order, without the last one.
    packets: VecDeque<Skb>,
    /// The last unread packet in order; without payload if there is none.
    last: Skb,
}

impl ReceiveBuffer {
    getters! {
        limit: u32,
        clamp: u32,
        window_threshold: u32,
    }

    /// An empty buffer of `limit` bytes of memory.
    pub(crate) fn new(limit: u32, allows_overcommit: bool) -> Self {
        Self {
            limit,
            allocated: 0,
            out_of_order_allocated: 0,
            scaling_ratio: INITIAL_SCALING_RATIO,
            allows_overcommit,
            clamp: 0,
            window_threshold: 0,
            packets: VecDeque::new(),
            last: Skb::NONE,
        }
    }

    pub(crate) fn set_limit(&mut self, limit: u32) {
        self.limit = limit;
    }

    /// Raises the memory limit, and the maximum window with it.
    pub(crate) fn raise_limit(&mut self, memory: u32) {
        if memory > self.limit {
            self.limit = memory;
            self.clamp = self.full_window();
        }
    }

    pub(crate) fn is_unused(&self) -> bool {
        self.allocated == 0
    }

    /// The window for an amount of memory (`tcp_win_from_space`).
    #[inline]
    pub(crate) fn window_from_space(&self, memory: u32) -> u32 {
        let product = u64::from(memory) * u64::from(self.scaling_ratio);
        u32::try_from(product >> 8).expect("a share of the memory")
    }

    /// The memory for a window (`tcp_space_from_win`).
    pub(crate) fn space_from_window(&self, window: u64) -> u32 {
        u32::try_from((window << 8) / u64::from(self.scaling_ratio)).unwrap_or(u32::MAX)
    }

    /// The window of the empty buffer (`tcp_full_space`).
    pub(crate) fn full_window(&self) -> u32 {
        self.window_from_space(self.limit)
    }

    /// The window for the free memory (`tcp_space`).
    pub(crate) fn free_window(&self) -> u32 {
        self.window_from_space(self.limit.saturating_sub(self.allocated))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.last.payload == 0
    }

    /// Payload of the oldest unread packet.
    pub(crate) fn first_payload(&self) -> u32 {
        self.packets.front().unwrap_or(&self.last).payload
    }

    /// Sets the limits of the window when the connection opens (`tcp_init_buffer_space`, with
    /// `tcp_app_win` too large to matter).
    pub(crate) fn open(&mut self, window: u32, clamp: u32, announced_mss: u32) {
        self.window_threshold = window;
        self.clamp = clamp;
        let full = self.full_window();
        if self.clamp >= full {
            self.clamp = full;
            if full > 4 * announced_mss {
                self.clamp = full.max(4 * announced_mss);
            }
        }
        if self.clamp > 2 * announced_mss && self.clamp + announced_mss > full {
            self.clamp = full.saturating_sub(announced_mss).max(2 * announced_mss);
        }
        self.window_threshold = self.window_threshold.min(self.clamp);
    }

    /// Sets the maximum window (`tcp_set_window_clamp`).
    pub(crate) fn set_clamp(&mut self, clamp: u32, announced_window: u32) {
        let clamp = clamp.max(crate::config::MIN_BUFFER / 2);
        if clamp < self.clamp {
            self.window_threshold = self.window_threshold.min(clamp);
        } else if clamp > self.clamp {
            self.window_threshold = self.window_threshold.max(announced_window.min(clamp));
        }
        self.clamp = clamp;
    }

    /// Updates the scaling ratio from a full-sized segment (`tcp_measure_rcv_mss`). Returns whether it has
    /// changed.
    #[cold]
    pub(crate) fn update_scaling_ratio(&mut self, packet: Skb, announced_window: u32) -> bool {
        let ratio = packet.ratio();
        if ratio == self.scaling_ratio {
            return false;
        }
        self.scaling_ratio = ratio;
        self.set_clamp(self.full_window(), announced_window);
        true
    }

    /// Lets the window grow towards the room in the buffer (`tcp_grow_window`). Returns whether it did.
    #[inline]
    pub(crate) fn grow(
        &mut self,
        packet: Skb,
        announced_mss: u32,
        segment: u32,
        receiving: &Receiving,
    ) -> bool {
        let room = self.clamp.min(self.free_window()).saturating_sub(self.window_threshold);
        if room == 0 {
            return false;
        }
        let step = if self.window_from_space(packet.truesize) <= packet.payload {
            2 * announced_mss
        } else {
            self.growth_step(packet, segment, receiving)
        };
        if step == 0 {
            return false;
        }
        self.window_threshold += room.min(step.max(2 * packet.payload));
        true
    }

    /// Growth for a packet with a large overhead: only a small window grows (`__tcp_grow_window`).
    fn growth_step(&self, packet: Skb, segment: u32, receiving: &Receiving) -> u32 {
        let mut memory = self.window_from_space(packet.truesize) >> 1;
        let max = receiving.max_buffer.max(self.limit);
        let mut window = self.window_from_space(max) >> 1;
        while self.window_threshold <= window {
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

    /// Whether there is room for a packet (`tcp_try_rmem_schedule`).
    pub(crate) fn has_room(&self, packet: Skb) -> bool {
        let payload = if self.allows_overcommit { 0 } else { packet.payload };
        self.allocated.saturating_add(payload) <= self.limit
    }

    /// Handles a full buffer: grows it unless the application has set its size, and clamps the window
    /// (`tcp_clamp_window`).
    #[cold]
    pub(crate) fn clamp_window(&mut self, receiving: &Receiving, announced_mss: u32) {
        if self.limit < receiving.max_buffer && !receiving.buffer_is_set {
            self.limit = self.allocated.min(receiving.max_buffer).max(self.limit);
        }
        if self.allocated > self.limit {
            self.window_threshold = self.clamp.min(2 * announced_mss);
        }
    }

    /// Copies the packets in order into buffers of a page (`tcp_collapse`).
    #[cold]
    pub(crate) fn collapse(&mut self) {
        let before_last: u32 = self.packets.iter().map(|packet| packet.payload).sum();
        let payload = before_last + self.last.payload;
        let before = self.allocated - self.out_of_order_allocated;
        let collapsed = collapsed_truesize(payload);
        if collapsed >= before || payload == 0 {
            return;
        }
        self.packets.clear();
        self.last = Skb::NONE;
        self.allocated = self.out_of_order_allocated;
        self.queue_alike(payload, collapsed, PAGE_PAYLOAD);
    }

    /// Queues data that lies in packets of `each` bytes, which together take `memory`: each is released by itself.
    #[cold]
    pub(crate) fn queue_alike(&mut self, mut payload: u32, mut memory: u32, each: u32) {
        let each = each.max(1);
        let count = payload.div_ceil(each).max(1);
        let of_each = memory.div_ceil(count);
        while payload > each {
            self.queue(Skb::collapsed(each, of_each.min(memory)));
            payload -= each;
            memory -= of_each.min(memory);
        }
        self.queue(Skb::collapsed(payload, memory));
    }

    /// Queues a packet in order; small ones are coalesced with the last one (`tcp_try_coalesce`).
    #[inline]
    pub(crate) fn queue(&mut self, packet: Skb) {
        if packet.payload <= self.last.tail_room {
            self.last.payload += packet.payload;
            self.last.tail_room -= packet.payload;
            return;
        }
        self.allocated += packet.truesize;
        let last = std::mem::replace(&mut self.last, packet);
        if last.payload > 0 {
            self.packets.push_back(last);
        }
    }

    pub(crate) fn queue_out_of_order(&mut self, packet: Skb) {
        self.allocated += packet.truesize;
        self.out_of_order_allocated += packet.truesize;
    }

    pub(crate) fn release_out_of_order(&mut self, memory: u32) {
        let memory = memory.min(self.out_of_order_allocated);
        self.out_of_order_allocated -= memory;
        self.allocated -= memory;
    }

    /// Releases memory after the application has read `bytes` bytes.
    #[inline]
    pub(crate) fn release(&mut self, mut bytes: u32) {
        while let Some(first) = self.packets.front_mut() {
            if first.payload > bytes {
                *first = first.holding(first.payload - bytes);
                return;
            }
            bytes -= first.payload;
            self.allocated -= first.truesize;
            self.packets.pop_front();
        }
        if self.last.payload > bytes {
            self.last = self.last.holding(self.last.payload - bytes);
        } else {
            self.allocated -= self.last.truesize;
            self.last = Skb::NONE;
        }
    }
}

/// Headroom of a packet (`NET_SKB_PAD`).
const HEAD_ROOM: u32 = 64;
/// `struct skb_shared_info`, aligned.
const SHARED_BYTES: u32 = 320;
/// `struct sk_buff`, aligned.
const RECORD_BYTES: u32 = 256;
/// Size of small heads, which have a separate cache (`SKB_SMALL_HEAD_CACHE_SIZE`).
const SMALL_HEAD: u32 = 576;
const PAGE: u32 = 4096;
/// Bytes of a packet in its head, if it needs more than a page.
const PAGE_HEAD: u32 = PAGE - HEAD_ROOM - SHARED_BYTES;

/// Payload of a buffer of a page.
const PAGE_PAYLOAD: u32 = PAGE - SHARED_BYTES;

/// Memory of a received packet (`struct sk_buff`).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Skb {
    /// Payload in bytes.
    payload: u32,
    /// Bytes of memory (`truesize`).
    truesize: u32,
    /// Free bytes after the payload, for coalescing (`skb_tailroom`).
    tail_room: u32,
}

impl Skb {
    const NONE: Self = Self { payload: 0, truesize: 0, tail_room: 0 };

    /// A packet with `headers` and `payload` bytes.
    #[inline]
    pub(crate) fn received(headers: u32, payload: u32) -> Self {
        let length = headers + payload;
        if HEAD_ROOM + length >= PAGE {
            return Self::in_pages(length, payload);
        }
        let needed = aligned(HEAD_ROOM + length);
        let head = head_size(needed + SHARED_BYTES);
        let tail_room = head - SHARED_BYTES - HEAD_ROOM - length;
        Self { payload, truesize: head + RECORD_BYTES, tail_room }
    }

    #[cold]
    fn in_pages(length: u32, payload: u32) -> Self {
        let pages = (length - PAGE_HEAD).div_ceil(PAGE);
        Self { payload, truesize: RECORD_BYTES + (1 + pages) * PAGE, tail_room: 0 }
    }

    pub(crate) fn truesize(self) -> u32 {
        self.truesize
    }

    /// Share of payload in its memory, of 256 (`scaling_ratio`).
    fn ratio(self) -> u8 {
        let ratio = (u64::from(self.payload) << 8) / u64::from(self.truesize);
        u8::try_from(ratio).unwrap_or(u8::MAX).max(1)
    }

    /// Memory that packets of this kind need for `payload` bytes.
    pub(crate) fn space_for(self, payload: u32) -> u32 {
        let memory = (u64::from(payload) << 8).div_ceil(u64::from(self.ratio()));
        u32::try_from(memory).unwrap_or(u32::MAX)
    }

    /// A packet without tail room.
    pub(crate) fn collapsed(payload: u32, truesize: u32) -> Self {
        Self { payload, truesize, tail_room: 0 }
    }

    /// The packet with `payload` unread bytes.
    pub(crate) fn holding(self, payload: u32) -> Self {
        Self { payload, ..self }
    }
}

fn aligned(bytes: u32) -> u32 {
    bytes.next_multiple_of(64)
}

/// Allocated size of a head of at least `bytes`.
#[inline]
fn head_size(bytes: u32) -> u32 {
    if bytes <= SMALL_HEAD { SMALL_HEAD } else { bytes.next_power_of_two() }
}

/// Memory of `payload` bytes after collapsing (Linux `tcp_collapse`).
fn collapsed_truesize(payload: u32) -> u32 {
    let rest = payload % PAGE_PAYLOAD;
    let tail = if rest == 0 { 0 } else { head_size(aligned(rest) + SHARED_BYTES) + RECORD_BYTES };
    payload / PAGE_PAYLOAD * (PAGE + RECORD_BYTES) + tail
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truesize_matches_linux() {
        let expected = [
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
        for (payload, truesize) in expected {
            assert_eq!(Skb::received(40, payload).truesize, truesize, "{payload} bytes");
        }
        assert_eq!(Skb::received(40, 1460).tail_room, 164);
    }
}
