//! Disciplines without classes: early drop, and fair queueing by flow.

use crate::limit::{DEFAULT_PACKETS, ETHERNET_FRAME, QueueLimit, Resolver};
use crate::parameters::{discipline, parameter_table, plain_settings, set};
use fairwind_units::{BitRate, ByteCount, Ratio, Span};
use serde::{Deserialize, Serialize};

/// Bytes of a typical packet where nothing is said: what tc-choke(8) takes and tc-red(8) calls a good value.
pub(crate) const AVERAGE_PACKET: u32 = 1000;

/// Largest probability where nothing is said (tc-red(8)).
pub(crate) const USUAL_PROBABILITY: Ratio = Ratio::from_parts_per_billion(20_000_000);

/// Both thresholds; zero stands for the default: the larger one is three times the smaller one.
pub(crate) fn thresholds(min: u64, max: u64, of_limit: u64) -> (u64, u64) {
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
    /// Rate of the link, for the average's decay while it is idle.
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

parameter_table!(
    Choke [
        [limit Count limit_packets]
        [min Count min_packets]
        [max Count max_packets]
        [avpkt Size average_packet_bytes]
        [burst Count burst_packets]
        [probability Share probability]
        [bandwidth Rate bandwidth]
        [ecn Flag ecn]
    ] [] []
);

/// Parameters of `choke` (tc-choke(8)).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChokeInput {
    /// Limit of the queue, in packets.
    pub limit: QueueLimit,
    /// Average backlog above which an arrival is compared with a waiting packet; default: a third of `max`.
    pub min: Option<QueueLimit>,
    /// Average backlog above which every arrival is dropped; default: a quarter of the limit.
    pub max: Option<QueueLimit>,
    /// Packets that may arrive at once, which determines how slowly the average follows; default: `(2 min + max) / 3`.
    pub burst: Option<u32>,
    /// Size of a typical packet; default: 1000 B.
    pub avpkt: Option<ByteCount>,
    /// Probability at `max`; default: 2 %.
    pub probability: Option<Ratio>,
    /// Rate for the average's decay while nothing is sent; default: the link's.
    pub bandwidth: Option<BitRate>,
    /// Whether packets that can be marked are marked instead of dropped; default: false.
    #[serde(default)]
    pub ecn: bool,
}

impl ChokeInput {
    pub(crate) fn resolve(&self, resolver: &mut Resolver<'_>) -> Choke {
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
        choke
    }
}

discipline! {
    /// Three bands by type of service, each first in, first out: what a Linux device had before fair queues.
    PfifoFast,
    /// Parameters of `pfifo_fast` (tc-pfifo_fast(8)).
    PfifoFastInput {
        /// Limit of each band, in packets: the device's `txqueuelen`; default: 1000 packets.
        limit: QueueLimit => limit_packets: u32 = DEFAULT_PACKETS, Count;
    }
}

discipline! {
    /// Controlled delay (RFC 8289).
    Codel,
    /// Parameters of `codel` (tc-codel(8)).
    CodelInput {
        /// Limit of the queue, in packets; default: 1000 packets.
        limit: QueueLimit => limit_packets: u32 = DEFAULT_PACKETS, Count;
        /// Waiting time that is tolerated permanently; default: 5 ms.
        target: Span => target: Span = Span::from_millis(5), Time;
        /// Time for which the target may be exceeded, about the longest round trip; default: 100 ms.
        interval: Span => interval: Span = Span::from_millis(100), Time;
        /// Whether packets that can be marked are marked instead of dropped; default: false.
        ecn: bool => ecn: bool = false, Switch("noecn");
        /// Waiting time above which every packet that can be marked is marked; default: none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ce_threshold: Span => ce_threshold: Option<Span> = None, OptionalTime;
    }
}

