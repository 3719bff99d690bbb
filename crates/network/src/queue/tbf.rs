//! Token bucket filter: packets leave at a rate, and as many at once as the bucket holds.
//!
//! Source: tc-tbf(8). The next packet is held ready outside of the child while its tokens are missing, as in the kernel.

use super::bucket::Bucket;
use super::held::PeekableChild;
use super::{DequeueResult, FlowGroups, QueueActions, QueueDiscipline, QueuedPacket, discipline};
use crate::{Backlog, DropReason};
use fairwind_qdisc::Qdisc;
use fairwind_units::Instant;

/// Bytes of the bucket for the peak rate where none are given: a full packet of Ethernet.
const PEAK_BYTES: u64 = 1500;

/// A shaper.
pub(super) struct Tbf {
    buckets: Vec<Bucket>,
    child: PeekableChild,
}

impl Tbf {
    pub(super) fn new(tbf: &fairwind_qdisc::Tbf, seed: u64, groups: &FlowGroups) -> Self {
        let peak = tbf
            .peak_rate
            .map(|rate| Bucket::new(rate, tbf.mtu_bytes.unwrap_or(PEAK_BYTES), tbf.granularity));
        let queue = Qdisc::Bfifo { limit_bytes: tbf.limit_bytes };
        let child = tbf.child.as_deref().unwrap_or(&queue);
        let rate = Bucket::new(tbf.rate, tbf.burst_bytes, tbf.granularity);
        Self {
            buckets: std::iter::once(rate).chain(peak).collect(),
            child: PeekableChild::new(discipline(child, seed, groups)),
        }
    }
}

impl QueueDiscipline for Tbf {
    fn enqueue(
        &mut self,
        now: Instant,
        arrival: QueuedPacket,
        effects: &mut QueueActions,
    ) -> Result<(), DropReason> {
        if !self.buckets.iter().all(|bucket| bucket.can_hold(arrival.bytes())) {
            return Err(DropReason::QueueFull);
        }
        self.child.enqueue(now, arrival, effects)
    }

    fn dequeue(&mut self, now: Instant, effects: &mut QueueActions) -> DequeueResult {
        let waiting = match self.child.peek(now, effects) {
            DequeueResult::Packet(waiting) => waiting,
            other => return other,
        };
        let bytes = waiting.bytes();
        let mut ready = now;
        for bucket in &mut self.buckets {
            bucket.fill(now);
            if !bucket.has(bytes) {
                ready = ready.max(bucket.ready_at(bytes));
            }
        }
        if ready > now {
            return DequeueResult::NotBefore(ready);
        }
        self.buckets.iter_mut().for_each(|bucket| bucket.take(bytes));
        self.child.take(now, effects);
        DequeueResult::Packet(waiting)
    }

    fn backlog(&self) -> Backlog {
        self.child.backlog()
    }
}
