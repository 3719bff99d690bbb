//! Writes of the application: buffers, and room in the send buffer.
//!
//! Source: Linux `tcp_sendmsg_locked`, `tcp_push`, `sk_stream_memory_free`,
//! `__sk_stream_is_writeable`, `tcp_mark_urg`.
//!
//! **Buffers** of unsent data. Source: Linux `tcp_sendmsg_locked`, `tcp_push`, `tcp_mark_push`,
//! `forced_push`, `tcp_grow_skb`. The driver keeps the bytes; a buffer is their number and the
//! flags at its end. Transmission takes bytes from the first buffer, a write fills the last one.
//! Cost: constant per segment; per write, proportional to the buffers that it begins.
//!
//! **Send buffer size.** Source: Linux `sk_stream_memory_free`, `tcp_stream_memory_free`,
//! `__sk_stream_is_writeable`, `tcp_sndbuf_expand`, `tcp_should_expand_sndbuf`.

use crate::config::SendBufferRule;
use crate::sender::Sender;
use crate::sender::statistics::SenderLimit;
use crate::sender::transmit::NagleOverride;
use fairwind_units::Instant;
use std::collections::VecDeque;

/// Flags of a write (`send`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WriteFlags {
    /// More data follows immediately (`MSG_MORE`).
    pub more: bool,
    /// A record ends here (`MSG_EOR`).
    pub ends_record: bool,
    /// The last byte is urgent (`MSG_OOB`).
    pub urgent: bool,
}

/// Which part of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Its beginning.
    First,
    /// Some of it has been taken already.
    Later,
}

impl Sender {
    /// Takes up to `bytes` bytes from the application and returns the number taken, limited by the
    /// send buffer.
    pub(crate) fn write(&mut self, bytes: u64, writing: WriteFlags) -> u64 {
        self.note_application_limit();
        let offered = match self.config.sending.buffer_rule {
            SendBufferRule::Payload => bytes.min(self.send_room()),
            SendBufferRule::Memory { .. } => bytes,
        };
        if offered == bytes
            && bytes > 0
            && writing == WriteFlags::default()
            && self.written.append_write(bytes, self.buffer_goal())
        {
            // Like most small writes, while others wait.
            self.budget.set_override(NagleOverride::Usual);
            return bytes;
        }
        let taken = self.gather(offered);
        if taken == 0 {
            return 0;
        }
        if taken == bytes {
            self.end_write(writing);
        } else {
            self.written.push();
            self.budget.set_override(NagleOverride::Push);
            self.send_buffer.want_room();
        }
        taken
    }

    /// Takes the part of a write that fills one buffer; nothing unless the application `may_write`.
    pub(crate) fn write_part(
        &mut self,
        bytes: u64,
        writing: WriteFlags,
        part: Part,
        may_write: bool,
    ) -> u64 {
        if part == Part::First && may_write {
            self.note_application_limit();
        }
        let limit = if may_write { self.part_room(bytes) } else { 0 };
        if limit == 0 {
            if part == Part::Later && may_write {
                self.written.push();
                self.budget.set_override(NagleOverride::Push);
            }
            self.send_buffer.want_room();
            return 0;
        }
        if limit == bytes {
            return self.finish_write(bytes, writing, part);
        }
        self.extend(limit, part == Part::First);
        if self.written.is_push_overdue(self.peer_window.largest()) {
            self.written.push();
            self.budget.set_override(NagleOverride::Push);
        } else if self.written.is_first_last() {
            self.budget.set_override(NagleOverride::PushOne);
        } else {
            self.budget.set_override(NagleOverride::Wait);
        }
        limit
    }

    /// Bytes of a write that fit in the last buffer, or in a new one.
    fn part_room(&mut self, bytes: u64) -> u64 {
        if bytes == 0 {
            return 0;
        }
        let bytes = match self.config.sending.buffer_rule {
            SendBufferRule::Payload => bytes.min(self.send_room()),
            SendBufferRule::Memory { .. } => bytes,
        };
        let goal = self.buffer_goal();
        let mut room = self.written.room(goal);
        if bytes > 0 && room == 0 {
            if !self.has_memory() {
                return 0;
            }
            self.begin_buffer();
            room = goal;
        }
        bytes.min(u64::from(room))
    }

