//! Writes at given times.

use fairwind_units::{Instant, Span};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Write {
    /// When, since the application began.
    pub after: Span,
    /// How many bytes, one or more.
    pub bytes: u64,
}

/// Writes what another application wrote, at the same distances in time, and is then finished.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Replay {
    /// In the order of their times.
    writes: Arc<[Write]>,
    /// How many are written.
    written: usize,
    /// When it began; [`Instant::MAX`] before, and after its end.
    begun: Instant,
}

impl Replay {
    /// An application that makes these writes, which are in the order of their times.
    pub fn new(writes: Arc<[Write]>) -> Self {
        Self { writes, written: 0, begun: Instant::MAX }
    }

    pub(crate) fn begin(&mut self, now: Instant) {
        self.begun = now;
    }

    pub(crate) fn end(&mut self) {
        self.written = self.writes.len();
    }

    pub(crate) fn next_write(&self) -> Instant {
        self.writes.get(self.written).map_or(Instant::MAX, |write| self.begun + write.after)
    }

    pub(crate) fn poll_write(&mut self, now: Instant) -> Option<u64> {
        if self.next_write() > now {
            return None;
        }
        let bytes = self.writes.get(self.written)?.bytes;
        self.written += 1;
        Some(bytes)
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.written == self.writes.len()
    }
}
