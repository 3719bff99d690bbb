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

use super::arithmetic::{
    BANDWIDTH_UNIT, Chance, LOSS, RECOVERY, UNIT, bundle_goal, bytes_per_second, delivered_in,
    elapsed, is_before, product, sampled_bandwidth,
};
use super::filter::GreatestOfLate;
use crate::congestion::INFINITE_SSTHRESH;
use crate::congestion::plugged::{CongestionControl, Hooks, RateSample, Sender, WindowEvent};
use aggregation::Aggregation;
use policer::Policer;

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
/// Of the bandwidth, so that queues drain.
const RATE_PERCENT: u64 = 99;

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
    chance: Chance,
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
            chance: Chance::default(),
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
        let Some(bandwidth) = sampled_bandwidth(sample) else { return };
        if !is_before(sample.delivered_before, self.round_ends_at) {
            self.round_ends_at = sender.delivered;
            self.round = self.round.wrapping_add(1);
            self.round_started = true;
            self.conserves = false;
        }
        self.look_for_policer(sender, sample);
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
        let back = usize::try_from(self.chance.below(BEGINNINGS)).unwrap_or(0);
        self.phase = CYCLE.len() - 1 - back;
        self.advance_phase(sender);
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
        sender.control.pacing.rate = bytes_per_second(sender, bandwidth, HIGH_GAIN, RATE_PERCENT);
    }

    /// `bbr_set_pacing_rate`.
    fn set_rate(&mut self, sender: &mut Sender, bandwidth: u64, gain: u64) {
        let rate = bytes_per_second(sender, bandwidth, gain, RATE_PERCENT);
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
        product(bandwidth, self.least_rtt, gain)
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
        let delivered = delivered_in(self.bandwidth(), micros);
        let joined = if self.pacing_gain > UNIT { bundle_goal(sender) } else { 0 };
        (flight + joined).saturating_sub(delivered)
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
        self.chance = Chance::of(sender);
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
