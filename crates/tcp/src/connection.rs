//! One end of a connection: its parts, and what a driver calls.

use crate::account::Account;
use crate::config::{Config, LEAST_BUFFER};
use crate::congestion::{Congestion, Window};
use crate::delivery_rate::DeliveryRate;
use crate::ecn::Ecn;
use crate::event::Event;
use crate::fast_open::FastOpenState;
use crate::framing::Framing;
use crate::inflight::InflightLimit;
use crate::input::Unreachable;
use crate::negotiation::Negotiated;
use crate::output::{Ahead, Bundles, Run};
use crate::pacing::Pacer;
use crate::receiver::{
    Acknowledger, FirstWindow, Reassembly, ReceiveBuffer, Received, SegmentSize, Tuning,
};
use crate::recovery::Recovery;
use crate::rtt::RttEstimator;
use crate::scoreboard::Scoreboard;
use crate::segment_size::Path;
use crate::send_queue::SendQueue;
use crate::sharing::Inherited;
use crate::spaces::{Backoff, ReceiveSpace, SendSpace};
use crate::state::{RecoveryState, State};
use crate::timers::Timers;
use crate::usage::Usage;
use crate::written::Written;
use fairwind_units::{Instant, Span};
use fairwind_wire::SequenceNumber;
use std::collections::VecDeque;
use std::sync::Arc;

/// Ports of the two ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ports {
    /// This end's port.
    pub local: u16,
    /// The peer's port.
    pub remote: u16,
}

/// One end of a TCP connection as a pure state machine.
///
/// Inputs: [`on_segment`](Self::on_segment), [`on_deadline`](Self::on_deadline),
/// [`write`](Self::write), [`read`](Self::read), [`close`](Self::close), [`abort`](Self::abort).
/// After any of them, drain [`poll_segment`](Self::poll_segment) until it gives `None` (or
/// [`poll_segment_into`](Self::poll_segment_into)), and [`poll_event`](Self::poll_event); then [`next_deadline`](Self::next_deadline) holds until the
/// next input.
///
/// Payload is counted, not carried: the stream's bytes stay with the driver, and
/// [`stream_offset`](Self::stream_offset) says which of them a segment carries.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "what is due is independent of each other")]
pub struct Connection {
    pub(crate) config: Arc<Config>,
    pub(crate) state: State,
    pub(crate) ports: Ports,
    /// Something that few connections have follows each segment and acknowledgment: one question in
    /// the place of several.
    pub(crate) has_extras: bool,
    pub(crate) send: SendSpace,
    pub(crate) receive: ReceiveSpace,
    pub(crate) queue: SendQueue,
    pub(crate) written: Written,
    pub(crate) run: Run,
    pub(crate) bundles: Bundles,
    pub(crate) framing: Framing,
    pub(crate) pacer: Pacer,
    pub(crate) delivery_rate: DeliveryRate,
    pub(crate) path: Path,
    pub(crate) account: Account,
    /// What the path complained of since the peer was heard of last.
    pub(crate) complaint: Option<Unreachable>,
    pub(crate) scoreboard: Scoreboard,
    pub(crate) reassembly: Reassembly,
    pub(crate) negotiated: Negotiated,
    pub(crate) peer_scales: bool,
    pub(crate) rtt: RttEstimator,
    pub(crate) timers: Timers,
    pub(crate) backoff: Backoff,
    pub(crate) recovery: Recovery,
    pub(crate) window: Window,
    pub(crate) congestion: Congestion,
    pub(crate) usage: Usage,
    pub(crate) inflight_limit: Option<InflightLimit>,
    pub(crate) inherited: Inherited,
    pub(crate) acknowledger: Acknowledger,
    pub(crate) ecn: Ecn,
    pub(crate) fast_open: FastOpenState,
    pub(crate) buffer: ReceiveBuffer,
    pub(crate) segment_size: SegmentSize,
    pub(crate) tuning: Tuning,
    pub(crate) received: Received,
    pub(crate) first_window: FirstWindow,
    /// When something unacceptable was answered last.
    pub(crate) rejected_at: Option<Instant>,
    /// The second in which a challenge ACK was sent last, and how many were due in it.
    pub(crate) challenges: (u64, u32),
    /// The application has let go of the connection.
    pub(crate) is_orphan: bool,
    /// The peer has begun the handshake.
    pub(crate) is_passive: bool,
    /// The handshake is over but for the data that the application waits for.
    pub(crate) is_acknowledged_only: bool,
    /// When SYN was sent first, and how often.
    pub(crate) syn_sent_at: Instant,
    pub(crate) syn_transmissions: u32,
    /// A probe of a closed window is to be sent.
    pub(crate) probe_due: bool,
    pub(crate) ahead: Ahead,
    pub(crate) events: VecDeque<Event>,
}

