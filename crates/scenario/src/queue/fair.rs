//! Disciplines that keep flows apart.

use super::aqm::set;
use super::resolve::Resolver;
use crate::QueueLimit;
use fairwind_qdisc::{
    Cake, CakeIsolation, CakeTins, Drr, DrrClass, ETHERNET_FRAME, Filter, FqCodel, FqPie, Qdisc,
    Sfq,
};
use fairwind_units::{BitRate, ByteCount, Span};
use serde::{Deserialize, Serialize};

/// Parameters of `sfq` (tc-sfq(8)).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SfqInput {
    /// How much may wait, in packets; 127 packets unless said.
    pub limit: Option<QueueLimit>,
    /// Bytes that a flow may send in its turn; 1514 B unless said.
    pub quantum: Option<ByteCount>,
    /// Buckets that flows are hashed into, a power of two; 1024 unless said.
    pub divisor: Option<u32>,
    /// Flows that may wait at the same time; 127 unless said.
    pub flows: Option<u32>,
    /// Packets of one flow that may wait; 127 unless said.
    pub depth: Option<u32>,
    /// Time after which flows are hashed anew; never unless said.
    pub perturb: Option<Span>,
    /// Whether the oldest packet of a flow is dropped instead of the newest; false unless said.
    pub headdrop: Option<bool>,
}

impl SfqInput {
    pub(super) fn resolve(&self, resolver: &mut Resolver<'_>) -> Qdisc {
        let mut sfq = Sfq::default();
        set(&mut sfq.limit_packets, self.limit.map(|limit| resolver.packets("limit", limit)));
        set(&mut sfq.quantum_bytes, self.quantum.map(|size| resolver.size("quantum", size)));
        set(&mut sfq.divisor, self.divisor);
        set(&mut sfq.flows, self.flows);
        set(&mut sfq.depth_packets, self.depth);
        set(&mut sfq.perturb, self.perturb);
        set(&mut sfq.head_drop, self.headdrop);
        Qdisc::Sfq(sfq)
    }
}

/// Parameters of `fq_codel` (tc-fq_codel(8)).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FqCodelInput {
    /// How much may wait, in packets; 10 240 packets unless said.
    pub limit: Option<QueueLimit>,
    /// Buckets that flows are hashed into; 1024 unless said.
    pub flows: Option<u32>,
    /// Bytes that a flow may send in its turn; 1514 B unless said.
    pub quantum: Option<ByteCount>,
    /// Waiting time that is tolerated for long; 5 ms unless said.
    pub target: Option<Span>,
    /// How long it may be exceeded, about the longest round trip; 100 ms unless said.
    pub interval: Option<Span>,
    /// Whether packets that can be marked are marked instead of dropped; true unless said.
    pub ecn: Option<bool>,
    /// Waiting time above which every packet that can be marked is marked; none unless said.
    pub ce_threshold: Option<Span>,
    /// Bytes that may wait; 32 MiB unless said.
    pub memory_limit: Option<ByteCount>,
    /// Packets of the longest queue that are dropped at once where there is no room; 64 unless said.
    pub drop_batch: Option<u32>,
}

impl FqCodelInput {
    pub(super) fn resolve(&self, resolver: &mut Resolver<'_>) -> Qdisc {
        let mut fair = FqCodel { ce_threshold: self.ce_threshold, ..FqCodel::default() };
        set(&mut fair.limit_packets, self.limit.map(|limit| resolver.packets("limit", limit)));
        set(&mut fair.flows, self.flows);
        set(&mut fair.quantum_bytes, self.quantum.map(|size| resolver.size("quantum", size)));
        set(&mut fair.target, self.target);
        set(&mut fair.interval, self.interval);
        set(&mut fair.ecn, self.ecn);
        set(&mut fair.memory_limit_bytes, self.memory_limit.map(ByteCount::get));
        set(&mut fair.drop_batch_packets, self.drop_batch);
        Qdisc::FqCodel(fair)
    }
}

