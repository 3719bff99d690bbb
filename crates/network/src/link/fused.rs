//! The fused link, a fast path: FIFO queue, transmitter and wire in one ring.
//!
//! In a FIFO queue a packet's departure is known when it arrives. So one ring holds both waiting packets and packets in
//! flight, only its head is in the event queue, and a hop costs one event. Queue events are reported when the link next
//! works.
//!
//! Cost per packet: one acceptance, one delivery, one event.

use super::counters::{Arrival, LinkContext, LinkCounters, LinkReporter};
use super::loss::BernoulliLoss;
use super::transmitter::Transmitter;
use crate::LinkId;
use crate::event_queue::Event;
use crate::pool::{PacketPool, PacketRef};
use crate::queue::{FifoLimit, packet_count};
use crate::topology::LinkSpec;
use crate::{Backlog, DropReason, Observer, Packet};
use fairwind_units::{Instant, Span};
use std::collections::VecDeque;

/// A packet between its acceptance and its delivery.
#[derive(Clone, Copy)]
struct InFlight {
    delivery: Event,
    enqueued: Instant,
    service_start: Instant,
    /// When its service ends and it is lost; [`Instant::MAX`] if it is not lost.
    lost: Instant,
    packet: PacketRef,
}

/// Transmitter, propagation delay and loss of a link.
pub(super) struct Channel {
    transmitter: Transmitter,
    delay: Span,
    loss: BernoulliLoss,
}

impl Channel {
    pub(super) fn new(spec: &LinkSpec, seed: u64, link: LinkId) -> Self {
        Self {
            transmitter: Transmitter::new(spec.rate, spec.overhead_bytes),
            delay: spec.delay,
            loss: BernoulliLoss::new(spec.loss, seed, link),
        }
    }
}

/// A link with a FIFO queue.
pub(crate) struct FusedLink {
    /// In order of acceptance, service and delivery.
    ring: VecDeque<InFlight>,
    /// Packets at the head of the ring that have left the queue.
    first_waiting: usize,
    waiting_bytes: u64,
    /// When the packet in service will be lost, or [`Instant::MAX`]; it is the one before the first waiting packet.
    loss_due: Instant,
    /// Nothing changes in the queue before this.
    next_change: Instant,
    limit: FifoLimit,
    channel: Channel,
    reporter: LinkReporter,
}

impl FusedLink {
    pub(super) fn new(channel: Channel, limit: FifoLimit, reporter: LinkReporter) -> Self {
        Self {
            ring: VecDeque::new(),
            first_waiting: 0,
            waiting_bytes: 0,
            loss_due: Instant::MAX,
            next_change: Instant::MAX,
            limit,
            channel,
            reporter,
        }
    }

    pub(super) fn counters(&self) -> &LinkCounters {
        &self.reporter.counters
    }

    /// Accepts a packet, or drops it if the queue is full.
    #[inline]
    pub(crate) fn accept<P: Packet, O: Observer<P>>(
        &mut self,
        arrival: &Arrival,
        context: &mut LinkContext<'_, P, O>,
    ) {
        let Arrival { at, packet, .. } = *arrival;
        self.settle(at, context.pool, context.observer);
        let backlog = self.backlog();
        if !self.limit.admits(backlog, packet.bytes()) {
            self.refuse(at, packet, context.pool, context.observer);
            return;
        }
        let event = context.pool.event(at, packet);
        let carried = self.carry(arrival);
        if self.ring.is_empty() {
            context.events.push(carried.delivery);
        }
        if carried.service_start <= at {
            debug_assert_eq!(backlog, Backlog::default(), "nothing waits before an idle link");
            self.reporter.through(&event, context.observer);
            self.serve_at_once(&carried);
        } else {
            self.reporter.enqueued(&event, backlog, context.observer);
            self.waiting_bytes += u64::from(packet.bytes());
            self.next_change = self.next_change.min(carried.service_start);
        }
        self.ring.push_back(carried);
    }

