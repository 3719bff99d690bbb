//! Counts and reports of one link, made in one place so that they cannot differ.

use crate::{Backlog, DropReason, LinkId, Observer, Packet};
use fairwind_units::{Instant, Span};
use std::ops::Sub;

/// A number of packets with their IP bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Volume {
    /// Packets.
    pub packets: u64,
    /// Their IP lengths together, in bytes.
    pub bytes: u64,
}

impl Volume {
    #[inline]
    pub(crate) fn add<P: Packet>(&mut self, packet: &P) {
        self.packets += 1;
        self.bytes += u64::from(packet.wire_bytes());
    }

    pub(crate) fn add_volume(&mut self, other: Self) {
        self.packets += other.packets;
        self.bytes += other.bytes;
    }
}

impl Sub for Volume {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self { packets: self.packets - other.packets, bytes: self.bytes - other.bytes }
    }
}

/// What happened on a link so far. `offered` = `delivered` + `dropped_by_queue` + `lost_by_link` +
/// what is [inside](LinkCounters::inside).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkCounters {
    /// Arrived at the link, whatever became of it.
    pub offered: Volume,
    /// Handed to the node at the other end.
    pub delivered: Volume,
    /// Dropped by the queue.
    pub dropped_by_queue: Volume,
    /// Lost after serialisation ([`DropReason::LinkLoss`]).
    pub lost_by_link: Volume,
}

impl LinkCounters {
    /// What waits, is being serialised or is on its way.
    pub fn inside(&self) -> Volume {
        self.offered - self.delivered - self.dropped_by_queue - self.lost_by_link
    }
}

/// The counters of one link together with its name towards the observer.
pub(crate) struct Ledger {
    pub(crate) link: LinkId,
    pub(crate) counters: LinkCounters,
}

impl Ledger {
    pub(crate) fn new(link: LinkId) -> Self {
        Self { link, counters: LinkCounters::default() }
    }

    #[inline]
    pub(crate) fn enqueued<P: Packet, O: Observer<P>>(
        &mut self,
        at: Instant,
        packet: &P,
        backlog: Backlog,
        observer: &mut O,
    ) {
        self.counters.offered.add(packet);
        observer.on_enqueue(at, self.link, packet, backlog);
    }

    #[inline]
    pub(crate) fn dequeued<P, O: Observer<P>>(
        &self,
        at: Instant,
        packet: &P,
        sojourn: Span,
        observer: &mut O,
    ) {
        observer.on_dequeue(at, self.link, packet, sojourn);
    }

    #[inline]
    pub(crate) fn delivered<P: Packet>(&mut self, packet: &P) {
        self.counters.delivered.add(packet);
    }

    /// An arrival that the queue did not take.
    pub(crate) fn refused<P: Packet, O: Observer<P>>(
        &mut self,
        at: Instant,
        packet: &P,
        backlog: Backlog,
        reason: DropReason,
        observer: &mut O,
    ) {
        self.counters.offered.add(packet);
        self.dropped(at, packet, backlog, reason, observer);
    }

    /// A packet that had been accepted before.
    pub(crate) fn dropped<P: Packet, O: Observer<P>>(
        &mut self,
        at: Instant,
        packet: &P,
        backlog: Backlog,
        reason: DropReason,
        observer: &mut O,
    ) {
        match reason {
            DropReason::QueueFull => self.counters.dropped_by_queue.add(packet),
            DropReason::LinkLoss => self.counters.lost_by_link.add(packet),
        }
        observer.on_drop(at, self.link, packet, backlog, reason);
    }

    /// A packet that neither waits nor takes time here.
    #[inline]
    pub(crate) fn passed<P: Packet, O: Observer<P>>(
        &mut self,
        at: Instant,
        packet: &P,
        observer: &mut O,
    ) {
        self.enqueued(at, packet, Backlog::default(), observer);
        self.dequeued(at, packet, Span::ZERO, observer);
        self.delivered(packet);
    }
}
