//! The receiving half: sequence checks, reassembly, acknowledgments, memory and the offered window.
//!
//! | module | concern |
//! |---|---|
//! | `acceptance` | acceptable segments: window, RST, PAWS |
//! | `data` | arriving data, in order or not; the urgent byte |
//! | `reassembly` | out-of-order data and the SACK blocks that report it |
//! | `ack_policy` | delayed, quick and compressed acknowledgments |
//! | `window` | the offered window |
//! | `buffer` | memory of received packets |
//! | `tuning` | receive-buffer autotuning; the peer's segment size |

mod acceptance;
mod ack_policy;
mod buffer;
mod data;
mod reassembly;
mod tuning;
mod window;

pub use data::UrgentRead;
pub(crate) use data::{FinArrival, Placement};
pub(crate) use tuning::first_segment_size;

use crate::config::{Config, MIN_BUFFER};
use crate::ecn::EcnReceiver;
use crate::handshake::Negotiated;
use crate::sender::congestion::plugged::ReceiverView;
use crate::state::State;
use crate::tcp_info::TcpInfo;
use crate::timers::{Clock, Timer};
use ack_policy::AckPolicy;
use buffer::ReceiveBuffer;
use data::UrgentByte;
use fairwind_units::{Instant, Span};
use fairwind_wire::{Ecn, SackBlocks, Segment, SequenceNumber, Timestamps};
use reassembly::Reassembly;
use std::sync::Arc;
use tuning::{SegmentSize, Tuning};
use window::FirstWindow;

/// Immediate acknowledgments after a CE mark (Linux `tcp_data_ecn_check`).
const QUICK_ACKS_AFTER_MARK: u32 = 2;

/// Receive sequence space (RFC 9293 §3.3.1).
#[derive(Debug, Default)]
struct ReceiveSpace {
    /// Next number expected (RCV.NXT).
    next: SequenceNumber,
    /// Furthest right edge of the window that was ever offered; data below it is accepted.
    offered: SequenceNumber,
    /// Number after the window announced last (RCV.NXT + RCV.WND).
    announced: SequenceNumber,
    /// Acknowledgment number sent last (Last.ACK.sent of RFC 7323).
    last_acknowledged: SequenceNumber,
    /// Latest timestamp to be echoed (TS.Recent).
    recent_timestamp: u32,
    /// When it was noted.
    stamped_at: Instant,
    /// Payload bytes received in order and not read.
    unread: u32,
    /// The application reads no more, or the peer has sent FIN.
    is_shut: bool,
    /// Payload bytes read since the beginning.
    read_bytes: u64,
    /// The peer's initial sequence number (IRS).
    initial: SequenceNumber,
    /// Sequence number of the peer's FIN, if it was received.
    fin: Option<SequenceNumber>,
    /// The urgent byte that is not read past.
    urgent: Option<UrgentByte>,
}

/// Segments that were not taken, by the counters of Linux.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RefusedSegments {
    /// They reach beyond the window (`BeyondWindow`).
    pub beyond_window: u32,
    /// The window is closed (`TCPZeroWindowDrop`).
    pub closed_window: u32,
    /// There is no memory for them (`TCPRcvQDrop`).
    pub no_memory: u32,
}

#[derive(Debug, Clone, Copy, Default)]
struct Counters {
    /// Segments, with data or without (`tcpi_segs_in`).
    segments: u32,
    /// Segments with data (`tcpi_data_segs_in`).
    data_segments: u32,
    /// Segments out of order (`tcpi_rcv_ooopack`).
    out_of_order_segments: u32,
    refused: RefusedSegments,
}

/// The receiving half of a connection.
#[derive(Debug)]
pub(crate) struct Receiver {
    config: Arc<Config>,
    space: ReceiveSpace,
    negotiated: Negotiated,
    ack_policy: AckPolicy,
    delayed_ack: Timer,
    reassembly: Reassembly,
    buffer: ReceiveBuffer,
    segment_size: SegmentSize,
    tuning: Tuning,
    counters: Counters,
    ecn: EcnReceiver,
    first_window: FirstWindow,
    /// The window field, while no event can have changed it.
    steady_window: Option<u16>,
}

impl Receiver {
    getters! {
        /// Segments that were not taken.
        refused: RefusedSegments = counters.refused,
        /// Next number expected (RCV.NXT).
        next: SequenceNumber = space.next,
        /// The peer's initial sequence number (IRS).
        initial: SequenceNumber = space.initial,
        unread: u32 = space.unread,
        /// Whether the application reads no more, or the peer has sent FIN.
        is_shut: bool = space.is_shut,
        /// Acknowledgment policy.
        ack_policy: &AckPolicy,
        ack_policy_mut: &mut AckPolicy = ack_policy,
        /// Data received out of order.
        reassembly: &Reassembly,
        /// Memory of received packets.
        buffer: &ReceiveBuffer,
        ecn: &EcnReceiver,
    }

