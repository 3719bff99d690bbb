//! What the streams of a group have counted together.
//!
//! A single tap sees one direction of a connection leave and the other one arrive. Of what arrives it measures
//! the way from itself to the receiver and back, next to nothing, which must not be mixed with round
//! trips. So times until an answer are those of streams that were seen leaving, where there are any.

use super::kind::TapSide;
use super::measures::StreamMeasures;

/// The sums of a group.
#[derive(Debug, Clone, Default)]
pub struct GroupMeasures {
    leaving: StreamMeasures,
    arriving: StreamMeasures,
}

impl GroupMeasures {
    /// Adds a stream that was seen from there.
    pub fn add(&mut self, side: TapSide, measures: &StreamMeasures) {
        match side {
            TapSide::Sender => self.leaving.merge(measures),
            TapSide::Receiver => self.arriving.merge(measures),
        }
    }

    /// Of all streams together; times until an answer of those that were seen leaving, if these tell any.
    pub fn sum(&self) -> StreamMeasures {
        let mut sum = self.arriving.clone();
        sum.forget_answers_beside(&self.leaving);
        sum.merge(&self.leaving);
        sum
    }
}
