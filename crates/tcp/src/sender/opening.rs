//! Start of the sender: SYN, initial window, first round-trip sample, advice of a window cache.
//!
//! Source: RFC 9293 §3.5, RFC 6298 §2, RFC 5681 §3.1; Linux `tcp_finish_connect`, `tcp_init_transfer`,
//! `tcp_create_openreq_child`. Advice: RFC 9040, RFC 9959; Linux `tcp_init_metrics`.

use crate::handshake::{Negotiated, RTO_AFTER_LOST_SYN};
use crate::sender::Sender;
use crate::sender::congestion::Congestion;
use crate::sender::congestion::careful_resume::CarefulResumeState;
use crate::sender::queue::SentFlags;
use crate::state::{RecoveryState, ResumptionPhase, State};
use crate::window_cache::{Advice, CacheMiss, ConnectionId, Share, TimeoutSeed, WindowReport};
use fairwind_units::{Instant, Span};
use fairwind_wire::{Flags, Segment, SequenceNumber};

impl Sender {
    pub(crate) fn acknowledges_syn(&self, acknowledgment: SequenceNumber) -> bool {
        acknowledgment.is_after(self.send.initial())
            && acknowledgment.is_at_or_before(self.send.next())
    }

    pub(crate) fn learn_peer(&mut self, syn: &Segment, negotiated: Negotiated) {
        self.negotiated = negotiated;
        // The window of a SYN is never scaled (RFC 7323 §2.2).
        self.peer_window.begin(u32::from(syn.window));
        self.path.learn(&self.config, syn);
        self.sync_segment_size();
    }

    /// Counts a SYN or SYN-ACK, `repeated` or not; `counts` if it counts as a segment.
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

    /// The ECN bits of our SYN, or SYN-ACK, after `repetitions` earlier ones.
    pub(crate) fn syn_ecn_flags(&mut self, answers: bool, repetitions: u32) -> Flags {
        if answers {
            self.ecn.syn_ack_flags(self.rto.consecutive_timeouts())
        } else {
            self.ecn.syn_flags(&self.config.ecn, repetitions)
        }
    }

    /// Passes the last ACK of a passive handshake to Accurate ECN, which learns whether our SYN-ACK
    /// was marked (RFC 9768).
    pub(crate) fn take_third_ack(&mut self, segment: &Segment) {
        if self.ecn.on_third_ack(&self.config.ecn, segment) && self.deliveries.marked() == 0 {
            self.deliveries.add_marked(1);
        }
    }

    /// The peer's SYN has opened the connection early (RFC 7413).
    pub(crate) fn open_early(&mut self, now: Instant) {
        // The idle time of the window counts from now (Linux `tcp_finish_connect`,
        // `tcp_create_openreq_child`, `tcp_rcv_state_process`).
        self.send.on_data_sent(now);
        self.take_pending_advice();
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
        self.rtt.add_minimum_sample(&self.config, sample, now);
        if rtt.is_some() && self.state == State::SynSent && self.negotiated.has_sack() {
            self.rack.on_handshake(syn_sent_at, sample);
        }
        self.rto.restart(self.rtt.timeout(&self.config));
    }

    /// Sets the initial window after the handshake; `spurious` if a retransmission of SYN was
    /// unnecessary.
    pub(crate) fn set_initial_window(&mut self, spurious: bool) {
        self.window.bound_initial(&self.config, self.segment_bytes);
        self.reset_window_for_lost_syn(spurious);
        self.hold_syn_loss();
        self.take_pending_advice();
    }

    /// A SYN that had to be repeated may have been lost to congestion: begin with one segment
    /// (RFC 5681 §3.1; Linux forgives the first repetition), unless the repetition was spurious.
    fn reset_window_for_lost_syn(&mut self, spurious: bool) {
        let needless = self.config.loss.undo && spurious;
        if self.rto.consecutive_timeouts() > self.config.lost_syns_forgiven && !needless {
            self.window.set_segments(1);
        }
    }

    /// Stays in the loss state after a retransmitted SYN without SACK, until more is acknowledged
    /// (Linux `tcp_try_undo_recovery`).
    fn hold_syn_loss(&mut self) {
        if self.state == State::SynSent
            && self.rto.consecutive_timeouts() > 0
            && !self.negotiated.has_sack()
            && self.config.loss.undo
        {
            self.enter(RecoveryState::Loss);
            self.recovery.set_end(self.send.oldest_unacked());
        }
    }

