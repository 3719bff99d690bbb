//! Processing of an arriving segment, in the order of RFC 9293 §3.10.7.
//!
//! Source: Linux 6.18 `tcp_rcv_established`, `tcp_rcv_state_process`, `tcp_validate_incoming`,
//! `tcp_check_req`, `tcp_timewait_state_process`.

use super::Connection;
use super::idle::TimeWaitAction;
use crate::config::{AckAcceptance, ControlAcceptance};
use crate::receiver::{FinArrival, Placement};
use crate::state::{Event, State};
use fairwind_units::Instant;
use fairwind_wire::{Flags, Segment};

impl Connection {
    /// Processes a segment that has arrived. Drain [`poll_segment`](Self::poll_segment) and
    /// [`poll_event`](Self::poll_event) afterwards.
    #[inline(never)]
    pub fn on_segment(&mut self, now: Instant, segment: &Segment) {
        if self.state != State::Closed {
            self.receiver.count(segment);
        }
        self.sender.note_instant(now);
        match self.state {
            State::Closed if segment.flags.contains(Flags::RST) => {}
            State::Closed => self.control_segments.reset(segment),
            State::Listen => self.on_segment_when_listening(segment, now),
            State::SynSent => self.on_segment_in_syn_sent(segment, now),
            State::TimeWait => self.on_segment_in_time_wait(segment, now),
            State::FinWait2 if self.is_orphan => self.on_segment_in_time_wait(segment, now),
            _ => self.on_segment_when_synchronised(segment, now),
        }
        self.check_invariants();
    }

    /// RFC 9293 §3.10.7.4, step by step; a step that returns `false` ends the processing.
    #[inline]
    fn on_segment_when_synchronised(&mut self, segment: &Segment, now: Instant) {
        let opens = self.state == State::SynReceived;
        if !segment.flags.intersects(Flags::ACK | Flags::RST | Flags::SYN)
            || !self.is_acceptable(segment, opens, now)
        {
            return self.sender.hold_new_data();
        }
        if self.sender.ecn().is_accurate() && self.state == State::Established {
            self.count_codepoint(segment);
        }
        if !self.process_ack(segment, opens, now) {
            if !opens {
                self.sender.hold_new_data();
            }
            return;
        }
        self.receiver.measure_by_echo(segment, now);
        if segment.flags.contains(Flags::URG) {
            self.receiver.note_urgent(segment);
        }
        if segment.sequence_length() > 0 {
            self.process_data(segment, now);
        }
        self.receiver.check_ack(self.sender.rtt().smoothed(), now);
    }

    /// Steps 1, 2 and 4. Returns whether the segment is processed further; if not, it has been
    /// answered. `opens` in SYN-RECEIVED.
    #[inline]
    fn is_acceptable(&mut self, segment: &Segment, opens: bool, now: Instant) -> bool {
        if opens && self.handshake.is_passive() {
            return self.is_acceptable_when_half_open(segment, now);
        }
        if let Some(age) = self.receiver.timestamp_age(segment)
            && self.is_too_old(segment, age, now)
        {
            self.on_old_duplicate(segment, now);
            return false;
        }
        if !self.receiver.is_in_window(segment) && !self.is_simultaneous_open(segment) {
            self.on_out_of_window(segment, now);
            return false;
        }
        if segment.flags.intersects(Flags::RST | Flags::SYN) {
            return self.check_control(segment, now);
        }
        true
    }

    #[cold]
    pub(super) fn is_too_old(&self, segment: &Segment, age: i32, now: Instant) -> bool {
        let (rto, oldest) =
            (self.sender.rto().timeout(), self.sender.send_space().oldest_unacked());
        self.receiver.is_too_old(segment, age, rto, oldest, now)
    }

    /// Whether the segment is the SYN-ACK of a simultaneous open, which repeats a SYN that has been
    /// accepted (RFC 9293 §3.5, figure 7).
    fn is_simultaneous_open(&self, segment: &Segment) -> bool {
        self.state == State::SynReceived
            && segment.flags.contains(Flags::SYN | Flags::ACK)
            && segment.end() == self.receiver.next()
            && segment.acknowledgment == self.sender.send_space().next()
    }

    /// Answers an old duplicate; may drop an old ACK.
    #[cold]
    fn on_old_duplicate(&mut self, segment: &Segment, now: Instant) {
        if segment.flags.contains(Flags::SYN) {
            self.challenge(now);
        } else if !self.receiver.drops_old_ack(segment) {
            self.answer_unacceptable(segment, now);
        }
    }

