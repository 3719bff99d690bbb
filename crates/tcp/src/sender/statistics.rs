//! What was sent, and what kept the sender busy or back.
//!
//! Source: Linux `tcp_chrono_start`, `tcp_chrono_stop`, `tcp_get_info_chrono_stats`.
//! Cost: a few additions per segment, a comparison per run of sending.

use crate::information::Information;
use crate::sender::Sender;
use fairwind_units::{Instant, Span};

/// What the time goes into; a later one hides an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum SenderLimit {
    /// Nothing is written that is not acknowledged.
    #[default]
    Idle,
    /// Something is.
    Busy,
    /// The peer's window holds data back.
    PeerLimited,
    /// The send buffer holds the application back.
    BufferLimited,
}

/// Counters of the sending half.
#[derive(Debug, Default)]
pub(crate) struct SenderStats {
    /// Segments sent, but for answers to a SYN and resets.
    pub(crate) segments: u32,
    /// Segments sent with payload.
    pub(crate) data_segments: u32,
    /// Payload bytes sent, repetitions included.
    pub(crate) bytes: u64,
    /// SYN and FIN that were acknowledged; SYN only of the end that began.
    pub(crate) acknowledged_controls: u32,
    /// Payload bytes sent again.
    pub(crate) repeated_bytes: u64,
    limit: SenderLimit,
    since: Option<Instant>,
    busy: Span,
    peer_limited: Span,
    buffer_limited: Span,
}

impl SenderStats {
    /// Counts a segment.
    #[inline]
    pub(crate) fn on_segment(&mut self, payload_bytes: u32) {
        self.segments = self.segments.wrapping_add(1);
        if payload_bytes > 0 {
            self.data_segments = self.data_segments.wrapping_add(1);
            self.bytes += u64::from(payload_bytes);
        }
    }

    /// Whether nothing weightier takes the time than that something is not acknowledged.
    #[inline]
    pub(crate) fn is_just_busy(&self) -> bool {
        self.limit == SenderLimit::Busy
    }

    /// Something begins to take the time, unless something weightier does.
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

    /// Time with something written and not acknowledged.
    pub(crate) fn busy(&self, now: Instant) -> Span {
        let busy = self.total(SenderLimit::Busy, self.busy, now);
        busy + self.peer_limited(now) + self.buffer_limited(now)
    }

    /// Fills in what `TCP_INFO` reports of these.
    pub(crate) fn inform(&self, information: &mut Information, now: Instant) {
        information.segments_sent = Some(self.segments);
        information.data_segments_sent = Some(self.data_segments);
        information.sent_bytes = Some(self.bytes);
        information.retransmitted_bytes = Some(self.repeated_bytes);
        information.busy = Some(self.busy(now));
        information.window_limited = Some(self.peer_limited(now));
        information.buffer_limited = Some(self.buffer_limited(now));
    }
}

impl Sender {
    /// Something no longer takes the time.
    #[inline]
    pub(crate) fn end_limit(&mut self, limit: SenderLimit, now: Instant) {
        if self.queue.is_empty() && self.queue.unsent == 0 && !self.queue.fin_waiting {
            if self.stats.limit != SenderLimit::Idle {
                self.stats.become_occupied(SenderLimit::Idle, now);
            }
        } else if limit == self.stats.limit && limit != SenderLimit::Busy {
            self.stats.become_occupied(SenderLimit::Busy, now);
        }
    }
}
