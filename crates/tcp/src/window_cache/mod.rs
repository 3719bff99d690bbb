//! What a host remembers of its connections, for the next ones to the same peer.
//!
//! A [`WindowCache`] belongs to a host. Its driver tells it of connections that open, close and end, and
//! hands on what it advises to them; connections do not know it. How that is decided is a [`Policy`]:
//!
//! | module | policy | source |
//! |---|---|---|
//! | `classic` | a list of peers with their largest windows | Hartmann and Bestavros, BU technical report 1998-001 |
//! | `interdependence` | round trip, threshold and window, over time and among open connections | RFC 9040 |
//! | `metrics` | first time-out, reordering, and where asked for the threshold | Linux `tcp_metrics.c` |
//! | `careful` | half of a saved window, paced and with a way back | RFC 9959 |
//!
//! Further modules: `settings` (what is configured), `entries` (a bounded list of peers), `cache` (the host's
//! end), `report` (what connections report, and the advice).
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
//!
//! What a host's memory is told.

mod cache;
mod careful;
mod classic;
mod entries;
mod interdependence;
mod metrics;
#[cfg(test)]
mod testing;

pub use crate::sender::congestion::resumption::{Resumption, ResumptionEnd, ResumptionPhase};
pub use cache::{Advice, CacheMiss, TimeoutSeed, WindowCache, WindowReport};

use fairwind_units::{Instant, Ratio, Span};
use std::fmt::Debug;
use std::net::IpAddr;

/// A connection as its host tells it from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u64);

/// Who opens a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opener {
    /// The peer: the connection is incoming.
    Peer,
    /// This host.
    Host,
}

/// A connection that is about to be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opening {
    /// When.
    pub now: Instant,
    /// With whom.
    pub peer: IpAddr,
    /// Which one it is.
    pub connection: ConnectionId,
    /// Who opens it.
    pub opener: Opener,
}

/// When a connection tells what it has found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// In between.
    Sampled,
    /// The application has closed it.
    Closed,
    /// All that it sent is acknowledged.
    Ended,
}

/// One line of the list of what is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheEntry {
    /// The peer's address.
    pub peer: IpAddr,
    /// The window in segments.
    pub window: u32,
    /// How old the entry is.
    pub age: Span,
}

/// A new window for a connection that is open already, because another one to the same peer has joined it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Whose window it is.
    pub connection: ConnectionId,
    /// Segments.
    pub window: u32,
    /// Slow-start threshold in segments, where any of the connections has one.
    pub slow_start_threshold: Option<u32>,
}

/// How what connections find out is remembered and used.
pub trait Policy: Debug + Send {
    /// What a connection that opens now begins with, or why not with what is remembered.
    ///
    /// # Errors
    /// Nothing that is remembered fits the connection, which is no failure.
    fn advise(&mut self, opening: &Opening) -> Result<Advice, CacheMiss>;

    /// A connection tells what it has found out.
    fn learn(&mut self, now: Instant, peer: IpAddr, report: &WindowReport, moment: Moment);

    /// The connection does not use what it was advised any longer; where `failed`, that was wrong.
    fn release(&mut self, _peer: IpAddr, _connection: ConnectionId, _failed: bool) {}

    /// The connection is over.
    fn leave(&mut self, _peer: IpAddr, _connection: ConnectionId) {}

    /// Connections to `peer` that share their windows while they are open: the policy wants to learn from
    /// them before it gives advice.
    fn companions(&self, _peer: IpAddr) -> Vec<ConnectionId> {
        Vec::new()
    }

    /// The next window that an open connection is to have, after advice was given.
    fn poll_share(&mut self) -> Option<Share> {
        None
    }

    /// All that is remembered, by address.
    fn list(&self, now: Instant) -> Vec<CacheEntry>;

    /// What is remembered of one peer, even if it is outdated; nothing is deleted.
    fn known(&self, peer: IpAddr, now: Instant) -> Option<CacheEntry> {
        self.list(now).into_iter().find(|remembered| remembered.peer == peer)
    }

    /// How many peers are remembered, outdated ones included.
    fn len(&self) -> usize;

    /// Whether no peer is remembered.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets all.
    fn clear(&mut self);
}

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
    Interdependence(Interdependence),
    /// Linux `tcp_metrics`.
    Metrics(MetricsConfig),
    /// RFC 9959.
    CarefulResume(CarefulResumeConfig),
}

/// How far a remembered window is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// Connections begin with it.
    Exact,
    /// Connections begin with half of it, paced, and one that lost packets halves what is remembered.
    Safe,
}

/// Parameters of the report's list, and of what its authors thought of for later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassicConfig {
    /// How far a remembered window is trusted.
    pub trust: Trust,
    /// How far a smaller window pulls the remembered one down: nothing is the report's rule.
    pub forgetfulness: Ratio,
    /// Segments that a connection begins with at most; `None` for as many as are remembered.
    pub largest_window: Option<u32>,
}

/// Parameters of the sharing of RFC 9040.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interdependence {
    /// Connections that are open at the same time share their windows (RFC 9040 §7).
    pub ensemble: bool,
    /// Segments that a connection begins with at most; `None` for as many as are remembered.
    pub largest_window: Option<u32>,
}

/// Parameters of Linux' metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetricsConfig {
    /// The threshold is used (`tcp_no_ssthresh_metrics_save` = 0, as it was before Linux 5.6).
    pub threshold: bool,
}

/// Parameters of RFC 9959.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CarefulResumeConfig {
    /// Segments that a connection jumps to at most (`max_jump`); `None` for half of what is saved.
    pub largest_jump: Option<u32>,
    /// Share of what the path was seen to carry that is the threshold after a retreat (Beta).
    pub retreat: Ratio,
}

impl ClassicConfig {
    /// The report's mechanism.
    pub const REPORT: Self =
        Self { trust: Trust::Exact, forgetfulness: Ratio::ZERO, largest_window: None };

    /// The same with a bound on trust.
    pub const SAFE: Self = Self { trust: Trust::Safe, ..Self::REPORT };
}

impl CarefulResumeConfig {
    /// The values of RFC 9959 §2.4: Beta is one half; jumps have no limit of their own.
    pub const USUAL: Self =
        Self { largest_jump: None, retreat: Ratio::from_parts_per_billion(500_000_000) };
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
