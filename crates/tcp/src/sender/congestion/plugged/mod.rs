//! Interface of plugged congestion controls.
//!
//! The interface is that of Linux' `tcp_congestion_ops`: an algorithm sees a [`TcpSock`], the fields of
//! `struct tcp_sock` that such algorithms use, writes the window, the threshold or the pacing rate there, and is
//! called where the kernel calls its own ([`Hooks`]). So one algorithm serves both.
//!
//! Source: `include/net/tcp.h`, `net/ipv4/tcp_input.c`, `tcp_output.c`, `tcp_cong.c` of Linux 6.18.
//! Differs: unused hooks are missing (`sndbuf_expand`, `get_info`).
//! Delivery rates are sampled for algorithms that have `cong_control`; their fields stay unchanged for others.
//! Cost: some forty fields are written before the first hook of an acknowledgment, and before others where something
//! happened in between; seven are read after each.
//!
//! | module | concern |
//! |---|---|
//! | `tcp_sock` | sender state for algorithms, in the layout of C |
//! | `calls` | each call of a hook: fields in, call, fields out |

mod calls;
mod tcp_sock;

pub(crate) use calls::{Plugged, ReceiverView};
pub use tcp_sock::{
    AckReport, InetConnectionSock, LostSegment, PRIVATE_WORDS, Pacing as SockPacing, RateSample,
    RequestedAck, TcpSock, TransmitSnapshot,
};

use std::fmt::Debug;
use std::sync::Arc;

/// Hooks that an algorithm has, as bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hooks(pub u16);

impl Hooks {
    /// [`CongestionControl::in_ack_event`].
    pub const IN_ACK_EVENT: Self = Self(1);
    /// [`CongestionControl::pkts_acked`].
    pub const PKTS_ACKED: Self = Self(2);
    /// [`CongestionControl::cong_control`], which takes the place of `cong_avoid` and of the gradual
    /// reduction during recovery.
    pub const CONG_CONTROL: Self = Self(4);
    /// [`CongestionControl::set_state`].
    pub const SET_STATE: Self = Self(8);
    /// [`CongestionControl::cwnd_event`].
    pub const CWND_EVENT: Self = Self(16);
    /// [`CongestionControl::undo_cwnd`].
    pub const UNDO_CWND: Self = Self(32);
    /// [`CongestionControl::ssthresh`].
    pub const SSTHRESH: Self = Self(64);
    /// [`CongestionControl::cong_avoid`].
    pub const CONG_AVOID: Self = Self(128);
    /// No hook, but a requirement: the connection negotiates ECN, and all its packets are ECT (Linux
    /// `TCP_CONG_NEEDS_ECN`).
    pub const NEEDS_ECN: Self = Self(256);
    /// [`CongestionControl::segment_lost`] and [`CongestionControl::segment_sampled`].
    pub const SEGMENTS: Self = Self(512);
    /// No hook, but a promise: the algorithm never uses the rarely used fields, which are not copied then.
    pub const USES_FEW_FIELDS: Self = Self(1024);
    /// [`CongestionControl::min_tso_segs`].
    pub const MIN_TSO_SEGS: Self = Self(2048);

    /// Whether these hooks include any of the others.
    #[inline]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The union with the others.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Window event besides acknowledgments (Linux `enum tcp_ca_event`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum WindowEvent {
    /// Transmission begins with nothing in flight (`CA_EVENT_TX_START`).
    SendingBegins = 0,
    /// The window restarts after idleness (`CA_EVENT_CWND_RESTART`).
    Restarted = 1,
    /// A reduction is over (`CA_EVENT_COMPLETE_CWR`).
    Reduced = 2,
    /// A time-out reduces the window (`CA_EVENT_LOSS`).
    TimedOut = 3,
    /// Data came without a mark of congestion (`CA_EVENT_ECN_NO_CE`).
    UnmarkedData = 4,
    /// Data came with one (`CA_EVENT_ECN_IS_CE`).
    MarkedData = 5,
}

/// The acknowledgment took the slow path (Linux `CA_ACK_SLOWPATH`).
pub const ACK_SLOW_PATH: u32 = 1;
/// It opened the peer's window (`CA_ACK_WIN_UPDATE`).
pub const ACK_WINDOW_UPDATE: u32 = 2;
/// It echoes a mark (`CA_ACK_ECE`).
pub const ACK_ECHO: u32 = 4;
/// The bit for it in the flags of `cong_control` (`FLAG_ECE`).
pub const FLAG_ECHO: i32 = 0x40;
/// It acknowledges new data (`FLAG_DATA_ACKED`).
pub const FLAG_ACKNOWLEDGED: i32 = 0x04;
/// It newly selectively acknowledges data (`FLAG_DATA_SACKED`).
pub const FLAG_SACKED: i32 = 0x20;
/// It advances SND.UNA (`FLAG_SND_UNA_ADVANCED`).
pub const FLAG_ADVANCED: i32 = 0x400;

