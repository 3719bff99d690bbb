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
