//! Step 7: the segment's text (RFC 9293 §3.10.7.4).

use crate::connection::Connection;
use fairwind_units::Instant;
use fairwind_wire::Segment;

impl Connection {
    /// Takes the payload: in order, ahead of its turn, or a duplicate.
    #[inline]
    pub(super) fn process_text(&mut self, segment: &Segment, now: Instant) {
        if !self.state.may_receive() {
            // Data after the peer's FIN cannot be; ignore it.
            return;
        }
        let left = segment.sequence;
        let right = (left + segment.payload_bytes).earlier(self.receive.offered);
        if !right.is_after(self.receive.next) {
            self.acknowledger.on_disorder(&self.config, self.offered_window());
            return;
        }
        if left.is_after(self.receive.next) {
            self.follow_mark(segment);
            self.reassembly.insert(left, right);
            self.acknowledger.on_disorder(&self.config, self.offered_window());
            return;
        }
        self.follow_mark(segment);
        self.take_in_order(right, now);
    }

    #[inline]
    fn take_in_order(&mut self, right: fairwind_wire::SequenceNumber, now: Instant) {
        let before = self.receive.next;
        let had_holes = !self.reassembly.is_empty();
        let reach = if had_holes { self.reassembly.advance(right) } else { right };
        // FIN may be among what has arrived; it is no text, and none follows it.
        let reach = self.receive.fin.map_or(reach, |fin| reach.earlier(fin));
        let bytes = reach.distance_from(before);
        self.receive.next = reach;
        self.receive.unread += bytes;
        let due = self.acknowledger.on_data(
            &self.config,
            right.distance_from(before),
            self.receive.offered.distance_from(reach),
            self.backoff.timeout,
            self.rtt.smoothed(),
            now,
        );
        if had_holes {
            // A hole was filled, in whole or in part (RFC 5681 §4.2).
            self.acknowledger.now = true;
        }
        match due {
            Some(deadline) => self.timers.delayed_ack = self.timers.delayed_ack.min(deadline),
            None => self.timers.delayed_ack = Instant::MAX,
        }
    }
}
