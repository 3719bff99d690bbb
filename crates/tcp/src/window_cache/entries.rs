//! A bounded list of peers, the oldest of which are found without looking at the others.

use super::cache::CacheMiss;
use fairwind_units::{Instant, Span};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

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
