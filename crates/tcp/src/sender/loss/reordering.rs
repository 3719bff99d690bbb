//! Reordering degree, and duplicate ACKs without SACK.
//!
//! Source: Linux `tcp_check_sack_reordering`, `tcp_check_reno_reordering`, `tcp_add_reno_sack`,
//! `tcp_remove_reno_sacks`; RFC 6582 §3.2.

use crate::config::{Config, ReorderingDetection};
use crate::sender::queue::SendQueue;

/// How many segments may overtake one before it counts as lost (`reordering`, `DupThresh`).
#[derive(Debug)]
pub(crate) struct Reordering {
    /// Duplicate ACKs that prove a loss: the configured number, or more where reordering was seen.
    threshold: u32,
    /// How often reordering was seen.
    events: u32,
    detection: ReorderingDetection,
}

impl Reordering {
    pub(crate) fn new(config: &Config) -> Self {
        Self { threshold: config.duplicate_threshold, events: 0, detection: config.loss.reordering }
    }

    /// Follows changed settings.
    #[inline]
    pub(crate) fn reconfigure(&mut self, config: &Config) {
        self.detection = config.loss.reordering;
    }

    /// Duplicate ACKs, or selectively acknowledged segments, that prove a loss.
    #[inline]
    pub(crate) fn threshold(&self) -> u32 {
        self.threshold
    }

    /// Sets the threshold to what an earlier connection has found.
    #[inline]
    pub(crate) fn set_threshold(&mut self, threshold: u32) {
        self.threshold = threshold;
    }

    /// So many duplicates, and still a time-out: reordering was overestimated.
    #[inline]
    pub(crate) fn lower_to(&mut self, threshold: u32) {
        self.threshold = self.threshold.min(threshold);
    }

    /// How often reordering was seen.
    #[inline]
    pub(crate) fn events(&self) -> u32 {
        self.events
    }

    /// Whether reordering was seen.
    #[inline]
    pub(crate) fn is_seen(&self) -> bool {
        self.events > 0
    }

    /// A segment arrived after one that was sent so many segments later.
    pub(crate) fn on_distance(&mut self, segments: u32) {
        let ReorderingDetection::Measured { greatest } = self.detection else { return };
        if segments > self.threshold {
            self.threshold = segments.min(greatest);
        }
        self.events += 1;
    }

    /// There were more duplicate ACKs than segments that can have arrived.
    fn on_excess_duplicates(&mut self, outstanding: u32) {
        let ReorderingDetection::Measured { greatest } = self.detection else { return };
        self.threshold = outstanding.min(greatest);
        self.events += 1;
    }
}

/// Duplicate ACKs of a connection without SACK, as segments that left the network.
#[derive(Debug, Default)]
pub(crate) struct DuplicateAcks {
    count: u32,
}

impl DuplicateAcks {
    /// How many there are.
    #[inline]
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// New data was acknowledged, or a time-out ran out: none counts any more.
    #[inline]
    pub(crate) fn reset(&mut self) {
        self.count = 0;
    }

    /// Two segments were merged.
    #[inline]
    pub(crate) fn on_collapsed(&mut self) {
        self.count = self.count.saturating_sub(1);
    }

    /// Counts duplicate ACKs, each for a segment that has arrived. Returns how many arrived.
    pub(crate) fn add(
        &mut self,
        duplicates: u32,
        queue: &SendQueue,
        reordering: &mut Reordering,
    ) -> u32 {
        if duplicates == 0 {
            return 0;
        }
        let before = self.count;
        self.count += duplicates;
        self.limit(0, queue, reordering);
        self.count.saturating_sub(before)
    }

    /// Of `acknowledged` segments one filled the hole, the others were the duplicates. Returns how
    /// many arrived that no duplicate had reported.
    pub(crate) fn remove(
        &mut self,
        acknowledged: u32,
        queue: &SendQueue,
        reordering: &mut Reordering,
    ) -> u32 {
        let arrived = acknowledged.saturating_sub(self.count).max(1);
        self.count = self.count.saturating_sub(acknowledged.saturating_sub(1));
        self.limit(acknowledged, queue, reordering);
        arrived
    }

    /// At least the holes have not arrived: more duplicates than that show reordering.
    fn limit(&mut self, acknowledged: u32, queue: &SendQueue, reordering: &mut Reordering) {
        let outstanding = queue.outstanding();
        let holes = queue.lost().max(1).min(outstanding);
        if self.count + holes > outstanding {
            self.count = outstanding - holes;
            reordering.on_excess_duplicates(outstanding + acknowledged);
        }
    }
}
