//! A bounded number of points that draw the same picture.
//!
//! As long as there are few, every point is kept. When there are more than the limit, points within one
//! *column* of time become one, which spans from the least value to the greatest: as on a screen, where
//! all that falls into one column of pixels is one line. Columns are as narrow as the limit allows, and
//! ranges that touch are brought together before ranges that do not. So extremes are never lost, and a
//! kind of points that is rare is kept whole, because each kind of each series has a limit of its own.
//!
//! Cost per point: one comparison, and now and then one pass over all that is kept.

use super::point::Point;
use fairwind_units::Span;

/// The points of one kind of one series.
#[derive(Debug, Clone)]
pub(super) struct Thinned {
    points: Vec<Point>,
    limit: usize,
    /// Width of a column; zero as long as nothing is brought together.
    column: Span,
}

/// Which points of one column become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Merging {
    /// Those whose ranges touch.
    Touching,
    /// All.
    All,
}

impl Thinned {
    /// No points, of which at most `limit` will be kept (at least four).
    pub(super) fn new(limit: usize) -> Self {
        Self { points: Vec::new(), limit: limit.max(4), column: Span::ZERO }
    }

    /// Adds a point.
    pub(super) fn push(&mut self, point: Point) {
        let column = self.column;
        if let Some(last) = self.points.last_mut()
            && joins(last, &point, column, Merging::Touching)
        {
            last.absorb(&point);
            return;
        }
        if self.points.len() >= self.limit {
            self.coarsen();
        }
        self.points.push(point);
    }

    /// The points, in the order of time.
    pub(super) fn points(&self) -> Vec<Point> {
        let mut points = self.points.clone();
        points.sort_by_key(|point| point.at);
        points
    }

    /// Makes room for a quarter more: ranges that touch are brought together in columns of up to four
    /// times the width that the limit allows, then all points in columns as narrow as will do.
    ///
    /// Widths follow from the time that the points span alone, so that points which came early are drawn
    /// as finely as those that come late.
    fn coarsen(&mut self) {
        self.points.sort_by_key(|point| point.at);
        let (Some(first), Some(last)) = (self.points.first(), self.points.last()) else { return };
        let span = last.at.saturating_since(first.at).as_nanos();
        let width = (span / u64::try_from(self.limit).unwrap_or(u64::MAX)).max(1);
        let enough = self.limit / 4 * 3;
        for doublings in 0..=2 {
            let column = Span::from_nanos(width.saturating_mul(1 << doublings));
            self.column = self.column.max(column);
            self.bring_together(self.column, Merging::Touching);
            if self.points.len() <= enough {
                return;
            }
        }
        let mut column = Span::from_nanos(width);
        // Ends: instants have 64 bits, so that in the end all are in one column.
        while self.points.len() > enough {
            column = column.saturating_mul(2);
            self.bring_together(column, Merging::All);
        }
    }

    /// Makes one point of neighbours in one column.
    fn bring_together(&mut self, column: Span, merging: Merging) {
        self.points.dedup_by(|later, earlier| {
            let is_joined = joins(earlier, later, column, merging);
            if is_joined {
                earlier.absorb(later);
            }
            is_joined
        });
    }
}

/// Whether the two become one point where columns are `column` wide.
fn joins(earlier: &Point, later: &Point, column: Span, merging: Merging) -> bool {
    let place = |point: &Point| point.at.as_nanos().checked_div(column.as_nanos());
    place(earlier).is_some()
        && place(earlier) == place(later)
        && (merging == Merging::All || earlier.touches(later))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwind_units::Instant;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_extreme_and_no_count_is_lost_whatever_comes(
            limit in 0_usize..64,
            values in proptest::collection::vec((any::<u64>(), any::<u64>(), any::<u64>()), 1..400),
        ) {
            let mut thinned = Thinned::new(limit);
            for &(at, one, other) in &values {
                thinned.push(Point::range(Instant::from_nanos(at), one.min(other), one.max(other)));
            }
            let points = thinned.points();
            prop_assert!(points.len() <= limit.max(4));
            let least = values.iter().map(|&(_, one, other)| one.min(other)).min();
            let greatest = values.iter().map(|&(_, one, other)| one.max(other)).max();
            prop_assert_eq!(points.iter().map(|point| point.low).min(), least);
            prop_assert_eq!(points.iter().map(|point| point.high).max(), greatest);
            let count: u64 = points.iter().map(|point| point.count).sum();
            prop_assert_eq!(count, u64::try_from(values.len()).unwrap());
            let first = values.iter().map(|&(at, ..)| at).min();
            prop_assert_eq!(points.first().map(|point| point.at.as_nanos()), first);
            prop_assert!(points.is_sorted_by_key(|point| point.at));
        }
    }

    #[test]
    fn few_points_are_kept_as_they_are_also_at_one_instant() {
        let mut thinned = Thinned::new(100);
        let points: Vec<Point> =
            (0..100).map(|n| Point::value(Instant::from_secs(n / 2), n)).collect();
        for point in &points {
            thinned.push(*point);
        }
        assert_eq!(thinned.points(), points);
    }

    #[test]
    fn ranges_apart_are_not_brought_together_while_touching_ones_make_room() {
        // Two rows of segments side by side, a megabyte apart, of 400 segments each.
        let mut thinned = Thinned::new(100);
        for n in 0..400 {
            let (at, byte) = (Instant::from_millis(n), n * 1000);
            thinned.push(Point::range(at, byte, byte + 1000));
        }
        let gap = Instant::from_millis(400);
        for n in 0..400 {
            let byte = 1_400_000 + n * 1000;
            thinned.push(Point::range(gap + Span::from_millis(n), byte, byte + 1000));
        }
        let points = thinned.points();
        assert!(points.len() <= 100);
        assert!(points.iter().all(|point| point.high <= 400_000 || point.low >= 1_400_000));
    }

    #[test]
    fn what_came_early_is_drawn_as_finely_as_what_comes_late() {
        // A saw tooth whose ranges never touch, told point by point far beyond the limit.
        let mut thinned = Thinned::new(100);
        for n in 0..100_000 {
            thinned.push(Point::value(Instant::from_nanos(n * 1000), n % 1000 * 10));
        }
        let points = thinned.points();
        let most = points.iter().map(|point| point.count).max();
        assert!((8..=100).contains(&points.len()), "{} points", points.len());
        assert!(most <= Some(100_000 / 8), "{most:?} points became one");
    }
}
