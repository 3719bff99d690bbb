//! BBR version 3.
//!
//! Source: draft-ietf-ccwg-bbr-06. Comments give the function names of the draft.
//!
//! Differs: volumes are whole segments and gains 256ths. The flight at the transmission of a segment is
//! that of the last segment between the same two acknowledgments ([`TransmitSnapshot`]). The bundle is that
//! of Linux (the data of 1/1024 s at the rate). Random choices of the draft follow from the connection's
//! first sequence number and the time, so that equal seeds give equal runs. There is no response to ECN, as
//! in the draft (§3.7).
//!
//! | parameter | value | unit |
//! |---|---|---|
//! | pacing gain: start-up, drain | 2.77, 1/2 | |
//! | down, cruise, refill, up | 0.9, 1, 1, 5/4 | |
//! | window gain; up | 2; 9/4 | bandwidth-delay products |
//! | tolerated loss | 2 | % of the flight |
//! | maximum reduction of a bound | 30 | % per round |
//! | headroom | 15 | % of the long-term bound |
//! | wait before probing | 2 to 3 | s |
//! | or, for coexistence with Reno | the bandwidth-delay product in segments, at most 63 | round trips |
//! | window of the round-trip filter | 10 | s |
//! | probing for it: every, for, with | 5 s, 200 ms, 1/2 bandwidth-delay product | |
//! | pacing margin | 1 | % |
//!
//! Cost per ACK: about that of version 1.
//!
//! | module | concern |
//! |---|---|
//! | this file | rounds, bandwidth, ACK aggregation, bounds from losses (§5.5.1 to §5.5.10) |
//! | `cycle` | bandwidth probing, minimum round trip |
//! | `control` | rate and window, start-up, drain |

mod control;
mod cycle;

use crate::sender::congestion::INFINITE_SSTHRESH;
use crate::sender::congestion::bbr::{
    LOSS, PseudoRandom, UNIT, WindowedMax, delivered_in, elapsed, is_before, min_bundle,
    sampled_bandwidth,
};
use crate::sender::congestion::plugged::{
    CongestionControl, Hooks, LostSegment, RateSample, TcpSock, TransmitSnapshot, WindowEvent,
};
use cycle::Feedback;

/// Segments below which no window is aimed at.
const MIN_WINDOW: u32 = 4;
const INITIAL_WINDOW: u32 = 10;

/// The state machine of §5.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

/// BBR version 3; the default is that before the connection is open.
#[derive(Debug, Default)]
pub struct Bbr3 {
    state: State,
    rounds: Rounds,
    bandwidth: MaxBandwidthFilter,
    /// The bandwidth within its bound (`BBR.bw`).
    believed: u64,
    aggregation: AckAggregation,
    pipe: FullPipe,
    drain_began_in: u32,
    latest: Latest,
    bounds: Bounds,
    /// Snapshot for the segment of the next or last sample.
    sampled: Option<TransmitSnapshot>,
    probing: Probing,
    rtt: MinRttFilter,
    idle_restart: bool,
    has_seen_rtt: bool,
    state_before: u8,
    window_before: u32,
    bounds_before: Bounds,
    undo_state: Option<State>,
    random: PseudoRandom,
}

impl Bbr3 {
    /// `UpdateModelAndState` (§5.2.3).
    fn update_model(&mut self, sender: &mut TcpSock, sample: &RateSample) {
        let sampled = sampled_bandwidth(sample);
        self.rounds.has_begun = false;
        self.latest.round_began = false;
        if let Some(bandwidth) = sampled {
            self.follow_delivery(sender, sample, bandwidth);
        }
        let newly = sample.newly_delivered;
        let (round, was_full) = (self.rounds.count, self.pipe.was_ever_full);
        self.aggregation.follow(sender, newly, self.believed, round, was_full);
        let bandwidth = sampled.unwrap_or(0);
        if self.rounds.has_begun && !sample.is_application_limited {
            self.pipe.follow(bandwidth);
        }
        self.check_startup_done(sender, sample);
        self.check_drain_done(sender);
        self.follow_cycle(sender, sample, bandwidth);
        self.follow_rtt(sender, sample);
        self.latest.advance(sample, bandwidth);
        self.believed = self.bounds.bounded(self.bandwidth.get());
    }

