//! The TCP endpoints of a group of flows: a profile, and what differs from it.

use crate::congestion::Congestion;
use crate::sharing::Sharing;
use crate::workload::Workload;
use fairwind_units::{ByteCount, Span};
use serde::{Deserialize, Serialize};

/// A named set of mechanisms and constants that a TCP endpoint starts from.
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
    /// Linux 7.3, as 6.18 but for what stands in the table of profiles.
    #[serde(rename = "linux-7.3")]
    Linux7_3,
    /// FreeBSD 5.4, a system of the satellite study.
    #[serde(rename = "freebsd-5.4")]
    FreeBsd5_4,
    /// FreeBSD 14.
    #[serde(rename = "freebsd-14")]
    FreeBsd14,
}

/// How losses are found while selective acknowledgements come in.
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

/// How the window comes down to the slow-start threshold after a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WindowReduction {
    /// At once (RFC 6675).
    AtOnce,
    /// By one segment for every second acknowledgement (Linux up to 3.1).
    RateHalving,
    /// In proportion to what is delivered (RFC 6937).
    Proportional,
    /// The same, more careful below the threshold (RFC 9937).
    ProportionalSafe,
}

/// How far an endpoint goes with explicit congestion notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ecn {
    /// Not at all.
    Off,
    /// RFC 3168 where the peer asks for it.
    WhenAsked,
    /// RFC 3168, asked for.
    Classic,
    /// RFC 9768, asked for; RFC 3168 with a peer that does not know it.
    Accurate,
}

/// A TCP endpoint: a profile, and the mechanisms and constants that differ from it.
///
/// A key that is left out keeps what the profile has.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(deny_unknown_fields)]
pub struct TcpSettings {
    /// Named set of mechanisms and constants to start from; linux-6.18 unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// Congestion control.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion: Option<Congestion>,
    /// Selective acknowledgements (RFC 2018), used when both ends have them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sack: Option<bool>,
    /// Timestamps (RFC 7323 section 3), used when both ends have them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamps: Option<bool>,
    /// Window scaling (RFC 7323 section 2), used when both ends have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_scaling: Option<bool>,
    /// Limited transmit: new data on the first two duplicate ACKs (RFC 3042).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limited_transmit: Option<bool>,
    /// Modified fast retransmit (mFR): retransmit on the first duplicate ACK while a stream is thin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modified_fast_retransmit: Option<bool>,
    /// Linear time-outs (LT): no exponential back-off for the first time-outs of a thin stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub linear_timeouts: Option<bool>,
    /// Redundant data bundling (RDB): while few segments are in flight, new data takes along what was sent
    /// shortly before and is not acknowledged (LCN 2015).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redundant_bundling: Option<bool>,
    /// Older segments that a bundle takes along at most (1); 0 for as many as fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redundant_segments: Option<u32>,
    /// Payload of a bundle at most; a full segment unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redundant_bytes: Option<ByteCount>,
    /// Who writes this often or more often (10 ms) has too much in flight for bundles: as many segments as
    /// fit into the least round trip.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redundant_interval: Option<Span>,
    /// Smart framing (TCP-SF): a congestion window of fewer than four segments is cut into four smaller ones,
    /// so that a loss among them is found by duplicate ACKs (Mellia and others, 2005).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smart_framing: Option<bool>,
    /// How losses are found with SACK.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_detection: Option<LossDetection>,
    /// With SACK, a retransmission is lost, too, once something sent for the first time after it has arrived (Linux 2.6);
    /// where losses are found by time that holds anyway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_retransmission_detection: Option<bool>,
    /// How the window comes down after a loss.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_reduction: Option<WindowReduction>,
    /// Tail loss probe: the last segment again after two round trips (RFC 8985 section 7).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tail_loss_probe: Option<bool>,
    /// Early retransmit: fewer duplicate ACKs suffice with few segments outstanding (RFC 5827).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub early_retransmit: Option<bool>,
    /// Forward RTO recovery: new data first after a time-out (RFC 5682).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forward_rto: Option<bool>,
    /// Take back reductions that prove needless (RFC 3522, RFC 3708).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undo: Option<bool>,
    /// Learn from reordering how many duplicate ACKs prove a loss.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reordering_detection: Option<bool>,
    /// Explicit congestion notification (RFC 3168, RFC 9768): what a SYN asks for, and what is agreed
    /// to. Packets are marked where a queue discipline with `ecn` does so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<Ecn>,
    /// CUBIC leaves slow start when acknowledgements come in long trains or late (`HyStart`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hystart: Option<bool>,
    /// The flight is limited by the estimated bandwidth-delay product (FreeBSD 4.7 to 6).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inflight_limit: Option<bool>,
    /// Segments are sent in bundles of about a millisecond, which may wait for more (TSO).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bundling: Option<bool>,
    /// Bundles leave at twice the window per smoothed round trip in slow start, 1.2 windows afterwards,
    /// instead of in bursts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pacing: Option<bool>,
    /// Segments that arrive twice are reported (D-SACK, RFC 2883).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicate_sack: Option<bool>,
    /// Acknowledgements of segments out of order are merged for up to a millisecond (Linux 4.18).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_compression: Option<bool>,
    /// Nagle's algorithm (RFC 896); thin workloads switch it off unless it is set here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nagle: Option<bool>,
    /// Delayed acknowledgements (RFC 1122 section 4.2.3.2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delayed_ack: Option<bool>,
    /// Initial congestion window in segments (RFC 6928: 10).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub initial_window: Option<u32>,
    /// Initial slow-start threshold in segments; unbounded unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 2))]
    pub initial_ssthresh: Option<u32>,
    /// Retransmission time-out before the first RTT sample (RFC 6298 section 2.1: 1 s).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_rto: Option<Span>,
    /// Lower bound of the retransmission time-out (RFC 6298 section 2.4: 1 s; Linux: 200 ms).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum_rto: Option<Span>,
    /// Upper bound of the retransmission time-out (RFC 6298 section 2.5: at least 60 s).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maximum_rto: Option<Span>,
    /// Duplicate ACKs that start a fast retransmit (RFC 5681 section 3.2: 3).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub duplicate_threshold: Option<u32>,
    /// Retransmissions of a SYN before the connection attempt is given up.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 127))]
    pub syn_retries: Option<u32>,
    /// Retransmissions of a segment before the connection is given up (RFC 9293 section 3.8.3).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 255))]
    pub retransmission_limit: Option<u32>,
    /// Slow start after an idle period of more than one RTO (RFC 5681 section 4.1).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slow_start_after_idle: Option<bool>,
    /// Join small segments into full ones when they are retransmitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collapse_retransmissions: Option<bool>,
    /// Receive buffer: the largest window that is offered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_buffer: Option<ByteCount>,
    /// Send buffer: how much the application may have written that is not acknowledged yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_buffer: Option<ByteCount>,
    /// Maximum segment size to announce; the path's MTU less 40 bytes unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mss: Option<ByteCount>,
    /// What the host remembers of its connections for the next ones to the same peer; nothing unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sharing: Option<Sharing>,
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
