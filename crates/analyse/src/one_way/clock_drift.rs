//! Drift between two clocks, estimated from one-way delays.
//!
//! A delay measured with two clocks is the true delay plus the offset of the clocks. The true delay is never
//! below that of an empty path, so the minimum of the delays moves as the clocks do. Source: the convex hull of
//! S. Moon, P. Skelly, D. Towsley, "Estimation and removal of clock skew from network delay measurements",
//! INFOCOM 1999: of all lines below all delays, the closest one. It is the edge of the lower hull above the
//! middle of the time. A line through the minima of the first and last moments would take a standing queue for
//! drift.
//!
//! Both directions count: drift that raises the delays of one lowers those of the other. Delays of an
//! asymmetric path do not show the offset; it is set so that the smallest delays of both directions are equal.
//!
//! Cost: a comparison per packet. Memory: 2048 minima.

use super::clock_offset::signed_since;
use fairwind_units::Instant;

/// Limit of minima.
const BINS: usize = 2048;

/// Periods, each of which should show the minimum.
const STRETCHES: usize = 32;

/// Nanoseconds of the first bin; doubled whenever the bins are full.
const FIRST_WIDTH: u64 = 1 << 23;

/// Whether two captures share a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClockModel {
    /// One clock: delays are differences of timestamps.
    #[default]
    Shared,
    /// Two clocks, with estimated offset and drift.
    Apart,
}

/// Drift of the receiver's clock against the sender's.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ClockDrift {
    /// Instant of the offset, on the sender's clock.
    pub origin: Instant,
    /// Nanoseconds that the receiver's clock was ahead at the origin: the smallest delays of both directions
    /// are equal, or the smallest of a single direction is zero.
    pub offset_nanos: f64,
    /// Parts per million that the receiver's clock gains.
    pub parts_per_million: f64,
    /// Uncertainty of the gain, from the unevenness of the minima. `None` if unknown.
    pub uncertainty_parts_per_million: Option<f64>,
    /// Whether the gain exceeds its uncertainty, so that delays are compensated.
    pub is_compensated: bool,
}

impl ClockDrift {
    /// Nanoseconds that the receiver's clock is ahead at `at`.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "`as` saturates, and clocks are not centuries apart"
    )]
    #[inline]
    pub(super) fn ahead_nanos(&self, at: Instant) -> i64 {
        let rate = if self.is_compensated { self.parts_per_million / 1e6 } else { 0.0 };
        (self.offset_nanos + rate * real(signed_since(at, self.origin))).round() as i64
    }

    /// The drift from the minima of both directions.
    pub(super) fn of(there: &DelayFloor, back: &DelayFloor) -> Self {
        let begins = [there.begin, back.begin].into_iter().flatten();
        let Some(origin) = begins.min() else { return Self::default() };
        let floors = [there.points(origin), back.points(origin)];
        let [there_line, back_line] = [line_under(&floors[0]), line_under(&floors[1])];
        let mirrored = back_line.map(|line| Line { slope: -line.slope, ..line });
        let lines: Vec<Line> = [there_line, mirrored].into_iter().flatten().collect();
        let weight: f64 = lines.iter().map(Line::weight).sum();
        let slope = if lines.is_empty() {
            0.0
        } else {
            lines.iter().map(|line| line.slope * line.weight()).sum::<f64>() / weight
        };
        let uncertainty = (!lines.is_empty()).then(|| (1.0 / weight).sqrt());
        let is_compensated = uncertainty.is_some_and(|uncertainty| slope.abs() > uncertainty);
        let taken = if is_compensated { slope } else { 0.0 };
        let lowest = |points: &[(f64, f64)], slope: f64| {
            points.iter().map(|&(at, delay)| delay - slope * at).reduce(f64::min)
        };
        let offset = match (lowest(&floors[0], taken), lowest(&floors[1], -taken)) {
            (Some(there), Some(back)) => f64::midpoint(there, -back),
            (Some(there), None) => there,
            (None, Some(back)) => -back,
            (None, None) => 0.0,
        };
        Self {
            origin,
            offset_nanos: offset,
            // A slope is in nanoseconds per second.
            parts_per_million: slope / 1e3,
            uncertainty_parts_per_million: uncertainty.map(|per_second| per_second / 1e3),
            is_compensated,
        }
    }
}

