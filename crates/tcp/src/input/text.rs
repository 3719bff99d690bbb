//! Steps 7 and 8: the segment's text and FIN (RFC 9293 §3.10.7.4).
//!
//! Source: Linux 6.18 `tcp_data_queue`, `tcp_data_queue_ofo`, `tcp_event_data_recv`, and the
//! seventh step of `tcp_rcv_state_process`.

use crate::connection::Connection;
use crate::receiver::{Packet, Told};
use crate::state::State;
use fairwind_units::Instant;
use fairwind_wire::{Flags, SackBlock, Segment, SequenceNumber};

/// Segments with less payload do not let the window grow (`tcp_event_data_recv`).
const LEAST_GROWING_BYTES: u32 = 128;

impl Connection {
    /// Takes what the segment carries: in order, ahead of its turn, or a duplicate.
    #[inline]
    pub(super) fn process_text(&mut self, segment: &Segment, now: Instant) {
        if !self.may_queue(segment) {
            return;
        }
        self.reassembly.forget_duplicate();
        let (left, end) = (segment.sequence, segment.end());
        let next = self.receive.next;
        let window = self.acceptance_window();
        if left == next {
            if window == 0 && segment.payload_bytes > 0 {
                self.acknowledge_quickly();
            } else {
                self.take_in_order(segment, now);
            }
        } else if !end.is_after(next) {
            self.note_duplicate(left, end);
            self.acknowledge_quickly();
        } else if left.is_at_or_after(next + window) {
            self.acknowledge_quickly();
        } else if left.is_before(next) {
            self.note_duplicate(left, next);
            if window == 0 {
                self.acknowledge_quickly();
            } else {
                self.take_in_order(segment, now);
            }
        } else {
            self.take_ahead(segment, now);
        }
    }

    /// After the peer's FIN only duplicates come; with nobody to read, new data ends the connection.
    #[inline]
    fn may_queue(&mut self, segment: &Segment) -> bool {
        if self.state == State::Established {
            return true;
        }
        self.may_queue_when_closing(segment)
    }

    #[cold]
    fn may_queue_when_closing(&mut self, segment: &Segment) -> bool {
        if !self.state.may_receive() && segment.sequence.is_at_or_after(self.receive.next) {
            return false;
        }
        let payload_end = segment.sequence + segment.payload_bytes;
        let is_news = segment.payload_bytes > 0 && payload_end.is_after(self.receive.next);
        if is_news && (self.receive.is_shut || !self.state.may_receive()) {
            self.reset_by(segment);
            return false;
        }
        true
    }

    /// Remembers what has come twice, to report it (RFC 2883).
    #[cold]
    pub(super) fn note_duplicate(&mut self, left: SequenceNumber, right: SequenceNumber) {
        if self.negotiated.sack && self.config.receiving.duplicate_sack {
            self.reassembly.note_duplicate(SackBlock { left, right });
        }
    }

    /// Where the payload that is taken ends. A buffer that counts payload has promised no more room
    /// than the window, one that counts memory takes a packet as a whole.
    #[inline]
    fn payload_end(&self, segment: &Segment) -> SequenceNumber {
        let end = segment.sequence + segment.payload_bytes;
        if self.counts_memory() { end } else { end.earlier(self.receive.offered) }
    }

    #[inline]
    fn take_in_order(&mut self, segment: &Segment, now: Instant) {
        let next = self.receive.next;
        let end = self.payload_end(segment).later(next);
        let packet = self.packet_of(segment);
        if self.counts_memory() {
            if !self.has_room_for(packet, segment.sequence) && !self.is_forced(segment) {
                return;
            }
            let bytes = end.distance_from(next);
            if bytes > 0 {
                self.buffer.queue(packet.holding(bytes));
            }
        }
        self.receive.unread += end.distance_from(next);
        self.receive.next = end;
        if segment.payload_bytes > 0 {
            self.on_data_received(segment, packet, now);
        }
        let finishes =
            segment.flags.contains(Flags::FIN) && end == segment.sequence + segment.payload_bytes;
        if finishes {
            self.take_finish(now);
        } else if !self.reassembly.is_empty() {
            self.fill_hole(next, now);
        }
    }

