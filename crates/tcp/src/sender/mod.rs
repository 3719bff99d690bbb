//! The sending half: queue, scoreboard, loss recovery, congestion window, pacing, probes.
//!
//! | module | concern |
//! |---|---|
//! | `ack` | processing of an acknowledgment, in the order of Linux `tcp_ack()` |
//! | `ack_event` | one acknowledgment: flags, duplicates, deliveries |
//! | `queue`, `scoreboard` | retransmission queue; SACK scoreboard |
//! | `loss` | loss detection and recovery |
//! | `congestion` | congestion window and its algorithms |
//! | `opening` | handshake, initial window, advice of a window cache |
//! | `fast_path` | fast paths and their conditions |
//! | `transmit`, `retransmit` | new data; lost segments |
//! | `write` | written data; send buffer |
//! | `bundling` | TSO autosizing; smart framing; redundant data bundling |
//! | `pacing`, `delivery_rate` | pacing; delivery rate |
//! | `rtt` | round-trip estimation |
//! | `mtu` | segment size; path MTU discovery |
//! | `sequence_space` | the send sequence space; the peer's window; the urgent pointer |
//! | `persist` | probes while the peer's window is closed |
//! | `statistics` | counters; time per limit of the sender |

mod ack;
mod ack_event;
mod bundling;
pub(crate) mod congestion;
mod delivery_rate;
mod fast_path;
pub(crate) mod loss;
mod mtu;
mod opening;
mod pacing;
mod persist;
pub(crate) mod queue;
mod retransmit;
mod rtt;
mod scoreboard;
mod sequence_space;
mod statistics;
mod transmit;
mod write;

pub(crate) use ack_event::{AckEvent, AckFlags};
pub use write::{Part, WriteFlags};

use crate::config::{Config, Nagle};
use crate::ecn::EcnSender;
use crate::handshake::Negotiated;
use crate::state::{Event, RecoveryState, State, Unreachable};
use bundling::{Bundles, Framing};
use congestion::control::{InflightLimit, Usage};
use congestion::{Congestion, Reduction, Window};
use delivery_rate::DeliveryRate;
use fairwind_units::Instant;
use fairwind_wire::{Flags, SequenceNumber};
use fast_path::FastPath;
use loss::{
    DuplicateAcks, FRto, OutstandingRetransmits, Rack, Recovery, Reordering, Rto, TailProbe, Undo,
};
use mtu::{MtuSearch, PathMtu};
use opening::Inherited;
use pacing::Pacer;
use persist::Persist;
use queue::SendQueue;
use retransmit::Retransmissions;
use rtt::RttEstimator;
use scoreboard::Scoreboard;
use sequence_space::{PeerWindow, SendSpace, UrgentPointer};
use statistics::{Deliveries, SenderStats};
use std::collections::VecDeque;
use std::sync::Arc;
use transmit::{NagleState, Piggyback, TransmitBudget};
use write::{SendBuffer, Written};

/// A segment to send with data, without the fields of the receiving half.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outgoing {
    sequence: SequenceNumber,
    payload_bytes: u32,
    flags: Flags,
}

impl Outgoing {
    fn new(sequence: SequenceNumber, payload_bytes: u32, flags: Flags) -> Self {
        Self { sequence, payload_bytes, flags }
    }

    /// Sequence number, payload in bytes, control bits.
    pub(crate) fn into_parts(self) -> (SequenceNumber, u32, Flags) {
        (self.sequence, self.payload_bytes, self.flags)
    }

