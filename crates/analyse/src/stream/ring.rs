//! A queue in one block of memory, for values that are copied.
//!
//! Source: `std::collections::VecDeque`. What differs and why: a new value is put together in its place,
//! field by field. Handed to a call as a whole it is read back in wider words than it was written in, for
//! which the processor waits until everything written before has reached the cache; that is the longest
//! wait of all where each packet belongs to another stream.
//! Cost: a value pushed, popped or found takes a few instructions; `insert` moves what lies behind or
//! before it, whichever is less.

/// Places of the first block.
const FEWEST: usize = 8;

/// The queue.
#[derive(Debug, Clone)]
pub(super) struct Ring<T> {
    /// As many as a power of two.
    places: Vec<T>,
    /// Place of the front; counts on beyond the last place.
    first: usize,
    len: usize,
}

impl<T: Copy + Default> Ring<T> {
    pub(super) const fn new() -> Self {
        Self { places: Vec::new(), first: 0, len: 0 }
    }

    #[inline]
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    #[inline]
    const fn place(&self, index: usize) -> usize {
        self.first.wrapping_add(index) & self.places.len().wrapping_sub(1)
    }

    #[inline]
    pub(super) fn front(&self) -> Option<&T> {
        self.get(0)
    }

    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<&T> {
        if index < self.len { self.places.get(self.place(index)) } else { None }
    }

    #[inline]
    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        let place = self.place(index);
        if index < self.len { self.places.get_mut(place) } else { None }
    }

    /// Puts `value` at the end.
    #[inline]
    pub(super) fn push_back(&mut self, value: T) {
        if self.len == self.places.len() {
            self.grow();
        }
        let place = self.place(self.len);
        if let Some(behind) = self.places.get_mut(place) {
            *behind = value;
            self.len += 1;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let places = (self.places.len() * 2).max(FEWEST);
        let mut more = Vec::with_capacity(places);
        more.extend((0..self.len).filter_map(|index| self.get(index).copied()));
        more.resize(places, T::default());
        self.places = more;
        self.first = 0;
    }

    /// Takes the front off.
    #[inline]
    pub(super) const fn pop_front(&mut self) {
        if self.len > 0 {
            self.first = self.first.wrapping_add(1);
            self.len -= 1;
        }
    }

    pub(super) const fn clear(&mut self) {
        self.len = 0;
    }

    /// Puts `value` before the one at `index`.
    pub(super) fn insert(&mut self, index: usize, value: T) {
        let index = index.min(self.len);
        let copied = |ring: &Self, from: usize| ring.get(from).copied();
        self.push_back(value);
        if index < self.len / 2 {
            // All but the new one stay where they are by going one place on; then the front ones go back.
            self.first = self.first.wrapping_sub(1);
            for to in 0..index {
                self.put(to, copied(self, to + 1));
            }
        } else {
            for to in (index + 1..self.len).rev() {
                self.put(to, copied(self, to - 1));
            }
        }
        self.put(index, Some(value));
    }

    fn put(&mut self, index: usize, value: Option<T>) {
        if let (Some(place), Some(value)) = (self.get_mut(index), value) {
            *place = value;
        }
    }

    /// How many at the front are `before`; all that are stand before all that are not.
    pub(super) fn partition_point(&self, before: impl Fn(&T) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len);
        while low < high {
            let middle = low.midpoint(high);
            if self.get(middle).is_some_and(&before) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn it_does_what_the_queue_of_the_standard_library_does(
            steps in proptest::collection::vec((0_u8..5, 0_usize..40), 0..200),
        ) {
            let (mut ring, mut queue) = (Ring::new(), VecDeque::new());
            for (step, (what, index)) in steps.into_iter().enumerate() {
                match what {
                    0..=1 => {
                        ring.push_back(step);
                        queue.push_back(step);
                    }
                    2 => {
                        ring.pop_front();
                        queue.pop_front();
                    }
                    3 => {
                        let index = index.min(queue.len());
                        ring.insert(index, step);
                        queue.insert(index, step);
                    }
                    _ => {
                        if let (Some(mine), Some(other)) = (ring.get_mut(index), queue.get_mut(index)) {
                            (*mine, *other) = (1000 + step, 1000 + step);
                        }
                    }
                }
                let kept: Vec<usize> = (0..ring.len()).filter_map(|at| ring.get(at).copied()).collect();
                prop_assert_eq!(&kept, &queue.iter().copied().collect::<Vec<_>>());
                prop_assert_eq!(ring.front(), queue.front());
                prop_assert_eq!(ring.get(ring.len()), None);
            }
        }
    }

    #[test]
    fn the_place_of_a_value_is_found_across_the_end_of_the_block() {
        let mut ring = Ring::new();
        (0..8).for_each(|value| ring.push_back(value));
        (0..5).for_each(|_| ring.pop_front());
        (8..13).for_each(|value| ring.push_back(value));
        for value in 4..=13 {
            assert_eq!(ring.partition_point(|kept| *kept < value), value.max(5) - 5);
        }
        ring.clear();
        assert_eq!((ring.len(), ring.front(), ring.partition_point(|_| true)), (0, None, 0));
    }
}