    pub(crate) fn new(config: Arc<Config>) -> Self {
        let memory = config.receive_buffer.saturating_mul(2).max(MIN_BUFFER);
        let allows_overcommit = config.receiving.allows_overcommit;
        Self {
            config,
            space: ReceiveSpace::default(),
            negotiated: Negotiated::nothing(),
            ack_policy: AckPolicy::default(),
            delayed_ack: Timer::OFF,
            reassembly: Reassembly::default(),
            buffer: ReceiveBuffer::new(memory, allows_overcommit),
            segment_size: SegmentSize::new(),
            tuning: Tuning::default(),
            counters: Counters::default(),
            ecn: EcnReceiver::default(),
            first_window: FirstWindow::default(),
            steady_window: None,
        }
    }

    /// Counts a segment that has come now.
    #[inline]
    pub(crate) fn count(&mut self, segment: &Segment, now: Instant) {
        self.tuning.note_instant(now);
        self.counters.segments = self.counters.segments.wrapping_add(1);
        let with_data = u32::from(segment.payload_bytes > 0);
        self.counters.data_segments = self.counters.data_segments.wrapping_add(with_data);
    }

    /// Payload bytes received in order since the beginning.
    pub(crate) fn received_bytes(&self) -> u64 {
        self.space.read_bytes + u64::from(self.space.unread)
    }

    pub(crate) fn shut(&mut self) {
        self.space.is_shut = true;
    }

    /// The peer's FIN has arrived and everything before it.
    pub(crate) fn take_fin(&mut self) {
        self.steady_window = None;
        let space = &mut self.space;
        space.next += 1;
        // FIN is accepted even if the window is closed.
        space.offered = space.offered.later(space.next);
        space.fin = Some(space.next - 1);
        space.is_shut = true;
        self.ack_policy.schedule();
        self.reassembly.forget_duplicate();
        let memory = self.reassembly.clear();
        self.buffer.release_out_of_order(memory);
    }

    /// Whether everything up to the peer's FIN was received.
    fn has_taken_fin(&self) -> bool {
        self.space.fin.is_some_and(|fin| fin.is_before(self.space.next))
    }

    /// Makes an acknowledgment due at the next opportunity.
    pub(crate) fn send_ack_now(&mut self) {
        self.ack_policy.set_due();
    }

    /// Records an outgoing segment with an acknowledgment.
    #[inline]
    pub(crate) fn on_ack_sent(&mut self, now: Instant) {
        self.tuning.note_instant(now);
        self.space.last_acknowledged = self.space.next;
        self.ack_policy.on_ack_sent();
        self.delayed_ack.stop();
    }

    /// Timestamp option of an outgoing segment with this value.
    pub(crate) fn timestamps(&self, value: u32) -> Option<Timestamps> {
        self.negotiated.has_timestamps().then(|| self.timestamp_echo(value))
    }

    /// A timestamp option whether negotiated or not, for SYNs.
    pub(crate) fn timestamp_echo(&self, value: u32) -> Timestamps {
        Timestamps { value, echo: self.space.recent_timestamp }
    }

    /// The SACK blocks that fit beside `payload_bytes`; a duplicate is reported once.
    pub(crate) fn take_sack_blocks(
        &mut self,
        payload_bytes: u32,
        segment_bytes: u32,
    ) -> SackBlocks {
        let room = self.negotiated.sack_room(payload_bytes, segment_bytes);
        let blocks = self.reassembly.sack_blocks(room);
        if !blocks.is_empty() {
            self.reassembly.forget_duplicate();
        }
        blocks
    }

    /// The peer has reduced its window (CWR).
    #[cold]
    pub(crate) fn accept_cwr(&mut self, segment: &Segment) {
        if self.ecn.accept_cwr(segment) {
            self.send_ack_now();
        }
    }

    /// A segment that is ECT has arrived, with data or without.
    pub(crate) fn note_capable(&mut self) {
        self.ecn.note_capable();
    }

    /// Handles the codepoint of arrived data with Accurate ECN: Not-ECT indicates a retransmission
    /// (Linux `tcp_data_ecn_check`).
    pub(crate) fn on_codepoint_counted(&mut self, mark: Ecn) {
        if mark == Ecn::NotEct && self.ecn.has_seen_capable() {
            self.enter_quick_ack_mode(QUICK_ACKS_AFTER_MARK);
        }
    }

