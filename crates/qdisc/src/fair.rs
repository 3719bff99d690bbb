//! Disciplines that keep flows apart.

use crate::{ETHERNET_FRAME, Filter, Qdisc};
use fairwind_units::{BitRate, Span};
use serde::{Deserialize, Serialize};

/// Stochastic fairness queueing (McKenney, 1990; parameters as tc-sfq(8) has them).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sfq {
    /// Packets that may wait; where more come, the longest queue gives one up.
    pub limit_packets: u32,
    /// Bytes that a flow may send in its turn.
    pub quantum_bytes: u32,
    /// Buckets that flows are hashed into.
    pub divisor: u32,
    /// Flows that may wait at the same time.
    pub flows: u32,
    /// Packets of one flow that may wait.
    pub depth_packets: u32,
    /// Time after which flows are hashed anew; never where zero.
    pub perturb: Span,
    /// Drop the oldest packet of a flow instead of the newest.
    pub head_drop: bool,
}

impl Default for Sfq {
    fn default() -> Self {
        Self {
            limit_packets: 127,
            quantum_bytes: ETHERNET_FRAME,
            divisor: 1024,
            flows: 127,
            depth_packets: 127,
            perturb: Span::ZERO,
            head_drop: false,
        }
    }
}

/// Fair queueing with controlled delay (RFC 8290).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FqCodel {
    /// Packets that may wait.
    pub limit_packets: u32,
    /// Buckets that flows are hashed into.
    pub flows: u32,
    /// Bytes that a flow may send in its turn.
    pub quantum_bytes: u32,
    /// Waiting time that is tolerated for long.
    pub target: Span,
    /// How long it may be exceeded: about the longest round trip.
    pub interval: Span,
    /// Mark packets that can be marked instead of dropping them.
    pub ecn: bool,
    /// Waiting time above which packets that can be marked always are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ce_threshold: Option<Span>,
    /// Bytes that may wait.
    pub memory_limit_bytes: u64,
    /// Packets of the longest queue that are dropped at once where there is no room.
    pub drop_batch_packets: u32,
}

impl Default for FqCodel {
    fn default() -> Self {
        Self {
            limit_packets: 10_240,
            flows: 1024,
            quantum_bytes: ETHERNET_FRAME,
            target: Span::from_millis(5),
            interval: Span::from_millis(100),
            ecn: true,
            ce_threshold: None,
            memory_limit_bytes: 32 << 20,
            drop_batch_packets: 64,
        }
    }
}

/// Fair queueing with PIE for every flow (parameters as tc-fq_pie(8) has them).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FqPie {
    /// Packets that may wait.
    pub limit_packets: u32,
    /// Buckets that flows are hashed into.
    pub flows: u32,
    /// Bytes that a flow may send in its turn.
    pub quantum_bytes: u32,
    /// Waiting time that is aimed at.
    pub target: Span,
    /// Time from one reckoning of the probability to the next.
    pub update: Span,
    /// Weight of the distance from the target, in sixteenths per second.
    pub alpha: u32,
    /// Weight of the change since the last reckoning, in sixteenths per second.
    pub beta: u32,
    /// Mark packets that can be marked instead of dropping them.
    pub ecn: bool,
    /// Per cent of probability up to which packets are marked instead of dropped.
    pub ecn_probability_percent: u32,
    /// Bytes that may wait.
    pub memory_limit_bytes: u64,
    /// Scale the probability with the size of the packet.
    pub bytemode: bool,
    /// Estimate the waiting time from the departure rate instead of from time stamps.
    pub departure_rate: bool,
}

impl Default for FqPie {
    fn default() -> Self {
        Self {
            limit_packets: 10_240,
            flows: 1024,
            quantum_bytes: ETHERNET_FRAME,
            target: Span::from_millis(15),
            update: Span::from_millis(15),
            alpha: 2,
            beta: 20,
            ecn: false,
            ecn_probability_percent: 10,
            memory_limit_bytes: 32 << 20,
            bytemode: false,
            departure_rate: false,
        }
    }
}

/// The core of CAKE: a shaper without bursts, isolation of flows and hosts, and COBALT in every flow (parameters as
/// tc-cake(8) has them).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cake {
    /// Rate that it shapes to; `None` for the link's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<BitRate>,
    /// Priorities that packets are sorted into by their code points.
    pub tins: CakeTins,
    /// What shares evenly.
    pub isolation: CakeIsolation,
    /// A typical round trip, from which interval and target follow.
    pub rtt: Span,
    /// Bytes that every packet costs beyond the IP packet, in the shaper's account.
    pub overhead_bytes: i32,
    /// Bytes that may wait; `None`: four times what rate and round trip hold, 4 MiB at least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_limit_bytes: Option<u64>,
}

impl Default for Cake {
    fn default() -> Self {
        Self {
            bandwidth: None,
            tins: CakeTins::Diffserv3,
            isolation: CakeIsolation::TripleIsolate,
            rtt: Span::from_millis(100),
            overhead_bytes: 0,
            memory_limit_bytes: None,
        }
    }
}

/// Priorities of CAKE, by code points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CakeTins {
    /// One for all.
    Besteffort,
    /// Bulk, best effort, voice.
    Diffserv3,
    /// Bulk, best effort, video, voice.
    Diffserv4,
    /// Eight, by the upper three bits.
    Precedence,
}

/// What shares evenly in CAKE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CakeIsolation {
    /// Nothing: one queue for each tin.
    Flowblind,
    /// Hosts that send.
    Srchost,
    /// Hosts that receive.
    Dsthost,
    /// Pairs of hosts.
    Hosts,
    /// Flows.
    Flows,
    /// Hosts that send, then flows.
    DualSrchost,
    /// Hosts that receive, then flows.
    DualDsthost,
    /// Hosts that send, hosts that receive, then flows.
    TripleIsolate,
}

/// Deficit round robin over classes (Shreedhar and Varghese, 1996; tc-drr(8)). What no class takes is dropped, as
/// the kernel does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drr {
    /// At least one.
    pub classes: Vec<DrrClass>,
}

/// A class of [`Drr`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrrClass {
    /// Bytes that it may send in its turn.
    pub quantum_bytes: u32,
    /// What it takes: any of these; without one, everything that no other class takes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<Filter>,
    /// What holds its packets.
    pub child: Qdisc,
}
