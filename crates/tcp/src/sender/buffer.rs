//! What room there is for what the application writes.
//!
//! Source: Linux `sk_stream_memory_free`, `tcp_stream_memory_free`, `__sk_stream_is_writeable`,
//! `tcp_sndbuf_expand`, `tcp_should_expand_sndbuf`.

use crate::config::SendBufferRule;
use crate::sender::Sender;
use crate::sender::statistics::SenderLimit;
use fairwind_units::Instant;

/// Memory that Linux reckons for a segment beside its payload: headers and the buffer's tail, and
/// the buffer's description.
const HEADER_BYTES: u32 = 256 + 320;
const DESCRIPTION_BYTES: u32 = 256;
/// Segments of the window that the buffer is grown for, at least.
const LEAST_SEGMENTS: u32 = 10;
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
    /// The application has found the send buffer full.
    pub(crate) fn want_room(&mut self) {
        self.wants_room = true;
    }

    /// Whether the application waits for room.
    #[inline]
    pub(crate) fn wants_room(&self) -> bool {
        self.wants_room
    }

    /// The application has set the size.
    pub(crate) fn reset(&mut self) {
        self.grown = 0;
    }
}

impl Sender {
    /// Whether another buffer may be begun (Linux
    /// `sk_stream_memory_free`, `tcp_stream_memory_free`).
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

    /// Memory that what is written and not acknowledged takes, in bytes (Linux `sk_wmem_queued`).
    #[inline]
    pub(crate) fn send_memory(&self) -> u64 {
        let outstanding = u64::from(self.send.outstanding());
        let payload = self.written.unsent() + outstanding;
        match self.config.sending.buffer_rule {
            SendBufferRule::Payload => payload,
            SendBufferRule::Memory { overhead_bytes, .. } => {
                let buffers = self.written.buffers() as u64 + u64::from(self.queue.bundles());
                payload + buffers * u64::from(overhead_bytes)
            }
        }
    }

    /// Size of the send buffer in bytes (`SO_SNDBUF` as the system tells it).
    #[inline]
    pub(crate) fn send_buffer(&self) -> u32 {
        self.config.send_buffer.max(self.send_buffer.grown)
    }

    /// Room in the send buffer in bytes.
    #[inline]
    pub(crate) fn send_room(&self) -> u64 {
        u64::from(self.send_buffer()).saturating_sub(self.send_memory())
    }

    /// Whether the application is told that it may write: a third of the buffer is free, and less
    /// than half the low-water mark is not sent (Linux `__sk_stream_is_writeable`).
    pub(crate) fn is_writable(&self) -> bool {
        let used = self.send_memory();
        let roomy = u64::from(self.send_buffer()).saturating_sub(used) >= used / 2;
        let mark = self.config.sending.unsent_low_water;
        roomy && mark.is_none_or(|mark| self.written.unsent() * 2 < u64::from(mark))
    }

    /// Lets the buffer grow with the congestion window, unless the application has set its size.
    pub(crate) fn grow_send_buffer(&mut self) {
        let SendBufferRule::Memory { greatest: Some(greatest), .. } =
            self.config.sending.buffer_rule
        else {
            return;
        };
        let payload = self.path.greatest_segment().max(self.segment_bytes);
        let segment = (payload + HEADER_BYTES).next_power_of_two() + DESCRIPTION_BYTES;
        let segments =
            LEAST_SEGMENTS.max(self.window.segments()).max(self.config.duplicate_threshold + 1);
        let wanted = segment.saturating_mul(segments).saturating_mul(WINDOWS);
        if self.send_buffer() < wanted {
            self.send_buffer.grown = wanted.min(greatest);
        }
    }

    /// The application waits for room, and something was acknowledged or sent: a buffer that is
    /// smaller than the window allows grows (Linux `tcp_new_space`).
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
