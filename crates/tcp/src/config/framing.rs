//! How small windows are cut.

/// Smart framing: a window of fewer full segments is cut into so many smaller ones, that a loss among
/// them be found by duplicate acknowledgments.
///
/// Source: M. Mellia, M. Meo, C. Casetti, "TCP Smart Framing: A Segmentation Algorithm to Reduce TCP
/// Latency", IEEE/ACM Transactions on Networking 13(2), 2005.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SmartFraming {
    /// Segments that a small window is cut into.
    pub segments: u32,
}

impl SmartFraming {
    /// Four segments: one that is lost, and three behind it.
    pub const USUAL: Self = Self { segments: 4 };
}
