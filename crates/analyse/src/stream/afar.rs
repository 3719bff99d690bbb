//! What a tap near the receiver knows of the sender: its round trip, from what answers an acknowledgment.
//!
//! Source: RFC 7323 §4.1 (the echo names the acknowledgment that was seen last), and the third packet of the
//! set-up, which answers SYN-ACK. A sender that waits for its application answers late; so the least of some
//! samples counts, and what is more than twice the least of all tells nothing.

use super::repeats::is_earlier;
use super::timeout::TimeoutEstimate;
use fairwind_units::{Instant, Span};
use fairwind_wire::{Flags, Segment};

/// Round-trip time of the sender, sampled at a tap near the receiver.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ReceiverSideRtt {
    /// Timestamp value of an acknowledgment that waits for its echo, and when it left.
    pending_stamp: Option<(u32, Instant)>,
    /// When SYN-ACK left, if it was sent once.
    syn_ack_at: Option<Instant>,
    has_repeated_syn_ack: bool,
    /// The minimum of the samples of this round, and their number.
    minimum: Span,
    samples: u8,
    /// When a late segment last filled a gap, and the offset behind that gap.
    filled_at: Instant,
    filled_end: u64,
}

/// Samples whose minimum counts as one.
const ROUND_SAMPLES: u8 = 8;

impl ReceiverSideRtt {
    /// An acknowledgment leaves the receiver.
    #[cold]
    pub(super) fn on_ack_sent(&mut self, at: Instant, segment: &Segment) {
        if segment.flags.contains(Flags::SYN) {
            self.has_repeated_syn_ack |= self.syn_ack_at.is_some();
            self.syn_ack_at = Some(at).filter(|_| !self.has_repeated_syn_ack);
        }
        if self.pending_stamp.is_none() {
            self.pending_stamp = segment.options.timestamps.map(|stamps| (stamps.value, at));
        }
    }

    /// A segment of the sender arrives; `acknowledged` and `highest` are offsets for [`TimeoutEstimate::sample`].
    #[cold]
    pub(super) fn on_segment(
        &mut self,
        at: Instant,
        segment: &Segment,
        timeout: &mut TimeoutEstimate,
        (acknowledged, highest): (u64, u64),
    ) {
        if segment.flags.contains(Flags::SYN) {
            return;
        }
        if let Some(syn_ack_at) = self.syn_ack_at.take() {
            timeout.sample(at.saturating_since(syn_ack_at), acknowledged, highest);
        }
        let (Some((value, left_at)), Some(stamps)) =
            (self.pending_stamp, segment.options.timestamps)
        else {
            return;
        };
        if stamps.echo == value
            && let Some(rtt) = self.sample(at.saturating_since(left_at), timeout.least())
        {
            timeout.sample(rtt, acknowledged, highest);
        }
        if stamps.echo == value || is_earlier(value, stamps.echo) {
            self.pending_stamp = None;
        }
    }

    /// The minimum of a round of samples, when it is complete.
    fn sample(&mut self, rtt: Span, least: Option<Span>) -> Option<Span> {
        if least.is_some_and(|least| rtt > least * 2) {
            return None;
        }
        self.minimum = if self.samples == 0 { rtt } else { self.minimum.min(rtt) };
        self.samples += 1;
        if self.samples < ROUND_SAMPLES {
            return None;
        }
        self.samples = 0;
        Some(self.minimum)
    }

    /// A late segment has filled a gap that ended before `end`.
    pub(super) const fn on_gap_filled(&mut self, at: Instant, end: u64) {
        self.filled_at = at;
        self.filled_end = end;
    }

    /// Whether the receiver may have reported something before `end` as lost, because it came late.
    pub(super) fn was_filled_late(&self, at: Instant, end: u64, smoothed: Span) -> bool {
        end <= self.filled_end && at.saturating_since(self.filled_at) <= smoothed * 2
    }
}
