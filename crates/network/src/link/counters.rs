//! Counters and reports of a link: here every arrival, drop, mark and delivery is counted; and the state that links share.

use crate::event_queue::EventQueue;
use crate::pool::{PacketEvent, PacketPool, PacketRef};
use crate::{Backlog, DropReason, LinkId, Observer};
use fairwind_units::{Instant, Span};
use std::ops::Sub;

/// A packet that arrives at a link.
pub(crate) struct Arrival {
    pub(crate) at: Instant,
    pub(crate) insertion: u64,
    pub(crate) packet: PacketRef,
}

/// What links work on: packets, events, and the observer.
pub(crate) struct LinkContext<'a, P, O> {
    pub(crate) pool: &'a mut PacketPool<P>,
    pub(crate) events: &'a mut EventQueue,
    pub(crate) observer: &'a mut O,
}

/// A number of packets and their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Volume {
    /// Packets.
    pub packets: u64,
    /// Sum of their IP lengths, in bytes.
    pub bytes: u64,
}

impl Volume {
    /// Adds one packet.
    #[inline]
    pub(crate) fn add_packet(&mut self, wire_bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(wire_bytes);
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

/// Counters of a link: `offered` + `duplicated` = `delivered` + `dropped_by_queue` + `lost_by_link` +
/// [`inside`](LinkCounters::inside).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkCounters {
    /// Arrived at the link.
    pub offered: Volume,
    /// Handed to the node at the other end.
    pub delivered: Volume,
    /// Dropped by the queue, full or early.
    pub dropped_by_queue: Volume,
    /// Marked by the queue.
    pub marked: Volume,
    /// Lost after serialisation ([`DropReason::LinkLoss`]).
    pub lost_by_link: Volume,
    /// Copies made by the link.
    pub duplicated: Volume,
    /// Corrupted by the link; they are delivered like others.
    pub corrupted: Volume,
    /// Delivered before packets sent earlier.
    pub reordered: Volume,
}

impl LinkCounters {
    /// Packets that wait, are being serialised or are in flight.
    pub fn inside(&self) -> Volume {
        let mut all = self.offered;
        all.add_volume(self.duplicated);
        all - self.delivered - self.dropped_by_queue - self.lost_by_link
    }
}

/// Counts and reports the events of one link, so that both agree. Transparent links have none; routing counts their
/// packets.
pub(crate) struct LinkReporter {
    pub(crate) link: LinkId,
    pub(crate) counters: LinkCounters,
}

impl LinkReporter {
    pub(crate) fn new(link: LinkId) -> Self {
        Self { link, counters: LinkCounters::default() }
    }

    #[inline]
    pub(crate) fn enqueued<P, O: Observer<P>>(
        &mut self,
        arrival: &PacketEvent<'_, P>,
        backlog: Backlog,
        observer: &mut O,
    ) {
        self.counters.offered.add_packet(arrival.bytes);
        if let Some(packet) = arrival.packet {
            observer.on_enqueue(arrival.at, self.link, packet, backlog);
        }
    }

    /// A packet that bypasses the idle queue.
    #[inline]
    pub(crate) fn through<P, O: Observer<P>>(
        &mut self,
        arrival: &PacketEvent<'_, P>,
        observer: &mut O,
    ) {
        self.counters.offered.add_packet(arrival.bytes);
        if let Some(packet) = arrival.packet {
            observer.on_bypass(arrival.at, self.link, packet);
        }
    }

    #[inline]
    pub(crate) fn dequeued<P, O: Observer<P>>(
        &self,
        departure: &PacketEvent<'_, P>,
        sojourn: Span,
        observer: &mut O,
    ) {
        if let Some(packet) = departure.packet {
            observer.on_dequeue(departure.at, self.link, packet, sojourn);
        }
    }

    #[inline]
    pub(crate) fn delivered(&mut self, wire_bytes: u32) {
        self.counters.delivered.add_packet(wire_bytes);
    }

    /// An arrival that the queue refused.
    pub(crate) fn refused<P, O: Observer<P>>(
        &mut self,
        arrival: &PacketEvent<'_, P>,
        backlog: Backlog,
        reason: DropReason,
        observer: &mut O,
    ) {
        self.counters.offered.add_packet(arrival.bytes);
        self.dropped(arrival, backlog, reason, None, observer);
    }

    /// A drop; `waited` is `None` if the packet was not in the queue.
    pub(crate) fn dropped<P, O: Observer<P>>(
        &mut self,
        victim: &PacketEvent<'_, P>,
        backlog: Backlog,
        reason: DropReason,
        waited: Option<Span>,
        observer: &mut O,
    ) {
        match reason {
            DropReason::QueueFull | DropReason::Early => {
                self.counters.dropped_by_queue.add_packet(victim.bytes);
            }
            DropReason::LinkLoss => self.counters.lost_by_link.add_packet(victim.bytes),
        }
        if let Some(packet) = victim.packet {
            observer.on_drop(victim.at, self.link, packet, backlog, reason, waited);
        }
    }

    /// A copy made by the link.
    pub(crate) fn duplicated<P, O: Observer<P>>(
        &mut self,
        copy: &PacketEvent<'_, P>,
        observer: &mut O,
    ) {
        self.counters.duplicated.add_packet(copy.bytes);
        if let Some(packet) = copy.packet {
            observer.on_duplicate(copy.at, self.link, packet);
        }
    }

    /// A corrupted packet.
    pub(crate) fn corrupted<P, O: Observer<P>>(
        &mut self,
        packet: &PacketEvent<'_, P>,
        observer: &mut O,
    ) {
        self.counters.corrupted.add_packet(packet.bytes);
        if let Some(damaged) = packet.packet {
            observer.on_corrupt(packet.at, self.link, damaged);
        }
    }

    /// A packet delivered before one sent earlier.
    pub(crate) fn overtaken<P, O: Observer<P>>(
        &mut self,
        at: Instant,
        wire_bytes: u32,
        observer: &mut O,
    ) {
        self.counters.reordered.add_packet(wire_bytes);
        observer.on_reorder(at, self.link, wire_bytes);
    }

    /// A marked packet.
    pub(crate) fn marked<P, O: Observer<P>>(
        &mut self,
        packet: &PacketEvent<'_, P>,
        observer: &mut O,
    ) {
        self.counters.marked.add_packet(packet.bytes);
        if let Some(marked) = packet.packet {
            observer.on_mark(packet.at, self.link, marked);
        }
    }
}
