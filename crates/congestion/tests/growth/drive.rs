//! Driver of one algorithm, with one acknowledgment per segment.

use fairwind_congestion::built_in;
use fairwind_tcp::{AckReport, CongestionControl, TcpSock};
use fairwind_units::{Instant, Span};

const OPEN: u8 = 0;
const RECOVERY: u8 = 3;

pub(crate) struct Drive {
    pub(crate) sender: TcpSock,
    pub(crate) now: Instant,
    pub(crate) rtt: Span,
    control: Box<dyn CongestionControl>,
}

impl Drive {
    /// A connection that is open, at one second.
    pub(crate) fn new(name: &str, rtt: Span) -> Self {
        let control = built_in(name).expect("it is built in").0.create();
        let smoothed = u32::try_from(rtt.as_micros() * 8).expect("a round trip");
        let sender = TcpSock {
            window: 10,
            smoothed_rtt_eighths: smoothed,
            window_limited: 1,
            ..TcpSock::default()
        };
        let mut drive = Self { sender, now: Instant::from_secs(1), rtt, control };
        drive.tick(Span::ZERO);
        drive.control.init(&mut drive.sender);
        drive
    }

    /// The same in congestion avoidance at a window.
    pub(crate) fn at(name: &str, rtt: Span, window: u32) -> Self {
        let mut drive = Self::new(name, rtt);
        drive.sender.window = window;
        drive.sender.threshold = window;
        drive
    }

    pub(crate) fn tick(&mut self, span: Span) {
        self.now += span;
        self.sender.now_nanos = self.now.as_nanos();
        self.sender.now_micros = self.now.as_nanos() / 1_000;
    }

    /// One segment is acknowledged, a share of a round trip after the one before.
    pub(crate) fn acknowledge(&mut self) {
        self.tick(self.rtt / u64::from(self.sender.window));
        let rtt_micros = i32::try_from(self.rtt.as_micros()).expect("a round trip");
        let report = AckReport { acknowledged: 1, rtt_micros, flight_bytes: 0 };
        self.control.pkts_acked(&mut self.sender, &report);
        self.control.cong_avoid(&mut self.sender, 0, 1);
        assert_eq!(self.control.take_fault(), None);
    }

    /// As many as the window has segments.
    pub(crate) fn round(&mut self) {
        for _ in 0..self.sender.window {
            self.acknowledge();
        }
    }

    /// A loss, repaired at once: the window that it leaves.
    pub(crate) fn lose(&mut self) -> u32 {
        self.sender.window_before = self.sender.window;
        self.sender.credit = 0;
        let left = self.control.ssthresh(&mut self.sender);
        self.control.set_state(&mut self.sender, RECOVERY);
        self.sender.control.state = RECOVERY;
        self.sender.threshold = left;
        self.sender.window = left;
        self.control.set_state(&mut self.sender, OPEN);
        self.sender.control.state = OPEN;
        left
    }

    pub(crate) fn undo(&mut self) -> u32 {
        self.control.undo_cwnd(&mut self.sender)
    }

    /// Seconds until the window is this.
    pub(crate) fn seconds_until(&mut self, window: u32) -> f64 {
        let start = self.now;
        while self.sender.window < window {
            self.acknowledge();
        }
        self.now.saturating_since(start).as_secs_f64()
    }

    /// Growth of the window in a round trip without a loss, in segments.
    pub(crate) fn growth_per_round(&mut self) -> f64 {
        let before = self.sender.window;
        let mut acknowledged = 0;
        // As many as make ten steps, so that those not yet counted do not matter.
        while self.sender.window < before + 10 {
            self.acknowledge();
            acknowledged += 1;
        }
        let window = f64::from(before) + 5.0;
        10.0 * window / f64::from(acknowledged)
    }
}
