//! One end of a connection: its parts, its life cycle, and the calls of a driver.

mod control_segments;
mod idle;
mod input;
mod output;
mod tcp_info;

use crate::config::Config;
use crate::handshake::{
    FastOpenFailure, FastOpenPermit, FastOpenSyn, FastOpenUpdate, Handshake, RTO_AFTER_LOST_SYN,
};
use crate::receiver::{Receiver, RefusedSegments, UrgentRead};
use crate::sender::congestion::plugged::ControlFaults;
use crate::sender::{Part, Sender, WriteFlags};
use crate::state::{Event, RecoveryState, State, Unreachable};
use crate::tcp_info::TcpInfo;
use crate::timers::Timer;
use crate::window_cache::{Advice, CacheMiss, ConnectionId, ResumptionPhase, Share, WindowReport};
use control_segments::{ControlSegments, ResponseLimit};
use fairwind_units::{Instant, Span};
use fairwind_wire::{Segment, SequenceNumber, TrafficClass};
use idle::KeepAliveTimer;
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
/// Inputs: [`on_segment`](Self::on_segment), [`on_deadline`](Self::on_deadline), [`write`](Self::write),
/// [`read`](Self::read), [`close`](Self::close), [`abort`](Self::abort). After any of them, drain
/// [`poll_segment`](Self::poll_segment) until it returns `None` (or
/// [`poll_segment_into`](Self::poll_segment_into)), and [`poll_event`](Self::poll_event). Then
/// [`next_deadline`](Self::next_deadline) is valid until the next input.
///
/// Payload is counted, not carried: the driver keeps the bytes of the stream, and
/// [`stream_offset`](Self::stream_offset) maps a segment to them.
#[derive(Debug)]
pub struct Connection {
    state: State,
    /// The application has closed the socket.
    is_orphan: bool,
    /// The application has not accepted the connection yet.
    awaits_acceptance: bool,
    ports: Ports,
    config: Arc<Config>,
    sender: Sender,
    receiver: Receiver,
    control_segments: ControlSegments,
    /// End of TIME-WAIT, or of the wait for the peer's FIN.
    time_wait: Timer,
    keep_alive: KeepAliveTimer,
    handshake: Handshake,
    response_limit: ResponseLimit,
    events: VecDeque<Event>,
}

impl Connection {
    fn new(config: Arc<Config>, ports: Ports, initial: SequenceNumber, state: State) -> Self {
        Self {
            state,
            is_orphan: false,
            awaits_acceptance: false,
            ports,
            sender: Sender::new(config.clone(), initial, state),
            receiver: Receiver::new(config.clone()),
            config,
            control_segments: ControlSegments::default(),
            time_wait: Timer::OFF,
            keep_alive: KeepAliveTimer::default(),
            handshake: Handshake::new(state == State::Listen),
            response_limit: ResponseLimit::default(),
            events: VecDeque::new(),
        }
    }

    /// Opens actively: the next [`poll_segment`](Self::poll_segment) returns the SYN.
    pub fn connect(config: Arc<Config>, ports: Ports, initial: SequenceNumber) -> Self {
        let mut connection = Self::new(config, ports, initial, State::SynSent);
        connection.control_segments.set_syn(true);
        connection
    }

    /// Opens actively with Fast Open: the next [`poll_segment`](Self::poll_segment) returns the SYN
    /// with its option and data. [`syn_data_bytes`](Self::syn_data_bytes) returns the length of
    /// that data.
    pub fn connect_with_fast_open(
        config: Arc<Config>,
        ports: Ports,
        initial: SequenceNumber,
        syn: FastOpenSyn,
    ) -> Self {
        let mut connection = Self::connect(config, ports, initial);
        let own_mss = connection.config.mss;
        connection.handshake.fast_open_mut().set_syn(syn, own_mss);
        connection
    }

