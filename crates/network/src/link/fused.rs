//! The FIFO link with queue, transmitter and wire fused into one ring.
//!
//! First in, first out means that a packet's departure is known when it arrives. So one ring holds
//! what waits and what is under way, only its head is on the agenda, and a hop costs one event.
//! What the queue does in between is reported when the link is next looked at.
//!
//! Cost per packet: one acceptance, one delivery, one entry on the agenda.

use super::{Arrival, Carriage, Ledger, LinkCounters};
use crate::agenda::{Agenda, Due};
use crate::queue::{FifoLimit, QueueSpec, packet_count};
use crate::{Backlog, DropReason, Observer, Packet};
use fairwind_units::Instant;
use std::collections::VecDeque;

/// A packet between its acceptance and its delivery.
struct Carried<P> {
    enqueued: Instant,
    service_start: Instant,
    service_end: Instant,
    insertion: u64,
    is_lost: bool,
    packet: P,
}

/// A link with a FIFO queue.
pub(crate) struct FusedLink<P> {
    /// In order of acceptance, which is that of service and of delivery.
    ring: VecDeque<Carried<P>>,
    /// Position in the ring of the first packet that still waits.
    first_waiting: usize,
    waiting_bytes: u64,
    /// When the packet in service will be found lost; it is the one before the first waiting.
    loss_due: Option<Instant>,
    /// Nothing changes in the queue before this.
    next_change: Instant,
    limit: FifoLimit,
    carriage: Carriage,
    ledger: Ledger,
}

impl<P: Packet> FusedLink<P> {
    pub(super) fn new(carriage: Carriage, queue: QueueSpec, ledger: Ledger) -> Self {
        Self {
            ring: VecDeque::new(),
            first_waiting: 0,
            waiting_bytes: 0,
            loss_due: None,
            next_change: Instant::MAX,
            limit: queue.into(),
            carriage,
            ledger,
        }
    }

    pub(super) fn counters(&self) -> &LinkCounters {
        &self.ledger.counters
    }

    /// Takes a packet, or drops it where the queue is full.
    #[inline]
    pub(crate) fn accept<O: Observer<P>>(
        &mut self,
        arrival: Arrival<P>,
        agenda: &mut Agenda,
        observer: &mut O,
    ) {
        let Arrival { at, insertion, packet } = arrival;
        self.settle(at, observer);
        let backlog = self.backlog();
        if !self.limit.admits(backlog, packet.wire_bytes()) {
            self.ledger.refused(at, &packet, backlog, DropReason::QueueFull, observer);
            return;
        }
        self.ledger.enqueued(at, &packet, backlog, observer);
        let service = self.carriage.transmitter.transmit(at, packet.wire_bytes());
        let carried = Carried {
            enqueued: at,
            service_start: service.start,
            service_end: service.end,
            insertion,
            is_lost: self.carriage.loss.happens(),
            packet,
        };
        if self.ring.is_empty() {
            agenda.push(self.delivery_of(&carried));
        }
        self.join(carried, observer);
    }

    /// Hands over the head of the ring, whose delivery is the first on the agenda; none where the
    /// link had lost it.
    #[inline]
    pub(crate) fn deliver<O: Observer<P>>(
        &mut self,
        at: Instant,
        agenda: &mut Agenda,
        observer: &mut O,
    ) -> Option<P> {
        self.settle(at, observer);
        let carried = self.ring.pop_front().expect("a delivery on the agenda has its packet");
        self.first_waiting -= 1;
        match self.ring.front() {
            Some(next) => agenda.replace_first(self.delivery_of(next)),
            None => agenda.remove_first(),
        }
        if carried.is_lost {
            return None;
        }
        self.ledger.delivered(&carried.packet);
        Some(carried.packet)
    }

    /// Reports what the queue did up to `at`.
    #[inline]
    pub(crate) fn settle<O: Observer<P>>(&mut self, at: Instant, observer: &mut O) {
        if self.next_change <= at {
            self.catch_up(at, observer);
        }
    }

    /// Alternates between the end of a lost packet's service and the start of the next service,
    /// which never comes before that end.
    fn catch_up<O: Observer<P>>(&mut self, at: Instant, observer: &mut O) {
        loop {
            if let Some(due) = self.loss_due {
                if due > at {
                    self.next_change = due;
                    return;
                }
                self.report_loss(due, observer);
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
            self.ledger.dequeued(next.service_start, &next.packet, sojourn, observer);
            self.waiting_bytes -= u64::from(next.packet.wire_bytes());
            self.loss_due = next.is_lost.then_some(next.service_end);
            self.first_waiting += 1;
        }
    }

    #[cold]
    fn report_loss<O: Observer<P>>(&mut self, due: Instant, observer: &mut O) {
        let backlog = self.backlog();
        let lost = &self.ring[self.first_waiting - 1].packet;
        self.ledger.dropped(due, lost, backlog, DropReason::LinkLoss, observer);
        self.loss_due = None;
    }

    /// Puts an accepted packet at the end of the ring, past the queue where the link is idle.
    #[inline]
    fn join<O: Observer<P>>(&mut self, carried: Carried<P>, observer: &mut O) {
        if carried.service_start <= carried.enqueued {
            let sojourn = fairwind_units::Span::ZERO;
            self.ledger.dequeued(carried.enqueued, &carried.packet, sojourn, observer);
            self.first_waiting += 1;
            if carried.is_lost {
                self.loss_due = Some(carried.service_end);
                self.next_change = carried.service_end;
            }
        } else {
            self.waiting_bytes += u64::from(carried.packet.wire_bytes());
            self.next_change = self.next_change.min(carried.service_start);
        }
        self.ring.push_back(carried);
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        let packets = packet_count(self.ring.len() - self.first_waiting);
        Backlog { packets, bytes: self.waiting_bytes }
    }

    #[inline]
    fn delivery_of(&self, carried: &Carried<P>) -> Due {
        let at = carried.service_end + self.carriage.delay;
        Due::delivery(at, carried.insertion, self.ledger.link)
    }
}
