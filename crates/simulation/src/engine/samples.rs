//! Samples of the state of endpoints that send data.

use super::Simulation;
use fairwind_measure::{CongestionState, Direction, FlowId, Observation, SenderCounts, SenderRow};
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

    /// What kept each data sender from sending, of those that have started.
    pub(super) fn sender_accounts(&self) -> Vec<SenderRow> {
        let account = |flow, endpoint| {
            self.collector.sender_row(flow, self.end, sender_counts(endpoint, self.end))
        };
        let started = (0..).zip(&self.flows).filter(|(number, flow)| {
            flow.start == Instant::MAX && !self.waits_for_another(*number)
        });
        let mut accounts: Vec<_> = started
            .flat_map(|(number, flow)| {
                let answers = flow.dialogue.as_ref().map(|dialogue| dialogue.flow);
                let answering = answers.and_then(|answers| account(answers, &flow.receiver));
                account(FlowId(number), &flow.sender).into_iter().chain(answering)
            })
            .collect();
        accounts.sort_by_key(SenderRow::flow);
        accounts
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

/// What an endpoint counted that sends data, until `end`.
fn sender_counts(sender: &Connection, end: Instant) -> SenderCounts {
    let told = sender.information(end);
    SenderCounts {
        busy: told.busy.unwrap_or_default(),
        window_limited: told.window_limited.unwrap_or_default(),
        buffer_limited: told.buffer_limited.unwrap_or_default(),
        segments_retransmitted: told.total_retransmissions.unwrap_or_default(),
        cwnd_packets: told.congestion_window,
        in_slow_start: told
            .slow_start_threshold
            .is_none_or(|threshold| told.congestion_window < threshold),
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
