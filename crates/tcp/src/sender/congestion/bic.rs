//! BIC: binary search for the window of the last loss.
//!
//! Source: Xu, Harfoush, Rhee, "Binary Increase Congestion Control (BIC) for Fast Long-Distance
//! Networks", INFOCOM 2004; Linux `tcp_bic.c`, with its constants.
//!
//! Differs from the paper: the maximum increment is 16 segments per round trip (paper: 32), and
//! beta is 0.8 (paper: 0.875), as in Linux.
//!
//! | parameter | default | paper | unit |
//! |---|---|---|---|
//! | maximum increment (`max_increment`) | 16 | 32 | segments / round trip |
//! | beta | 819/1024 = 0.8 | 0.875 | window after / window before |
//! | low window (`low_window`) | 14 | 14 | segments; Reno below |
//! | share of the distance (`BICTCP_B`) | 1/4 | 1/2 | per round trip |
//! | smooth part (`smooth_part`) | 20 | | round trips for the last 4 segments |
//! | fast convergence | on | on | |
//!
//! Cost per ACK: a few integer operations.

use super::{AckSample, Window, scaled};
use fairwind_units::Instant;

const MAX_INCREMENT: u32 = 16;
const BETA_1024: u64 = 819;
const LOW_WINDOW: u32 = 14;
/// Divisor of the distance to the last maximum, per round trip (`BICTCP_B`).
const BICTCP_B: u32 = 4;
/// Round trips for the last `BICTCP_B` segments before the maximum (`smooth_part`).
const SMOOTH_PART: u32 = 20;
/// Without a last maximum the window grows by at least a twentieth per round trip.
const MAX_WITHOUT_MAXIMUM: u32 = 20;
/// Minimum interval of updates at an unchanged window (1/32 s), in microseconds.
const UPDATE_INTERVAL: u64 = 1_000_000 / 32;
/// Weight of the mean of segments per ACK (`ACK_RATIO_SHIFT`).
const MEAN_PARTS: u32 = 16;

/// BIC's state.
#[derive(Debug)]
pub(crate) struct Bic {
    /// Window before the last reduction, lowered by fast convergence.
    last_maximum: u32,
    /// ACKs per segment of growth, from the last update (`cnt`).
    acks_per_segment: u32,
    /// Mean of segments per ACK, times [`MEAN_PARTS`] (`delayed_ack`).
    segments_per_ack: u32,
    /// Time of the last update, in microseconds (`last_time`).
    updated: u64,
    last_window: u32,
}

impl Bic {
    pub(crate) fn new() -> Self {
        Self {
            last_maximum: 0,
            acks_per_segment: 1,
            segments_per_ack: 2 * MEAN_PARTS,
            updated: 0,
            last_window: 0,
        }
    }

    /// Records the window, and returns beta of it (half of a low one), at least two segments.
    pub(crate) fn ssthresh(&mut self, segments: u32) -> u32 {
        self.last_maximum = if segments < self.last_maximum {
            scaled(segments, 1024 + BETA_1024, 2 * 1024)
        } else {
            segments
        };
        let left =
            if segments <= LOW_WINDOW { segments / 2 } else { scaled(segments, BETA_1024, 1024) };
        left.max(2)
    }

    /// Resets the state after a time-out.
    pub(crate) fn on_timeout(&mut self) {
        *self = Self::new();
    }

    /// Updates the mean of segments per ACK in the open state, because growth is per segment but
    /// counted per ACK.
    #[inline]
    pub(crate) fn on_sample(&mut self, sample: &AckSample) {
        if sample.is_open {
            self.segments_per_ack -= self.segments_per_ack / MEAN_PARTS;
            self.segments_per_ack = self.segments_per_ack.saturating_add(sample.acknowledged);
        }
    }

    #[inline]
    pub(crate) fn avoid_congestion(
        &mut self,
        window: &mut Window,
        acknowledged: u32,
        now: Instant,
    ) {
        let now = now.as_nanos() / 1_000;
        let fresh = window.segments == self.last_window
            && now.saturating_sub(self.updated) <= UPDATE_INTERVAL;
        if !fresh {
            self.last_window = window.segments;
            self.updated = now;
            self.acks_per_segment = self.acks_per_segment(window.segments);
        }
        window.additive_increase(self.acks_per_segment, acknowledged);
    }

