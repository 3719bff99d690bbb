//! What a connection tells of what it has found out, and how it takes advice.

use super::resume::{Resume, Resumption};
use super::{ConnectionId, Share};
use crate::connection::Connection;
use crate::event::Event;
use crate::state::{RecoveryState, State};
use fairwind_units::Span;

/// What a connection has found out; windows are in segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lesson {
    /// Which one tells.
    pub connection: ConnectionId,
    /// Congestion window (cwnd).
    pub window: u32,
    /// Window that it would have begun with by itself.
    pub initial_window: u32,
    /// Slow-start threshold (ssthresh); `None` where none was ever set.
    pub slow_start_threshold: Option<u32>,
    /// Smoothed round-trip time, once there was a sample.
    pub smoothed_rtt: Option<Span>,
    /// Variation of the round-trip time (RTTVAR).
    pub rtt_variation: Span,
    /// Least round-trip time, once there was a sample.
    pub least_rtt: Option<Span>,
    /// Segments sent again since the beginning.
    pub retransmissions: u32,
    /// The time-out is doubled at present.
    pub is_backed_off: bool,
    /// No loss is suspected or repaired at present.
    pub is_open: bool,
    /// Segments that may overtake one before it counts as lost.
    pub reordering: u32,
    /// The same where nothing has been learned.
    pub usual_reordering: u32,
    /// Payload of a full segment in bytes.
    pub segment_bytes: u32,
    /// The window is not validated yet (RFC 9959).
    pub is_resuming: bool,
}

impl Lesson {
    /// Whether a segment had to be sent again.
    pub fn has_lost(&self) -> bool {
        self.retransmissions > 0
    }
}

/// What becomes of a remembered round trip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeoutSeed {
    /// The estimator begins with it (RFC 9040 §6.1).
    Estimator {
        /// Smoothed round-trip time.
        rtt: Span,
        /// Its variation (RTTVAR).
        variation: Span,
    },
    /// The time-out of the first flight follows it where it is longer than that of the handshake, or the handshake
    /// gave none; the estimator does not (Linux `tcp_init_metrics`).
    FirstTimeout {
        /// Smoothed round-trip time.
        rtt: Span,
    },
}

/// What a connection is to begin with; what is `None` stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Advice {
    /// Segments in the place of the initial window.
    pub window: Option<u32>,
    /// Segments of the initial window at least, where the handshake lost nothing and the path is the same; the flight
    /// is then paced.
    pub least_window: Option<u32>,
    /// Least round-trip time of the path that `least_window` is of; `None` where nobody knows.
    pub path_rtt: Option<Span>,
    /// Slow-start threshold in segments.
    pub slow_start_threshold: Option<u32>,
    /// What is known of the round trip.
    pub timeout: Option<TimeoutSeed>,
    /// Segments that may overtake one before it counts as lost.
    pub reordering: Option<u32>,
    /// A saved window to be resumed with care (RFC 9959).
    pub resumption: Option<Resumption>,
}

/// Why a connection does not begin with what is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unused {
    /// Nobody looked it up: nothing is captured, or connections that this end opens are not served.
    NotServed,
    /// Nothing is remembered of the peer.
    Unknown,
    /// It is older than its lifetime.
    Outdated,
    /// Another connection resumes it (RFC 9959 §3.2).
    InUse,
    /// It is no more than the window that the connection begins with by itself.
    TooSmall,
    /// The handshake lost something, or went over another path.
    Unfit,
}

impl Unused {
    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotServed => "not-served",
            Self::Unknown => "unknown",
            Self::Outdated => "outdated",
            Self::InUse => "in-use",
            Self::TooSmall => "too-small",
            Self::Unfit => "unfit",
        }
    }
}

/// What a connection has of others before it.
#[derive(Debug, Default)]
pub(crate) struct Inherited {
    /// What is to be begun with once the handshake is over.
    advice: Option<Box<Advice>>,
    /// A saved window that is resumed with care (RFC 9959).
    pub(super) resume: Option<Box<Resume>>,
    /// Why the connection did not begin with the window that it was advised.
    unused: Option<Unused>,
}

impl Inherited {
    /// Whether a saved window is resumed.
    pub(crate) fn is_resuming(&self) -> bool {
        self.resume.is_some()
    }
}

impl Connection {
    /// Takes advice, before the handshake is over or at its end; what concerns sending holds from then on. A
    /// connection whose SYN was lost keeps the window that follows from that (RFC 5681 §3.1).
    pub fn advise(&mut self, advice: Advice) {
        if let Some(TimeoutSeed::Estimator { rtt, variation }) = advice.timeout
            && self.rtt.smoothed().is_none()
        {
            self.rtt.seed(rtt, variation);
            self.backoff.timeout = self.rtt.timeout(&self.config);
        }
        if self.may_take_advice() {
            self.take_advice(&advice);
        } else {
            self.inherited.advice = (advice != Advice::default()).then(|| Box::new(advice));
        }
    }

    /// Whether advice takes effect at once: the connection is open, or its peer's SYN brought data with a cookie
    /// that opened it (RFC 7413 §4.2.2).
    fn may_take_advice(&self) -> bool {
        self.state.is_synchronised() || self.fast_open.opened_early
    }

    /// The handshake is over: what was advised takes effect.
    pub(crate) fn take_pending_advice(&mut self) {
        if let Some(advice) = self.inherited.advice.take() {
            self.take_advice(&advice);
        }
    }

