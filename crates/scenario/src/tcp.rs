//! The TCP endpoints of a group of flows: a profile, what differs from it, and what hosts remember of their connections for
//! the next ones to the same peer.

use crate::congestion::Congestion;
use crate::factor::Factor;
use crate::workload::Workload;
use fairwind_units::{ByteCount, Ratio, Span};
use serde::{Deserialize, Serialize};

/// A named set of mechanisms and constants, the base of a TCP endpoint's settings.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
pub enum Profile {
    /// The RFCs as published: RFC 9293, 5681, 6298, 6675.
    #[serde(rename = "rfc")]
    Rfc,
    /// Linux 2.6.6 to 2.6.20, the kernels of the congestion control and satellite studies.
    #[serde(rename = "linux-2.6")]
    Linux2_6,
    /// Linux 3.16, the kernel of the thin-stream experiments.
    #[serde(rename = "linux-3.16")]
    Linux3_16,
    /// Linux 6.18, a current kernel.
    #[default]
    #[serde(rename = "linux-6.18")]
    Linux6_18,
    /// Linux 7.3: 6.18 with the differences that the table of profiles lists.
    #[serde(rename = "linux-7.3")]
    Linux7_3,
    /// FreeBSD 5.4, a system of the satellite study.
    #[serde(rename = "freebsd-5.4")]
    FreeBsd5_4,
    /// FreeBSD 14.
    #[serde(rename = "freebsd-14")]
    FreeBsd14,
}

/// Loss detection with selective acknowledgements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LossDetection {
    /// By time (RFC 8985).
    Rack,
    /// By count (RFC 6675).
    Rfc6675,
    /// By distance from the highest segment that has arrived (Linux up to 4.14).
    Forward,
}

/// Reduction of the window to the slow-start threshold after a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WindowReduction {
    /// At once (RFC 6675).
    AtOnce,
    /// By one segment for every second acknowledgement (Linux up to 3.1).
    RateHalving,
    /// In proportion to what is delivered (RFC 6937).
    Proportional,
    /// In proportion to what is delivered, more conservative below the threshold (RFC 9937).
    ProportionalSafe,
}

/// When the timers of a host expire, such as those of retransmissions and delayed acknowledgements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Timers {
    /// When they are due.
    Exact,
    /// At ticks of 4 ms. From 1.024 s on they may last longer by a 256th, to expire with others (Linux 2.6.35 to 4.7).
    Slack,
    /// At ticks of 4 ms, those from 252 ms on at every eighth, from 2.016 s on at every 64th, and so on (Linux 4.8).
    Wheel,
}

/// Use of explicit congestion notification by an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ecn {
    /// Not used.
    Off,
    /// Accepts RFC 3168 if the peer requests it.
    WhenAsked,
    /// Requests RFC 3168.
    Classic,
    /// Requests RFC 9768; falls back to RFC 3168 with a peer that does not support it.
    Accurate,
}

/// Streams that mechanisms for thin streams act on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ThinDefinition {
    /// Those with fewer than `thin_segments` segments outstanding, once a loss has ended the initial slow start
    /// (`tcp_stream_is_thin` of Linux).
    FewOutstanding,
    /// Those with data that the congestion window did not limit in the round trip before a recovery.
    ApplicationLimited,
    /// All.
    All,
}

/// Streams for which constants of loss recovery hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ConstantsFor {
    /// All.
    All,
    /// Thin streams, while they are thin; the profile's constants hold for the others.
    Thin,
}

/// Streams that bundle old data with new data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BundlingStreams {
    /// Those with fewer segments in flight than `redundant_interval` allows.
    Interval,
    /// Those that are thin by `thin_definition`.
    Thin,
    /// All.
    All,
}

