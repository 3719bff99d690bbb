//! Buffers of written data that was not sent yet.
//!
//! Source: Linux `tcp_sendmsg_locked`, `tcp_push`, `tcp_mark_push`, `forced_push`, `tcp_grow_skb`.
//! The bytes themselves stay with the driver; a buffer is their number, and what stands at its
//! end. Sending takes bytes from the first buffer, writing fills the last one.
//! Cost: constant per segment; per write, proportional to the buffers that it begins.

use std::collections::VecDeque;

/// One buffer of written bytes.
#[derive(Debug, Clone, Copy, Default)]
struct Buffer {
    bytes: u32,
    /// PSH stands at its end.
    pushed: bool,
    /// A record ends here: nothing is appended (`MSG_EOR`).
    sealed: bool,
}

/// Buffers not sent yet, in order.
#[derive(Debug, Default)]
pub(crate) struct Written {
    buffers: VecDeque<Buffer>,
    /// Bytes not sent yet.
    unsent: u64,
    /// FIN is to follow them.
    fin: bool,
    /// Bytes written since the connection began.
    end: u64,
    /// `end` as it was when PSH was set last.
    pushed_to: u64,
}

impl Written {
    /// Bytes not sent yet.
    #[inline]
    pub(crate) fn unsent(&self) -> u64 {
        self.unsent
    }

    /// Whether bytes or FIN wait.
    #[inline]
    pub(crate) fn has_any(&self) -> bool {
        self.unsent > 0 || self.fin
    }

    /// FIN is to follow.
    pub(crate) fn queue_fin(&mut self) {
        self.fin = true;
    }

    /// Whether FIN is to follow.
    #[inline]
    pub(crate) fn is_fin_waiting(&self) -> bool {
        self.fin
    }

    /// Takes FIN, if it comes next.
    #[inline]
    pub(crate) fn take_fin(&mut self) -> bool {
        let taken = self.fin && self.unsent == 0;
        self.fin &= !taken;
        taken
    }

    /// Buffers not sent yet.
    #[inline]
    pub(crate) fn buffers(&self) -> usize {
        self.buffers.len()
    }

    /// Bytes of the first buffer.
    #[inline]
    pub(crate) fn first_bytes(&self) -> u32 {
        self.buffers.front().map_or(0, |first| first.bytes)
    }

    /// Bytes of the last buffer.
    pub(crate) fn last_bytes(&self) -> u32 {
        self.buffers.back().map_or(0, |last| last.bytes)
    }

    /// Whether the first buffer is the last.
    #[inline]
    pub(crate) fn is_first_last(&self) -> bool {
        self.buffers.len() <= 1
    }

    /// Whether the first buffer ends a record.
    #[inline]
    pub(crate) fn is_first_sealed(&self) -> bool {
        self.buffers.front().is_some_and(|first| first.sealed)
    }

    /// Room of the last buffer for more bytes, if all hold up to `goal`.
    #[inline]
    pub(crate) fn room(&self, goal: u32) -> u32 {
        match self.buffers.back() {
            Some(last) if !last.sealed => goal.saturating_sub(last.bytes),
            _ => 0,
        }
    }

    /// Begins a buffer.
    #[inline]
    pub(crate) fn begin(&mut self) {
        self.buffers.push_back(Buffer::default());
    }

    /// Appends bytes to the last buffer; the first ones of a write take its PSH away.
    #[inline]
    pub(crate) fn append(&mut self, bytes: u32, begins_write: bool) {
        self.end += u64::from(bytes);
        self.unsent += u64::from(bytes);
        if let Some(last) = self.buffers.back_mut() {
            last.bytes += bytes;
            last.pushed &= !begins_write;
        }
    }

    /// Appends a whole write to the last buffer, with PSH at its end, if all buffers hold up to `goal`
    /// and it has room: says whether it had.
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
    #[inline]
    pub(crate) fn is_push_overdue(&self, largest_window: u32) -> bool {
        self.end > self.pushed_to + u64::from(largest_window >> 1)
    }

    /// Puts PSH at the end of what is written.
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

    /// Joins buffers until the first holds `bytes` bytes; says whether it does.
    pub(crate) fn join_first(&mut self, bytes: u32) -> bool {
        while self.first_bytes() < bytes && self.buffers.len() > 1 && !self.is_first_sealed() {
            self.fill_first(bytes);
        }
        self.first_bytes() >= bytes
    }

    /// Takes bytes of the first buffer to send them; says whether PSH stands at their end.
    #[inline]
    pub(crate) fn take(&mut self, bytes: u32) -> bool {
        let Some(first) = self.buffers.front_mut() else { return false };
        debug_assert!(bytes <= first.bytes, "a segment of one buffer");
        first.bytes -= bytes;
        self.unsent -= u64::from(bytes);
        if first.bytes > 0 {
            return false;
        }
        let pushed = first.pushed;
        self.buffers.pop_front();
        pushed
    }

    /// Puts PSH after the first `bytes` bytes, which leave as a segment of their own.
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

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.buffers.clear();
        self.unsent = 0;
        self.fin = false;
    }

    /// Whether the count of bytes is that of the buffers; for debug builds.
    pub(crate) fn is_consistent(&self) -> bool {
        self.unsent == self.buffers.iter().map(|buffer| u64::from(buffer.bytes)).sum::<u64>()
    }
}
