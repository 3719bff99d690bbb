//! What comes of an analysis.

use super::source::FrameCounts;
use crate::trace::FlowTrace;
use fairwind_capture::{Notes, Packet};
use fairwind_measure::Tables;
use fairwind_units::Instant;

/// Everything that an analysis has found.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The tables, without the rows that were taken before.
    pub tables: Tables,
    /// The points of connections that are drawn, which the table `traces` has as well.
    pub traces: Vec<FlowTrace>,
    /// What was odd about each input.
    pub notes: Vec<Notes>,
    /// What else is known.
    pub facts: CaptureFacts,
}

/// What is known of the captures as a whole.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct CaptureFacts {
    /// What times in tables count from: the first TCP packet.
    pub origin: Instant,
    /// The latest TCP packet.
    pub last: Instant,
    /// Frames of each tap; none where packets do not come out of frames.
    pub frames: [FrameCounts; 2],
    /// TCP packets of each tap.
    pub packets: [u64; 2],
    /// Their bytes on the link.
    pub wire_bytes: [u64; 2],
    /// TCP packets before or after the time that was asked for.
    pub outside: u64,
    /// Packets of no connection, which begin none: resets.
    pub strays: u64,
    /// Timestamps that were a day ahead of the one before, or more than a second behind.
    pub clock_steps: u64,
    /// Connections of two captures that only one of them has; they are analysed by that one.
    pub one_sided: u64,
    /// What was taken from the second tap's timestamps to have them by the first one's clock, in
    /// nanoseconds; `None` where there is one clock, or one tap.
    pub clock_offset_nanos: Option<i64>,
    /// Packets that were found in both captures, of those that were compared to estimate the offset: a few
    /// thousand are enough.
    pub clock_packets: u64,
    /// Packets between two taps in windows that are too many to be kept, so that they are in no row of losses
    /// over time: the windows are too short.
    pub beyond_windows: u64,
    /// Connections that were to be traced, and were not because they were too many.
    pub untraced: u64,
    /// Connections that there were, but for those that were over before anything counted.
    pub connections: u64,
    /// The most connections that were open at once.
    pub most_open: u64,
}

impl CaptureFacts {
    pub(super) fn count(&mut self, tap: usize, taken: &Taken) {
        self.last = self.last.max(taken.last);
        self.packets[tap & 1] += taken.packets;
        self.wire_bytes[tap & 1] += taken.wire_bytes;
    }
}

/// Packets of one tap that were taken in a row.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Taken {
    last: Instant,
    pub(super) packets: u64,
    wire_bytes: u64,
}

impl Taken {
    #[inline]
    pub(super) fn count(&mut self, at: Instant, packet: &Packet) {
        self.last = self.last.max(at);
        self.packets += 1;
        self.wire_bytes += u64::from(packet.wire_bytes);
    }
}
