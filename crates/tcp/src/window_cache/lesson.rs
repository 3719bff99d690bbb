//! What connections report to a window cache, and its advice.

use super::ConnectionId;
use crate::sender::congestion::resumption::Resumption;
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
