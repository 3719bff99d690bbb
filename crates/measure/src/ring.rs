//! Ring buffer: a queue in one block of memory, for values that are copied.
//!
//! Source: `std::collections::VecDeque`. What differs and why: a new value is put together in its place,
//! field by field. Handed to a call as a whole it is read back in wider words than it was written in, for
//! which the processor waits until everything written before has reached the cache; that is the longest
//! wait of all where each packet belongs to another stream.
//! A queue that was long and is short gives places back, when it has gone round: one that goes round and
//! round through many would never find a place in the caches.
//! Cost: a value pushed, popped or found takes a few instructions; `insert` moves what lies behind or
//! before it, whichever is less.

use std::hint::select_unpredictable;

/// Places of the first block.
const FEWEST: usize = 8;

/// Places of the largest one.
const MOST: usize = 1 << 31;

/// The queue: its own part takes 24 bytes.
#[derive(Debug, Clone)]
pub struct Ring<T> {
    /// As many as a power of two.
    places: Box<[T]>,
    /// Place of the front; counts on beyond the last place, and from 2^32 to 0.
    first: u32,
    len: u32,
}

impl<T: Copy + Default> Ring<T> {
    /// Of nothing; it takes no memory yet.
    pub fn new() -> Self {
        Self { places: Box::default(), first: 0, len: 0 }
    }

    /// How many values there are.
    #[inline]
    pub fn len(&self) -> usize {
        wide(self.len)
    }

    /// Whether there is none.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    fn place(&self, index: usize) -> usize {
        wide(self.first).wrapping_add(index) & self.places.len().wrapping_sub(1)
    }

    /// The oldest value.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        self.get(0)
    }

    /// The memory of the oldest value, whether there is one or not: for prefetching.
    #[inline]
    pub fn first_place(&self) -> Option<&T> {
        self.places.get(self.place(0))
    }

    /// The value before which there are `index` others.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        if index < self.len() { self.places.get(self.place(index)) } else { None }
    }

    /// The same, to be changed.
    #[inline]
    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        let place = self.place(index);
        if index < self.len() { self.places.get_mut(place) } else { None }
    }

    /// Puts `value` at the end.
    ///
    /// # Panics
    /// At 2^31 values.
    #[inline]
    pub fn push_back(&mut self, value: T) {
        if self.len() == self.places.len() {
            self.grow();
        }
        let mut place = self.place(self.len());
        if place == 0 && (1..self.places.len() / 8).contains(&self.len()) {
            self.shrink();
            place = self.len();
        }
        if let Some(behind) = self.places.get_mut(place) {
            *behind = value;
            self.len += 1;
        }
    }

    #[cold]
    fn grow(&mut self) {
        self.move_to((self.places.len() * 2).max(FEWEST));
    }

    #[cold]
    fn shrink(&mut self) {
        self.move_to((self.places.len() / 4).max(FEWEST));
    }

    fn move_to(&mut self, places: usize) {
        assert!(places <= MOST, "a queue has fewer than 2^31 values");
        let mut more = Vec::with_capacity(places);
        more.extend((0..self.len()).filter_map(|index| self.get(index).copied()));
        more.resize(places, T::default());
        self.places = more.into();
        self.first = 0;
    }

    /// Takes the front off.
    #[inline]
    pub fn pop_front(&mut self) {
        let mut is_first = true;
        self.pop_front_while(|_| std::mem::replace(&mut is_first, false));
    }

    /// Takes values off the front as long as `is_done` with them.
    #[inline]
    pub fn pop_front_while(&mut self, mut is_done: impl FnMut(&T) -> bool) {
        let mask = self.places.len().wrapping_sub(1);
        let (mut first, mut len) = (self.first, self.len);
        while len > 0
            && let Some(value) = self.places.get(wide(first) & mask)
            && is_done(value)
        {
            first = first.wrapping_add(1);
            len -= 1;
        }
        // The next one takes the first place, which is near, if there is none before it.
        self.first = select_unpredictable(len == 0, 0, first);
        self.len = len;
    }

    /// Takes all values off.
    #[inline]
    pub const fn clear(&mut self) {
        self.first = 0;
        self.len = 0;
    }

    /// Puts `value` before the one at `index`.
    pub fn insert(&mut self, index: usize, value: T) {
        let index = index.min(self.len());
        let copied = |ring: &Self, from: usize| ring.get(from).copied();
        self.push_back(value);
        if index < self.len() / 2 {
            // All but the new one stay where they are by going one place on; then the front ones go back.
            self.first = self.first.wrapping_sub(1);
            for to in 0..index {
                self.put(to, copied(self, to + 1));
            }
        } else {
            for to in (index + 1..self.len()).rev() {
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
    pub fn partition_point(&self, before: impl Fn(&T) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len());
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

impl<T: Copy + Default> Default for Ring<T> {
    /// Of nothing.
    fn default() -> Self {
        Self::new()
    }
}

#[inline]
fn wide(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn queue_behaves_like_std_queue(
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
    fn long_queue_shrinks_and_keeps_values() {
        let mut ring = Ring::new();
        (0..1000).for_each(|value| ring.push_back(value));
        assert_eq!(ring.places.len(), 1024);
        (0..995).for_each(|_| ring.pop_front());
        for value in 1000..5000 {
            ring.push_back(value);
            assert_eq!((ring.front(), ring.get(5)), (Some(&(value - 5)), Some(&value)));
            ring.pop_front();
        }
        assert_eq!((ring.places.len(), ring.len()), (16, 5));
    }

    #[test]
    fn value_is_found_across_block_end() {
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