/// Default of Linux' `tcp_min_tso_segs`.
pub const MIN_TSO_SEGS: u32 = 2;

/// A congestion control algorithm of one connection.
///
/// Every method may write to [`TcpSock::window`], [`TcpSock::threshold`], [`TcpSock::credit`],
/// [`TcpSock::application_limited`] and [`SockPacing`]; other writes have no effect.
#[expect(unused_variables, reason = "an algorithm overrides what it needs")]
pub trait CongestionControl: Debug + Send {
    /// The hooks that are called.
    fn hooks(&self) -> Hooks;

    /// The connection is open (`init`).
    fn init(&mut self, sender: &mut TcpSock) {}

    /// The connection is over (`release`).
    fn release(&mut self, sender: &mut TcpSock) {}

    /// The slow-start threshold after a loss, in segments (`ssthresh`).
    fn ssthresh(&mut self, sender: &mut TcpSock) -> u32;

    /// Segments up to `acknowledgment` were acknowledged: the window may grow (`cong_avoid`).
    fn cong_avoid(&mut self, sender: &mut TcpSock, acknowledgment: u32, segments: u32) {}

    /// Called for every acknowledgment; the algorithm alone sets window and rate (`cong_control`).
    /// `flags` are the `FLAG_...` of Linux, of which those above are set here.
    fn cong_control(
        &mut self,
        sender: &mut TcpSock,
        acknowledgment: u32,
        flags: i32,
        sample: &RateSample,
    ) {
    }

    /// The state of recovery becomes `state`, one of Linux' numbers (`set_state`).
    fn set_state(&mut self, sender: &mut TcpSock, state: u8) {}

    /// Called for a window event (`cwnd_event`).
    fn cwnd_event(&mut self, sender: &mut TcpSock, event: WindowEvent) {}

    /// An acknowledgment came; `flags` are the constants `ACK_...` (`in_ack_event`).
    fn in_ack_event(&mut self, sender: &mut TcpSock, flags: u32) {}

    /// Called with the sample of an acknowledgment, before the window changes (`pkts_acked`).
    fn pkts_acked(&mut self, sender: &mut TcpSock, report: &AckReport) {}

    /// Called for a segment marked lost, before the next acknowledgment or time-out.
    fn segment_lost(&mut self, sender: &mut TcpSock, lost: &LostSegment) {}

    /// Called with the transmit snapshot of the segment of the next sample for `cong_control`.
    fn segment_sampled(&mut self, at_sending: &TransmitSnapshot) {}

    /// Both [`pkts_acked`](Self::pkts_acked) and [`cong_avoid`](Self::cong_avoid), if nothing changes in
    /// between.
    fn acknowledge(
        &mut self,
        sender: &mut TcpSock,
        report: &AckReport,
        acknowledgment: u32,
        segments: u32,
    ) {
        self.pkts_acked(sender, report);
        self.cong_avoid(sender, acknowledgment, segments);
    }

    /// The window after a spurious reduction, in segments (`undo_cwnd`): that before it, or the
    /// present one if larger.
    fn undo_cwnd(&mut self, sender: &mut TcpSock) -> u32 {
        sender.window.max(sender.window_before)
    }

    /// Minimum segments of the next bundle, in the place of Linux' `tcp_min_tso_segs` (`min_tso_segs`); its writes have
    /// no effect.
    fn min_tso_segs(&mut self, sender: &mut TcpSock) -> u32 {
        MIN_TSO_SEGS
    }

    /// The acknowledgment that the last [`cwnd_event`](Self::cwnd_event) has requested, once.
    fn take_requested_ack(&mut self) -> Option<RequestedAck> {
        None
    }

    /// A fault of the algorithm, once; for example an exception in its code.
    fn take_fault(&mut self) -> Option<String> {
        None
    }
}

/// Makes an algorithm for each connection.
pub trait ControlFactory: Debug + Send + Sync {
    /// The algorithm's name, as scenarios and tables have it.
    fn name(&self) -> &str;

    /// The algorithm with a fresh state.
    fn create(&self) -> Box<dyn CongestionControl>;
}

/// A congestion control from outside, by the factory of its instances; two are equal where their names are.
#[derive(Debug, Clone)]
pub struct PluggedAlgorithm(pub Arc<dyn ControlFactory>);

impl PartialEq for PluggedAlgorithm {
    fn eq(&self, other: &Self) -> bool {
        self.0.name() == other.0.name()
    }
}

impl Eq for PluggedAlgorithm {}

/// Faults of a plugged algorithm.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ControlFaults {
    /// Requests for a window of zero segments, which becomes one segment.
    pub empty_windows: u32,
    /// Requests for a pacing rate below one full segment per minute.
    pub standstills: u32,
    /// Its own message.
    pub own: Option<String>,
}
