//! BBR: window and rate follow a model of the path, not losses.
//!
//! Each version implements [`CongestionControl`](crate::CongestionControl) like an external algorithm, so
//! it has the same view and the same calls as in a kernel.
//!
//! | module | concern |
//! |---|---|
//! | `v1` | BBR as in Linux: model of the path, start-up, drain, gain cycle |
//! | `v1::control` | rate and window |
//! | `v3` | BBR of the IETF draft, which responds to losses |
//!
//! This file has the shared parts: bandwidths and gains as integers, windowed maximum, pseudo-random
//! numbers.
//!
//! Source: Linux 6.18 `tcp_bbr.c` (`bbr_rate_bytes_per_sec`, `bbr_bdp`, `bbr_tso_segs_goal`),
//! `lib/win_minmax.c`.

mod v1;
mod v3;

pub use v1::Bbr1;
pub use v3::Bbr3;

use crate::sender::congestion::plugged::{
    CongestionControl, ControlFactory, PluggedAlgorithm, RateSample, TcpSock,
};
use std::sync::Arc;

/// Makes instances of one version.
#[derive(Debug)]
struct Version {
    name: &'static str,
    create: fn() -> Box<dyn CongestionControl>,
}

impl ControlFactory for Version {
    fn name(&self) -> &str {
        self.name
    }

    fn create(&self) -> Box<dyn CongestionControl> {
        (self.create)()
    }
}

/// Version 1, as Linux has it (`tcp_bbr.c`).
pub fn bbr1() -> PluggedAlgorithm {
    PluggedAlgorithm(Arc::new(Version { name: "bbr", create: || Box::new(Bbr1::default()) }))
}

/// Version 3 (draft-ietf-ccwg-bbr-06).
pub fn bbr3() -> PluggedAlgorithm {
    PluggedAlgorithm(Arc::new(Version { name: "bbr3", create: || Box::new(Bbr3::default()) }))
}

/// Bandwidths are in segments per microsecond, times this.
pub(super) const BANDWIDTH_UNIT: u64 = 1 << 24;
/// Gains are in 256ths.
pub(super) const UNIT: u64 = 256;
/// Linux' number of the state of recovery, and of that after a time-out.
pub(super) const RECOVERY: u8 = 3;
pub(super) const LOSS: u8 = 4;
/// Below this many bits per second a bundle is one segment.
const MIN_BUNDLING_RATE: u64 = 1_200_000;
/// Maximum buffer of the host less its headers, in bytes.
const LARGEST_BUNDLE: u64 = 65_536 - 1 - 320;
/// Round trip to begin with where there is none, in microseconds.
const ASSUMED_RTT_MICROS: u64 = 1_000;
/// Segments of a bundle as far as BBR reckons with them.
const MAX_BUNDLED: u64 = 0x7f;

pub(super) fn sampled_bandwidth(sample: &RateSample) -> Option<u64> {
    let delivered = u64::try_from(sample.delivered).ok()?;
    let micros = u64::try_from(sample.interval_micros).ok().filter(|&micros| micros > 0)?;
    Some(delivered * BANDWIDTH_UNIT / micros)
}

/// Bytes per second: `percent` of a bandwidth times a gain.
pub(super) fn bytes_per_second(sender: &TcpSock, bandwidth: u64, gain: u64, percent: u64) -> u64 {
    let rate = bandwidth * u64::from(sender.segment_bytes) * gain / UNIT;
    let rate =
        u128::from(rate) * u128::from(1_000_000 / 100 * percent) / u128::from(BANDWIDTH_UNIT);
    u64::try_from(rate).unwrap_or(u64::MAX).min(sender.control.pacing.max_rate)
}

/// Sets the rate of the window in a round trip; whether the round trip is known.
pub(super) fn begin_rate(sender: &mut TcpSock, gain: u64, percent: u64) -> bool {
    let eighths = u64::from(sender.smoothed_rtt_eighths);
    let rtt = if eighths == 0 { ASSUMED_RTT_MICROS } else { (eighths >> 3).max(1) };
    let bandwidth = u64::from(sender.window) * BANDWIDTH_UNIT / rtt;
    sender.control.pacing.rate = bytes_per_second(sender, bandwidth, gain, percent);
    eighths != 0
}

