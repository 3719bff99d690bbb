//! CoDel: packets that wait above the target for an interval are dropped at dequeue (RFC 8289 §5).
//!
//! As in Linux, a packet that can be marked is marked instead of dropped, and leaves; `ce_threshold` is Linux's. Cost per
//! packet: a comparison or two; a square root per drop.

use super::discipline::{DequeueResult, PacketFifo, QueueActions, QueueDiscipline, QueuedPacket};
use crate::{Backlog, DropReason};
use fairwind_units::{Instant, Span};

/// With at most these bytes there is no standing queue: the largest packet (RFC 8289 §4.2).
const LARGEST_PACKET: u64 = 1514;
/// A dropping state entered within this number of intervals resumes the last drop rate (RFC 8289 §5.5).
const RECENT_INTERVALS: u64 = 16;

/// Settings of the controller.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CodelSettings {
    pub(crate) target: Span,
    pub(crate) interval: Span,
    pub(crate) ecn: bool,
    pub(crate) ce_threshold: Option<Span>,
}

impl From<&fairwind_qdisc::Codel> for CodelSettings {
    fn from(codel: &fairwind_qdisc::Codel) -> Self {
        let fairwind_qdisc::Codel { target, interval, ecn, ce_threshold, .. } = *codel;
        Self { target, interval, ecn, ce_threshold }
    }
}

/// A FIFO queue that a controller dequeues from.
pub(crate) trait PacketSource {
    /// Removes the oldest packet.
    fn pop(&mut self) -> Option<QueuedPacket>;

    /// Bytes in the queue.
    fn bytes(&self) -> u64;
}

/// CoDel's state for one queue: that of a link, or that of one flow.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CodelController {
    /// When the sojourn time will have been above the target for an interval; `None` while it is below.
    first_above: Option<Instant>,
    /// When the next packet is, or was, to be dropped.
    drop_next: Instant,
    /// Drops in the current dropping state.
    count: u32,
    /// The count with which it was entered.
    last_count: u32,
    is_dropping: bool,
}

/// A dequeued packet, whether it may be dropped, and whether it was marked instead.
#[derive(Clone, Copy)]
struct Candidate {
    waiting: Option<QueuedPacket>,
    may_drop: bool,
    is_marked: bool,
}

impl CodelController {
    /// The next packet to send; drops before it go to `actions`.
    pub(crate) fn dequeue(
        &mut self,
        now: Instant,
        settings: &CodelSettings,
        source: &mut impl PacketSource,
        actions: &mut QueueActions,
    ) -> Option<QueuedPacket> {
        let mut next = self.take(now, settings, source);
        if self.is_dropping {
            next = self.go_on(now, settings, source, actions, next);
        } else if next.may_drop {
            next = self.begin(now, settings, source, actions, next);
        }
        let mut waiting = next.waiting?;
        let is_late = |threshold| waiting.sojourn(now) > threshold;
        if !next.is_marked && settings.ce_threshold.is_some_and(is_late) {
            actions.mark(&mut waiting);
        }
        Some(waiting)
    }

    /// Counts a packet dropped because the queue was full (Linux `fq_codel_drop`).
    pub(crate) fn count_drop(&mut self) {
        self.count = self.count.saturating_add(1);
    }

    /// `dodequeue` of RFC 8289 §5.6: takes a packet, which may be dropped if the sojourn time was above the target for
    /// an interval.
    fn take(
        &mut self,
        now: Instant,
        settings: &CodelSettings,
        source: &mut impl PacketSource,
    ) -> Candidate {
        let Some(waiting) = source.pop() else {
            self.first_above = None;
            return Candidate { waiting: None, may_drop: false, is_marked: false };
        };
        let is_above = waiting.sojourn(now) >= settings.target && source.bytes() > LARGEST_PACKET;
        let may_drop = is_above && self.first_above.is_some_and(|instant| now >= instant);
        if !is_above {
            self.first_above = None;
        } else if self.first_above.is_none() {
            self.first_above = Some(now + settings.interval);
        }
        Candidate { waiting: Some(waiting), may_drop, is_marked: false }
    }

