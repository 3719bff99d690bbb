//! Disciplines that drop or mark before they are full.

use super::resolve::{Resolver, parameters, set};
use crate::QueueLimit;
use fairwind_qdisc::{Choke, Codel, Dualpi2, Pie, Qdisc, Red};
use fairwind_units::{BitRate, ByteCount, Ratio, Span};
use serde::{Deserialize, Serialize};

/// Parameters of `red` (tc-red(8)).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "switches of the same names in tc")]
pub struct RedInput {
    /// How much may wait, in bytes.
    pub limit: QueueLimit,
    /// Average backlog from which on packets are dropped or marked; a third of `max` unless said.
    pub min: Option<QueueLimit>,
    /// Average backlog at which the probability is largest; thrice `min`, or else a quarter of the limit unless said.
    pub max: Option<QueueLimit>,
    /// Size of a typical packet; 1000 B unless said.
    pub avpkt: Option<ByteCount>,
    /// Packets that may come at once, which decides how slowly the average follows; `(2 min + max) / (3 avpkt)` unless
    /// said.
    pub burst: Option<u32>,
    /// Probability at `max`; 2 % unless said.
    pub probability: Option<Ratio>,
    /// Rate from which the average's decay while nothing is sent is reckoned; the link's unless said.
    pub bandwidth: Option<BitRate>,
    /// Whether packets that can be marked are marked instead of dropped; false unless said.
    #[serde(default)]
    pub ecn: bool,
    /// Whether packets above `max` are dropped even where they could be marked; false unless said.
    #[serde(default)]
    pub harddrop: bool,
    /// Whether the probability rises to one between `max` and twice that, instead of at once, which the kernel does
    /// not know; false unless said.
    #[serde(default)]
    pub gentle: bool,
    /// Whether the probability is moved so that the average stays in the middle; false unless said.
    #[serde(default)]
    pub adaptive: bool,
    /// What holds the packets; a bfifo of `limit` unless said.
    pub child: Option<super::QueueInput>,
}

impl RedInput {
    pub(super) fn resolve(&self, resolver: &mut Resolver<'_>) -> Qdisc {
        let mut red = Red {
            limit_bytes: resolver.bytes("limit", self.limit),
            min_bytes: self.min.map_or(0, |min| resolver.bytes("min", min)),
            max_bytes: self.max.map_or(0, |max| resolver.bytes("max", max)),
            burst_packets: self.burst.unwrap_or_default(),
            ecn: self.ecn,
            hard_drop: self.harddrop,
            gentle: self.gentle,
            adaptive: self.adaptive,
            ..Red::with_limit(0, self.bandwidth.unwrap_or(resolver.bandwidth()))
        };
        set(&mut red.average_packet_bytes, self.avpkt.map(|size| resolver.size("avpkt", size)));
        set(&mut red.probability, self.probability);
        red.fill_defaults();
        red.child = self.child.as_ref().map(|child| Box::new(resolver.child("child", child)));
        Qdisc::Red(red)
    }
}

/// Parameters of `choke` (tc-choke(8)).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChokeInput {
    /// How much may wait, in packets.
    pub limit: QueueLimit,
    /// Average backlog from which on an arrival is compared with a packet that waits; a third of `max` unless said.
    pub min: Option<QueueLimit>,
    /// Average backlog from which on every arrival is dropped; a quarter of the limit unless said.
    pub max: Option<QueueLimit>,
    /// Packets that may come at once, which decides how slowly the average follows; `(2 min + max) / 3` unless said.
    pub burst: Option<u32>,
    /// Size of a typical packet; 1000 B unless said.
    pub avpkt: Option<ByteCount>,
    /// Probability at `max`; 2 % unless said.
    pub probability: Option<Ratio>,
    /// Rate from which the average's decay while nothing is sent is reckoned; the link's unless said.
    pub bandwidth: Option<BitRate>,
    /// Whether packets that can be marked are marked instead of dropped; false unless said.
    #[serde(default)]
    pub ecn: bool,
}

