//! BBR version 1.
//!
//! Source: Linux 6.18 `tcp_bbr.c`, with its integer arithmetic; Cardwell, Cheng, Gunn, Yeganeh, Jacobson,
//! "BBR: Congestion-Based Congestion Control" (2016).
//!
//! Differs: the random start of the gain cycle follows from the connection's first sequence number and the
//! time, so that equal seeds give equal runs.
//!
//! | parameter | value | unit |
//! |---|---|---|
//! | gain of start-up, of drain | 739/256 = 2/ln 2, 88/256 | |
//! | gains of a cycle | 5/4, 3/4, six times 1 | each for a minimum round trip |
//! | window | 2 | bandwidth-delay products |
//! | window of the bandwidth filter | 10 | round trips |
//! | window of the round-trip filter | 10 | s |
//! | probing for the round trip | 4 segments for 200 ms | |
//! | full pipe: bandwidth growth in 3 rounds below | 25 | % |
//! | pacing margin | 1 | % |
//!
//! Cost per ACK: some twenty multiplications and five divisions.
//!
//! **ACK aggregation**: extra window for bursts of acknowledgments beyond the bandwidth. Source: Linux
//! `bbr_update_ack_aggregation`, `bbr_ack_aggregation_cwnd`.
//!
//! **Gain cycle**, end of start-up, drain. Source: Linux 6.18 `bbr_is_next_cycle_phase`,
//! `bbr_reset_probe_bw_mode`, `bbr_check_full_bw_reached`, `bbr_check_drain`.
//!
//! **Minimum round trip**, and probing for it with a small window. Source: Linux 6.18 `bbr_update_min_rtt`,
//! `bbr_check_probe_rtt_done`.

mod control;

use crate::sender::congestion::INFINITE_SSTHRESH;
use crate::sender::congestion::bbr::{
    LOSS, PseudoRandom, UNIT, WindowedMax, delivered_in, elapsed, is_before, min_bundle,
    sampled_bandwidth,
};
use crate::sender::congestion::plugged::{
    CongestionControl, Hooks, RateSample, TcpSock, WindowEvent,
};
use control::Policer;

