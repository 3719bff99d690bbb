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
mod control;
mod cycle;
mod least_rtt;
mod policer;

use super::arithmetic::{Chance, LOSS, UNIT, is_before, sampled_bandwidth};
use super::filter::GreatestOfLate;
use crate::sender::congestion::INFINITE_SSTHRESH;
use crate::sender::congestion::plugged::{
    CongestionControl, Hooks, RateSample, TcpSock, WindowEvent,
};
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

    fn update_model(&mut self, sender: &mut TcpSock, sample: &RateSample) {
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
    fn update_bandwidth(&mut self, sender: &TcpSock, sample: &RateSample) {
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

    fn look_for_policer(&mut self, sender: &TcpSock, sample: &RateSample) {
        let probes = self.mode == Mode::ProbeBandwidth;
        if self.policer.sample(sender, sample, self.round_started, probes) {
            self.begin_cycle(sender);
        }
        if self.policer.limit().is_some() && probes {
            self.pacing_gain = UNIT;
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

    fn init(&mut self, sender: &mut TcpSock) {
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

    fn ssthresh(&mut self, sender: &mut TcpSock) -> u32 {
        self.save_window(sender);
        sender.threshold
    }

    fn cong_control(
        &mut self,
        sender: &mut TcpSock,
        _acknowledgment: u32,
        _flags: i32,
        sample: &RateSample,
    ) {
        self.update_model(sender, sample);
        let bandwidth = self.bandwidth();
        self.set_rate(sender, bandwidth, self.pacing_gain);
        self.set_window(sender, sample, bandwidth);
    }

    fn set_state(&mut self, sender: &mut TcpSock, state: u8) {
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

    fn cwnd_event(&mut self, sender: &mut TcpSock, event: WindowEvent) {
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

    fn undo_cwnd(&mut self, sender: &mut TcpSock) -> u32 {
        self.full_bandwidth = 0;
        self.full_rounds = 0;
        self.policer.forget(sender);
        sender.window
    }
}
