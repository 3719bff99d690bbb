//! BBR version 1.
//!
//! Source: Linux 6.18 `tcp_bbr.c`, with its integer arithmetic; Cardwell, Cheng, Gunn, Yeganeh, Jacobson, "BBR:
//! Congestion-Based Congestion Control" (2016).
//!
//! Differs: where the kernel begins its cycle of gains at random, the choice follows from the connection's first
//! sequence number and the time, so that equal seeds give equal runs.
//!
//! | parameter | value | unit |
//! |---|---|---|
//! | gain of start-up, of draining | 739/256 = 2/ln 2, 88/256 | |
//! | gains of a cycle | 5/4, 3/4, six times 1 | each a least round trip long |
//! | window | 2 | bandwidth-delay products |
//! | bandwidth is the greatest of | 10 | round trips |
//! | least round trip is that of | 10 | s |
//! | looking for it | 4 segments for 200 ms | |
//! | the pipe is full when for 3 rounds the bandwidth grows less than | 25 | % |
//! | margin of the rate | 1 | % |
//!
//! Cost per ACK: some twenty multiplications and five divisions.

mod aggregation;
mod policer;

use super::filter::GreatestOfLate;
use crate::congestion::INFINITE_SSTHRESH;
use crate::congestion::plugged::{CongestionControl, Hooks, RateSample, Sender, WindowEvent};
use aggregation::Aggregation;
use policer::Policer;

/// Bandwidths are in segments per microsecond, times this.
pub(super) const BANDWIDTH_UNIT: u64 = 1 << 24;
/// Gains are in 256ths.
pub(super) const UNIT: u64 = 256;
const HIGH_GAIN: u64 = UNIT * 2885 / 1000 + 1;
const DRAIN_GAIN: u64 = UNIT * 1000 / 2885;
const WINDOW_GAIN: u64 = 2 * UNIT;
const CYCLE: [u64; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// Phases at which a cycle may begin: all but that of draining.
const BEGINNINGS: u64 = 7;
const BANDWIDTH_ROUNDS: u32 = 10;
const LEAST_RTT_MICROS: u64 = 10_000_000;
const PROBE_RTT_MICROS: u64 = 200_000;
const LEAST_WINDOW: u32 = 4;
const INITIAL_WINDOW: u32 = 10;
const FULL_GROWTH: u64 = UNIT * 5 / 4;
const FULL_ROUNDS: u8 = 3;
/// Below this many bits per second a bundle is one segment.
const LEAST_BUNDLING_RATE: u64 = 1_200_000;
/// The largest buffer of the host less the headers in it, in bytes.
const LARGEST_BUNDLE: u64 = 65_536 - 1 - 320;
/// Linux' number of the state of recovery, and of that after a time-out.
const RECOVERY: u8 = 3;
const LOSS: u8 = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBandwidth,
    ProbeRtt,
}

/// BBR version 1.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a separate fact")]
pub struct Bbr1 {
    mode: Mode,
    bandwidth: GreatestOfLate,
    round: u32,
    round_ends_at: u32,
    round_started: bool,
    least_rtt: u64,
    least_rtt_at: u64,
    probe_rtt_done_at: Option<u64>,
    probe_rtt_round_done: bool,
    pacing_gain: u64,
    window_gain: u64,
    phase: usize,
    phase_began: u64,
    full_bandwidth: u64,
    full_rounds: u8,
    is_full: bool,
    idle_restart: bool,
    has_seen_rtt: bool,
    state_before: u8,
    conserves: bool,
    window_before: u32,
    random: u64,
    policer: Policer,
    aggregation: Aggregation,
}

