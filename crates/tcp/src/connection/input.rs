//! Processing of an arriving segment, in the order of RFC 9293 §3.10.7: when synchronised, its ECN codepoint, and until
//! the connection is open.
//!
//! Source: Linux 6.18 `tcp_rcv_established`, `tcp_rcv_state_process`, `tcp_validate_incoming`,
//! `tcp_check_req`, `tcp_timewait_state_process`, `tcp_rcv_synsent_state_process`, `tcp_data_ecn_check`,
//! `tcp_ecn_received_counters`.

use super::Connection;
use super::idle::TimeWaitAction;
use crate::config::{AckAcceptance, ControlAcceptance};
use crate::handshake::{Handshake, Negotiated, is_pure_syn};
use crate::receiver::{FinArrival, Placement};
use crate::sender::congestion::plugged::WindowEvent;
use crate::state::{Event, State};
use fairwind_units::{Instant, Span};
use fairwind_wire::{Ecn, Flags, Segment};

/// Delay between a reset for a wrong answer and the next SYN (`TCP_TIMEOUT_MIN`, two ticks of 1
/// ms).
const AFTER_RESET: Span = Span::from_millis(2);

impl Connection {
    /// Processes a segment that has arrived. Drain [`poll_segment`](Self::poll_segment) and
    /// [`poll_event`](Self::poll_event) afterwards.
    #[inline(never)]
    pub fn on_segment(&mut self, now: Instant, segment: &Segment) {
        if self.state != State::Closed {
            self.receiver.count(segment, now);
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

    /// LISTEN (RFC 9293 §3.10.7.2).
    pub(super) fn on_segment_when_listening(&mut self, segment: &Segment, now: Instant) {
        if segment.flags.contains(Flags::RST) {
            return;
        }
        if segment.flags.contains(Flags::ACK) {
            self.control_segments.reset(segment);
        } else if segment.flags.contains(Flags::SYN) && !segment.flags.contains(Flags::FIN) {
            if self.config.receiving.syn_cookies {
                self.learn_peer(&Negotiated::cookie_syn(&self.config, segment), now);
            } else {
                self.learn_peer(segment, now);
            }
            self.sender.ecn_mut().on_syn(&self.config.ecn, segment);
            if self.config.growth.shares {
                self.push_event(Event::PeerAsks);
            }
            if self.handshake.fast_open_mut().on_syn(segment) {
                self.open_early(segment, now);
            }
            self.set_state(State::SynReceived);
            self.control_segments.set_syn(true);
        }
    }

    /// The peer's SYN brought data with a valid Fast Open cookie.
    fn open_early(&mut self, syn: &Segment, now: Instant) {
        self.receiver.open(self.sender.segment_bytes(), now);
        self.sender.open_early(now);
        self.receiver.take_syn_data(syn);
        self.push_event(Event::OpenedEarly);
    }

    /// SYN-SENT (RFC 9293 §3.10.7.3).
    pub(super) fn on_segment_in_syn_sent(&mut self, segment: &Segment, now: Instant) {
        let acknowledges = segment.flags.contains(Flags::ACK);
        let acceptable = self.sender.acknowledges_syn(segment.acknowledgment);
        if acknowledges && !acceptable {
            self.retransmit_syn_soon(now);
        }
        let is_ours = acceptable && self.handshake.is_echo_of_syn(segment, &self.config, now);
        if acknowledges && !is_ours {
            if !segment.flags.contains(Flags::RST) {
                self.control_segments.reset(segment);
            }
            return;
        }
        if segment.flags.contains(Flags::RST) {
            if acknowledges {
                self.be_reset();
            }
            return;
        }
        if !segment.flags.contains(Flags::SYN) {
            return;
        }
        self.learn_peer(segment, now);
        if acknowledges {
            self.sender.ecn_mut().on_syn_ack(&self.config.ecn, segment);
            self.sender.update_send_window(segment, u32::from(segment.window));
            self.establish(segment, now);
            self.acknowledge_syn_ack(now);
            if self.handshake.fast_open().was_tried() {
                self.sender.remove_acked_syn_data(segment, now);
                self.on_fast_open_answer(segment, now);
            }
        } else {
            // Simultaneous open: answer with SYN-ACK.
            if self.handshake.on_crossing_syn() {
                self.sender.stats_mut().forget_retransmission();
            }
            self.sender.ecn_mut().on_crossing_syn(segment);
            self.sender.on_larger_window(u32::from(segment.window));
            self.set_state(State::SynReceived);
            self.control_segments.set_syn(true);
        }
    }

    /// Acknowledges a SYN-ACK, with Accurate ECN feedback about its codepoint, unless the ACK waits for data.
    fn acknowledge_syn_ack(&mut self, now: Instant) {
        self.receiver.ack_handshake(self.handshake.fast_open().has_data_waiting(), now);
        if self.receiver.ack_policy().is_due()
            && let Some(feedback) = self.sender.ecn_mut().accurate_mut()
        {
            feedback.reflect();
        }
    }

    /// Handles a wrong answer to our SYN: our reset ends an old connection of the peer, and the SYN
    /// is retransmitted once after it (Linux `tcp_rcv_synsent_state_process`).
    #[cold]
    fn retransmit_syn_soon(&mut self, now: Instant) {
        if self.config.receiving.repeats_syn_after_reset
            && self.sender.rto().consecutive_timeouts() == 0
        {
            self.sender.rto_mut().arm(now, AFTER_RESET);
        }
    }

    /// Handles cookie and data acknowledgment of the answer to a SYN with Fast Open (Linux
    /// `tcp_rcv_fastopen_synack`). Unacknowledged data is retransmitted without a sign of congestion
    /// (`tcp_non_congestion_loss_retransmit`).
    #[cold]
    fn on_fast_open_answer(&mut self, answer: &Segment, now: Instant) {
        let outstanding = !self.sender.queue().is_empty();
        let repeated = self.handshake.transmissions() > 1;
        self.handshake.fast_open_mut().on_answer(answer, outstanding, repeated);
        if outstanding {
            self.sender.retransmit_without_reduction(now);
        } else {
            self.sender.count_syn_and_data_once();
            self.receiver.take_syn_data(answer);
        }
    }

    /// Takes the peer's initial number and options from its SYN.
    fn learn_peer(&mut self, syn: &Segment, now: Instant) {
        let mut negotiated = Negotiated::from_peer(&self.config, syn);
        self.handshake.learn_peer(syn);
        let listens = self.state == State::Listen;
        let shift = self.receiver.learn_peer(syn, negotiated, listens, now);
        negotiated.set_receive_shift(shift);
        self.sender.learn_peer(syn, negotiated);
    }

    /// Our SYN is acknowledged: the connection is open.
    fn establish(&mut self, segment: &Segment, now: Instant) {
        let is_passive = self.handshake.is_passive();
        let opened_early = self.handshake.fast_open().opened_early();
        let crossed = !is_passive && self.state == State::SynReceived;
        if !opened_early {
            self.receiver.open(self.sender.segment_bytes(), now);
        }
        let sent_once = self.handshake.transmissions() == 1;
        let rtt = sent_once.then(|| now.saturating_since(self.handshake.syn_sent_at()));
        let echo = Handshake::echo(segment);
        self.sender.on_handshake(rtt, echo, self.handshake.syn_sent_at(), is_passive, now);
        if opened_early {
            self.sender.undo_early_loss(segment, now);
        } else {
            let spurious = self.handshake.is_echo_of_first_syn(segment);
            self.sender.set_initial_window(spurious);
        }
        self.share_receiver_view();
        self.sender.begin_transfer(is_passive, crossed, now);
        self.adopt_control_requests();
        self.keep_alive.begin(&self.config.liveness.keep_alive, now);
        self.sender.grow_send_buffer();
        self.sender.begin_mtu_search(now);
        let (finished, shut_down) = self.handshake.fast_open_mut().establish();
        let closed = self.sender.written().is_fin_waiting() || finished;
        self.set_state(if closed { State::FinWait1 } else { State::Established });
        self.push_event(Event::Established);
        if shut_down {
            self.close();
        }
    }

    /// Handles a segment in SYN-RECEIVED (Linux `tcp_check_req`). Returns whether it may complete
    /// the handshake; if not, it has been answered.
    #[cold]
    pub(super) fn is_acceptable_when_half_open(&mut self, segment: &Segment, now: Instant) -> bool {
        let old = self
            .receiver
            .timestamp_age(segment)
            .is_some_and(|age| self.is_too_old(segment, age, now));
        if segment.sequence == self.receiver.initial() && is_pure_syn(segment) && !old {
            // Our SYN-ACK was probably lost: send it again, and restart the timer.
            if self.response_limit.allows_response(&self.config, now) {
                if let Some(feedback) = self.sender.ecn_mut().accurate_mut() {
                    feedback.on_syn(segment);
                }
                let timeout = self.sender.rto().timeout();
                self.control_segments.set_syn(true);
                self.sender.rto_mut().arm(now, timeout);
            }
            return false;
        }
        let rst = segment.flags.contains(Flags::RST);
        let foreign = segment.flags.contains(Flags::ACK)
            && !(rst && self.config.receiving.challenges_half_open)
            && !self.is_early()
            && segment.acknowledgment != self.sender.send_space().initial() + 1;
        if foreign {
            if !rst {
                self.control_segments.reset(segment);
            }
            return false;
        }
        if old || !self.receiver.is_in_first_window(segment) {
            if !rst && self.response_limit.allows_response(&self.config, now) {
                self.receiver.send_ack_now();
            }
            return false;
        }
        let is_bare = segment.end() == self.receiver.initial() + 1;
        let timeouts = self.sender.rto().consecutive_timeouts();
        self.check_control_when_half_open(segment, now)
            && !self.handshake.defers(is_bare, timeouts, &self.config)
    }

    /// A reset at the next number ends the attempt, before Linux 7 anywhere in the window; another SYN does
    /// so with a reset.
    fn check_control_when_half_open(&mut self, segment: &Segment, now: Instant) -> bool {
        if segment.flags.contains(Flags::RST) {
            if self.config.receiving.challenges_half_open
                && segment.sequence != self.receiver.next()
            {
                self.challenge(now);
            } else {
                self.be_reset();
            }
            return false;
        }
        if segment.flags.contains(Flags::SYN) && segment.sequence != self.receiver.initial() {
            self.reset_by(segment);
            return false;
        }
        segment.flags.contains(Flags::ACK)
    }

    pub(super) fn complete_handshake(&mut self, segment: &Segment, now: Instant) -> bool {
        let of_syn = segment.acknowledgment == self.sender.send_space().initial() + 1;
        if !of_syn && !self.sender.acknowledges_syn(segment.acknowledgment) {
            self.control_segments.reset(segment);
            return false;
        }
        if segment.flags.contains(Flags::SYN) {
            // Simultaneous open. The window of a SYN is never scaled (RFC 7323 §2.2), and this
            // segment has no data.
            self.sender.update_send_window(segment, u32::from(segment.window));
            self.establish(segment, now);
            // Its SYN has been accepted before: a duplicate.
            self.receiver.note_duplicate(segment.sequence, segment.end());
            self.receiver.send_ack_now();
            return false;
        }
        self.sender.update_send_window(segment, self.sender.scaled_window(segment));
        self.establish(segment, now);
        if self.sender.ecn().is_accurate() {
            self.sender.take_third_ack(segment);
            self.count_codepoint(segment);
        }
        true
    }
}
