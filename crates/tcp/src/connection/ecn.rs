//! ECN codepoints of arriving and outgoing segments.
//!
//! Source: RFC 3168, RFC 9768; Linux `tcp_data_ecn_check`, `tcp_ecn_received_counters`, `tcp_ecn_send`.

use super::Connection;
use crate::sender::congestion::plugged::WindowEvent;
use crate::state::State;
use fairwind_units::Instant;
use fairwind_wire::{Ecn, Flags, Segment, SequenceNumber};

impl Connection {
    /// Counts the codepoint of a segment for Accurate ECN.
    #[cold]
    pub(super) fn count_codepoint(&mut self, segment: &Segment) {
        let Some(feedback) = self.sender.ecn_mut().accurate_mut() else { return };
        let is_urgent = feedback.count_received(segment);
        if segment.traffic_class.ecn().is_capable() {
            self.receiver.note_capable();
        }
        if is_urgent {
            self.receiver.ack_policy_mut().set_immediate(true);
        }
    }

    /// Passes received duplicate data to Accurate ECN (Linux `tcp_rcv_spurious_retrans`).
    pub(super) fn note_old_data(&mut self, segment: &Segment) {
        let is_old = segment.sequence_length() > 0 && !segment.end().is_after(self.receiver.next());
        if is_old && let Some(feedback) = self.sender.ecn_mut().accurate_mut() {
            feedback.on_duplicate(segment);
        }
    }

    /// Sets the ECN bits of an outgoing segment; `duplicate` is the start of its D-SACK.
    pub(super) fn set_ecn_bits(
        &mut self,
        segment: &mut Segment,
        duplicate: Option<SequenceNumber>,
        now: Instant,
    ) {
        if self.sender.ecn().is_classic() {
            self.sender.ecn_mut().mark(segment);
            if self.receiver.ecn().is_echo_due() {
                segment.flags |= Flags::ECE;
            }
        } else if self.state == State::TimeWait || self.state == State::FinWait2 && self.is_orphan {
            self.sender.ecn().mark_as_before(segment);
        } else {
            self.sender.ecn_mut().mark_accurately(segment);
            if let Some(feedback) = self.sender.ecn_mut().accurate_mut() {
                feedback.add_option(&self.config.ecn, segment, duplicate, now);
            }
        }
    }

    /// Handles the codepoint of arrived data (Linux `tcp_data_ecn_check`). An acknowledgment that the
    /// congestion control requests is sent before everything else (RFC 8257 §3.2).
    #[cold]
    pub(super) fn check_ce_mark(&mut self, segment: &Segment, now: Instant) {
        let mark = segment.traffic_class.ecn();
        if mark != Ecn::NotEct && self.sender.ecn().is_needed() {
            let marked = mark == Ecn::Ce;
            let event = if marked { WindowEvent::MarkedData } else { WindowEvent::UnmarkedData };
            self.share_receiver_view();
            let requested = self.sender.notify_ce_mark(event);
            self.adopt_control_requests();
            if let Some(requested) = requested {
                let acknowledgment = self.compose_requested_ack(requested, now);
                self.control_segments.acknowledge(acknowledgment);
            }
        }
        if self.sender.ecn().is_classic() {
            self.receiver.on_codepoint(mark);
        } else {
            self.receiver.on_codepoint_counted(mark);
        }
    }
}