    /// Opens passively: waits for one SYN.
    pub fn listen(config: Arc<Config>, ports: Ports, initial: SequenceNumber) -> Self {
        Self::new(config, ports, initial, State::Listen)
    }

    /// The state of the connection (RFC 9293 §3.3.2).
    #[inline]
    pub fn state(&self) -> State {
        self.state
    }

    /// The sending half, for tests.
    #[cfg(test)]
    pub(crate) fn sender(&self) -> &Sender {
        &self.sender
    }

    fn set_state(&mut self, state: State) {
        self.state = state;
        self.sender.set_connection_state(state);
    }

    /// Appends an event, after those of the sender.
    fn push_event(&mut self, event: Event) {
        self.sender.move_events(&mut self.events);
        self.events.push_back(event);
    }

    /// The next rare event, in the order in which they happened.
    #[inline]
    pub fn poll_event(&mut self) -> Option<Event> {
        if self.events.is_empty() { self.sender.poll_event() } else { self.events.pop_front() }
    }

    /// Everything that the connection reports of itself at this instant (`TCP_INFO`).
    pub fn tcp_info(&self, now: Instant) -> TcpInfo {
        TcpInfo::of(self, now)
    }

    /// Whether [`poll_event`](Self::poll_event) returns one.
    #[inline]
    pub fn has_event(&self) -> bool {
        !self.events.is_empty() || self.sender.has_event()
    }

    /// Shares the receiver's state with an external congestion control.
    #[inline]
    fn share_receiver_view(&mut self) {
        if self.sender.is_plugged() {
            let view = self.receiver.view(self.sender.sees_pending_ack());
            self.sender.set_receiver_view(view);
        }
    }

    /// Lets the receiver adopt changes by an external congestion control.
    #[inline]
    fn adopt_control_requests(&mut self) {
        if self.sender.has_receiver_requests() {
            let (immediate, echo_due) = self.sender.take_receiver_requests();
            self.receiver.adopt(immediate, echo_due);
        }
    }

    /// Passes the receiver's state to the sender, which its segments carry.
    #[inline]
    fn note_receiver(&mut self) {
        let blocks = self.receiver.reassembly().block_count();
        let (in_order, ack_due) =
            (self.receiver.reassembly().is_empty(), self.receiver.ack_policy().is_due());
        self.sender.note_receiver(blocks, in_order, ack_due);
    }

    /// Takes up to `bytes` bytes from the application and returns the number taken: limited by the
    /// send buffer, none once closed.
    #[inline]
    pub fn write(&mut self, bytes: u64) -> u64 {
        self.write_as(bytes, WriteFlags::default())
    }

    /// [`write`](Self::write) with flags.
    pub fn write_as(&mut self, bytes: u64, writing: WriteFlags) -> u64 {
        if !self.may_write() {
            return 0;
        }
        self.note_receiver();
        self.sender.write(bytes, writing)
    }

    /// Takes the part of a write that fills one buffer, and releases data that may be sent then.
    /// Repeated until all or nothing is taken, with [`poll_segment`](Self::poll_segment) drained in
    /// between, this is a write as in Linux, which sends while it copies.
    pub fn write_part(&mut self, bytes: u64, writing: WriteFlags, part: Part) -> u64 {
        let may_write = self.may_write();
        self.note_receiver();
        self.sender.write_part(bytes, writing, part, may_write)
    }

    /// Whether the application may write at all.
    pub fn may_write(&self) -> bool {
        let open = matches!(
            self.state,
            State::SynSent
                | State::SynReceived
                | State::Listen
                | State::Established
                | State::CloseWait
        );
        open && !self.sender.written().is_fin_waiting() && !self.handshake.fast_open().is_shut()
    }

    /// Sets `TCP_NODELAY`, possibly again: sends small segments that wait. Drain
    /// [`poll_segment`](Self::poll_segment) afterwards.
    pub fn push_held(&mut self) {
        self.sender.push_held();
    }

