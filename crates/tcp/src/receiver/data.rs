//! Arriving data, in order or out of order (RFC 9293 §3.10.7.4, steps 7 and 8); reads; urgent data.
//!
//! Source: Linux 6.18 `tcp_data_queue`, `tcp_data_queue_ofo`, `tcp_event_data_recv`,
//! `tcp_try_rmem_schedule`, `tcp_prune_queue`, `tcp_recvmsg_locked`, `__tcp_cleanup_rbuf`.
//!
//! **Urgent data** is one byte of the stream (RFC 9293 §3.8.5, RFC 6093). Source: Linux 6.18
//! `tcp_check_urg`, `tcp_recv_urg`, `tcp_recvmsg_locked`, `tcp_inq`. As in all well-known stacks, it
//! is the byte before the urgent pointer. Unless it is in line (`SO_OOBINLINE`), reads skip it, and
//! it is read separately. A read stops before it once.

use crate::receiver::Receiver;
use crate::receiver::buffer::Skb;
use crate::receiver::tuning::SizeClass;
use crate::state::State;
use fairwind_units::{Instant, Span};
use fairwind_wire::{Flags, SackBlock, Segment, SequenceNumber};

/// Segments with less payload do not let the window grow (`tcp_event_data_recv`).
const MIN_GROWING_BYTES: u32 = 128;

/// Position of a segment's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Placement {
    /// Its first new byte is the next one expected.
    InOrder,
    /// There is a hole before it.
    OutOfOrder,
    /// It has no new data, or there is no room: it is acknowledged quickly.
    Refused,
}

/// Whether everything up to the peer's FIN has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FinArrival {
    /// It has not.
    None,
    /// The segment carries FIN.
    InSegment,
    /// The segment filled the hole before FIN.
    AfterHole,
}

/// An out-of-order segment before its insertion.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OutOfOrder {
    block: SackBlock,
    packet: Skb,
}

impl Receiver {
    /// Classifies a segment's data; notes a duplicate for D-SACK.
    #[inline]
    pub(crate) fn place(&mut self, segment: &Segment) -> Placement {
        self.steady_window = None;
        self.reassembly.forget_duplicate();
        let (left, end) = (segment.sequence, segment.end());
        let next = self.space.next;
        let window = self.acceptance_window();
        let has_room = if left == next {
            window > 0 || segment.payload_bytes == 0
        } else if !end.is_after(next) {
            self.note_duplicate(left, end);
            return self.refuse();
        } else if left.is_at_or_after(next + window) {
            self.counters.refused.beyond_window += 1;
            return self.refuse();
        } else if left.is_before(next) {
            self.note_duplicate(left, next);
            window > 0
        } else {
            return Placement::OutOfOrder;
        };
        if has_room {
            return Placement::InOrder;
        }
        self.counters.refused.closed_window += 1;
        self.refuse()
    }

    /// A segment is not taken: it is acknowledged quickly.
    #[cold]
    fn refuse(&mut self) -> Placement {
        self.enter_quick_ack_mode(u32::MAX);
        Placement::Refused
    }

    /// Notes data that has arrived twice, to report it (RFC 2883).
    #[cold]
    pub(crate) fn note_duplicate(&mut self, left: SequenceNumber, right: SequenceNumber) {
        if self.negotiated.has_sack() && self.config.receiving.duplicate_sack {
            self.reassembly.note_duplicate(SackBlock { left, right });
        }
    }

    /// A segment that is not acceptable reaches beyond the window, unless it is old.
    #[cold]
    pub(crate) fn count_unacceptable(&mut self, segment: &Segment) {
        if !segment.end().is_before(self.space.last_acknowledged) {
            self.counters.refused.beyond_window += 1;
        }
    }

    /// Prepares the answer to an unacceptable segment; reports duplicate data in it.
    #[cold]
    pub(crate) fn answer_unacceptable(&mut self, segment: &Segment) {
        let next = self.space.next;
        if segment.sequence_length() > 0 && segment.sequence.is_before(next) {
            self.enter_quick_ack_mode(u32::MAX);
            self.note_duplicate(segment.sequence, segment.end().earlier(next));
        }
        self.send_ack_now();
    }

    /// Where the accepted payload ends. A buffer that counts payload has promised no more room than the
    /// window, one that counts memory takes a packet as a whole.
    #[inline]
    fn payload_end(&self, segment: &Segment) -> SequenceNumber {
        let end = segment.sequence + segment.payload_bytes;
        if self.counts_memory() { end } else { end.earlier(self.space.offered) }
    }