    fn acks_per_segment(&self, segments: u32) -> u32 {
        if segments <= LOW_WINDOW {
            return segments;
        }
        let mut acks = if segments < self.last_maximum {
            Self::below_maximum(segments, self.last_maximum)
        } else {
            Self::above_maximum(segments, self.last_maximum)
        };
        if self.last_maximum == 0 {
            acks = acks.min(MAX_WITHOUT_MAXIMUM);
        }
        (acks.saturating_mul(MEAN_PARTS) / self.segments_per_ack.max(1)).max(1)
    }

    /// Binary search: a quarter of the distance per round trip, within limits.
    fn below_maximum(segments: u32, maximum: u32) -> u32 {
        match (maximum - segments) / BICTCP_B {
            0 | 1 => segments.saturating_mul(SMOOTH_PART) / BICTCP_B,
            distance => segments / distance.min(MAX_INCREMENT),
        }
    }

    /// Above the maximum: slow growth first, then faster, then by the maximum increment.
    fn above_maximum(segments: u32, maximum: u32) -> u32 {
        let beyond = segments - maximum;
        if beyond < BICTCP_B {
            segments.saturating_mul(SMOOTH_PART) / BICTCP_B
        } else if beyond < MAX_INCREMENT * (BICTCP_B - 1) {
            segments.saturating_mul(BICTCP_B - 1) / beyond
        } else {
            segments / MAX_INCREMENT
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after_loss_at(segments: u32) -> Bic {
        let mut bic = Bic::new();
        // One segment per ACK.
        for _ in 0..200 {
            bic.on_sample(&sample(1));
        }
        bic.ssthresh(segments);
        bic
    }

    #[test]
    fn loss_leaves_four_fifths_or_half() {
        let mut bic = Bic::new();
        assert_eq!(bic.ssthresh(1000), 799);
        assert_eq!(bic.ssthresh(800), 639);
        assert_eq!(bic.last_maximum, 719, "0.9 of a window below the last maximum");
        assert_eq!(bic.ssthresh(14), 7);
        assert_eq!(bic.ssthresh(3), 2);
    }

    /// At 800 of 1000 a quarter of the distance, 50, exceeds the maximum increment; at 960 it is 10
    /// segments per round trip; the last four segments take 5 round trips each.
    #[test]
    fn the_search_slows_down_towards_the_maximum() {
        let bic = after_loss_at(1000);
        assert_eq!(Bic::below_maximum(800, bic.last_maximum), 800 / 16);
        assert_eq!(Bic::below_maximum(960, bic.last_maximum), 96);
        assert_eq!(Bic::below_maximum(997, bic.last_maximum), 997 * 5);
    }

    #[test]
    fn beyond_the_maximum_it_speeds_up_again() {
        assert_eq!(Bic::above_maximum(1002, 1000), 1002 * 5);
        assert_eq!(Bic::above_maximum(1010, 1000), 1010 * 3 / 10);
        assert_eq!(Bic::above_maximum(1100, 1000), 1100 / 16);
    }

    /// Sixteen segments per round trip with an ACK for every second segment. The kernel's integer mean
    /// never falls below 31/16, so with an ACK for every segment it grows almost twice as fast.
    #[test]
    fn growth_is_meant_for_delayed_acknowledgments() {
        let growth = |covered| {
            let mut bic = Bic::new();
            for _ in 0..200 {
                bic.on_sample(&sample(covered));
            }
            bic.ssthresh(10_000);
            800 / covered / bic.acks_per_segment(800)
        };
        assert_eq!(growth(2), 400 / (800 / 16 * 16 / 32));
        assert_eq!(growth(1), 800 / (800 / 16 * 16 / 31));
    }

    fn sample(acknowledged: u32) -> AckSample {
        let number = fairwind_wire::SequenceNumber::new(0);
        AckSample {
            acknowledged,
            rtt: None,
            now: Instant::ZERO,
            oldest_unacked: number,
            next: number,
            is_open: true,
            is_paced: false,
        }
    }
}