    /// Moves up to `bytes` received bytes to the application and returns their number. Drain
    /// [`poll_segment`](Self::poll_segment) afterwards: a window update or an acknowledgment may be due.
    #[inline]
    pub fn read(&mut self, now: Instant, bytes: u32) -> u32 {
        self.receiver.read(now, bytes, self.state)
    }

    /// Reads the urgent byte out of band (`MSG_OOB`); `peek` leaves it.
    pub fn read_urgent(&mut self, peek: bool) -> UrgentRead {
        self.receiver.read_urgent(peek)
    }

    /// The application reads no more (`shutdown(SHUT_RD)`).
    pub fn shut_receiving(&mut self) {
        self.receiver.shut();
    }

    /// Whether a SYN may begin a new connection in the place of this one: beyond the old one's
    /// numbers, or with a later timestamp (RFC 6191).
    pub fn may_be_reopened_by(&self, segment: &Segment) -> bool {
        use fairwind_wire::Flags;
        self.state == State::TimeWait
            && segment.flags.contains(Flags::SYN)
            && !segment.flags.intersects(Flags::RST | Flags::ACK)
            && self.receiver.is_later_syn(segment)
    }

    /// Changes the settings of an open connection (socket options, host parameters). Negotiated options
    /// stay; data that no longer has to wait is released. Drain [`poll_segment`](Self::poll_segment)
    /// afterwards.
    pub fn reconfigure(&mut self, now: Instant, config: Arc<Config>) {
        let before = std::mem::replace(&mut self.config, config.clone());
        self.share_receiver_view();
        self.sender.reconfigure(now, config.clone());
        self.adopt_control_requests();
        let (old, new) = (&before.liveness.keep_alive, &config.liveness.keep_alive);
        if old != new && self.state.is_synchronised() {
            let silence = self.silence(now);
            self.keep_alive.change(old, new, silence, now);
        }
        self.receiver.reconfigure(config);
        self.check_invariants();
    }