    /// Takes in-order data. Returns the packet unless there is no room for it.
    #[inline]
    pub(crate) fn take_in_order(
        &mut self,
        segment: &Segment,
        rto: Span,
        now: Instant,
    ) -> Option<Skb> {
        self.steady_window = None;
        let next = self.space.next;
        let end = self.payload_end(segment).later(next);
        let packet = self.packet_of(segment);
        if self.counts_memory() {
            if !self.has_room_for(packet, segment.sequence) && !self.is_forced(segment) {
                self.counters.refused.no_memory += 1;
                return None;
            }
            let bytes = end.distance_from(next);
            if bytes > 0 {
                self.buffer.queue(packet.holding(bytes));
            }
        }
        self.space.unread += end.distance_from(next);
        self.space.next = end;
        if segment.payload_bytes > 0 {
            self.on_data_received(segment, packet, rto, now);
        }
        Some(packet)
    }

    /// Finishes in-order data from `before` on: the window may grow, and a hole may be filled.
    #[inline]
    pub(crate) fn finish_in_order(
        &mut self,
        segment: &Segment,
        packet: Skb,
        before: SequenceNumber,
    ) -> FinArrival {
        self.steady_window = None;
        if segment.payload_bytes >= MIN_GROWING_BYTES {
            self.grow_window(packet);
        }
        let next = self.space.next;
        if segment.flags.contains(Flags::FIN) && next == segment.sequence + segment.payload_bytes {
            FinArrival::InSegment
        } else if self.reassembly.is_empty() {
            FinArrival::None
        } else {
            self.fill_hole(before)
        }
    }

    /// The packet of a segment; its memory matters only where memory is counted.
    #[inline]
    fn packet_of(&self, segment: &Segment) -> Skb {
        if self.counts_memory() {
            let headers = self.config.path.ip_header_bytes + segment.header_bytes();
            Skb::received(headers, segment.payload_bytes)
        } else {
            Skb::collapsed(segment.payload_bytes, 0)
        }
    }

    /// Moves data that is now in order.
    #[cold]
    fn fill_hole(&mut self, before: SequenceNumber) -> FinArrival {
        let next = self.space.next;
        let advance = self.reassembly.advance(before, next);
        if let Some(duplicate) = advance.duplicate() {
            self.note_duplicate(duplicate.left, duplicate.right);
        }
        self.buffer.release_out_of_order(advance.memory());
        let fin = self.space.fin.filter(|fin| fin.is_before(advance.reach()));
        let reach = fin.unwrap_or(advance.reach()).later(next);
        let bytes = reach.distance_from(next);
        if bytes > 0 && self.counts_memory() {
            self.buffer.queue_alike(bytes, advance.memory(), self.segment_size.estimate());
        }
        self.space.unread += bytes;
        self.space.next = reach;
        if fin.is_some() {
            return FinArrival::AfterHole;
        }
        // A hole was filled (RFC 5681 §4.2).
        if self.reassembly.is_empty() {
            self.ack_policy.set_immediate(true);
        }
        FinArrival::None
    }

    /// In-order data: measures the segment, and schedules its acknowledgment.
    #[inline]
    fn on_data_received(&mut self, segment: &Segment, packet: Skb, rto: Span, now: Instant) {
        self.measure_segment(segment, packet);
        self.measure_by_window(now);
        if self.ack_policy.on_data(rto, now) {
            let budget = self.quick_ack_budget();
            self.ack_policy.enter_quick_mode(&self.config, budget, u32::MAX);
        }
    }

    #[inline]
    fn measure_segment(&mut self, segment: &Segment, packet: Skb) {
        let steady_header = fairwind_wire::TCP_HEADER_BYTES + self.negotiated.option_bytes();
        let mss = self.announced_mss();
        let class = self.segment_size.on_segment(
            segment,
            self.config.receiving.merged_from,
            mss,
            steady_header,
        );
        self.ack_policy.note_size(class, segment.flags.contains(Flags::PSH));
        if class == SizeClass::NewFull && self.counts_memory() {
            let window = self.last_announced_window();
            if self.buffer.update_scaling_ratio(packet, window) {
                self.tuning.bound_space(self.buffer.clamp());
            }
        }
    }