impl Bbr1 {
    /// Before the connection is open.
    pub fn new() -> Self {
        Self {
            mode: Mode::Startup,
            bandwidth: GreatestOfLate::default(),
            round: 0,
            round_ends_at: 0,
            round_started: false,
            least_rtt: u64::from(u32::MAX),
            least_rtt_at: 0,
            probe_rtt_done_at: None,
            probe_rtt_round_done: false,
            pacing_gain: HIGH_GAIN,
            window_gain: HIGH_GAIN,
            phase: 0,
            phase_began: 0,
            full_bandwidth: 0,
            full_rounds: 0,
            is_full: false,
            idle_restart: false,
            has_seen_rtt: false,
            state_before: 0,
            conserves: false,
            window_before: 0,
            random: 1,
            policer: Policer::default(),
            aggregation: Aggregation::default(),
        }
    }

    /// The bandwidth that the model believes in.
    fn bandwidth(&self) -> u64 {
        self.policer.limit().unwrap_or_else(|| self.bandwidth.get())
    }

    fn update_model(&mut self, sender: &mut Sender, sample: &RateSample) {
        self.update_bandwidth(sender, sample);
        let bandwidth = self.bandwidth();
        self.aggregation.update(sender, sample, bandwidth, self.round_started);
        if self.mode == Mode::ProbeBandwidth && self.is_phase_over(sender, sample) {
            self.advance_phase(sender);
        }
        self.look_whether_full(sample);
        self.look_whether_drained(sender);
        self.update_least_rtt(sender, sample);
        self.update_gains();
    }

    /// `bbr_update_bw`.
    fn update_bandwidth(&mut self, sender: &Sender, sample: &RateSample) {
        self.round_started = false;
        if sample.delivered < 0 || sample.interval_micros <= 0 {
            return;
        }
        if !is_before(sample.delivered_before, self.round_ends_at) {
            self.round_ends_at = sender.delivered;
            self.round = self.round.wrapping_add(1);
            self.round_started = true;
            self.conserves = false;
        }
        self.look_for_policer(sender, sample);
        let delivered = u64::from(sample.delivered.unsigned_abs());
        let interval = sample.interval_micros.unsigned_abs();
        let bandwidth = delivered * BANDWIDTH_UNIT / interval;
        if !sample.is_application_limited || bandwidth >= self.bandwidth.get() {
            self.bandwidth.note(bandwidth, self.round, BANDWIDTH_ROUNDS);
        }
    }

    fn look_for_policer(&mut self, sender: &Sender, sample: &RateSample) {
        let probes = self.mode == Mode::ProbeBandwidth;
        if self.policer.sample(sender, sample, self.round_started, probes) {
            self.begin_cycle(sender);
        }
        if self.policer.limit().is_some() && probes {
            self.pacing_gain = UNIT;
        }
    }

    /// `bbr_is_next_cycle_phase`.
    fn is_phase_over(&self, sender: &Sender, sample: &RateSample) -> bool {
        let is_long = elapsed(sender.delivered_at_micros, self.phase_began) > self.least_rtt;
        if self.pacing_gain == UNIT {
            return is_long;
        }
        let flight = self.flight_when_leaving(sender, sample.flight_before);
        let bandwidth = self.bandwidth.get();
        if self.pacing_gain > UNIT {
            is_long
                && (sample.losses > 0
                    || flight >= self.flight_for(sender, bandwidth, self.pacing_gain))
        } else {
            is_long || flight <= self.flight_for(sender, bandwidth, UNIT)
        }
    }

    fn advance_phase(&mut self, sender: &Sender) {
        self.phase = (self.phase + 1) % CYCLE.len();
        self.phase_began = sender.delivered_at_micros;
    }

    /// `bbr_reset_probe_bw_mode`.
    fn begin_cycle(&mut self, sender: &Sender) {
        self.mode = Mode::ProbeBandwidth;
        let back = usize::try_from(self.draw() % BEGINNINGS).unwrap_or(0);
        self.phase = CYCLE.len() - 1 - back;
        self.advance_phase(sender);
    }

    /// A number that follows from the connection (xorshift).
    fn draw(&mut self) -> u64 {
        let mut bits = self.random;
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        self.random = bits;
        bits >> 11
    }

