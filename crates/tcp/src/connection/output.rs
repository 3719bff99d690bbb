//! Output: the next segment by urgency; deadlines (RFC 9293 §3.10.8); ICMP errors; closing.

use super::Connection;
use super::control_segments::ControlSegment;
use super::idle::KeepAliveAction;
use crate::config::Factor;
use crate::handshake::syn_options;
use crate::sender::congestion::plugged::RequestedAck;
use crate::sender::loss::Pending;
use crate::sender::{Outgoing, TimerOutcome};
use crate::state::{Event, IcmpError, State, Unreachable};
use crate::timers::{Clock, timestamp_at};
use fairwind_units::{Instant, Span};
use fairwind_wire::{Ecn, Flags, Options, Segment, SequenceNumber};

/// The time-out of a SYN-ACK at which an early connection takes its data for lost.
const EARLY_LOSS: u32 = 2;

impl Connection {
    /// The next segment to send, if any; drain it after every input.
    #[inline]
    pub fn poll_segment(&mut self, now: Instant) -> Option<Segment> {
        let mut segment = Segment::default();
        self.poll_segment_into(now, &mut segment).then_some(segment)
    }

    /// Writes the next segment to `into`, which saves copies, and returns whether there is one. Without one,
    /// `into` is unchanged.
    #[expect(clippy::inline_always, reason = "1 % of a simulation's instructions")]
    #[inline(always)]
    pub fn poll_segment_into(&mut self, now: Instant, into: &mut Segment) -> bool {
        if self.sender.has_more_than_new_data_due() || self.control_segments.is_any() {
            return self.next_segment(now, into);
        }
        if !self.sender.has_data_to_transmit() {
            // Fast path for a pure receiver.
            return self.next_ack(now, into);
        }
        if !self.receiver.ack_policy().is_due() && self.sender.skip_if_window_is_full(now) {
            return false;
        }
        self.next_new_segment(now, into)
    }

    /// The next segment where neither a control segment nor a retransmission or probe is due.
    #[inline]
    fn next_new_segment(&mut self, now: Instant, into: &mut Segment) -> bool {
        if self.may_send() {
            let consults = self.sender.may_consult_on_sending();
            if consults {
                self.share_receiver_view();
            }
            self.note_receiver();
            let outgoing = self.sender.send_new(now);
            if consults {
                self.adopt_control_requests();
            }
            if let Some(outgoing) = outgoing {
                self.write_data(outgoing, now, into);
                return true;
            }
        }
        self.next_ack(now, into)
    }

    #[inline]
    fn next_ack(&mut self, now: Instant, into: &mut Segment) -> bool {
        if self.receiver.ack_policy().is_due() && self.state != State::Closed {
            self.write_ack(now, into);
            return true;
        }
        self.check_liveness();
        false
    }

    #[inline]
    fn write_data(&mut self, outgoing: Outgoing, now: Instant, into: &mut Segment) {
        self.receiver.ack_policy_mut().on_data_sent(now);
        let (sequence, bytes, flags) = outgoing.into_parts();
        self.write_segment(sequence, bytes, flags, now, into);
    }

    /// The most urgent due segment, if any.
    fn next_segment(&mut self, now: Instant, into: &mut Segment) -> bool {
        if self.control_segments.is_any()
            && let Some(segment) = self.next_control_segment(now)
        {
            *into = segment;
            return true;
        }
        if self.may_send() {
            self.share_receiver_view();
            self.note_receiver();
            let outgoing = self.sender.next_data(now);
            self.adopt_control_requests();
            if let Some(outgoing) = outgoing {
                self.write_data(outgoing, now, into);
                return true;
            }
        }
        if self.sender.persist().is_probe_due() && self.state.is_synchronised() {
            let sequence = self.sender.take_window_probe();
            self.write_segment(sequence, 0, Flags::NONE, now, into);
            return true;
        }
        self.next_ack(now, into)
    }

    #[inline]
    pub(super) fn may_send(&self) -> bool {
        self.state.may_send()
            || self.state == State::SynReceived && self.handshake.fast_open().is_early()
    }

