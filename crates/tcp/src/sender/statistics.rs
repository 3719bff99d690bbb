//! Counters of the sender, and the time that limits took.
//!
//! Source: Linux `tcp_chrono_start`, `tcp_chrono_stop`, `tcp_get_info_chrono_stats`. Cost: a few
//! additions per segment, a comparison per transmission.

use crate::sender::Sender;
use crate::tcp_info::TcpInfo;
use fairwind_units::{Instant, Span};

/// Limit of the sender (`enum tcp_chrono`); a later one hides an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum SenderLimit {
    /// All written data is acknowledged.
    #[default]
    Idle,
    /// Data is written and not acknowledged.
    Busy,
    /// The peer's window holds data back.
    PeerLimited,
    /// The send buffer holds the application back.
    BufferLimited,
}

/// Delivered segments since the beginning, modulo 2^32; SYN counts.
#[derive(Debug, Default)]
pub(crate) struct Deliveries {
    segments: u32,
    /// Delivered segments with an ECN echo.
    marked: u32,
}

impl Deliveries {
    getters! {
        segments: u32,
        marked: u32,
    }

    /// Starts with this number of segments.
    pub(crate) fn begin(&mut self, segments: u32) {
        self.segments = segments;
    }

    /// Counts marks that Accurate ECN reports.
    pub(crate) fn add_marked(&mut self, segments: u32) {
        self.marked = self.marked.wrapping_add(segments);
    }