    /// The same with PSH.
    fn pushed(self) -> Self {
        Self { flags: self.flags | Flags::PSH, ..self }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimerOutcome {
    Continue,
    GiveUp,
}

/// The sending half of a connection.
#[derive(Debug)]
pub(crate) struct Sender {
    config: Arc<Config>,
    state: State,
    /// The application has closed the socket.
    is_orphan: bool,
    fast_path: FastPath,
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
    outstanding_retransmits: OutstandingRetransmits,
    window: Window,
    congestion: Congestion,
    usage: Usage,
    rtt: RttEstimator,
    rto: Rto,
    persist: Persist,
    pacer: Pacer,
    stats: SenderStats,
    path: PathMtu,
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
    getters! {
        /// The send sequence space.
        send_space: &SendSpace = send,
        /// The retransmission timer and the time-out.
        rto: &Rto,
        rto_mut: &mut Rto = rto,
        /// Round-trip times.
        rtt: &RttEstimator,
        /// The congestion window and its threshold.
        window: &Window,
        recovery: &Recovery,
        queue: &SendQueue,
        /// Data that waits to be sent.
        written: &Written,
        written_mut: &mut Written = written,
        /// Probes of a closed window, or of a silent peer.
        persist: &Persist,
        persist_mut: &mut Persist = persist,
        ecn: &EcnSender,
        ecn_mut: &mut EcnSender = ecn,
        stats_mut: &mut SenderStats = stats,
        /// The last ICMP error since the last acknowledged data that did not end the connection.
        soft_error_mut: &mut Option<Unreachable> = soft_error,
        segment_bytes: u32,
        /// The options that both ends agreed on.
        negotiated: &Negotiated,
    }

    pub(crate) fn new(config: Arc<Config>, initial: SequenceNumber, state: State) -> Self {
        let congestion = Congestion::new(&config);
        let inflight_limit = config.growth.inflight_limit.then(|| InflightLimit::new(initial));
        Self {
            state,
            is_orphan: false,
            fast_path: FastPath::new(&config, config.has_extras() || congestion.wants_samples()),
            send: SendSpace::new(initial),
            peer_window: PeerWindow::default(),
            nagle: NagleState::new(initial),
            urgent: UrgentPointer::default(),
            send_buffer: SendBuffer::default(),
            mtu_search: None,
            segment_bytes: Negotiated::nothing().segment_bytes(),
            negotiated: Negotiated::nothing(),
            queue: SendQueue::default(),
            written: Written::default(),
            budget: TransmitBudget::default(),
            piggyback: Piggyback::default(),
            scoreboard: Scoreboard::default(),
            recovery: Recovery::new(initial),
            retransmissions: Retransmissions::default(),
            duplicate_acks: DuplicateAcks::default(),
            reordering: Reordering::new(&config),
            rack: Rack::new(),
            reduction: Reduction::default(),
            undo: Undo::default(),
            outstanding_retransmits: OutstandingRetransmits::default(),
            tail_probe: TailProbe::default(),
            frto: FRto::default(),
            deliveries: Deliveries::default(),
            window: Window::new(&config),
            ecn: EcnSender::new(initial, congestion.needs_marks()),
            congestion,
            usage: Usage::new(initial),
            rtt: RttEstimator::default(),
            rto: Rto::new(config.initial_rto),
            persist: Persist::default(),
            pacer: Pacer::new(),
            stats: SenderStats::default(),
            path: PathMtu::new(&config),
            soft_error: None,
            framing: Framing::default(),
            inherited: Inherited::default(),
            inflight_limit,
            bundles: Bundles::default(),
            delivery_rate: DeliveryRate::default(),
            events: VecDeque::new(),
            config,
        }
    }

    pub(crate) fn set_connection_state(&mut self, state: State) {
        self.state = state;
    }

    pub(crate) fn set_orphan(&mut self) {
        self.is_orphan = true;
    }

    /// Moves pending events to the end of `events`.
    pub(crate) fn move_events(&mut self, events: &mut VecDeque<Event>) {
        events.append(&mut self.events);
    }

    /// The next event, in the order in which they happened.
    pub(crate) fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    pub(crate) fn has_event(&self) -> bool {
        !self.events.is_empty()
    }

    /// Whether an old acknowledgment number lies within the largest window, so that the segment may have
    /// been in flight (RFC 5961 §5.2).
    pub(crate) fn may_have_been_in_flight(&self, acknowledgment: SequenceNumber) -> bool {
        let controls = u64::from(self.stats.acknowledged_controls());
        let acknowledged = self.send.acknowledged_bytes() + controls;
        let largest = u64::from(self.peer_window.largest()).min(acknowledged);
        u64::from(self.send.oldest_unacked().distance_from(acknowledgment)) <= largest
    }

    pub(crate) fn has_data(&self) -> bool {
        !self.queue.is_empty() || self.written.unsent() > 0
    }

    pub(crate) fn is_drained(&self) -> bool {
        self.queue.is_empty() && !self.written.has_any()
    }

    /// Sequence number of a window probe: one below the window, so that the peer answers with its
    /// window (as in Linux; RFC 9293 §3.8.6.1 would send a byte of data).
    pub(crate) fn take_window_probe(&mut self) -> SequenceNumber {
        self.persist.take_probe();
        self.events.push_back(Event::ZeroWindowProbe);
        self.send.oldest_unacked() - 1
    }

    /// The next number to send, or the edge of a window that has shrunk below it, so that the peer
    /// accepts the segment (Linux `tcp_acceptable_seq`).
    pub(crate) fn acceptable_sequence(&self) -> SequenceNumber {
        let edge = self.send.oldest_unacked() + self.peer_window.bytes();
        let within = edge.is_at_or_after(self.send.next())
            || self.send.next().distance_from(edge) < 1 << self.negotiated.receive_shift();
        if within { self.send.next() } else { edge }
    }

    /// Records an outgoing segment, with data or without.
    #[inline]
    pub(crate) fn on_segment_transmitted(&mut self, payload_bytes: u32, now: Instant) {
        self.send.on_transmitted(now);
        self.stats.on_segment(payload_bytes);
    }

    /// Whether a retransmission or a probe may be due. Drivers poll once too often after every
    /// input, so this is fast.
    #[inline]
    pub(crate) fn has_more_than_new_data_due(&self) -> bool {
        self.is_retransmission_due()
            || self.persist.is_probe_due()
            || self.recovery.state() == RecoveryState::Recovery
    }

    /// Sets what segments carry for the receiving half: number of SACK blocks, whether all data is
    /// in order, whether an acknowledgment is due.
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

    pub(crate) fn next_deadline(&self) -> Instant {
        self.rto.due().min(self.persist.due()).min(self.pacer.due())
    }

    pub(crate) fn stop_timers(&mut self) {
        self.rto.stop();
        self.persist.stop();
        self.pacer.stop_timer();
    }

    /// Closes the sender: nothing is outstanding or waits.
    pub(crate) fn close(&mut self) {
        self.persist.take_probe();
        self.queue = SendQueue::default();
        self.written.clear();
        self.bundles = Bundles::default();
        self.scoreboard = Scoreboard::default();
        self.send.close();
    }

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
        self.update_fast_path();
        self.update_framing();
        self.window.recount(&config);
        if let Congestion::Plugged(plugged) = &mut self.congestion {
            plugged.set_ack_counting(config.ack_counting);
        }
        self.release_held(&before, &config);
        if before.sending.pacing != config.sending.pacing {
            self.bound_pacing_rate();
        }
        if before.send_buffer != config.send_buffer {
            self.send_buffer.reset();
        }
    }

    /// Releases small segments for `TCP_NODELAY`, also corked ones; without a cork, held data
    /// follows Nagle's rule again.
    fn release_held(&mut self, before: &Config, config: &Config) {
        let hurries = before.nagle != Nagle::Off && config.nagle == Nagle::Off;
        let uncorked = before.sending.cork && !config.sending.cork && config.nagle == Nagle::Off;
        if hurries || uncorked {
            self.nagle.push_once();
        }
    }

    /// Sets `TCP_NODELAY`, possibly again: releases small segments (Linux `__tcp_sock_set_nodelay`).
    pub(crate) fn push_held(&mut self) {
        self.nagle.push_once();
    }

    /// Bytes written and not acknowledged, sent or not; a FIN counts as one.
    pub(crate) fn unacked_bytes(&self) -> u64 {
        let outstanding = self.send.next().distance_from(self.send.oldest_unacked());
        self.written.unsent() + u64::from(outstanding) + u64::from(self.written.is_fin_waiting())
    }

    /// Whether counters match the queue, and a timer runs while data is outstanding; for debug
    /// builds.
    pub(crate) fn is_consistent(&self) -> bool {
        self.queue.is_consistent()
            && self.written.is_consistent()
            && self.scoreboard.is_consistent(&self.queue)
            && (self.queue.is_empty() || self.rto.is_armed())
            && self.window.segments() >= 1
    }
}
