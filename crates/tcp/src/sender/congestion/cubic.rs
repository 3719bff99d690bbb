//! CUBIC: the window is a cubic function of the time since the last loss.
//!
//! Source: RFC 9438; Linux `tcp_cubic.c`.
//!
//! Differs: both rules use the kernel's integer arithmetic:
//! time in units of 1/1024 s, C = 410/1024, beta = 717/1024, so that results do not depend on a
//! machine's floating point; the cube root is exact where the kernel's is a table look-up, and time is
//! in microseconds where the kernel's is in ticks. `congestion/cubic.c` is the same as [`Rules::Linux`].
//! [`Rules::Rfc9438`] adds two rules that the kernel omits: the Reno-friendly estimate grows with
//! slope 1 once it has passed the window before the loss (§4.3), and the target is at most 1.5
//! windows (§4.2). It omits the rule that without a plateau the kernel's window grows by at least a
//! twentieth per round trip.
//!
//! | parameter | default | RFC 9438 | unit |
//! |---|---|---|---|
//! | C | 410/1024 = 0.4004 | 0.4 | segments / s^3 |
//! | beta | 717/1024 = 0.7002 | 0.7 | window after / window before |
//! | fast convergence | on | on | |
//!
//! Cost per ACK: a few multiplications, and a cube root once per loss.

use super::hystart::HyStart;
use super::{AckSample, Observation, Window, scaled};
use crate::config::HyStartSigns;
use fairwind_units::Instant;
use fairwind_wire::SequenceNumber;

/// Variant of CUBIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rules {
    Linux,
    Rfc9438,
}

/// The window after a loss as a share of the window before, times 1024.
const BETA_1024: u64 = 717;
/// C times 1024, for time in units of 1/1024 s.
const C_1024: u64 = 410;
/// Segments acknowledged per segment of Reno-friendly growth per window, times 8:
/// `8 / alpha` with `alpha = 3 (1 - beta) / (1 + beta)`.
const INVERSE_ALPHA_8: u64 = 8 * (1024 + BETA_1024) / 3 / (1024 - BETA_1024);
/// Minimum interval of updates at an unchanged window (1/32 s), in microseconds.
const UPDATE_INTERVAL: u64 = 1_000_000 / 32;

/// Delay samples within this time after an epoch began reflect the loss (Linux `cubictcp_acked`),
/// in microseconds.
const SETTLING: u64 = 1_000_000;
/// A tick of the kernel's clock, at its finest, in microseconds.
const TICK: u64 = 1_000;
/// Maximum distance from the plateau, in 1/1024 s: beyond it the curve overflows 64 bits, at 16
/// million segments.
const MAX_OFFSET: u64 = 350_000;

/// One growth period: from the first acknowledgment after a loss to the next loss.
#[derive(Debug, Clone, Copy)]
struct Epoch {
    /// In microseconds.
    start: u64,
    /// Time from the start to the plateau, in 1/1024 s (K).
    to_plateau: u64,
    /// Window at the plateau in segments.
    plateau: u32,
    /// Window of Reno (`W_est`).
    reno_window: u32,
    /// Acknowledged segments that are not yet growth of `reno_window`.
    reno_credit: u32,
}

/// CUBIC's state.
#[derive(Debug)]
pub(crate) struct Cubic {
    rules: Rules,
    epoch: Option<Epoch>,
    /// Window before the last reduction (`W_max`), lowered by fast convergence.
    last_maximum: u32,
    /// Window before the last reduction, without fast convergence (`cwnd_prior`).
    before_reduction: u32,
    /// Minimum round trip, in microseconds.
    min_rtt: Option<u64>,
    /// Acknowledged segments per segment of growth, from the last update.
    per_segment: u32,
    /// In microseconds.
    last_update: u64,
    last_window: u32,
    hystart: Option<HyStart>,
}

impl Cubic {
    pub(crate) fn new(rules: Rules, hystart: Option<HyStartSigns>) -> Self {
        Self {
            rules,
            epoch: None,
            last_maximum: 0,
            before_reduction: 0,
            min_rtt: None,
            per_segment: 1,
            last_update: 0,
            last_window: 0,
            hystart: hystart.map(HyStart::new),
        }
    }

    /// Ends the epoch, records the window, and returns beta of `reduced` (RFC 9438 §4.6, §4.7).
    pub(crate) fn ssthresh(&mut self, segments: u32, reduced: u32) -> u32 {
        self.epoch = None;
        self.before_reduction = segments;
        self.last_maximum = if segments < self.last_maximum {
            scaled(segments, 1024 + BETA_1024, 2 * 1024)
        } else {
            segments
        };
        scaled(reduced, BETA_1024, 1024).max(2)
    }

