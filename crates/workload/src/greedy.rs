//! An application that always has more to send.

use serde::{Deserialize, Serialize};

/// Bytes of one write.
pub(crate) const WRITE_BYTES: u64 = 64 << 10;
/// A greedy application writes again when fewer bytes than this are unsent.
pub(crate) const LOW_WATER_BYTES: u64 = 32 << 10;

/// Writes 64 KiB whenever fewer than 32 KiB are unsent, until its volume is written. This is what a
/// sender with a low-water mark for unsent data does (`TCP_NOTSENT_LOWAT`): the network, not the
/// send buffer, is where its data waits.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Greedy {
    /// Bytes left to write; `None` for endless.
    remaining: Option<u64>,
    /// Fewer unsent bytes than these ask for more; none before the connection is open.
    low_water_bytes: u64,
}

impl Greedy {
    /// An application with `volume` bytes to send, or endlessly many.
    pub fn new(volume: Option<u64>) -> Self {
        Self { remaining: volume, low_water_bytes: 0 }
    }

    /// The connection is open: writing begins.
    pub(crate) fn begin(&mut self) {
        self.low_water_bytes = LOW_WATER_BYTES;
    }

    /// Whether everything is written.
    pub fn is_finished(&self) -> bool {
        self.remaining == Some(0)
    }

    /// Bytes to write now, given what is unsent.
    #[inline]
    pub(crate) fn poll_write(&mut self, unsent: u64) -> Option<u64> {
        if unsent >= self.low_water_bytes {
            return None;
        }
        match &mut self.remaining {
            None => Some(WRITE_BYTES),
            Some(0) => None,
            Some(remaining) => {
                let bytes = WRITE_BYTES.min(*remaining);
                *remaining -= bytes;
                Some(bytes)
            }
        }
    }
}