    /// Answers with an acknowledgment, unless the segment is a reset.
    #[cold]
    fn on_out_of_window(&mut self, segment: &Segment, now: Instant) {
        if segment.flags.contains(Flags::RST) {
            if self.receiver.is_reset_before_fin(segment, self.state) {
                self.be_reset();
            }
        } else if self.state == State::SynReceived && segment.flags.contains(Flags::SYN) {
            // Simultaneous open, and our SYN-ACK was lost.
            self.control_segments.set_syn(true);
        } else if segment.flags.contains(Flags::SYN) {
            self.challenge(now);
        } else {
            self.receiver.count_unacceptable(segment);
            self.answer_unacceptable(segment, now);
        }
    }

    /// Answers an unacceptable segment, with a rate limit if it carries no data.
    #[cold]
    fn answer_unacceptable(&mut self, segment: &Segment, now: Instant) {
        let has_data = segment.sequence_length() > 0 && !segment.flags.contains(Flags::SYN);
        if has_data || self.response_limit.allows_response(&self.config, now) {
            self.note_old_data(segment);
            self.receiver.answer_unacceptable(segment);
        }
    }

    /// Sends a challenge ACK; a peer out of sync answers with a reset (RFC 5961 §3, §7).
    #[cold]
    pub(super) fn challenge(&mut self, now: Instant) {
        if self.response_limit.allows_challenge(&self.config, now) {
            self.receiver.send_ack_now();
        }
    }

    /// A reset or a SYN within the window.
    #[cold]
    fn check_control(&mut self, segment: &Segment, now: Instant) -> bool {
        let control = self.config.receiving.control;
        if segment.flags.contains(Flags::RST) {
            if control == ControlAcceptance::Window
                || self.receiver.is_reset_exact(segment, self.state)
            {
                self.be_reset();
            } else if control == ControlAcceptance::Challenged {
                self.challenge(now);
            }
            return false;
        }
        if let Some(feedback) = self.sender.ecn_mut().accurate_mut() {
            feedback.on_repeated_syn(segment);
        }
        if self.is_simultaneous_open(segment) {
            return true;
        }
        if control == ControlAcceptance::Challenged {
            self.challenge(now);
        } else {
            self.reset_by(segment);
        }
        false
    }

    /// Step 5: processes the acknowledgment; `false` ends the processing of the segment. `opens` in
    /// SYN-RECEIVED.
    #[inline]
    fn process_ack(&mut self, segment: &Segment, opens: bool, now: Instant) -> bool {
        if !segment.flags.contains(Flags::ACK) {
            return false;
        }
        if opens && !self.complete_handshake(segment, now) {
            return false;
        }
        if segment.acknowledgment.is_after(self.sender.send_space().next()) {
            self.on_unsent_acknowledged(now);
            return false;
        }
        if segment.acknowledgment.is_before(self.sender.send_space().oldest_unacked()) {
            let credible = self.is_old_ack_credible(segment, now);
            if credible {
                // It may come with new data, so its timestamp counts (Linux `tcp_ack`).
                self.receiver.note_timestamp(segment, now);
                self.sender.on_old_ack(segment, now);
            }
            return credible;
        }
        let has_new_timestamp = self.receiver.note_timestamp(segment, now) && !opens;
        if segment.flags.contains(Flags::CWR) && self.sender.ecn().is_classic() {
            self.receiver.accept_cwr(segment);
        }
        self.share_receiver_view();
        let fin_acked = self.sender.on_ack(segment, has_new_timestamp, now);
        self.adopt_control_requests();
        if fin_acked {
            self.on_fin_acked(segment, now);
        }
        true
    }

    /// Answers an acknowledgment of unsent data (RFC 9293 §3.10.7.4) like other blind attacks
    /// (Linux `tcp_ack`).
    #[cold]
    fn on_unsent_acknowledged(&mut self, now: Instant) {
        match self.config.receiving.acknowledgments {
            AckAcceptance::Range => self.receiver.send_ack_now(),
            AckAcceptance::Recent => self.challenge(now),
        }
    }

    /// Answers an ACK older than the largest window, which is forged (RFC 5961 §5.2).
    #[cold]
    fn is_old_ack_credible(&mut self, segment: &Segment, now: Instant) -> bool {
        let guarded = self.config.receiving.acknowledgments != AckAcceptance::Range;
        if !guarded || self.sender.may_have_been_in_flight(segment.acknowledgment) {
            return true;
        }
        self.challenge(now);
        false
    }

    /// Steps 7 and 8: the segment's data and FIN.
    #[inline]
    fn process_data(&mut self, segment: &Segment, now: Instant) {
        if self.state != State::Established && !self.accepts_data(segment) {
            return;
        }
        match self.receiver.place(segment) {
            Placement::InOrder => self.on_in_order_data(segment, now),
            Placement::OutOfOrder => self.on_out_of_order_data(segment, now),
            Placement::Refused => self.note_old_data(segment),
        }
    }

