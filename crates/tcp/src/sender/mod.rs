//! The sending half: queue, scoreboard, loss recovery, congestion window, pacing, probes.
//!
//! | module | concern |
//! |---|---|
//! | `ack` | processing of an acknowledgment, in the order of Linux `tcp_ack()` |
//! | `ack_event` | what one acknowledgment reports |
//! | `queue`, `scoreboard` | outstanding segments; which of them have arrived |
//! | `loss` | loss detection and recovery |
//! | `congestion` | congestion window and its algorithms |
//! | `transmit`, `retransmit` | new data; lost segments |
//! | `write`, `written`, `buffer` | data that the application writes; room for it |
//! | `tso`, `framing`, `redundancy` | segments sent together; small windows; redundant bundling |
//! | `pacing`, `delivery_rate` | sending at a rate; the rate of delivery |
//! | `rtt`, `least_rtt` | round-trip estimation |
//! | `path`, `mtu_probe` | segment size; path MTU discovery |
//! | `peer_window`, `persist` | the peer's window; probes while it is closed |
//! | `user_timeout` | when unacknowledged data ends the connection |
//! | `statistics` | counters, and what limits the sender |

mod ack;
mod ack_event;
mod buffer;
pub(crate) mod congestion;
mod delivery_rate;
mod framing;
mod least_rtt;
pub(crate) mod loss;
mod mtu_probe;
mod pacing;
mod path;
mod peer_window;
mod persist;
pub(crate) mod queue;
mod redundancy;
mod retransmit;
mod rtt;
mod scoreboard;
mod space;
mod statistics;
mod transmit;
mod tso;
mod urgent;
mod user_timeout;
mod window_advice;
mod write;
mod written;

pub(crate) use ack_event::{AckEvent, AckFlags};
pub use write::{Part, Writing};

use crate::config::{Config, Nagle};
use crate::ecn::EcnSender;
use crate::event::Event;
use crate::handshake::negotiation::Negotiated;
use crate::icmp::Unreachable;
use crate::information::Information;
use crate::state::{RecoveryState, State};
use buffer::SendBuffer;
use congestion::inflight_limit::InflightLimit;
use congestion::usage::Usage;
use congestion::{Congestion, Reduction, Window};
use delivery_rate::DeliveryRate;
use fairwind_units::{Instant, Span};
use fairwind_wire::{Ecn, Flags, Segment, SequenceNumber};
use framing::Framing;
use loss::{
    DuplicateAcks, FRto, LostRetransmits, Rack, Recovery, Reordering, Rto, TailProbe, Undo,
};
use mtu_probe::MtuSearch;
use pacing::Pacer;
use path::Path;
use peer_window::PeerWindow;
use persist::Persist;
use queue::SendQueue;
use redundancy::Bundles;
use retransmit::Retransmissions;
use rtt::RttEstimator;
use scoreboard::Scoreboard;
use space::SendSpace;
use statistics::{Deliveries, SenderStats};
use std::collections::VecDeque;
use std::sync::Arc;
use transmit::{NagleState, Piggyback, TransmitBudget};
use urgent::UrgentPointer;
use window_advice::Inherited;
use written::Written;

/// A segment with data that is to go out, without the fields of the receiving half.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outgoing {
    sequence: SequenceNumber,
    payload_bytes: u32,
    flags: Flags,
}

impl Outgoing {
    #[inline]
    fn new(sequence: SequenceNumber, payload_bytes: u32, flags: Flags) -> Self {
        Self { sequence, payload_bytes, flags }
    }

    /// The same with PSH.
    #[inline]
    fn pushed(self) -> Self {
        Self { flags: self.flags | Flags::PSH, ..self }
    }

    #[inline]
    pub(crate) fn sequence(&self) -> SequenceNumber {
        self.sequence
    }

    #[inline]
    pub(crate) fn payload_bytes(&self) -> u32 {
        self.payload_bytes
    }

    #[inline]
    pub(crate) fn flags(&self) -> Flags {
        self.flags
    }
}

/// What a timer that may have run out leaves of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expired {
    /// It goes on.
    GoesOn,
    /// It is given up.
    GaveUp,
}