    /// The connection is open.
    pub(crate) fn begin(&mut self, now: Instant, next: SequenceNumber) {
        if let Some(hystart) = &mut self.hystart {
            hystart.begin_round(micros(now), next);
        }
    }

    /// Resets the state on a time-out, in the kernel including the round trip (`bictcp_reset`). RFC
    /// 9438 §4.8 also forgets the plateau: the next epoch starts at its own window, with K = 0.
    pub(crate) fn on_timeout(&mut self, now: Instant, next: SequenceNumber) {
        let forgotten = Self::new(self.rules, self.hystart.as_ref().map(HyStart::signs));
        *self = match self.rules {
            Rules::Linux => forgotten,
            Rules::Rfc9438 => {
                Self { min_rtt: self.min_rtt, before_reduction: self.before_reduction, ..forgotten }
            }
        };
        self.begin(now, next);
    }

    /// Excludes time without data in flight from growth time (RFC 9438 §4.2, §5.8); the kernel
    /// measures it in ticks.
    pub(crate) fn on_idle_end(&mut self, idle_since: Instant, now: Instant) {
        let (since, now) = (micros(idle_since), micros(now));
        if let Some(epoch) = &mut self.epoch {
            let idle = match self.rules {
                Rules::Linux => (now / TICK).saturating_sub(since / TICK) * TICK,
                Rules::Rfc9438 => now.saturating_sub(since),
            };
            epoch.start = (epoch.start + idle).min(now);
        }
    }

    #[inline]
    pub(crate) fn on_sample(&mut self, sample: &AckSample, window: &mut Window) {
        let Some(rtt) = sample.rtt else { return };
        let now = micros(sample.now);
        if self.rules == Rules::Linux
            && self.epoch.is_some_and(|epoch| now.saturating_sub(epoch.start) < SETTLING)
        {
            return;
        }
        let delay = rtt.as_micros().max(1);
        let min = self.min_rtt.map_or(delay, |min| min.min(delay));
        self.min_rtt = Some(min);
        if window.is_in_slow_start() {
            self.observe_slow_start(sample, delay, min, window);
        }
    }

    /// Ends slow start where it would overfill the path.
    #[inline]
    fn observe_slow_start(
        &mut self,
        sample: &AckSample,
        delay: u64,
        min: u64,
        window: &mut Window,
    ) {
        let Some(hystart) = self.hystart.as_mut().filter(|hystart| !hystart.is_over()) else {
            return;
        };
        let seen = Observation {
            now: micros(sample.now),
            oldest_unacked: sample.oldest_unacked,
            next: sample.next,
            delay,
            min,
            window: window.segments,
            is_paced: sample.is_paced,
        };
        if hystart.observe(&seen) {
            window.slow_start_threshold = window.segments;
        }
    }

    #[inline]
    pub(crate) fn avoid_congestion(
        &mut self,
        window: &mut Window,
        acknowledged: u32,
        now: Instant,
    ) {
        let counted = match self.rules {
            Rules::Linux => window.counted(acknowledged),
            Rules::Rfc9438 => acknowledged,
        };
        self.update(window.segments, counted, micros(now));
        window.additive_increase(self.per_segment, acknowledged);
    }

    /// Updates the number of acknowledged segments per segment of growth.
    fn update(&mut self, segments: u32, acknowledged: u32, now: u64) {
        let is_fresh = segments == self.last_window
            && now.saturating_sub(self.last_update) <= UPDATE_INTERVAL
            && (self.epoch.is_some() || self.rules == Rules::Linux);
        if is_fresh {
            if let Some(epoch) = &mut self.epoch {
                epoch.reno_credit += acknowledged;
            }
            return;
        }
        // The kernel evaluates the curve at most once per tick.
        let again = self.rules == Rules::Linux
            && self.epoch.is_some()
            && now.saturating_sub(self.last_update) < TICK;
        let mut epoch = self.epoch.unwrap_or_else(|| self.begin_epoch(segments, now));
        epoch.reno_credit += acknowledged;
        let by_curve = if again {
            self.per_segment
        } else {
            self.last_window = segments;
            self.last_update = now;
            self.per_segment_by_curve(&epoch, segments, now)
        };
        let by_reno = self.per_segment_by_reno(&mut epoch, segments);
        self.per_segment = by_curve.min(by_reno).max(2);
        self.epoch = Some(epoch);
    }

    /// RFC 9438 §4.2: the curve starts at the present window and reaches the plateau after K.
    fn begin_epoch(&self, segments: u32, now: u64) -> Epoch {
        let (to_plateau, plateau) = if self.last_maximum <= segments {
            (0, segments)
        } else {
            (time_to_grow(self.last_maximum - segments), self.last_maximum)
        };
        Epoch { start: now, to_plateau, plateau, reno_window: segments, reno_credit: 0 }
    }