/// Segments in flight at a bandwidth times a gain over `micros` microseconds, rounded up.
pub(super) fn product(bandwidth: u64, micros: u64, gain: u64) -> u32 {
    let product = u128::from(bandwidth) * u128::from(micros) * u128::from(gain);
    let segments = (product >> 8).div_ceil(u128::from(BANDWIDTH_UNIT));
    u32::try_from(segments).unwrap_or(u32::MAX)
}

/// Whole segments that a bandwidth delivers in `micros` microseconds.
pub(super) fn delivered_in(bandwidth: u64, micros: u64) -> u32 {
    let segments = bandwidth.saturating_mul(micros) / BANDWIDTH_UNIT;
    u32::try_from(segments).unwrap_or(u32::MAX)
}

/// Segments that the host joins at the rate (`bbr_tso_segs_goal`).
pub(super) fn bundle_goal(sender: &TcpSock) -> u32 {
    let pacing = &sender.control.pacing;
    let bytes = (pacing.rate >> pacing.shift).min(LARGEST_BUNDLE);
    let segments = bytes / u64::from(sender.segment_bytes.max(1));
    u32::try_from(segments.max(u64::from(min_bundle(sender))).min(MAX_BUNDLED)).unwrap_or(u32::MAX)
}

/// Minimum segments of a bundle at the rate (`bbr_min_tso_segs`; the floor of `BBR.send_quantum`, draft-ietf-ccwg-bbr-06).
pub(super) fn min_bundle(sender: &TcpSock) -> u32 {
    if sender.control.pacing.rate < MIN_BUNDLING_RATE >> 3 { 1 } else { 2 }
}

/// Whether a wrapping count is before another.
pub(super) fn is_before(first: u32, second: u32) -> bool {
    first.wrapping_sub(second) > u32::MAX / 2
}

/// Microseconds from one instant to a later one, at least zero.
pub(super) fn elapsed(later: u64, earlier: u64) -> u64 {
    later.saturating_sub(earlier)
}

/// Pseudo-random numbers seeded by the connection, so that equal seeds give equal runs (xorshift).
#[derive(Debug, Default)]
pub(super) struct PseudoRandom(u64);

impl PseudoRandom {
    pub(super) fn of(sender: &TcpSock) -> Self {
        // Never 0, which is a fixed point.
        Self((u64::from(sender.oldest_unacked) << 32 | sender.now_micros & 0xffff_ffff) | 1)
    }

    /// A number below `bound`, which is not 0.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        let mut bits = self.0;
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        self.0 = bits;
        (bits >> 11) % bound
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Value {
    value: u64,
    at: u32,
}

/// The filter: best, second and third best.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct WindowedMax([Value; 3]);

impl WindowedMax {
    pub(super) fn get(&self) -> u64 {
        self.0[0].value
    }

    /// Adds the value of round `at`; forgets values more than `window` rounds old.
    pub(super) fn note(&mut self, value: u64, at: u32, window: u32) {
        let new = Value { value, at };
        let best = &mut self.0;
        if value >= best[0].value || at.wrapping_sub(best[2].at) > window {
            *best = [new; 3];
            return;
        }
        if value >= best[1].value {
            best[1] = new;
            best[2] = new;
        } else if value >= best[2].value {
            best[2] = new;
        }
        self.age(new, window);
    }

    fn age(&mut self, new: Value, window: u32) {
        let best = &mut self.0;
        let age = new.at.wrapping_sub(best[0].at);
        if age > window {
            *best = [best[1], best[2], new];
            if new.at.wrapping_sub(best[0].at) > window {
                *best = [best[1], best[2], new];
            }
        } else if best[1].at == best[0].at && age > window / 4 {
            best[1] = new;
            best[2] = new;
        } else if best[2].at == best[1].at && age > window / 2 {
            best[2] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windowed_max_expires_to_next_best() {
        let mut filter = WindowedMax::default();
        filter.note(100, 0, 10);
        for round in 1..=10 {
            filter.note(50 - u64::from(round), round, 10);
            assert_eq!(filter.get(), 100, "round {round}");
        }
        filter.note(10, 11, 10);
        assert_eq!(filter.get(), 47, "the greatest of the second quarter on");
        filter.note(60, 12, 10);
        assert_eq!(filter.get(), 60);
    }
}