    fn extend(&mut self, bytes: u64, begins_write: bool) {
        self.written.append(u32::try_from(bytes).unwrap_or(u32::MAX), begins_write);
    }

    fn finish_write(&mut self, bytes: u64, writing: WriteFlags, part: Part) -> u64 {
        self.extend(bytes, part == Part::First);
        self.end_write(writing);
        bytes
    }

    /// Ends a write: marks its end, and releases waiting data (Linux `tcp_push`).
    fn end_write(&mut self, writing: WriteFlags) {
        if writing.ends_record {
            self.written.seal();
        }
        if !writing.more || self.written.is_push_overdue(self.peer_window.largest()) {
            self.written.push();
        }
        if writing.urgent {
            self.urgent.set(self.written_end());
        }
        self.budget.set_override(if writing.more {
            NagleOverride::Hold
        } else {
            NagleOverride::Usual
        });
    }

    /// Fills buffers with `bytes` bytes, while new ones are allowed; returns the number of bytes
    /// that fit.
    fn gather(&mut self, bytes: u64) -> u64 {
        let goal = self.buffer_goal();
        let mut taken: u64 = 0;
        while taken < bytes {
            let mut room = self.written.room(goal);
            if room == 0 {
                if !self.has_memory() {
                    break;
                }
                self.begin_buffer();
                room = goal;
            }
            let part = u32::try_from(bytes - taken).unwrap_or(u32::MAX).min(room);
            self.written.append(part, taken == 0);
            taken += u64::from(part);
            if taken < bytes && self.written.is_push_overdue(self.peer_window.largest()) {
                self.written.push();
            }
        }
        taken
    }

    fn begin_buffer(&mut self) {
        self.written.begin();
        self.nagle.on_new_buffer();
        self.budget.note_resume(self.queue.is_empty());
    }
}

/// One buffer of written bytes.
#[derive(Debug, Clone, Copy, Default)]
struct Buffer {
    bytes: u32,
    /// It ends with PSH.
    pushed: bool,
    /// It ends with a record: nothing is appended (`MSG_EOR`).
    sealed: bool,
}

/// Flags at the end of the sent bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SegmentEnd {
    pushed: bool,
    ends_record: bool,
}

impl SegmentEnd {
    getters! {
        /// PSH.
        pushed: bool,
        ends_record: bool,
    }
}

/// Unsent buffers in order.
#[derive(Debug, Default)]
pub(crate) struct Written {
    buffers: VecDeque<Buffer>,
    /// Unsent bytes.
    unsent: u64,
    /// FIN follows them.
    is_fin_waiting: bool,
    /// Bytes written since the connection began.
    end: u64,
    /// `end` at the last PSH.
    pushed_to: u64,
}

impl Written {
    getters! {
        is_fin_waiting: bool,
        unsent: u64,
    }

    pub(crate) fn has_any(&self) -> bool {
        self.unsent > 0 || self.is_fin_waiting
    }

    pub(crate) fn queue_fin(&mut self) {
        self.is_fin_waiting = true;
    }

    #[inline]
    pub(crate) fn take_fin(&mut self) -> bool {
        let taken = self.is_fin_waiting && self.unsent == 0;
        self.is_fin_waiting &= !taken;
        taken
    }

    pub(crate) fn first_bytes(&self) -> u32 {
        self.buffers.front().map_or(0, |first| first.bytes)
    }

    pub(crate) fn last_bytes(&self) -> u32 {
        self.buffers.back().map_or(0, |last| last.bytes)
    }

    pub(crate) fn is_first_last(&self) -> bool {
        self.buffers.len() <= 1
    }

    /// Whether the first buffer ends a record.
    pub(crate) fn is_first_sealed(&self) -> bool {
        self.buffers.front().is_some_and(|first| first.sealed)
    }

    /// Room of the last buffer, if buffers hold up to `goal`.
    #[inline]
    pub(crate) fn room(&self, goal: u32) -> u32 {
        match self.buffers.back() {
            Some(last) if !last.sealed => goal.saturating_sub(last.bytes),
            _ => 0,
        }
    }

    pub(crate) fn begin(&mut self) {
        self.buffers.push_back(Buffer::default());
    }