    fn per_segment_by_curve(&self, epoch: &Epoch, segments: u32, now: u64) -> u32 {
        let ahead = now.saturating_sub(epoch.start) + self.min_rtt.unwrap_or_default();
        let mut target = curve(epoch, time_units(ahead));
        if self.rules == Rules::Rfc9438 {
            target = target.min(u64::from(segments) + u64::from(segments / 2));
        }
        let growth = target.saturating_sub(u64::from(segments));
        let per_segment = match growth {
            0 => 100 * segments,
            growth => segments / u32::try_from(growth).unwrap_or(u32::MAX),
        };
        // Before the first loss there is no plateau to aim at; the kernel does not creep then.
        let creeps = self.last_maximum != 0 || self.rules == Rules::Rfc9438;
        if creeps { per_segment } else { per_segment.min(20) }
    }

    /// RFC 9438 §4.3: at least the growth of Reno with the same beta.
    fn per_segment_by_reno(&self, epoch: &mut Epoch, segments: u32) -> u32 {
        loop {
            let slope_1 =
                self.rules == Rules::Rfc9438 && epoch.reno_window >= self.before_reduction;
            let inverse_alpha_8 = if slope_1 { 8 } else { INVERSE_ALPHA_8 };
            let per_step = u64::from(segments) * inverse_alpha_8 / 8;
            let credit = u64::from(epoch.reno_credit);
            // The kernel waits for one segment more.
            let kept = u64::from(self.rules == Rules::Linux);
            if credit < per_step.max(1) + kept {
                break;
            }
            let left = credit - per_step.max(1);
            epoch.reno_credit = u32::try_from(left).expect("less than the credit it came from");
            epoch.reno_window += 1;
        }
        match epoch.reno_window.saturating_sub(segments) {
            0 => u32::MAX,
            ahead => segments / ahead,
        }
    }
}

/// An instant in microseconds.
#[inline]
fn micros(at: Instant) -> u64 {
    at.as_nanos() / 1_000
}

/// Microseconds in units of 1/1024 s, for up to half a million years.
fn time_units(micros: u64) -> u64 {
    micros * 16 / 15_625
}

/// Time in 1/1024 s that the curve takes over `segments` from its plateau (K; RFC 9438 equation 2):
/// `K^3 = segments / C`, in units `K^3 = segments 2^40 / 410`.
fn time_to_grow(segments: u32) -> u64 {
    cube_root((u64::from(segments) << 40) / C_1024)
}

/// The curve at `elapsed` (1/1024 s) after the epoch began, in segments (RFC 9438 equation 1).
fn curve(epoch: &Epoch, elapsed: u64) -> u64 {
    let offset = elapsed.abs_diff(epoch.to_plateau).min(MAX_OFFSET);
    let distance = (C_1024 * offset * offset * offset) >> 40;
    let plateau = u64::from(epoch.plateau);
    if elapsed < epoch.to_plateau {
        plateau.saturating_sub(distance)
    } else {
        plateau.saturating_add(distance)
    }
}

