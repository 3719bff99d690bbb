//! What an endpoint does and does not do: one switch or constant per mechanism.
//!
//! A [`Config`] is the whole of an endpoint's behaviour; a *profile* (see [`crate::Profile`]) is a
//! named one. Mechanisms are separate switches because comparing them is what they are for.

mod connection;
mod receiving;
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
pub use sending::{
    Bundling, EarlyRetransmit, Gathering, Growth, HyStartSigns, LossDetection, LossRecovery,
    LostRetransmissions, Pacing, RedundantBundling, ReorderingDetection, SendBufferRule, Sending,
    SillyWindow, SmartFraming, TailLossProbe, WindowReduction,
};

use crate::sender::congestion::plugged::PluggedAlgorithm;
use fairwind_units::Span;

/// How a congestion window grows on an acknowledgment that covers several segments.
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

/// What happens to the congestion window after an idle time of a retransmission time-out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum IdleRestart {
    /// Nothing.
    Off,
    /// It falls to the initial window (RFC 5681 §4.1).
    InitialWindow,
    /// It halves per time-out spent idle, down to the initial window, and an application-limited
    /// window is pulled towards what was used (RFC 2861; Linux `tcp_slow_start_after_idle`).
    Halving,
}

/// How the receiver delays acknowledgments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AckDelay {
    /// It does not: every data segment is acknowledged at once.
    None,
    /// Every second full-sized segment, or after `limit` (RFC 1122 §4.2.3.2, RFC 5681 §4.2).
    EverySecond {
        /// Longest delay; RFC 1122 demands less than 0.5 s.
        limit: Span,
    },
    /// As Linux: the first segments at once (quick ACK), then a delay between 40 and 200 ms that
    /// follows the arrivals. A small segment is acknowledged as soon as all is read, unless the
    /// application is one that answers.
    Adaptive {
        /// Segments acknowledged at once at the start of a connection, at most.
        quick_segments: u32,
    },
}

/// How the smoothed round-trip time and its variation become a time-out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RttRule {
    /// RFC 6298 §2: `SRTT + max(G, 4 RTTVAR)`, at least the minimum.
    Rfc6298,
    /// Linux: the *variation term* is at least the minimum, so the time-out of a quiet path is the
    /// round-trip time plus the minimum; the variation falls at most once per round trip.
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
    /// With the ticks of a clock, gathered in buckets (Linux 4.8, the wheel of `kernel/time/timer.c`):
    /// waits of less than 63 ticks end with the next tick, longer ones with the next whole eight ticks,
    /// those from 504 ticks on with the next whole 64, and so on. What many connections wait for so
    /// happens at the same instant. Pacing and merged acknowledgments have timers of their own, which are exact.
    ///
    /// Ticks are counted from [`Instant::ZERO`](fairwind_units::Instant::ZERO) on, on every host.
    Wheel {
        /// Time between ticks (`1 / CONFIG_HZ`).
        tick: Span,
    },
}

/// What a loss reduces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReductionBase {
    /// What was outstanding (RFC 5681 equation 4, RFC 9438 §4.6).
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
    /// Whether each segment and acknowledgment is followed by something that few connections have.
    pub(crate) const fn has_extras(&self) -> bool {
        let Sending { delivery_rate, pacing, redundancy, framing, .. } = &self.sending;
        *delivery_rate
            || pacing.enabled
            || redundancy.is_some()
            || framing.is_some()
            || self.growth.inflight_limit
            || self.path.is_device_full
    }
}

/// The whole behaviour of an endpoint.
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
    /// Retransmit on the first duplicate ACK while the stream is thin (Linux `tcp_thin_dupack`).
    pub modified_fast_retransmit: bool,
    /// Up to six time-outs without back-off while the stream is thin (Linux `tcp_thin_linear_timeouts`).
    pub linear_timeouts: bool,
    /// How losses are found and repaired.
    pub loss: LossRecovery,
    /// Merge small neighbours into a retransmission (Linux `tcp_retrans_collapse`).
    pub collapse_retransmissions: bool,
    /// How the congestion window grows.
    pub growth: Growth,
    /// How long a silent peer is borne with.
    pub liveness: Liveness,
    /// What goes out when.
    pub sending: Sending,
    /// The path, and what fits into its packets.
    pub path: PathConfig,
    /// Small segments that wait.
    pub nagle: Nagle,
    /// Acknowledgments that wait.
    pub ack_delay: AckDelay,
    /// How the window counts acknowledged segments.
    pub ack_counting: AckCounting,
    /// What a loss reduces.
    pub reduction_base: ReductionBase,
    /// What idleness does to the window.
    pub idle_restart: IdleRestart,
    /// Window growth and reduction.
    pub congestion: CongestionAlgorithm,
    /// Initial congestion window in segments, for a full-sized MSS.
    pub initial_window: u32,
    /// The initial window is also bounded in bytes: by what so many segments of 1460 bytes hold, but
    /// two segments at least (RFC 5681 §3.1, RFC 6928 §2).
    pub initial_window_in_bytes: bool,
    /// Initial slow-start threshold in segments; `None` is "arbitrarily high" (RFC 5681 §3.1).
    pub initial_ssthresh: Option<u32>,
    /// How the retransmission time-out is computed.
    pub rtt_rule: RttRule,
    /// When timers run out.
    pub timers: TimerRule,
    /// Time-out before the first round-trip sample (RFC 6298 §2.1).
    pub initial_rto: Span,
    /// Least time-out.
    pub minimum_rto: Span,
    /// Greatest time-out after back-off.
    pub maximum_rto: Span,
    /// Duplicate ACKs, or segments selectively acknowledged above a hole, that prove a loss.
    pub duplicate_threshold: u32,
    /// SYN (and SYN-ACK) retransmissions before giving up.
    pub syn_retries: u32,
    /// SYN retransmissions at the initial interval before it doubles (Linux `tcp_syn_linear_timeouts`).
    pub syn_linear_retries: u32,
    /// Repetitions of SYN that do not yet shrink the initial window to one segment (RFC 5681 §3.1: 0).
    pub lost_syns_forgiven: u32,
    /// Consecutive time-outs, counted as if exponential from the minimum, before a connection is
    /// given up; also, probes of a closed window that nobody answers (Linux `tcp_retries2`).
    pub retransmission_limit: u32,
    /// How long TIME-WAIT lasts.
    pub time_wait: Span,
    /// Receive buffer in bytes: the largest window offered. Of a buffer that counts memory it is the half
    /// of what it begins with; [`Config::set_receive_window`] reckons for either.
    pub receive_buffer: u32,
    /// The receiving half.
    pub receiving: Receiving,
    /// Send buffer in bytes: unacknowledged plus unsent.
    pub send_buffer: u32,
    /// Explicit congestion notification.
    pub ecn: EcnConfig,
    /// Data with the SYN.
    pub fast_open: FastOpenConfig,
}
