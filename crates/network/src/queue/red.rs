//! Random early detection: the fuller the queue is on average, the more arrivals are dropped or marked.
//!
//! Source: Floyd and Jacobson, 1993; parameters as tc-red(8). Distances between notices are made uniform as the paper
//! does in its section 7; the kernel draws the next distance beforehand, which has the same law.

use super::average::{Advice, Average, AverageSettings, packet_time};
use super::{DequeueResult, FlowGroups, QueueActions, QueueDiscipline, QueuedPacket, discipline};
use crate::random::mixed;
use crate::{Backlog, DropReason};
use fairwind_qdisc::Qdisc;
use fairwind_units::Instant;

/// RED before a queue.
pub(super) struct Red {
    average: Average,
    ecn: bool,
    hard_drop: bool,
    child: Box<dyn QueueDiscipline>,
}

#[expect(clippy::cast_precision_loss, reason = "bytes below 2^53")]
fn number(bytes: u64) -> f64 {
    bytes as f64
}

impl Red {
    pub(super) fn new(red: &fairwind_qdisc::Red, seed: u64, groups: &FlowGroups) -> Self {
        let queue = Qdisc::Bfifo { limit_bytes: red.limit_bytes };
        let settings = AverageSettings {
            least: number(red.min_bytes),
            greatest: number(red.max_bytes),
            probability: red.probability,
            packet: f64::from(red.average_packet_bytes),
            burst_packets: red.burst_packets,
            packet_time: packet_time(red.bandwidth, red.average_packet_bytes),
            is_gentle: red.gentle,
            is_adaptive: red.adaptive,
        };
        Self {
            average: Average::new(settings, seed),
            ecn: red.ecn,
            hard_drop: red.hard_drop,
            child: discipline(red.child.as_deref().unwrap_or(&queue), mixed(seed, 1), groups),
        }
    }
}

impl Red {
    fn admit(
        &mut self,
        now: Instant,
        mut arrival: QueuedPacket,
        effects: &mut QueueActions,
    ) -> Result<(), DropReason> {
        let may_mark = match self.average.advise() {
            Advice::Accept => return self.child.enqueue(now, arrival, effects),
            Advice::Notify => self.ecn,
            Advice::Refuse => self.ecn && !self.hard_drop,
        };
        if !may_mark || !arrival.header.is_ecn_capable() {
            return Err(DropReason::Early);
        }
        arrival.header.mark();
        self.child.enqueue(now, arrival, effects)?;
        effects.note_mark(arrival);
        Ok(())
    }

    fn look_for_rest(&mut self, now: Instant) {
        if self.child.backlog().packets == 0 {
            self.average.rest(now);
        }
    }
}

impl QueueDiscipline for Red {
    fn enqueue(
        &mut self,
        now: Instant,
        arrival: QueuedPacket,
        effects: &mut QueueActions,
    ) -> Result<(), DropReason> {
        self.average.observe(now, number(self.child.backlog().bytes));
        let admitted = self.admit(now, arrival, effects);
        self.look_for_rest(now);
        admitted
    }

    fn dequeue(&mut self, now: Instant, effects: &mut QueueActions) -> DequeueResult {
        let next = self.child.dequeue(now, effects);
        self.look_for_rest(now);
        next
    }

    fn head(&self) -> Option<QueuedPacket> {
        self.child.head()
    }

    fn backlog(&self) -> Backlog {
        self.child.backlog()
    }
}
