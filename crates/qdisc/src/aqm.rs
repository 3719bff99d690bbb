//! Disciplines that drop or mark before they are full.

use crate::{DEFAULT_PACKETS, Qdisc};
use fairwind_units::{BitRate, Ratio, Span};
use serde::{Deserialize, Serialize};

/// Bytes of a typical packet where nothing is said: what tc-choke(8) takes and tc-red(8) calls a good value.
const AVERAGE_PACKET: u32 = 1000;

/// Largest probability where nothing is said (tc-red(8)).
const USUAL_PROBABILITY: Ratio = Ratio::from_parts_per_billion(20_000_000);

/// Rate that `tc` takes for a link's where nobody tells it (tc-red(8)).
pub const DEFAULT_BANDWIDTH: BitRate = BitRate::from_bits_per_second(10_000_000);

/// Random early detection (Floyd and Jacobson, 1993; parameters as tc-red(8) has them).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "switches of the same names in tc")]
pub struct Red {
    /// Bytes that may wait.
    pub limit_bytes: u64,
    /// Average backlog in bytes from which on packets are dropped or marked.
    pub min_bytes: u64,
    /// Average backlog in bytes at which the probability reaches its largest value.
    pub max_bytes: u64,
    /// Bytes of a typical packet: the unit of the average while the link is idle.
    pub average_packet_bytes: u32,
    /// Packets that may come at once: decides the weight of the average.
    pub burst_packets: u32,
    /// Probability at `max_bytes`.
    pub probability: Ratio,
    /// Rate of the link, from which the average's decay while it is idle is reckoned.
    pub bandwidth: BitRate,
    /// Mark packets that can be marked instead of dropping them.
    pub ecn: bool,
    /// Above `max_bytes` drop even what could be marked.
    pub hard_drop: bool,
    /// Between `max_bytes` and twice that, let the probability rise to one instead of jumping there.
    pub gentle: bool,
    /// Move the probability so that the average stays in the middle (Floyd, Gummadi and Shenker, 2001).
    pub adaptive: bool,
    /// What holds the packets; a queue of `limit_bytes` unless set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<Box<Qdisc>>,
}

impl Red {
    /// What `tc` makes of a limit alone: thresholds and burst as Floyd recommends (2000), average packets of 1000 B, a
    /// largest probability of 2 %.
    pub fn with_limit(limit_bytes: u64, bandwidth: BitRate) -> Self {
        let mut red = Self {
            limit_bytes,
            min_bytes: 0,
            max_bytes: 0,
            average_packet_bytes: AVERAGE_PACKET,
            burst_packets: 0,
            probability: USUAL_PROBABILITY,
            bandwidth,
            ecn: false,
            hard_drop: false,
            gentle: false,
            adaptive: false,
            child: None,
        };
        red.fill_defaults();
        red
    }

    /// Fills in thresholds and burst where they are zero, as `tc` does.
    pub fn fill_defaults(&mut self) {
        let of_limit = self.limit_bytes / 4;
        (self.min_bytes, self.max_bytes) = thresholds(self.min_bytes, self.max_bytes, of_limit);
        if self.burst_packets == 0 {
            let packet = u64::from(self.average_packet_bytes.max(1));
            let burst = (self.min_bytes.saturating_mul(2)).saturating_add(self.max_bytes);
            self.burst_packets = u32::try_from(burst / (packet * 3)).unwrap_or(u32::MAX);
        }
    }
}

/// Both thresholds, where zero stands for what is usual: the larger is thrice the smaller one.
fn thresholds(min: u64, max: u64, of_limit: u64) -> (u64, u64) {
    match (min, max) {
        (0, 0) => (of_limit / 3, of_limit),
        (0, max) => (max / 3, max),
        (min, 0) => (min, min.saturating_mul(3)),
        both => both,
    }
}

/// CHOKe (Pan, Prabhakar and Psounis, 2000; parameters as tc-choke(8) has them).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choke {
    /// Packets that may wait.
    pub limit_packets: u32,
    /// Average backlog in packets from which on arrivals are compared with a waiting packet.
    pub min_packets: u32,
    /// Average backlog in packets from which on every arrival is dropped, or marked.
    pub max_packets: u32,
    /// Packets that may come at once: decides the weight of the average.
    pub burst_packets: u32,
    /// Bytes of a typical packet.
    pub average_packet_bytes: u32,
    /// Probability at `max_packets`.
    pub probability: Ratio,
    /// Rate of the link, from which the average's decay while it is idle is reckoned.
    pub bandwidth: BitRate,
    /// Mark packets that can be marked instead of dropping them.
    pub ecn: bool,
}