    delegates! {
        /// Readable bytes: all unread bytes in order, or up to an urgent byte.
        #[inline]
        readable_bytes: u32 = receiver.readable_bytes(),
        /// Readable bytes as reported by `SIOCINQ`: up to an urgent byte.
        inquired_bytes: u32 = receiver.inquired_bytes(),
        /// Segments that were not taken.
        refused_segments: RefusedSegments = receiver.refused(),
        /// Whether an acknowledgment is to be sent at once.
        #[inline]
        is_ack_due: bool = receiver.ack_policy().is_due(),
        /// Whether the urgent byte is next (`SIOCATMARK`).
        is_at_mark: bool = receiver.is_at_mark(),
        /// Bytes written and not sent yet.
        #[inline]
        unsent_bytes: u64 = sender.written().unsent(),
        /// Payload bytes received in order since the beginning, read or not.
        #[inline]
        received_bytes: u64 = receiver.received_bytes(),
        /// Whether everything written has been acknowledged, FIN included where closed.
        is_drained: bool = sender.is_drained(),
        /// Congestion window in segments (cwnd).
        #[inline]
        congestion_window: u32 = sender.window().segments(),
        /// Slow-start threshold in segments (ssthresh), if it was set.
        slow_start_threshold: Option<u32> = sender.window().known_threshold(),
        /// Smoothed round-trip time (SRTT), after the first sample.
        #[inline]
        smoothed_rtt: Option<Span> = sender.rtt().smoothed(),
        /// Minimum round-trip sample.
        min_rtt: Option<Span> = sender.rtt().minimum(),
        /// Segments believed to be in flight (RFC 6675 §2, pipe).
        #[inline]
        flight: u32 = sender.in_flight(),
        /// The state of loss recovery.
        recovery_state: RecoveryState = sender.recovery().state(),
        /// Largest payload of a segment in bytes, as agreed.
        segment_bytes: u32 = sender.segment_bytes(),
        /// Whether the stream is thin: fewer than four segments outstanding, and a loss has ended the
        /// initial slow start.
        is_thin: bool = sender.is_thin(),
        /// Memory that written and unacknowledged data takes, in bytes (Linux `sk_wmem_queued`).
        #[inline]
        send_memory: u64 = sender.send_memory(),
        /// Size of the send buffer in bytes (`SO_SNDBUF` as the system reports it).
        #[inline]
        send_buffer: u32 = sender.send_buffer(),
        /// Room in the send buffer in bytes.
        #[inline]
        send_room: u64 = sender.send_room(),
        /// Whether the application may write again: a third of the buffer is free, and less
        /// than half the low-water mark is not sent (Linux `__sk_stream_is_writeable`).
        is_writable: bool = sender.is_writable(),
        /// Memory of the receive buffer in bytes (`SO_RCVBUF`).
        receive_memory: u32 = receiver.buffer().limit(),
        /// Largest window to be offered at present, in bytes (`TCP_WINDOW_CLAMP`).
        window_clamp: u32 = receiver.buffer().clamp(),
        /// Bytes of the application that the SYN carries.
        syn_data_bytes: u32 = handshake.fast_open().syn_bytes(),
        /// Why data with the SYN did not save a round trip.
        fast_open_failure: Option<FastOpenFailure> = handshake.fast_open().failure(),
        /// Why the connection has not begun with the window that it was advised; `None` where it has, where none was, and
        /// before the handshake is over.
        cache_miss: Option<CacheMiss> = sender.cache_miss(),
        /// The phase of a careful resumption, while there is one.
        resumption_phase: Option<ResumptionPhase> = sender.resumption_phase(),
        /// Payload bytes that the peer has acknowledged.
        acknowledged_bytes: u64 = sender.send_space().acknowledged_bytes(),
        /// Unsent bytes in the buffer begun last.
        last_buffer_bytes: u32 = sender.written().last_bytes(),
    }

    /// The settings in force.
    pub fn config(&self) -> &Arc<Config> {
        &self.config
    }

    /// Stream offset of a sequence number of ours, less than 2^31 from the oldest unacknowledged
    /// one: 0 is the first payload byte.
    pub fn stream_offset(&self, sequence: SequenceNumber) -> u64 {
        self.sender.send_space().stream_offset(sequence)
    }

    /// The retransmission time-out in force, back-off included (RTO).
    pub fn retransmission_timeout(&self) -> Span {
        // That in force for an early connection is the SYN-ACK's.
        if self.is_early() { RTO_AFTER_LOST_SYN } else { self.sender.rto().timeout() }
    }

    /// `TCP_QUICKACK`: 0 delays acknowledgments for replies to carry them; an odd value sends them, an
    /// even one sends only one (`__tcp_sock_set_quickack`).
    pub fn set_quick_acknowledgments(&mut self, value: u32) {
        self.receiver.set_quick_acks(value, self.state);
    }

    /// Whether acknowledgments wait for replies to carry them (the opposite of `TCP_QUICKACK`).
    pub fn is_interactive(&self) -> bool {
        self.receiver.ack_policy().is_interactive(&self.config)
    }

    /// Traffic class of packets, with the codepoint of the last one (Linux keeps both in `IP_TOS`).
    pub fn traffic_class(&self) -> TrafficClass {
        self.config.ecn.service.with_ecn(self.sender.ecn().last_codepoint())
    }

    /// Takes the last ICMP error since the last acknowledged data, unless it was reported as an event
    /// (`SO_ERROR`).
    pub fn take_soft_error(&mut self) -> Option<Unreachable> {
        self.sender.soft_error_mut().take()
    }

    /// Faults of an external congestion control.
    pub fn control_faults(&mut self) -> ControlFaults {
        self.sender.control_faults()
    }