    /// Handles data after the peer's FIN: duplicates only; new unread data ends the connection.
    #[cold]
    fn accepts_data(&mut self, segment: &Segment) -> bool {
        let next = self.receiver.next();
        if !self.state.may_receive() && segment.sequence.is_at_or_after(next) {
            return false;
        }
        let payload_end = segment.sequence + segment.payload_bytes;
        let is_new = segment.payload_bytes > 0 && payload_end.is_after(next);
        if is_new && (self.receiver.is_shut() || !self.state.may_receive()) {
            self.reset_by(segment);
            return false;
        }
        true
    }

    #[inline]
    fn on_in_order_data(&mut self, segment: &Segment, now: Instant) {
        let before = self.receiver.next();
        let Some(packet) = self.receiver.take_in_order(segment, self.sender.rto().timeout(), now)
        else {
            return;
        };
        if segment.payload_bytes > 0 && self.sender.ecn().is_negotiated() {
            self.check_ce_mark(segment, now);
        }
        match self.receiver.finish_in_order(segment, packet, before) {
            FinArrival::None => {}
            FinArrival::InSegment => self.take_fin(now),
            FinArrival::AfterHole => {
                self.take_fin(now);
                self.receiver.ack_policy_mut().set_immediate(true);
            }
        }
    }

    #[cold]
    fn on_out_of_order_data(&mut self, segment: &Segment, now: Instant) {
        if self.sender.ecn().is_negotiated() {
            self.check_ce_mark(segment, now);
        }
        let Some(arrival) = self.receiver.begin_out_of_order(segment) else { return };
        if self.receiver.must_ack_before(&arrival) {
            let acknowledgment = self.compose_ack(now);
            self.control_segments.acknowledge(acknowledgment);
        }
        self.receiver.insert_out_of_order(arrival, self.is_orphan || self.awaits_acceptance);
    }

    /// Everything before the peer's FIN has arrived, and FIN (RFC 9293 §3.6; Linux `tcp_fin`).
    #[cold]
    fn take_fin(&mut self, now: Instant) {
        self.receiver.take_fin();
        self.push_event(Event::PeerFinished);
        match self.state {
            State::Established => {
                self.set_state(State::CloseWait);
                self.receiver.ack_policy_mut().delay_ack_of_fin(&self.config);
            }
            State::FinWait1 => {
                self.receiver.send_ack_now();
                self.set_state(State::Closing);
            }
            _ => {
                self.receiver.send_ack_now();
                self.enter_time_wait(now);
            }
        }
    }

    /// Our FIN is acknowledged.
    #[cold]
    fn on_fin_acked(&mut self, segment: &Segment, now: Instant) {
        if self.config.growth.shares {
            self.push_event(Event::AllAcknowledged);
        }
        match self.state {
            State::FinWait1 if self.is_orphan && self.config.receiving.finish_timeout.is_none() => {
                self.reset_by(segment);
            }
            State::FinWait1 => {
                self.set_state(State::FinWait2);
                if self.is_orphan {
                    self.await_fin_as_orphan(now);
                }
            }
            State::Closing => self.enter_time_wait(now),
            State::LastAck => {
                self.become_closed();
                self.push_event(Event::Closed);
            }
            _ => {}
        }
    }

    /// TIME-WAIT, and FIN-WAIT-2 without an application.
    fn on_segment_in_time_wait(&mut self, segment: &Segment, now: Instant) {
        let action = if self.state == State::FinWait2 {
            TimeWaitAction::for_orphan(segment, &self.receiver)
        } else {
            TimeWaitAction::for_segment(segment, &self.receiver, &self.config)
        };
        if action.restarts_timer() {
            self.time_wait.set(now, self.config.time_wait);
        }
        match action {
            TimeWaitAction::Ignore => {}
            TimeWaitAction::NoteTimestamp | TimeWaitAction::RestartAndNoteTimestamp => {
                self.receiver.note_timestamp(segment, now);
            }
            TimeWaitAction::End => {
                self.become_closed();
                self.push_event(Event::Closed);
            }
            TimeWaitAction::Reset => self.reset_by(segment),
            TimeWaitAction::TakeFin => {
                self.receiver.note_timestamp(segment, now);
                self.take_fin(now);
            }
            TimeWaitAction::Answer | TimeWaitAction::RestartAndAnswer => {
                let has_data = segment.sequence_length() > 0 && !segment.flags.contains(Flags::SYN);
                if has_data || self.response_limit.allows_response(&self.config, now) {
                    self.receiver.send_ack_now();
                }
            }
        }
    }
}
