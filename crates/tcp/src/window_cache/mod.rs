//! Window caches: congestion state of earlier connections for new ones to the same peer.
//!
//! A [`WindowCache`] belongs to a host. Its driver reports connections that open, close and end, and passes
//! its advice to them; connections do not know it. A `Policy` decides:
//!
//! | module | policy | source |
//! |---|---|---|
//! | `classic` | a list of peers with their largest windows | Hartmann and Bestavros, BU technical report 1998-001 |
//! | `tcb_sharing` | round trip, threshold and window, temporal and ensemble sharing | RFC 9040 |
//! | `tcp_metrics` | first time-out, reordering, optionally the threshold | Linux `tcp_metrics.c` |
//! | `careful_resume` | half of a saved window, with pacing and safe retreat | RFC 9959 |
//!
//! `policy` has reports, advice, and the bounded list of peers.
//!
//! **The driver's part.** With [`Growth::shares`](crate::Growth::shares) a connection has four more events: the
//! peer's SYN ([`Event::PeerAsks`](crate::Event::PeerAsks)), the close
//! ([`Event::Closing`](crate::Event::Closing)), the acknowledgment of all data
//! ([`Event::AllAcknowledged`](crate::Event::AllAcknowledged)), and a new phase
//! ([`Event::Resumption`](crate::Event::Resumption)). At the first, or before its own SYN, the driver calls
//! [`WindowCache::on_opening`] and passes the advice, if any, to
//! [`Connection::advise`](crate::Connection::advise). [`Connection::cache_miss`](crate::Connection::cache_miss)
//! gives the reason why an open connection did not follow it. At the second and third it passes
//! [`Connection::window_report`](crate::Connection::window_report) to [`WindowCache::on_report`].
//!
//! Cost: a look-up and an update are logarithmic in the number of peers; memory is bounded by
//! [`Sharing::entries`].

mod careful_resume;
mod classic;
mod policy;
mod tcb_sharing;
mod tcp_metrics;
#[cfg(test)]
mod tests;

pub use crate::state::{ResumptionEnd, ResumptionPhase};
pub use careful_resume::CarefulResumeConfig;
pub use classic::{ClassicConfig, Trust};
pub use policy::{
    Advice, CacheEntry, CacheMiss, ConnectionId, Opener, Opening, ReportKind, Resumption, Share,
    TimeoutSeed, WindowReport,
};
pub use tcb_sharing::TcbSharingConfig;
pub use tcp_metrics::MetricsConfig;

use careful_resume::CarefulResume;
use classic::Classic;
use fairwind_units::{Instant, Span};
use policy::Policy;
use std::net::IpAddr;
use tcb_sharing::TcbCache;
use tcp_metrics::Metrics;

/// Connections that use the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Openings {
    /// Those opened by the peer.
    Incoming,
    /// All.
    All,
}

/// When a connection reports, besides samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collection {
    /// When the application closes it (`tcp_close` and `tcp_shutdown` of the report's kernel), even if much is still to be sent.
    Close,
    /// When all that it sent is acknowledged (Linux `tcp_update_metrics`).
    End,
}

/// A host's memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sharing {
    /// Lifetime of an entry (`LIFETIME_WIND` of the report, which gives no value).
    pub lifetime: Span,
    /// Maximum number of peers (`MAX_WINDLIST` of the report, which gives no value).
    pub entries: usize,
    /// Connections that use the cache.
    pub openings: Openings,
    /// When connections report.
    pub collection: Collection,
    /// Cached data, and its use.
    pub policy: PolicyConfig,
}

/// A policy with its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PolicyConfig {
    /// A list of peers with their largest windows.
    Classic(ClassicConfig),
    /// RFC 9040.
    TcbSharing(TcbSharingConfig),
    /// Linux `tcp_metrics`.
    Metrics(MetricsConfig),
    /// RFC 9959.
    CarefulResume(CarefulResumeConfig),
}

impl Sharing {
    /// Default lifetime: minutes, as RFC 9959 §4.3.1 recommends for paths that may change. The report gives no
    /// value.
    pub const USUAL_LIFETIME: Span = Span::from_secs(600);

    /// Lifetime of metrics in Linux (`TCP_METRICS_TIMEOUT`).
    pub const METRICS_LIFETIME: Span = Span::from_secs(3600);

    /// Default number of peers. The report gives no value.
    pub const USUAL_ENTRIES: usize = 1000;

