//! The FIFO link with queue, transmitter and wire fused into one ring.
//!
//! First in, first out means that a packet's departure is known when it arrives. So one ring holds
//! what waits and what is under way, only its head is on the agenda, and a hop costs one event.
//! What the queue does in between is reported when the link is next looked at.
//!
//! Cost per packet: one acceptance, one delivery, one entry on the agenda.

use super::{Arrival, Carriage, Ledger, LinkCounters, Surroundings};
use crate::agenda::Due;
use crate::parcel::Parcel;
use crate::queue::{FifoLimit, QueueSpec, packet_count};
use crate::{Backlog, DropReason, Observer, Packet};
use fairwind_units::{Instant, Span};
use std::collections::VecDeque;

/// A packet between its acceptance and its delivery.
struct Carried {
    enqueued: Instant,
    service_start: Instant,
    service_end: Instant,
    insertion: u64,
    parcel: Parcel,
    is_lost: bool,
}

/// A link with a FIFO queue.
pub(crate) struct FusedLink {
    /// In order of acceptance, which is that of service and of delivery.
    ring: VecDeque<Carried>,
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

impl FusedLink {
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
    pub(crate) fn accept<P: Packet, O: Observer<P>>(
        &mut self,
        arrival: &Arrival,
        around: &mut Surroundings<'_, P, O>,
    ) {
        let Arrival { at, insertion, parcel } = *arrival;
        self.settle(at, around);
        let backlog = self.backlog();
        let sighting = around.depot.sighting(at, parcel);
        if !self.limit.admits(backlog, parcel.bytes) {
            self.ledger.refused(&sighting, backlog, DropReason::QueueFull, around.observer);
            drop(around.depot.take(parcel));
            return;
        }
        self.ledger.enqueued(&sighting, backlog, around.observer);
        let service = self.carriage.transmitter.transmit(at, parcel.bytes);
        let carried = Carried {
            enqueued: at,
            service_start: service.start,
            service_end: service.end,
            insertion,
            parcel,
            is_lost: self.carriage.loss.happens(),
        };
        if self.ring.is_empty() {
            around.agenda.push(self.delivery_of(&carried));
        }
        self.join(carried, around);
    }

    /// Hands over the head of the ring, whose delivery is the first on the agenda; none where the
    /// link had lost it.
    #[inline]
    pub(crate) fn deliver<P: Packet, O: Observer<P>>(
        &mut self,
        at: Instant,
        around: &mut Surroundings<'_, P, O>,
    ) -> Option<Parcel> {
        self.settle(at, around);
        let carried = self.ring.pop_front().expect("a delivery on the agenda has its packet");
        self.first_waiting -= 1;
        match self.ring.front() {
            Some(next) => around.agenda.replace_first(self.delivery_of(next)),
            None => around.agenda.remove_first(),
        }
        if carried.is_lost {
            drop(around.depot.take(carried.parcel));
            return None;
        }
        self.ledger.delivered(carried.parcel.bytes);
        Some(carried.parcel)
    }

    /// Reports what the queue did up to `at`.
    #[inline]
    pub(crate) fn settle<P: Packet, O: Observer<P>>(
        &mut self,
        at: Instant,
        around: &mut Surroundings<'_, P, O>,
    ) {
        if self.next_change <= at {
            self.catch_up(at, around);
        }
    }

    /// Alternates between the end of a lost packet's service and the start of the next service,
    /// which never comes before that end.
    fn catch_up<P: Packet, O: Observer<P>>(
        &mut self,
        at: Instant,
        around: &mut Surroundings<'_, P, O>,
    ) {
        loop {
            if let Some(due) = self.loss_due {
                if due > at {
                    self.next_change = due;
                    return;
                }
                self.report_loss(due, around);
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
            let sighting = around.depot.sighting(next.service_start, next.parcel);
            self.ledger.dequeued(&sighting, sojourn, around.observer);
            self.waiting_bytes -= u64::from(next.parcel.bytes);
            self.loss_due = next.is_lost.then_some(next.service_end);
            self.first_waiting += 1;
        }
    }

    #[cold]
    fn report_loss<P: Packet, O: Observer<P>>(
        &mut self,
        due: Instant,
        around: &mut Surroundings<'_, P, O>,
    ) {
        let backlog = self.backlog();
        let lost = around.depot.sighting(due, self.ring[self.first_waiting - 1].parcel);
        self.ledger.dropped(&lost, backlog, DropReason::LinkLoss, around.observer);
        self.loss_due = None;
    }

    /// Puts an accepted packet at the end of the ring, past the queue where the link is idle.
    #[inline]
    fn join<P: Packet, O: Observer<P>>(
        &mut self,
        carried: Carried,
        around: &mut Surroundings<'_, P, O>,
    ) {
        if carried.service_start <= carried.enqueued {
            let sighting = around.depot.sighting(carried.enqueued, carried.parcel);
            self.ledger.dequeued(&sighting, Span::ZERO, around.observer);
            self.first_waiting += 1;
            if carried.is_lost {
                self.loss_due = Some(carried.service_end);
                self.next_change = carried.service_end;
            }
        } else {
            self.waiting_bytes += u64::from(carried.parcel.bytes);
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
    fn delivery_of(&self, carried: &Carried) -> Due {
        let at = carried.service_end + self.carriage.delay;
        Due::delivery(at, carried.insertion, self.ledger.link)
    }
}
