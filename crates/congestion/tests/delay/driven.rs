//! Driver of one algorithm: one acknowledgment per segment, with given round trips.

use fairwind_congestion::built_in;
use fairwind_tcp::{AckReport, CongestionControl, Hooks, TcpSock};

/// Bytes of a segment, in the sequence numbers.
const SEGMENT: u32 = 1000;

pub(crate) struct Driven {
    control: Box<dyn CongestionControl>,
    pub(crate) sender: TcpSock,
    /// Every how many-th segment is marked; 0 for none.
    pub(crate) marks_every: u32,
}

impl Driven {
    /// The algorithm on a connection that is past slow start, at a window of so many segments.
    pub(crate) fn at_window(name: &str, window: u32) -> Self {
        let control = built_in(name).expect("it is there").0.create();
        let mut sender = TcpSock { window, threshold: window, ..TcpSock::default() };
        sender.segment_bytes = SEGMENT;
        sender.window_limited = 1;
        sender.now_micros = 1_000_000;
        let mut driven = Self { control, sender, marks_every: 0 };
        driven.send();
        driven.control.init(&mut driven.sender);
        driven
    }

    /// As much is out as the window allows.
    fn send(&mut self) {
        self.sender.next = self.sender.oldest_unacked + self.sender.window * SEGMENT;
        self.sender.outstanding = self.sender.window;
        self.sender.max_outstanding = self.sender.window;
    }

    /// One segment is acknowledged.
    pub(crate) fn acknowledge(&mut self, rtt_micros: i32) {
        let elapsed = u64::from(rtt_micros.unsigned_abs() / self.sender.window);
        self.sender.now_micros += elapsed;
        self.sender.now_nanos = self.sender.now_micros * 1000;
        self.sender.delivered += 1;
        let every = self.marks_every;
        self.sender.delivered_marked +=
            u32::from(every > 0 && self.sender.delivered.is_multiple_of(every));
        self.sender.oldest_unacked += SEGMENT;
        let report = AckReport { acknowledged: 1, rtt_micros, flight_bytes: 0 };
        let hooks = self.control.hooks();
        if hooks.contains(Hooks::PKTS_ACKED) {
            self.control.pkts_acked(&mut self.sender, &report);
        }
        if hooks.contains(Hooks::IN_ACK_EVENT) {
            self.control.in_ack_event(&mut self.sender, 0);
        }
        let acknowledgment = self.sender.oldest_unacked;
        self.control.cong_avoid(&mut self.sender, acknowledgment, 1);
        self.send();
        assert_eq!(self.control.take_fault(), None);
    }

    /// So many round trips, of a window each.
    pub(crate) fn rounds(&mut self, rounds: u32, rtt_micros: i32) {
        for _ in 0..rounds {
            for _ in 0..self.sender.window {
                self.acknowledge(rtt_micros);
            }
        }
    }

    /// The window that a loss leaves.
    pub(crate) fn window_after_loss(&mut self) -> u32 {
        self.control.ssthresh(&mut self.sender)
    }

    /// The threshold that a loss leaves which recovery follows.
    pub(crate) fn threshold_in_recovery(&mut self) -> u32 {
        self.sender.threshold = self.control.ssthresh(&mut self.sender);
        // `TCP_CA_Recovery`: the hook is called before the state changes.
        self.control.set_state(&mut self.sender, 3);
        self.sender.control.state = 3;
        self.sender.threshold
    }
}