    /// The codepoint of data that has arrived.
    pub(crate) fn on_codepoint(&mut self, mark: Ecn) {
        if self.ecn.on_data(mark) {
            self.enter_quick_ack_mode(QUICK_ACKS_AFTER_MARK);
        }
    }

    /// View of this half for an external congestion control; the pending acknowledgment is included
    /// only `with_pending_ack`.
    #[inline]
    pub(crate) fn view(&self, with_pending_ack: bool) -> ReceiverView {
        let view = ReceiverView::new(self.space.next, &self.ecn);
        if !with_pending_ack {
            return view;
        }
        let is_delayed = self.delayed_ack.is_set() && !self.ack_policy.has_merged();
        let scheduled = self.ack_policy.is_scheduled();
        view.with_pending_ack(scheduled, is_delayed, self.ack_policy.is_immediate())
    }

    /// Adopts changes by an external congestion control: whether the acknowledgment waits, and
    /// whether a mark is echoed.
    pub(crate) fn adopt(&mut self, immediate: Option<bool>, echo_due: Option<bool>) {
        if let Some(immediate) = immediate {
            self.ack_policy.set_immediate(immediate);
        }
        if let Some(due) = echo_due {
            self.ecn.set_echo_due(due);
        }
    }

    /// Time at which the delayed acknowledgment is due; [`Instant::MAX`] without one.
    pub(crate) fn next_deadline(&self) -> Instant {
        self.delayed_ack.due()
    }

    #[inline]
    pub(crate) fn expire_delayed_ack(&mut self, clock: Clock, now: Instant, rto: Span) {
        if self.delayed_ack.expire(clock, now) {
            self.ack_policy.on_deadline(&self.config, rto);
        }
    }

    /// Stops the timer of the delayed acknowledgment.
    pub(crate) fn stop_timers(&mut self) {
        self.delayed_ack.stop();
    }

    /// Closes the receiver: no acknowledgment is sent any more.
    pub(crate) fn close(&mut self) {
        self.stop_timers();
        self.ack_policy.clear_due();
    }

    pub(crate) fn reconfigure(&mut self, config: Arc<Config>) {
        self.steady_window = None;
        let before = std::mem::replace(&mut self.config, config);
        let config = self.config.clone();
        if config.receive_buffer != before.receive_buffer {
            let memory = config.receive_buffer.saturating_mul(2).max(MIN_BUFFER);
            self.buffer.set_limit(memory);
        }
        if config.receiving.window_clamp != before.receiving.window_clamp
            && let Some(clamp) = config.receiving.window_clamp
        {
            let window = self.last_announced_window();
            self.buffer.set_clamp(clamp, window);
        }
    }

    /// `TCP_QUICKACK`: 0 delays acknowledgments for replies to carry them; an odd value sends them, an
    /// even one sends only one (`__tcp_sock_set_quickack`).
    pub(crate) fn set_quick_acks(&mut self, value: u32, state: State) {
        self.steady_window = None;
        self.ack_policy.set_interactive(value == 0, &self.config);
        let open = matches!(state, State::Established | State::CloseWait);
        if value == 0 || !open || !self.ack_policy.is_scheduled() {
            return;
        }
        self.ack_policy.note_end_of_write();
        self.acknowledge_read_data(1, state);
        if value & 1 == 0 {
            self.ack_policy.set_interactive(true, &self.config);
        }
    }

    /// Fills in the receiving half of `TCP_INFO`.
    pub(crate) fn fill_tcp_info(&self, info: &mut TcpInfo, now: Instant) {
        info.receive_window_shift = Some(self.negotiated.receive_shift());
        info.acknowledgment_timeout = Some(self.ack_policy.delay());
        info.receive_mss_bytes = Some(self.segment_size.estimate());
        info.since_data_received = Some(now.saturating_since(self.ack_policy.last_received()));
        info.receive_window_threshold_bytes = Some(self.buffer.window_threshold());
        info.announced_mss_bytes = Some(self.announced_mss());
        info.receiver_rtt = Some(self.tuning.rtt());
        info.receive_space_bytes = Some(self.tuning.space());
        info.received_bytes = Some(self.received_bytes() + u64::from(self.has_taken_fin()));
        info.segments_received = Some(self.counters.segments);
        info.data_segments_received = Some(self.counters.data_segments);
        info.out_of_order_segments = Some(self.counters.out_of_order_segments);
        info.receive_window_bytes = self.last_announced_window();
    }
}