    /// `UpdateLatestDeliverySignals`, `UpdateCongestionSignals`.
    fn follow_delivery(&mut self, sender: &TcpSock, sample: &RateSample, bandwidth: u64) {
        self.latest.follow(sender, sample, bandwidth);
        if self.rounds.follow(sender, sample) {
            self.probing.follow_round();
        }
        self.bandwidth.note(bandwidth, sample.is_application_limited);
        if !self.latest.round_began {
            return;
        }
        if self.latest.has_loss && !self.state.is_probing() {
            self.bounds.adapt(&self.latest, self.bandwidth.get(), sender.window);
        }
        self.latest.has_loss = false;
    }

    /// `SaveStateUponLoss`.
    fn save(&mut self, sender: &TcpSock) {
        self.save_window(sender);
        self.undo_state = None;
        self.bounds_before = self.bounds.saved();
    }
}

impl CongestionControl for Bbr3 {
    fn hooks(&self) -> Hooks {
        Hooks::CONG_CONTROL
            .and(Hooks::SSTHRESH)
            .and(Hooks::UNDO_CWND)
            .and(Hooks::SET_STATE)
            .and(Hooks::CWND_EVENT)
            .and(Hooks::SEGMENTS)
            .and(Hooks::MIN_TSO_SEGS)
    }

    fn init(&mut self, sender: &mut TcpSock) {
        sender.threshold = INFINITE_SSTHRESH;
        self.rounds.begin(sender);
        self.rtt.begin(sender.min_rtt().map(u64::from), sender.now_micros);
        self.aggregation.begin(sender.now_micros);
        self.random = PseudoRandom::of(sender);
        self.begin_rate(sender);
        if sender.control.pacing.status == 0 {
            sender.control.pacing.status = 1;
        }
    }

    fn ssthresh(&mut self, sender: &mut TcpSock) -> u32 {
        self.save(sender);
        sender.threshold
    }

    fn segment_lost(&mut self, sender: &mut TcpSock, lost: &LostSegment) {
        if self.latest.note_loss(sender, lost) {
            self.save(sender);
        }
        self.respond_to_loss(sender, lost);
    }

    fn segment_sampled(&mut self, at_sending: &TransmitSnapshot) {
        self.sampled = Some(*at_sending);
    }

    fn cong_control(
        &mut self,
        sender: &mut TcpSock,
        _acknowledgment: u32,
        _flags: i32,
        sample: &RateSample,
    ) {
        self.update_model(sender, sample);
        self.set_rate(sender, self.state.pacing_gain());
        self.set_window(sender, sample);
        self.sampled = None;
    }

    fn set_state(&mut self, _sender: &mut TcpSock, state: u8) {
        if state == LOSS {
            self.state_before = LOSS;
        }
    }

    fn cwnd_event(&mut self, sender: &mut TcpSock, event: WindowEvent) {
        if event != WindowEvent::SendingBegins || sender.application_limited == 0 {
            return;
        }
        self.idle_restart = true;
        self.aggregation.begin(sender.now_micros);
        if self.state.is_of_cycle() {
            self.set_rate(sender, UNIT);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(sender);
        }
    }

    fn min_tso_segs(&mut self, sender: &mut TcpSock) -> u32 {
        min_bundle(sender)
    }

    /// `HandleSpuriousLossDetection`.
    fn undo_cwnd(&mut self, sender: &mut TcpSock) -> u32 {
        self.latest.has_loss = false;
        self.pipe.begin(0);
        self.bounds.widen(&self.bounds_before);
        let undone = self.undo_state.take();
        if undone == Some(State::Startup) && self.state != State::Startup {
            self.pipe.was_ever_full = false;
            if self.state != State::ProbeRtt {
                self.state = State::Startup;
            }
        } else if undone == Some(State::Up)
            && self.state != State::Up
            && self.state != State::ProbeRtt
        {
            self.refill(sender);
        }
        sender.window.max(self.window_before)
    }
}

/// Rounds of the aggregation filter after start-up, and before.
const AGGREGATION_ROUNDS: u32 = 10;
const STARTUP_AGGREGATION_ROUNDS: u32 = 1;

/// Rounds by data: one ends when data sent after its start is acknowledged.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    count: u32,
    ends_at: u32,
    has_begun: bool,
}

