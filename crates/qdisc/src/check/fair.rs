//! Rules of disciplines that keep flows apart.

use super::Check;
use crate::{Cake, FqCodel, FqPie, Sfq};

/// Buckets that the kernel has at most.
const MOST_FLOWS: u32 = 65_536;

impl Check {
    pub(super) fn sfq(&mut self, sfq: &Sfq) {
        self.limit(sfq.limit_packets.into());
        self.hold(
            sfq.limit_packets != 1,
            "limit",
            "a single packet is shared by nobody: 2 or more",
        );
        self.quantum(sfq.quantum_bytes);
        let is_possible = sfq.divisor.is_power_of_two() && sfq.divisor <= MOST_FLOWS;
        self.hold(is_possible, "divisor", "it is a power of two up to 65536");
        self.flows(sfq.flows);
        self.hold(sfq.depth_packets > 0, "depth", "of a flow one packet or more may wait");
    }

    fn flows(&mut self, flows: u32) {
        self.hold((1..=MOST_FLOWS).contains(&flows), "flows", "it is between 1 and 65536");
    }

    fn memory(&mut self, key: &str, bytes: u64) {
        self.hold(bytes > 0, key, "a queue holds one byte or more");
    }

    pub(super) fn fq_codel(&mut self, fair: &FqCodel) {
        self.limit(fair.limit_packets.into());
        self.flows(fair.flows);
        self.quantum(fair.quantum_bytes);
        self.time("interval", fair.interval);
        self.memory("memory_limit", fair.memory_limit_bytes);
        self.hold(
            fair.drop_batch_packets > 0,
            "drop_batch",
            "one packet or more is dropped at once",
        );
    }

    pub(super) fn fq_pie(&mut self, fair: &FqPie) {
        self.limit(fair.limit_packets.into());
        self.flows(fair.flows);
        self.quantum(fair.quantum_bytes);
        self.controller(fair.alpha, fair.beta);
        self.time("target", fair.target);
        self.time("tupdate", fair.update);
        self.memory("memory_limit", fair.memory_limit_bytes);
        self.hold(fair.ecn_probability_percent <= 100, "ecn_prob", "it is 100 at most");
    }

    pub(super) fn cake(&mut self, cake: &Cake) {
        if let Some(bandwidth) = cake.bandwidth {
            self.rate("bandwidth", bandwidth);
        }
        self.time("rtt", cake.rtt);
        if let Some(bytes) = cake.memory_limit_bytes {
            self.memory("memlimit", bytes);
        }
    }
}