/// The sending half of a connection.
#[derive(Debug)]
pub(crate) struct Sender {
    config: Arc<Config>,
    /// The state of the connection.
    state: State,
    /// The application has let go of the connection.
    is_orphan: bool,
    /// A mechanism that few connections have follows each segment and acknowledgment.
    has_extras: bool,
    send: SendSpace,
    peer_window: PeerWindow,
    nagle: NagleState,
    segment_bytes: u32,
    negotiated: Negotiated,
    queue: SendQueue,
    written: Written,
    budget: TransmitBudget,
    piggyback: Piggyback,
    scoreboard: Scoreboard,
    recovery: Recovery,
    retransmissions: Retransmissions,
    duplicate_acks: DuplicateAcks,
    reordering: Reordering,
    rack: Rack,
    reduction: Reduction,
    undo: Undo,
    tail_probe: TailProbe,
    frto: FRto,
    deliveries: Deliveries,
    lost_retransmits: LostRetransmits,
    window: Window,
    congestion: Congestion,
    usage: Usage,
    rtt: RttEstimator,
    rto: Rto,
    persist: Persist,
    pacer: Pacer,
    stats: SenderStats,
    path: Path,
    mtu_search: Option<MtuSearch>,
    send_buffer: SendBuffer,
    urgent: UrgentPointer,
    ecn: EcnSender,
    soft_error: Option<Unreachable>,
    framing: Framing,
    inherited: Inherited,
    inflight_limit: Option<InflightLimit>,
    bundles: Bundles,
    delivery_rate: DeliveryRate,
    events: VecDeque<Event>,
}

impl Sender {
    pub(crate) fn new(config: Arc<Config>, initial: SequenceNumber, state: State) -> Self {
        let congestion = Congestion::new(&config);
        let inflight_limit = config.growth.inflight_limit.then(|| InflightLimit::new(initial));
        Self {
            state,
            is_orphan: false,
            has_extras: config.has_extras() || congestion.wants_samples(),
            send: SendSpace::new(initial),
            peer_window: PeerWindow::default(),
            nagle: NagleState::new(initial),
            urgent: UrgentPointer::default(),
            send_buffer: SendBuffer::default(),
            mtu_search: None,
            segment_bytes: Negotiated::nothing().segment_bytes(),
            negotiated: Negotiated::nothing(),
            queue: SendQueue::new(),
            written: Written::default(),
            budget: TransmitBudget::default(),
            piggyback: Piggyback::default(),
            scoreboard: Scoreboard::default(),
            recovery: Recovery::new(initial),
            retransmissions: Retransmissions::new(),
            duplicate_acks: DuplicateAcks::default(),
            reordering: Reordering::new(&config),
            rack: Rack::new(),
            reduction: Reduction::default(),
            undo: Undo::default(),
            lost_retransmits: LostRetransmits::default(),
            tail_probe: TailProbe::default(),
            frto: FRto::default(),
            deliveries: Deliveries::default(),
            window: Window::new(&config),
            ecn: EcnSender::new(initial, congestion.needs_marks()),
            congestion,
            usage: Usage::new(initial),
            rtt: RttEstimator::new(),
            rto: Rto::new(config.initial_rto),
            persist: Persist::new(),
            pacer: Pacer::new(),
            stats: SenderStats::default(),
            path: Path::new(&config),
            soft_error: None,
            framing: Framing::default(),
            inherited: Inherited::default(),
            inflight_limit,
            bundles: Bundles::default(),
            delivery_rate: DeliveryRate::new(),
            events: VecDeque::new(),
            config,
        }
    }

    /// Determines anew whether a mechanism that few connections have follows each segment and
    /// acknowledgment.
    fn update_extras(&mut self) {
        self.has_extras = self.config.has_extras()
            || self.congestion.wants_samples()
            || self.inherited.is_resuming()
            || self.pacer.has_first_flight()
            || self.pacer.is_rate_set();
    }

    /// Follows the state of the connection.
    pub(crate) fn set_connection_state(&mut self, state: State) {
        self.state = state;
    }