    /// `bbr_check_full_bw_reached`.
    fn look_whether_full(&mut self, sample: &RateSample) {
        if self.is_full || !self.round_started || sample.is_application_limited {
            return;
        }
        let bandwidth = self.bandwidth.get();
        if bandwidth >= self.full_bandwidth * FULL_GROWTH / UNIT {
            self.full_bandwidth = bandwidth;
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += 1;
        self.is_full = self.full_rounds >= FULL_ROUNDS;
    }

    /// `bbr_check_drain`.
    fn look_whether_drained(&mut self, sender: &mut Sender) {
        let one = self.flight_for(sender, self.bandwidth.get(), UNIT);
        if self.mode == Mode::Startup && self.is_full {
            self.mode = Mode::Drain;
            sender.threshold = one;
        }
        if self.mode == Mode::Drain && self.flight_when_leaving(sender, sender.in_flight()) <= one {
            self.begin_cycle(sender);
        }
    }

    /// `bbr_update_min_rtt`.
    fn update_least_rtt(&mut self, sender: &mut Sender, sample: &RateSample) {
        let now = sender.now_micros;
        let is_old = now > self.least_rtt_at + LEAST_RTT_MICROS;
        if let Ok(rtt) = u64::try_from(sample.rtt_micros)
            && (rtt < self.least_rtt || is_old && !sample.is_delayed)
        {
            self.least_rtt = rtt;
            self.least_rtt_at = now;
        }
        if is_old && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_window(sender);
            self.probe_rtt_done_at = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt(sender);
        }
        if sample.delivered > 0 {
            self.idle_restart = false;
        }
    }

    fn probe_rtt(&mut self, sender: &mut Sender) {
        let flight = sender.in_flight();
        sender.application_limited = sender.delivered.wrapping_add(flight).max(1);
        if self.probe_rtt_done_at.is_some() {
            self.probe_rtt_round_done |= self.round_started;
            if self.probe_rtt_round_done {
                self.look_whether_rtt_probed(sender);
            }
        } else if flight <= LEAST_WINDOW {
            self.probe_rtt_done_at = Some(sender.now_micros + PROBE_RTT_MICROS);
            self.probe_rtt_round_done = false;
            self.round_ends_at = sender.delivered;
        }
    }

