//! When a link serialises: one packet after another, exact in the long run.

use fairwind_units::{BitRate, ByteCount, Instant};

/// Serialises packets one after another at a rate, or in no time without one.
///
/// A fraction of a nanosecond that a packet leaves over is carried to the next one for as long as
/// the transmitter stays busy, so `n` packets back to back take `n * size * 8 / rate` rounded down
/// once, not `n` times.
pub(crate) struct Transmitter {
    rate: Option<BitRate>,
    overhead_bytes: u32,
    busy_until: Instant,
    /// In units of `1 / rate` nanoseconds, less than one nanosecond.
    remainder: u64,
    /// A division costs as much as the rest of an acceptance, and sizes repeat: the last large
    /// packet's work, and the last small one's, as data and acknowledgments often share a link.
    repeated: [Work; 2],
}

/// Nanoseconds that `bytes` take, with the remainder in units of `1 / rate` nanoseconds.
#[derive(Clone, Copy, Default)]
struct Work {
    bytes: u64,
    nanos: u64,
    remainder: u64,
}

/// When a packet is being serialised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Service {
    pub(crate) start: Instant,
    pub(crate) end: Instant,
}

/// IP packets from this size on share a slot of remembered work.
const LARGE_BYTES: u64 = 256;

impl Transmitter {
    pub(crate) fn new(rate: Option<BitRate>, overhead_bytes: u32) -> Self {
        Self {
            rate,
            overhead_bytes,
            busy_until: Instant::ZERO,
            remainder: 0,
            repeated: [Work::default(); 2],
        }
    }

    /// Takes a packet of `wire_bytes` that is ready at `at`, to be served after all taken before.
    #[inline]
    pub(crate) fn transmit(&mut self, at: Instant, wire_bytes: u32) -> Service {
        // With a remainder the true end of the last service lies after `busy_until`, so an arrival
        // at that very nanosecond still found the transmitter busy.
        if at > self.busy_until {
            self.remainder = 0;
        }
        let start = self.busy_until.max(at);
        let end = match self.rate {
            Some(rate) => {
                let bytes = u64::from(wire_bytes) + u64::from(self.overhead_bytes);
                Instant::from_nanos(start.as_nanos().saturating_add(self.nanos(rate, bytes)))
            }
            None => start,
        };
        self.busy_until = end;
        Service { start, end }
    }

    #[inline]
    fn nanos(&mut self, rate: BitRate, bytes: u64) -> u64 {
        let work = self.work(rate, bytes);
        let until_whole = rate.as_bits_per_second() - work.remainder;
        if self.remainder >= until_whole {
            self.remainder -= until_whole;
            work.nanos.saturating_add(1)
        } else {
            self.remainder += work.remainder;
            work.nanos
        }
    }

    #[inline]
    fn work(&mut self, rate: BitRate, bytes: u64) -> Work {
        let slot = &mut self.repeated[usize::from(bytes >= LARGE_BYTES)];
        if slot.bytes != bytes {
            let (nanos, remainder) = rate.serialisation(ByteCount::new(bytes), 0);
            *slot = Work { bytes, nanos, remainder };
        }
        *slot
    }
}
