//! What a host remembers of its connections, for the next ones to the same peer.
//!
//! A [`WindowCache`] belongs to a host. Its driver tells it of connections that open, close and end, and
//! hands on what it advises to them; connections do not know it. How that is decided is a [`Policy`]:
//!
//! | module | policy | source |
//! |---|---|---|
//! | `classic` | a list of peers with their largest windows | Hartmann and Bestavros, BU technical report 1998-001 |
//! | `tcb_sharing` | round trip, threshold and window, over time and among open connections | RFC 9040 |
//! | `tcp_metrics` | first time-out, reordering, and where asked for the threshold | Linux `tcp_metrics.c` |
//! | `careful_resume` | half of a saved window, paced and with a way back | RFC 9959 |
//!
//! `policy` has what connections report, the advice, and the bounded list of peers.
//!
//! **The driver's part.** A connection whose behaviour says [`Growth::shares`](crate::Growth::shares) tells of
//! the peer's SYN ([`Event::PeerAsks`](crate::Event::PeerAsks)), of being closed
//! ([`Event::Closing`](crate::Event::Closing)), of the end of all that it sent
//! ([`Event::AllAcknowledged`](crate::Event::AllAcknowledged)) and of its phase
//! ([`Event::Resumption`](crate::Event::Resumption)). At the first, or before it sends a SYN of its own, the
//! driver asks [`WindowCache::on_opening`] and hands the advice, if there is any, to
//! [`Connection::advise`](crate::Connection::advise); why a connection that is open did not follow it says
//! [`Connection::cache_miss`](crate::Connection::cache_miss). At the second and third it hands
//! [`Connection::report`](crate::Connection::report) to [`WindowCache::on_report`].
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
    Advice, CacheEntry, CacheMiss, ConnectionId, Opener, Opening, Policy, ReportKind, Resumption,
    Share, TimeoutSeed, WindowReport,
};
pub use tcb_sharing::TcbSharingConfig;
pub use tcp_metrics::MetricsConfig;

use careful_resume::CarefulResume;
use classic::Classic;
use fairwind_units::{Instant, Span};
use std::net::IpAddr;
use tcb_sharing::TcbCache;
use tcp_metrics::Metrics;

/// Which connections take up what is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Openings {
    /// Those that the peer opens.
    Incoming,
    /// All.
    All,
}

/// When a connection tells what it has found out, beside samples.
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
    /// How long something is believed (`LIFETIME_WIND` of the report, which does not say how long).
    pub lifetime: Span,
    /// How many peers are remembered (`MAX_WINDLIST` of the report, which does not say how many).
    pub entries: usize,
    /// Which connections take up what is remembered.
    pub openings: Openings,
    /// When connections tell.
    pub collection: Collection,
    /// What is remembered, and what becomes of it.
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
    /// How long something is believed where nothing else is said: minutes, as RFC 9959 §4.3.1 asks for on paths
    /// that may change. The report does not give its own.
    pub const USUAL_LIFETIME: Span = Span::from_secs(600);

    /// How long Linux believes metrics (`TCP_METRICS_TIMEOUT`).
    pub const LIFETIME_OF_METRICS: Span = Span::from_secs(3600);

    /// How many peers are remembered where nothing else is said. The report does not give its own.
    pub const USUAL_ENTRIES: usize = 1000;

    /// A policy with what is usual for it: the report collects at close and serves incoming connections.
    pub fn usual(policy: PolicyConfig) -> Self {
        let is_classic = matches!(policy, PolicyConfig::Classic(_));
        let is_metrics = matches!(policy, PolicyConfig::Metrics(_));
        Self {
            lifetime: if is_metrics { Self::LIFETIME_OF_METRICS } else { Self::USUAL_LIFETIME },
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
        let Sharing { lifetime, entries, .. } = *settings;
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