    /// A policy with its default settings: the report collects at close and serves incoming connections.
    pub fn usual(policy: PolicyConfig) -> Self {
        let is_classic = matches!(policy, PolicyConfig::Classic(_));
        let is_metrics = matches!(policy, PolicyConfig::Metrics(_));
        Self {
            lifetime: if is_metrics { Self::METRICS_LIFETIME } else { Self::USUAL_LIFETIME },
            entries: Self::USUAL_ENTRIES,
            openings: if is_classic { Openings::Incoming } else { Openings::All },
            collection: if is_classic { Collection::Close } else { Collection::End },
            policy,
        }
    }
}

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
        let Sharing { lifetime, entries, openings, collection, .. } = *settings;
        let policy: Box<dyn Policy> = match &settings.policy {
            PolicyConfig::Classic(classic) => {
                Box::new(Classic::new(lifetime, entries, classic.clone()))
            }
            PolicyConfig::TcbSharing(shared) => {
                Box::new(TcbCache::new(lifetime, entries, shared.clone()))
            }
            PolicyConfig::Metrics(metrics) => Box::new(Metrics::new(lifetime, entries, *metrics)),
            PolicyConfig::CarefulResume(careful) => {
                Box::new(CarefulResume::new(lifetime, entries, careful.clone()))
            }
        };
        Self { policy, openings, collection, is_capturing: true }
    }

    /// Starts capturing and using windows (the report's magic address `cs1`).
    pub fn start(&mut self) {
        self.is_capturing = true;
    }

    /// Stops capturing, and clears the cache (the report's `cs2`, which frees the list).
    pub fn stop(&mut self) {
        self.is_capturing = false;
        self.policy.clear();
    }

    /// Whether windows are captured and used.
    pub fn is_capturing(&self) -> bool {
        self.is_capturing
    }

    /// Open connections to `peer` that should report samples before
    /// [`on_opening`](Self::on_opening).
    pub fn companions(&self, peer: IpAddr) -> Vec<ConnectionId> {
        self.policy.companions(peer)
    }

    /// Advice for a new connection, or the reason for none. Afterwards, drain
    /// [`poll_share`](Self::poll_share).
    ///
    /// # Errors
    /// No cached data fits the connection, which is no failure.
    pub fn on_opening(&mut self, opening: &Opening) -> Result<Advice, CacheMiss> {
        if self.serves(opening.opener) {
            self.policy.advise(opening)
        } else {
            Err(CacheMiss::NotServed)
        }
    }

    /// Whether connections that `opener` opens use the cache.
    fn serves(&self, opener: Opener) -> bool {
        self.is_capturing && (self.openings == Openings::All || opener == Opener::Peer)
    }

    /// The next new window of another open connection.
    pub fn poll_share(&mut self) -> Option<Share> {
        self.policy.poll_share()
    }

    /// Takes the report of a connection.
    pub fn on_report(
        &mut self,
        now: Instant,
        peer: IpAddr,
        report: &WindowReport,
        moment: ReportKind,
    ) {
        let is_wanted = match moment {
            ReportKind::Sampled => true,
            ReportKind::Closed => self.collection == Collection::Close,
            ReportKind::Ended => self.collection == Collection::End,
        };
        if self.is_capturing && is_wanted {
            self.policy.learn(now, peer, report, moment);
        }
    }

    /// Ends the use of advice by a connection; `failed` if the advice was wrong.
    pub fn on_release(&mut self, peer: IpAddr, connection: ConnectionId, failed: bool) {
        self.policy.release(peer, connection, failed);
    }

    /// A connection is over, whatever the reason.
    pub fn on_over(&mut self, peer: IpAddr, connection: ConnectionId) {
        self.policy.release(peer, connection, false);
        self.policy.leave(peer, connection);
    }

    /// Cached data of one peer, even if outdated; does not delete it.
    pub fn known(&self, peer: IpAddr, now: Instant) -> Option<CacheEntry> {
        self.policy.entries().known(peer, now)
    }

    /// All entries, by address (the report's `/proc/project`).
    pub fn list(&self, now: Instant) -> Vec<CacheEntry> {
        self.policy.entries().list(now)
    }

    /// Number of cached peers, outdated ones included.
    pub fn len(&self) -> usize {
        self.policy.entries().len()
    }

    /// Whether the cache is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