    /// Appends bytes to the last buffer; the first bytes of a write clear its PSH.
    #[inline]
    pub(crate) fn append(&mut self, bytes: u32, begins_write: bool) {
        self.end += u64::from(bytes);
        self.unsent += u64::from(bytes);
        if let Some(last) = self.buffers.back_mut() {
            last.bytes += bytes;
            last.pushed &= !begins_write;
        }
    }

    /// Appends a whole write to the last buffer, with PSH at its end, if buffers hold up to `goal` and
    /// it has room. Returns whether it did.
    #[inline]
    pub(crate) fn append_write(&mut self, bytes: u64, goal: u32) -> bool {
        let Some(last) = self.buffers.back_mut() else { return false };
        let filled = u64::from(last.bytes) + bytes;
        match u32::try_from(filled) {
            Ok(filled) if filled <= goal && !last.sealed => last.bytes = filled,
            _ => return false,
        }
        last.pushed = true;
        self.end += bytes;
        self.unsent += bytes;
        self.pushed_to = self.end;
        true
    }

    /// Whether half of the largest window was written since PSH was set.
    pub(crate) fn is_push_overdue(&self, largest_window: u32) -> bool {
        self.end > self.pushed_to + u64::from(largest_window >> 1)
    }

    /// Sets PSH at the end of the written data.
    #[inline]
    pub(crate) fn push(&mut self) {
        if let Some(last) = self.buffers.back_mut() {
            last.pushed = true;
            self.pushed_to = self.end;
        }
    }

    /// Ends a record here.
    pub(crate) fn seal(&mut self) {
        if let Some(last) = self.buffers.back_mut() {
            last.sealed = true;
        }
    }

    /// Fills the first buffer from the second, up to `bytes`, unless a record ends between them.
    #[inline]
    pub(crate) fn fill_first(&mut self, bytes: u32) {
        if self.buffers.len() < 2 || self.buffers[0].bytes >= bytes || self.buffers[0].sealed {
            return;
        }
        let moved = (bytes - self.buffers[0].bytes).min(self.buffers[1].bytes);
        self.buffers[0].bytes += moved;
        self.buffers[1].bytes -= moved;
        if self.buffers[1].bytes == 0 {
            let next = self.buffers[1];
            self.buffers.remove(1);
            self.buffers[0].pushed |= next.pushed;
            self.buffers[0].sealed = next.sealed;
        }
    }

    /// Joins buffers until the first holds `bytes` bytes; returns whether it does.
    pub(crate) fn join_first(&mut self, bytes: u32) -> bool {
        while self.first_bytes() < bytes && self.buffers.len() > 1 && !self.is_first_sealed() {
            self.fill_first(bytes);
        }
        self.first_bytes() >= bytes
    }

    /// Takes bytes of the first buffer for transmission; returns the flags at their end.
    #[inline]
    pub(crate) fn take(&mut self, bytes: u32) -> SegmentEnd {
        let Some(first) = self.buffers.front_mut() else { return SegmentEnd::default() };
        debug_assert!(bytes <= first.bytes, "a segment of one buffer");
        first.bytes -= bytes;
        self.unsent -= u64::from(bytes);
        if first.bytes > 0 {
            return SegmentEnd::default();
        }
        let taken = SegmentEnd { pushed: first.pushed, ends_record: first.sealed };
        self.buffers.pop_front();
        taken
    }

    /// Sets PSH after the first `bytes` bytes, which leave as a separate segment.
    pub(crate) fn split_first_pushed(&mut self, bytes: u32) {
        let Some(first) = self.buffers.front_mut() else { return };
        first.pushed = true;
        let rest = first.bytes.saturating_sub(bytes);
        let sealed = first.sealed;
        if rest > 0 {
            first.bytes = bytes;
            first.sealed = false;
            self.buffers.insert(1, Buffer { bytes: rest, pushed: true, sealed });
        }
    }

    pub(crate) fn clear(&mut self) {
        self.buffers.clear();
        self.unsent = 0;
        self.is_fin_waiting = false;
    }

    /// Whether the count of bytes is that of the buffers; for debug builds.
    pub(crate) fn is_consistent(&self) -> bool {
        self.unsent == self.buffers.iter().map(|buffer| u64::from(buffer.bytes)).sum::<u64>()
    }
}