    /// The application has let go of the connection.
    pub(crate) fn set_orphan(&mut self) {
        self.is_orphan = true;
    }

    /// Moves what has happened to the end of `events`.
    pub(crate) fn move_events(&mut self, events: &mut VecDeque<Event>) {
        events.append(&mut self.events);
    }

    /// The next event, in the order in which they happened.
    #[inline]
    pub(crate) fn poll_event(&mut self) -> Option<Event> {
        if self.events.is_empty() { None } else { self.events.pop_front() }
    }

    /// Initial sequence number (ISS).
    #[inline]
    pub(crate) fn initial(&self) -> SequenceNumber {
        self.send.initial()
    }

    /// Oldest unacknowledged number (SND.UNA).
    #[inline]
    pub(crate) fn oldest_unacked(&self) -> SequenceNumber {
        self.send.oldest_unacked()
    }

    /// Next number to send (SND.NXT).
    #[inline]
    pub(crate) fn next(&self) -> SequenceNumber {
        self.send.next()
    }

    /// Whether a number acknowledges our SYN.
    pub(crate) fn acknowledges_syn(&self, acknowledgment: SequenceNumber) -> bool {
        acknowledgment.is_after(self.send.initial())
            && acknowledgment.is_at_or_before(self.send.next())
    }

    /// Whether an old acknowledgment number lies within the largest window, so that the segment may have
    /// been in flight (RFC 5961 §5.2).
    pub(crate) fn may_have_been_in_flight(&self, acknowledgment: SequenceNumber) -> bool {
        let largest = u64::from(self.peer_window.largest()).min(self.send.acknowledged_bytes());
        u64::from(self.send.oldest_unacked().distance_from(acknowledgment)) <= largest
    }

    /// The retransmission time-out in force, back-off included (RTO).
    #[inline]
    pub(crate) fn rto(&self) -> Span {
        self.rto.timeout()
    }

    /// Time-outs since the last progress.
    pub(crate) fn timeouts(&self) -> u32 {
        self.rto.expired()
    }

    /// Smoothed round-trip time (SRTT), once there was a sample.
    #[inline]
    pub(crate) fn smoothed_rtt(&self) -> Option<Span> {
        self.rtt.smoothed()
    }

    /// Least round-trip sample.
    pub(crate) fn least_rtt(&self) -> Option<Span> {
        self.rtt.minimum()
    }

    /// Congestion window in segments.
    #[inline]
    pub(crate) fn congestion_window(&self) -> u32 {
        self.window.segments()
    }

    /// Slow-start threshold in segments, once one was set.
    pub(crate) fn slow_start_threshold(&self) -> Option<u32> {
        (!self.window.is_in_initial_slow_start()).then_some(self.window.threshold())
    }

    /// The state of loss recovery.
    pub(crate) fn recovery_state(&self) -> RecoveryState {
        self.recovery.state()
    }

    /// Payload of a full-sized segment in bytes.
    #[inline]
    pub(crate) fn segment_bytes(&self) -> u32 {
        self.segment_bytes
    }

    /// The options that both ends agreed on.
    pub(crate) fn negotiated(&self) -> &Negotiated {
        &self.negotiated
    }

    /// Bytes written and not sent for the first time yet.
    #[inline]
    pub(crate) fn unsent_bytes(&self) -> u64 {
        self.written.unsent()
    }

    /// Whether FIN is to follow what was written.
    pub(crate) fn is_fin_waiting(&self) -> bool {
        self.written.is_fin_waiting()
    }

    /// Whether data is outstanding or waits.
    pub(crate) fn has_data(&self) -> bool {
        !self.queue.is_empty() || self.written.unsent() > 0
    }