    /// Undoes the window reduction of a retransmitted SYN-ACK of a Fast Open connection, if the first
    /// one is acknowledged (Linux `tcp_rcv_synrecv_state_fastopen`).
    pub(crate) fn undo_early_loss(&mut self, segment: &Segment, now: Instant) {
        if self.recovery.state() == RecoveryState::Loss && self.queue.is_empty() {
            let ack = self.start_ack(segment, now);
            self.try_undo_recovery(&ack);
        }
    }

    /// Begins the data transfer; `crossed` after a simultaneous open.
    pub(crate) fn begin_transfer(&mut self, is_passive: bool, crossed: bool, now: Instant) {
        // Linux `tcp_init_transfer`: the window counts as unused from now on.
        self.usage.on_progress(now);
        self.send.on_data_sent(now);
        // In a simultaneous open Linux counts the SYN and the handshake.
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
    pub(crate) fn count_syn_and_data_once(&mut self) {
        self.deliveries.begin(self.deliveries.segments().min(1));
    }

    /// Queues the data of our SYN as outstanding; its retransmission has no SYN.
    pub(crate) fn queue_syn_data(&mut self, bytes: u32, now: Instant) {
        let mut sent_flags = SentFlags::default();
        sent_flags.set(SentFlags::PUSH);
        let sequence = self.send.initial() + 1;
        self.queue.push(sequence, bytes, self.deliveries.segments(), sent_flags, now);
        self.send.on_new_data_sent(self.send.initial() + 1 + bytes, now);
        self.ecn.on_syn_data(self.send.next());
    }

    /// The threshold in segments after the loss of our SYN, if it had to be repeated.
    pub(crate) fn lost_syn_window(&self) -> Option<u32> {
        (self.rto.consecutive_timeouts() > 0).then(|| {
            let (base, window) = (self.config.reduction_base, self.window.segments());
            Congestion::new(&self.config).ssthresh(&self.window, base, window)
        })
    }

    /// Whether our SYN or FIN was acknowledged.
    pub(crate) fn has_acked_control(&self) -> bool {
        self.stats.acknowledged_controls() > 0
    }
}

/// Advice and state from a window cache.
#[derive(Debug, Default)]
pub(super) struct Inherited {
    /// Advice to apply after the handshake.
    advice: Option<Box<Advice>>,
    /// A saved window that is resumed with care (RFC 9959).
    resume: Option<Box<CarefulResumeState>>,
    /// Why the connection did not begin with the advised window.
    unused: Option<CacheMiss>,
}

impl Inherited {
    pub(super) fn is_resuming(&self) -> bool {
        self.resume.is_some()
    }

    pub(super) fn resume(&self) -> Option<&CarefulResumeState> {
        self.resume.as_deref()
    }

    pub(super) fn take_resume(&mut self) -> Option<Box<CarefulResumeState>> {
        self.resume.take()
    }

    pub(super) fn set_resume(&mut self, resume: Box<CarefulResumeState>) {
        self.resume = Some(resume);
    }
}

impl Sender {
    /// Adopts advice; `has_opened` if it takes effect immediately.
    pub(crate) fn advise(&mut self, advice: Advice, has_opened: bool) {
        if let Some(TimeoutSeed::Estimator { rtt, variation }) = advice.timeout
            && self.rtt.smoothed().is_none()
        {
            self.rtt.seed(rtt, variation);
            self.rto.set_timeout(self.rtt.timeout(&self.config));
        }
        if has_opened {
            self.take_advice(&advice);
        } else {
            self.inherited.advice = (advice != Advice::default()).then(|| Box::new(advice));
        }
    }

    /// Applies the pending advice after the handshake.
    pub(super) fn take_pending_advice(&mut self) {
        if let Some(advice) = self.inherited.advice.take() {
            self.take_advice(&advice);
        }
    }

    #[cold]
    fn take_advice(&mut self, advice: &Advice) {
        if advice.window.or(advice.min_window).is_some() {
            self.inherited.unused = self.take_window(advice).err();
        }
        if let Some(threshold) = advice.slow_start_threshold {
            self.window.set_threshold(threshold.max(2));
        }
        if let Some(reordering) = advice.reordering {
            self.reordering.set_threshold(reordering);
        }
        if let Some(TimeoutSeed::FirstTimeout { rtt }) = advice.timeout
            && self.rtt.smoothed().is_none_or(|smoothed| rtt > smoothed)
        {
            self.rto.set_timeout(rtt + (rtt * 2).max(self.config.minimum_rto));
        }
        if let Some(resumption) = advice.resumption
            && !self.is_plugged()
        {
            self.begin_careful_resume(resumption);
        }
    }

