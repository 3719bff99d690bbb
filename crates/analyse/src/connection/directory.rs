//! Directory of connections: slots by endpoints.
//!
//! Source: hashing with linear probing and backward-shift deletion (D. E. Knuth, The Art of Computer
//! Programming 3, §6.4, algorithms L and R). Nothing iterates over the table, and the hash has a fixed seed, so
//! that runs are reproducible.
//!
//! Cost: key and slot of an IPv4 connection share 16 bytes, so that with thousands of connections a lookup
//! waits for memory once. Memory: 32 to 64 bytes per connection.

use super::endpoints::{Ends, V6End};
use foldhash::fast::FixedState;
use std::collections::HashMap;

/// No slot.
pub(super) const NO_SLOT: u32 = u32::MAX;

/// Slots by endpoints.
#[derive(Debug)]
pub(super) struct Directory {
    v4: Table,
    v6: HashMap<(V6End, V6End), u32, FixedState>,
}

impl Directory {
    pub(super) fn new() -> Self {
        Self { v4: Table::new(), v6: HashMap::default() }
    }

    /// The slot of the connection between `ends`, or [`NO_SLOT`].
    #[inline]
    pub(super) fn find(&self, ends: &Ends) -> u32 {
        match *ends {
            Ends::V4(lower, higher) => self.v4.find(lower, higher),
            Ends::V6(lower, higher) => self.find_v6(lower, higher),
        }
    }

    #[inline(never)]
    fn find_v6(&self, lower: V6End, higher: V6End) -> u32 {
        self.v6.get(&(lower, higher)).copied().unwrap_or(NO_SLOT)
    }

    /// Adds a connection that is not there.
    pub(super) fn insert(&mut self, ends: &Ends, slot: u32) {
        match *ends {
            Ends::V4(lower, higher) => self.v4.insert(Entry::new(lower, higher, slot)),
            Ends::V6(lower, higher) => {
                self.v6.insert((lower, higher), slot);
            }
        }
    }

    pub(super) fn remove(&mut self, ends: &Ends) {
        match *ends {
            Ends::V4(lower, higher) => self.v4.remove(lower, higher),
            Ends::V6(lower, higher) => {
                self.v6.remove(&(lower, higher));
            }
        }
    }
}

/// Bits of half a slot number, stored below each endpoint.
const HALF_BITS: u32 = 16;
const HALF: u64 = (1 << HALF_BITS) - 1;

/// The lower and the higher endpoint, 48 bits each, each above one half of the slot number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry([u64; 2]);

impl Entry {
    /// No entry. Its slot is [`NO_SLOT`], which is right for these endpoints, too.
    const NONE: Self = Self([u64::MAX; 2]);

    #[inline]
    const fn new(lower: u64, higher: u64, slot: u32) -> Self {
        let [a, b, c, d] = slot.to_be_bytes();
        let high = u64::from_be_bytes([0, 0, 0, 0, 0, 0, a, b]);
        let low = u64::from_be_bytes([0, 0, 0, 0, 0, 0, c, d]);
        Self([lower << HALF_BITS | high, higher << HALF_BITS | low])
    }

    #[inline]
    const fn is_of(self, lower: u64, higher: u64) -> bool {
        let Self([first, second]) = self;
        first >> HALF_BITS == lower && second >> HALF_BITS == higher
    }

    #[inline]
    fn slot(self) -> u32 {
        let Self([first, second]) = self;
        u32::try_from((first & HALF) << HALF_BITS | second & HALF).unwrap_or(NO_SLOT)
    }

    /// Its home position.
    fn hash(self) -> usize {
        let Self([first, second]) = self;
        hash(first >> HALF_BITS, second >> HALF_BITS)
    }
}

/// Folded multiplication, as in wyhash and foldhash: every bit of the endpoints affects the result. The
/// constants are digits of pi.
#[inline]
fn hash(lower: u64, higher: u64) -> usize {
    let product =
        u128::from(lower ^ 0x243f_6a88_85a3_08d3) * u128::from(higher ^ 0x1319_8a2e_0370_7344);
    // One bit less, so that positions can be incremented.
    let folded = (product ^ product >> 64) & u128::from(u64::MAX >> 1);
    usize::try_from(folded).unwrap_or_default()
}

/// Open-addressing table, at most half full.
#[derive(Debug)]
struct Table {
    /// A power of two of entries.
    places: Vec<Entry>,
    len: usize,
}

/// Size of an empty table.
const FEWEST: usize = 64;

impl Table {
    fn new() -> Self {
        Self { places: vec![Entry::NONE; FEWEST], len: 0 }
    }

    #[inline]
    fn find(&self, lower: u64, higher: u64) -> u32 {
        let mut at = hash(lower, higher);
        loop {
            let entry = self.entry(at);
            if entry.is_of(lower, higher) {
                return entry.slot();
            }
            if entry == Entry::NONE {
                return NO_SLOT;
            }
            at += 1;
        }
    }

    /// The entry at a position, modulo the size.
    #[inline]
    fn entry(&self, at: usize) -> Entry {
        self.places.get(at & (self.places.len() - 1)).copied().unwrap_or(Entry::NONE)
    }

    fn put(&mut self, at: usize, entry: Entry) {
        let place = at & (self.places.len() - 1);
        self.places[place] = entry;
    }

    fn insert(&mut self, entry: Entry) {
        if (self.len + 1) * 2 > self.places.len() {
            let places = vec![Entry::NONE; self.places.len() * 2];
            let smaller = std::mem::replace(&mut self.places, places);
            smaller.into_iter().filter(|entry| *entry != Entry::NONE).for_each(|entry| {
                self.put_in_free_place(entry);
            });
        }
        self.put_in_free_place(entry);
        self.len += 1;
    }