    #[inline(never)]
    fn next_control_segment(&mut self, now: Instant) -> Option<Segment> {
        Some(match self.control_segments.next()? {
            ControlSegment::Reset(mut reset) => {
                if let Some(timestamps) = &mut reset.options.timestamps {
                    timestamps.value = timestamp_at(now);
                }
                *reset
            }
            ControlSegment::Acknowledgment(acknowledgment) => acknowledgment,
            ControlSegment::OwnReset(sequence) => {
                let mut reset = Segment::default();
                self.write_segment(sequence, 0, Flags::RST, now, &mut reset);
                reset
            }
            ControlSegment::Syn => self.compose_syn(now),
        })
    }

    /// Writes a segment of an open connection at `sequence`, with the present acknowledgment.
    #[inline]
    fn write_segment(
        &mut self,
        sequence: SequenceNumber,
        payload_bytes: u32,
        flags: Flags,
        now: Instant,
        into: &mut Segment,
    ) {
        let is_marked = self.sender.ecn().is_negotiated();
        let duplicate = if is_marked { self.receiver.reassembly().duplicate() } else { None };
        self.write_header(sequence, payload_bytes, flags, now, into);
        if is_marked {
            self.set_ecn_bits(into, duplicate, now);
        }
        self.receiver.on_ack_sent(now);
        if self.sender.has_urgent_data() {
            self.sender.mark_urgent(into);
        }
    }

