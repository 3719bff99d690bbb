//! Amounts per window of time, in a bounded number of windows.
//!
//! How long a flow lives is known at its end only. So windows begin short, and whenever there are too
//! many, each pair becomes one of twice the length.

use fairwind_units::{Instant, Span};

/// Length of a window in the beginning.
const SHORTEST: Span = Span::from_millis(1);

/// Bytes per window.
#[derive(Debug, Clone)]
pub(super) struct Rates {
    begin: Option<Instant>,
    window: Span,
    bytes: Vec<u64>,
    limit: usize,
}

impl Rates {
    /// Nothing yet, in at most `limit` windows (at least two).
    pub(super) const fn new(limit: usize) -> Self {
        let limit = if limit < 2 { 2 } else { limit };
        Self { begin: None, window: SHORTEST, bytes: Vec::new(), limit }
    }

    /// Adds bytes; what lies before the first instant counts in the first window.
    pub(super) fn add(&mut self, at: Instant, bytes: u64) {
        let begin = *self.begin.get_or_insert(at);
        let mut place = self.place(at, begin);
        while place >= self.limit {
            self.halve();
            place = self.place(at, begin);
        }
        if place >= self.bytes.len() {
            self.bytes.resize(place + 1, 0);
        }
        self.bytes[place] = self.bytes[place].saturating_add(bytes);
    }

    /// The beginning of each window, and its rate in bits per second.
    pub(super) fn bits_per_second(&self) -> impl Iterator<Item = (Instant, u64)> {
        let begin = self.begin.unwrap_or(Instant::ZERO).as_nanos();
        let window = self.window.as_nanos();
        self.bytes.iter().zip(0_u64..).map(move |(&bytes, place)| {
            let at = begin.saturating_add(place.saturating_mul(window));
            let bits = u128::from(bytes) * 8 * 1_000_000_000 / u128::from(window);
            (Instant::from_nanos(at), u64::try_from(bits).unwrap_or(u64::MAX))
        })
    }

    fn place(&self, at: Instant, begin: Instant) -> usize {
        let place = at.saturating_since(begin).as_nanos() / self.window.as_nanos();
        usize::try_from(place).unwrap_or(usize::MAX)
    }

    fn halve(&mut self) {
        self.window = self.window.saturating_mul(2);
        self.bytes = self
            .bytes
            .chunks(2)
            .map(|pair| pair.iter().fold(0, |sum: u64, bytes| sum.saturating_add(*bytes)))
            .collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_of_short_windows_are_bytes_times_eight_over_their_length() {
        let mut rates = Rates::new(10);
        rates.add(Instant::from_millis(5), 1000);
        rates.add(Instant::from_millis(6), 500);
        rates.add(Instant::from_millis(8), 250);
        let found: Vec<_> = rates.bits_per_second().collect();
        let at = Instant::from_millis;
        // 1000 bytes in a millisecond are 8 Mbit/s.
        let expected = [(at(5), 8_000_000), (at(6), 4_000_000), (at(7), 0), (at(8), 2_000_000)];
        assert_eq!(found, expected);
    }

    #[test]
    fn windows_grow_so_that_no_byte_is_lost_after_a_year_of_silence() {
        let mut rates = Rates::new(10);
        for second in 0..100 {
            rates.add(Instant::from_secs(second), 125);
        }
        rates.add(Instant::from_secs(365 * 24 * 3600), 125);
        rates.add(Instant::from_nanos(u64::MAX), 125);
        assert!(rates.bytes.len() <= 10);
        assert_eq!(rates.bytes.iter().sum::<u64>(), 102 * 125);
    }

    #[test]
    fn a_clock_that_runs_back_before_the_first_instant_counts_at_the_beginning() {
        let mut rates = Rates::new(10);
        rates.add(Instant::from_secs(9), 100);
        rates.add(Instant::from_secs(1), 100);
        assert_eq!(
            rates.bits_per_second().collect::<Vec<_>>(),
            [(Instant::from_secs(9), 1_600_000)]
        );
    }
}
