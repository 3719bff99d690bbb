//! What a stream's time goes into: who keeps the sender from sending.
//!
//! Source: Y. Zhang, L. Breslau, V. Paxson, S. Shenker, "On the characteristics and origins of Internet
//! flow rates" (SIGCOMM 2002); M. Siekkinen, G. Urvoy-Keller, E. Biersack, D. Collange, "A root cause
//! analysis toolkit for TCP" (Computer Networks, 2008).
//! What differs and why: those judge round trips, or stretches of them, after the fact; here each
//! interval between two packets is judged by itself, so that the parts add up to the whole, streams of
//! few packets are judged too, and nothing is kept.
//! Cost per packet: one addition and a few comparisons.

use fairwind_units::Span;

/// What an interval goes into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Occupation {
    /// Nothing is outstanding: the application has given nothing.
    #[default]
    Idle,
    /// Something is outstanding; the last segment was not full, or new data came without an
    /// acknowledgment that would have made room for it: the application had given no more.
    Application,
    /// The window that the other side offers has no room for a full segment.
    ReceiverWindow,
    /// Else: the congestion window, or a repair, holds data back.
    Congestion,
}

/// Time by what it went into.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TimeShares {
    pub(super) idle: Span,
    pub(super) application: Span,
    pub(super) receiver_window: Span,
    pub(super) congestion: Span,
    /// The same when new data was last sent; more where nothing is to be excused.
    congestion_before: Span,
    /// While few packets are in flight and the initial slow start is over, too.
    pub(super) thin: Span,
}

impl TimeShares {
    #[inline]
    pub(super) fn add(&mut self, occupation: Occupation, span: Span) {
        let share = match occupation {
            Occupation::Idle => &mut self.idle,
            Occupation::Application => &mut self.application,
            Occupation::ReceiverWindow => &mut self.receiver_window,
            Occupation::Congestion => &mut self.congestion,
        };
        *share += span;
    }

    /// New data is sent. If everything comes to be acknowledged and nothing follows, nothing waited behind it:
    /// then what passes from now on as congestion went into the application.
    #[inline]
    pub(super) const fn begin_excuse(&mut self) {
        self.congestion_before = self.congestion;
    }

    /// Whatever follows, congestion it was.
    #[inline]
    pub(super) const fn forbid_excuse(&mut self) {
        self.congestion_before = Span::MAX;
    }

    /// Everything is acknowledged, and the sender had nothing to follow.
    #[inline]
    pub(super) fn excuse(&mut self) {
        let excused = self.congestion.saturating_sub(self.congestion_before);
        self.congestion = self.congestion.saturating_sub(excused);
        self.application += excused;
    }

    /// Nothing counted yet, in the same situation.
    pub(super) fn afresh(&self) -> Self {
        let is_forbidden = self.congestion_before == Span::MAX;
        let congestion_before = if is_forbidden { Span::MAX } else { Span::ZERO };
        Self { congestion_before, ..Self::default() }
    }

    /// All of it.
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