    /// Writes the fields that segments have in common; the segment is counted as sent.
    ///
    /// Field by field to where it stays: a segment that is copied right after it was written has the
    /// processor wait until all of it is.
    #[inline]
    fn write_header(
        &mut self,
        sequence: SequenceNumber,
        payload_bytes: u32,
        flags: Flags,
        now: Instant,
        into: &mut Segment,
    ) {
        let window = self.receiver.choose_window();
        self.sender.on_segment_transmitted(payload_bytes, now);
        *into = Segment {
            source_port: self.ports.local,
            destination_port: self.ports.remote,
            sequence,
            acknowledgment: self.receiver.next(),
            flags: flags | Flags::ACK,
            window,
            urgent: 0,
            traffic_class: self.config.ecn.service.with_ecn(Ecn::NotEct),
            payload_bytes,
            options: Options {
                timestamps: self.receiver.timestamps(timestamp_at(now)),
                ..Options::NONE
            },
        };
        if self.receiver.reassembly().has_blocks() {
            let segment_bytes = self.sender.segment_bytes();
            into.options.sack = self.receiver.take_sack_blocks(payload_bytes, segment_bytes);
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

    fn write_ack(&mut self, now: Instant, into: &mut Segment) {
        let sequence = self.sender.acceptable_sequence();
        self.write_segment(sequence, 0, Flags::NONE, now, into);
    }

    pub(super) fn compose_ack(&mut self, now: Instant) -> Segment {
        let mut segment = Segment::default();
        self.write_ack(now, &mut segment);
        segment
    }

    /// An acknowledgment of the data before the present segment; pending acknowledgments stay
    /// pending (Linux `__tcp_send_ack`, `tcp_event_ack_sent`).
    pub(super) fn compose_requested_ack(
        &mut self,
        requested: RequestedAck,
        now: Instant,
    ) -> Segment {
        let sequence = self.sender.acceptable_sequence();
        let mut segment = Segment::default();
        self.write_header(sequence, 0, Flags::NONE, now, &mut segment);
        segment.acknowledgment = SequenceNumber::new(requested.number);
        if self.sender.ecn().is_accurate() {
            self.sender.ecn_mut().mark_accurately(&mut segment);
            return segment;
        }
        self.sender.ecn_mut().mark_requested_ack(&mut segment);
        if requested.echoes {
            segment.flags |= Flags::ECE;
        }
        segment
    }

    /// SYN, or SYN-ACK after the peer's SYN (RFC 9293 §3.5).
    fn compose_syn(&mut self, now: Instant) -> Segment {
        let repetitions = self.handshake.on_syn_sent(now);
        let is_passive = self.handshake.is_passive();
        if repetitions > 0 {
            self.push_event(Event::SynRetransmitted);
        }
        let answers = self.state == State::SynReceived;
        let counts = self.state == State::SynSent || !is_passive;
        self.sender.on_syn_transmitted(repetitions > 0, counts, now);
        if self.state == State::SynSent {
            self.receiver.choose_first_window(false, self.handshake.peer_scales());
        }
        let window = self.receiver.announce_first_window();
        let flags = Flags::SYN | self.sender.syn_ecn_flags(answers, repetitions);
        let flags = if answers { flags | Flags::ACK } else { flags };
        // In a simultaneous open the SYN-ACK has the options of our SYN.
        let agreed = (answers && is_passive).then(|| *self.sender.negotiated());
        let shift = self.receiver.window_shift();
        let peer_scales = self.handshake.peer_scales();
        let mut options = syn_options(&self.config, agreed.as_ref(), peer_scales, shift);
        let stamped = agreed.map_or(self.config.timestamps, |agreed| agreed.has_timestamps());
        options.timestamps = stamped.then(|| self.receiver.timestamp_echo(timestamp_at(now)));
        let payload_bytes = if answers {
            options = self.handshake.fast_open_mut().take_reply(options);
            0
        } else {
            let (with_fast_open, bytes) = self.handshake.fast_open_mut().take_syn(options);
            options = with_fast_open;
            if bytes > 0 {
                self.sender.queue_syn_data(bytes, now);
            }
            bytes
        };
        if answers {
            options.accurate_ecn =
                self.sender.ecn().syn_ack_option(&self.config.ecn, &options, repetitions);
            self.sender.ecn_mut().on_syn_ack_sent(repetitions);
        }
        let code_point = self.sender.ecn_mut().syn_codepoint(flags);
        Segment {
            source_port: self.ports.local,
            destination_port: self.ports.remote,
            sequence: self.sender.send_space().initial(),
            acknowledgment: if answers { self.receiver.next() } else { SequenceNumber::default() },
            flags,
            window,
            urgent: 0,
            traffic_class: self.config.ecn.service.with_ecn(code_point),
            payload_bytes,
            options,
        }
    }

    /// When to call [`on_deadline`](Self::on_deadline) next; [`Instant::MAX`] for never.
    #[inline]
    pub fn next_deadline(&self) -> Instant {
        self.sender
            .next_deadline()
            .min(self.receiver.next_deadline())
            .min(self.time_wait.due())
            .min(self.keep_alive.due())
    }

    /// Handles timers that are due at `now`. Drain [`poll_segment`](Self::poll_segment) and
    /// [`poll_event`](Self::poll_event) afterwards.
    pub fn on_deadline(&mut self, now: Instant) {
        let clock = Clock::new(self.config.timers, self.sender.send_space().initial().get());
        self.sender.note_instant(now);
        self.receiver.expire_delayed_ack(clock, now, self.sender.rto().timeout());
        self.share_receiver_view();
        if self.sender.rto_mut().expire(clock, now) {
            self.on_retransmission_deadline(now);
        }
        if self.sender.expire_persist_timer(clock, now) == TimerOutcome::GiveUp {
            self.give_up();
        }
        if self.keep_alive.expire(clock, now) {
            self.on_keep_alive_deadline(now);
        }
        self.sender.expire_pacing_timer(clock, now);
        self.adopt_control_requests();
        if self.time_wait.expire(clock, now) {
            self.become_closed();
            self.push_event(Event::Closed);
        }
        self.check_invariants();
    }

    fn on_retransmission_deadline(&mut self, now: Instant) {
        let is_syn = matches!(self.state, State::SynSent | State::SynReceived);
        if is_syn && self.sender.rto().pending() == Pending::Retransmission {
            self.on_syn_timeout(now);
        } else if self.sender.on_retransmission_deadline(now) == TimerOutcome::GiveUp {
            self.give_up();
        }
    }

    /// Retransmits SYN after a time-out: at the same interval first if the profile has linear
    /// retries, then with doubling (RFC 6298 §5.5).
    fn on_syn_timeout(&mut self, now: Instant) {
        let timeouts = self.sender.rto_mut().count_timeout(now);
        let is_early = self.is_early();
        // A SYN-ACK always backs off.
        let (linear, limit) = match self.state {
            State::SynSent => {
                let linear = self.config.syn_linear_retries;
                (linear, self.config.syn_retries + linear)
            }
            // One more for Fast Open connections (Linux `tcp_fastopen_synack_timer`).
            _ => (0, self.config.receiving.syn_ack_retries + u32::from(is_early)),
        };
        if timeouts > limit || self.sender.has_user_timeout_expired(now) {
            self.give_up();
            return;
        }
        if timeouts > linear {
            self.sender.rto_mut().back_off(Factor::TWO, self.config.maximum_rto);
        }
        if is_early {
            self.sender.on_early_timeout(timeouts == EARLY_LOSS, now);
        }
        self.control_segments.set_syn(self.handshake.retransmits_syn(timeouts, &self.config));
        self.sender.arm_backed_off_rto(now);
    }

    fn give_up(&mut self) {
        let reason = self.sender.soft_error_mut().map_or(Event::TimedOut, Event::Unreachable);
        self.become_closed();
        self.push_event(reason);
    }

    /// Time since the last segment of the peer.
    pub(super) fn silence(&self, now: Instant) -> Span {
        now.saturating_since(
            self.sender.send_space().last_heard().max(self.receiver.ack_policy().last_received()),
        )
    }

    #[cold]
    fn on_keep_alive_deadline(&mut self, now: Instant) {
        let settings = self.config.liveness;
        let is_over =
            matches!(self.state, State::Closed | State::SynSent | State::Listen | State::TimeWait);
        if !settings.keep_alive.enabled || is_over {
            return;
        }
        let (busy, silence) = (!self.sender.is_drained(), self.silence(now));
        let probes = self.sender.persist().unanswered();
        match self.keep_alive.on_deadline(&settings, busy, silence, probes, now) {
            KeepAliveAction::Wait => {}
            KeepAliveAction::Probe => self.sender.persist_mut().request_probe(),
            KeepAliveAction::GiveUp => {
                self.control_segments.reset_own(self.sender.acceptable_sequence());
                self.become_closed();
                self.push_event(Event::TimedOut);
            }
        }
    }

    /// Processes an ICMP error about a segment of this connection that began at `quoted`. Drain
    /// [`poll_segment`](Self::poll_segment) and [`poll_event`](Self::poll_event) afterwards.
    ///
    /// Source: Linux `tcp_v4_err`, `tcp_v4_mtu_reduced`; RFC 1122 §4.2.3.9, RFC 5927 §4 (only errors
    /// about outstanding segments are accepted).
    #[cold]
    pub fn on_icmp_error(&mut self, now: Instant, quoted: SequenceNumber, error: IcmpError) {
        let outstanding = quoted.is_at_or_after(self.sender.send_space().oldest_unacked())
            && quoted.is_at_or_before(self.sender.send_space().next());
        if !outstanding || matches!(self.state, State::Closed | State::Listen | State::TimeWait) {
            return;
        }
        self.share_receiver_view();
        match error {
            IcmpError::TooLarge { mtu } => self.sender.on_packet_too_big(mtu, now),
            IcmpError::Unreachable(reason) => self.on_unreachable(reason, quoted, now),
        }
        self.adopt_control_requests();
        self.check_invariants();
    }

    /// Handles an ICMP error. Before the connection is open it ends the attempt; afterwards it is
    /// kept, and transmission continues (RFC 1122 §4.2.3.9).
    fn on_unreachable(&mut self, reason: Unreachable, quoted: SequenceNumber, now: Instant) {
        let no_route = matches!(reason, Unreachable::Network | Unreachable::Host);
        let is_early = self.is_early();
        match self.state {
            // One that is in use early and has been accepted is treated as open (Linux `tcp_v4_err`).
            State::SynReceived if is_early && self.handshake.fast_open().is_accepted() => {
                *self.sender.soft_error_mut() = Some(reason);
            }
            State::SynReceived if !is_early => {
                if no_route {
                    self.become_closed();
                    self.push_event(Event::Closed);
                }
            }
            State::SynSent | State::SynReceived => {
                self.become_closed();
                self.push_event(Event::Unreachable(reason));
            }
            _ => {
                if self.config.path.reports_icmp_errors {
                    self.push_event(Event::Unreachable(reason));
                } else {
                    *self.sender.soft_error_mut() = Some(reason);
                }
                if no_route {
                    self.sender.revert_backoff(quoted, now);
                }
            }
        }
    }

    /// Closes the sending direction: FIN follows the written data (RFC 9293 §3.10.4).
    pub fn close(&mut self) {
        match self.state {
            State::Listen | State::SynSent => self.become_closed(),
            State::SynReceived | State::Established => self.finish(State::FinWait1),
            State::CloseWait => self.finish(State::LastAck),
            _ => {}
        }
    }

    fn finish(&mut self, state: State) {
        if self.config.growth.shares {
            self.push_event(Event::Closing);
        }
        self.sender.written_mut().queue_fin();
        // SYN-RECEIVED closes after the handshake.
        let early = self.is_early();
        self.handshake.fast_open_mut().close(early);
        if self.state != State::SynReceived {
            self.set_state(state);
        }
    }

    /// Closes the sending direction, but keeps the socket (`shutdown`): that of a Fast Open
    /// connection only after the handshake (Linux `tcp_shutdown`).
    pub fn shut_down(&mut self) {
        if self.is_early() {
            self.handshake.fast_open_mut().shut_down();
        } else {
            self.close();
        }
    }

    /// Closes the socket (`close`, RFC 1122 §4.2.2.13, RFC 2525 §2.17): written data is still sent, but new
    /// data is answered with a reset, and unread data resets the connection.
    pub fn release(&mut self, now: Instant) {
        if self.receiver.unread() > 0 {
            self.abort_with_reset();
            return;
        }
        self.is_orphan = true;
        self.sender.set_orphan();
        self.receiver.shut();
        self.close();
        if self.state == State::FinWait2 {
            self.await_fin_as_orphan(now);
        }
    }

    /// Aborts the connection; a reset informs the peer (RFC 9293 §3.10.5).
    pub fn abort(&mut self) {
        let resets = match self.state {
            State::Closed | State::Listen | State::SynSent | State::TimeWait => false,
            // Both ends have sent FIN; Linux resets only if data is outstanding or waits.
            State::Closing | State::LastAck => self.sender.has_data(),
            _ => true,
        };
        if resets {
            self.abort_with_reset();
        } else {
            self.become_closed();
        }
    }

    /// Aborts the connection with a reset (`tcp_send_active_reset`).
    fn abort_with_reset(&mut self) {
        if self.state.is_synchronised() || self.state == State::SynReceived {
            self.control_segments.reset_own(self.sender.acceptable_sequence());
        }
        self.become_closed();
    }

    /// Ends the connection because nobody will read an arrived segment (`tcp_reset`).
    #[cold]
    pub(super) fn reset_by(&mut self, segment: &Segment) {
        self.control_segments.reset(segment);
        self.become_closed();
        self.push_event(Event::Reset);
    }

    pub(super) fn be_reset(&mut self) {
        self.push_event(Event::Reset);
        self.become_closed();
    }

    /// An orphan waits for the peer's FIN, but not for ever.
    #[cold]
    pub(super) fn await_fin_as_orphan(&mut self, now: Instant) {
        match self.config.receiving.finish_timeout {
            Some(wait) => {
                self.stop_timers();
                self.time_wait.set(now, wait);
            }
            None => self.abort_with_reset(),
        }
    }

    pub(super) fn enter_time_wait(&mut self, now: Instant) {
        self.set_state(State::TimeWait);
        self.stop_timers();
        self.time_wait.set(now, self.config.time_wait);
    }

    fn stop_timers(&mut self) {
        self.sender.stop_timers();
        self.receiver.stop_timers();
        self.keep_alive.stop();
        self.time_wait.stop();
    }

    /// Forgets everything but events and a reset still to be sent.
    pub(super) fn become_closed(&mut self) {
        self.share_receiver_view();
        self.sender.end_control();
        self.adopt_control_requests();
        self.set_state(State::Closed);
        self.stop_timers();
        self.control_segments.set_syn(false);
        self.receiver.close();
        self.sender.close();
    }
}