    /// Counts segments, with an ECN echo or without.
    #[inline]
    pub(crate) fn add(&mut self, segments: u32, marked: bool) {
        self.segments = self.segments.wrapping_add(segments);
        if marked {
            self.marked = self.marked.wrapping_add(segments);
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct SenderStats {
    /// Segments sent, except answers to a SYN and resets.
    segments: u32,
    /// Segments sent with payload.
    data_segments: u32,
    /// Payload bytes sent, repetitions included.
    bytes: u64,
    /// SYN and FIN that were acknowledged; SYN only of the end that began.
    acknowledged_controls: u32,
    /// Retransmitted payload bytes.
    retransmitted_bytes: u64,
    /// Retransmissions since the beginning, SYN included.
    retransmissions: u32,
    /// Segments reported to have arrived twice since the beginning (D-SACK).
    dsacks: u32,
    limit: SenderLimit,
    since: Option<Instant>,
    busy: Span,
    peer_limited: Span,
    buffer_limited: Span,
}

impl SenderStats {
    getters! {
        retransmissions: u32,
        acknowledged_controls: u32,
        segments: u32,
        data_segments: u32,
        bytes: u64,
    }

    pub(crate) fn on_retransmission(&mut self) {
        self.retransmissions = self.retransmissions.wrapping_add(1);
    }

    /// A SYN was no retransmission.
    pub(crate) fn forget_retransmission(&mut self) {
        self.retransmissions = self.retransmissions.wrapping_sub(1);
    }

    /// Counts retransmitted payload bytes.
    pub(crate) fn on_retransmitted_bytes(&mut self, bytes: u32) {
        self.retransmitted_bytes += u64::from(bytes);
    }

    /// Counts segments that arrived twice.
    pub(crate) fn on_dsack(&mut self, segments: u32) {
        self.dsacks = self.dsacks.wrapping_add(segments);
    }

    /// Whether D-SACKs report more segments than were retransmitted: such reports are implausible.
    pub(crate) fn has_more_dsacks_than_retransmissions(&self) -> bool {
        self.dsacks > self.retransmissions
    }

    /// Counts the acknowledgment of SYN or FIN.
    pub(crate) fn on_control_acked(&mut self, controls: u32) {
        self.acknowledged_controls += controls;
    }

    #[inline]
    pub(crate) fn on_segment(&mut self, payload_bytes: u32) {
        self.segments = self.segments.wrapping_add(1);
        if payload_bytes > 0 {
            self.data_segments = self.data_segments.wrapping_add(1);
            self.bytes += u64::from(payload_bytes);
        }
    }

    /// Whether the sender is busy without a stronger limit.
    pub(crate) fn is_just_busy(&self) -> bool {
        self.limit == SenderLimit::Busy
    }

    /// Begins a limit, unless a stronger one is active.
    #[inline]
    pub(crate) fn begin(&mut self, limit: SenderLimit, now: Instant) {
        if limit > self.limit {
            self.become_occupied(limit, now);
        }
    }

    #[cold]
    fn become_occupied(&mut self, limit: SenderLimit, now: Instant) {
        let elapsed = self.elapsed(now);
        match self.limit {
            SenderLimit::Idle => {}
            SenderLimit::Busy => self.busy += elapsed,
            SenderLimit::PeerLimited => self.peer_limited += elapsed,
            SenderLimit::BufferLimited => self.buffer_limited += elapsed,
        }
        self.limit = limit;
        self.since = Some(now);
    }

    fn elapsed(&self, now: Instant) -> Span {
        self.since.map_or(Span::ZERO, |since| now.saturating_since(since))
    }

    fn total(&self, limit: SenderLimit, counted: Span, now: Instant) -> Span {
        if self.limit == limit { counted + self.elapsed(now) } else { counted }
    }

    /// Time limited by the peer's window.
    pub(crate) fn peer_limited(&self, now: Instant) -> Span {
        self.total(SenderLimit::PeerLimited, self.peer_limited, now)
    }

    /// Time limited by the send buffer.
    pub(crate) fn buffer_limited(&self, now: Instant) -> Span {
        self.total(SenderLimit::BufferLimited, self.buffer_limited, now)
    }

    /// Time with written and unacknowledged data.
    pub(crate) fn busy(&self, now: Instant) -> Span {
        let busy = self.total(SenderLimit::Busy, self.busy, now);
        busy + self.peer_limited(now) + self.buffer_limited(now)
    }

    /// Fills in the counters of `TCP_INFO`.
    pub(crate) fn fill_tcp_info(&self, info: &mut TcpInfo, now: Instant) {
        info.segments_sent = Some(self.segments);
        info.data_segments_sent = Some(self.data_segments);
        info.sent_bytes = Some(self.bytes);
        info.retransmitted_bytes = Some(self.retransmitted_bytes);
        info.total_retransmissions = Some(self.retransmissions);
        info.duplicate_reports = Some(self.dsacks);
        info.busy = Some(self.busy(now));
        info.window_limited = Some(self.peer_limited(now));
        info.buffer_limited = Some(self.buffer_limited(now));
    }
}

impl Sender {
    #[inline]
    pub(crate) fn end_limit(&mut self, limit: SenderLimit, now: Instant) {
        if self.queue.is_empty() && !self.written.has_any() {
            if self.stats.limit != SenderLimit::Idle {
                self.stats.become_occupied(SenderLimit::Idle, now);
            }
        } else if limit == self.stats.limit && limit != SenderLimit::Busy {
            self.stats.become_occupied(SenderLimit::Busy, now);
        }
    }

    /// Fills in the sending half of `TCP_INFO`.
    pub(crate) fn fill_tcp_info(&self, info: &mut TcpInfo, now: Instant) {
        let pacing = &self.config.sending.pacing;
        info.path_mtu_bytes = Some(self.path.mtu());
        info.send_window_shift = Some(self.negotiated.send_shift());
        info.send_mss_bytes = self.segment_bytes;
        info.since_data_sent = Some(now.saturating_since(self.send.last_sent()));
        info.since_ack_received = Some(now.saturating_since(self.send.last_heard()));
        info.pacing_rate_bytes_per_second = Some(self.pacer.rate());
        info.max_pacing_rate_bytes_per_second =
            Some(pacing.max_bytes_per_second.unwrap_or(u64::MAX));
        info.acknowledged_bytes =
            Some(self.send.acknowledged_bytes() + u64::from(self.stats.acknowledged_controls()));
        info.unsent_bytes = self.written.unsent();
        info.send_window_bytes = self.peer_window.bytes();
        self.stats.fill_tcp_info(info, now);
        self.fill_loss_info(info);
    }

    fn fill_loss_info(&self, info: &mut TcpInfo) {
        info.recovery = self.recovery.state();
        info.consecutive_timeouts = Some(self.rto.consecutive_timeouts());
        info.unanswered_probes = Some(self.persist.unanswered());
        info.backoff = Some(self.rto.backoffs().max(self.persist.probes()));
        info.unacked_segments = Some(self.queue.outstanding());
        info.sacked_segments = Some(self.sacked_out());
        info.lost_segments = Some(self.queue.lost());
        info.retransmitted_segments = Some(self.queue.retransmitted());
        info.smoothed_rtt = self.rtt.smoothed();
        info.rtt_variation = self.rtt.smoothed().map(|_| self.rtt.deviation(self.config.rtt_rule));
        info.slow_start_threshold = self.window.known_threshold();
        info.congestion_window = self.window.segments();
        info.reordering_segments = Some(self.reordering.threshold());
        info.min_rtt = self.rtt.minimum();
        info.delivered_segments = Some(self.deliveries.segments());
        info.delivered_marked_segments = Some(self.deliveries.marked());
        if self.samples_delivery_rate() {
            info.delivery_rate_is_application_limited =
                Some(self.delivery_rate.is_application_limited());
            info.delivery_rate_bytes_per_second =
                Some(self.delivery_rate.bytes_per_second(self.segment_bytes));
        }
        info.reordering_events = Some(self.reordering.events());
        self.fill_ecn_info(info);
    }

    /// Fills in the counters of Accurate ECN.
    fn fill_ecn_info(&self, info: &mut TcpInfo) {
        let Some(feedback) = self.ecn.accurate() else {
            return;
        };
        info.received_marked_segments = Some(feedback.received_marked());
        info.received_bytes_by_mark = Some(feedback.received_bytes());
        info.delivered_bytes_by_mark = Some(feedback.delivered_bytes());
        info.accurate_ecn_failure = Some(feedback.failure_bits());
        info.accurate_ecn_option_seen = Some(feedback.option_seen_number());
    }
}