discipline! {
    /// Proportional integral controller, enhanced (RFC 8033).
    Pie,
    /// Parameters of `pie` (tc-pie(8)).
    PieInput {
        /// Limit of the queue, in packets; default: 1000 packets.
        limit: QueueLimit => limit_packets: u32 = DEFAULT_PACKETS, Count;
        /// Target of the waiting time; default: 15 ms.
        target: Span => target: Span = Span::from_millis(15), Time;
        /// Update interval of the probability; default: 15 ms.
        tupdate: Span => update: Span = Span::from_millis(15), Time;
        /// Weight of the distance from the target, in sixteenths per second; default: 2.
        #[schemars(range(max = 32))]
        alpha: u32 => alpha: u32 = 2, Count;
        /// Weight of the change since the last update, in sixteenths per second; default: 20.
        #[schemars(range(max = 32))]
        beta: u32 => beta: u32 = 20, Count;
        /// Whether packets that can be marked are marked instead of dropped, while that happens to less than a tenth;
        /// default: false.
        ecn: bool => ecn: bool = false, Switch("noecn");
        /// Whether the probability is scaled with the size of the packet; default: false.
        bytemode: bool => bytemode: bool = false, Switch("nobytemode");
        /// Whether the waiting time is estimated from the departure rate instead of from time stamps; default: false.
        dq_rate_estimator: bool => departure_rate: bool = false, Switch("no_dq_rate_estimator");
    }
}

discipline! {
    /// Dual queue coupled PI squared (RFC 9332; parameters as tc-dualpi2(8) has them).
    Dualpi2,
    /// Parameters of `dualpi2` (tc-dualpi2(8)).
    Dualpi2Input {
        /// Limit of both queues together, in packets; default: 10 000 packets.
        limit: QueueLimit => limit_packets: u32 = 10_000, Count;
        /// Target of the classic queue's waiting time; default: 15 ms.
        target: Span => target: Span = Span::from_millis(15), Time;
        /// Update interval of the probability; default: 16 ms.
        tupdate: Span => update: Span = Span::from_millis(16), Time;
        /// Weight of the distance from the target, per second; default: 16 %.
        alpha: Ratio => alpha: Ratio = Ratio::from_parts_per_billion(160_000_000), Share;
        /// Weight of the change since the last update, per second; default: 320 %.
        beta: Ratio => beta: Ratio = Ratio::from_parts_per_billion(3_200_000_000), Share;
        /// Waiting time from which on every packet of the low-latency queue is marked; default: 1 ms.
        step_thresh: Span => step_threshold: Span = Span::from_millis(1), Time;
        /// The base probability times this marks packets of the low-latency queue; default: 2.
        coupling_factor: u32 => coupling: u32 = 2, Count;
        /// Guaranteed share of the service for the classic queue; default: 10 %.
        classic_protection: Ratio => classic_protection: Ratio = Ratio::from_parts_per_billion(100_000_000), PerCent;
        /// Whether packets are dropped when they leave instead of when they come; default: true.
        drop_dequeue: bool => drop_on_dequeue: bool = true, Switch("drop_enqueue");
        /// Whether packets that could be marked are dropped when overloaded; default: true.
        drop_on_overload: bool => drop_on_overload: bool = true, Switch("overflow");
        /// Whether only packets with ECT(1) or CE belong into the low-latency queue, else all that can be marked;
        /// default: true.
        l4s_ect: bool => only_ect1: bool = true, Switch("any_ect");
    }
    // Packets are never joined, so there is nothing to split.
    ignored: "split_gso", "no_split_gso";
}

discipline! {
    /// Stochastic fairness queueing (McKenney, 1990; parameters as tc-sfq(8) has them).
    Sfq,
    /// Parameters of `sfq` (tc-sfq(8)).
    SfqInput {
        /// Limit of the queue, in packets; default: 127 packets.
        limit: QueueLimit => limit_packets: u32 = 127, Count;
        /// Bytes that a flow may send in its turn; default: 1514 B.
        quantum: ByteCount => quantum_bytes: u32 = ETHERNET_FRAME, Size;
        /// Buckets that flows are hashed into, a power of two; default: 1024.
        divisor: u32 => divisor: u32 = 1024, Count;
        /// Flows that may wait at the same time; default: 127.
        flows: u32 => flows: u32 = 127, Count;
        /// Packets of one flow that may wait; default: 127.
        depth: u32 => depth_packets: u32 = 127, Count;
        /// Time after which flows are hashed again; default: never.
        perturb: Span => perturb: Span = Span::ZERO, Seconds;
        /// Whether the oldest packet of a flow is dropped instead of the newest; default: false.
        headdrop: bool => head_drop: bool = false, Flag;
    }
}

