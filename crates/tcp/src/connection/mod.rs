//! One end of a connection: its parts, its life cycle, and the calls of a driver.

mod control_segments;
mod idle;
mod information;
mod input;
mod marks;
mod opening;
mod output;

use crate::config::Config;
use crate::handshake::{
    FastOpenFailure, FastOpenPermit, FastOpenSyn, FastOpenUpdate, Handshake, RTO_AFTER_LOST_SYN,
};
use crate::receiver::{Receiver, RefusedSegments, UrgentRead};
use crate::sender::congestion::plugged::ControlFaults;
use crate::sender::{Part, Sender, Writing};
use crate::state::{Event, RecoveryState, State, Unreachable};
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
/// Inputs: [`on_segment`](Self::on_segment), [`on_deadline`](Self::on_deadline),
/// [`write`](Self::write), [`read`](Self::read), [`close`](Self::close), [`abort`](Self::abort).
/// After any of them, drain [`poll_segment`](Self::poll_segment) until it gives `None` (or
/// [`poll_segment_into`](Self::poll_segment_into)), and [`poll_event`](Self::poll_event); then [`next_deadline`](Self::next_deadline) holds until the
/// next input.
///
/// Payload is counted, not carried: the stream's bytes stay with the driver, and
/// [`stream_offset`](Self::stream_offset) says which of them a segment carries.
#[derive(Debug)]
pub struct Connection {
    state: State,
    /// The application has let go of the connection.
    is_orphan: bool,
    /// No application has accepted it yet.
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

    /// Opens actively: the next [`poll_segment`](Self::poll_segment) gives the SYN.
    pub fn connect(config: Arc<Config>, ports: Ports, initial: SequenceNumber) -> Self {
        let mut connection = Self::new(config, ports, initial, State::SynSent);
        connection.control_segments.set_syn(true);
        connection
    }

    /// Opens actively with Fast Open: the next [`poll_segment`](Self::poll_segment) gives the SYN
    /// with its option and data. [`syn_data_bytes`](Self::syn_data_bytes) says how much was taken.
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

    /// Appends an event, behind those of the sender.
    fn push_event(&mut self, event: Event) {
        self.sender.move_events(&mut self.events);
        self.events.push_back(event);
    }

    /// The next rare event, in the order in which they happened.
    #[inline]
    pub fn poll_event(&mut self) -> Option<Event> {
        if self.events.is_empty() { self.sender.poll_event() } else { self.events.pop_front() }
    }

    /// Whether [`poll_event`](Self::poll_event) gives one.
    #[inline]
    pub fn has_event(&self) -> bool {
        !self.events.is_empty() || self.sender.has_event()
    }

    /// An external congestion control sees what has been received.
    #[inline]
    fn share_receiver_view(&mut self) {
        if self.sender.is_plugged() {
            let view = self.receiver.view(self.sender.sees_pending_ack());
            self.sender.set_receiver_view(view);
        }
    }

    /// The receiver adopts what an external congestion control has changed.
    #[inline]
    fn adopt_control_requests(&mut self) {
        if self.sender.has_receiver_requests() {
            let (at_once, echo_due) = self.sender.take_receiver_requests();
            self.receiver.adopt(at_once, echo_due);
        }
    }

    /// The sender learns what its segments carry for the receiver.
    #[inline]
    fn note_receiver(&mut self) {
        let blocks = self.receiver.reassembly().block_count();
        let (in_order, ack_due) =
            (self.receiver.reassembly().is_empty(), self.receiver.ack_policy().is_due());
        self.sender.note_receiver(blocks, in_order, ack_due);
    }

    /// Takes up to `bytes` bytes from the application and returns how many were taken: as many as
    /// the send buffer has room for, none once closed.
    #[inline]
    pub fn write(&mut self, bytes: u64) -> u64 {
        self.write_as(bytes, Writing::default())
    }

    /// [`write`](Self::write) with flags.
    pub fn write_as(&mut self, bytes: u64, writing: Writing) -> u64 {
        if !self.may_write() {
            return 0;
        }
        self.note_receiver();
        self.sender.write(bytes, writing)
    }

