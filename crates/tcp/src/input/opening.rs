//! Before the handshake is over: CLOSED, LISTEN and SYN-SENT (RFC 9293 §3.10.7.1 to §3.10.7.3).

use crate::connection::Connection;
use crate::event::Event;
use crate::negotiation::Negotiated;
use crate::state::{RecoveryState, State};
use crate::timestamp::timestamp_at;
use fairwind_units::{Instant, Span};
use fairwind_wire::{Flags, Segment, Timestamps};

/// Time-out where SYN had to be repeated and no sample exists (RFC 6298 §5.7).
pub(crate) const TIMEOUT_AFTER_LOST_SYN: Span = Span::from_secs(3);

/// Between a reset for a wrong answer and the next SYN (`TCP_TIMEOUT_MIN`, two ticks of 1 ms).
const AFTER_RESET: Span = Span::from_millis(2);

impl Connection {
    pub(super) fn on_segment_when_closed(&mut self, segment: &Segment) {
        if !segment.flags.contains(Flags::RST) {
            self.ahead.reset(Self::reset_for(segment));
        }
    }

    pub(super) fn on_segment_when_listening(&mut self, segment: &Segment, now: Instant) {
        if segment.flags.contains(Flags::RST) {
            return;
        }
        if segment.flags.contains(Flags::ACK) {
            self.ahead.reset(Self::reset_for(segment));
        } else if segment.flags.contains(Flags::SYN) && !segment.flags.contains(Flags::FIN) {
            self.learn_peer(segment, now);
            self.ecn.on_syn(&self.config.ecn, segment);
            self.tell_of_peer();
            self.on_fast_open_syn(segment, now);
            self.state = State::SynReceived;
            self.ahead.set_syn(true);
        }
    }

    pub(super) fn on_segment_when_opening(&mut self, segment: &Segment, now: Instant) {
        let acknowledges = segment.flags.contains(Flags::ACK);
        let acceptable = segment.acknowledgment.is_after(self.send.initial)
            && segment.acknowledgment.is_at_or_before(self.send.next);
        if acknowledges && !acceptable {
            self.repeat_syn_soon(now);
        }
        if acknowledges && !(acceptable && self.echoes_our_syn(segment, now)) {
            if !segment.flags.contains(Flags::RST) {
                self.ahead.reset(Self::reset_for(segment));
            }
            return;
        }
        if segment.flags.contains(Flags::RST) {
            if acknowledges {
                self.events.push_back(Event::Reset);
                self.become_closed();
            }
            return;
        }
        if !segment.flags.contains(Flags::SYN) {
            return;
        }
        self.learn_peer(segment, now);
        if acknowledges {
            self.ecn.on_syn_ack(segment);
            self.update_send_window(segment, u32::from(segment.window));
            self.establish(segment, now);
            self.acknowledge_opening(now);
            if self.opened_fast() {
                self.take_off_syn_data(segment, now);
                self.on_fast_open_answer(segment, now);
            }
        } else {
            // Both ends opened at once: answer with SYN-ACK, which is no repetition of the SYN.
            if self.syn_transmissions == 1 {
                self.syn_transmissions = 0;
            } else {
                self.recovery.retransmissions = self.recovery.retransmissions.wrapping_sub(1);
            }
            self.ecn.on_crossing_syn(segment);
            self.on_larger_window(u32::from(segment.window));
            self.state = State::SynReceived;
            self.ahead.set_syn(true);
        }
    }

    /// Something else answers: an old connection of the peer's, which our reset ends. The SYN is
    /// repeated as soon as that has arrived, once (Linux `tcp_rcv_synsent_state_process`).
    #[cold]
    fn repeat_syn_soon(&mut self, now: Instant) {
        if self.config.receiving.repeats_syn_after_reset && self.backoff.expired == 0 {
            self.timers.retransmission.set(now, AFTER_RESET);
        }
    }

    /// Whether the timestamp that an answer echoes, if it does, is one of our SYNs' (RFC 7323 §3.2).
    fn echoes_our_syn(&self, answer: &Segment, now: Instant) -> bool {
        match answer.options.timestamps {
            Some(Timestamps { echo, .. }) if echo != 0 && self.config.timestamps => {
                let first = timestamp_at(self.syn_sent_at);
                echo.wrapping_sub(first) <= timestamp_at(now).wrapping_sub(first)
            }
            _ => true,
        }
    }

    /// Takes the peer's initial number and options from its SYN.
    fn learn_peer(&mut self, syn: &Segment, now: Instant) {
        self.negotiated = Negotiated::from_peer(&self.config, syn);
        self.peer_scales = syn.options.window_scale.is_some();
        self.choose_shift(syn);
        let receive = &mut self.receive;
        receive.initial = syn.sequence;
        receive.next = syn.sequence + 1;
        receive.last_acknowledged = receive.next;
        receive.announced = receive.next + self.first_window.bytes;
        receive.offered = receive.announced;
        if let Some(stamps) = syn.options.timestamps {
            receive.recent_timestamp = stamps.value;
            receive.stamped_at = now;
        }
        // The window of a SYN is never scaled (RFC 7323 §2.2).
        self.send.window = u32::from(syn.window);
        self.send.largest_window = 0;
        self.path.learn(&self.config, syn);
        self.sync_segment_size();
    }