impl Connection {
    fn new(config: Arc<Config>, ports: Ports, initial: SequenceNumber, state: State) -> Self {
        let congestion = Congestion::new(&config);
        let inflight_limit = config.growth.inflight_limit.then(|| InflightLimit::new(initial));
        let window = Window::new(&config);
        let recovery = Recovery::new(&config, initial);
        let backoff = Backoff::new(config.initial_rto);
        let path = Path::new(&config);
        let memory = config.receive_buffer.saturating_mul(2).max(LEAST_BUFFER);
        let has_extras = config.has_extras() || congestion.wants_samples();
        let ecn = Ecn::new(initial, congestion.needs_marks());
        Self {
            config,
            state,
            ports,
            has_extras,
            send: SendSpace::new(initial),
            receive: ReceiveSpace::new(),
            queue: SendQueue::new(),
            written: Written::default(),
            run: Run::default(),
            bundles: Bundles::default(),
            framing: Framing::default(),
            pacer: Pacer::new(),
            delivery_rate: DeliveryRate::new(),
            path,
            account: Account::default(),
            complaint: None,
            scoreboard: Scoreboard::default(),
            reassembly: Reassembly::default(),
            negotiated: Negotiated::nothing(),
            peer_scales: false,
            rtt: RttEstimator::new(),
            timers: Timers::new(),
            backoff,
            recovery,
            window,
            congestion,
            usage: Usage::new(initial),
            inflight_limit,
            inherited: Inherited::default(),
            acknowledger: Acknowledger::new(),
            ecn,
            fast_open: FastOpenState::default(),
            buffer: ReceiveBuffer::new(memory),
            segment_size: SegmentSize::new(),
            tuning: Tuning::new(),
            received: Received::default(),
            first_window: FirstWindow { bytes: 0, shift: 0, clamp: 0 },
            rejected_at: None,
            challenges: (0, 0),
            is_orphan: false,
            is_passive: state == State::Listen,
            is_acknowledged_only: false,
            syn_sent_at: Instant::ZERO,
            syn_transmissions: 0,
            probe_due: false,
            ahead: Ahead::default(),
            events: VecDeque::new(),
        }
    }

    /// Asks anew whether something that few connections have follows each segment and acknowledgment.
    pub(crate) fn reckon_extras(&mut self) {
        self.has_extras = self.config.has_extras()
            || self.congestion.wants_samples()
            || self.inherits_something()
            || self.pacer.is_governed();
    }

    /// Opens actively: the next [`poll_segment`](Self::poll_segment) gives the SYN.
    pub fn connect(config: Arc<Config>, ports: Ports, initial: SequenceNumber) -> Self {
        let mut connection = Self::new(config, ports, initial, State::SynSent);
        connection.ahead.set_syn(true);
        connection
    }

    /// Opens passively: waits for one SYN.
    pub fn listen(config: Arc<Config>, ports: Ports, initial: SequenceNumber) -> Self {
        Self::new(config, ports, initial, State::Listen)
    }

    /// Where in its life the connection is.
    #[inline]
    pub fn state(&self) -> State {
        self.state
    }

    /// Bytes written and not sent for the first time yet.
    #[inline]
    pub fn unsent_bytes(&self) -> u64 {
        self.queue.unsent
    }

    /// Closes the sending direction: FIN follows what was written (RFC 9293 §3.10.4).
    pub fn close(&mut self) {
        match self.state {
            State::Listen | State::SynSent => self.become_closed(),
            State::SynReceived | State::Established => self.finish(State::FinWait1),
            State::CloseWait => self.finish(State::LastAck),
            _ => {}
        }
    }

    fn finish(&mut self, state: State) {
        self.tell_of_close();
        self.queue.fin_waiting = true;
        // SYN-RECEIVED closes once its handshake is over.
        self.fast_open.finished = self.is_early();
        if self.state != State::SynReceived {
            self.state = state;
        }
    }

    /// Gives the connection up at once; the peer is told by a reset (RFC 9293 §3.10.5).
    pub fn abort(&mut self) {
        let is_told = match self.state {
            State::Closed | State::Listen | State::SynSent | State::TimeWait => false,
            // Both have said all; Linux tells only whom data was promised.
            State::Closing | State::LastAck => !self.queue.is_empty() || self.queue.unsent > 0,
            _ => true,
        };
        if is_told {
            self.abort_with_reset();
        } else {
            self.become_closed();
        }
    }