    /// Takes as much of a write as fills one buffer, and releases what may be sent then. Repeated until
    /// all or nothing is taken, with [`poll_segment`](Self::poll_segment) drained in between,
    /// this is a write as in Linux, which sends while it copies.
    pub fn write_part(&mut self, bytes: u64, writing: Writing, part: Part) -> u64 {
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

    /// `TCP_NODELAY` is set, perhaps not for the first time: what waits for want of size goes. Drain
    /// [`poll_segment`](Self::poll_segment) afterwards.
    pub fn push_held(&mut self) {
        self.sender.push_held();
    }

    /// Bytes received in order that a read gives: all that is not read, or up to an urgent byte.
    #[inline]
    pub fn readable_bytes(&self) -> u32 {
        self.receiver.readable_bytes()
    }

    /// At `now`, hands up to `bytes` received bytes to the application and returns how many. Drain
    /// [`poll_segment`](Self::poll_segment) afterwards: a window update or an acknowledgment may be due.
    #[inline]
    pub fn read(&mut self, now: Instant, bytes: u32) -> u32 {
        self.receiver.read(now, bytes, self.state)
    }

    /// Bytes that the application learns of when it asks (`SIOCINQ`): up to an urgent byte.
    pub fn inquired_bytes(&self) -> u32 {
        self.receiver.inquired_bytes()
    }

    /// Segments that were not taken.
    pub fn refused_segments(&self) -> RefusedSegments {
        self.receiver.refused()
    }

    /// Whether the urgent byte comes next (`SIOCATMARK`).
    pub fn is_at_mark(&self) -> bool {
        self.receiver.is_at_mark()
    }

    /// Asks for the urgent byte apart from the stream (`MSG_OOB`), `peek`ing or for good.
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

    /// Changes the settings of an open connection (socket options, host parameters). What was negotiated in
    /// the handshake stays; what no longer has to wait goes out. Drain [`poll_segment`](Self::poll_segment)
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

    /// The settings in force.
    pub fn config(&self) -> &Arc<Config> {
        &self.config
    }

    /// Bytes written and not sent for the first time yet.
    #[inline]
    pub fn unsent_bytes(&self) -> u64 {
        self.sender.written().unsent()
    }

    /// Stream offset of a sequence number of ours, less than 2^31 from the oldest unacknowledged
    /// one: 0 is the first payload byte.
    pub fn stream_offset(&self, sequence: SequenceNumber) -> u64 {
        self.sender.send_space().stream_offset(sequence)
    }

    /// Payload bytes received in order since the beginning, read or not.
    #[inline]
    pub fn received_bytes(&self) -> u64 {
        self.receiver.received_bytes()
    }

    /// Whether everything written has been acknowledged, FIN included where closed.
    pub fn is_drained(&self) -> bool {
        self.sender.is_drained()
    }

    /// Congestion window in segments (cwnd).
    #[inline]
    pub fn congestion_window(&self) -> u32 {
        self.sender.window().segments()
    }

    /// Slow-start threshold in segments (ssthresh), once one was set.
    pub fn slow_start_threshold(&self) -> Option<u32> {
        self.sender.window().known_threshold()
    }

    /// Smoothed round-trip time (SRTT), once there was a sample.
    #[inline]
    pub fn smoothed_rtt(&self) -> Option<Span> {
        self.sender.rtt().smoothed()
    }

    /// Least round-trip sample.
    pub fn least_rtt(&self) -> Option<Span> {
        self.sender.rtt().minimum()
    }

    /// The retransmission time-out in force, back-off included (RTO).
    pub fn retransmission_timeout(&self) -> Span {
        // That in force for an early connection is the SYN-ACK's.
        if self.is_early() { RTO_AFTER_LOST_SYN } else { self.sender.rto().timeout() }
    }

    /// Segments believed to be in the network (RFC 6675 §2, pipe).
    #[inline]
    pub fn flight(&self) -> u32 {
        self.sender.in_flight()
    }

    /// The state of loss recovery.
    pub fn recovery_state(&self) -> RecoveryState {
        self.sender.recovery().state()
    }

    /// Largest payload of a segment in bytes, as agreed.
    pub fn segment_bytes(&self) -> u32 {
        self.sender.segment_bytes()
    }

    /// Whether the stream is thin: fewer than four segments outstanding, and a loss has ended the
    /// initial slow start.
    pub fn is_thin(&self) -> bool {
        self.sender.is_thin()
    }

    /// Memory that written and unacknowledged data takes, in bytes (Linux `sk_wmem_queued`).
    #[inline]
    pub fn send_memory(&self) -> u64 {
        self.sender.send_memory()
    }

    /// Size of the send buffer in bytes (`SO_SNDBUF` as the system reports it).
    #[inline]
    pub fn send_buffer(&self) -> u32 {
        self.sender.send_buffer()
    }

    /// Room in the send buffer in bytes.
    #[inline]
    pub fn send_room(&self) -> u64 {
        self.sender.send_room()
    }

    /// Whether the application may write again: a third of the buffer is free, and less
    /// than half the low-water mark is not sent (Linux `__sk_stream_is_writeable`).
    pub fn is_writable(&self) -> bool {
        self.sender.is_writable()
    }

    /// Memory of the receive buffer in bytes (`SO_RCVBUF`).
    pub fn receive_memory(&self) -> u32 {
        self.receiver.buffer().limit()
    }

    /// Largest window to be offered at present, in bytes (`TCP_WINDOW_CLAMP`).
    pub fn window_clamp(&self) -> u32 {
        self.receiver.buffer().clamp()
    }

    /// `TCP_QUICKACK`: 0 delays acknowledgments for answers to carry them; an odd value sends them, an
    /// even one sends only one (`__tcp_sock_set_quickack`).
    pub fn set_quick_acknowledgments(&mut self, value: u32) {
        self.receiver.set_quick_acks(value, self.state);
    }

    /// Whether acknowledgments wait for answers to carry them (the contrary of `TCP_QUICKACK`).
    pub fn is_interactive(&self) -> bool {
        self.receiver.ack_policy().is_interactive(&self.config)
    }

    /// The service that packets ask for, with the code point of the last one (Linux keeps both in `IP_TOS`).
    pub fn traffic_class(&self) -> TrafficClass {
        self.config.ecn.service.with_ecn(self.sender.ecn().last_code_point())
    }

    /// Takes the last ICMP error since data was acknowledged, if it was not reported as an event (`SO_ERROR`).
    pub fn take_soft_error(&mut self) -> Option<Unreachable> {
        self.sender.soft_error_mut().take()
    }

    /// Faults of an external congestion control.
    pub fn control_faults(&mut self) -> ControlFaults {
        self.sender.control_faults()
    }

    /// Bytes of the application that the SYN carries.
    pub fn syn_data_bytes(&self) -> u32 {
        self.handshake.fast_open().syn_bytes()
    }

    /// A call waits for the connection to open in order to write: that data acknowledges the
    /// peer's SYN-ACK (Linux `sk_write_pending`).
    pub fn expect_data(&mut self) {
        self.handshake.fast_open_mut().expect_data();
    }

    /// What the answer to our SYN changes in the driver's Fast Open cache, once.
    pub fn take_fast_open_update(&mut self) -> Option<FastOpenUpdate> {
        self.handshake.fast_open_mut().take_update()
    }

    /// Why data with the SYN did not save a round trip.
    pub fn fast_open_failure(&self) -> Option<FastOpenFailure> {
        self.handshake.fast_open().failure()
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

    /// The connection belongs to nobody before [`note_accepted`](Self::note_accepted): its receive buffer does
    /// not grow for data out of order (Linux `tcp_data_queue_ofo`).
    pub fn await_acceptance(&mut self) {
        self.awaits_acceptance = true;
    }

    /// The application has accepted the connection: from now on ICMP errors do
    /// not end it, even if its handshake is not over.
    pub fn note_accepted(&mut self) {
        self.awaits_acceptance = false;
        self.handshake.fast_open_mut().note_accepted();
    }

    /// Takes advice of the window cache, before the handshake is over or at its end. Advice on
    /// sending takes effect then. A connection whose SYN was lost keeps its window (RFC 5681 §3.1).
    pub fn advise(&mut self, advice: Advice) {
        self.sender.advise(advice, self.has_opened());
    }

    /// The window changes, because connections to the same peer share it; while a loss is
    /// repaired it stays. Before the handshake is over it is what the connection will begin with.
    pub fn take_share(&mut self, share: &Share) {
        self.sender.take_share(share, self.has_opened());
    }

    /// Whether advice takes effect at once: the connection is open, or its peer's SYN brought data with a cookie
    /// that opened it (RFC 7413 §4.2.2).
    fn has_opened(&self) -> bool {
        self.state.is_synchronised() || self.handshake.fast_open().opened_early()
    }

    /// Why the connection has not begun with the window that it was advised; `None` where it has, where none was, and
    /// before the handshake is over.
    pub fn cache_miss(&self) -> Option<CacheMiss> {
        self.sender.cache_miss()
    }

    /// Whether the connection has a window that companions may share: its handshake is over, or it was advised one to
    /// begin with. An initial window is no discovery, and is not divided.
    pub fn has_window_to_share(&self) -> bool {
        self.has_opened() || self.sender.has_advised_window()
    }

    /// What the connection has found out. Before its handshake is over its window and its threshold are those that
    /// it will begin with.
    pub fn window_report(&self, connection: ConnectionId) -> WindowReport {
        self.sender.window_report(connection, self.has_opened())
    }

    /// Whether the connection is open and may send more, so that a sample of it is useful.
    pub fn is_open_for_sending(&self) -> bool {
        matches!(self.state, State::Established | State::CloseWait)
    }

    /// The phase of a careful resumption, while there is one.
    pub fn resumption_phase(&self) -> Option<ResumptionPhase> {
        self.sender.resumption_phase()
    }

    /// Payload bytes that the peer has acknowledged.
    pub fn acknowledged_bytes(&self) -> u64 {
        self.sender.send_space().acknowledged_bytes()
    }

    /// Bytes written and not acknowledged, sent or not; a FIN counts as one (Linux `SIOCOUTQ`).
    pub fn unacked_bytes(&self) -> u64 {
        if matches!(self.state, State::SynSent | State::SynReceived) {
            return 0;
        }
        self.sender.unacked_bytes()
    }

    /// Bytes written and not sent that lie in the buffer begun last.
    pub fn last_buffer_bytes(&self) -> u32 {
        self.sender.written().last_bytes()
    }

    /// Checks what must hold after every input: counters agree with what they count, and a timer runs while
    /// anything is outstanding.
    fn check_invariants(&self) {
        debug_assert!(self.sender.is_consistent(), "sender: {self:?}");
    }

    /// Checks what must hold once there is nothing more to send for now.
    fn check_liveness(&self) {
        debug_assert!(
            !self.sender.written().has_any()
                || !self.may_send()
                || self.next_deadline() != Instant::MAX,
            "data waits and no timer runs: {self:?}"
        );
    }
}
