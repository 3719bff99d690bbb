//! Where packets are while they are inside: put down once, and passed on as a small parcel.
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
pub(crate) struct Parcel {
    /// From the top: 32 bits of IP length, 32 of slot.
    bytes_and_slot: u64,
    destination: NodeId,
}

/// A packet as it is reported at an instant.
pub(crate) struct Sighting<'a, P> {
    pub(crate) at: Instant,
    pub(crate) bytes: u32,
    /// Always there; optional so that looking it up for nobody costs nothing.
    pub(crate) packet: Option<&'a P>,
}

impl Parcel {
    /// Of no packet.
    pub(crate) const NONE: Self = Self::new(u32::MAX, 0, NodeId(u32::MAX));

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

/// All packets inside.
pub(crate) struct Depot<P> {
    /// Those that are vacant may still have the packet that lay there last.
    slots: Vec<Option<P>>,
    vacant: Vec<u32>,
}

impl<P: Packet> Depot<P> {
    pub(crate) fn new() -> Self {
        Self { slots: Vec::new(), vacant: Vec::new() }
    }

    #[inline]
    pub(crate) fn put(&mut self, packet: P) -> Parcel {
        *self.vacancy() = Some(packet);
        self.occupy()
    }

    /// What lies where the next packet will: something old, or nothing.
    #[inline]
    pub(crate) fn vacancy(&mut self) -> &mut Option<P> {
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

    /// What was written to the [`vacancy`](Self::vacancy) is inside from now on.
    #[inline]
    pub(crate) fn occupy(&mut self) -> Parcel {
        let slot = self.vacant.pop().expect("a packet was written to a vacant slot");
        let packet = self.slots[slot as usize].as_ref().expect("a packet was written there");
        Parcel::new(slot, packet.wire_bytes(), packet.destination())
    }

    #[inline]
    pub(crate) fn take(&mut self, parcel: Parcel) -> P {
        self.vacate(parcel);
        self.slots[parcel.slot()].take().expect("a parcel has its packet")
    }

    /// A packet is inside no more; it lies there until another one does.
    #[inline]
    pub(crate) fn vacate(&mut self, parcel: Parcel) {
        self.vacant.push(parcel.number());
    }

    #[inline]
    pub(crate) fn packet(&self, parcel: Parcel) -> &P {
        self.slots[parcel.slot()].as_ref().expect("a parcel has its packet")
    }

    #[inline]
    pub(crate) fn sighting(&self, at: Instant, parcel: Parcel) -> Sighting<'_, P> {
        let packet = self.slots.get(parcel.slot()).and_then(Option::as_ref);
        debug_assert!(packet.is_some(), "a parcel has its packet");
        Sighting { at, bytes: parcel.bytes(), packet }
    }

    /// Puts a second one of a packet down; `None` where it cannot be duplicated.
    pub(crate) fn duplicate(&mut self, parcel: Parcel) -> Option<Parcel> {
        let original = self.slots.get(parcel.slot()).and_then(Option::as_ref)?;
        let copy = original.duplicate()?;
        Some(self.put(copy))
    }

    /// The packet itself, to be written on.
    pub(crate) fn packet_mut(&mut self, parcel: Parcel) -> Option<&mut P> {
        self.slots.get_mut(parcel.slot()).and_then(Option::as_mut)
    }

    /// Packets that lie here.
    #[cfg(test)]
    pub(crate) fn occupied(&self) -> usize {
        self.slots.len() - self.vacant.len()
    }

    /// The most packets that ever lay here at once.
    #[cfg(test)]
    pub(crate) fn places(&self) -> usize {
        self.slots.len()
    }
}
