//! Configuration of an endpoint: one switch or constant per mechanism.
//!
//! A [`Config`] is the complete behaviour of an endpoint; a *profile* (see [`crate::Profile`]) is a
//! named one. Mechanisms are separate switches so that they can be compared.

mod connection;
mod receiving;
mod recovery_constants;
mod sending;

pub use connection::{
    AccurateEcnOption, EcnConfig, EcnFeedback, FastOpenConfig, KeepAlive, Liveness, MtuDiscovery,
    MtuProbing, PathConfig, ProbeRule,
};
pub(crate) use receiving::MIN_BUFFER;
pub use receiving::{
    AckAcceptance, AckCompression, BufferAccounting, ControlAcceptance, DisorderedAcks, Receiving,
    TimestampRule,
};
pub use recovery_constants::{Factor, RecoveryConstants, ThinRecovery, ThinStreams};
pub use sending::{
    Bundling, BundlingStreams, EarlyRetransmit, Gathering, Growth, HyStartSigns, LossDetection,
    LossRecovery, LostRetransmissions, Pacing, RedundantBundling, ReorderingDetection,
    SendBufferRule, Sending, SillyWindow, SmartFraming, TailLossProbe, WindowReduction,
    send_memory,
};

use crate::sender::congestion::plugged::PluggedAlgorithm;
use fairwind_units::Span;

/// Growth of the congestion window on an acknowledgment of several segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AckCounting {
    /// One step per ACK, however much it covers (RFC 5681 §3.1 as written).
    PerAck,
    /// Slow start counts segments, congestion avoidance counts ACKs (Linux 3.13 to 3.19).
    SegmentsInSlowStart,
    /// Both count segments (Linux 4.0 and later).
    Segments,
}

/// Which small segments wait while data is outstanding (RFC 896).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Nagle {
    /// None waits (`TCP_NODELAY`).
    Off,
    /// A small segment waits while anything is outstanding (RFC 9293 §3.7.4).
    Classic,
    /// A small segment waits while another *small* one is outstanding (Minshall; Linux).
    Minshall,
}

/// Congestion window after an idle time of one time-out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum IdleRestart {
    /// Unchanged.
    Off,
    /// It falls to the initial window (RFC 5681 §4.1).
    InitialWindow,
    /// Halved per idle time-out, down to the initial window; an application-limited window decays
    /// towards the used part (RFC 2861; Linux `tcp_slow_start_after_idle`).
    Halving,
}

/// Delayed acknowledgments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AckDelay {
    /// Off: every data segment is acknowledged immediately.
    None,
    /// Every second full-sized segment, or after `limit` (RFC 1122 §4.2.3.2, RFC 5681 §4.2).
    EverySecond {
        /// Maximum delay; RFC 1122 demands less than 0.5 s.
        limit: Span,
    },
    /// As Linux: quick ACKs for the first segments, then a delay between 40 and 200 ms that follows
    /// the arrivals. A small segment is acknowledged as soon as all data is read, unless the
    /// connection is interactive.
    Adaptive {
        /// Maximum number of quick ACKs at the start of a connection.
        quick_segments: u32,
    },
}

/// Computation of the time-out from the smoothed round-trip time and its variation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RttRule {
    /// RFC 6298 §2: `SRTT + max(G, 4 RTTVAR)`, at least the minimum.
    Rfc6298,
    /// Linux: the *variation term* is at least the minimum, so the time-out of a stable path is the
    /// round-trip time plus the minimum. The variation falls at most once per round trip.
    Linux,
    /// FreeBSD: `SRTT + 4 RTTVAR` and a fixed allowance for delayed acknowledgments
    /// (`tcp_rexmit_slop`), at least the minimum.
    Slop(Span),
}

/// When a timer runs out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimerRule {
    /// At the instant for which it was set.
    Exact,
    /// With ticks, and slack (Linux 2.6.35 to 4.7, `apply_slack` of `kernel/time/timer.c`). Waits of 256 ticks and
    /// more last longer by up to a 256th, so that timers with nearly equal ends expire at the same tick.
    ///
    /// Ticks count from [`Instant::ZERO`](fairwind_units::Instant::ZERO) on every host. A timer that such a kernel
    /// lets expire up to a tick early, because it is set between ticks, expires when it is due.
    Slack {
        /// Time between ticks (`1 / CONFIG_HZ`).
        tick: Span,
    },
    /// With the ticks of a timer wheel (Linux 4.8, `kernel/time/timer.c`). Waits of less than 63 ticks end with
    /// the next tick, longer ones with the next multiple of 8 ticks, those from 504 ticks on with the next
    /// multiple of 64, and so on. So timers of many connections expire at the same instant. Pacing and merged
    /// acknowledgments have exact timers.
    ///
    /// Ticks count from [`Instant::ZERO`](fairwind_units::Instant::ZERO) on every host.
    Wheel {
        /// Time between ticks (`1 / CONFIG_HZ`).
        tick: Span,
    },
}

/// Base of the multiplicative decrease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReductionBase {
    /// The outstanding data (RFC 5681 equation 4, RFC 9438 §4.6).
    Flight,
    /// The congestion window (Linux).
    Window,
}

