//! Property tests: under all events, no algorithm of the repository divides by zero, asks for a window of nothing, or gives a
//! threshold of less than two segments.

use fairwind_congestion::{built_in, names};
use fairwind_tcp::{AckReport, CongestionControl, Hooks, RateSample, TcpSock, WindowEvent};
use proptest::prelude::*;

/// Bytes of a segment, in the sequence numbers.
const SEGMENT: u32 = 1448;

/// An event of a connection.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// Segments are acknowledged, after a time and with a round trip in microseconds, -1 for none.
    Acknowledged {
        segments: u32,
        rtt: i32,
        after: u64,
        is_marked: bool,
        is_limited: bool,
    },
    Lost,
    Repaired,
    TimedOut,
    Undone,
    Event(WindowEvent),
    /// Data of the peer has come.
    Received,
}

fn steps() -> impl Strategy<Value = Step> {
    let times =
        || prop_oneof![Just(0_u64), 1..1000_u64, 1000..400_000_u64, 1_000_000..100_000_000_u64];
    let rtt = prop_oneof![
        Just(-1),
        Just(0),
        1..1000_i32,
        10_000..400_000_i32,
        10_000..400_000_i32,
        1_000_000..100_000_000_i32
    ];
    let acknowledged =
        (prop_oneof![1..3_u32, 1..3_u32, 0..60_u32], rtt, times(), any::<bool>(), any::<bool>())
            .prop_map(|(segments, rtt, after, is_marked, is_limited)| Step::Acknowledged {
                segments,
                rtt,
                after,
                is_marked,
                is_limited,
            });
    prop_oneof![
        40 => acknowledged,
        1 => Just(Step::Lost),
        2 => Just(Step::Repaired),
        1 => Just(Step::TimedOut),
        1 => Just(Step::Undone),
        1 => Just(Step::Received),
        1 => prop_oneof![
            Just(WindowEvent::SendingBegins),
            Just(WindowEvent::Restarted),
            Just(WindowEvent::Reduced),
            Just(WindowEvent::UnmarkedData),
            Just(WindowEvent::MarkedData),
        ].prop_map(Step::Event),
    ]
}

struct Connection {
    control: Box<dyn CongestionControl>,
    sender: TcpSock,
}

impl Connection {
    fn new(name: &str, window: u32) -> Self {
        let mut control = built_in(name).expect("it is there").0.create();
        let mut sender = TcpSock { window, segment_bytes: SEGMENT, ..TcpSock::default() };
        sender.next = window * SEGMENT;
        control.init(&mut sender);
        Self { control, sender }
    }

    fn has(&self, hooks: Hooks) -> bool {
        self.control.hooks().contains(hooks)
    }

    fn enter(&mut self, state: u8) {
        if self.has(Hooks::SET_STATE) {
            self.control.set_state(&mut self.sender, state);
        }
        self.sender.control.state = state;
    }

    fn window_event(&mut self, event: WindowEvent) {
        if self.has(Hooks::CWND_EVENT) {
            self.control.cwnd_event(&mut self.sender, event);
        }
    }

    fn threshold(&mut self) -> u32 {
        self.sender.window_before = self.sender.window;
        let threshold = self.control.ssthresh(&mut self.sender);
        self.sender.threshold = threshold;
        threshold
    }

    fn meet(&mut self, step: Step) {
        match step {
            Step::Acknowledged { segments, rtt, after, is_marked, is_limited } => {
                self.sender.now_micros += after;
                self.sender.window_limited = u8::from(is_limited);
                let marked = if is_marked { segments } else { 0 };
                self.sender.delivered_marked = self.sender.delivered_marked.wrapping_add(marked);
                self.acknowledge(segments, rtt);
            }
            Step::Lost if self.sender.control.state < 3 => {
                self.sender.window = self.threshold().max(1);
                self.enter(3);
            }
            Step::TimedOut => {
                self.threshold();
                self.window_event(WindowEvent::TimedOut);
                self.sender.window = 1;
                self.enter(4);
            }
            Step::Repaired | Step::Lost => self.enter(0),
            Step::Undone if self.has(Hooks::UNDO_CWND) => {
                self.sender.window = self.control.undo_cwnd(&mut self.sender);
            }
            Step::Undone => {}
            Step::Event(event) => self.window_event(event),
            Step::Received => {
                self.sender.expected = self.sender.expected.wrapping_add(SEGMENT);
                self.sender.control.pending ^= 2;
            }
        }
        self.sender.now_nanos = self.sender.now_micros * 1000;
    }

    fn acknowledge(&mut self, segments: u32, rtt_micros: i32) {
        let sender = &mut self.sender;
        sender.now_nanos = sender.now_micros * 1000;
        sender.oldest_unacked = sender.oldest_unacked.wrapping_add(segments * SEGMENT);
        sender.next = sender.oldest_unacked.wrapping_add(sender.window.wrapping_mul(SEGMENT));
        sender.delivered = sender.delivered.wrapping_add(segments);
        sender.outstanding = sender.window;
        let acknowledgment = sender.oldest_unacked;
        if self.has(Hooks::PKTS_ACKED) {
            let report = AckReport { acknowledged: segments, rtt_micros, flight_bytes: 0 };
            self.control.pkts_acked(&mut self.sender, &report);
        }
        if self.has(Hooks::IN_ACK_EVENT) {
            self.control.in_ack_event(&mut self.sender, 0);
        }
        if self.has(Hooks::CONG_CONTROL) {
            let sample = RateSample {
                delivered: segments.cast_signed(),
                interval_micros: rtt_micros.into(),
                rtt_micros: rtt_micros.into(),
                newly_delivered: segments,
                ..RateSample::INVALID
            };
            self.control.cong_control(&mut self.sender, acknowledgment, 0, &sample);
        } else if self.sender.control.state != 3 {
            self.control.cong_avoid(&mut self.sender, acknowledgment, segments);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn algorithms_keep_window_open_without_faults(
        window in prop_oneof![1..100_u32, 100..100_000_u32],
        steps in prop::collection::vec(steps(), 1..400),
    ) {
        for name in names() {
            let mut connection = Connection::new(&name, window);
            for (number, &step) in steps.iter().enumerate() {
                connection.meet(step);
                let complaint = connection.control.take_fault();
                prop_assert_eq!(complaint, None, "{} at step {}, {:?}", name, number, step);
                let (window, threshold) = (connection.sender.window, connection.sender.threshold);
                prop_assert!(window >= 1, "{} at step {}, {:?}", name, number, step);
                prop_assert!(threshold >= 2, "{}: {} at step {}, {:?}", name, threshold, number, step);
            }
        }
    }
}