/// Overhead of a segment in Linux: headers, `skb_shared_info` and `sk_buff`.
const HEADER_BYTES: u32 = 256 + 320;
const DESCRIPTION_BYTES: u32 = 256;
/// Minimum number of segments for which the buffer grows.
const MIN_SEGMENTS: u32 = 10;
/// Windows that the buffer holds.
const WINDOWS: u32 = 2;

/// Automatic growth of the send buffer, and whether the application waits for room.
#[derive(Debug, Default)]
pub(crate) struct SendBuffer {
    /// The application has found the send buffer full.
    wants_room: bool,
    /// Size to which the send buffer has grown by itself; 0 where it has not.
    grown: u32,
}

impl SendBuffer {
    pub(crate) fn want_room(&mut self) {
        self.wants_room = true;
    }

    pub(crate) fn wants_room(&self) -> bool {
        self.wants_room
    }

    /// The application has set the size.
    pub(crate) fn reset(&mut self) {
        self.grown = 0;
    }
}

impl Sender {
    /// Whether another buffer may be begun (Linux `sk_stream_memory_free`,
    /// `tcp_stream_memory_free`).
    #[inline]
    pub(crate) fn has_memory(&self) -> bool {
        let unsent = self.written.unsent();
        let below_mark =
            self.config.sending.unsent_low_water.is_none_or(|mark| unsent < u64::from(mark));
        let fits = match self.config.sending.buffer_rule {
            SendBufferRule::Payload => true,
            SendBufferRule::Memory { .. } => self.send_memory() < u64::from(self.send_buffer()),
        };
        below_mark && fits
    }

    /// Memory of written and unacknowledged data in bytes (Linux `sk_wmem_queued`).
    #[inline]
    pub(crate) fn send_memory(&self) -> u64 {
        let outstanding = u64::from(self.send.outstanding());
        let payload = self.written.unsent() + outstanding;
        match self.config.sending.buffer_rule {
            SendBufferRule::Payload => payload,
            SendBufferRule::Memory { overhead_bytes, .. } => {
                let buffers = self.written.buffers.len() as u64 + u64::from(self.queue.bundles());
                payload + buffers * u64::from(overhead_bytes)
            }
        }
    }

    /// Size of the send buffer in bytes (`SO_SNDBUF`).
    pub(crate) fn send_buffer(&self) -> u32 {
        self.config.send_buffer.max(self.send_buffer.grown)
    }

    pub(crate) fn send_room(&self) -> u64 {
        u64::from(self.send_buffer()).saturating_sub(self.send_memory())
    }

    /// Whether the socket is writable: a third of the buffer is free, and less than half the
    /// low-water mark is unsent (Linux `__sk_stream_is_writeable`).
    pub(crate) fn is_writable(&self) -> bool {
        let used = self.send_memory();
        let roomy = u64::from(self.send_buffer()).saturating_sub(used) >= used / 2;
        let mark = self.config.sending.unsent_low_water;
        roomy && mark.is_none_or(|mark| self.written.unsent() * 2 < u64::from(mark))
    }

    /// Lets the buffer grow with the congestion window, unless the application has set its size.
    pub(crate) fn grow_send_buffer(&mut self) {
        let SendBufferRule::Memory { max: Some(max), .. } = self.config.sending.buffer_rule else {
            return;
        };
        let payload = self.path.max_segment().max(self.segment_bytes);
        let segment = (payload + HEADER_BYTES).next_power_of_two() + DESCRIPTION_BYTES;
        let segments =
            MIN_SEGMENTS.max(self.window.segments()).max(self.config.duplicate_threshold + 1);
        let wanted = segment.saturating_mul(segments).saturating_mul(WINDOWS);
        if self.send_buffer() < wanted {
            self.send_buffer.grown = wanted.min(max);
        }
    }

    /// Lets a buffer grow that is smaller than the window allows, after data was acknowledged or
    /// sent while the application waits for room (Linux `tcp_new_space`).
    #[cold]
    pub(crate) fn look_for_room(&mut self, limited: bool, now: Instant) {
        if self.in_flight() < self.window.segments() {
            self.grow_send_buffer();
        }
        self.send_buffer.wants_room = !self.is_writable();
        if !self.send_buffer.wants_room {
            self.end_limit(SenderLimit::BufferLimited, now);
        } else if !limited && self.written.unsent() == 0 && !self.queue.is_empty() {
            self.stats.begin(SenderLimit::BufferLimited, now);
        }
    }
}
