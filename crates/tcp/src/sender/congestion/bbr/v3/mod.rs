//! BBR version 3.
//!
//! Source: draft-ietf-ccwg-bbr-06. Functions have the draft's names beside them.
//!
//! Differs: volumes are whole segments and gains 256ths. What was in flight when a segment was sent is known of the
//! last segment between the same two acknowledgments ([`AtSending`]). The bundle is Linux' (a 1024th of a second at
//! the rate). What the draft leaves to chance follows from the connection's first sequence number and the time, so
//! that equal seeds give equal runs. There is no response to marks of congestion, as the draft has none (§3.7).
//!
//! | parameter | value | unit |
//! |---|---|---|
//! | gain of the rate: start-up, draining | 2.77, 1/2 | |
//! | down, cruising, refilling, up | 0.9, 1, 1, 5/4 | |
//! | gain of the window; up | 2; 9/4 | bandwidth-delay products |
//! | losses that are too many | 2 | % of what was in flight |
//! | a bound falls by at most | 30 | % per round |
//! | left to others | 15 | % of the long-term bound |
//! | wait before probing | 2 to 3 | s |
//! | or, for the sake of Reno | the bandwidth-delay product in segments, at most 63 | round trips |
//! | least round trip is that of | 10 | s |
//! | looking for it: every, for, with | 5 s, 200 ms, 1/2 bandwidth-delay product | |
//! | margin of the rate | 1 | % |
//!
//! Cost per ACK: about that of version 1.
//!
//! | module | concern |
//! |---|---|
//! | `path` | rounds, the greatest bandwidth, heaps of acknowledgments |
//! | `bounds` | what losses say the path does not take |
//! | `startup` | start-up, its end, draining |
//! | `cycle` | down, cruising, refilling, up |
//! | `least_rtt` | the least round trip |
//! | `control` | the rate and the window |

mod bounds;
mod control;
mod cycle;
mod least_rtt;
mod path;
mod startup;

use super::arithmetic::{Chance, LOSS, UNIT, sampled_bandwidth};
use crate::sender::congestion::INFINITE_SSTHRESH;
use crate::sender::congestion::plugged::{
    AtSending, CongestionControl, Hooks, LostSegment, RateSample, TcpSock, WindowEvent,
};
use bounds::{Bounds, Latest};
use cycle::Probing;
use least_rtt::LeastRtt;
use path::{GreatestBandwidth, Heaps, Rounds};
use startup::FullPipe;

/// Segments below which no window is aimed at.
const LEAST_WINDOW: u32 = 4;
const INITIAL_WINDOW: u32 = 10;

/// The state machine of §5.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

/// BBR version 3.
#[derive(Debug)]
pub struct Bbr3 {
    state: State,
    rounds: Rounds,
    bandwidth: GreatestBandwidth,
    /// The bandwidth within its bound (`BBR.bw`).
    believed: u64,
    heaps: Heaps,
    pipe: FullPipe,
    drain_began_in: u32,
    latest: Latest,
    bounds: Bounds,
    /// Of the segment whose sample comes next, or came last.
    sampled: Option<AtSending>,
    probing: Probing,
    rtt: LeastRtt,
    idle_restart: bool,
    has_seen_rtt: bool,
    state_before: u8,
    window_before: u32,
    bounds_before: Bounds,
    undo_state: Option<State>,
    chance: Chance,
}

impl Bbr3 {
    /// Before the connection is open.
    pub fn new() -> Self {
        Self {
            state: State::Startup,
            rounds: Rounds::default(),
            bandwidth: GreatestBandwidth::default(),
            believed: 0,
            heaps: Heaps::default(),
            pipe: FullPipe::default(),
            drain_began_in: 0,
            latest: Latest::default(),
            bounds: Bounds::default(),
            sampled: None,
            probing: Probing::default(),
            rtt: LeastRtt::default(),
            idle_restart: false,
            has_seen_rtt: false,
            state_before: 0,
            window_before: 0,
            bounds_before: Bounds::default(),
            undo_state: None,
            chance: Chance::default(),
        }
    }

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
        self.heaps.follow(sender, newly, self.believed, round, was_full);
        let bandwidth = sampled.unwrap_or(0);
        if self.rounds.has_begun && !sample.is_application_limited {
            self.pipe.follow(bandwidth);
        }
        self.look_whether_started(sender, sample);
        self.look_whether_drained(sender);
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

impl Default for Bbr3 {
    fn default() -> Self {
        Self::new()
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
    }

    fn init(&mut self, sender: &mut TcpSock) {
        sender.threshold = INFINITE_SSTHRESH;
        self.rounds.begin(sender);
        self.rtt.begin(sender.least_rtt().map(u64::from), sender.now_micros);
        self.heaps.begin(sender.now_micros);
        self.chance = Chance::of(sender);
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

    fn segment_sampled(&mut self, at_sending: &AtSending) {
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
        self.heaps.begin(sender.now_micros);
        if self.state.is_of_cycle() {
            self.set_rate(sender, UNIT);
        } else if self.state == State::ProbeRtt {
            self.look_whether_rtt_known(sender);
        }
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
