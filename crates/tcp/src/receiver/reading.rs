//! What the application reads, and what it makes known to the peer.
//!
//! Source: Linux 6.18 `tcp_recvmsg_locked`, `__tcp_cleanup_rbuf`.

use crate::connection::Connection;
use fairwind_units::Instant;

impl Connection {
    /// Bytes received in order that a read gives: all that is not read, or up to an urgent byte.
    #[inline]
    pub fn readable_bytes(&self) -> u32 {
        if self.receive.urgent.is_some() {
            return self.readable_beside_urgent();
        }
        self.receive.unread
    }

    /// At `now`, hands up to `bytes` received bytes to the application and returns how many. Drain
    /// [`poll_segment`](Self::poll_segment) afterwards: a window may be told, or an acknowledgment.
    #[expect(clippy::inline_always, reason = "with one caller it was, and one more cost a percent")]
    #[inline(always)]
    pub fn read(&mut self, now: Instant, bytes: u32) -> u32 {
        let taken = bytes.min(self.readable_bytes());
        if self.receive.urgent.is_some() && bytes > 0 {
            self.skip_urgent();
        }
        if taken == 0 {
            return 0;
        }
        let from = self.receive.next - self.receive.unread;
        self.receive.unread -= taken;
        self.receive.read_bytes += u64::from(taken);
        if self.counts_memory() {
            let first = taken.min(self.buffer.first_payload());
            self.buffer.release(taken);
            self.adjust_space(from + first, now);
        }
        self.acknowledge_what_was_read(taken);
        if self.receive.urgent.is_some() {
            self.forget_passed_urgent();
        }
        taken
    }

    /// An acknowledgment that waited may go out now, or a window that has opened be told.
    pub(crate) fn acknowledge_what_was_read(&mut self, bytes: u32) {
        if self.acknowledger.now {
            return;
        }
        if self.acknowledger.scheduled && self.is_acknowledgment_due(bytes) {
            self.acknowledger.now = true;
            return;
        }
        if bytes == 0 || !self.state.may_receive() {
            return;
        }
        if !self.counts_memory() {
            self.announce_window_if_opened();
            return;
        }
        let announced = self.announced_window();
        if u64::from(announced) * 2 > u64::from(self.buffer.clamp) {
            return;
        }
        let window = self.select_window();
        if window > 0 && window >= 2 * announced {
            self.acknowledger.now = true;
        }
    }

    fn is_acknowledgment_due(&self, bytes: u32) -> bool {
        if !matches!(self.config.ack_delay, crate::AckDelay::Adaptive { .. }) {
            return false;
        }
        let drained = if self.counts_memory() {
            self.buffer.allocated == 0
        } else {
            self.receive.unread == 0
        };
        self.unacknowledged_bytes() > self.segment_size.estimate
            || bytes > 0 && drained && self.acknowledger.is_due_when_drained(&self.config)
    }
}