/// A struct of settings that may be left out, all but those in brackets: those that are not set are not written.
macro_rules! optional_settings {
    (
        $(#[$about:meta])*
        pub struct $name:ident {
            $([$(#[$required_attribute:meta])* $required:ident: $required_value:ty])?
            $($(#[$attribute:meta])* $key:ident: $value:ty,)*
        }
    ) => {
        $(#[$about])*
        pub struct $name {
            $(
                $(#[$required_attribute])*
                pub $required: $required_value,
            )?
            $(
                $(#[$attribute])*
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $key: Option<$value>,
            )*
        }
    };
}

optional_settings! {
    /// A TCP endpoint: a profile, and the mechanisms and constants that differ from it.
    ///
    /// A key that is left out keeps what the profile has.
    #[derive(
        Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
    )]
    #[serde(deny_unknown_fields)]
    pub struct TcpSettings {
        /// Named set of mechanisms and constants to start from; default: linux-6.18.
        profile: Profile,
        /// Congestion control.
        congestion: Congestion,
        /// Selective acknowledgements (RFC 2018), used when both ends have them.
        sack: bool,
        /// Timestamps (RFC 7323 section 3), used when both ends have them.
        timestamps: bool,
        /// Window scaling (RFC 7323 section 2), used when both ends have it.
        window_scaling: bool,
        /// Limited transmit: new data on the first two duplicate ACKs (RFC 3042).
        limited_transmit: bool,
        /// Modified fast retransmit (mFR): retransmit on the first duplicate ACK while a stream is thin.
        modified_fast_retransmit: bool,
        /// Linear time-outs (LT): no exponential back-off for the first time-outs of a thin stream.
        linear_timeouts: bool,
        /// Largest number of time-outs in a row without back-off (6), with `linear_timeouts` (Linux
        /// `TCP_THIN_LINEAR_RETRIES`).
        #[schemars(range(max = 255))]
        linear_retries: u32,
        /// Duplicate ACKs that start a fast retransmit of a thin stream (1), with `modified_fast_retransmit`; else
        /// `duplicate_threshold` counts (Linux `tcp_thin_dupack`).
        #[schemars(range(min = 1, max = 255))]
        thin_duplicate_threshold: u32,
        /// Streams that linear time-outs, modified fast retransmit and constants for thin streams act on
        /// (`few-outstanding`).
        thin_definition: ThinDefinition,
        /// A stream is thin while fewer segments than this are outstanding (4); only with `few-outstanding`.
        #[schemars(range(min = 1))]
        thin_segments: u32,
        /// Factor of each time-out to the one before it (2; RFC 6298 section 5.5); 1 never backs off. Handshakes and
        /// window probes always double their waits.
        #[schemars(range(min = 1, max = 4))]
        backoff_factor: Factor,
        /// Streams for which `backoff_factor`, `probe_factor`, `probe_ack_delay` and `reordering_window` hold (`all`).
        constants_for: ConstantsFor,
        /// Redundant data bundling (RDB): while few segments are in flight, new segments also carry recent data that is
        /// not acknowledged (LCN 2015).
        redundant_bundling: bool,
        /// Largest number of older segments in a bundle (1); 0 for as many as fit.
        redundant_segments: u32,
        /// Payload of a bundle at most; default: a full segment.
        redundant_bytes: ByteCount,
        /// An application that writes at this interval (10 ms) or a shorter one gets no bundles while as many segments
        /// are in flight as fit into the smallest round trip.
        redundant_interval: Span,
        /// Streams that bundle (`interval`).
        redundant_streams: BundlingStreams,
        /// Smart framing (TCP-SF): a congestion window of fewer than four segments is divided into four smaller ones,
        /// so that duplicate ACKs detect a loss among them (Mellia and others, 2005).
        smart_framing: bool,
        /// Loss detection with SACK.
        loss_detection: LossDetection,
        /// Time that RACK waits for reordered segments, as a share of the smallest round trip (25 %; RFC 8985 section 6.2); at
        /// most a smoothed round trip.
        reordering_window: Ratio,
        /// The reordering window grows by its first size with each round trip that brings a D-SACK (RFC 8985 section 6.2;
        /// Linux `tcp_recovery` without bit 2).
        reordering_window_grows: bool,
        /// RACK does not wait for reordered segments once `duplicate_threshold` segments have arrived (RFC 8985 section
        /// 6.2; Linux `tcp_recovery` without bit 4).
        rack_duplicate_threshold: bool,
        /// With SACK, a retransmission counts as lost when new data sent after it has arrived (Linux 2.6); loss
        /// detection by time always does this.
        lost_retransmission_detection: bool,
        /// Reduction of the window after a loss.
        window_reduction: WindowReduction,
        /// Tail loss probe: the last segment again after two round trips (RFC 8985 section 7).
        tail_loss_probe: bool,
        /// Smoothed round trips before a tail loss probe (2; RFC 8985 section 7.2).
        #[schemars(range(min = 1, max = 8))]
        probe_factor: Factor,
        /// Allowance for a delayed acknowledgement before a probe with one segment outstanding (RFC 8985 section 7.2,
        /// `TLP.max_ack_delay`); default: `minimum_rto` as in Linux, or 200 ms with the probes of linux-3.16.
        probe_ack_delay: Span,
        /// Early retransmit: fewer duplicate ACKs suffice with few segments outstanding (RFC 5827).
        early_retransmit: bool,
        /// Delay of an early retransmit as a share of the smoothed round trip, at least 2 ms; 0 % for none. Default: 25 % in
        /// linux-3.16 (Linux 3.5 to 4.11), else none (RFC 5827).
        early_retransmit_delay: Ratio,
        /// Forward RTO recovery: new data first after a time-out (RFC 5682).
        forward_rto: bool,
        /// Undo reductions that prove spurious (RFC 3522, RFC 3708).
        undo: bool,
        /// Learn from reordering how many duplicate ACKs prove a loss.
        reordering_detection: bool,
        /// Explicit congestion notification (RFC 3168, RFC 9768): what a SYN asks for, and what is agreed
        /// to. Packets are marked where a queue discipline with `ecn` does so.
        ecn: Ecn,
        /// CUBIC leaves slow start when acknowledgements come in long trains or late (`HyStart`).
        hystart: bool,
        /// The estimated bandwidth-delay product limits the flight (FreeBSD 4.7 to 6).
        inflight_limit: bool,
        /// Segments are sent in bundles of about a millisecond, which may wait for more (TSO).
        bundling: bool,
        /// Bundles leave at twice the window per smoothed round trip in slow start, 1.2 windows afterwards,
        /// instead of in bursts.
        pacing: bool,
        /// Segments that arrive twice are reported (D-SACK, RFC 2883).
        duplicate_sack: bool,
        /// Acknowledgements of segments out of order are merged for up to a millisecond (Linux 4.18).
        ack_compression: bool,
        /// Nagle's algorithm (RFC 896); thin workloads switch it off unless it is set here.
        nagle: bool,
        /// Delayed acknowledgements (RFC 1122 section 4.2.3.2).
        delayed_ack: bool,
        /// Initial congestion window in segments (RFC 6928: 10).
        #[schemars(range(min = 1))]
        initial_window: u32,
        /// Initial slow-start threshold in segments; default: unbounded.
        #[schemars(range(min = 2))]
        initial_ssthresh: u32,
        /// Retransmission time-out before the first RTT sample (RFC 6298 section 2.1: 1 s).
        initial_rto: Span,
        /// Lower bound of the retransmission time-out (RFC 6298 section 2.4: 1 s; Linux: 200 ms).
        minimum_rto: Span,
        /// Upper bound of the retransmission time-out (RFC 6298 section 2.5: at least 60 s).
        maximum_rto: Span,
        /// When timers expire; default: `wheel` in profiles of Linux from 6.18 on, else `exact`.
        timers: Timers,
        /// Duplicate ACKs that start a fast retransmit (RFC 5681 section 3.2: 3).
        #[schemars(range(min = 1))]
        duplicate_threshold: u32,
        /// Retransmissions of a SYN before the connection attempt is given up.
        #[schemars(range(max = 127))]
        syn_retries: u32,
        /// Retransmissions of a segment before the connection is given up (RFC 9293 section 3.8.3).
        #[schemars(range(min = 1, max = 255))]
        retransmission_limit: u32,
        /// Slow start after an idle period of more than one RTO (RFC 5681 section 4.1).
        slow_start_after_idle: bool,
        /// Join small segments into full ones when they are retransmitted.
        collapse_retransmissions: bool,
        /// Receive buffer: the largest advertised window.
        receive_buffer: ByteCount,
        /// Send buffer: how much the application may have written that is not acknowledged yet. Linux profiles count memory:
        /// what so much data takes in bundles of two full segments.
        send_buffer: ByteCount,
        /// Maximum segment size to announce; default: the path's MTU less 40 bytes.
        mss: ByteCount,
        /// What the host remembers of its connections for the next ones to the same peer; default: nothing.
        sharing: Sharing,
    }
}

impl TcpSettings {
    /// The profile to start from: the one that is set, or the default.
    pub fn profile(&self) -> Profile {
        self.profile.unwrap_or_default()
    }

    /// Whether small segments wait for acknowledgments (Nagle's algorithm, RFC 896): an interactive
    /// application asks for no delay, unless the scenario says otherwise.
    pub fn has_nagle(&self, workload: &Workload) -> bool {
        self.nagle.unwrap_or(!workload.is_interactive())
    }

    /// Whether losses are found by time (RACK), because that is said or because the profile does it.
    pub fn finds_losses_by_time(&self) -> bool {
        let is_profiles = matches!(self.profile(), Profile::Linux6_18 | Profile::Linux7_3);
        let is_said = |detection| detection == LossDetection::Rack;
        self.sack != Some(false) && self.loss_detection.map_or(is_profiles, is_said)
    }
}

impl TcpSettings {
    /// Whether the stack repairs early: as set, or as the profile does.
    pub fn retransmits_early(&self) -> bool {
        self.early_retransmit.unwrap_or(self.profile() == Profile::Linux3_16)
    }

    /// Whether tail loss probes are sent: as set, or as the profile does; never without SACK.
    pub fn probes_tails(&self) -> bool {
        let is_profiles =
            matches!(self.profile(), Profile::Linux3_16 | Profile::Linux6_18 | Profile::Linux7_3);
        self.sack != Some(false) && self.tail_loss_probe.unwrap_or(is_profiles)
    }
}

/// How connections of a host share what they learned about the path.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum SharingPolicy {
    /// Not at all.
    #[default]
    Off,
    /// A list of peers with their largest windows, from which connections begin (Hartmann and Bestavros, 1998).
    Classic,
    /// Round trip, threshold and window, for later connections and among those that are open (RFC 9040).
    Rfc9040,
    /// As Linux does (`tcp_metrics`): the first time-out and reordering, but no window to begin with.
    TcpMetrics,
    /// Half of a saved window, paced, once the path is known to be the same, with a way back (RFC 9959).
    CarefulResume,
}

impl SharingPolicy {
    /// All, in the order of the documentation.
    pub const ALL: [Self; 5] =
        [Self::Off, Self::Classic, Self::Rfc9040, Self::TcpMetrics, Self::CarefulResume];

    /// Its name in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Classic => "classic",
            Self::Rfc9040 => "rfc9040",
            Self::TcpMetrics => "tcp-metrics",
            Self::CarefulResume => "careful-resume",
        }
    }
}

/// Connections that use the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SharedOpenings {
    /// Those that the peer opens.
    Incoming,
    /// All.
    All,
}

/// When a connection saves its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Collection {
    /// When the application closes it, even if much is still to be sent.
    Close,
    /// When all that it sent is acknowledged.
    End,
}

/// How far a remembered window is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Trust {
    /// Connections begin with it.
    Exact,
    /// Connections begin with half of it, paced; a connection with losses halves the remembered window.
    Safe,
}

optional_settings! {
    /// Memory of a host for its connections. It belongs to the host: groups that share on the same host need
    /// the same settings.
    #[derive(
        Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
    )]
    #[serde(deny_unknown_fields)]
    pub struct Sharing {
        [
            /// What is remembered, and how it is used.
            policy: SharingPolicy
        ]
        /// Lifetime of a remembered value (`LIFETIME_WIND`); default: 10 minutes, or an hour with `tcp-metrics`.
        lifetime: Span,
        /// Largest number of remembered peers (`MAX_WINDLIST`); default: 1000.
        #[schemars(range(min = 1, max = 1_000_000))]
        entries: u32,
        /// Connections that use the memory; default: with `classic` those that the peer opens, else all.
        openings: SharedOpenings,
        /// When a connection saves its values. Default: when it is closed with `classic` and exact trust, else when all
        /// data is acknowledged.
        collect: Collection,
        /// Interval at which open connections save their values, too; default: never.
        sample_every: Span,
        /// Weight of a window that is smaller than the remembered one: 0 % keeps the largest one (the report's rule), 100 %
        /// remembers the last one. Only with `classic`.
        forgetfulness: Ratio,
        /// Trust in a remembered window (`exact`); only with `classic`.
        trust: Trust,
        /// Largest window in segments that a connection begins with or jumps to; default: unlimited. Not with
        /// `tcp-metrics`.
        #[schemars(range(min = 1))]
        largest_window: u32,
        /// Whether connections that are open at the same time share their windows, too (RFC 9040 section 7). Only with
        /// `rfc9040`; default: true.
        ensemble: bool,
        /// Whether connections begin with the saved threshold (`tcp_no_ssthresh_metrics_save` = 0, as before Linux 5.6).
        /// Only with `tcp-metrics`; default: false.
        save_threshold: bool,
        /// Threshold after a retreat, as a share of the measured capacity of the path (50 %), from 50 % to 100 %; only with
        /// `careful-resume`.
        retreat: Ratio,
        /// When hosts begin to use their memory; default: at the beginning.
        capture_from: Span,
        /// When they stop and forget everything; default: never.
        capture_until: Span,
    }
}

impl Sharing {
    /// When a connection saves its values with `classic`. Bounded trust waits for losses, which come after an
    /// application has closed the connection, too.
    pub fn classic_collection(&self) -> Collection {
        self.collect.unwrap_or(match self.trust {
            Some(Trust::Safe) => Collection::End,
            Some(Trust::Exact) | None => Collection::Close,
        })
    }
}
