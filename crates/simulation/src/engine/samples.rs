//! Samples of the state of endpoints that send data.

use super::Simulation;
use fairwind_measure::{CongestionState, Direction, FlowId, Observation};
use fairwind_tcp::{Connection, RecoveryState, State};
use fairwind_units::Instant;

impl Simulation {
    /// Samples the state of all sending endpoints that are open.
    pub(super) fn sample(&mut self, now: Instant) {
        for (number, flow) in (0..).zip(&self.flows) {
            if flow.start == Instant::MAX && flow.sender.state().is_synchronised() {
                self.collector.observe(now, endpoint_observation(FlowId(number), &flow.sender));
            }
        }
        for answer in 0..self.answered.len() {
            self.sample_answers(self.answered[answer], now);
        }
        if let Some(every) = self.sample_every {
            self.next_sample = now + every;
        }
    }

    /// Samples the endpoint that a segment going this `way` has reached, before it looks into it, as
    /// the running kernel's tracepoint does: only where data flows, and only if it sends data itself.
    pub(super) fn sample_what_is_found(&mut self, number: u32, way: Direction, now: Instant) {
        let flow = &self.flows[number as usize];
        let answers = flow.dialogue.as_ref().map(|dialogue| dialogue.flow);
        let (writes, endpoint) = match way {
            Direction::Forward => (answers, &flow.receiver),
            Direction::Reverse => (Some(FlowId(number)), &flow.sender),
        };
        if let Some(written) = writes
            && endpoint.state() == State::Established
        {
            self.collector.observe(now, endpoint_observation(written, endpoint));
        }
    }
}

pub(super) fn endpoint_observation(flow: FlowId, sender: &Connection) -> Observation<'static> {
    Observation::Endpoint {
        flow,
        cwnd_packets: sender.congestion_window(),
        ssthresh_packets: sender.slow_start_threshold(),
        smoothed_rtt: sender.smoothed_rtt(),
        flight_packets: sender.flight(),
        state: match sender.recovery_state() {
            RecoveryState::Open => CongestionState::Open,
            RecoveryState::Disorder => CongestionState::Disorder,
            RecoveryState::WindowReduced => CongestionState::WindowReduced,
            RecoveryState::Recovery => CongestionState::Recovery,
            RecoveryState::Loss => CongestionState::Loss,
        },
    }
}