/// Window growth and reduction.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CongestionAlgorithm {
    /// Slow start and additive increase, halving (RFC 5681).
    Reno,
    /// BIC as Linux computes it (`tcp_bic.c`; the default of Linux 2.6.8 to 2.6.18).
    Bic,
    /// CUBIC as Linux computes it (integer arithmetic, `tcp_cubic.c`).
    CubicLinux,
    /// CUBIC as RFC 9438 states it.
    Cubic9438,
    /// One from outside.
    Plugged(PluggedAlgorithm),
}

impl Config {
    /// Whether segments and acknowledgments need processing beyond the fast path.
    pub(crate) const fn has_extras(&self) -> bool {
        let Sending { delivery_rate, pacing, redundancy, framing, .. } = &self.sending;
        *delivery_rate
            || pacing.enabled
            || redundancy.is_some()
            || framing.is_some()
            || self.growth.inflight_limit
            || self.path.is_device_full
    }

    /// Whether loss recovery has the constants of the RFCs, for thin streams too.
    pub(crate) fn has_usual_constants(&self) -> bool {
        self.thin.constants.is_none() && self.loss.constants == RecoveryConstants::RFC
    }
}

/// The complete behaviour of an endpoint.
///
/// Units are in the types; windows are in segments of at most the maximum segment size.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a separate mechanism, switched by name")]
pub struct Config {
    /// Largest payload plus option bytes that this end can receive in a segment, in bytes (MSS option).
    pub mss: u16,
    /// Offer and use selective acknowledgments (RFC 2018, RFC 6675).
    pub sack: bool,
    /// Offer and use timestamps (RFC 7323 §3).
    pub timestamps: bool,
    /// Offer and use window scaling (RFC 7323 §2).
    pub window_scaling: bool,
    /// Send new data on the first two duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
    /// Retransmit on the first duplicate ACK, or the [`ThinRecovery::duplicate_threshold`]-th, while the stream is thin (Linux `tcp_thin_dupack`).
    pub modified_fast_retransmit: bool,
    /// Time-outs without back-off while the stream is thin, up to [`ThinRecovery::linear_retries`] (Linux
    /// `tcp_thin_linear_timeouts`).
    pub linear_timeouts: bool,
    /// Which streams are thin, and limits of the mechanisms for them.
    pub thin: ThinRecovery,
    /// Loss detection and recovery.
    pub loss: LossRecovery,
    /// Merge small neighbours into a retransmission (Linux `tcp_retrans_collapse`).
    pub collapse_retransmissions: bool,
    /// Growth of the congestion window.
    pub growth: Growth,
    /// Keep-alive, window probes, and limits before giving up.
    pub liveness: Liveness,
    /// Segmentation, pacing and send buffer.
    pub sending: Sending,
    /// Path and path MTU discovery.
    pub path: PathConfig,
    /// Small segments that wait.
    pub nagle: Nagle,
    /// Acknowledgments that wait.
    pub ack_delay: AckDelay,
    /// Growth of the window per acknowledged segment.
    pub ack_counting: AckCounting,
    /// Base of the multiplicative decrease.
    pub reduction_base: ReductionBase,
    /// Congestion window after idle time.
    pub idle_restart: IdleRestart,
    /// Window growth and reduction.
    pub congestion: CongestionAlgorithm,
    /// Initial congestion window in segments, for a full-sized MSS.
    pub initial_window: u32,
    /// The initial window is also limited in bytes: to `initial_window` segments of 1460 bytes, but
    /// at least two segments (RFC 5681 §3.1, RFC 6928 §2).
    pub initial_window_in_bytes: bool,
    /// Initial slow-start threshold in segments; `None` is "arbitrarily high" (RFC 5681 §3.1).
    pub initial_ssthresh: Option<u32>,
    /// Computation of the retransmission time-out.
    pub rtt_rule: RttRule,
    /// When timers run out.
    pub timers: TimerRule,
    /// Time-out before the first round-trip sample (RFC 6298 §2.1).
    pub initial_rto: Span,
    /// Minimum time-out.
    pub minimum_rto: Span,
    /// Maximum time-out after back-off.
    pub maximum_rto: Span,
    /// Duplicate ACKs, or segments selectively acknowledged above a hole, that prove a loss.
    pub duplicate_threshold: u32,
    /// SYN (and SYN-ACK) retransmissions before giving up.
    pub syn_retries: u32,
    /// SYN retransmissions at the initial interval before it doubles (Linux `tcp_syn_linear_timeouts`).
    pub syn_linear_retries: u32,
    /// Lost SYNs that do not reduce the initial window to one segment (RFC 5681 §3.1: 0).
    pub lost_syns_forgiven: u32,
    /// Consecutive time-outs before a connection is given up, counted as if exponential from the
    /// minimum; also the limit of unanswered window probes (Linux `tcp_retries2`).
    pub retransmission_limit: u32,
    /// Duration of TIME-WAIT.
    pub time_wait: Span,
    /// Receive buffer in bytes: the maximum window. For a buffer that counts memory it is half of the
    /// initial size; [`Config::set_receive_window`] converts for either.
    pub receive_buffer: u32,
    /// The receiving half.
    pub receiving: Receiving,
    /// Send buffer in bytes: unacknowledged plus unsent, counted by [`Sending::buffer_rule`];
    /// [`Config::set_send_buffer`] converts for either.
    pub send_buffer: u32,
    /// Explicit congestion notification.
    pub ecn: EcnConfig,
    /// Data with the SYN.
    pub fast_open: FastOpenConfig,
}
