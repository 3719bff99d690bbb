//! First in, first out, with positions that stay: what links keep their packets in.
//!
//! A position is a count since the beginning, so it neither moves when the first entry leaves nor
//! needs a comparison to be turned into a place: the number of places is a power of two.

/// Entries in order, each at a position of its own.
pub(crate) struct Ring<T> {
    /// A power of two.
    places: Vec<T>,
    /// Position of the first entry.
    first: usize,
    /// Position that the next entry will get.
    end: usize,
}

impl<T: Copy> Ring<T> {
    /// No entries; `vacant` lies in places where none has been yet.
    pub(crate) fn with_vacant(vacant: T) -> Self {
        Self { places: vec![vacant], first: 0, end: 0 }
    }

    /// Position that the next entry will get.
    #[inline]
    pub(crate) fn end(&self) -> usize {
        self.end
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.first == self.end
    }

    #[inline]
    pub(crate) fn front(&self) -> Option<&T> {
        self.get(self.first)
    }

    /// The entry at `position`, which no entry has left yet; none where it is the end.
    #[inline]
    pub(crate) fn get(&self, position: usize) -> Option<&T> {
        debug_assert!((self.first..=self.end).contains(&position), "a position in the ring");
        if position == self.end { None } else { self.places.get(self.place(position)) }
    }

    #[inline]
    pub(crate) fn push_back(&mut self, entry: T) {
        if self.end - self.first == self.places.len() {
            self.grow();
        }
        let place = self.place(self.end);
        self.places[place] = entry;
        self.end += 1;
    }

    #[inline]
    pub(crate) fn pop_front(&mut self) -> Option<&T> {
        if self.is_empty() {
            return None;
        }
        let place = self.place(self.first);
        self.first += 1;
        self.places.get(place)
    }

    #[inline]
    fn place(&self, position: usize) -> usize {
        position & self.places.len().wrapping_sub(1)
    }

    /// Doubles the places of a full ring.
    #[cold]
    fn grow(&mut self) {
        // Every entry is found at its place in one of the two halves, and nobody asks in the other.
        self.places.extend_from_within(..);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn entries_leave_in_the_order_they_came_and_keep_their_positions(
            pushes in prop::collection::vec(any::<bool>(), 0..300),
        ) {
            let mut ring = Ring::with_vacant(usize::MAX);
            let mut model = VecDeque::new();
            for (number, pushes) in pushes.into_iter().enumerate() {
                if pushes {
                    let position = ring.end();
                    model.push_back((position, number));
                    ring.push_back(number);
                } else {
                    let gone = ring.pop_front().copied();
                    prop_assert_eq!(gone, model.pop_front().map(|(_, number)| number));
                }
                prop_assert_eq!(ring.is_empty(), model.is_empty());
                prop_assert_eq!(ring.front(), model.front().map(|(_, number)| number));
                prop_assert_eq!(ring.get(ring.end()), None);
                for (position, number) in &model {
                    prop_assert_eq!(ring.get(*position), Some(number));
                }
            }
        }
    }
}
