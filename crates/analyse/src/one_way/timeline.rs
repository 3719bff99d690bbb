//! Something for each window of time, kept only for windows in which there is something.
//!
//! A timestamp that leaps makes one window more and not millions: what is kept is bounded by what happened,
//! and by [`MOST`].
//!
//! Cost: a comparison while instants stay within a window; else a search among the windows.

use fairwind_units::{Instant, Span};
use std::collections::BTreeMap;

/// Windows that are kept at most: with windows of 100 ms more than a day without a pause.
const MOST: usize = 1 << 20;

/// Windows of one length.
#[derive(Debug, Clone)]
pub(super) struct Timeline<T> {
    length: Span,
    most: usize,
    /// Where each window is kept, by its number.
    places: BTreeMap<u64, usize>,
    /// The windows in the order in which they came. Behind [`Self::most`] one for all that came later.
    kept: Vec<T>,
    /// The windows that were asked for last, of each occasion.
    recent: [Recent; 2],
}

#[derive(Debug, Clone, Copy)]
struct Recent {
    from: Instant,
    to: Instant,
    place: usize,
}

/// For what a window is asked for: instants of each of these go on with time.
#[derive(Debug, Clone, Copy)]
pub(super) enum Occasion {
    /// Something departs.
    Departure,
    /// It becomes known what has become of it.
    Fate,
}

impl<T: Default> Timeline<T> {
    pub(super) const fn new(length: Span) -> Self {
        Self::of_most(length, MOST)
    }

    const fn of_most(length: Span, most: usize) -> Self {
        let nothing = Recent { from: Instant::ZERO, to: Instant::ZERO, place: 0 };
        Self { length, most, places: BTreeMap::new(), kept: Vec::new(), recent: [nothing; 2] }
    }

    pub(super) const fn length(&self) -> Span {
        self.length
    }

    /// The window of `at`; windows count from `origin`.
    #[inline]
    pub(super) fn at(&mut self, origin: Instant, at: Instant, occasion: Occasion) -> &mut T {
        let recent = match occasion {
            Occasion::Departure => 0,
            Occasion::Fate => 1,
        };
        let known = self.recent[recent];
        if !(known.from..known.to).contains(&at) {
            self.find(origin, at, recent);
        }
        &mut self.kept[self.recent[recent].place]
    }

    #[cold]
    fn find(&mut self, origin: Instant, at: Instant, recent: usize) {
        let length = self.length.as_nanos().max(1);
        let number = at.saturating_since(origin).as_nanos() / length;
        let place = self.place(number);
        if place >= self.kept.len() {
            self.kept.resize_with(place + 1, T::default);
        }
        // Nothing is before the first window.
        let from = if number == 0 { Instant::ZERO } else { origin + self.length * number };
        let to = origin + self.length.saturating_mul(number.saturating_add(1));
        self.recent[recent] = Recent { from, to, place };
    }

    /// Where the window is kept, or is to be.
    fn place(&mut self, number: u64) -> usize {
        let next = self.places.len();
        if next < self.most {
            return *self.places.entry(number).or_insert(next);
        }
        self.places.get(&number).copied().unwrap_or(self.most)
    }

    /// The windows that are kept, in the order of time, each with its number.
    pub(super) fn windows(&self) -> impl Iterator<Item = (u64, &T)> {
        self.places.iter().filter_map(|(&number, &place)| Some((number, self.kept.get(place)?)))
    }

    /// What came in windows that are too many to be kept.
    pub(super) fn beyond(&self) -> Option<&T> {
        self.kept.get(self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORIGIN: Instant = Instant::from_secs(1_000);

    fn count(timeline: &mut Timeline<u64>, millis: u64) {
        let at = ORIGIN + Span::from_millis(millis);
        *timeline.at(ORIGIN, at, Occasion::Departure) += 1;
    }

    fn told(timeline: &Timeline<u64>) -> Vec<(u64, u64)> {
        timeline.windows().map(|(number, &count)| (number, count)).collect()
    }

    #[test]
    fn windows_come_in_the_order_of_time_whatever_order_they_were_asked_in() {
        let mut timeline = Timeline::new(Span::from_millis(100));
        for millis in [0, 99, 100, 950, 100, 0, 20_000_000_000, 949] {
            count(&mut timeline, millis);
        }
        assert_eq!(told(&timeline), [(0, 3), (1, 2), (9, 2), (200_000_000, 1)]);
        assert_eq!((timeline.kept.len(), timeline.beyond()), (4, None));
    }

    #[test]
    fn the_last_instants_that_a_clock_can_show_have_a_window() {
        let mut timeline = Timeline::<u64>::new(Span::from_nanos(1));
        for at in [Instant::MAX, Instant::MAX, Instant::ZERO] {
            *timeline.at(ORIGIN, at, Occasion::Fate) += 1;
        }
        let last = u64::MAX - ORIGIN.as_nanos();
        assert_eq!(told(&timeline), [(0, 1), (last, 2)]);
    }

    #[test]
    fn windows_that_are_too_many_are_counted_together() {
        let mut timeline = Timeline::of_most(Span::from_millis(1), 3);
        for millis in [5, 1, 9, 4, 9, 7, 1] {
            count(&mut timeline, millis);
        }
        assert_eq!(told(&timeline), [(1, 2), (5, 1), (9, 2)]);
        assert_eq!(timeline.beyond(), Some(&2));
    }
}