impl Choke {
    /// What `tc` makes of a limit alone.
    pub fn with_limit(limit_packets: u32, bandwidth: BitRate) -> Self {
        let mut choke = Self {
            limit_packets,
            min_packets: 0,
            max_packets: 0,
            burst_packets: 0,
            average_packet_bytes: AVERAGE_PACKET,
            probability: USUAL_PROBABILITY,
            bandwidth,
            ecn: false,
        };
        choke.fill_defaults();
        choke
    }

    /// Fills in thresholds and burst where they are zero, as `tc` does.
    pub fn fill_defaults(&mut self) {
        let packets = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let (min, max, of_limit) =
            (self.min_packets.into(), self.max_packets.into(), u64::from(self.limit_packets / 4));
        let (min, max) = match (min, max) {
            // Unlike with RED, `tc` does not look at the smaller one here.
            (min, 0) if min > 0 => (min, of_limit),
            (min, max) => thresholds(min, max, of_limit),
        };
        (self.min_packets, self.max_packets) = (packets(min), packets(max));
        if self.burst_packets == 0 {
            self.burst_packets = packets((2 * min + max) / 3);
        }
    }
}

/// Controlled delay (RFC 8289).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Codel {
    /// Packets that may wait.
    pub limit_packets: u32,
    /// Waiting time that is tolerated for long.
    pub target: Span,
    /// How long it may be exceeded: about the longest round trip.
    pub interval: Span,
    /// Mark packets that can be marked instead of dropping them.
    pub ecn: bool,
    /// Waiting time above which packets that can be marked always are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ce_threshold: Option<Span>,
}

impl Default for Codel {
    fn default() -> Self {
        Self {
            limit_packets: DEFAULT_PACKETS,
            target: Span::from_millis(5),
            interval: Span::from_millis(100),
            ecn: false,
            ce_threshold: None,
        }
    }
}

/// Proportional integral controller, enhanced (RFC 8033).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pie {
    /// Packets that may wait.
    pub limit_packets: u32,
    /// Waiting time that is aimed at.
    pub target: Span,
    /// Time from one reckoning of the probability to the next.
    pub update: Span,
    /// Weight of the distance from the target, in sixteenths per second, 0 to 32.
    pub alpha: u32,
    /// Weight of the change since the last reckoning, in sixteenths per second, 0 to 32.
    pub beta: u32,
    /// Mark packets that can be marked instead of dropping them, while that happens to less than a tenth.
    pub ecn: bool,
    /// Scale the probability with the size of the packet.
    pub bytemode: bool,
    /// Estimate the waiting time from the departure rate instead of from time stamps.
    pub departure_rate: bool,
}

impl Default for Pie {
    fn default() -> Self {
        Self {
            limit_packets: DEFAULT_PACKETS,
            target: Span::from_millis(15),
            update: Span::from_millis(15),
            alpha: 2,
            beta: 20,
            ecn: false,
            bytemode: false,
            departure_rate: false,
        }
    }
}

/// Dual queue coupled PI squared (RFC 9332; parameters as tc-dualpi2(8) has them).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dualpi2 {
    /// Packets that may wait in both queues together.
    pub limit_packets: u32,
    /// Waiting time of the classic queue that is aimed at.
    pub target: Span,
    /// Time from one reckoning of the probability to the next.
    pub update: Span,
    /// Weight of the distance from the target, per second.
    pub alpha: Ratio,
    /// Weight of the change since the last reckoning, per second.
    pub beta: Ratio,
    /// Waiting time from which on every packet of the low-latency queue is marked.
    pub step_threshold: Span,
    /// The base probability times this marks packets of the low-latency queue.
    pub coupling: u32,
    /// Share of the service that the classic queue is sure of.
    pub classic_protection: Ratio,
    /// Drop when a packet leaves instead of when it comes.
    pub drop_on_dequeue: bool,
    /// Drop packets that could be marked when overloaded.
    pub drop_on_overload: bool,
    /// Which packets belong into the low-latency queue: those with ECT(1) or CE; else all that can be marked.
    pub only_ect1: bool,
}

impl Default for Dualpi2 {
    fn default() -> Self {
        Self {
            limit_packets: 10_000,
            target: Span::from_millis(15),
            update: Span::from_millis(16),
            alpha: Ratio::from_parts_per_billion(160_000_000),
            beta: Ratio::from_parts_per_billion(3_200_000_000),
            step_threshold: Span::from_millis(1),
            coupling: 2,
            classic_protection: Ratio::from_parts_per_billion(100_000_000),
            drop_on_dequeue: true,
            drop_on_overload: true,
            only_ect1: true,
        }
    }
}