discipline! {
    /// Fair queueing with a largest rate of each flow (parameters as tc-fq(8) has them).
    Fq,
    /// Parameters of `fq` (tc-fq(8)).
    FqInput {
        /// Limit of each of three bands by type of service, in packets; default: 10 000 packets.
        limit: QueueLimit => limit_packets: u32 = 10_000, Count;
        /// Packets of one flow that may wait; default: 100.
        flow_limit: u32 => flow_limit_packets: u32 = 100, Count;
        /// Bytes that a flow may send in its turn, 256 B to 1 MiB; default: 3028 B, two packets with Ethernet headers.
        quantum: ByteCount => quantum_bytes: u32 = 2 * ETHERNET_FRAME, Size;
        /// Bytes that a flow may send in its first turn; default: 15 140 B.
        initial_quantum: ByteCount => initial_quantum_bytes: u32 = 10 * ETHERNET_FRAME, Size;
        /// Largest rate of each flow; default: none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        maxrate: BitRate => max_rate: Option<BitRate> = None, OptionalRate;
        /// Time without packets after which a flow may send a quantum again; default: 40 ms.
        refill_delay: Span => refill_delay: Span = Span::from_millis(40), Time;
        /// The hash of a flow has as many bits as are ones here; default: 1023, ten bits.
        orphan_mask: u32 => hash_mask: u32 = 1023, Count;
        /// `maxrate` up to which packets are spaced one by one instead of by quanta; default: 550 kbit/s.
        low_rate_threshold: BitRate => low_rate: BitRate = BitRate::from_bits_per_second(550_000), Rate;
        /// Waiting time above which every packet that can be marked is marked; default: none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ce_threshold: Span => ce_threshold: Option<Span> = None, OptionalTime;
        /// Whether `maxrate` spaces packets; default: true.
        pacing: bool => pacing: bool = true, Switch("nopacing");
    }
    // A packet that is forwarded has no departure time that a horizon could bound, and trees of flows only cost time.
    ignored: "horizon_drop", "horizon_cap";
    ignored with a value: "horizon", "buckets", "timer_slack";
}

discipline! {
    /// Fair queueing with controlled delay (RFC 8290).
    FqCodel,
    /// Parameters of `fq_codel` (tc-fq_codel(8)).
    FqCodelInput {
        /// Limit of the queue, in packets; default: 10 240 packets.
        limit: QueueLimit => limit_packets: u32 = 10_240, Count;
        /// Buckets that flows are hashed into; default: 1024.
        flows: u32 => flows: u32 = 1024, Count;
        /// Bytes that a flow may send in its turn; default: 1514 B.
        quantum: ByteCount => quantum_bytes: u32 = ETHERNET_FRAME, Size;
        /// Waiting time that is tolerated permanently; default: 5 ms.
        target: Span => target: Span = Span::from_millis(5), Time;
        /// Time for which the target may be exceeded, about the longest round trip; default: 100 ms.
        interval: Span => interval: Span = Span::from_millis(100), Time;
        /// Whether packets that can be marked are marked instead of dropped; default: true.
        ecn: bool => ecn: bool = true, Switch("noecn");
        /// Waiting time above which every packet that can be marked is marked; default: none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ce_threshold: Span => ce_threshold: Option<Span> = None, OptionalTime;
        /// Bytes that may wait; default: 32 MiB.
        memory_limit: ByteCount => memory_limit_bytes: u64 = 32 << 20, Bytes;
        /// Packets of the longest queue that are dropped at once when the queue is full; default: 64.
        drop_batch: u32 => drop_batch_packets: u32 = 64, Count;
    }
}

