//! The window that the other side offers.

use fairwind_units::{Instant, Span};
use fairwind_wire::{Flags, Segment};

/// What is known of it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct OfferedWindow {
    /// Offset behind the last byte that may be sent; 0 before it is known.
    edge: u64,
    /// Window field of the last segment.
    field: u16,
    own_scale: Scale,
    other_scale: Scale,
    /// Since when it is closed.
    closed_since: Option<Instant>,
    pub(super) counts: WindowCounts,
}

/// What was counted.
#[derive(Debug, Clone, Copy)]
pub(super) struct WindowCounts {
    /// Segments whose window is known in bytes.
    pub(super) samples: u64,
    /// Sum of their windows.
    pub(super) sum: u64,
    /// The smallest.
    pub(super) least: u64,
    /// The largest.
    pub(super) most: u64,
    /// How often it closed.
    pub(super) closings: u64,
    /// How long it was closed.
    pub(super) closed: Span,
}

impl Default for WindowCounts {
    fn default() -> Self {
        Self { samples: 0, sum: 0, least: u64::MAX, most: 0, closings: 0, closed: Span::ZERO }
    }
}

/// What a SYN has said of window scaling (RFC 7323 §2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Scale {
    /// No SYN was seen.
    #[default]
    Unknown,
    /// Windows are not scaled.
    Refused,
    /// They are, by this shift.
    Shift(u8),
}

impl Scale {
    fn of(syn: &Segment) -> Self {
        // RFC 7323 §2.3: no shift is larger.
        syn.options.window_scale.map_or(Self::Refused, |shift| Self::Shift(shift.min(14)))
    }
}

impl OfferedWindow {
    /// The SYN of the data's sender.
    pub(super) fn on_own_syn(&mut self, syn: &Segment) {
        self.own_scale = Scale::of(syn);
    }

    /// The SYN of the side that offers the window; its window is never scaled.
    pub(super) fn on_other_syn(&mut self, syn: &Segment, acknowledged: Option<u64>) {
        self.other_scale = Scale::of(syn);
        self.field = syn.window;
        if let Some(offset) = acknowledged {
            self.edge = offset + u64::from(syn.window);
        }
    }

    /// The shift, where both SYNs were seen.
    #[inline]
    const fn shift(&self) -> Option<u8> {
        match (self.own_scale, self.other_scale) {
            (Scale::Unknown, Scale::Shift(_)) | (_, Scale::Unknown) => None,
            (Scale::Shift(_), Scale::Shift(shift)) => Some(shift),
            (Scale::Refused, _) | (_, Scale::Refused) => Some(0),
        }
    }

    /// The largest window that was offered; `None` where it is not known what numbers mean.
    pub(super) fn most(&self) -> Option<u64> {
        self.shift().map(|_| self.counts.most)
    }

    /// Whether a segment has the same window as the one before it.
    #[inline]
    pub(super) const fn is_unchanged(&self, segment: &Segment) -> bool {
        self.field == segment.window
    }

    /// A segment that acknowledges everything before `acknowledged`.
    #[inline]
    pub(super) fn on_segment(&mut self, at: Instant, segment: &Segment, acknowledged: u64) {
        self.field = segment.window;
        if let Some(shift) = self.shift() {
            let bytes = u64::from(segment.window) << shift;
            self.edge = acknowledged + bytes;
            self.counts.samples += 1;
            self.counts.sum += bytes;
            self.counts.least = self.counts.least.min(bytes);
            self.counts.most = self.counts.most.max(bytes);
        }
        if segment.window == 0 || self.closed_since.is_some() {
            self.follow_closing(at, segment);
        }
    }

    #[cold]
    fn follow_closing(&mut self, at: Instant, segment: &Segment) {
        match self.closed_since {
            None if !segment.flags.contains(Flags::RST) => {
                self.counts.closings += 1;
                self.closed_since = Some(at);
            }
            Some(since) if segment.window > 0 => {
                self.counts.closed += at.saturating_since(since);
                self.closed_since = None;
            }
            _ => {}
        }
    }

    /// It stays as it is from now on.
    pub(super) fn finish(&mut self, at: Instant) {
        if let Some(since) = self.closed_since.take() {
            self.counts.closed += at.saturating_since(since);
        }
    }

    /// Offset behind the last byte that may be sent, where that is known.
    pub(super) const fn end(&self) -> Option<u64> {
        match (self.shift(), self.edge) {
            (None, _) | (_, 0) => None,
            (_, edge) => Some(edge),
        }
    }

    #[inline]
    pub(super) const fn is_closed(&self) -> bool {
        self.closed_since.is_some()
    }

    /// Whether it is known to have no room for `bytes` behind `offset`.
    #[inline]
    pub(super) const fn lacks_room(&self, offset: u64, bytes: u64) -> bool {
        self.closed_since.is_some() || self.edge > 0 && self.edge < offset + bytes
    }
}