const HIGH_GAIN: u64 = UNIT * 2885 / 1000 + 1;
const DRAIN_GAIN: u64 = UNIT * 1000 / 2885;
const WINDOW_GAIN: u64 = 2 * UNIT;
const CYCLE: [u64; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// Phases at which a cycle may begin: all but that of draining.
const INITIAL_COUNTERS: u64 = 7;
const BANDWIDTH_ROUNDS: u32 = 10;
const MIN_RTT_MICROS: u64 = 10_000_000;
const PROBE_RTT_MICROS: u64 = 200_000;
const MIN_WINDOW: u32 = 4;
const INITIAL_WINDOW: u32 = 10;
const FULL_GROWTH: u64 = UNIT * 5 / 4;
const FULL_ROUNDS: u8 = 3;
/// Of the bandwidth, so that queues drain.
const RATE_PERCENT: u64 = 99;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Mode {
    #[default]
    Startup,
    Drain,
    ProbeBandwidth,
    ProbeRtt,
}

/// BBR version 1; the default is that before the connection is open.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a separate fact")]
pub struct Bbr1 {
    mode: Mode,
    bandwidth: WindowedMax,
    round: u32,
    round_ends_at: u32,
    round_started: bool,
    min_rtt: u64,
    min_rtt_at: u64,
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
    random: PseudoRandom,
    policer: Policer,
    aggregation: Aggregation,
}

impl Bbr1 {
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
        self.check_full_bandwidth(sample);
        self.check_drain_done(sender);
        self.update_min_rtt(sender, sample);
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
        self.detect_policer(sender, sample);
        if !sample.is_application_limited || bandwidth >= self.bandwidth.get() {
            self.bandwidth.note(bandwidth, self.round, BANDWIDTH_ROUNDS);
        }
    }

    fn detect_policer(&mut self, sender: &TcpSock, sample: &RateSample) {
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

impl CongestionControl for Bbr1 {
    fn hooks(&self) -> Hooks {
        Hooks::CONG_CONTROL
            .and(Hooks::SSTHRESH)
            .and(Hooks::UNDO_CWND)
            .and(Hooks::SET_STATE)
            .and(Hooks::CWND_EVENT)
            .and(Hooks::MIN_TSO_SEGS)
    }

    fn init(&mut self, sender: &mut TcpSock) {
        sender.threshold = INFINITE_SSTHRESH;
        self.round_ends_at = sender.delivered;
        self.min_rtt = sender.min_rtt().map_or(u64::from(u32::MAX), u64::from);
        self.min_rtt_at = sender.now_micros;
        self.aggregation.begin(sender.now_micros);
        self.random = PseudoRandom::of(sender);
        self.update_gains();
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
        self.detect_policer(sender, &lost);
    }

    fn cwnd_event(&mut self, sender: &mut TcpSock, event: WindowEvent) {
        if event != WindowEvent::SendingBegins || sender.application_limited == 0 {
            return;
        }
        self.idle_restart = true;
        self.aggregation.begin(sender.now_micros);
        match self.mode {
            Mode::ProbeBandwidth => self.set_rate(sender, self.bandwidth(), UNIT),
            Mode::ProbeRtt => self.check_probe_rtt_done(sender),
            _ => {}
        }
    }

    fn min_tso_segs(&mut self, sender: &mut TcpSock) -> u32 {
        min_bundle(sender)
    }

    fn undo_cwnd(&mut self, sender: &mut TcpSock) -> u32 {
        self.full_bandwidth = 0;
        self.full_rounds = 0;
        self.policer.forget(sender);
        sender.window
    }
}

/// Length of a window of the aggregation filter in rounds; two windows count.
const ROUNDS: u8 = 5;
/// Segments after which an epoch restarts.
const MAX_COUNTED: u32 = 1 << 20;
/// Maximum aggregation in time, in microseconds.
const MAX_MICROS: u64 = 100_000;

/// ACK aggregation: segments acknowledged since the epoch began, and the maximum excess of this window of
/// rounds and the one before.
#[derive(Debug, Default)]
pub(super) struct Aggregation {
    began: u64,
    counted: u32,
    max: [u32; 2],
    place: usize,
    rounds: u8,
}

impl Aggregation {
    pub(super) fn begin(&mut self, now: u64) {
        self.began = now;
        self.counted = 0;
    }

    /// Follows an acknowledgment.
    pub(super) fn update(
        &mut self,
        sender: &TcpSock,
        sample: &RateSample,
        bandwidth: u64,
        round_started: bool,
    ) {
        let newly = sample.newly_delivered;
        if newly == 0 || sample.delivered < 0 || sample.interval_micros <= 0 {
            return;
        }
        if round_started {
            self.follow_round();
        }
        let micros = elapsed(sender.delivered_at_micros, self.began);
        let mut expected = delivered_in(bandwidth, micros);
        if self.counted <= expected || self.counted + newly >= MAX_COUNTED {
            self.begin(sender.delivered_at_micros);
            expected = 0;
        }
        self.counted = (self.counted + newly).min(MAX_COUNTED - 1);
        let excess = self.counted.saturating_sub(expected).min(sender.window);
        let max = &mut self.max[self.place];
        *max = (*max).max(excess);
    }

    fn follow_round(&mut self) {
        self.rounds += 1;
        if self.rounds >= ROUNDS {
            self.rounds = 0;
            self.place ^= 1;
            self.max[self.place] = 0;
        }
    }

    /// Segments that the window has room for because of heaps.
    pub(super) fn room(&self, bandwidth: u64, is_full: bool) -> u32 {
        if !is_full {
            return 0;
        }
        let max = delivered_in(bandwidth, MAX_MICROS);
        self.max[0].max(self.max[1]).min(max)
    }
}

impl Bbr1 {
    /// `bbr_is_next_cycle_phase`.
    pub(super) fn is_phase_over(&self, sender: &TcpSock, sample: &RateSample) -> bool {
        let is_long = elapsed(sender.delivered_at_micros, self.phase_began) > self.min_rtt;
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

    pub(super) fn advance_phase(&mut self, sender: &TcpSock) {
        self.phase = (self.phase + 1) % CYCLE.len();
        self.phase_began = sender.delivered_at_micros;
    }

    /// `bbr_reset_probe_bw_mode`.
    pub(super) fn begin_cycle(&mut self, sender: &TcpSock) {
        self.mode = Mode::ProbeBandwidth;
        let back = usize::try_from(self.random.below(INITIAL_COUNTERS)).unwrap_or(0);
        self.phase = CYCLE.len() - 1 - back;
        self.advance_phase(sender);
    }

    /// `bbr_check_full_bw_reached`.
    pub(super) fn check_full_bandwidth(&mut self, sample: &RateSample) {
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
    pub(super) fn check_drain_done(&mut self, sender: &mut TcpSock) {
        let one = self.flight_for(sender, self.bandwidth.get(), UNIT);
        if self.mode == Mode::Startup && self.is_full {
            self.mode = Mode::Drain;
            sender.threshold = one;
        }
        if self.mode == Mode::Drain && self.flight_when_leaving(sender, sender.in_flight()) <= one {
            self.begin_cycle(sender);
        }
    }
}

impl Bbr1 {
    /// `bbr_update_min_rtt`.
    pub(super) fn update_min_rtt(&mut self, sender: &mut TcpSock, sample: &RateSample) {
        let now = sender.now_micros;
        let is_old = now > self.min_rtt_at + MIN_RTT_MICROS;
        if let Ok(rtt) = u64::try_from(sample.rtt_micros)
            && (rtt < self.min_rtt || is_old && !sample.is_delayed)
        {
            self.min_rtt = rtt;
            self.min_rtt_at = now;
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

    pub(super) fn probe_rtt(&mut self, sender: &mut TcpSock) {
        let flight = sender.in_flight();
        sender.application_limited = sender.delivered.wrapping_add(flight).max(1);
        if self.probe_rtt_done_at.is_some() {
            self.probe_rtt_round_done |= self.round_started;
            if self.probe_rtt_round_done {
                self.check_probe_rtt_done(sender);
            }
        } else if flight <= MIN_WINDOW {
            self.probe_rtt_done_at = Some(sender.now_micros + PROBE_RTT_MICROS);
            self.probe_rtt_round_done = false;
            self.round_ends_at = sender.delivered;
        }
    }

    /// `bbr_check_probe_rtt_done`.
    pub(super) fn check_probe_rtt_done(&mut self, sender: &mut TcpSock) {
        if self.probe_rtt_done_at.is_none_or(|done| sender.now_micros <= done) {
            return;
        }
        self.min_rtt_at = sender.now_micros;
        sender.window = sender.window.max(self.window_before);
        if self.is_full {
            self.begin_cycle(sender);
        } else {
            self.mode = Mode::Startup;
        }
    }
}
