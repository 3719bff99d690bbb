//! Packet pool: packets in transit stay in a slot and are passed on as a small [`PacketRef`].
//!
//! A packet of a hundred bytes would be copied four times per hop, which costs more than the rest of the hop. For the
//! same reason senders may write a packet in its slot ([`PacketPool::reserve`]) and receivers read it there. The `slab`
//! crate has no such reservation: its slots forget the old packet, and senders reuse its memory.

use crate::{NodeId, Packet};
use fairwind_units::Instant;

/// What links need to know about a packet, and its slot in the pool.
///
/// Two numbers, which travel in two registers. A struct of three fields would be stored field by field and loaded in
/// other pieces right afterwards, which stalls the processor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PacketRef {
    /// From the top: 32 bits of IP length, 32 of slot.
    bytes_and_slot: u64,
    destination: NodeId,
}

/// A packet as reported to an observer.
pub(crate) struct PacketEvent<'a, P> {
    pub(crate) at: Instant,
    pub(crate) bytes: u32,
    /// Always `Some`; optional so that the lookup costs nothing if no observer uses it.
    pub(crate) packet: Option<&'a P>,
}

impl PacketRef {
    #[inline]
    const fn new(slot: u32, bytes: u32, destination: NodeId) -> Self {
        Self { bytes_and_slot: (bytes as u64) << 32 | slot as u64, destination }
    }

    #[inline]
    pub(crate) fn bytes(self) -> u32 {
        (self.bytes_and_slot >> 32) as u32
    }

    #[inline]
    pub(crate) fn destination(self) -> NodeId {
        self.destination
    }

    /// Number of the slot.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the lower half")]
    fn number(self) -> u32 {
        self.bytes_and_slot as u32
    }

    /// The slot.
    #[inline]
    fn slot(self) -> usize {
        self.number() as usize
    }
}

/// A packet that has reached its destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery<P> {
    /// When it arrived.
    pub at: Instant,
    /// The destination.
    pub node: NodeId,
    /// The packet.
    pub packet: P,
}

/// A packet that has reached its destination and still lies in its slot: read it with
/// [`Network::packet`](crate::Network::packet), then call [`Network::release`](crate::Network::release).
#[derive(Debug)]
#[must_use = "it lies there until it is cleared away"]
pub struct DeliveryRef {
    pub(crate) at: Instant,
    pub(crate) packet: PacketRef,
}

impl DeliveryRef {
    /// When it arrived.
    #[inline]
    pub fn at(&self) -> Instant {
        self.at
    }
}

/// The packets in transit.
pub(crate) struct PacketPool<P> {
    /// Vacant slots may still hold an old packet.
    slots: Vec<Option<P>>,
    vacant: Vec<u32>,
}

impl<P: Packet> PacketPool<P> {
    pub(crate) fn new() -> Self {
        Self { slots: Vec::new(), vacant: Vec::new() }
    }

    #[inline]
    pub(crate) fn insert(&mut self, packet: P) -> PacketRef {
        *self.reserve() = Some(packet);
        self.commit()
    }

    /// The slot of the next packet, which may hold an old one.
    #[inline]
    pub(crate) fn reserve(&mut self) -> &mut Option<P> {
        let slot = match self.vacant.last() {
            Some(&slot) => slot,
            None => self.add_slot(),
        };
        &mut self.slots[slot as usize]
    }

    #[cold]
    fn add_slot(&mut self) -> u32 {
        let slot = u32::try_from(self.slots.len()).expect("fewer than 2^32 packets are inside");
        self.slots.push(None);
        self.vacant.push(slot);
        slot
    }

    /// Puts the packet written to the [reserved](Self::reserve) slot in transit.
    #[inline]
    pub(crate) fn commit(&mut self) -> PacketRef {
        let slot = self.vacant.pop().expect("a packet was written to a vacant slot");
        let packet = self.slots[slot as usize].as_ref().expect("a packet was written there");
        PacketRef::new(slot, packet.wire_bytes(), packet.destination())
    }

    #[inline]
    pub(crate) fn remove(&mut self, packet: PacketRef) -> P {
        self.release(packet);
        self.slots[packet.slot()].take().expect("a packet reference has its packet")
    }

    /// Makes the slot vacant; the packet stays there until it is overwritten.
    #[inline]
    pub(crate) fn release(&mut self, packet: PacketRef) {
        self.vacant.push(packet.number());
    }

    #[inline]
    pub(crate) fn get(&self, packet: PacketRef) -> &P {
        self.slots[packet.slot()].as_ref().expect("a packet reference has its packet")
    }

    #[inline]
    pub(crate) fn event(&self, at: Instant, packet: PacketRef) -> PacketEvent<'_, P> {
        let contents = self.slots.get(packet.slot()).and_then(Option::as_ref);
        debug_assert!(contents.is_some(), "a packet reference has its packet");
        PacketEvent { at, bytes: packet.bytes(), packet: contents }
    }

    /// Inserts a copy of a packet; `None` if it cannot be duplicated.
    pub(crate) fn duplicate(&mut self, packet: PacketRef) -> Option<PacketRef> {
        let original = self.slots.get(packet.slot()).and_then(Option::as_ref)?;
        let copy = original.duplicate()?;
        Some(self.insert(copy))
    }

    /// The packet, to be changed.
    pub(crate) fn get_mut(&mut self, packet: PacketRef) -> Option<&mut P> {
        self.slots.get_mut(packet.slot()).and_then(Option::as_mut)
    }

    /// Packets in transit.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.vacant.len()
    }

    /// Greatest number of packets that were ever in transit at once.
    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.slots.len()
    }
}
