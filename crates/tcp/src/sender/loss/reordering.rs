//! How far segments overtake each other, and what duplicates tell without SACK.
//!
//! Source: Linux `tcp_check_sack_reordering`, `tcp_check_reno_reordering`, `tcp_add_reno_sack`,
//! `tcp_remove_reno_sacks`; RFC 6582 §3.2.

use crate::config::ReorderingDetection;
use crate::sender::Sender;
use fairwind_wire::SequenceNumber;

impl Sender {
    /// A segment at `lowest` arrived after one that ends at `highest`: so far do they overtake.
    #[cold]
    pub(crate) fn update_reordering(&mut self, lowest: SequenceNumber, highest: SequenceNumber) {
        let ReorderingDetection::Measured { greatest } = self.config.loss.reordering else {
            return;
        };
        if !lowest.is_before(highest) {
            return;
        }
        let segments = highest.distance_from(lowest).div_ceil(self.segment_bytes);
        if segments > self.recovery.threshold {
            self.recovery.threshold = segments.min(greatest);
        }
        self.recovery.reorderings += 1;
    }

    /// End of the highest segment that was selectively acknowledged.
    #[inline]
    pub(crate) fn highest_sacked(&self) -> SequenceNumber {
        if self.negotiated.has_sack() {
            self.scoreboard.highest_end(&self.queue, self.send.oldest_unacked)
        } else {
            self.send.oldest_unacked
        }
    }

    /// Without SACK every duplicate ACK stands for a segment that has arrived. Returns how many did.
    pub(super) fn count_duplicates(&mut self, duplicates: u32) -> u32 {
        if duplicates == 0 {
            return 0;
        }
        let before = self.recovery.duplicates;
        self.recovery.duplicates += duplicates;
        self.limit_duplicates(0);
        let arrived = self.recovery.duplicates.saturating_sub(before);
        self.recovery.delivered = self.recovery.delivered.wrapping_add(arrived);
        arrived
    }

    /// Of `acknowledged` segments one filled the hole, the others were the duplicates. Returns how
    /// many arrived that no duplicate had told of.
    pub(crate) fn remove_duplicates(&mut self, acknowledged: u32) -> u32 {
        let arrived = acknowledged.saturating_sub(self.recovery.duplicates).max(1);
        self.recovery.duplicates =
            self.recovery.duplicates.saturating_sub(acknowledged.saturating_sub(1));
        self.limit_duplicates(acknowledged);
        arrived
    }

    /// At least the holes have not arrived: more duplicates than that tell of reordering.
    fn limit_duplicates(&mut self, acknowledged: u32) {
        let outstanding = self.queue.outstanding();
        let holes = self.queue.lost().max(1).min(outstanding);
        if self.recovery.duplicates + holes <= outstanding {
            return;
        }
        self.recovery.duplicates = outstanding - holes;
        if let ReorderingDetection::Measured { greatest } = self.config.loss.reordering {
            self.recovery.threshold = (outstanding + acknowledged).min(greatest);
            self.recovery.reorderings += 1;
        }
    }
}
