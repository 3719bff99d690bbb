//! Which windows of a series have rows though nothing happened in them.
//!
//! Silence belongs to a series: a rate of nothing is a rate. But a clock that leaps by a day, or a capture of
//! a few packets a day, must not make millions of rows of nothing. So silence has an allowance: a stretch
//! that is within it has its rows and uses it up, one that is not is left out as a whole. Each window in
//! which something happened adds to the allowance, so that streams of few packets are shown throughout.
//! Rows of silence are then never more than the allowance, and a 32nd of it for each window in which something
//! happened: of the usual allowance 4096 rows, with windows of a second and one series more than an hour.

/// The part of the allowance that each window in which something happened adds.
const PART: u64 = 32;

/// The allowance of one series.
///
/// ```
/// use fairwind_measure::Silence;
///
/// let mut silence = Silence::of_rows(Some(320));
/// // Of two scopes: 300 rows, then 30 of the 20 that are left.
/// assert!(silence.shows(150, 2));
/// assert!(!silence.shows(15, 2));
/// silence.end();
/// assert!(silence.shows(15, 2));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmptyRowBudget {
    left: u64,
    most: u64,
}

impl EmptyRowBudget {
    /// An allowance for captures: with windows of a second and one series a day and a half, with windows of
    /// 100 ms and three series more than an hour.
    pub const DEFAULT_ROWS: u64 = 1 << 17;

    /// An allowance of `most` rows; `None` shows all silence.
    pub const fn with_rows(most: Option<u64>) -> Self {
        let most = match most {
            Some(most) => most,
            None => u64::MAX,
        };
        Self { left: most, most }
    }

    /// Whether a stretch of so many windows, each of which has so many rows, is shown; if so, that uses it up.
    pub const fn shows(&mut self, windows: u64, rows: u64) -> bool {
        if self.most == u64::MAX {
            return true;
        }
        match self.left.checked_sub(windows.saturating_mul(rows)) {
            Some(left) => {
                self.left = left;
                true
            }
            None => false,
        }
    }

    /// Something happens in a window.
    pub const fn end(&mut self) {
        let left = self.left.saturating_add(self.most / PART);
        self.left = if left < self.most { left } else { self.most };
    }
}
