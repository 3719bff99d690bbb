//! Disciplines that keep flows apart.

use super::resolve::{Resolver, parameters};
use crate::QueueLimit;
use fairwind_qdisc::{
    Cake, CakeIsolation, CakeTins, Drr, DrrClass, ETHERNET_FRAME, Filter, FqCodel, FqPie, Qdisc,
    Sfq,
};
use fairwind_units::{BitRate, ByteCount, Span};
use serde::{Deserialize, Serialize};

parameters! {
    /// Parameters of `sfq` (tc-sfq(8)).
    SfqInput => Sfq {
        /// How much may wait, in packets; 127 packets unless said.
        limit: QueueLimit => limit_packets,
        /// Bytes that a flow may send in its turn; 1514 B unless said.
        quantum: ByteCount => quantum_bytes,
        /// Buckets that flows are hashed into, a power of two; 1024 unless said.
        divisor: u32 => divisor,
        /// Flows that may wait at the same time; 127 unless said.
        flows: u32 => flows,
        /// Packets of one flow that may wait; 127 unless said.
        depth: u32 => depth_packets,
        /// Time after which flows are hashed anew; never unless said.
        perturb: Span => perturb,
        /// Whether the oldest packet of a flow is dropped instead of the newest; false unless said.
        headdrop: bool => head_drop,
    }
}

parameters! {
    /// Parameters of `fq_codel` (tc-fq_codel(8)).
    FqCodelInput => FqCodel {
        /// How much may wait, in packets; 10 240 packets unless said.
        limit: QueueLimit => limit_packets,
        /// Buckets that flows are hashed into; 1024 unless said.
        flows: u32 => flows,
        /// Bytes that a flow may send in its turn; 1514 B unless said.
        quantum: ByteCount => quantum_bytes,
        /// Waiting time that is tolerated for long; 5 ms unless said.
        target: Span => target,
        /// How long it may be exceeded, about the longest round trip; 100 ms unless said.
        interval: Span => interval,
        /// Whether packets that can be marked are marked instead of dropped; true unless said.
        ecn: bool => ecn,
        /// Waiting time above which every packet that can be marked is marked; none unless said.
        ce_threshold: Span => ce_threshold,
        /// Bytes that may wait; 32 MiB unless said.
        memory_limit: ByteCount => memory_limit_bytes,
        /// Packets of the longest queue that are dropped at once where there is no room; 64 unless said.
        drop_batch: u32 => drop_batch_packets,
    }
}

parameters! {
    /// Parameters of `fq_pie` (tc-fq_pie(8)).
    FqPieInput => FqPie {
        /// How much may wait, in packets; 10 240 packets unless said.
        limit: QueueLimit => limit_packets,
        /// Buckets that flows are hashed into; 1024 unless said.
        flows: u32 => flows,
        /// Bytes that a flow may send in its turn; 1514 B unless said.
        quantum: ByteCount => quantum_bytes,
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
        /// Whether packets that can be marked are marked instead of dropped; false unless said.
        ecn: bool => ecn,
        /// Per cent of probability up to which packets are marked instead of dropped; 10 unless said.
        #[schemars(range(max = 100))]
        ecn_prob: u32 => ecn_probability_percent,
        /// Bytes that may wait; 32 MiB unless said.
        memory_limit: ByteCount => memory_limit_bytes,
        /// Whether the probability is scaled with the size of the packet; false unless said.
        bytemode: bool => bytemode,
        /// Whether the waiting time is estimated from the departure rate instead of from time stamps; false unless said.
        dq_rate_estimator: bool => departure_rate,
    }
}

parameters! {
    /// Parameters of `cake` (tc-cake(8)).
    CakeInput => Cake {
        /// Rate that it shapes to; as fast as the link goes unless said.
        bandwidth: BitRate => bandwidth,
        /// Priorities that packets are sorted into by their code points; `diffserv3` unless said.
        tins: CakeTins => tins,
        /// What shares evenly; `triple-isolate` unless said.
        isolation: CakeIsolation => isolation,
        /// A typical round trip, from which interval and target follow; 100 ms unless said.
        rtt: Span => rtt,
        /// Bytes that every packet costs beyond the IP packet, in the shaper's account; none unless said.
        overhead: ByteCount => overhead_bytes,
        /// Bytes that may wait; what suits rate and round trip unless said.
        memlimit: ByteCount => memory_limit_bytes,
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
