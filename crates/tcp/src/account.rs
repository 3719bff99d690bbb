//! What was sent, and what kept the sender busy or back.
//!
//! Source: Linux `tcp_chrono_start`, `tcp_chrono_stop`, `tcp_get_info_chrono_stats`.
//! Cost: a few additions per segment, a comparison per run of sending.

use crate::connection::Connection;
use fairwind_units::{Instant, Span};

/// What the time goes into; a later one hides an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Occupation {
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
pub(crate) struct Account {
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
    occupation: Occupation,
    since: Option<Instant>,
    busy: Span,
    peer_limited: Span,
    buffer_limited: Span,
}

impl Account {
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
        self.occupation == Occupation::Busy
    }

    /// Something begins to take the time, unless something weightier does.
    #[inline]
    pub(crate) fn begin(&mut self, occupation: Occupation, now: Instant) {
        if occupation > self.occupation {
            self.become_occupied(occupation, now);
        }
    }

    #[cold]
    fn become_occupied(&mut self, occupation: Occupation, now: Instant) {
        let elapsed = self.elapsed(now);
        match self.occupation {
            Occupation::Idle => {}
            Occupation::Busy => self.busy += elapsed,
            Occupation::PeerLimited => self.peer_limited += elapsed,
            Occupation::BufferLimited => self.buffer_limited += elapsed,
        }
        self.occupation = occupation;
        self.since = Some(now);
    }

    fn elapsed(&self, now: Instant) -> Span {
        self.since.map_or(Span::ZERO, |since| now.saturating_since(since))
    }

    fn total(&self, occupation: Occupation, counted: Span, now: Instant) -> Span {
        if self.occupation == occupation { counted + self.elapsed(now) } else { counted }
    }

    /// Time limited by the peer's window.
    pub(crate) fn peer_limited(&self, now: Instant) -> Span {
        self.total(Occupation::PeerLimited, self.peer_limited, now)
    }

    /// Time limited by the send buffer.
    pub(crate) fn buffer_limited(&self, now: Instant) -> Span {
        self.total(Occupation::BufferLimited, self.buffer_limited, now)
    }

    /// Time with something written and not acknowledged.
    pub(crate) fn busy(&self, now: Instant) -> Span {
        let busy = self.total(Occupation::Busy, self.busy, now);
        busy + self.peer_limited(now) + self.buffer_limited(now)
    }
}

impl Connection {
    /// Something no longer takes the time.
    #[inline]
    pub(crate) fn end_occupation(&mut self, occupation: Occupation, now: Instant) {
        if self.queue.is_empty() && self.queue.unsent == 0 && !self.queue.fin_waiting {
            if self.account.occupation != Occupation::Idle {
                self.account.become_occupied(Occupation::Idle, now);
            }
        } else if occupation == self.account.occupation && occupation != Occupation::Busy {
            self.account.become_occupied(Occupation::Busy, now);
        }
    }
}
