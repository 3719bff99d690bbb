//! Old data that travels along with new data.

use fairwind_units::Span;

/// Redundant data bundling (RDB): a segment of new data carries, before it, what was sent shortly before
/// and is not acknowledged yet, as far as that fits; only while few segments are in flight.
///
/// Source: B. R. Opstad et al., "Latency and Fairness Trade-Off for Thin Streams using Redundant Data
/// Bundling in TCP", LCN 2015; the authors' changes to Linux, whose parameters these are. No kernel
/// that was released has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RedundantBundling {
    /// Most payload of a segment with old data in bytes (`tcp_rdb_max_bytes`); `None` for a full
    /// segment.
    pub most_bytes: Option<u32>,
    /// Most older segments that one carries (`tcp_rdb_max_packets`); `None` for as many as fit.
    pub most_segments: Option<u32>,
    /// A stream is thin while fewer segments are in flight than a sender has that writes so often within
    /// the least round trip (`tcp_thin_dpifl_itt_lower_bound`). More than zero.
    pub least_interval: Span,
}

impl RedundantBundling {
    /// The authors' defaults: one older segment, up to a full segment, streams that write every 10 ms
    /// or less often.
    pub const USUAL: Self =
        Self { most_bytes: None, most_segments: Some(1), least_interval: Span::from_millis(10) };
}
