//! The host's end: what opens, tells and ends goes through here to the policy.
//!
//! What connections report to a window cache, and its advice.

use crate::sender::congestion::resumption::Resumption;
use crate::window_cache::careful::CarefulResume;
use crate::window_cache::classic::Classic;
use crate::window_cache::interdependence::ControlBlocks;
use crate::window_cache::metrics::Metrics;
use crate::window_cache::{
    CacheEntry, Collection, ConnectionId, Moment, Opener, Opening, Openings, Policy, PolicyConfig,
    Share, Sharing,
};
use fairwind_units::{Instant, Span};
use std::net::IpAddr;

/// A host's memory of its connections.
#[derive(Debug)]
pub struct WindowCache {
    policy: Box<dyn Policy>,
    openings: Openings,
    collection: Collection,
    is_capturing: bool,
}

impl WindowCache {
    /// An empty memory that captures.
    pub fn new(settings: &Sharing) -> Self {
        let policy: Box<dyn Policy> = match &settings.policy {
            PolicyConfig::Classic(classic) => Box::new(Classic::new(settings, classic.clone())),
            PolicyConfig::Interdependence(shared) => {
                Box::new(ControlBlocks::new(settings, shared.clone()))
            }
            PolicyConfig::Metrics(metrics) => Box::new(Metrics::new(settings, *metrics)),
            PolicyConfig::CarefulResume(careful) => {
                Box::new(CarefulResume::new(settings, careful.clone()))
            }
        };
        Self::with_policy(settings, policy)
    }

    /// The same with a policy of one's own.
    pub fn with_policy(settings: &Sharing, policy: Box<dyn Policy>) -> Self {
        let Sharing { openings, collection, .. } = *settings;
        Self { policy, openings, collection, is_capturing: true }
    }

    /// Remembers from now on, and uses what is remembered (the report's magic address `cs1`).
    pub fn start(&mut self) {
        self.is_capturing = true;
    }

    /// Remembers nothing any longer, and forgets all (the report's `cs2`, which frees the list).
    pub fn stop(&mut self) {
        self.is_capturing = false;
        self.policy.clear();
    }

    /// Whether windows are remembered and used.
    pub fn is_capturing(&self) -> bool {
        self.is_capturing
    }

    /// Open connections to `peer` whose reports are wanted, as samples, before
    /// [`on_opening`](Self::on_opening).
    pub fn companions(&self, peer: IpAddr) -> Vec<ConnectionId> {
        self.policy.companions(peer)
    }

    /// What a connection is to begin with, or why not with what is remembered. Afterwards, drain
    /// [`poll_share`](Self::poll_share).
    ///
    /// # Errors
    /// Nothing that is remembered fits the connection, which is no failure.
    pub fn on_opening(&mut self, opening: &Opening) -> Result<Advice, CacheMiss> {
        if self.serves(opening.opener) {
            self.policy.advise(opening)
        } else {
            Err(CacheMiss::NotServed)
        }
    }

    /// Whether connections that are opened by `opener` are told what is remembered.
    fn serves(&self, opener: Opener) -> bool {
        self.is_capturing && (self.openings == Openings::All || opener == Opener::Peer)
    }

    /// The next window that another open connection is to have.
    pub fn poll_share(&mut self) -> Option<Share> {
        self.policy.poll_share()
    }

    /// A connection tells what it has found out.
    pub fn on_report(&mut self, now: Instant, peer: IpAddr, report: &WindowReport, moment: Moment) {
        let is_wanted = match moment {
            Moment::Sampled => true,
            Moment::Closed => self.collection == Collection::Close,
            Moment::Ended => self.collection == Collection::End,
        };
        if self.is_capturing && is_wanted {
            self.policy.learn(now, peer, report, moment);
        }
    }

    /// A connection does not use what it was advised any longer, because that was wrong where `failed`.
    pub fn on_release(&mut self, peer: IpAddr, connection: ConnectionId, failed: bool) {
        self.policy.release(peer, connection, failed);
    }

    /// A connection is over, whatever the reason.
    pub fn on_over(&mut self, peer: IpAddr, connection: ConnectionId) {
        self.policy.release(peer, connection, false);
        self.policy.leave(peer, connection);
    }

    /// What is remembered of one peer, even if it is outdated; this is no look-up, and deletes nothing.
    pub fn known(&self, peer: IpAddr, now: Instant) -> Option<CacheEntry> {
        self.policy.known(peer, now)
    }

    /// All that is remembered, by address (the report's `/proc/project`).
    pub fn list(&self, now: Instant) -> Vec<CacheEntry> {
        self.policy.list(now)
    }

    /// How many peers are remembered, outdated ones included.
    pub fn len(&self) -> usize {
        self.policy.len()
    }

    /// Whether nothing is remembered.
    pub fn is_empty(&self) -> bool {
        self.policy.is_empty()
    }
}

/// What a connection has found out; windows are in segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowReport {
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

impl WindowReport {
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
pub enum CacheMiss {
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

impl CacheMiss {
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
