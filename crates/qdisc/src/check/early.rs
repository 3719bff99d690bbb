//! Rules of disciplines that drop or mark before they are full.

use super::Check;
use crate::{Choke, Codel, Dualpi2, Pie, Red};
use fairwind_units::Ratio;

/// The largest weight of a proportional or integral part that `tc` takes.
const LARGEST_WEIGHT: u32 = 32;

impl Check {
    pub(super) fn red(&mut self, red: &Red) {
        self.limit(red.limit_bytes);
        self.thresholds(red.min_bytes, red.max_bytes, red.limit_bytes);
        self.average(red.average_packet_bytes, red.burst_packets, red.probability);
        self.rate("bandwidth", red.bandwidth);
        if let Some(child) = &red.child {
            self.child("child", child);
        }
    }

    pub(super) fn choke(&mut self, choke: &Choke) {
        let limit = choke.limit_packets.into();
        self.limit(limit);
        self.thresholds(choke.min_packets.into(), choke.max_packets.into(), limit);
        self.average(choke.average_packet_bytes, choke.burst_packets, choke.probability);
        self.rate("bandwidth", choke.bandwidth);
    }

    fn thresholds(&mut self, min: u64, max: u64, limit: u64) {
        self.hold(
            min > 0,
            "min",
            "it is more than nothing: the limit is too small for what follows from it",
        );
        let rule = format!("min {min} is not below max {max}: swap them, or raise max");
        self.hold(min < max, "min", &rule);
        let rule = format!(
            "max {max} is above the limit {limit}, so that it is never reached: raise the limit"
        );
        self.hold(max <= limit, "max", &rule);
    }

    fn average(&mut self, packet: u32, burst: u32, probability: Ratio) {
        self.hold(packet > 0, "avpkt", "a packet has one byte or more");
        self.hold(burst > 0, "burst", "one packet or more may come at once");
        self.probability("probability", probability);
        let never = "with a probability of zero nothing is ever dropped or marked early";
        self.hold(probability > Ratio::ZERO, "probability", never);
    }

    pub(super) fn probability(&mut self, key: &str, share: Ratio) {
        self.hold(share <= Ratio::ONE, key, "no probability is above 100 %");
    }

    pub(super) fn codel(&mut self, codel: &Codel) {
        self.limit(codel.limit_packets.into());
        self.time("interval", codel.interval);
    }

    pub(super) fn pie(&mut self, pie: &Pie) {
        self.limit(pie.limit_packets.into());
        self.controller(pie.alpha, pie.beta);
        self.time("target", pie.target);
        self.time("tupdate", pie.update);
    }

    pub(super) fn controller(&mut self, alpha: u32, beta: u32) {
        for (key, weight) in [("alpha", alpha), ("beta", beta)] {
            self.hold(weight <= LARGEST_WEIGHT, key, "it is 32 at most");
        }
    }

    pub(super) fn dualpi2(&mut self, dualpi2: &Dualpi2) {
        self.limit(dualpi2.limit_packets.into());
        self.time("target", dualpi2.target);
        self.time("tupdate", dualpi2.update);
        self.hold(
            dualpi2.coupling > 0,
            "coupling_factor",
            "without coupling the queues are no pair: 1 or more",
        );
        let whole = "the classic queue is sure of less than all of the service";
        self.hold(dualpi2.classic_protection < Ratio::ONE, "classic_protection", whole);
    }
}