    #[inline]
    fn grow_window(&mut self, packet: Skb) {
        if !self.counts_memory() {
            return;
        }
        let (mss, segment) = (self.announced_mss(), self.segment_size.estimate());
        if self.buffer.grow(packet, mss, segment, &self.config.receiving) {
            self.ack_policy.on_window_growth();
        }
    }

    /// Out-of-order data has arrived; `None` if there is no room for it.
    #[cold]
    pub(crate) fn begin_out_of_order(&mut self, segment: &Segment) -> Option<OutOfOrder> {
        self.steady_window = None;
        let left = segment.sequence;
        let payload_end = self.payload_end(segment);
        let whole = payload_end == left + segment.payload_bytes;
        let right = if whole { segment.end() } else { payload_end };
        let packet = self.packet_of(segment);
        if self.counts_memory() && !self.has_room_for(packet, left) {
            return None;
        }
        self.measure_segment(segment, packet);
        self.ack_policy.schedule();
        self.counters.out_of_order_segments += 1;
        if whole && segment.flags.contains(Flags::FIN) {
            self.space.fin = Some(payload_end);
        }
        Some(OutOfOrder { block: SackBlock { left, right }, packet })
    }

    /// Whether a compressed acknowledgment must be sent before the segment is inserted, because it
    /// reports other data.
    pub(crate) fn must_ack_before(&mut self, arrival: &OutOfOrder) -> bool {
        self.ack_policy.has_merged() && self.reassembly.is_unexpected(arrival.block)
    }

    /// Inserts out-of-order data; `is_unowned` if no application has the connection.
    pub(crate) fn insert_out_of_order(&mut self, arrival: OutOfOrder, is_unowned: bool) {
        self.steady_window = None;
        let OutOfOrder { block, packet } = arrival;
        let whole_blocks = self.config.receiving.whole_blocks;
        let insertion =
            self.reassembly.insert(block.left, block.right, packet.truesize(), whole_blocks);
        if let Some(duplicate) = insertion.duplicate() {
            self.note_duplicate(duplicate.left, duplicate.right);
        }
        // The window grows before the packet's memory counts (`tcp_data_queue_ofo`).
        if self.negotiated.has_sack() && !insertion.is_covered() {
            self.grow_window(packet);
        }
        if self.counts_memory() && !insertion.is_covered() {
            self.buffer.queue_out_of_order(packet);
        }
        if !is_unowned {
            self.grow_buffer(self.tuning.space());
        }
    }

    pub(crate) fn take_syn_data(&mut self, syn: &Segment) {
        self.steady_window = None;
        let space = &mut self.space;
        space.next += syn.payload_bytes;
        space.offered = space.offered.later(space.next);
        space.unread += syn.payload_bytes;
        // The SYN-ACK acknowledges it.
        space.last_acknowledged = space.next;
    }

    /// Whether the buffer has room for a packet, if need be after packing and pruning.
    fn has_room_for(&mut self, packet: Skb, sequence: SequenceNumber) -> bool {
        self.buffer.has_room(packet) || self.make_room(packet, sequence)
    }

    #[cold]
    fn make_room(&mut self, packet: Skb, sequence: SequenceNumber) -> bool {
        self.steady_window = None;
        if self.buffer.is_unused() {
            return false;
        }
        self.ack_policy.leave_quick_mode();
        let announced_mss = self.announced_mss();
        self.buffer.clamp_window(&self.config.receiving, announced_mss);
        if self.buffer.has_room(packet) {
            return true;
        }
        self.buffer.collapse();
        while !self.buffer.has_room(packet) {
            let Some(memory) = self.reassembly.prune(sequence) else { return false };
            self.buffer.release_out_of_order(memory);
        }
        true
    }

    /// Handles a full buffer: drops the segment and closes the window, unless nothing is unread;
    /// then it accepts the segment, so that the connection makes progress.
    #[cold]
    fn is_forced(&mut self, segment: &Segment) -> bool {
        self.ack_policy.on_no_memory();
        self.buffer.is_empty() || segment.payload_bytes == 0
    }

    /// Readable bytes: all unread bytes in order, or up to an urgent byte.
    #[inline]
    pub(crate) fn readable_bytes(&self) -> u32 {
        if self.space.urgent.is_some() {
            return self.readable_around_urgent();
        }
        self.space.unread
    }

