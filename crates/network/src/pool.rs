//! Where packets are while they are inside: put down once, and passed on as a small packet.
//!
//! A packet of a hundred bytes would be copied four times per hop, which costs more than all else
//! that a hop does. For the same reason whoever sends often writes a packet where it will lie, and
//! reads those that have arrived where they lie.

use crate::{NodeId, Packet};
use fairwind_units::Instant;

/// What links need to know of a packet, and where it lies.
///
/// One number and a destination, because they travel in two registers: a struct of three fields is written field by
/// field and copied in other pieces right afterwards, for which a processor waits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PacketRef {
    /// From the top: 32 bits of IP length, 32 of slot.
    bytes_and_slot: u64,
    destination: NodeId,
}

/// A packet as it is reported at an instant.
pub(crate) struct PacketEvent<'a, P> {
    pub(crate) at: Instant,
    pub(crate) bytes: u32,
    /// Always there; optional so that looking it up for nobody costs nothing.
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

    /// Number of the slot, an index on every machine that this runs on.
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
    /// When it did.
    pub at: Instant,
    /// The destination.
    pub node: NodeId,
    /// The packet.
    pub packet: P,
}

/// A packet that has reached its destination and still lies in the network: to be looked at by
/// [`Network::arrived`](crate::Network::arrived), and taken away by
/// [`Network::release`](crate::Network::release).
#[derive(Debug)]
#[must_use = "it lies there until it is cleared away"]
pub struct DeliveryRef {
    pub(crate) at: Instant,
    pub(crate) packet: PacketRef,
}

impl DeliveryRef {
    /// When it did.
    #[inline]
    pub fn at(&self) -> Instant {
        self.at
    }
}

/// All packets inside.
pub(crate) struct PacketPool<P> {
    /// Those that are vacant may still have the packet that lay there last.
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

    /// What lies where the next packet will: something old, or nothing.
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

    /// What was written to the [`reserve`](Self::reserve) is inside from now on.
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

    /// A packet is inside no more; it lies there until another one does.
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

    /// Puts a second one of a packet down; `None` where it cannot be duplicated.
    pub(crate) fn duplicate(&mut self, packet: PacketRef) -> Option<PacketRef> {
        let original = self.slots.get(packet.slot()).and_then(Option::as_ref)?;
        let copy = original.duplicate()?;
        Some(self.insert(copy))
    }

    /// The packet itself, to be written on.
    pub(crate) fn get_mut(&mut self, packet: PacketRef) -> Option<&mut P> {
        self.slots.get_mut(packet.slot()).and_then(Option::as_mut)
    }

    /// Packets that lie here.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.vacant.len()
    }

    /// The most packets that ever lay here at once.
    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.slots.len()
    }
}
