//! Policy of a window cache, its reports and advice, and the bounded list of peers.
//!
//! The oldest entries of the list are found without a scan.

use fairwind_units::{Instant, Ratio, Span};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::net::IpAddr;

/// Identifier of a connection on its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u64);

/// The end that opens a connection.
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
    /// The end that opens it.
    pub opener: Opener,
}

/// Kind of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportKind {
    /// In between.
    Sampled,
    /// The application has closed it.
    Closed,
    /// All that it sent is acknowledged.
    Ended,
}

/// One entry of the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheEntry {
    /// The peer's address.
    pub peer: IpAddr,
    /// The window in segments.
    pub window: u32,
    /// Age of the entry.
    pub age: Span,
}

/// A new window for an open connection, because another one to the same peer has joined it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// The connection.
    pub connection: ConnectionId,
    /// Segments.
    pub window: u32,
    /// Slow-start threshold in segments, where any of the connections has one.
    pub slow_start_threshold: Option<u32>,
}

/// A policy of a window cache.
pub(super) trait Policy: Debug + Send {
    /// Advice for a new connection, or the reason for none.
    ///
    /// # Errors
    /// No cached data fits the connection, which is no failure.
    fn advise(&mut self, opening: &Opening) -> Result<Advice, CacheMiss>;

    /// Learns from the report of a connection.
    fn learn(&mut self, now: Instant, peer: IpAddr, report: &WindowReport, moment: ReportKind);

    /// Ends the use of advice by a connection; `failed` if the advice was wrong.
    fn release(&mut self, _peer: IpAddr, _connection: ConnectionId, _failed: bool) {}

    fn leave(&mut self, _peer: IpAddr, _connection: ConnectionId) {}

    /// Connections to `peer` that share their windows while open: the policy needs their samples before
    /// it gives advice.
    fn companions(&self, _peer: IpAddr) -> Vec<ConnectionId> {
        Vec::new()
    }

    /// The next new window of an open connection, after advice.
    fn poll_share(&mut self) -> Option<Share> {
        None
    }

    fn entries(&self) -> &dyn CachedWindows;

    fn clear(&mut self);
}

/// Cached peers with their windows, outdated ones included.
pub(super) trait CachedWindows {
    /// All of them, by address.
    fn list(&self, now: Instant) -> Vec<CacheEntry>;

    fn known(&self, peer: IpAddr, now: Instant) -> Option<CacheEntry>;

    fn len(&self) -> usize;
}

/// Report of a connection; windows are in segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowReport {
    /// The connection.
    pub connection: ConnectionId,
    /// Congestion window (cwnd).
    pub window: u32,
    /// Window that it would have begun with by itself.
    pub initial_window: u32,
    /// Slow-start threshold (ssthresh); `None` where none was ever set.
    pub slow_start_threshold: Option<u32>,
    /// Smoothed round-trip time, after the first sample.
    pub smoothed_rtt: Option<Span>,
    /// Variation of the round-trip time (RTTVAR).
    pub rtt_variation: Span,
    /// Minimum round-trip time, after the first sample.
    pub min_rtt: Option<Span>,
    /// Retransmitted segments since the beginning.
    pub retransmissions: u32,
    /// The time-out is doubled at present.
    pub is_backed_off: bool,
    /// The recovery state is Open.
    pub is_open: bool,
    /// Segments that may overtake one before it counts as lost.
    pub reordering: u32,
    /// The initial value of `reordering`.
    pub usual_reordering: u32,
    /// Payload of a full segment in bytes.
    pub segment_bytes: u32,
    /// The window is not validated yet (RFC 9959).
    pub is_resuming: bool,
}

impl WindowReport {
    /// Whether a segment was retransmitted.
    pub fn has_lost(&self) -> bool {
        self.retransmissions > 0
    }
}

/// Use of a cached round trip.
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

/// A saved window to be resumed with care (RFC 9959).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resumption {
    /// Window to jump to, in segments (`jump_cwnd`): at most half of the saved one.
    pub jump: u32,
    /// Minimum round-trip time of the connection that saved it (`saved_rtt`).
    pub saved_rtt: Span,
    /// Threshold after a retreat as a share of the pipe size (Beta).
    pub retreat: Ratio,
}

/// Advice for a new connection; `None` leaves a value unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Advice {
    /// Segments in the place of the initial window.
    pub window: Option<u32>,
    /// Minimum initial window in segments, if the handshake lost nothing and the path is the same; the flight
    /// is paced then.
    pub min_window: Option<u32>,
    /// Minimum round-trip time of the path of `min_window`; `None` if unknown.
    pub path_rtt: Option<Span>,
    /// Slow-start threshold in segments.
    pub slow_start_threshold: Option<u32>,
    /// Cached round trip.
    pub timeout: Option<TimeoutSeed>,
    /// Segments that may overtake one before it counts as lost.
    pub reordering: Option<u32>,
    /// A saved window to be resumed with care (RFC 9959).
    pub resumption: Option<Resumption>,
}