impl ChokeInput {
    pub(super) fn resolve(&self, resolver: &mut Resolver<'_>) -> Qdisc {
        let mut choke = Choke {
            limit_packets: resolver.packets("limit", self.limit),
            min_packets: self.min.map_or(0, |min| resolver.packets("min", min)),
            max_packets: self.max.map_or(0, |max| resolver.packets("max", max)),
            burst_packets: self.burst.unwrap_or_default(),
            ecn: self.ecn,
            ..Choke::with_limit(0, self.bandwidth.unwrap_or(resolver.bandwidth()))
        };
        set(&mut choke.average_packet_bytes, self.avpkt.map(|size| resolver.size("avpkt", size)));
        set(&mut choke.probability, self.probability);
        choke.fill_defaults();
        Qdisc::Choke(choke)
    }
}

parameters! {
    /// Parameters of `codel` (tc-codel(8)).
    CodelInput => Codel {
        /// How much may wait, in packets; 1000 packets unless said.
        limit: QueueLimit => limit_packets,
        /// Waiting time that is tolerated for long; 5 ms unless said.
        target: Span => target,
        /// How long it may be exceeded, about the longest round trip; 100 ms unless said.
        interval: Span => interval,
        /// Whether packets that can be marked are marked instead of dropped; false unless said.
        ecn: bool => ecn,
        /// Waiting time above which every packet that can be marked is marked; none unless said.
        ce_threshold: Span => ce_threshold,
    }
}

parameters! {
    /// Parameters of `pie` (tc-pie(8)).
    PieInput => Pie {
        /// How much may wait, in packets; 1000 packets unless said.
        limit: QueueLimit => limit_packets,
        /// Waiting time that is aimed at; 15 ms unless said.
        target: Span => target,
        /// Time from one reckoning of the probability to the next; 15 ms unless said.
        tupdate: Span => update,
        /// Weight of the distance from the target, in sixteenths per second; 2 unless said.
        #[schemars(range(max = 32))]
        alpha: u32 => alpha,
        /// Weight of the change since the last reckoning, in sixteenths per second; 20 unless said.
        #[schemars(range(max = 32))]
        beta: u32 => beta,
        /// Whether packets that can be marked are marked instead of dropped, while that happens to less than a tenth; false
        /// unless said.
        ecn: bool => ecn,
        /// Whether the probability is scaled with the size of the packet; false unless said.
        bytemode: bool => bytemode,
        /// Whether the waiting time is estimated from the departure rate instead of from time stamps; false unless said.
        dq_rate_estimator: bool => departure_rate,
    }
}

parameters! {
    /// Parameters of `dualpi2` (tc-dualpi2(8)).
    Dualpi2Input => Dualpi2 {
        /// How much may wait in both queues together, in packets; 10 000 packets unless said.
        limit: QueueLimit => limit_packets,
        /// Waiting time of the classic queue that is aimed at; 15 ms unless said.
        target: Span => target,
        /// Time from one reckoning of the probability to the next; 16 ms unless said.
        tupdate: Span => update,
        /// Weight of the distance from the target, per second; 16 % unless said.
        alpha: Ratio => alpha,
        /// Weight of the change since the last reckoning, per second; 320 % unless said.
        beta: Ratio => beta,
        /// Waiting time from which on every packet of the low-latency queue is marked; 1 ms unless said.
        step_thresh: Span => step_threshold,
        /// The base probability times this marks packets of the low-latency queue; 2 unless said.
        coupling_factor: u32 => coupling,
        /// Share of the service that the classic queue is sure of; 10 % unless said.
        classic_protection: Ratio => classic_protection,
        /// Whether packets are dropped when they leave instead of when they come; true unless said.
        drop_dequeue: bool => drop_on_dequeue,
        /// Whether packets that could be marked are dropped when overloaded; true unless said.
        drop_on_overload: bool => drop_on_overload,
        /// Whether only packets with ECT(1) or CE belong into the low-latency queue, else all that can be marked; true
        /// unless said.
        l4s_ect: bool => only_ect1,
    }
}