    /// The connection begins with the window that was advised, unless it does not fit.
    fn take_window(&mut self, advice: &Advice) -> Result<(), CacheMiss> {
        if self.rto.consecutive_timeouts() > self.config.lost_syns_forgiven {
            return Err(CacheMiss::Unfit);
        }
        let window = advice.window.unwrap_or(self.window.segments()).max(1);
        self.window.set_segments(window);
        let Some(min) = advice.min_window else { return Ok(()) };
        if min <= window {
            return Err(CacheMiss::TooSmall);
        }
        if !self.is_cached_path(advice.path_rtt) {
            return Err(CacheMiss::Unfit);
        }
        self.window.set_segments(min);
        self.pace_first_flight();
        Ok(())
    }

    /// Whether the handshake lost nothing, and its round trip is that of the cached path: more than half and at
    /// most ten times its minimum (as in RFC 9959 §4.2.1). For a Fast Open server both are unknown, and the
    /// answer is yes.
    fn is_cached_path(&self, min: Option<Span>) -> bool {
        let is_same = |(min, found): (Span, Span)| found * 2 > min && found <= min * 10;
        self.stats.retransmissions() == 0 && min.zip(self.rtt.smoothed()).is_none_or(is_same)
    }

    /// Why the connection has not begun with the window that it was advised; `None` where it has, where none was, and
    /// before the handshake is over.
    pub(crate) fn cache_miss(&self) -> Option<CacheMiss> {
        self.inherited.unused
    }

    /// Adopts a share of the window of connections to the same peer, except during loss recovery. Before the
    /// handshake is over it becomes the initial window.
    pub(crate) fn take_share(&mut self, share: &Share, has_opened: bool) {
        if !has_opened {
            let advice = self.inherited.advice.get_or_insert_default();
            advice.window = Some(share.window.max(1));
            advice.min_window = None;
            advice.slow_start_threshold =
                share.slow_start_threshold.or(advice.slow_start_threshold);
        } else if matches!(self.recovery.state(), RecoveryState::Open | RecoveryState::Disorder) {
            self.window.set_segments(share.window.max(1));
            if let Some(threshold) = share.slow_start_threshold {
                self.window.set_threshold(threshold.max(2));
            }
            self.window.drop_credit();
            self.update_pacing_rate();
        }
    }

    /// Whether the connection was advised a window to begin with.
    pub(crate) fn has_advised_window(&self) -> bool {
        self.inherited.advice.as_deref().is_some_and(|advice| advice.window.is_some())
    }

    /// Report for the window cache. Before the handshake is over, window and threshold are the initial ones.
    pub(crate) fn window_report(&self, connection: ConnectionId, has_opened: bool) -> WindowReport {
        let advice = self.inherited.advice.as_deref().filter(|_| !has_opened);
        WindowReport {
            connection,
            window: advice.and_then(|advice| advice.window).unwrap_or(self.window.segments()),
            initial_window: self.window.initial(),
            slow_start_threshold: advice
                .and_then(|advice| advice.slow_start_threshold)
                .or_else(|| self.window.known_threshold()),
            smoothed_rtt: self.rtt.smoothed(),
            rtt_variation: self.rtt.deviation(self.config.rtt_rule),
            min_rtt: self.rtt.minimum(),
            retransmissions: self.stats.retransmissions(),
            is_backed_off: self.rto.backoffs() > 0,
            is_open: self.recovery.state() == RecoveryState::Open,
            reordering: self.reordering.threshold(),
            usual_reordering: self.config.duplicate_threshold,
            segment_bytes: self.segment_bytes,
            is_resuming: self
                .inherited
                .resume
                .as_deref()
                .is_some_and(CarefulResumeState::is_unvalidated),
        }
    }

    /// The phase of a careful resumption, while there is one.
    pub(crate) fn resumption_phase(&self) -> Option<ResumptionPhase> {
        self.inherited.resume().map(CarefulResumeState::phase)
    }
}

#[cfg(test)]
mod tests {
    //! Optional mechanisms leave the fast path only while they are active.

    use super::Advice;
    use crate::config::{AckDelay, Config, CongestionAlgorithm};
    use crate::connection::{Connection, Ports};
    use crate::{CarefulResumeConfig, Profile, Resumption, bbr1};
    use fairwind_units::{Instant, Span};
    use fairwind_wire::{Flags, Options, Segment, SequenceNumber};
    use std::sync::Arc;

    const SEGMENT: u64 = 1460;
    const FIRST: u32 = 1;

    /// A sender with an initial window of ten segments and a scripted peer.
    struct Sender {
        end: Connection,
        now: Instant,
    }

