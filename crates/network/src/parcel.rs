//! Where packets are while they are inside: put down once, and passed on as a small parcel.
//!
//! A packet of a hundred bytes would be copied four times per hop, which costs more than all else
//! that a hop does.

use crate::{NodeId, Packet};
use fairwind_units::Instant;

/// What links need to know of a packet, and where it lies.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parcel {
    slot: u32,
    pub(crate) bytes: u32,
    pub(crate) destination: NodeId,
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
    pub(crate) const NONE: Self = Self { slot: u32::MAX, bytes: 0, destination: NodeId(u32::MAX) };
}

/// All packets inside.
pub(crate) struct Depot<P> {
    slots: Vec<Option<P>>,
    vacant: Vec<u32>,
}

impl<P: Packet> Depot<P> {
    pub(crate) fn new() -> Self {
        Self { slots: Vec::new(), vacant: Vec::new() }
    }

    #[inline]
    pub(crate) fn put(&mut self, packet: P) -> Parcel {
        let (bytes, destination) = (packet.wire_bytes(), packet.destination());
        let slot = match self.vacant.pop() {
            Some(slot) => {
                self.slots[Self::index(slot)] = Some(packet);
                slot
            }
            None => self.put_in_new_slot(packet),
        };
        Parcel { slot, bytes, destination }
    }

    #[cold]
    fn put_in_new_slot(&mut self, packet: P) -> u32 {
        let slot = u32::try_from(self.slots.len()).expect("fewer than 2^32 packets are inside");
        self.slots.push(Some(packet));
        slot
    }

    #[inline]
    pub(crate) fn take(&mut self, parcel: Parcel) -> P {
        self.vacant.push(parcel.slot);
        self.slots[Self::index(parcel.slot)].take().expect("a parcel has its packet")
    }

    #[inline]
    pub(crate) fn sighting(&self, at: Instant, parcel: Parcel) -> Sighting<'_, P> {
        let packet = self.slots.get(Self::index(parcel.slot)).and_then(Option::as_ref);
        debug_assert!(packet.is_some(), "a parcel has its packet");
        Sighting { at, bytes: parcel.bytes, packet }
    }

    /// Puts a second one of a packet down; `None` where it cannot be duplicated.
    pub(crate) fn duplicate(&mut self, parcel: Parcel) -> Option<Parcel> {
        let original = self.slots.get(Self::index(parcel.slot)).and_then(Option::as_ref)?;
        let copy = original.duplicate()?;
        Some(self.put(copy))
    }

    /// The packet itself, to be written on.
    pub(crate) fn packet_mut(&mut self, parcel: Parcel) -> Option<&mut P> {
        self.slots.get_mut(Self::index(parcel.slot)).and_then(Option::as_mut)
    }

    #[inline]
    fn index(slot: u32) -> usize {
        // Widening on every machine that this runs on.
        slot as usize
    }

    /// Packets that lie here.
    #[cfg(test)]
    pub(crate) fn occupied(&self) -> usize {
        self.slots.iter().flatten().count()
    }

    /// The most packets that ever lay here at once.
    #[cfg(test)]
    pub(crate) fn places(&self) -> usize {
        self.slots.len()
    }
}
