//! Recorded calls, made anew of the native form.

use super::tape::Call;
use fairwind_tcp::{CongestionControl, PRIVATE_WORDS, PluggedAlgorithm, TcpSock, WindowEvent};
use std::collections::{BTreeMap, HashMap};

/// Result of a replay: calls of each hook with the same result.
#[derive(Debug, Default)]
pub(crate) struct Replay {
    pub(crate) counts: BTreeMap<&'static str, u64>,
    /// Requested acknowledgments.
    pub(crate) asked: u64,
}

/// One connection's algorithm.
struct Connection {
    control: Box<dyn CongestionControl>,
    private: [u64; PRIVATE_WORDS],
    /// The beginning of the call that is not over.
    begun: Option<Call>,
}

/// What a call leaves behind, gives, and asks for.
struct Left {
    sender: TcpSock,
    answer: Option<u32>,
    /// The number that an acknowledgment is to have.
    asked: Option<u32>,
}

impl Replay {
    /// Makes the calls; panics where the native form does anything else.
    pub(crate) fn of(name: &str, native: &PluggedAlgorithm, calls: &[Call]) -> Self {
        let mut replay = Self::default();
        let mut connections: HashMap<u64, Connection> = HashMap::new();
        for (place, call) in calls.iter().enumerate() {
            let is_first = call.hook == "init" && !call.is_over;
            if is_first {
                connections.remove(&call.connection);
            }
            let connection = connections.entry(call.connection).or_insert_with(|| Connection {
                control: native.0.create(),
                private: call.sender.control.private,
                begun: None,
            });
            if !call.is_over {
                connection.begun = Some(call.clone());
                continue;
            }
            let Some(before) = connection.begun.take() else {
                panic!("{name}, call {place}: {} is over and never began", call.hook);
            };
            connection.private =
                connection.compare(&format!("{name}, call {place}"), &before, call);
            replay.asked += call.asked - before.asked;
            *replay.counts.entry(call.hook).or_default() += 1;
        }
        replay
    }
}

impl Connection {
    /// Holds what the native form leaves behind against what the kernel's did; gives the state.
    fn compare(&mut self, place: &str, before: &Call, behind: &Call) -> [u64; PRIVATE_WORDS] {
        let mut native = self.answer(before);
        let asked = match behind.asked - before.asked {
            0 => None,
            1 => Some(behind.asked_number),
            more => {
                panic!("{place}: the kernel's form has asked for {more} acknowledgments at once")
            }
        };
        let mut sender = behind.sender;
        if asked.is_some() {
            // The kernel owes nothing once it has sent one; the simulator does that when the hook is over.
            sender.control.pending |= before.sender.control.pending;
        }
        let kernel = Left { sender, answer: native.answer.map(|_| behind.answer), asked };
        let left = |it: &Left| (written(&it.sender), it.answer, it.asked);
        if left(&native) != left(&kernel) {
            // The clock may have ticked while the kernel was in the hook.
            let mut later = before.clone();
            later.sender.now_nanos = behind.sender.now_nanos;
            native = self.answer(&later);
        }
        assert_eq!(
            left(&native),
            left(&kernel),
            "{place}: the native form leaves the left behind, the kernel's the right, of {before:?}"
        );
        native.sender.control.private
    }

    /// State after the native call.
    fn answer(&mut self, call: &Call) -> Left {
        let mut sender = call.sender;
        assert_eq!(sender.control.private, self.private, "{}: another state before", call.hook);
        let control = &mut *self.control;
        let mut answer = None;
        match call.hook {
            "init" => control.init(&mut sender),
            "release" => control.release(&mut sender),
            "ssthresh" => answer = Some(control.ssthresh(&mut sender)),
            "undo_cwnd" => answer = Some(control.undo_cwnd(&mut sender)),
            "cong_avoid" => control.cong_avoid(&mut sender, call.argument(0), call.argument(1)),
            "cong_control" => {
                let flags = call.argument(1).cast_signed();
                control.cong_control(&mut sender, call.argument(0), flags, &call.sample());
            }
            "set_state" => control.set_state(&mut sender, u8::try_from(call.arguments[0]).unwrap()),
            "cwnd_event" => control.cwnd_event(&mut sender, event(call.arguments[0])),
            "in_ack_event" => control.in_ack_event(&mut sender, call.argument(0)),
            "pkts_acked" => control.pkts_acked(&mut sender, &call.report()),
            other => panic!("{other} is no hook"),
        }
        assert_eq!(control.take_fault(), None, "{}", call.hook);
        let asked = control.take_requested_ack().map(|asked| asked.number);
        Left { sender, answer, asked }
    }
}

fn event(number: u64) -> WindowEvent {
    let events = [
        WindowEvent::SendingBegins,
        WindowEvent::Restarted,
        WindowEvent::Reduced,
        WindowEvent::TimedOut,
        WindowEvent::UnmarkedData,
        WindowEvent::MarkedData,
    ];
    events[usize::try_from(number).unwrap()]
}

/// The fields that an algorithm may write.
fn written(sender: &TcpSock) -> impl PartialEq + std::fmt::Debug + use<> {
    (
        sender.window,
        sender.credit,
        sender.threshold,
        sender.ecn_flags,
        sender.application_limited,
        sender.control.pacing.rate,
        sender.control.pacing.status,
        sender.control.pending,
        sender.control.private,
    )
}