    /// Our SYN is acknowledged: the connection is open.
    pub(super) fn establish(&mut self, segment: &Segment, now: Instant) {
        let crossed = !self.is_passive && self.state == State::SynReceived;
        self.account.acknowledged_controls += u32::from(!self.is_passive);
        if !self.fast_open.opened_early {
            self.open_receiver(now);
        }
        self.send.oldest_unacked = self.send.initial + 1;
        self.sample_handshake(segment, now);
        if self.queue.is_empty() {
            self.timers.retransmission.stop();
        } else {
            self.timers.retransmission.set(now, self.backoff.timeout);
        }
        if self.fast_open.opened_early {
            self.undo_early_loss(segment, now);
        } else {
            self.window.bound_initial(&self.config, self.negotiated.segment_bytes);
            self.reset_window_for_lost_syn(segment);
            self.hold_loss_of_syn();
            self.take_pending_advice();
        }
        // Linux `tcp_init_transfer`: what is not used is not used from now on.
        self.usage.on_progress(now);
        self.begin_idle_time(now);
        // Where both ends open at once, Linux counts the SYN and the handshake.
        self.recovery.delivered = 1 + u32::from(crossed);
        if self.is_passive {
            self.update_pacing_rate();
        } else {
            self.set_opening_rate();
        }
        self.begin_control(now);
        self.backoff.expired = 0;
        self.arm_keep_alive(now);
        self.grow_send_buffer();
        self.begin_mtu_search(now);
        self.fast_open.early = false;
        let closed = self.queue.fin_waiting || self.fast_open.finished;
        self.state = if closed { State::FinWait1 } else { State::Established };
        self.events.push_back(Event::Established);
        if std::mem::take(&mut self.fast_open.shut_down) {
            self.close();
        }
    }

    /// Nothing could be sent before: a window goes stale from now on (Linux `tcp_finish_connect`,
    /// `tcp_create_openreq_child`, `tcp_rcv_state_process`).
    pub(crate) fn begin_idle_time(&mut self, now: Instant) {
        self.send.last_sent = now;
    }

    /// The window of an early connection fell with its repeated SYN-ACK: in vain, if the first one is
    /// what is acknowledged (Linux `tcp_rcv_synrecv_state_fastopen`).
    fn undo_early_loss(&mut self, segment: &Segment, now: Instant) {
        if self.recovery.state == RecoveryState::Loss && self.queue.is_empty() {
            let news = self.begin_news(segment, now);
            self.try_undo_repair(&news);
        }
    }

    /// A SYN that was repeated is repaired by now, but without SACK that is not believed before more is
    /// acknowledged (Linux `tcp_try_undo_recovery`).
    fn hold_loss_of_syn(&mut self) {
        if self.state == State::SynSent
            && self.backoff.expired > 0
            && !self.negotiated.sack
            && self.config.loss.undo
        {
            self.enter(RecoveryState::Loss);
            self.recovery.end = self.send.oldest_unacked;
        }
    }

    fn sample_handshake(&mut self, segment: &Segment, now: Instant) {
        if self.syn_transmissions == 1 {
            let rtt = now.saturating_since(self.syn_sent_at);
            self.take_handshake_sample(rtt, now);
            if self.state == State::SynSent && self.negotiated.sack {
                self.recovery.rack.on_handshake(self.syn_sent_at, rtt);
            }
        } else if let Some(rtt) = Self::rtt_by_timestamp(Self::handshake_echo(segment), now) {
            self.take_handshake_sample(rtt, now);
        } else {
            self.backoff.timeout = TIMEOUT_AFTER_LOST_SYN;
            return;
        }
        self.backoff.timeout = self.rtt.timeout(&self.config);
        self.backoff.doublings = 0;
    }

    fn take_handshake_sample(&mut self, rtt: Span, now: Instant) {
        self.sample_rtt(rtt);
        self.rtt.note_least(&self.config, rtt, now);
    }

    fn handshake_echo(segment: &Segment) -> Option<u32> {
        segment.options.timestamps.map(|stamps| stamps.echo).filter(|&echo| echo != 0)
    }

    /// A SYN that had to be repeated may have been lost to congestion: begin with one segment
    /// (RFC 5681 §3.1; Linux forgives the first repetition). Where the first one is echoed, the
    /// repetition was needless (Linux `tcp_try_undo_spurious_syn`).
    fn reset_window_for_lost_syn(&mut self, segment: &Segment) {
        let needless = self.config.loss.undo
            && Self::handshake_echo(segment) == Some(timestamp_at(self.syn_sent_at));
        if self.backoff.expired > self.config.lost_syns_forgiven && !needless {
            self.window.segments = 1;
        }
    }
}