    /// A call waits for the connection to open in order to write: that data acknowledges the
    /// peer's SYN-ACK (Linux `sk_write_pending`).
    pub fn expect_data(&mut self) {
        self.handshake.fast_open_mut().expect_data();
    }

    /// Change of the driver's Fast Open cache by the answer to our SYN, once.
    pub fn take_fast_open_update(&mut self) -> Option<FastOpenUpdate> {
        self.handshake.fast_open_mut().take_update()
    }

    /// Allows Fast Open for the SYN to come; to be called while listening, if the socket permits it
    /// and not too many early connections wait.
    pub fn permit_fast_open(&mut self, permit: FastOpenPermit) {
        self.handshake.fast_open_mut().permit(permit);
    }

    /// Whether the connection is in use though its handshake is not over.
    pub fn is_early(&self) -> bool {
        self.state == State::SynReceived && self.handshake.fast_open().is_early()
    }

    /// Whether the connection has ended before its handshake was over, and was in use.
    pub fn was_early(&self) -> bool {
        self.state == State::Closed && self.handshake.fast_open().is_early()
    }

    /// Marks the connection as not accepted until [`note_accepted`](Self::note_accepted): its receive buffer
    /// does not grow for out-of-order data (Linux `tcp_data_queue_ofo`).
    pub fn await_acceptance(&mut self) {
        self.awaits_acceptance = true;
    }

    /// The application has accepted the connection: from now on ICMP errors do
    /// not end it, even if its handshake is not over.
    pub fn note_accepted(&mut self) {
        self.awaits_acceptance = false;
        self.handshake.fast_open_mut().note_accepted();
    }

    /// Adopts advice of the window cache, before the handshake is over or at its end. Advice for
    /// the sender takes effect at the end. A connection with a lost SYN keeps its window (RFC 5681
    /// §3.1).
    pub fn advise(&mut self, advice: Advice) {
        self.sender.advise(advice, self.has_opened());
    }

    /// Adopts a share of the window of connections to the same peer, except during loss recovery.
    /// Before the handshake is over it becomes the initial window.
    pub fn take_share(&mut self, share: &Share) {
        self.sender.take_share(share, self.has_opened());
    }

    /// Whether advice takes effect immediately: the connection is open, or the peer's SYN carried data with a
    /// valid cookie (RFC 7413 §4.2.2).
    fn has_opened(&self) -> bool {
        self.state.is_synchronised() || self.handshake.fast_open().opened_early()
    }

    /// Whether the connection has a window that companions may share: its handshake is over, or it was advised one to
    /// begin with. An initial window is no discovery, and is not divided.
    pub fn has_window_to_share(&self) -> bool {
        self.has_opened() || self.sender.has_advised_window()
    }

    /// Report for the window cache. Before the handshake is over, window and threshold are the initial ones.
    pub fn window_report(&self, connection: ConnectionId) -> WindowReport {
        self.sender.window_report(connection, self.has_opened())
    }

    /// Whether the connection is open and may send more, so that a sample of it is useful.
    pub fn is_open_for_sending(&self) -> bool {
        matches!(self.state, State::Established | State::CloseWait)
    }

    /// Bytes written and not acknowledged, sent or not; a FIN counts as one (Linux `SIOCOUTQ`).
    pub fn unacked_bytes(&self) -> u64 {
        if matches!(self.state, State::SynSent | State::SynReceived) {
            return 0;
        }
        self.sender.unacked_bytes()
    }

    /// Checks the invariants after every input: counters match the queue, and a timer runs while data is
    /// outstanding.
    fn check_invariants(&self) {
        debug_assert!(self.sender.is_consistent(), "sender: {self:?}");
    }

    /// Checks the invariants when there is nothing more to send.
    fn check_liveness(&self) {
        debug_assert!(
            !self.sender.written().has_any()
                || !self.may_send()
                || self.next_deadline() != Instant::MAX,
            "data waits and no timer runs: {self:?}"
        );
    }
}
