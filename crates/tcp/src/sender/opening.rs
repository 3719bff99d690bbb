//! The sending half during the handshake: SYN, initial window, first round-trip sample.
//!
//! Source: RFC 9293 §3.5, RFC 6298 §2, RFC 5681 §3.1; Linux `tcp_finish_connect`, `tcp_init_transfer`,
//! `tcp_create_openreq_child`.

use super::Sender;
use super::congestion::Congestion;
use super::queue::Marks;
use crate::handshake::RTO_AFTER_LOST_SYN;
use crate::handshake::negotiation::Negotiated;
use crate::state::{RecoveryState, State};
use fairwind_units::{Instant, Span};
use fairwind_wire::{Ecn, Flags, Segment, SequenceNumber};

impl Sender {
    /// Whether a number acknowledges our SYN.
    pub(crate) fn acknowledges_syn(&self, acknowledgment: SequenceNumber) -> bool {
        acknowledgment.is_after(self.send.initial())
            && acknowledgment.is_at_or_before(self.send.next())
    }

    /// The peer's SYN is known.
    pub(crate) fn learn_peer(&mut self, syn: &Segment, negotiated: Negotiated) {
        self.negotiated = negotiated;
        // The window of a SYN is never scaled (RFC 7323 §2.2).
        self.peer_window.begin(u32::from(syn.window));
        self.path.learn(&self.config, syn);
        self.sync_segment_size();
    }

    /// SYN, or SYN-ACK, goes out: repeated or not; `counts` if it counts as a segment.
    pub(crate) fn on_syn_transmitted(&mut self, repeated: bool, counts: bool, now: Instant) {
        if repeated {
            self.stats.on_retransmission();
        }
        if counts {
            self.stats.on_segment(0);
        }
        self.send.on_syn_sent();
        if !self.rto.is_armed() {
            self.rto.arm(now, self.rto.timeout());
        }
    }

    /// The SYN-ACK that answers a crossing SYN is no repetition of our SYN.
    #[inline]
    pub(crate) fn forget_syn_retransmission(&mut self) {
        self.stats.forget_retransmission();
    }

    /// The ECN bits of our SYN, or SYN-ACK, after `repetitions` earlier ones.
    pub(crate) fn syn_ecn_flags(&mut self, answers: bool, repetitions: u32) -> Flags {
        if answers {
            self.ecn.syn_ack_flags()
        } else {
            self.ecn.syn_flags(&self.config.ecn, repetitions)
        }
    }

    /// The code point of a SYN with these control bits.
    #[inline]
    pub(crate) fn syn_code_point(&self, flags: Flags) -> Ecn {
        self.ecn.syn_code_point(flags)
    }

    /// ECN bits of the SYN of a peer that opens.
    #[inline]
    pub(crate) fn on_syn_ecn(&mut self, syn: &Segment) {
        self.ecn.on_syn(&self.config.ecn, syn);
    }

    /// ECN bits of the answer to our SYN.
    #[inline]
    pub(crate) fn on_syn_ack_ecn(&mut self, answer: &Segment) {
        self.ecn.on_syn_ack(answer);
    }

    /// ECN bits of a SYN that crosses ours.
    #[inline]
    pub(crate) fn on_crossing_syn_ecn(&mut self, syn: &Segment) {
        self.ecn.on_crossing_syn(syn);
    }

    /// The peer's SYN has opened the connection early (RFC 7413).
    pub(crate) fn open_early(&mut self, now: Instant) {
        self.begin_idle_time(now);
        self.take_pending_advice();
    }

    /// Nothing could be sent before: the window goes stale from now on (Linux `tcp_finish_connect`,
    /// `tcp_create_openreq_child`, `tcp_rcv_state_process`).
    #[inline]
    fn begin_idle_time(&mut self, now: Instant) {
        self.send.on_data_sent(now);
    }

    /// Our SYN is acknowledged: takes the round-trip sample `rtt`, or that of the timestamp `echo` if SYN
    /// was repeated, and sets the retransmission timer.
    pub(crate) fn on_handshake(
        &mut self,
        rtt: Option<Span>,
        echo: Option<u32>,
        syn_sent_at: Instant,
        is_passive: bool,
        now: Instant,
    ) {
        self.stats.on_control_acked(u32::from(!is_passive));
        self.send.on_syn_acked();
        self.sample_handshake(rtt, echo, syn_sent_at, now);
        if self.queue.is_empty() {
            self.rto.stop();
        } else {
            self.rto.arm(now, self.rto.timeout());
        }
    }

