//! Offered window, and what limits the sender: application, receiver window or congestion.
//!
//! Source: Y. Zhang, L. Breslau, V. Paxson, S. Shenker, "On the characteristics and origins of Internet flow rates"
//! (SIGCOMM 2002); M. Siekkinen, G. Urvoy-Keller, E. Biersack, D. Collange, "A root cause analysis toolkit for TCP"
//! (Computer Networks, 2008). These judge round trips, or periods of them, afterwards. Here each interval between two
//! packets is judged on its own: the parts add up to the whole, streams of few packets are judged too, and nothing is
//! stored.
//! Cost per packet: one addition and a few comparisons.

use fairwind_units::{Instant, Span};
use fairwind_wire::{Flags, Segment};

/// State of the offered window.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct OfferedWindow {
    /// Offset behind the last byte that may be sent; 0 if unknown.
    edge: u64,
    /// Window field of the last segment.
    field: u16,
    own_scale: Scale,
    other_scale: Scale,
    pub(super) is_closed: bool,
    /// Whether the last window is part of minimum and maximum.
    is_counted: bool,
}

/// Counts of acknowledgments and their windows.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct AckCounts {
    pub(super) acknowledgments: u64,
    /// Sum of the windows in bytes.
    pub(super) window_sum: u64,
}

/// Counters that only a changed window touches.
#[derive(Debug, Clone, Copy)]
pub(super) struct WindowCounts {
    /// The smallest window in bytes; none has more than 30 bits.
    pub(super) least: u32,
    /// The largest.
    pub(super) most: u32,
    /// Windows of unknown scale, or outdated ones.
    pub(super) unknown: u64,
    /// Windows that were offered before acknowledgments counted.
    pub(super) early: u64,
    /// How often the window closed.
    pub(super) closings: u64,
    /// How long it was closed.
    pub(super) closed: Span,
    /// When it closed, if it is closed.
    closed_at: Instant,
}

impl WindowCounts {
    /// A closed window counts as closed since `at`.
    pub(super) const fn close(&mut self, at: Instant) {
        self.closed_at = at;
    }

    /// The offered window changes to `bytes`.
    #[inline]
    pub(super) fn on_change(&mut self, bytes: u32) {
        self.least = self.least.min(bytes);
        self.most = self.most.max(bytes);
    }
}

impl Default for WindowCounts {
    fn default() -> Self {
        let (closed, closed_at) = (Span::ZERO, Instant::ZERO);
        Self { least: u32::MAX, most: 0, unknown: 0, early: 0, closings: 0, closed, closed_at }
    }
}

/// Window scale of a SYN (RFC 7323 §2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Scale {
    /// No SYN was seen.
    #[default]
    Unknown,
    /// No window scaling.
    Refused,
    /// Scaled by this shift.
    Shift(u8),
}

impl Scale {
    fn of(syn: &Segment) -> Self {
        // The largest shift (RFC 7323 §2.3).
        syn.options.window_scale.map_or(Self::Refused, |shift| Self::Shift(shift.min(14)))
    }
}

impl OfferedWindow {
    /// Takes the SYN of the data sender.
    pub(super) fn on_own_syn(&mut self, syn: &Segment) {
        self.own_scale = Scale::of(syn);
        self.is_counted = false;
    }

    /// Takes the SYN of the data receiver; its own window is not scaled.
    pub(super) fn on_other_syn(&mut self, syn: &Segment, acknowledged: Option<u64>) {
        self.other_scale = Scale::of(syn);
        self.is_counted = false;
        self.field = syn.window;
        if let Some(offset) = acknowledged {
            self.edge = offset + u64::from(syn.window);
        }
    }

    /// The shift, if both SYNs were seen.
    #[inline]
    const fn shift(&self) -> Option<u8> {
        match (self.own_scale, self.other_scale) {
            (Scale::Unknown, Scale::Shift(_)) | (_, Scale::Unknown) => None,
            (Scale::Shift(_), Scale::Shift(shift)) => Some(shift),
            (Scale::Refused, _) | (_, Scale::Refused) => Some(0),
        }
    }

    /// The largest offered window; `None` if the scale is unknown.
    pub(super) fn most(&self, counts: &WindowCounts) -> Option<u64> {
        self.shift().map(|_| counts.most.into())
    }

    /// Whether the window field is unchanged.
    #[inline]
    pub(super) const fn is_unchanged(&self, segment: &Segment) -> bool {
        self.field == segment.window
    }

