//! Places that are used again, named by dense numbers.

/// Items in numbered slots; the slot of one that was removed is used again, the last one first.
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

    #[test]
    fn the_slot_of_what_was_removed_is_used_again() {
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
