//! Recorder of a congestion control's input and output at every acknowledgment.

use fairwind_tcp::{
    CongestionControl, ControlFactory, Hooks, LostSegment, PluggedAlgorithm, RateSample, TcpSock,
    TransmitSnapshot, WindowEvent,
};
use fairwind_units::Span;
use std::sync::{Arc, Mutex};

/// One acknowledgment, after the congestion control has decided.
#[derive(Debug, Clone, Copy)]
pub struct Decision {
    pub at: Span,
    /// Bytes per second.
    pub rate: u64,
    pub window: u32,
    pub flight: u32,
    pub delivered: u32,
    pub is_application_limited: bool,
    /// Segments per second of the sample, 0 for an invalid one.
    pub sampled: f64,
}

/// Where decisions are written down.
pub type Log = Arc<Mutex<Vec<Decision>>>;

/// Forwards every call, and records the result of acknowledgments.
#[derive(Debug)]
struct Watched {
    control: Box<dyn CongestionControl>,
    log: Log,
}

impl CongestionControl for Watched {
    fn hooks(&self) -> Hooks {
        self.control.hooks()
    }

    fn init(&mut self, sender: &mut TcpSock) {
        self.control.init(sender);
    }

    fn min_tso_segs(&mut self, sender: &mut TcpSock) -> u32 {
        self.control.min_tso_segs(sender)
    }

    fn ssthresh(&mut self, sender: &mut TcpSock) -> u32 {
        self.control.ssthresh(sender)
    }

    fn cong_control(
        &mut self,
        sender: &mut TcpSock,
        acknowledgment: u32,
        flags: i32,
        sample: &RateSample,
    ) {
        self.control.cong_control(sender, acknowledgment, flags, sample);
        let sampled = match u32::try_from(sample.interval_micros) {
            Ok(micros @ 1..) => f64::from(sample.delivered) / f64::from(micros) * 1e6,
            _ => 0.0,
        };
        self.log.lock().unwrap().push(Decision {
            at: Span::from_micros(sender.now_micros),
            rate: sender.control.pacing.rate,
            window: sender.window,
            flight: sender.in_flight(),
            delivered: sender.delivered,
            is_application_limited: sample.is_application_limited,
            sampled,
        });
    }

    fn set_state(&mut self, sender: &mut TcpSock, state: u8) {
        self.control.set_state(sender, state);
    }

    fn cwnd_event(&mut self, sender: &mut TcpSock, event: WindowEvent) {
        self.control.cwnd_event(sender, event);
    }

    fn segment_lost(&mut self, sender: &mut TcpSock, lost: &LostSegment) {
        self.control.segment_lost(sender, lost);
    }

    fn segment_sampled(&mut self, at_sending: &TransmitSnapshot) {
        self.control.segment_sampled(at_sending);
    }

    fn undo_cwnd(&mut self, sender: &mut TcpSock) -> u32 {
        self.control.undo_cwnd(sender)
    }
}

/// Creates recorded instances.
#[derive(Debug)]
pub struct Watching {
    pub algorithm: PluggedAlgorithm,
    pub log: Log,
}

impl ControlFactory for Watching {
    fn name(&self) -> &str {
        self.algorithm.0.name()
    }

    fn create(&self) -> Box<dyn CongestionControl> {
        Box::new(Watched { control: self.algorithm.0.create(), log: self.log.clone() })
    }
}

/// Rounds in a run of decisions: each ends when all data in flight at its start is delivered.
pub fn rounds(decisions: &[Decision]) -> u32 {
    let mut passed = 0;
    let mut end = decisions.first().map_or(0, |first| first.delivered + first.flight);
    for decision in decisions {
        if decision.delivered >= end {
            passed += 1;
            end = decision.delivered + decision.flight;
        }
    }
    passed
}

/// Runs of decisions with a common key: the key, and the length of the run.
pub fn stretches<K: Copy + PartialEq>(
    decisions: &[Decision],
    of: impl Fn(&Decision) -> K,
) -> Vec<(K, Span)> {
    let mut stretches: Vec<(K, Span)> = Vec::new();
    let mut before = None;
    for decision in decisions {
        let value = of(decision);
        let passed = before.map_or(Span::ZERO, |at| decision.at - at);
        match stretches.last_mut() {
            Some((held, lasted)) => {
                *lasted += passed;
                if *held != value {
                    stretches.push((value, Span::ZERO));
                }
            }
            None => stretches.push((value, Span::ZERO)),
        }
        before = Some(decision.at);
    }
    stretches
}
