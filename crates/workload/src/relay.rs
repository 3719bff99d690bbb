//! A relay: what it reads on one connection it writes on another.
//!
//! It holds a bounded number of bytes, and nothing is read for it beyond them: where the second connection is
//! the slower one, the first one's window closes, and its sender waits.

use crate::greedy::{LOW_WATER_BYTES, WRITE_BYTES};
use serde::{Deserialize, Serialize};

/// Writes on a connection what was read on another one, at most 64 KiB at once and while fewer than 32 KiB are
/// unsent; whatever else it has read waits in its buffer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Relay {
    /// Bytes that may wait.
    buffer_bytes: u64,
    /// Bytes that were read and not written.
    held_bytes: u64,
    /// Fewer unsent bytes than these let it write; none before its own connection is open.
    low_water_bytes: u64,
    /// Nothing more will be read for it.
    has_ended: bool,
}

impl Relay {
    /// A relay that holds at most `buffer_bytes`.
    pub fn new(buffer_bytes: u64) -> Self {
        Self { buffer_bytes, held_bytes: 0, low_water_bytes: 0, has_ended: false }
    }

    /// How many bytes may be read for it now.
    pub fn room(&self) -> u64 {
        self.buffer_bytes.saturating_sub(self.held_bytes)
    }

    /// So many bytes were read on the connection that it relays.
    pub fn on_relayed(&mut self, bytes: u64) {
        self.held_bytes += bytes;
    }

    /// Its own connection is open: writing begins.
    pub(crate) fn begin(&mut self) {
        self.low_water_bytes = LOW_WATER_BYTES;
    }

    /// The connection that it relays has ended: what it holds is still written.
    pub(crate) fn end(&mut self) {
        self.has_ended = true;
    }

    /// Whether something waits for room in the socket.
    pub(crate) fn is_filling(&self) -> bool {
        self.held_bytes > 0
    }

    /// Whether all that was and will be read is written.
    pub(crate) fn is_finished(&self) -> bool {
        self.has_ended && self.held_bytes == 0
    }

    /// Bytes to write now, given what is unsent.
    pub(crate) fn poll_write(&mut self, unsent: u64) -> Option<u64> {
        if self.held_bytes == 0 || unsent >= self.low_water_bytes {
            return None;
        }
        let bytes = WRITE_BYTES.min(self.held_bytes);
        self.held_bytes -= bytes;
        Some(bytes)
    }
}