/// The integer cube root, rounded down, by Newton's method from above.
fn cube_root(value: u64) -> u64 {
    if value == 0 {
        return 0;
    }
    let mut root = 1_u64 << (value.ilog2() / 3 + 1);
    loop {
        let next = (2 * root + value / (root * root)) / 3;
        if next >= root {
            return root;
        }
        root = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;
    use fairwind_units::Span;

    #[test]
    fn cube_roots_are_exact_and_rounded_down() {
        for root in [0_u64, 1, 2, 3, 10, 999, 65_535, 2_000_000] {
            assert_eq!(cube_root(root.pow(3)), root);
            assert_eq!(cube_root(root.pow(3) + 1), root.max(u64::from(root == 0)));
        }
        assert_eq!(cube_root(26), 2);
    }

    /// RFC 9438 §4.2 with C = 0.4, `W_max` = 1000, beta = 0.7: K = cbrt(300 / 0.4) = 9.0856 s.
    #[test]
    fn the_curve_passes_its_points() {
        let epoch = Epoch {
            start: 0,
            to_plateau: time_to_grow(300),
            plateau: 1000,
            reno_window: 700,
            reno_credit: 0,
        };
        let seconds = |s: f64| time_units(Span::from_secs_f64(s).as_micros());
        let close = |at: f64, expected: u64| {
            let got = curve(&epoch, seconds(at));
            assert!(got.abs_diff(expected) <= 2, "W({at} s) = {got}, expected {expected}");
        };
        assert!(epoch.to_plateau.abs_diff(seconds(9.0856)) <= 5);
        close(0.0, 700);
        // 0.4 (t - K)^3 + 1000 at 3, 6, K, 12 and 15 s.
        close(3.0, 910);
        close(6.0, 988);
        close(9.0856, 1000);
        close(12.0, 1010);
        close(15.0, 1083);
    }

    #[test]
    fn loss_leaves_seven_tenths_with_fast_convergence() {
        let mut cubic = Cubic::new(Rules::Linux, None);
        let mut window = Window::new(&Profile::Linux6_18.config());
        window.segments = 1000;
        assert_eq!(cubic.ssthresh(window.segments, window.segments), 700);
        assert_eq!(cubic.last_maximum, 1000);
        window.segments = 800;
        assert_eq!(cubic.ssthresh(window.segments, window.segments), 560);
        assert_eq!(cubic.last_maximum, 680, "0.85 of a window below the last maximum");
    }

    /// RFC 9438 §4.8: after a time-out K is 0 and the plateau is the window at the epoch's start.
    #[test]
    fn a_time_out_forgets_the_plateau() {
        for rules in [Rules::Linux, Rules::Rfc9438] {
            let mut cubic = Cubic::new(rules, None);
            cubic.ssthresh(1000, 1000);
            cubic.on_timeout(Instant::ZERO, SequenceNumber::new(0));
            let epoch = cubic.begin_epoch(700, 0);
            assert_eq!((epoch.to_plateau, epoch.plateau), (0, 700), "{rules:?}");
        }
    }

    /// Driven by one ACK per segment, the window follows the curve from 700 back to 1000 in K.
    #[test]
    fn the_window_follows_the_curve() {
        let config = Profile::Linux6_18.config();
        let mut cubic = Cubic::new(Rules::Linux, None);
        let mut window = Window::new(&config);
        window.segments = 1000;
        window.slow_start_threshold = cubic.ssthresh(window.segments, window.segments);
        window.segments = window.slow_start_threshold;
        let rtt = Span::from_millis(100);
        let number = SequenceNumber::new(0);
        let mut sample = AckSample {
            acknowledged: 1,
            rtt: Some(rtt),
            now: Instant::ZERO,
            oldest_unacked: number,
            next: number,
            is_open: true,
            is_paced: false,
        };
        let mut now = Instant::ZERO;
        while now < Instant::from_millis(9_086) {
            let per_round = window.segments;
            for ack in 0..per_round {
                let at = now + rtt / u64::from(per_round) * u64::from(ack);
                sample.now = at;
                cubic.on_sample(&sample, &mut window);
                cubic.avoid_congestion(&mut window, sample.acknowledged, at);
            }
            now += rtt;
        }
        assert!(window.segments.abs_diff(1000) <= 5, "{} segments after K", window.segments);
    }

    /// An old plateau far above: growth per round trip stays below half a window (RFC 9438 §4.2).
    #[test]
    fn target_is_limited_to_1_5_windows() {
        let cubic = Cubic::new(Rules::Rfc9438, None);
        let epoch = Epoch {
            start: 0,
            to_plateau: time_to_grow(9_000),
            plateau: 10_000,
            reno_window: 100,
            reno_credit: 0,
        };
        let late = 60_000_000;
        assert!(curve(&epoch, time_units(late)) > 150);
        assert_eq!(cubic.per_segment_by_curve(&epoch, 100, late), 2, "half a window in a window");
    }

    /// RFC 9438 §4.3: with the factor for beta below the former window, like Reno above it.
    #[test]
    fn reno_window_has_slope_one_above_plateau() {
        let grown = |from: u32| {
            let mut cubic = Cubic::new(Rules::Rfc9438, None);
            cubic.before_reduction = 100;
            let mut epoch = Epoch {
                start: 0,
                to_plateau: 0,
                plateau: from,
                reno_window: from,
                reno_credit: 200 * 100,
            };
            cubic.per_segment_by_reno(&mut epoch, 200);
            epoch.reno_window - from
        };
        assert_eq!(grown(100), 100, "a segment per window acknowledged");
        assert_eq!(grown(70), 30 + (20_000 - 30 * 200 * 15 / 8) / 200, "8/15 of that below it");
    }

    /// RFC 9438 §5.8: time without data in flight is excluded from the epoch.
    #[test]
    fn idle_time_does_not_count_as_growth() {
        let mut cubic = Cubic::new(Rules::Rfc9438, None);
        cubic.ssthresh(1000, 1000);
        cubic.epoch = Some(cubic.begin_epoch(700, 10_000_000));
        cubic.on_idle_end(Instant::from_secs(12), Instant::from_secs(30));
        assert_eq!(cubic.epoch.unwrap().start, 28_000_000);
        cubic.on_idle_end(Instant::from_secs(29), Instant::from_secs(40));
        assert_eq!(cubic.epoch.unwrap().start, 39_000_000, "not beyond the present");
    }
}
