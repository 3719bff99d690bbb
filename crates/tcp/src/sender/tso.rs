//! Bundles of segments that are sent as one, and when one waits to become larger.
//!
//! Source: Linux `tcp_tso_autosize`, `tcp_tso_segs`, `tcp_tso_should_defer`, `tcp_cwnd_test`.
//! Cost per bundle: one or two divisions.

use crate::config::{Bundling, Gathering};
use crate::sender::Sender;
use crate::state::RecoveryState;
use fairwind_units::{Instant, Span};

/// After a longer pause nothing waits; an acknowledgment further away is not waited for either.
const PATIENCE: Span = Span::from_millis(1);

impl Sender {
    /// Segments of the largest bundle at the present rate (Linux `tcp_tso_segs`).
    #[inline]
    pub(super) fn most_bundled(&self, full: u32) -> u32 {
        let Some(bundling) = &self.config.sending.bundling else { return 1 };
        let largest = match self.config.sending.gathering {
            Gathering::Buffers { largest_bytes } => largest_bytes,
            Gathering::Stream => u32::MAX,
        };
        let mut bytes = self.pacer.rate() >> bundling.pacing_shift;
        if let (Some(log), Some(least_rtt)) = (bundling.rtt_log, self.rtt.minimum()) {
            let halvings = least_rtt.as_micros() >> log;
            if halvings < 32 {
                bytes = bytes.saturating_add(u64::from(largest >> halvings));
            }
        }
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX).min(largest);
        (bytes / full).max(bundling.least_segments)
    }

    /// Of `room` segments that the window has, those that one bundle may take.
    #[inline]
    pub(super) fn bundle_quota(&self, room: u32) -> u32 {
        match &self.config.sending.bundling {
            Some(bundling) if bundling.half_window => room.min((self.window.segments() / 2).max(1)),
            _ => room,
        }
    }

    /// Whether the first buffer, of `first` bytes and more than a segment, waits for room for a
    /// larger bundle: only where an acknowledgment will bring it soon.
    #[inline]
    pub(super) fn waits_for_larger_bundle(
        &mut self,
        first: u32,
        room: u32,
        most: u32,
        now: Instant,
    ) -> bool {
        let Some(bundling) = self.config.sending.bundling else { return false };
        if matches!(self.recovery.state(), RecoveryState::Recovery | RecoveryState::Loss)
            || bundling.by_time && self.send.last_transmitted() + PATIENCE < now
        {
            return false;
        }
        let full = self.segment_bytes;
        let peer_room = self.usable_window();
        let window_room = room.saturating_mul(full);
        let limit = peer_room.min(window_room);
        if limit >= most.saturating_mul(full)
            || limit >= first && !self.written.is_first_last()
            || self.is_fair_share(limit, full, &bundling)
            || bundling.by_time && !self.is_acknowledgment_near(now)
        {
            return false;
        }
        if window_room < peer_room && window_room <= first {
            self.budget.note_window_limit();
            return true;
        }
        if window_room >= peer_room && peer_room <= first {
            self.budget.note_peer_limit();
            return true;
        }
        // It will not get larger.
        !(self.written.is_first_sealed()
            || self.written.is_fin_waiting() && self.written.is_first_last())
    }

    /// Whether `limit` bytes are a good part of the window.
    #[inline]
    fn is_fair_share(&self, limit: u32, full: u32, bundling: &Bundling) -> bool {
        match bundling.window_divisor {
            Some(divisor) => {
                let window =
                    self.peer_window.bytes().min(self.window.segments().saturating_mul(full));
                is_at_least_part(limit, window, divisor)
            }
            None => limit > 3 * full,
        }
    }

    /// Whether the acknowledgment of the oldest segment is due within half a round trip and within
    /// a millisecond.
    #[inline]
    fn is_acknowledgment_near(&self, now: Instant) -> bool {
        let Some(head) = self.queue.front() else { return false };
        let smoothed = self.rtt.smoothed().unwrap_or_default();
        let expected = head.transmitted_at() + smoothed;
        expected.saturating_since(now) <= (smoothed / 2).min(PATIENCE)
    }
}

/// Whether `limit >= whole / divisor`, without the division; a divisor of 0 counts as 1.
#[inline]
fn is_at_least_part(limit: u32, whole: u32, divisor: u32) -> bool {
    (u64::from(limit) + 1) * u64::from(divisor.max(1)) > u64::from(whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_part_is_what_division_says(
            (whole, shift) in (any::<u32>(), 0_u32..32), divisor in 0_u32..9, beside in -2_i64..3,
        ) {
            let whole = whole >> shift;
            let part = whole / divisor.max(1);
            let limit = u32::try_from(i64::from(part) + beside).unwrap_or(0);
            prop_assert_eq!(is_at_least_part(limit, whole, divisor), limit >= part);
        }
    }
}