    fn sample_handshake(
        &mut self,
        rtt: Option<Span>,
        echo: Option<u32>,
        syn_sent_at: Instant,
        now: Instant,
    ) {
        let Some(sample) = rtt.or_else(|| Self::rtt_by_timestamp(echo, now)) else {
            self.rto.set_timeout(RTO_AFTER_LOST_SYN);
            return;
        };
        self.sample_rtt(sample);
        self.rtt.note_least(&self.config, sample, now);
        if rtt.is_some() && self.state == State::SynSent && self.negotiated.has_sack() {
            self.rack.on_handshake(syn_sent_at, sample);
        }
        self.rto.restart(self.rtt.timeout(&self.config));
    }

    /// The handshake is over: sets the initial window. `spurious` if a repetition of SYN was needless.
    pub(crate) fn set_initial_window(&mut self, spurious: bool) {
        self.window.bound_initial(&self.config, self.segment_bytes);
        self.reset_window_for_lost_syn(spurious);
        self.hold_loss_of_syn();
        self.take_pending_advice();
    }

    /// A SYN that had to be repeated may have been lost to congestion: begin with one segment
    /// (RFC 5681 §3.1; Linux forgives the first repetition), unless the repetition was spurious.
    fn reset_window_for_lost_syn(&mut self, spurious: bool) {
        let needless = self.config.loss.undo && spurious;
        if self.rto.expired() > self.config.lost_syns_forgiven && !needless {
            self.window.set_segments(1);
        }
    }

    /// A SYN that was repeated is repaired by now, but without SACK that is not believed before more is
    /// acknowledged (Linux `tcp_try_undo_recovery`).
    fn hold_loss_of_syn(&mut self) {
        if self.state == State::SynSent
            && self.rto.expired() > 0
            && !self.negotiated.has_sack()
            && self.config.loss.undo
        {
            self.enter(RecoveryState::Loss);
            self.recovery.set_end(self.send.oldest_unacked());
        }
    }

    /// The window of an early connection fell with its repeated SYN-ACK: in vain, if the first one is
    /// acknowledged (Linux `tcp_rcv_synrecv_state_fastopen`).
    pub(crate) fn undo_early_loss(&mut self, segment: &Segment, now: Instant) {
        if self.recovery.state() == RecoveryState::Loss && self.queue.is_empty() {
            let ack = self.start_ack(segment, now);
            self.try_undo_recovery(&ack);
        }
    }

    /// The connection is open: `crossed` if both ends opened at once.
    pub(crate) fn begin_transfer(&mut self, is_passive: bool, crossed: bool, now: Instant) {
        // Linux `tcp_init_transfer`: the window counts as unused from now on.
        self.usage.on_progress(now);
        self.begin_idle_time(now);
        // Where both ends open at once, Linux counts the SYN and the handshake.
        self.deliveries.begin(1 + u32::from(crossed));
        if is_passive {
            self.update_pacing_rate();
        } else {
            self.set_opening_rate();
        }
        self.begin_control(now);
        self.rto.on_progress();
    }

    /// SYN and its data were one packet.
    #[inline]
    pub(crate) fn count_syn_and_data_once(&mut self) {
        self.deliveries.begin(self.deliveries.segments().min(1));
    }

    /// The data of our SYN is outstanding by itself: if it has to be repeated, that is without SYN.
    pub(crate) fn queue_syn_data(&mut self, bytes: u32, now: Instant) {
        let mut marks = Marks::default();
        marks.set(Marks::PUSH);
        let sequence = self.send.initial() + 1;
        self.queue.push(sequence, bytes, self.deliveries.segments(), marks, now);
        self.send.on_new_data_sent(self.send.initial() + 1 + bytes, now);
        self.ecn.on_syn_data(self.send.next());
    }

    /// The threshold in segments after the loss of our SYN, if it had to be repeated.
    pub(crate) fn lost_syn_window(&self) -> Option<u32> {
        (self.rto.expired() > 0).then(|| {
            let (base, window) = (self.config.reduction_base, self.window.segments());
            Congestion::new(&self.config).ssthresh(&self.window, base, window)
        })
    }

    /// Whether our SYN or FIN was acknowledged.
    #[inline]
    pub(crate) fn has_acked_control(&self) -> bool {
        self.stats.acknowledged_controls() > 0
    }
}
