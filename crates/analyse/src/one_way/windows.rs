//! Loss over time: what was sent in each window, and what of it was lost, whenever that became known.

/// What departed in one window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LossWindow {
    /// Packets.
    pub packets_sent: u64,
    /// Payload bytes.
    pub bytes_sent: u64,
    /// Payload bytes that had been sent before.
    pub old_bytes_sent: u64,
    /// Ranges whose fate is known.
    pub ranges_sent: u64,
    /// Packets of which nothing arrived.
    pub packets_lost: u64,
    /// Payload bytes that did not arrive.
    pub bytes_lost: u64,
    /// Those of them that had been sent before.
    pub old_bytes_lost: u64,
    /// Ranges that did not arrive.
    pub ranges_lost: u64,
}