/// Minima of the delays of one direction over time.
#[derive(Debug, Clone)]
pub(super) struct DelayFloor {
    begin: Option<Instant>,
    width: u64,
    /// The smallest delay of each bin, and its instant.
    bins: Vec<Option<(Instant, i64)>>,
    /// The bin of the last delay, and its smallest delay.
    current: (Instant, Instant),
    lowest: i64,
}

impl DelayFloor {
    pub(super) const fn new() -> Self {
        Self {
            begin: None,
            width: FIRST_WIDTH,
            bins: Vec::new(),
            current: (Instant::ZERO, Instant::ZERO),
            lowest: i64::MAX,
        }
    }

    /// Whether no delay was observed.
    pub(super) const fn is_empty(&self) -> bool {
        self.begin.is_none()
    }

    /// A packet departed at `at` with `delay` nanoseconds.
    #[inline]
    pub(super) fn observe(&mut self, at: Instant, delay: i64) {
        if at >= self.current.0 && at < self.current.1 && delay >= self.lowest {
            return;
        }
        self.lower(at, delay);
    }

    fn lower(&mut self, at: Instant, delay: i64) {
        let begin = *self.begin.get_or_insert(at);
        let place = loop {
            let place = at.saturating_since(begin).as_nanos() / self.width;
            match usize::try_from(place) {
                Ok(place) if place < BINS => break place,
                _ => self.widen(),
            }
        };
        if place >= self.bins.len() {
            self.bins.resize(place + 1, None);
        }
        let bin = &mut self.bins[place];
        if bin.is_none_or(|(_, known)| delay < known) {
            *bin = Some((at, delay));
        }
        self.lowest = bin.map_or(delay, |(_, lowest)| lowest);
        let place = u64::try_from(place).unwrap_or(u64::MAX);
        let from = begin.as_nanos().saturating_add(place.saturating_mul(self.width));
        let to = from.saturating_add(self.width);
        self.current = (Instant::from_nanos(from), Instant::from_nanos(to));
    }

    /// Halves the number of bins.
    fn widen(&mut self) {
        self.width = self.width.saturating_mul(2);
        let smaller = |pair: &[Option<(Instant, i64)>]| {
            pair.iter().flatten().copied().min_by_key(|&(_, delay)| delay)
        };
        self.bins = self.bins.chunks(2).map(smaller).collect();
        self.current = (Instant::ZERO, Instant::ZERO);
    }

    /// Each minimum in seconds since `origin` and nanoseconds of delay.
    fn points(&self, origin: Instant) -> Vec<(f64, f64)> {
        let minima = self.bins.iter().flatten();
        minima.map(|&(at, delay)| (real(signed_since(at, origin)) / 1e9, real(delay))).collect()
    }
}

/// A line below points, and its uncertainty.
#[derive(Debug, Clone, Copy)]
struct Line {
    slope: f64,
    /// Uncertainty of the slope.
    tilt: f64,
}

impl Line {
    fn weight(&self) -> f64 {
        1.0 / (self.tilt * self.tilt)
    }
}

/// The line below `points`, ascending in time, that is closest to them; `None` for fewer than three points.
fn line_under(points: &[(f64, f64)]) -> Option<Line> {
    if points.len() < 3 {
        return None;
    }
    let hull = lower_hull(points, |&point| point);
    let count = u32::try_from(points.len()).ok()?;
    let middle = points.iter().map(|&(at, _)| at).sum::<f64>() / f64::from(count);
    let behind = hull.iter().position(|&(at, _)| at > middle)?.max(1);
    let (left, right) = (hull[behind - 1], hull[behind]);
    let span = right.0 - left.0;
    let slope = (right.1 - left.1) / span;
    let above = |&(at, delay): &(f64, f64)| delay - left.1 - slope * (at - left.0);
    let stretch = points.len().div_ceil(STRETCHES);
    let mut lowest: Vec<f64> = points
        .chunks(stretch)
        .filter_map(|stretch| stretch.iter().map(above).reduce(f64::min))
        .collect();
    lowest.sort_by(f64::total_cmp);
    // Half of the periods come closer to the line than this, so its ends are hardly further off. Timestamps are
    // accurate to some tens of nanoseconds.
    let unevenness = lowest[lowest.len() / 2].max(20.0);
    Some(Line { slope, tilt: unevenness / span })
}