    /// Whether data is outstanding.
    pub(crate) fn has_outstanding(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Whether data or FIN waits to be sent for the first time.
    #[inline]
    pub(crate) fn has_data_waiting(&self) -> bool {
        self.written.has_any()
    }

    /// Whether everything is acknowledged, FIN included where closed.
    pub(crate) fn is_drained(&self) -> bool {
        self.queue.is_empty() && !self.written.has_any()
    }

    /// FIN is to follow what was written.
    pub(crate) fn queue_fin(&mut self) {
        self.written.queue_fin();
    }

    /// When the peer acknowledged last, new data or not.
    pub(crate) fn last_heard(&self) -> Instant {
        self.send.last_heard()
    }

    /// Probes since the peer was heard of last.
    pub(crate) fn unanswered_probes(&self) -> u32 {
        self.persist.unanswered()
    }

    /// A silent peer is to be probed.
    pub(crate) fn request_window_probe(&mut self) {
        self.persist.request_probe();
    }

    /// Whether a probe of a closed window, or of a silent peer, is to be sent.
    #[inline]
    pub(crate) fn is_window_probe_due(&self) -> bool {
        self.persist.is_probe_due()
    }

    /// The number of a probe that goes out: one below the window, so that the peer answers with its
    /// window (as Linux probes; RFC 9293 §3.8.6.1 would send a byte of data).
    pub(crate) fn take_window_probe(&mut self) -> SequenceNumber {
        self.persist.take_probe();
        self.events.push_back(Event::ZeroWindowProbe);
        self.send.oldest_unacked() - 1
    }

    /// The next number to send, or the edge of a window that was closed over it, so that the peer
    /// finds the segment acceptable (Linux `tcp_acceptable_seq`).
    pub(crate) fn acceptable_sequence(&self) -> SequenceNumber {
        let edge = self.send.oldest_unacked() + self.peer_window.bytes();
        let within = edge.is_at_or_after(self.send.next())
            || self.send.next().distance_from(edge) < 1 << self.negotiated.receive_shift();
        if within { self.send.next() } else { edge }
    }

    /// A segment goes out, with data or without.
    #[inline]
    pub(crate) fn on_segment_transmitted(&mut self, payload_bytes: u32, now: Instant) {
        self.send.on_transmitted(now);
        self.stats.on_segment(payload_bytes);
    }

    /// Whether something other than new data may be due: a retransmission, a probe. Drivers ask once
    /// too often after every input, so this is quick.
    #[inline]
    pub(crate) fn has_more_than_new_data_due(&self) -> bool {
        self.is_retransmission_due()
            || self.persist.is_probe_due()
            || self.recovery.state() == RecoveryState::Recovery
    }

    /// Notes what segments carry for the receiving half: SACK blocks; whether nothing waits out of
    /// order there; whether an acknowledgment is due.
    #[inline]
    pub(crate) fn note_receiver(&mut self, sack_blocks: usize, in_order: bool, ack_due: bool) {
        self.piggyback = Piggyback::new(sack_blocks, in_order, ack_due);
    }

    /// A segment that is dropped is no occasion to send new data (Linux
    /// `tcp_rcv_established` ends before `tcp_data_snd_check`).
    #[cold]
    pub(crate) fn hold_new_data(&mut self) {
        if self.written.unsent() > 0 {
            self.budget.hold();
        }
    }

    /// The earliest deadline of the sending half.
    #[inline]
    pub(crate) fn next_deadline(&self) -> Instant {
        self.rto.due().min(self.persist.due()).min(self.pacer.due())
    }

    /// Stops all timers of the sending half.
    pub(crate) fn stop_timers(&mut self) {
        self.rto.stop();
        self.persist.stop();
        self.pacer.stop_timer();
    }

    /// The connection is closed: nothing is outstanding or waits.
    pub(crate) fn close(&mut self) {
        self.persist.take_probe();
        self.queue = SendQueue::new();
        self.written.clear();
        self.bundles = Bundles::default();
        self.scoreboard = Scoreboard::default();
        self.send.close();
    }

    /// The last ICMP error since data was acknowledged.
    pub(crate) fn soft_error(&self) -> Option<Unreachable> {
        self.soft_error
    }

    /// Notes an ICMP error that does not end the connection.
    pub(crate) fn set_soft_error(&mut self, error: Unreachable) {
        self.soft_error = Some(error);
    }

    /// Takes the last ICMP error.
    pub(crate) fn take_soft_error(&mut self) -> Option<Unreachable> {
        self.soft_error.take()
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
    pub(crate) fn forget_syn_retransmission(&mut self) {
        self.stats.forget_retransmission();
    }

    /// Whether ECN was negotiated.
    #[inline]
    pub(crate) fn is_ecn_negotiated(&self) -> bool {
        self.ecn.is_negotiated()
    }

    /// Whether the congestion control needs ECN.
    pub(crate) fn needs_ecn(&self) -> bool {
        self.ecn.is_needed()
    }

    /// Sets the code point and CWR of a segment.
    pub(crate) fn mark_ecn(&mut self, segment: &mut Segment) {
        self.ecn.mark(segment);
    }

    /// Sets the code point of an acknowledgment that the congestion control requests.
    pub(crate) fn mark_requested_ack(&mut self, segment: &mut Segment) {
        self.ecn.mark_requested_ack(segment);
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
    pub(crate) fn syn_code_point(&self, flags: Flags) -> Ecn {
        self.ecn.syn_code_point(flags)
    }

    /// The code point of the last segment.
    pub(crate) fn last_code_point(&self) -> Ecn {
        self.ecn.last_code_point()
    }

    /// ECN bits of the SYN of a peer that opens.
    pub(crate) fn on_syn_ecn(&mut self, syn: &Segment) {
        self.ecn.on_syn(&self.config.ecn, syn);
    }

    /// ECN bits of the answer to our SYN.
    pub(crate) fn on_syn_ack_ecn(&mut self, answer: &Segment) {
        self.ecn.on_syn_ack(answer);
    }

    /// ECN bits of a SYN that crosses ours.
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
            self.rto.set_timeout(crate::handshake::RTO_AFTER_LOST_SYN);
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
    pub(crate) fn count_syn_and_data_once(&mut self) {
        self.deliveries.begin(self.deliveries.segments().min(1));
    }

    /// The data of our SYN is outstanding by itself: if it has to be repeated, that is without SYN.
    pub(crate) fn queue_syn_data(&mut self, bytes: u32, now: Instant) {
        let mut marks = queue::Marks::default();
        marks.set(queue::Marks::PUSH);
        let sequence = self.send.initial() + 1;
        self.queue.push(sequence, bytes, self.deliveries.segments(), marks, now);
        self.send.on_new_data_sent(self.send.initial() + 1 + bytes, now);
        self.ecn.on_syn_data(self.send.next());
    }

    /// Adopts changed settings.
    pub(crate) fn reconfigure(&mut self, now: Instant, config: Arc<Config>) {
        let before = std::mem::replace(&mut self.config, config);
        let config = self.config.clone();
        if before.congestion != config.congestion {
            self.end_control();
            self.congestion = Congestion::new(&config);
            self.ecn.set_needed(self.congestion.needs_marks());
            if self.state.is_synchronised() {
                self.begin_control(now);
            }
        }
        self.reordering.reconfigure(&config);
        self.update_extras();
        self.update_framing();
        self.window.recount(&config);
        if let Congestion::Plugged(plugged) = &mut self.congestion {
            plugged.count_as(config.ack_counting);
        }
        self.release_held(&before, &config);
        if before.sending.pacing != config.sending.pacing {
            self.bound_pacing_rate();
        }
        if before.send_buffer != config.send_buffer {
            self.send_buffer.reset();
        }
    }

    /// `TCP_NODELAY`: nothing small waits any longer, not even behind a cork; without a cork, what
    /// it held follows Nagle's rule again.
    fn release_held(&mut self, before: &Config, config: &Config) {
        let hurries = before.nagle != Nagle::Off && config.nagle == Nagle::Off;
        let uncorked = before.sending.cork && !config.sending.cork && config.nagle == Nagle::Off;
        if hurries || uncorked {
            self.nagle.push_once();
        }
    }

    /// Stream offset of a sequence number, less than 2^31 from the oldest unacknowledged one.
    pub(crate) fn stream_offset(&self, sequence: SequenceNumber) -> u64 {
        self.send.stream_offset(sequence)
    }

    /// Payload bytes that the peer has acknowledged.
    pub(crate) fn acknowledged_bytes(&self) -> u64 {
        self.send.acknowledged_bytes()
    }

    /// Bytes written and not acknowledged, sent or not; a FIN counts as one.
    pub(crate) fn unacked_bytes(&self) -> u64 {
        let outstanding = self.send.next().distance_from(self.send.oldest_unacked());
        self.written.unsent() + u64::from(outstanding) + u64::from(self.written.is_fin_waiting())
    }

    /// Bytes written and not sent that lie in the buffer begun last.
    pub(crate) fn last_buffer_bytes(&self) -> u32 {
        self.written.last_bytes()
    }

    /// Whether our SYN or FIN was acknowledged.
    pub(crate) fn has_acked_control(&self) -> bool {
        self.stats.acknowledged_controls() > 0
    }

    /// The threshold in segments after the loss of our SYN, if it had to be repeated.
    pub(crate) fn lost_syn_window(&self) -> Option<u32> {
        (self.rto.expired() > 0).then(|| {
            let (base, window) = (self.config.reduction_base, self.window.segments());
            Congestion::new(&self.config).ssthresh(&self.window, base, window)
        })
    }

    /// Fills in what `TCP_INFO` reports of the sending half.
    pub(crate) fn inform(&self, information: &mut Information, now: Instant) {
        let pacing = &self.config.sending.pacing;
        information.path_mtu_bytes = Some(self.path.mtu());
        information.send_window_shift = Some(self.negotiated.send_shift());
        information.send_mss_bytes = self.segment_bytes;
        information.since_data_sent = Some(now.saturating_since(self.send.last_sent()));
        information.since_ack_received = Some(now.saturating_since(self.send.last_heard()));
        information.pacing_rate_bytes_per_second = Some(self.pacer.rate());
        information.greatest_pacing_rate_bytes_per_second =
            Some(pacing.greatest_bytes_per_second.unwrap_or(u64::MAX));
        information.acknowledged_bytes =
            Some(self.send.acknowledged_bytes() + u64::from(self.stats.acknowledged_controls()));
        information.unsent_bytes = self.written.unsent();
        information.send_window_bytes = self.peer_window.bytes();
        self.stats.inform(information, now);
        self.inform_of_losses(information);
    }

    fn inform_of_losses(&self, information: &mut Information) {
        information.recovery = self.recovery.state();
        information.consecutive_timeouts = Some(self.rto.expired());
        information.unanswered_probes = Some(self.persist.unanswered());
        information.backoff = Some(self.rto.doublings().max(self.persist.probes()));
        information.unacked_segments = Some(self.queue.outstanding());
        information.sacked_segments = Some(self.left_network());
        information.lost_segments = Some(self.queue.lost());
        information.retransmitted_segments = Some(self.queue.retransmitted());
        information.smoothed_rtt = self.smoothed_rtt();
        information.rtt_variation =
            self.smoothed_rtt().map(|_| self.rtt.deviation(self.config.rtt_rule));
        information.slow_start_threshold = self.slow_start_threshold();
        information.congestion_window = self.window.segments();
        information.reordering_segments = Some(self.reordering.threshold());
        information.least_rtt = self.least_rtt();
        information.delivered_segments = Some(self.deliveries.segments());
        information.delivered_marked_segments = Some(self.deliveries.marked());
        if self.samples_delivery_rate() {
            information.delivery_rate_is_application_limited =
                Some(self.delivery_rate.is_application_limited());
            information.delivery_rate_bytes_per_second =
                Some(self.delivery_rate.bytes_per_second(self.segment_bytes));
        }
        information.reordering_events = Some(self.reordering.events());
    }

    /// Whether counters agree with what they count, and a timer runs while data is outstanding; for
    /// debug builds.
    pub(crate) fn is_consistent(&self) -> bool {
        self.queue.is_consistent()
            && self.written.is_consistent()
            && self.scoreboard.is_consistent(&self.queue)
            && (self.queue.is_empty() || self.rto.is_armed())
            && self.window.segments() >= 1
    }
}