    /// Moves up to `bytes` received bytes to the application and returns their number.
    #[expect(clippy::inline_always, reason = "with one caller it was, and one more cost a percent")]
    #[inline(always)]
    pub(crate) fn read(&mut self, now: Instant, bytes: u32, state: State) -> u32 {
        let taken = bytes.min(self.readable_bytes());
        if self.space.urgent.is_some() && bytes > 0 {
            self.skip_urgent();
        }
        if taken == 0 {
            return 0;
        }
        self.steady_window = None;
        let from = self.space.next - self.space.unread;
        self.space.unread -= taken;
        self.space.read_bytes += u64::from(taken);
        if self.counts_memory() {
            let first = taken.min(self.buffer.first_payload());
            self.buffer.release(taken);
            self.adjust_space(from + first, now);
        }
        self.acknowledge_read_data(taken, state);
        if self.space.urgent.is_some() {
            self.forget_passed_urgent();
        }
        taken
    }
}

/// The urgent byte that the application has not passed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UrgentByte {
    at: SequenceNumber,
    /// The application has read it separately.
    taken: bool,
}

/// Result of reading the urgent byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UrgentRead {
    /// The byte.
    Byte,
    /// It is announced and has not arrived.
    NotYet,
    /// There is none.
    Nothing,
}

impl Receiver {
    /// Notes the end of urgent data, if it is new.
    #[cold]
    pub(crate) fn note_urgent(&mut self, segment: &Segment) {
        let offset = u32::from(segment.urgent.saturating_sub(1));
        let at = segment.sequence + offset;
        let known = self.space.urgent;
        let is_news =
            at.is_at_or_after(self.space.next) && known.is_none_or(|known| at.is_after(known.at));
        if !is_news {
            return;
        }
        if known.is_some_and(|known| known.at == self.next_read()) && self.space.unread > 0 {
            self.pass_urgent_byte();
        }
        self.space.urgent = Some(UrgentByte { at, taken: false });
    }

    /// The number that is read next.
    fn next_read(&self) -> SequenceNumber {
        let fin = u32::from(self.has_taken_fin());
        self.space.next - self.space.unread - fin
    }

    /// Distance to the urgent byte, where it has arrived.
    fn to_urgent(&self) -> Option<u32> {
        let urgent = self.space.urgent?;
        let distance = urgent.at.distance_from(self.next_read());
        (distance < self.space.unread).then_some(distance)
    }

    fn is_urgent_in_line(&self) -> bool {
        self.config.receiving.urgent_in_line
    }

    /// Readable bytes in the presence of an urgent byte.
    #[cold]
    pub(super) fn readable_around_urgent(&self) -> u32 {
        match self.to_urgent() {
            Some(0) if self.is_urgent_in_line() => self.space.unread,
            Some(0) => self.space.unread - 1,
            Some(distance) => distance,
            None => self.space.unread,
        }
    }

    /// Readable bytes as reported by `SIOCINQ`: up to an urgent byte.
    pub(crate) fn inquired_bytes(&self) -> u32 {
        let all = self.space.unread;
        if self.is_urgent_in_line() { all } else { self.to_urgent().unwrap_or(all) }
    }

    /// Whether the urgent byte is next (`SIOCATMARK`).
    pub(crate) fn is_at_mark(&self) -> bool {
        self.space.urgent.is_some_and(|urgent| urgent.at == self.next_read())
    }

    /// Reads the urgent byte out of band (`MSG_OOB`); `peek` leaves it.
    pub(crate) fn read_urgent(&mut self, peek: bool) -> UrgentRead {
        let arrived = self.to_urgent().is_some();
        let in_line = self.is_urgent_in_line();
        match &mut self.space.urgent {
            Some(urgent) if !urgent.taken && !in_line => {
                if !arrived {
                    return UrgentRead::NotYet;
                }
                urgent.taken = !peek;
                UrgentRead::Byte
            }
            _ => UrgentRead::Nothing,
        }
    }

    /// Before a read: skips an urgent byte that is next.
    #[cold]
    pub(super) fn skip_urgent(&mut self) {
        if self.to_urgent() == Some(0) && !self.is_urgent_in_line() {
            self.pass_urgent_byte();
            self.space.urgent = None;
        }
    }

    fn pass_urgent_byte(&mut self) {
        self.steady_window = None;
        self.space.unread -= 1;
        self.space.read_bytes += 1;
        self.buffer.release(1);
    }

    /// After a read: forgets an urgent byte that was read past.
    #[cold]
    pub(super) fn forget_passed_urgent(&mut self) {
        let next = self.next_read();
        self.space.urgent = self.space.urgent.filter(|urgent| urgent.at.is_at_or_after(next));
    }
}
