//! What has been received so far, for `TCP_INFO`.

use fairwind_wire::Segment;

/// Counters of the receiving half.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Received {
    /// Segments, with data or without (`tcpi_segs_in`).
    pub(crate) segments: u32,
    /// Segments with data (`tcpi_data_segs_in`).
    pub(crate) data_segments: u32,
    /// Segments ahead of their turn (`tcpi_rcv_ooopack`).
    pub(crate) out_of_order_segments: u32,
}

impl Received {
    #[inline]
    pub(crate) fn count(&mut self, segment: &Segment) {
        self.segments = self.segments.wrapping_add(1);
        self.data_segments = self.data_segments.wrapping_add(u32::from(segment.payload_bytes > 0));
    }
}