    impl Sender {
        /// Open after a round trip of 100 ms, and taken `advice`.
        fn advised(config: Config, advice: Advice) -> Self {
            let config = Config {
                initial_window: 10,
                initial_window_in_bytes: false,
                timestamps: false,
                ack_delay: AckDelay::None,
                ..config
            };
            let ports = Ports { local: 1, remote: 2 };
            let end = Connection::connect(Arc::new(config), ports, SequenceNumber::new(0));
            let mut sender = Self { end, now: Instant::from_secs(1) };
            sender.end.advise(advice);
            sender.drain();
            let options = Options { mss: Some(1460), sack_permitted: true, ..Options::NONE };
            sender.hears(Flags::SYN | Flags::ACK, FIRST, options);
            sender
        }

        fn usual(advice: Advice) -> Self {
            Self::advised(Profile::Rfc.config(), advice)
        }

        /// Delivers a segment of the peer 100 ms later.
        fn hears(&mut self, flags: Flags, acknowledged: u32, options: Options) {
            self.now += Span::from_millis(100);
            let sequence = SequenceNumber::new(u32::from(!flags.contains(Flags::SYN)));
            let acknowledgment = SequenceNumber::new(acknowledged);
            let window = 60_000;
            let rest = Segment::default();
            let segment = Segment { sequence, flags, acknowledgment, options, window, ..rest };
            self.end.on_segment(self.now, &segment);
            self.drain();
        }

        /// Acknowledges this number of segments.
        fn hears_of(&mut self, segments: u32) {
            let acknowledged = FIRST + segments * u32::try_from(SEGMENT).unwrap();
            self.hears(Flags::ACK, acknowledged, Options::NONE);
        }

        fn writes(&mut self, segments: u64) {
            self.end.write(segments * SEGMENT);
            self.drain();
        }

        fn drain(&mut self) {
            while self.end.poll_segment(self.now).is_some() {}
        }
    }

    fn careful(jump: u32) -> Advice {
        let retreat = CarefulResumeConfig::USUAL.retreat;
        let resumption = Resumption { jump, saved_rtt: Span::from_millis(100), retreat };
        Advice { resumption: Some(resumption), ..Advice::default() }
    }

    #[test]
    fn first_ack_ends_first_flight_pacing() {
        let mut sender = Sender::usual(Advice { min_window: Some(16), ..Advice::default() });
        sender.writes(30);
        assert!(sender.end.sender().paces() && !sender.end.sender().fast_path.is_plain());
        sender.hears_of(1);
        assert!(!sender.end.sender().paces() && sender.end.sender().fast_path.is_plain());
    }

    #[test]
    fn finished_careful_resume_is_untracked() {
        let mut sender = Sender::usual(careful(5));
        sender.writes(30);
        assert!(!sender.end.sender().fast_path.is_plain());
        sender.hears_of(10);
        assert!(!sender.end.sender().inherited.is_resuming(), "there is nothing to gain");
        assert!(sender.end.sender().fast_path.is_plain());
    }

    #[test]
    fn timeout_ends_careful_resume_tracking() {
        let mut sender = Sender::usual(careful(50));
        sender.writes(1);
        assert!(!sender.end.sender().fast_path.is_plain());
        sender.now = sender.end.next_deadline();
        sender.end.on_deadline(sender.now);
        sender.drain();
        assert!(!sender.end.sender().inherited.is_resuming());
        assert!(sender.end.sender().fast_path.is_plain());
    }

    #[test]
    fn other_mechanisms_outlast_first_flight() {
        let mut config = Profile::Rfc.config();
        config.sending.pacing.enabled = true;
        let advice = Advice { min_window: Some(16), ..Advice::default() };
        let mut sender = Sender::advised(config, advice);
        sender.writes(30);
        sender.hears_of(1);
        assert!(!sender.end.sender().pacer.has_first_flight());
        assert!(sender.end.sender().paces() && !sender.end.sender().fast_path.is_plain());
    }

    /// Linux `tcp_cleanup_congestion_control` does not reset `sk_pacing_status`.
    #[test]
    fn requested_pacing_outlasts_congestion_control() {
        let config = |congestion| Config { congestion, ..Profile::Rfc.config() };
        let governed = config(CongestionAlgorithm::Plugged(bbr1()));
        for (first, paces) in [(governed, true), (config(CongestionAlgorithm::Bic), false)] {
            let mut sender = Sender::advised(first, Advice::default());
            let next = config(CongestionAlgorithm::Reno);
            sender.end.reconfigure(sender.now, Arc::new(next));
            assert_eq!(
                (sender.end.sender().paces(), !sender.end.sender().fast_path.is_plain()),
                (paces, paces)
            );
        }
    }
}