    fn put_in_free_place(&mut self, entry: Entry) {
        let mut at = entry.hash();
        while self.entry(at) != Entry::NONE {
            at += 1;
        }
        self.put(at, entry);
    }

    fn remove(&mut self, lower: u64, higher: u64) {
        let mut gap = hash(lower, higher);
        while !self.entry(gap).is_of(lower, higher) {
            if self.entry(gap) == Entry::NONE {
                return;
            }
            gap += 1;
        }
        if self.entry(gap) == Entry::NONE {
            return;
        }
        self.len -= 1;
        // An entry moves into the gap if that is not before its home position.
        let mut at = gap;
        loop {
            at += 1;
            let entry = self.entry(at);
            if entry == Entry::NONE {
                break;
            }
            let distance = at.wrapping_sub(entry.hash()) & (self.places.len() - 1);
            if distance >= at - gap {
                self.put(gap, entry);
                gap = at;
            }
        }
        self.put(gap, Entry::NONE);
    }
}

/// Items in numbered slots; freed slots are reused, the last one first.
#[derive(Debug)]
pub(crate) struct Slots<T> {
    items: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Slots<T> {
    pub(crate) const fn new() -> Self {
        Self { items: Vec::new(), free: Vec::new() }
    }

    /// Puts `item` into a free slot.
    pub(crate) fn insert(&mut self, item: T) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.items[place(slot)] = Some(item);
            return slot;
        }
        let slot = u32::try_from(self.items.len()).expect("what is open fits memory");
        self.items.push(Some(item));
        slot
    }

    /// The item in `slot`, if there is one.
    #[inline]
    pub(crate) fn get(&self, slot: u32) -> Option<&T> {
        self.items.get(place(slot))?.as_ref()
    }

    /// The item in `slot`, if there is one.
    #[inline]
    pub(crate) fn get_mut(&mut self, slot: u32) -> Option<&mut T> {
        self.items.get_mut(place(slot))?.as_mut()
    }

    /// Every item, in the order of slots.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.items.iter_mut().flatten()
    }

    /// Empties `slot`.
    pub(crate) fn remove(&mut self, slot: u32) -> Option<T> {
        let item = self.items.get_mut(place(slot))?.take()?;
        self.free.push(slot);
        Some(item)
    }

    /// Every item with its slot, in the order of slots.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        (0..).zip(&self.items).filter_map(|(slot, item)| Some((slot, item.as_ref()?)))
    }

    /// Slots that were ever in use at once.
    pub(crate) fn capacity(&self) -> usize {
        self.items.len()
    }

    /// Slots in use.
    pub(crate) fn len(&self) -> usize {
        self.items.len() - self.free.len()
    }
}

#[inline]
fn place(slot: u32) -> usize {
    usize::try_from(slot).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_slot_is_found_until_it_is_removed() {
        let mut directory = Directory::new();
        let v6 = |port| Ends::V6((1, 2), (3, port));
        for (first, second) in [(Ends::V4(1, 2), Ends::V4(1, 3)), (v6(2), v6(3))] {
            directory.insert(&first, 0x1234_5678);
            assert_eq!((directory.find(&first), directory.find(&second)), (0x1234_5678, NO_SLOT));
            directory.remove(&second);
            directory.remove(&first);
            assert_eq!(directory.find(&first), NO_SLOT);
        }
    }

    #[test]
    fn endpoints_equal_to_empty_marker_are_found() {
        let highest = (1 << 48) - 1;
        let ends = Ends::V4(highest, highest);
        let mut directory = Directory::new();
        assert_eq!(directory.find(&ends), NO_SLOT);
        directory.remove(&ends);
        directory.insert(&ends, 7);
        assert_eq!(directory.find(&ends), 7);
        directory.remove(&ends);
        assert_eq!((directory.find(&ends), directory.v4.len), (NO_SLOT, 0));
    }

    proptest! {
        #[test]
        fn directory_behaves_like_a_map(
            steps in proptest::collection::vec((any::<bool>(), 0_u64..80, 0_u64..3), 0..600),
        ) {
            let (mut table, mut map) = (Table::new(), BTreeMap::new());
            for (slot, (is_removal, lower, higher)) in (0..).zip(steps) {
                if is_removal {
                    table.remove(lower, higher);
                    map.remove(&(lower, higher));
                } else if map.insert((lower, higher), slot).is_none() {
                    table.insert(Entry::new(lower, higher, slot));
                } else {
                    table.remove(lower, higher);
                    table.insert(Entry::new(lower, higher, slot));
                }
                prop_assert_eq!(table.len, map.len());
                for ends in (0..80).flat_map(|lower| (0..3).map(move |higher| (lower, higher))) {
                    let expected = map.get(&ends).copied().unwrap_or(NO_SLOT);
                    prop_assert_eq!(table.find(ends.0, ends.1), expected);
                }
            }
        }
    }

    #[test]
    fn removed_slot_is_reused() {
        let mut slots = Slots::new();
        let first = slots.insert("a");
        let second = slots.insert("b");
        assert_eq!(slots.remove(first), Some("a"));
        assert_eq!(slots.get(first), None);
        assert_eq!(slots.remove(first), None);
        assert_eq!(slots.insert("c"), first);
        assert_eq!((slots.len(), slots.capacity()), (2, 2));
        let items: Vec<_> = slots.iter().collect();
        assert_eq!(items, [(first, &"c"), (second, &"b")]);
    }
}