    /// Takes an acknowledgment up to `acknowledged`: returns its window in bytes, if known, and whether it
    /// changed.
    #[inline]
    pub(super) fn on_segment(
        &mut self,
        segment: &Segment,
        acknowledged: u64,
    ) -> Option<(u32, bool)> {
        let is_new = self.field != segment.window || !self.is_counted;
        self.field = segment.window;
        let bytes = u32::from(segment.window) << self.shift()?;
        self.edge = acknowledged + u64::from(bytes);
        self.is_counted = true;
        Some((bytes, is_new))
    }

    /// Whether a segment may close or open the window.
    #[inline]
    pub(super) const fn may_turn(&self, segment: &Segment) -> bool {
        segment.window == 0 || self.is_closed
    }

    /// Takes such a segment.
    #[cold]
    pub(super) fn event(&mut self, at: Instant, segment: &Segment, counts: &mut WindowCounts) {
        if !self.is_closed && !segment.flags.contains(Flags::RST) {
            counts.closings += 1;
            counts.closed_at = at;
            self.is_closed = true;
        } else if segment.window > 0 {
            self.finish(at, counts);
        }
    }

    /// Ends the stream.
    pub(super) fn finish(&mut self, at: Instant, counts: &mut WindowCounts) {
        if self.is_closed {
            counts.closed += at.saturating_since(counts.closed_at);
            self.is_closed = false;
        }
    }

    /// Counts the next window, even if unchanged.
    pub(super) const fn reset_counts(&mut self) {
        self.is_counted = false;
    }

    /// Offset behind the last byte that may be sent, if known.
    pub(super) const fn end(&self) -> Option<u64> {
        match (self.shift(), self.edge) {
            (None, _) | (_, 0) => None,
            (_, edge) => Some(edge),
        }
    }

    /// Whether the window certainly has no room for `bytes` behind `offset`.
    #[inline]
    pub(super) const fn lacks_room(&self, offset: u64, bytes: u64) -> bool {
        self.is_closed || self.edge > 0 && self.edge < offset + bytes
    }
}

/// What limits the sender in an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum SenderLimit {
    /// Nothing is outstanding: the application had no data.
    #[default]
    Idle,
    /// Data is outstanding, but the last segment was not full, or new data followed without an acknowledgment
    /// that made room: the application had no more data.
    Application,
    /// The offered window has no room for a full segment.
    ReceiverWindow,
    /// Otherwise: the congestion window or a repair.
    Congestion,
}

/// Time by what limited the sender.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TimeShares {
    pub(super) idle: Span,
    pub(super) application: Span,
    pub(super) receiver_window: Span,
    pub(super) congestion: Span,
    /// `congestion` when new data was last sent; the maximum if final.
    congestion_before: Span,
    /// Time with few packets in flight after the initial slow start.
    pub(super) thin: Span,
}

impl TimeShares {
    #[inline]
    pub(super) fn add(&mut self, limit: SenderLimit, span: Span) {
        let share = match limit {
            SenderLimit::Idle => &mut self.idle,
            SenderLimit::Application => &mut self.application,
            SenderLimit::ReceiverWindow => &mut self.receiver_window,
            SenderLimit::Congestion => &mut self.congestion,
        };
        *share += span;
    }

    /// New data is sent. If all of it is acknowledged and nothing follows, no data was waiting: then time
    /// counted as congestion from now on was limited by the application.
    #[inline]
    pub(super) const fn begin_provisional(&mut self) {
        self.congestion_before = self.congestion;
    }

    /// Congestion from now on is final.
    #[inline]
    pub(super) const fn make_final(&mut self) {
        self.congestion_before = Span::MAX;
    }

    /// Everything is acknowledged, and no data followed.
    #[inline]
    pub(super) fn attribute_to_application(&mut self) {
        let excused = self.congestion.saturating_sub(self.congestion_before);
        self.congestion = self.congestion.saturating_sub(excused);
        self.application += excused;
    }

    /// Without counts, in the same state.
    pub(super) fn restarted(&self) -> Self {
        let is_forbidden = self.congestion_before == Span::MAX;
        let congestion_before = if is_forbidden { Span::MAX } else { Span::ZERO };
        Self { congestion_before, ..Self::default() }
    }

    /// Total time.
    pub(super) fn observed(&self) -> Span {
        self.idle + self.application + self.receiver_window + self.congestion
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.idle += other.idle;
        self.application += other.application;
        self.receiver_window += other.receiver_window;
        self.congestion += other.congestion;
        self.thin += other.thin;
    }
}
