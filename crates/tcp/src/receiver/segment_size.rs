//! Estimate of the peer's segment size (`rcv_mss`).
//!
//! Source: Linux 6.18 `tcp_measure_rcv_mss`, `tcp_initialize_rcv_mss`.

use fairwind_wire::{Flags, Segment, TCP_HEADER_BYTES};

/// Assumed before a segment was seen (`TCP_MSS_DEFAULT`).
const ASSUMED: u32 = 536;
/// Least size (`TCP_MIN_MSS`).
const LEAST: u32 = 88;

/// An estimate of the peer's segment size.
#[derive(Debug)]
pub(crate) struct SegmentSize {
    /// The estimate in bytes of payload (`rcv_mss`).
    estimate: u32,
    /// Size of the segment before, where it may have been full-sized though smaller.
    last: u32,
}

/// How large a segment is, compared to the estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SizeClass {
    /// Another full size than was assumed.
    NewFull,
    /// As full as was assumed.
    Full,
    /// Less than full-sized.
    Small,
    /// The same smaller size twice in a row: that is the peer's full size now.
    Shrunk,
}

/// The first estimate for segments of at most `largest` bytes and a window of so many.
pub(crate) fn first_segment_size(largest: u32, window: u32) -> u32 {
    largest.min(window / 2).clamp(LEAST, ASSUMED)
}

impl SegmentSize {
    pub(crate) fn new() -> Self {
        Self { estimate: ASSUMED, last: 0 }
    }

    /// The estimate in bytes of payload (`rcv_mss`).
    #[inline]
    pub(crate) fn estimate(&self) -> u32 {
        self.estimate
    }

    /// Starts anew once the peer's SYN is known.
    pub(crate) fn begin(&mut self, largest: u32, window: u32) {
        *self = Self { estimate: first_segment_size(largest, window), last: 0 };
    }

    /// Learns from a segment with payload (or FIN); `own_mss` bounds the estimate.
    #[inline]
    pub(crate) fn on_segment(&mut self, segment: &Segment, own_mss: u32, steady: u32) -> SizeClass {
        let length = segment.payload_bytes;
        let last = std::mem::take(&mut self.last);
        if length >= self.estimate {
            let size_class =
                if length == self.estimate { SizeClass::Full } else { SizeClass::NewFull };
            self.estimate = length.min(own_mss);
            return size_class;
        }
        self.on_small(segment, last, steady)
    }

    /// A smaller one may be full-sized all the same: SACK blocks vary, small links exist. `steady`
    /// is the header that every segment has.
    #[inline]
    fn on_small(&mut self, segment: &Segment, last: u32, steady: u32) -> SizeClass {
        let with_header = segment.payload_bytes + segment.header_bytes();
        let unmarked = !segment.flags.intersects(Flags::FIN | Flags::URG | Flags::SYN | Flags::PSH);
        let likely_full = with_header >= ASSUMED + TCP_HEADER_BYTES
            || unmarked && with_header >= LEAST + TCP_HEADER_BYTES;
        if likely_full {
            let size = with_header - steady;
            self.last = size;
            if size == last {
                self.estimate = size;
                return SizeClass::Shrunk;
            }
        }
        SizeClass::Small
    }
}
