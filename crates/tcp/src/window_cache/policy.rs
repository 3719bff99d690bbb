//! What a cache policy decides, and the bounded list of peers that all policies keep.
//!
//! The oldest entries of the list are found without looking at the others.

use fairwind_units::{Instant, Ratio, Span};
use std::collections::{BTreeMap, BTreeSet};
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
pub enum ReportKind {
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
    fn learn(&mut self, now: Instant, peer: IpAddr, report: &WindowReport, moment: ReportKind);

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
    pub min_rtt: Option<Span>,
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

/// A saved window to be resumed with care (RFC 9959).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resumption {
    /// Window to jump to, in segments (`jump_cwnd`): half of the saved one at most.
    pub jump: u32,
    /// Least round-trip time of the connection that found it (`saved_rtt`).
    pub saved_rtt: Span,
    /// Share of what was carried that is the threshold after a retreat (Beta).
    pub retreat: Ratio,
}

/// What a connection is to begin with; what is `None` stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Advice {
    /// Segments in the place of the initial window.
    pub window: Option<u32>,
    /// Segments of the initial window at least, where the handshake lost nothing and the path is the same; the flight
    /// is then paced.
    pub min_window: Option<u32>,
    /// Least round-trip time of the path that `min_window` is of; `None` where nobody knows.
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

/// What becomes of a new peer when the list is full and nothing in it is outdated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WhenFull {
    /// It is not remembered: the report only collects what is outdated.
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

/// An address as a number, the same for an IPv4 address and for it mapped into IPv6.
fn key(peer: IpAddr) -> u128 {
    match peer {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// Peers with something that is believed for a time.
#[derive(Debug)]
pub(super) struct Entries<T> {
    by_peer: BTreeMap<u128, Stamped<T>>,
    by_age: BTreeSet<(Instant, u128)>,
    lifetime: Span,
    most: usize,
    when_full: WhenFull,
}

impl<T> Entries<T> {
    pub(super) fn new(lifetime: Span, most: usize, when_full: WhenFull) -> Self {
        Self {
            by_peer: BTreeMap::new(),
            by_age: BTreeSet::new(),
            lifetime,
            most: most.max(1),
            when_full,
        }
    }

    /// What is remembered of a peer, or why nothing is; an outdated entry is deleted.
    pub(super) fn look_up(&mut self, peer: IpAddr, now: Instant) -> Result<&mut T, CacheMiss> {
        let stamp = self.by_peer.get(&key(peer)).ok_or(CacheMiss::Unknown)?.stamp;
        if self.is_outdated(stamp, now) {
            self.remove(peer);
            return Err(CacheMiss::Outdated);
        }
        self.by_peer.get_mut(&key(peer)).map(|entry| &mut entry.value).ok_or(CacheMiss::Unknown)
    }

    /// Remembers `value` as of `now`, in the place of what was remembered of the peer. Returns whether there
    /// was room.
    pub(super) fn put(&mut self, peer: IpAddr, value: T, now: Instant) -> bool {
        if let Some(entry) = self.by_peer.get_mut(&key(peer)) {
            self.by_age.remove(&(entry.stamp, key(peer)));
            *entry = Stamped { value, stamp: now, peer };
            self.by_age.insert((now, key(peer)));
            return true;
        }
        if self.by_peer.len() >= self.most {
            self.collect_outdated(now);
        }
        if self.by_peer.len() >= self.most {
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

    /// What is remembered of a peer with its age, even if it is outdated.
    pub(super) fn known(&self, peer: IpAddr, now: Instant) -> Option<(IpAddr, Span, &T)> {
        let entry = self.by_peer.get(&key(peer))?;
        Some((entry.peer, now.saturating_since(entry.stamp), &entry.value))
    }

    /// All peers with their ages, by address.
    pub(super) fn iter(&self, now: Instant) -> impl Iterator<Item = (IpAddr, Span, &T)> {
        let age = move |entry: &Stamped<T>| now.saturating_since(entry.stamp);
        self.by_peer.values().map(move |entry| (entry.peer, age(entry), &entry.value))
    }

    pub(super) fn len(&self) -> usize {
        self.by_peer.len()
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