    /// In the dropping state: drops the packets that are due.
    fn go_on(
        &mut self,
        now: Instant,
        settings: &CodelSettings,
        source: &mut impl PacketSource,
        actions: &mut QueueActions,
        mut next: Candidate,
    ) -> Candidate {
        self.is_dropping = next.may_drop;
        while self.is_dropping && now >= self.drop_next {
            self.count = self.count.saturating_add(1);
            if next.mark(settings, actions) {
                self.drop_next += control_law(settings.interval, self.count);
                return next;
            }
            next = self.replace(now, settings, source, actions, next);
            self.is_dropping = next.may_drop;
            if self.is_dropping {
                self.drop_next += control_law(settings.interval, self.count);
            }
        }
        next
    }

    /// Enters the dropping state, at about the last drop rate if that was recent.
    fn begin(
        &mut self,
        now: Instant,
        settings: &CodelSettings,
        source: &mut impl PacketSource,
        actions: &mut QueueActions,
        mut next: Candidate,
    ) -> Candidate {
        if !next.mark(settings, actions) {
            next = self.replace(now, settings, source, actions, next);
        }
        let grown = self.count - self.last_count;
        let is_recent = now.saturating_since(self.drop_next) < settings.interval * RECENT_INTERVALS;
        self.count = if grown > 1 && is_recent { grown } else { 1 };
        self.last_count = self.count;
        self.drop_next = now + control_law(settings.interval, self.count);
        self.is_dropping = true;
        next
    }

    /// Drops the packet and takes the next one.
    fn replace(
        &mut self,
        now: Instant,
        settings: &CodelSettings,
        source: &mut impl PacketSource,
        actions: &mut QueueActions,
        victim: Candidate,
    ) -> Candidate {
        if let Some(waiting) = victim.waiting {
            actions.drop(waiting, DropReason::Early);
        }
        self.take(now, settings, source)
    }
}

impl Candidate {
    /// Marks the packet if enabled and possible; returns whether it did.
    fn mark(&mut self, settings: &CodelSettings, actions: &mut QueueActions) -> bool {
        self.is_marked =
            settings.ecn && self.waiting.as_mut().is_some_and(|waiting| actions.mark(waiting));
        self.is_marked
    }
}

/// Time to the next drop: `interval / sqrt(count)` (RFC 8289 §5.4), rounded down to a nanosecond.
pub(crate) fn control_law(interval: Span, count: u32) -> Span {
    let nanos = u128::from(interval.as_nanos());
    let squared = nanos * nanos / u128::from(count.max(1));
    Span::from_nanos(u64::try_from(squared.isqrt()).unwrap_or(u64::MAX))
}

impl PacketSource for PacketFifo {
    fn pop(&mut self) -> Option<QueuedPacket> {
        self.pop()
    }

    fn bytes(&self) -> u64 {
        self.bytes()
    }
}

/// A FIFO queue with the controller.
#[derive(Debug)]
pub(super) struct Codel {
    limit_packets: u32,
    settings: CodelSettings,
    controller: CodelController,
    line: PacketFifo,
}

impl Codel {
    pub(super) fn new(codel: &fairwind_qdisc::Codel) -> Self {
        Self {
            limit_packets: codel.limit_packets,
            settings: codel.into(),
            controller: CodelController::default(),
            line: PacketFifo::default(),
        }
    }
}

impl QueueDiscipline for Codel {
    fn enqueue(
        &mut self,
        _: Instant,
        arrival: QueuedPacket,
        _: &mut QueueActions,
    ) -> Result<(), DropReason> {
        if self.line.backlog().packets >= self.limit_packets {
            return Err(DropReason::QueueFull);
        }
        self.line.push(arrival);
        Ok(())
    }

    fn dequeue(&mut self, now: Instant, actions: &mut QueueActions) -> DequeueResult {
        let next = self.controller.dequeue(now, &self.settings, &mut self.line, actions);
        next.map_or(DequeueResult::Empty, DequeueResult::Packet)
    }

    fn backlog(&self) -> Backlog {
        self.line.backlog()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codel_interval_shrinks_by_root_of_count() {
        let interval = Span::from_millis(100);
        let after = |count| control_law(interval, count).as_nanos();
        assert_eq!([after(1), after(4), after(100)], [100_000_000, 50_000_000, 10_000_000]);
        assert_eq!([after(2), after(3)], [70_710_678, 57_735_026]);
    }
}