    #[cold]
    fn take_advice(&mut self, advice: &Advice) {
        if advice.window.or(advice.least_window).is_some() {
            self.inherited.unused = self.take_window(advice).err();
        }
        if let Some(threshold) = advice.slow_start_threshold {
            self.window.slow_start_threshold = threshold.max(2);
        }
        if let Some(reordering) = advice.reordering {
            self.recovery.threshold = reordering;
        }
        if let Some(TimeoutSeed::FirstTimeout { rtt }) = advice.timeout
            && self.rtt.smoothed().is_none_or(|smoothed| rtt > smoothed)
        {
            self.backoff.timeout = rtt + (rtt * 2).max(self.config.minimum_rto);
        }
        if let Some(resumption) = advice.resumption
            && !self.is_governed()
        {
            self.begin_resumption(resumption);
        }
    }

    /// The connection begins with the window that was advised, unless it does not fit.
    fn take_window(&mut self, advice: &Advice) -> Result<(), Unused> {
        if self.backoff.expired > self.config.lost_syns_forgiven {
            return Err(Unused::Unfit);
        }
        let window = advice.window.unwrap_or(self.window.segments).max(1);
        self.window.segments = window;
        let Some(least) = advice.least_window else { return Ok(()) };
        if least <= window {
            return Err(Unused::TooSmall);
        }
        if !self.is_on_path(advice.path_rtt) {
            return Err(Unused::Unfit);
        }
        self.window.segments = least;
        self.pace_first_flight();
        Ok(())
    }

    /// Why the connection has not begun with the window that it was advised; `None` where it has, where none was, and
    /// before the handshake is over.
    pub fn why_unused(&self) -> Option<Unused> {
        self.inherited.unused
    }

    /// Whether what was advised still has a say in how the connection sends.
    pub(crate) fn inherits_something(&self) -> bool {
        self.inherited.is_resuming() || self.pacer.has_first_flight()
    }

    /// Whether the handshake lost nothing and took as long as the path that is remembered: more than half of its
    /// least round trip and at most ten times that (as RFC 9959 §4.2.1 tells paths apart). A server that was opened
    /// early (RFC 7413) knows neither yet, and takes the path for the same.
    fn is_on_path(&self, least: Option<Span>) -> bool {
        let is_same = |(least, found): (Span, Span)| found * 2 > least && found <= least * 10;
        self.recovery.retransmissions == 0 && least.zip(self.rtt.smoothed()).is_none_or(is_same)
    }

    /// The window is another one from now on, because connections to the same peer share it; while a loss is
    /// repaired it is left alone. Before the handshake is over it is what the connection will begin with.
    pub fn take_share(&mut self, share: &Share) {
        if !self.may_take_advice() {
            let advice = self.inherited.advice.get_or_insert_default();
            advice.window = Some(share.window.max(1));
            advice.least_window = None;
            advice.slow_start_threshold =
                share.slow_start_threshold.or(advice.slow_start_threshold);
        } else if matches!(self.recovery.state, RecoveryState::Open | RecoveryState::Disorder) {
            self.window.segments = share.window.max(1);
            if let Some(threshold) = share.slow_start_threshold {
                self.window.slow_start_threshold = threshold.max(2);
            }
            self.window.drop_credit();
            self.update_pacing_rate();
        }
    }

    /// Whether the connection has a window that companions may share: its handshake is over, or it was advised one to
    /// begin with. An initial window is nothing that was found out, and is not divided.
    pub fn has_window_to_share(&self) -> bool {
        let advised =
            || self.inherited.advice.as_deref().is_some_and(|advice| advice.window.is_some());
        self.may_take_advice() || advised()
    }

    /// What the connection has found out. Before its handshake is over its window and its threshold are those that
    /// it will begin with.
    pub fn lesson(&self, connection: ConnectionId) -> Lesson {
        let advice = self.inherited.advice.as_deref().filter(|_| !self.may_take_advice());
        Lesson {
            connection,
            window: advice.and_then(|advice| advice.window).unwrap_or(self.window.segments),
            initial_window: self.window.initial,
            slow_start_threshold: advice
                .and_then(|advice| advice.slow_start_threshold)
                .or_else(|| self.slow_start_threshold()),
            smoothed_rtt: self.rtt.smoothed(),
            rtt_variation: self.rtt.deviation(self.config.rtt_rule),
            least_rtt: self.rtt.minimum(),
            retransmissions: self.recovery.retransmissions,
            is_backed_off: self.backoff.doublings > 0,
            is_open: self.recovery.state == RecoveryState::Open,
            reordering: self.recovery.threshold,
            usual_reordering: self.config.duplicate_threshold,
            segment_bytes: self.negotiated.segment_bytes,
            is_resuming: self.inherited.resume.as_deref().is_some_and(Resume::is_unvalidated),
        }
    }

    /// Whether the connection is open and may send more: what it finds out is worth a sample.
    pub fn may_still_learn(&self) -> bool {
        matches!(self.state, State::Established | State::CloseWait)
    }

    /// The phase of a careful resumption, while there is one.
    pub fn resumption_phase(&self) -> Option<super::ResumptionPhase> {
        self.inherited.resume.as_deref().map(Resume::phase)
    }

    /// The peer's SYN has come: whoever remembers something of it may say so.
    pub(crate) fn tell_of_peer(&mut self) {
        if self.config.growth.shares {
            self.events.push_back(Event::PeerAsks);
        }
    }

    /// The application has closed the connection.
    pub(crate) fn tell_of_close(&mut self) {
        if self.config.growth.shares {
            self.events.push_back(Event::Closing);
        }
    }

    /// All that was sent is acknowledged, FIN included.
    pub(crate) fn tell_of_end(&mut self) {
        if self.config.growth.shares {
            self.events.push_back(Event::AllAcknowledged);
        }
    }
}

#[cfg(test)]
mod tests;