/// Parameters of `fq_pie` (tc-fq_pie(8)).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FqPieInput {
    /// How much may wait, in packets; 10 240 packets unless said.
    pub limit: Option<QueueLimit>,
    /// Buckets that flows are hashed into; 1024 unless said.
    pub flows: Option<u32>,
    /// Bytes that a flow may send in its turn; 1514 B unless said.
    pub quantum: Option<ByteCount>,
    /// Waiting time that is aimed at; 15 ms unless said.
    pub target: Option<Span>,
    /// Time from one reckoning of the probability to the next; 15 ms unless said.
    pub tupdate: Option<Span>,
    /// Weight of the distance from the target, in sixteenths per second; 2 unless said.
    #[schemars(range(max = 32))]
    pub alpha: Option<u32>,
    /// Weight of the change since the last reckoning, in sixteenths per second; 20 unless said.
    #[schemars(range(max = 32))]
    pub beta: Option<u32>,
    /// Whether packets that can be marked are marked instead of dropped; false unless said.
    pub ecn: Option<bool>,
    /// Per cent of probability up to which packets are marked instead of dropped; 10 unless said.
    #[schemars(range(max = 100))]
    pub ecn_prob: Option<u32>,
    /// Bytes that may wait; 32 MiB unless said.
    pub memory_limit: Option<ByteCount>,
    /// Whether the probability is scaled with the size of the packet; false unless said.
    pub bytemode: Option<bool>,
    /// Whether the waiting time is estimated from the departure rate instead of from time stamps; false unless said.
    pub dq_rate_estimator: Option<bool>,
}

impl FqPieInput {
    pub(super) fn resolve(&self, resolver: &mut Resolver<'_>) -> Qdisc {
        let mut fair = FqPie::default();
        set(&mut fair.limit_packets, self.limit.map(|limit| resolver.packets("limit", limit)));
        set(&mut fair.flows, self.flows);
        set(&mut fair.quantum_bytes, self.quantum.map(|size| resolver.size("quantum", size)));
        set(&mut fair.target, self.target);
        set(&mut fair.update, self.tupdate);
        set(&mut fair.alpha, self.alpha);
        set(&mut fair.beta, self.beta);
        set(&mut fair.ecn, self.ecn);
        set(&mut fair.ecn_probability_percent, self.ecn_prob);
        set(&mut fair.memory_limit_bytes, self.memory_limit.map(ByteCount::get));
        set(&mut fair.bytemode, self.bytemode);
        set(&mut fair.departure_rate, self.dq_rate_estimator);
        Qdisc::FqPie(fair)
    }
}

/// Parameters of `cake` (tc-cake(8)).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CakeInput {
    /// Rate that it shapes to; as fast as the link goes unless said.
    pub bandwidth: Option<BitRate>,
    /// Priorities that packets are sorted into by their code points; `diffserv3` unless said.
    pub tins: Option<CakeTins>,
    /// What shares evenly; `triple-isolate` unless said.
    pub isolation: Option<CakeIsolation>,
    /// A typical round trip, from which interval and target follow; 100 ms unless said.
    pub rtt: Option<Span>,
    /// Bytes that every packet costs beyond the IP packet, in the shaper's account; none unless said.
    pub overhead: Option<ByteCount>,
    /// Bytes that may wait; what suits rate and round trip unless said.
    pub memlimit: Option<ByteCount>,
}

impl CakeInput {
    pub(super) fn resolve(&self, resolver: &mut Resolver<'_>) -> Qdisc {
        let mut cake = Cake {
            bandwidth: self.bandwidth,
            memory_limit_bytes: self.memlimit.map(ByteCount::get),
            ..Cake::default()
        };
        set(&mut cake.tins, self.tins);
        set(&mut cake.isolation, self.isolation);
        set(&mut cake.rtt, self.rtt);
        let overhead = self.overhead.map(|size| resolver.size("overhead", size));
        set(
            &mut cake.overhead_bytes,
            overhead.map(|bytes| i32::try_from(bytes).unwrap_or(i32::MAX)),
        );
        Qdisc::Cake(cake)
    }
}

/// Parameters of `drr` (tc-drr(8)).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DrrInput {
    /// The classes; the first whose filters take a packet has it.
    pub classes: Vec<DrrClassInput>,
}

/// A class of `drr`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DrrClassInput {
    /// Bytes that it may send in its turn; 1514 B unless said.
    pub quantum: Option<ByteCount>,
    /// What it takes: packets that any of these fits; without one, everything that no other class takes.
    #[serde(default)]
    pub filters: Vec<Filter>,
    /// What holds its packets; a pfifo of 1000 packets unless said.
    pub child: Option<super::QueueInput>,
}

impl DrrInput {
    pub(super) fn resolve(&self, resolver: &mut Resolver<'_>) -> Qdisc {
        let mut classes = Vec::new();
        for (index, class) in self.classes.iter().enumerate() {
            let key = format!("classes[{index}]");
            let quantum = class.quantum.map(|size| resolver.size(&format!("{key}.quantum"), size));
            classes.push(DrrClass {
                quantum_bytes: quantum.unwrap_or(ETHERNET_FRAME),
                filters: class.filters.clone(),
                child: resolver.child_or_pfifo(&format!("{key}.child"), class.child.as_ref()),
            });
        }
        Qdisc::Drr(Drr { classes })
    }
}