    #[inline(never)]
    fn refuse<P: Packet, O: Observer<P>>(
        &mut self,
        at: Instant,
        packet: PacketRef,
        pool: &mut PacketPool<P>,
        observer: &mut O,
    ) {
        let event = pool.event(at, packet);
        self.reporter.refused(&event, self.backlog(), DropReason::QueueFull, observer);
        drop(pool.remove(packet));
    }

    /// Delivers the head of the ring, the packet of the first event; `None` if the link lost it.
    #[inline]
    pub(crate) fn deliver<P: Packet, O: Observer<P>>(
        &mut self,
        at: Instant,
        context: &mut LinkContext<'_, P, O>,
    ) -> Option<PacketRef> {
        self.settle(at, context.pool, context.observer);
        self.first_waiting -= 1;
        let head = self.ring.pop_front().expect("a delivery on the events has its packet");
        let InFlight { packet, lost, .. } = head;
        match self.ring.front() {
            Some(next) => context.events.replace_first(next.delivery),
            None => context.events.remove_first(),
        }
        if lost != Instant::MAX {
            drop(context.pool.remove(packet));
            return None;
        }
        self.reporter.delivered(packet.bytes());
        Some(packet)
    }

    /// Reports queue events up to `at`.
    #[inline]
    pub(crate) fn settle<P: Packet, O: Observer<P>>(
        &mut self,
        at: Instant,
        pool: &PacketPool<P>,
        observer: &mut O,
    ) {
        if self.next_change <= at {
            self.catch_up(at, pool, observer);
        }
    }

    /// Alternates between the end of a lost packet's service and the start of the next service,
    /// which never comes before that end.
    fn catch_up<P: Packet, O: Observer<P>>(
        &mut self,
        at: Instant,
        pool: &PacketPool<P>,
        observer: &mut O,
    ) {
        loop {
            if self.loss_due != Instant::MAX {
                if self.loss_due > at {
                    self.next_change = self.loss_due;
                    return;
                }
                self.report_loss(pool, observer);
            }
            let Some(next) = self.ring.get(self.first_waiting) else {
                self.next_change = Instant::MAX;
                return;
            };
            if next.service_start > at {
                self.next_change = next.service_start;
                return;
            }
            let sojourn = next.service_start.saturating_since(next.enqueued);
            let event = pool.event(next.service_start, next.packet);
            self.reporter.dequeued(&event, sojourn, observer);
            self.waiting_bytes -= u64::from(next.packet.bytes());
            self.loss_due = next.lost;
            self.first_waiting += 1;
        }
    }

    #[cold]
    fn report_loss<P: Packet, O: Observer<P>>(&mut self, pool: &PacketPool<P>, observer: &mut O) {
        let lost = self.ring.get(self.first_waiting - 1);
        let lost = lost.expect("a loss that is due has its packet");
        let event = pool.event(self.loss_due, lost.packet);
        let backlog = self.backlog();
        self.reporter.dropped(&event, backlog, DropReason::LinkLoss, None, observer);
        self.loss_due = Instant::MAX;
    }

    /// Computes service and delivery of an accepted packet.
    #[expect(
        clippy::inline_always,
        reason = "with two observers there are two callers, each per packet"
    )]
    #[inline(always)]
    fn carry(&mut self, arrival: &Arrival) -> InFlight {
        let Arrival { at, insertion, packet } = *arrival;
        let service = self.channel.transmitter.transmit(at, packet.bytes());
        let delivered = service.end + self.channel.delay;
        InFlight {
            delivery: Event::delivery(delivered, insertion, self.reporter.link),
            enqueued: at,
            service_start: service.start,
            lost: if self.channel.loss.happens() { service.end } else { Instant::MAX },
            packet,
        }
    }

    /// Notes that the packet to be appended bypasses the idle queue.
    #[inline]
    fn serve_at_once(&mut self, carried: &InFlight) {
        self.first_waiting += 1;
        if carried.lost != Instant::MAX {
            self.loss_due = carried.lost;
            self.next_change = carried.lost;
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        let packets = packet_count(self.ring.len() - self.first_waiting);
        Backlog { packets, bytes: self.waiting_bytes }
    }
}
