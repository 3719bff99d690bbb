//! A bounded list of peers, the oldest of which are found without looking at the others.

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
}

/// Peers with something that is believed for a time.
#[derive(Debug)]
pub(super) struct Entries<T> {
    by_peer: BTreeMap<IpAddr, Stamped<T>>,
    by_age: BTreeSet<(Instant, IpAddr)>,
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

    /// What is remembered of a peer; an outdated entry is deleted.
    pub(super) fn look_up(&mut self, peer: IpAddr, now: Instant) -> Option<&mut T> {
        let stamp = self.by_peer.get(&peer)?.stamp;
        if self.is_outdated(stamp, now) {
            self.remove(peer);
            return None;
        }
        self.by_peer.get_mut(&peer).map(|entry| &mut entry.value)
    }

    /// Remembers `value` as of `now`, in the place of what was remembered of the peer. Returns whether there
    /// was room.
    pub(super) fn put(&mut self, peer: IpAddr, value: T, now: Instant) -> bool {
        self.remove(peer);
        if self.by_peer.len() >= self.most {
            self.collect_outdated(now);
        }
        if self.by_peer.len() >= self.most {
            match (self.when_full, self.by_age.first().copied()) {
                (WhenFull::Replace, Some((_, oldest))) => drop(self.remove(oldest)),
                _ => return false,
            }
        }
        self.by_peer.insert(peer, Stamped { value, stamp: now });
        self.by_age.insert((now, peer));
        true
    }

    pub(super) fn remove(&mut self, peer: IpAddr) -> Option<T> {
        let entry = self.by_peer.remove(&peer)?;
        self.by_age.remove(&(entry.stamp, peer));
        Some(entry.value)
    }

    /// All peers with their ages, by address.
    pub(super) fn iter(&self, now: Instant) -> impl Iterator<Item = (IpAddr, Span, &T)> {
        let age = move |entry: &Stamped<T>| now.saturating_since(entry.stamp);
        self.by_peer.iter().map(move |(peer, entry)| (*peer, age(entry), &entry.value))
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
        while let Some(&(stamp, peer)) = self.by_age.first()
            && self.is_outdated(stamp, now)
        {
            self.remove(peer);
        }
    }
}
