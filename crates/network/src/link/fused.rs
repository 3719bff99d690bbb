//! The FIFO link with queue, transmitter and wire fused into one ring.
//!
//! First in, first out means that a packet's departure is known when it arrives. So one ring holds
//! what waits and what is under way, only its head is on the agenda, and a hop costs one event.
//! What the queue does in between is reported when the link is next looked at.
//!
//! Cost per packet: one acceptance, one delivery, one entry on the agenda.

use super::{Arrival, Carriage, Ledger, LinkCounters, Surroundings};
use crate::agenda::Due;
use crate::parcel::{Depot, Parcel};
use crate::queue::{FifoLimit, packet_count};
use crate::ring::Ring;
use crate::{Backlog, DropReason, Observer, Packet};
use fairwind_units::Instant;

/// A packet between its acceptance and its delivery.
#[derive(Clone, Copy)]
struct Carried {
    delivery: Due,
    enqueued: Instant,
    service_start: Instant,
    /// When its service ends, to no avail; [`Instant::MAX`] where the link does not lose it.
    lost: Instant,
    parcel: Parcel,
}

impl Carried {
    const NOTHING: Self = Self {
        delivery: Due::NEVER,
        enqueued: Instant::MAX,
        service_start: Instant::MAX,
        lost: Instant::MAX,
        parcel: Parcel::NONE,
    };
}

/// A link with a FIFO queue.
pub(crate) struct FusedLink {
    /// In order of acceptance, which is that of service and of delivery.
    ring: Ring<Carried>,
    /// Position in the ring of the first packet that still waits.
    first_waiting: usize,
    waiting_bytes: u64,
    /// When the packet in service will be found lost, or [`Instant::MAX`]; it is the one before the
    /// first waiting.
    loss_due: Instant,
    /// Nothing changes in the queue before this.
    next_change: Instant,
    limit: FifoLimit,
    carriage: Carriage,
    ledger: Ledger,
}

impl FusedLink {
    pub(super) fn new(carriage: Carriage, limit: FifoLimit, ledger: Ledger) -> Self {
        Self {
            ring: Ring::with_vacant(Carried::NOTHING),
            first_waiting: 0,
            waiting_bytes: 0,
            loss_due: Instant::MAX,
            next_change: Instant::MAX,
            limit,
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
        let Arrival { at, parcel, .. } = *arrival;
        self.settle(at, around.depot, around.observer);
        let backlog = self.backlog();
        if !self.limit.admits(backlog, parcel.bytes()) {
            self.refuse(at, parcel, around.depot, around.observer);
            return;
        }
        let sighting = around.depot.sighting(at, parcel);
        let carried = self.carry(arrival);
        if self.ring.is_empty() {
            around.agenda.push(carried.delivery);
        }
        if carried.service_start <= at {
            debug_assert_eq!(backlog, Backlog::default(), "nothing waits before an idle link");
            self.ledger.through(&sighting, around.observer);
            self.serve_at_once(&carried);
        } else {
            self.ledger.enqueued(&sighting, backlog, around.observer);
            self.waiting_bytes += u64::from(parcel.bytes());
            self.next_change = self.next_change.min(carried.service_start);
        }
        self.ring.push_back(carried);
    }

    #[inline(never)]
    fn refuse<P: Packet, O: Observer<P>>(
        &mut self,
        at: Instant,
        parcel: Parcel,
        depot: &mut Depot<P>,
        observer: &mut O,
    ) {
        let sighting = depot.sighting(at, parcel);
        self.ledger.refused(&sighting, self.backlog(), DropReason::QueueFull, observer);
        drop(depot.take(parcel));
    }

    /// Hands over the head of the ring, whose delivery is the first on the agenda; none where the
    /// link had lost it.
    #[inline]
    pub(crate) fn deliver<P: Packet, O: Observer<P>>(
        &mut self,
        at: Instant,
        around: &mut Surroundings<'_, P, O>,
    ) -> Option<Parcel> {
        self.settle(at, around.depot, around.observer);
        let head = self.ring.pop_front().expect("a delivery on the agenda has its packet");
        let Carried { parcel, lost, .. } = *head;
        match self.ring.front() {
            Some(next) => around.agenda.replace_first(next.delivery),
            None => around.agenda.remove_first(),
        }
        if lost != Instant::MAX {
            drop(around.depot.take(parcel));
            return None;
        }
        self.ledger.delivered(parcel.bytes());
        Some(parcel)
    }

    /// Reports what the queue did up to `at`.
    #[inline]
    pub(crate) fn settle<P: Packet, O: Observer<P>>(
        &mut self,
        at: Instant,
        depot: &Depot<P>,
        observer: &mut O,
    ) {
        if self.next_change <= at {
            self.catch_up(at, depot, observer);
        }
    }

    /// Alternates between the end of a lost packet's service and the start of the next service,
    /// which never comes before that end.
    fn catch_up<P: Packet, O: Observer<P>>(
        &mut self,
        at: Instant,
        depot: &Depot<P>,
        observer: &mut O,
    ) {
        loop {
            if self.loss_due != Instant::MAX {
                if self.loss_due > at {
                    self.next_change = self.loss_due;
                    return;
                }
                self.report_loss(depot, observer);
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
            let sighting = depot.sighting(next.service_start, next.parcel);
            self.ledger.dequeued(&sighting, sojourn, observer);
            self.waiting_bytes -= u64::from(next.parcel.bytes());
            self.loss_due = next.lost;
            self.first_waiting += 1;
        }
    }

    #[cold]
    fn report_loss<P: Packet, O: Observer<P>>(&mut self, depot: &Depot<P>, observer: &mut O) {
        let lost = self.ring.get(self.first_waiting - 1);
        let lost = lost.expect("a loss that is due has its packet");
        let sighting = depot.sighting(self.loss_due, lost.parcel);
        let backlog = self.backlog();
        self.ledger.dropped(&sighting, backlog, DropReason::LinkLoss, None, observer);
        self.loss_due = Instant::MAX;
    }

    /// Decides all that will happen to an accepted packet.
    #[expect(
        clippy::inline_always,
        reason = "with two observers there are two callers, each per packet"
    )]
    #[inline(always)]
    fn carry(&mut self, arrival: &Arrival) -> Carried {
        let Arrival { at, insertion, parcel } = *arrival;
        let service = self.carriage.transmitter.transmit(at, parcel.bytes());
        let delivered = service.end + self.carriage.delay;
        Carried {
            delivery: Due::delivery(delivered, insertion, self.ledger.link),
            enqueued: at,
            service_start: service.start,
            lost: if self.carriage.loss.happens() { service.end } else { Instant::MAX },
            parcel,
        }
    }

    /// The packet that comes to the end of the ring passes the queue, as the link is idle.
    #[inline]
    fn serve_at_once(&mut self, carried: &Carried) {
        self.first_waiting += 1;
        if carried.lost != Instant::MAX {
            self.loss_due = carried.lost;
            self.next_change = carried.lost;
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        let packets = packet_count(self.ring.end() - self.first_waiting);
        Backlog { packets, bytes: self.waiting_bytes }
    }
}
