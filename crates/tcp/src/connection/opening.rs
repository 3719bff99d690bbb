//! Arriving segments until the connection is open (RFC 9293 §3.10.7.2 to §3.10.7.4).
//!
//! Source: Linux 6.18 `tcp_rcv_synsent_state_process`, `tcp_check_req`, `tcp_rcv_state_process`.

use super::Connection;
use crate::handshake::{Handshake, Negotiated, is_pure_syn};
use crate::state::{Event, State};
use fairwind_units::{Instant, Span};
use fairwind_wire::{Flags, Segment};

/// Delay between a reset for a wrong answer and the next SYN (`TCP_TIMEOUT_MIN`, two ticks of 1
/// ms).
const AFTER_RESET: Span = Span::from_millis(2);

impl Connection {
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