/// The lower convex hull of `points`, ascending in time (A. Andrew's monotone chain); `place` gives time and delay
/// of a point.
pub(super) fn lower_hull<P: Copy>(points: &[P], place: impl Fn(&P) -> (f64, f64)) -> Vec<P> {
    let mut hull: Vec<P> = Vec::new();
    for each in points {
        let point = place(each);
        while let [.., before, last] = hull.as_slice() {
            let (before, last) = (place(before), place(last));
            let turn = (last.0 - before.0) * (point.1 - before.1)
                - (last.1 - before.1) * (point.0 - before.0);
            if turn > 0.0 {
                break;
            }
            hull.pop();
        }
        if hull.last().is_none_or(|last| point.0 > place(last).0) {
            hull.push(*each);
        }
    }
    hull
}

/// Nanoseconds as a float.
#[expect(clippy::cast_precision_loss, reason = "2^53 nanoseconds are a hundred days")]
pub(super) const fn real(nanos: i64) -> f64 {
    nanos as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Delays of 10 ms and more, each tenth without a queue, of a clock that gains `gain` ppm, and of
    /// the way back, where each seventh has none.
    fn drift_of(gain: i64, seconds: u64) -> ClockDrift {
        let (mut there, mut back) = (DelayFloor::new(), DelayFloor::new());
        for packet in 0..seconds * 100 {
            let at = Instant::from_millis(1_000 + 10 * packet);
            let elapsed = i64::try_from(10_000 * packet).unwrap();
            let ahead = 1_600_000_000 + elapsed * gain / 1_000;
            let queue = |period: u64| i64::try_from(packet % period * 700_000).unwrap();
            there.observe(at, 10_000_000 + queue(10) + ahead);
            back.observe(at, 10_000_000 + queue(7) - ahead);
        }
        ClockDrift::of(&there, &back)
    }

    #[test]
    fn drift_and_offset_are_found_under_the_queues() {
        for gain in [50, -50, 7] {
            let drift = drift_of(gain, 60);
            let gain = f64::from(i32::try_from(gain).unwrap());
            let uncertainty = drift.uncertainty_parts_per_million.unwrap();
            assert!((drift.parts_per_million - gain).abs() < 0.5, "{gain}: {drift:?}");
            assert!(uncertainty < 1.0, "{gain}: {drift:?}");
            assert!(drift.is_compensated);
            assert!((drift.offset_nanos - 1.6e9).abs() < 50_000.0, "{gain}: {drift:?}");
        }
    }

    #[test]
    fn clocks_that_do_not_drift_are_left_alone() {
        let drift = drift_of(0, 60);
        assert!(!drift.is_compensated, "{drift:?}");
        assert!((drift.offset_nanos - 1.6e9).abs() < 1_000.0, "{drift:?}");
    }

    #[test]
    fn standing_queue_at_end_is_not_drift() {
        let mut there = DelayFloor::new();
        for packet in 0..6_000 {
            let queue = if packet > 4_000 { 20_000_000 } else { 0 };
            let jitter = i64::try_from(packet % 13 * 50_000).unwrap();
            there.observe(Instant::from_millis(10 * packet), 10_000_000 + queue + jitter);
        }
        let drift = ClockDrift::of(&there, &DelayFloor::new());
        // The first and the last moments alone would show 333 ppm.
        assert!(!drift.is_compensated, "{drift:?}");
        assert!(drift.parts_per_million.abs() < 1.0, "{drift:?}");
    }

    #[test]
    fn minima_of_a_long_capture_stay_few() {
        let mut there = DelayFloor::new();
        for packet in 0..100_000 {
            there.observe(Instant::from_secs(packet), 5);
        }
        assert!(there.bins.len() <= BINS);
        there.observe(Instant::MAX, 5);
        assert!(there.bins.len() <= BINS);
    }
}