/// Reason for no use of the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CacheMiss {
    /// There was no look-up: capturing is off, or connections that this end opens are not served.
    NotServed,
    /// The peer is not in the cache.
    Unknown,
    /// It is older than its lifetime.
    Outdated,
    /// Another connection resumes it (RFC 9959 §3.2).
    InUse,
    /// It is not more than the normal initial window.
    TooSmall,
    /// The handshake lost a segment, or had another path.
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

/// Treatment of a new peer when the list is full and no entry is outdated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WhenFull {
    /// It is not cached: the report only removes outdated entries.
    Refuse,
    /// It takes the place of the oldest entry.
    Replace,
}

#[derive(Debug)]
struct Stamped<T> {
    value: T,
    stamp: Instant,
    peer: IpAddr,
}

/// An address as a number, the same for an IPv4 address and its IPv4-mapped IPv6 address.
fn key(peer: IpAddr) -> u128 {
    match peer {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// Peers with data that expires.
#[derive(Debug)]
pub(super) struct Entries<T> {
    by_peer: BTreeMap<u128, Stamped<T>>,
    by_age: BTreeSet<(Instant, u128)>,
    lifetime: Span,
    max: usize,
    when_full: WhenFull,
    window_of: fn(&T) -> u32,
}

impl<T> Entries<T> {
    /// No peers; `window_of` gives the window in a peer's data, in segments.
    pub(super) fn new(
        lifetime: Span,
        max: usize,
        when_full: WhenFull,
        window_of: fn(&T) -> u32,
    ) -> Self {
        Self {
            by_peer: BTreeMap::new(),
            by_age: BTreeSet::new(),
            lifetime,
            max: max.max(1),
            when_full,
            window_of,
        }
    }

    /// Cached data of a peer, or the reason for none; an outdated entry is deleted.
    pub(super) fn look_up(&mut self, peer: IpAddr, now: Instant) -> Result<&mut T, CacheMiss> {
        let stamp = self.by_peer.get(&key(peer)).ok_or(CacheMiss::Unknown)?.stamp;
        if self.is_outdated(stamp, now) {
            self.remove(peer);
            return Err(CacheMiss::Outdated);
        }
        self.by_peer.get_mut(&key(peer)).map(|entry| &mut entry.value).ok_or(CacheMiss::Unknown)
    }

    /// Stores `value` with the time `now`, replacing that of the peer. Returns whether there was room.
    pub(super) fn put(&mut self, peer: IpAddr, value: T, now: Instant) -> bool {
        if let Some(entry) = self.by_peer.get_mut(&key(peer)) {
            self.by_age.remove(&(entry.stamp, key(peer)));
            *entry = Stamped { value, stamp: now, peer };
            self.by_age.insert((now, key(peer)));
            return true;
        }
        if self.by_peer.len() >= self.max {
            self.collect_outdated(now);
        }
        if self.by_peer.len() >= self.max {
            match (self.when_full, self.by_age.first().copied()) {
                (WhenFull::Replace, Some((_, oldest))) => drop(self.remove_key(oldest)),
                _ => return false,
            }
        }
        self.by_peer.insert(key(peer), Stamped { value, stamp: now, peer });
        self.by_age.insert((now, key(peer)));
        true
    }

    pub(super) fn remove(&mut self, peer: IpAddr) -> Option<T> {
        self.remove_key(key(peer))
    }

    fn remove_key(&mut self, key: u128) -> Option<T> {
        let entry = self.by_peer.remove(&key)?;
        self.by_age.remove(&(entry.stamp, key));
        Some(entry.value)
    }

    fn entry(&self, of: &Stamped<T>, now: Instant) -> CacheEntry {
        let (peer, age) = (of.peer, now.saturating_since(of.stamp));
        CacheEntry { peer, window: (self.window_of)(&of.value), age }
    }

    pub(super) fn clear(&mut self) {
        self.by_peer.clear();
        self.by_age.clear();
    }

    fn is_outdated(&self, stamp: Instant, now: Instant) -> bool {
        now.saturating_since(stamp) > self.lifetime
    }

    fn collect_outdated(&mut self, now: Instant) {
        while let Some(&(stamp, key)) = self.by_age.first()
            && self.is_outdated(stamp, now)
        {
            self.remove_key(key);
        }
    }
}

impl<T> CachedWindows for Entries<T> {
    fn list(&self, now: Instant) -> Vec<CacheEntry> {
        self.by_peer.values().map(|of| self.entry(of, now)).collect()
    }

    fn known(&self, peer: IpAddr, now: Instant) -> Option<CacheEntry> {
        self.by_peer.get(&key(peer)).map(|of| self.entry(of, now))
    }

    fn len(&self) -> usize {
        self.by_peer.len()
    }
}