impl Rounds {
    /// Ends the present round with the data sent from now on.
    pub(super) fn begin(&mut self, sender: &TcpSock) {
        self.ends_at = sender.delivered;
    }

    /// Follows a sample; returns whether a round has begun with it.
    pub(super) fn follow(&mut self, sender: &TcpSock, sample: &RateSample) -> bool {
        self.has_begun = !is_before(sample.delivered_before, self.ends_at);
        if self.has_begun {
            self.begin(sender);
            self.count = self.count.wrapping_add(1);
        }
        self.has_begun
    }
}

/// Maximum bandwidth of this probing cycle and the one before.
#[derive(Debug, Default)]
pub(super) struct MaxBandwidthFilter {
    before: u64,
    now: u64,
}

impl MaxBandwidthFilter {
    pub(super) fn get(&self) -> u64 {
        self.before.max(self.now)
    }

    /// Adds a sample; application-limited ones count only if they are the maximum.
    pub(super) fn note(&mut self, bandwidth: u64, is_application_limited: bool) {
        if bandwidth >= self.get() || !is_application_limited {
            self.now = self.now.max(bandwidth);
        }
    }

    /// The cycle is over.
    pub(super) fn advance(&mut self) {
        self.before = std::mem::take(&mut self.now);
    }
}

/// ACK aggregation: acknowledged segments beyond the expectation by bandwidth.
#[derive(Debug, Default)]
pub(super) struct AckAggregation {
    began: u64,
    counted: u32,
    max: WindowedMax,
}

impl AckAggregation {
    pub(super) fn begin(&mut self, now: u64) {
        self.began = now;
        self.counted = 0;
    }

    /// Follows an acknowledgment in round `round`.
    pub(super) fn follow(
        &mut self,
        sender: &TcpSock,
        newly_delivered: u32,
        bandwidth: u64,
        round: u32,
        was_ever_full: bool,
    ) {
        let now = sender.now_micros;
        let mut expected = delivered_in(bandwidth, elapsed(now, self.began));
        if self.counted <= expected {
            self.begin(now);
            expected = 0;
        }
        self.counted = self.counted.saturating_add(newly_delivered);
        let excess = self.counted.saturating_sub(expected).min(sender.window);
        let rounds = if was_ever_full { AGGREGATION_ROUNDS } else { STARTUP_AGGREGATION_ROUNDS };
        self.max.note(u64::from(excess), round, rounds);
    }

    /// Segments that the window has room for because of heaps.
    pub(super) fn room(&self) -> u32 {
        u32::try_from(self.max.get()).unwrap_or(u32::MAX)
    }
}

/// Whether sending faster still brings more.
#[derive(Debug, Default)]
struct FullPipe {
    bandwidth: u64,
    rounds: u8,
    /// The pipe is full since the last restart.
    is_full: bool,
    /// The pipe was full once.
    was_ever_full: bool,
}

#[derive(Debug, Default)]
struct Probing {
    feedback: Feedback,
    cycle_began: u64,
    wait: u64,
    rounds_since_up: u32,
    up_rounds: u32,
    up_acknowledged: u32,
    /// Acknowledged segments for one more of the long-term bound; none while it does not grow.
    per_segment: Option<u32>,
    /// Samples are from probing, and have not been used yet.
    is_sample: bool,
    was_too_high: bool,
    was_cautious: bool,
}

/// Minimum round trips and their times, in microseconds.
#[derive(Debug, Default)]
struct MinRttFilter {
    /// Minimum of the model; none before the first sample.
    min: Option<u64>,
    seen_at: u64,
    /// Minimum that schedules probing.
    probe_min: Option<u64>,
    probe_min_at: u64,
    is_due: bool,
    done_at: Option<u64>,
    has_lasted_a_round: bool,
}

/// Short-term bounds, and the long-term bound of the flight.
#[derive(Debug, Default)]
struct Bounds {
    bandwidth: Option<u64>,
    flight: Option<u32>,
    long_term: Option<u32>,
}

/// Amount delivered in the last round, and whether it had losses.
#[derive(Debug, Default)]
struct Latest {
    bandwidth: u64,
    flight: u32,
    round_ends_at: u32,
    round_began: bool,
    has_loss: bool,
    /// Loss gaps in this round, and the end of the last one.
    gaps: u32,
    gap_end: Option<u32>,
}