    /// The next rare event, in order of happening.
    #[inline]
    pub fn poll_event(&mut self) -> Option<Event> {
        if self.events.is_empty() { None } else { self.events.pop_front() }
    }

    /// When [`on_deadline`](Self::on_deadline) is to be called next; [`Instant::MAX`] for never.
    #[inline]
    pub fn next_deadline(&self) -> Instant {
        self.timers.earliest()
    }

    /// Stream offset of a sequence number of ours, less than 2^31 from the oldest unacknowledged
    /// one: 0 is the first payload byte.
    pub fn stream_offset(&self, sequence: SequenceNumber) -> u64 {
        let oldest = self.send.oldest_unacked;
        let reference = if oldest == self.send.initial { oldest + 1 } else { oldest };
        if sequence.is_before(reference) {
            self.send
                .acknowledged_bytes
                .saturating_sub(u64::from(reference.distance_from(sequence)))
        } else {
            self.send.acknowledged_bytes + u64::from(sequence.distance_from(reference))
        }
    }

    /// Payload bytes received in order since the beginning, read or not.
    #[inline]
    pub fn received_bytes(&self) -> u64 {
        self.receive.read_bytes + u64::from(self.receive.unread)
    }

    /// Whether everything written has been acknowledged, FIN included where closed.
    pub fn is_drained(&self) -> bool {
        self.queue.is_empty() && self.queue.unsent == 0 && !self.queue.fin_waiting
    }

    /// Congestion window in segments (cwnd).
    #[inline]
    pub fn congestion_window(&self) -> u32 {
        self.window.segments
    }

    /// Slow-start threshold in segments (ssthresh), once one was set.
    pub fn slow_start_threshold(&self) -> Option<u32> {
        (!self.window.is_in_initial_slow_start()).then_some(self.window.slow_start_threshold)
    }

    /// Smoothed round-trip time (SRTT), once there was a sample.
    #[inline]
    pub fn smoothed_rtt(&self) -> Option<Span> {
        self.rtt.smoothed()
    }

    /// Least round-trip sample.
    pub fn least_rtt(&self) -> Option<Span> {
        self.rtt.minimum()
    }

    /// The retransmission time-out in force, back-off included (RTO).
    pub fn retransmission_timeout(&self) -> Span {
        if self.is_early() {
            // That in force is the SYN-ACK's.
            return crate::input::TIMEOUT_AFTER_LOST_SYN;
        }
        self.backoff.timeout
    }

    /// Segments believed to be in the network (RFC 6675 §2, pipe).
    #[inline]
    pub fn flight(&self) -> u32 {
        self.in_flight()
    }

    /// What the sender knows of losses.
    pub fn recovery_state(&self) -> RecoveryState {
        self.recovery.state
    }

    /// Largest payload of a segment in bytes, as agreed.
    pub fn segment_bytes(&self) -> u32 {
        self.negotiated.segment_bytes
    }

    /// Checks what must hold after every input: counters agree with what they count, and something
    /// will happen while anything is outstanding or may not be sent for want of window.
    pub(crate) fn check_invariants(&self) {
        debug_assert!(self.queue.is_consistent(), "counters of the send queue: {self:?}");
        debug_assert!(self.queue.unsent == self.written.sum(), "buffers not sent: {self:?}");
        debug_assert!(self.scoreboard.is_consistent(&self.queue), "scoreboard: {self:?}");
        debug_assert!(
            self.queue.is_empty() || self.timers.retransmission.is_set(),
            "outstanding data without a timer: {self:?}"
        );
        debug_assert!(self.window.segments >= 1, "no window: {self:?}");
    }

    /// Checks what must hold once there is nothing more to send for now.
    pub(crate) fn check_nothing_waits_for_ever(&self) {
        let waits = self.queue.unsent > 0 || self.queue.fin_waiting;
        debug_assert!(
            !waits || !self.may_send() || self.timers.earliest() != Instant::MAX,
            "data waits and no timer runs: {self:?}"
        );
    }

    /// Lets go of everything but events and a reset still to be sent.
    pub(crate) fn become_closed(&mut self) {
        self.end_control();
        self.state = State::Closed;
        self.timers.stop_all();
        self.ahead.set_syn(false);
        self.probe_due = false;
        self.acknowledger.now = false;
        self.queue = SendQueue::new();
        self.written.clear();
        self.bundles = Bundles::default();
        self.scoreboard = Scoreboard::default();
        self.send.next = self.send.oldest_unacked;
    }
}