    /// `bbr_check_probe_rtt_done`.
    fn look_whether_rtt_probed(&mut self, sender: &mut Sender) {
        if self.probe_rtt_done_at.is_none_or(|done| sender.now_micros <= done) {
            return;
        }
        self.least_rtt_at = sender.now_micros;
        sender.window = sender.window.max(self.window_before);
        if self.is_full {
            self.begin_cycle(sender);
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn update_gains(&mut self) {
        (self.pacing_gain, self.window_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBandwidth if self.policer.limit().is_some() => (UNIT, WINDOW_GAIN),
            Mode::ProbeBandwidth => (CYCLE[self.phase], WINDOW_GAIN),
            Mode::ProbeRtt => (UNIT, UNIT),
        };
    }

    /// Bytes per second at a gain, less the margin (`bbr_rate_bytes_per_sec`).
    fn rate(sender: &Sender, bandwidth: u64, gain: u64) -> u64 {
        let rate = bandwidth * u64::from(sender.segment_bytes) * gain / UNIT;
        let rate = u128::from(rate) * (1_000_000 / 100 * 99) / u128::from(BANDWIDTH_UNIT);
        u64::try_from(rate).unwrap_or(u64::MAX).min(sender.control.pacing.greatest_rate)
    }

    /// `bbr_init_pacing_rate_from_rtt`.
    fn begin_rate(&mut self, sender: &mut Sender) {
        let rtt = match u64::from(sender.smoothed_rtt_eighths) {
            0 => 1_000,
            eighths => {
                self.has_seen_rtt = true;
                (eighths >> 3).max(1)
            }
        };
        let bandwidth = u64::from(sender.window) * BANDWIDTH_UNIT / rtt;
        sender.control.pacing.rate = Self::rate(sender, bandwidth, HIGH_GAIN);
    }

    /// `bbr_set_pacing_rate`.
    fn set_rate(&mut self, sender: &mut Sender, bandwidth: u64, gain: u64) {
        let rate = Self::rate(sender, bandwidth, gain);
        if !self.has_seen_rtt && sender.smoothed_rtt_eighths != 0 {
            self.begin_rate(sender);
        }
        if self.is_full || rate > sender.control.pacing.rate {
            sender.control.pacing.rate = rate;
        }
    }

    /// `bbr_set_cwnd`.
    fn set_window(&mut self, sender: &mut Sender, sample: &RateSample, bandwidth: u64) {
        let acknowledged = sample.newly_delivered;
        if acknowledged > 0 {
            let (mut window, is_set) = self.recover_or_restore(sender, sample);
            if !is_set {
                let heap = self.aggregation.room(bandwidth, self.is_full);
                let target = self.bdp(bandwidth, self.window_gain).saturating_add(heap);
                let target = self.with_budget(sender, target);
                if self.is_full {
                    window = (window + acknowledged).min(target);
                } else if window < target || sender.delivered < INITIAL_WINDOW {
                    window += acknowledged;
                }
                window = window.max(LEAST_WINDOW);
            }
            sender.window = window.min(sender.greatest_window);
        }
        if self.mode == Mode::ProbeRtt {
            sender.window = sender.window.min(LEAST_WINDOW);
        }
    }

    /// `bbr_set_cwnd_to_recover_or_restore`.
    fn recover_or_restore(&mut self, sender: &Sender, sample: &RateSample) -> (u32, bool) {
        let (before, state) = (self.state_before, sender.control.state & 0x1f);
        let flight = sender.in_flight();
        let mut window = sender.window;
        if let Ok(losses) = u32::try_from(sample.losses)
            && losses > 0
        {
            window = window.saturating_sub(losses).max(1);
        }
        if state == RECOVERY && before != RECOVERY {
            self.conserves = true;
            self.round_ends_at = sender.delivered;
            window = flight + sample.newly_delivered;
        } else if before >= RECOVERY && state < RECOVERY {
            window = window.max(self.window_before);
            self.conserves = false;
        }
        self.state_before = state;
        if self.conserves {
            return (window.max(flight + sample.newly_delivered), true);
        }
        (window, false)
    }

    /// Segments in flight at a gain (`bbr_bdp`).
    fn bdp(&self, bandwidth: u64, gain: u64) -> u32 {
        if self.least_rtt >= u64::from(u32::MAX) {
            return INITIAL_WINDOW;
        }
        let product = u128::from(bandwidth) * u128::from(self.least_rtt) * u128::from(gain);
        let segments = (product >> 8).div_ceil(u128::from(BANDWIDTH_UNIT));
        u32::try_from(segments).unwrap_or(u32::MAX)
    }

    /// Room for what is joined on the way to the wire and for acknowledgments (`bbr_quantization_budget`).
    fn with_budget(&self, sender: &Sender, window: u32) -> u32 {
        let window = window.saturating_add(3 * bundle_goal(sender));
        let window = window.saturating_add(1) & !1;
        let probes = self.mode == Mode::ProbeBandwidth && self.phase == 0;
        window.saturating_add(if probes { 2 } else { 0 })
    }

    fn flight_for(&self, sender: &Sender, bandwidth: u64, gain: u64) -> u32 {
        self.with_budget(sender, self.bdp(bandwidth, gain))
    }

    /// What is in the network when the next bundle leaves (`bbr_packets_in_net_at_edt`).
    fn flight_when_leaving(&self, sender: &Sender, flight: u32) -> u32 {
        let micros = sender.paced_until_nanos.saturating_sub(sender.now_nanos) / 1_000;
        let delivered = self.bandwidth() * micros / BANDWIDTH_UNIT;
        let joined = if self.pacing_gain > UNIT { bundle_goal(sender) } else { 0 };
        (flight + joined).saturating_sub(u32::try_from(delivered).unwrap_or(u32::MAX))
    }

    /// `bbr_save_cwnd`.
    fn save_window(&mut self, sender: &Sender) {
        self.window_before = if self.state_before < RECOVERY && self.mode != Mode::ProbeRtt {
            sender.window
        } else {
            self.window_before.max(sender.window)
        };
    }
}

impl Default for Bbr1 {
    fn default() -> Self {
        Self::new()
    }
}

impl CongestionControl for Bbr1 {
    fn hooks(&self) -> Hooks {
        Hooks::CONG_CONTROL
            .and(Hooks::SSTHRESH)
            .and(Hooks::UNDO_CWND)
            .and(Hooks::SET_STATE)
            .and(Hooks::CWND_EVENT)
    }

    fn init(&mut self, sender: &mut Sender) {
        sender.threshold = INFINITE_SSTHRESH;
        self.round_ends_at = sender.delivered;
        self.least_rtt = sender.least_rtt().map_or(u64::from(u32::MAX), u64::from);
        self.least_rtt_at = sender.now_micros;
        self.aggregation.begin(sender.now_micros);
        // Never 0, of which nothing else would follow.
        self.random =
            (u64::from(sender.oldest_unacked) << 32 | sender.now_micros & 0xffff_ffff) | 1;
        self.begin_rate(sender);
        if sender.control.pacing.status == 0 {
            sender.control.pacing.status = 1;
        }
    }

    fn ssthresh(&mut self, sender: &mut Sender) -> u32 {
        self.save_window(sender);
        sender.threshold
    }

    fn cong_control(
        &mut self,
        sender: &mut Sender,
        _acknowledgment: u32,
        _flags: i32,
        sample: &RateSample,
    ) {
        self.update_model(sender, sample);
        let bandwidth = self.bandwidth();
        self.set_rate(sender, bandwidth, self.pacing_gain);
        self.set_window(sender, sample, bandwidth);
    }

    fn set_state(&mut self, sender: &mut Sender, state: u8) {
        if state != LOSS {
            return;
        }
        self.state_before = LOSS;
        self.full_bandwidth = 0;
        self.round_started = true;
        let lost =
            RateSample { losses: 1, delivered: 0, interval_micros: 0, ..RateSample::INVALID };
        self.look_for_policer(sender, &lost);
    }

    fn cwnd_event(&mut self, sender: &mut Sender, event: WindowEvent) {
        if event != WindowEvent::SendingBegins || sender.application_limited == 0 {
            return;
        }
        self.idle_restart = true;
        self.aggregation.begin(sender.now_micros);
        match self.mode {
            Mode::ProbeBandwidth => self.set_rate(sender, self.bandwidth(), UNIT),
            Mode::ProbeRtt => self.look_whether_rtt_probed(sender),
            _ => {}
        }
    }

    fn undo_cwnd(&mut self, sender: &mut Sender) -> u32 {
        self.full_bandwidth = 0;
        self.full_rounds = 0;
        self.policer.forget(sender);
        sender.window
    }
}

/// Segments that the host joins at the rate (`bbr_tso_segs_goal`).
fn bundle_goal(sender: &Sender) -> u32 {
    let pacing = &sender.control.pacing;
    let bytes = (pacing.rate >> pacing.shift).min(LARGEST_BUNDLE);
    let least = if pacing.rate < LEAST_BUNDLING_RATE >> 3 { 1 } else { 2 };
    let segments = bytes / u64::from(sender.segment_bytes.max(1));
    u32::try_from(segments.max(least).min(0x7f)).unwrap_or(0x7f)
}

/// Whether a count that wraps around lies before another.
fn is_before(first: u32, second: u32) -> bool {
    first.wrapping_sub(second) > u32::MAX / 2
}

/// Microseconds from one instant to a later one, at least none.
pub(super) fn elapsed(later: u64, earlier: u64) -> u64 {
    later.saturating_sub(earlier)
}
