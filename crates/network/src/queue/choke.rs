//! CHOKe: an arrival that finds a packet of its own flow at a random place of the queue takes it with it.
//!
//! Source: Pan, Prabhakar and Psounis, "CHOKe: a stateless active queue management scheme", 2000; parameters as
//! tc-choke(8). What survives the comparison is treated as by RED.

use super::average::{Advice, Average, AverageSettings, packet_time};
use super::line::Line;
use super::{DequeueResult, QueueActions, QueueDiscipline, QueuedPacket};
use crate::random::mixed;
use crate::{Backlog, DropReason, Header};
use fairwind_units::Instant;
use rand::RngExt as _;
use rand_pcg::Pcg32;

/// RED with a comparison before it.
pub(super) struct Choke {
    limit_packets: u32,
    least_packets: f64,
    average: Average,
    ecn: bool,
    line: Line,
    generator: Pcg32,
}

impl Choke {
    pub(super) fn new(choke: &fairwind_qdisc::Choke, seed: u64) -> Self {
        let settings = AverageSettings {
            least: f64::from(choke.min_packets),
            greatest: f64::from(choke.max_packets),
            probability: choke.probability,
            packet: 1.0,
            burst_packets: choke.burst_packets,
            packet_time: packet_time(choke.bandwidth, choke.average_packet_bytes),
            is_gentle: false,
            is_adaptive: false,
        };
        Self {
            limit_packets: choke.limit_packets,
            least_packets: settings.least,
            average: Average::new(settings, mixed(seed, 1)),
            ecn: choke.ecn,
            line: Line::default(),
            generator: Pcg32::new(mixed(seed, 0), 0),
        }
    }

    /// Drops a packet of the flow of `header` where a random look finds one.
    fn strike(&mut self, header: &Header, effects: &mut QueueActions) -> bool {
        if self.average.value() <= self.least_packets || self.line.is_empty() {
            return false;
        }
        let place = self.generator.random_range(0..self.line.len());
        if !self.line.get(place).is_some_and(|met| met.header.is_flow_of(header)) {
            return false;
        }
        if let Some(victim) = self.line.remove(place) {
            effects.drop(victim, DropReason::Early);
        }
        true
    }

    fn admit(
        &mut self,
        mut arrival: QueuedPacket,
        effects: &mut QueueActions,
    ) -> Result<(), DropReason> {
        if self.strike(&arrival.header, effects) {
            return Err(DropReason::Early);
        }
        let is_chosen = self.average.advise() != Advice::Accept;
        if is_chosen && !(self.ecn && arrival.header.is_ecn_capable()) {
            return Err(DropReason::Early);
        }
        if self.backlog().packets >= self.limit_packets {
            return Err(DropReason::QueueFull);
        }
        if is_chosen {
            effects.mark(&mut arrival);
        }
        self.line.push(arrival);
        Ok(())
    }

    fn look_for_rest(&mut self, now: Instant) {
        if self.line.is_empty() {
            self.average.rest(now);
        }
    }
}

impl QueueDiscipline for Choke {
    fn enqueue(
        &mut self,
        now: Instant,
        arrival: QueuedPacket,
        effects: &mut QueueActions,
    ) -> Result<(), DropReason> {
        self.average.observe(now, f64::from(self.backlog().packets));
        let admitted = self.admit(arrival, effects);
        self.look_for_rest(now);
        admitted
    }

    fn dequeue(&mut self, now: Instant, _: &mut QueueActions) -> DequeueResult {
        let Some(first) = self.line.pop() else { return DequeueResult::Empty };
        self.look_for_rest(now);
        DequeueResult::Packet(first)
    }

    fn head(&self) -> Option<QueuedPacket> {
        self.line.oldest().copied()
    }

    fn backlog(&self) -> Backlog {
        self.line.backlog()
    }
}