    /// What the segment takes; nobody asks for its memory where that is not counted.
    #[inline]
    fn packet_of(&self, segment: &Segment) -> Packet {
        if self.counts_memory() {
            let headers = self.config.path.ip_header_bytes + segment.header_bytes();
            Packet::received(headers, segment.payload_bytes)
        } else {
            Packet::packed(segment.payload_bytes, 0)
        }
    }

    /// Takes what was ahead of its turn and is not any more.
    #[cold]
    fn fill_hole(&mut self, before: SequenceNumber, now: Instant) {
        let next = self.receive.next;
        let advance = self.reassembly.advance(before, next);
        if let Some(duplicate) = advance.duplicate {
            self.note_duplicate(duplicate.left, duplicate.right);
        }
        self.buffer.release_ahead(advance.memory);
        let fin = self.receive.fin.filter(|fin| fin.is_before(advance.reach));
        let reach = fin.unwrap_or(advance.reach).later(next);
        let bytes = reach.distance_from(next);
        if bytes > 0 && self.counts_memory() {
            self.buffer.queue(Packet::packed(bytes, advance.memory));
        }
        self.receive.unread += bytes;
        self.receive.next = reach;
        if fin.is_some() {
            self.take_finish(now);
        }
        // A hole was filled (RFC 5681 §4.2).
        if self.reassembly.is_empty() {
            self.acknowledger.at_once = true;
        }
    }

    /// What data in order does to the acknowledgments and to the window.
    #[inline]
    fn on_data_received(&mut self, segment: &Segment, packet: Packet, now: Instant) {
        self.measure_segment(segment, packet);
        self.measure_by_window(now);
        if self.acknowledger.on_data(self.backoff.timeout, now) {
            let quick = self.quick_by_window();
            self.acknowledger.become_quick(&self.config, quick, u32::MAX);
        }
        self.follow_mark(segment, now);
        if segment.payload_bytes >= LEAST_GROWING_BYTES {
            self.grow_window(packet);
        }
    }

    #[inline]
    fn measure_segment(&mut self, segment: &Segment, packet: Packet) {
        let steady = self.steady_header();
        let told = self.segment_size.on_segment(segment, self.announced_mss(), steady);
        self.acknowledger.note_size(told, segment.flags.contains(Flags::PSH));
        if told == Told::NewFull && self.counts_memory() {
            let window = self.announced_window_then();
            if self.buffer.measure_ratio(packet, window) {
                self.tuning.space = self.tuning.space.min(self.buffer.clamp);
            }
        }
    }

    #[inline]
    fn grow_window(&mut self, packet: Packet) {
        if !self.counts_memory() {
            return;
        }
        let (mss, segment) = (self.announced_mss(), self.segment_size.estimate);
        if self.buffer.grow(packet, mss, segment, &self.config.receiving) {
            self.acknowledger.quick |= 1;
        }
    }

    #[cold]
    fn take_ahead(&mut self, segment: &Segment, now: Instant) {
        self.follow_mark(segment, now);
        let left = segment.sequence;
        let payload_end = self.payload_end(segment);
        let whole = payload_end == left + segment.payload_bytes;
        let right = if whole { segment.end() } else { payload_end };
        let packet = self.packet_of(segment);
        if self.counts_memory() && !self.has_room_for(packet, left) {
            return;
        }
        self.measure_segment(segment, packet);
        self.acknowledger.scheduled = true;
        self.received.out_of_order_segments += 1;
        if whole && segment.flags.contains(Flags::FIN) {
            self.receive.fin = Some(payload_end);
        }
        if self.acknowledger.merged > 0 && self.reassembly.is_unexpected(SackBlock { left, right })
        {
            // Those that wait are about something else.
            let acknowledgment = self.send_ack(now);
            self.ahead.acknowledge(acknowledgment);
        }
        let whole_blocks = self.config.receiving.whole_blocks;
        let insertion = self.reassembly.insert(left, right, packet.memory, whole_blocks);
        if let Some(duplicate) = insertion.duplicate {
            self.note_duplicate(duplicate.left, duplicate.right);
        }
        // The window grows before the packet's memory counts (`tcp_data_queue_ofo`).
        if self.negotiated.sack && !insertion.covered {
            self.grow_window(packet);
        }
        if self.counts_memory() && !insertion.covered {
            self.buffer.queue_ahead(packet);
        }
        if !self.is_orphan {
            self.grow_buffer(self.tuning.space);
        }
    }
}