discipline! {
    /// Fair queueing with PIE for every flow (parameters as tc-fq_pie(8) has them).
    FqPie,
    /// Parameters of `fq_pie` (tc-fq_pie(8)).
    FqPieInput {
        /// Limit of the queue, in packets; default: 10 240 packets.
        limit: QueueLimit => limit_packets: u32 = 10_240, Count;
        /// Buckets that flows are hashed into; default: 1024.
        flows: u32 => flows: u32 = 1024, Count;
        /// Target of the waiting time; default: 15 ms.
        target: Span => target: Span = Span::from_millis(15), Time;
        /// Update interval of the probability; default: 15 ms.
        tupdate: Span => update: Span = Span::from_millis(15), Time;
        /// Weight of the distance from the target, in sixteenths per second; default: 2.
        #[schemars(range(max = 32))]
        alpha: u32 => alpha: u32 = 2, Count;
        /// Weight of the change since the last update, in sixteenths per second; default: 20.
        #[schemars(range(max = 32))]
        beta: u32 => beta: u32 = 20, Count;
        /// Bytes that a flow may send in its turn; default: 1514 B.
        quantum: ByteCount => quantum_bytes: u32 = ETHERNET_FRAME, Size;
        /// Bytes that may wait; default: 32 MiB.
        memory_limit: ByteCount => memory_limit_bytes: u64 = 32 << 20, Bytes;
        /// Per cent of probability up to which packets are marked instead of dropped; default: 10.
        #[schemars(range(max = 100))]
        ecn_prob: u32 => ecn_probability_percent: u32 = 10, Count;
        /// Whether packets that can be marked are marked instead of dropped; default: false.
        ecn: bool => ecn: bool = false, Switch("noecn");
        /// Whether the probability is scaled with the size of the packet; default: false.
        bytemode: bool => bytemode: bool = false, Switch("nobytemode");
        /// Whether the waiting time is estimated from the departure rate instead of from time stamps; default: false.
        dq_rate_estimator: bool => departure_rate: bool = false, Switch("no_dq_rate_estimator");
    }
}

discipline! {
    /// The core of CAKE: a shaper without bursts, isolation of flows and hosts, and COBALT in every flow (parameters as
    /// tc-cake(8) has them).
    Cake,
    /// Parameters of `cake` (tc-cake(8)).
    CakeInput {
        /// Rate that it shapes to; default: as fast as the link goes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bandwidth: BitRate => bandwidth: Option<BitRate> = None;
        /// Priorities that packets are sorted into by their code points; default: `diffserv3`.
        tins: CakeTins => tins: CakeTins = CakeTins::Diffserv3;
        /// Units of fair sharing; default: `triple-isolate`.
        isolation: CakeIsolation => isolation: CakeIsolation = CakeIsolation::TripleIsolate;
        /// A typical round trip, from which interval and target follow; default: 100 ms.
        rtt: Span => rtt: Span = Span::from_millis(100);
        /// Overhead of every packet beyond the IP packet, for the shaper; default: none.
        overhead: ByteCount => overhead_bytes: i32 = 0;
        /// Bytes that may wait; default: from rate and round trip.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        memlimit: ByteCount => memory_limit_bytes: Option<u64> = None;
        /// Whether pure ACKs are dropped that a later one in the queue makes needless; default: `off`.
        #[serde(default, skip_serializing_if = "crate::is_default")]
        ack_filter: CakeAckFilter => ack_filter: CakeAckFilter = CakeAckFilter::Off;
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

/// Which pure ACKs CAKE drops.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum CakeAckFilter {
    /// None.
    #[default]
    Off,
    /// The older of two that a later one makes needless.
    On,
    /// Also a single one directly before the later one.
    Aggressive,
}

plain_settings!(CakeTins, CakeIsolation, CakeAckFilter);
