//! The link that serves any queue discipline, with separate events for departure and delivery.
//!
//! Cost per packet: two entries on the agenda where it waits, one where the link was idle, and the
//! calls of the discipline through a table of functions.

use super::{Arrival, Carriage, Ledger, LinkCounters, Surroundings};
use crate::agenda::Due;
use crate::parcel::{Parcel, Sighting};
use crate::queue::{Dropped, QueueDiscipline, Waiting};
use crate::ring::Ring;
use crate::{DropReason, Observer, Packet};
use fairwind_units::Instant;

/// A packet that has left the queue.
#[derive(Clone, Copy)]
struct UnderWay {
    delivery: Due,
    parcel: Parcel,
    is_lost: bool,
}

impl UnderWay {
    const NOTHING: Self = Self { delivery: Due::NEVER, parcel: Parcel::NONE, is_lost: false };
}

/// A link with any queue discipline.
pub(crate) struct GeneralLink<P> {
    queue: Box<dyn QueueDiscipline<P>>,
    /// In order of service, which is that of delivery.
    under_way: Ring<UnderWay>,
    /// When the last packet under way will be found lost.
    loss_due: Option<Instant>,
    has_departure_on_agenda: bool,
    /// Kept for its memory.
    dropped: Dropped<P>,
    carriage: Carriage,
    ledger: Ledger,
}

impl<P: Packet> GeneralLink<P> {
    pub(super) fn new(
        carriage: Carriage,
        queue: Box<dyn QueueDiscipline<P>>,
        ledger: Ledger,
    ) -> Self {
        Self {
            queue,
            under_way: Ring::with_vacant(UnderWay::NOTHING),
            loss_due: None,
            has_departure_on_agenda: false,
            dropped: Dropped::new(),
            carriage,
            ledger,
        }
    }

    pub(super) fn counters(&self) -> &LinkCounters {
        &self.ledger.counters
    }

    /// Takes a packet, or drops it where the discipline refuses it.
    pub(crate) fn accept<O: Observer<P>>(
        &mut self,
        arrival: &Arrival,
        around: &mut Surroundings<'_, P, O>,
    ) {
        let Arrival { at, insertion, parcel } = *arrival;
        self.settle(at, around);
        let backlog = self.queue.backlog();
        let packet = around.depot.take(parcel);
        let sighting = Sighting::of(at, &packet);
        if let Err(reason) = self.queue.admit(at, &packet) {
            self.ledger.refused(&sighting, backlog, reason, around.observer);
            return;
        }
        self.ledger.enqueued(&sighting, backlog, around.observer);
        let waiting = Waiting { packet, enqueued: at, insertion };
        self.queue.enqueue(at, waiting, &mut self.dropped);
        self.report_dropped(at, around.observer);
        self.settle(at, around);
    }

    /// Starts every service that is due, when the agenda's first entry is this link's departure.
    pub(crate) fn depart<O: Observer<P>>(
        &mut self,
        at: Instant,
        around: &mut Surroundings<'_, P, O>,
    ) {
        around.agenda.remove_first();
        self.has_departure_on_agenda = false;
        self.settle(at, around);
    }

    /// Hands over the first packet under way, whose delivery is the first on the agenda; none where
    /// the link had lost it.
    pub(crate) fn deliver<O: Observer<P>>(
        &mut self,
        at: Instant,
        around: &mut Surroundings<'_, P, O>,
    ) -> Option<Parcel> {
        self.report_loss_until(at, around);
        let arrived = self.under_way.pop_front().expect("a delivery on the agenda has its packet");
        let arrived = *arrived;
        match self.under_way.front() {
            Some(next) => around.agenda.replace_first(next.delivery),
            None => around.agenda.remove_first(),
        }
        if arrived.is_lost {
            drop(around.depot.take(arrived.parcel));
            return None;
        }
        self.ledger.delivered(arrived.parcel.bytes);
        Some(arrived.parcel)
    }

    /// Starts every service due at `at`, reports losses up to then, and keeps the next departure on
    /// the agenda, which is why none is ever overdue.
    pub(crate) fn settle<O: Observer<P>>(
        &mut self,
        at: Instant,
        around: &mut Surroundings<'_, P, O>,
    ) {
        loop {
            self.report_loss_until(at, around);
            if self.carriage.transmitter.busy_until() > at || self.queue.backlog().packets == 0 {
                break;
            }
            let next = self.queue.dequeue(at, &mut self.dropped);
            self.report_dropped(at, around.observer);
            let Some(waiting) = next else { break };
            self.serve(at, waiting, around);
        }
        if self.queue.backlog().packets > 0 && !self.has_departure_on_agenda {
            let at = self.carriage.transmitter.busy_until();
            around.agenda.push(Due::departure(at, self.ledger.link));
            self.has_departure_on_agenda = true;
        }
    }

    fn serve<O: Observer<P>>(
        &mut self,
        start: Instant,
        waiting: Waiting<P>,
        around: &mut Surroundings<'_, P, O>,
    ) {
        let sighting = Sighting::of(start, &waiting.packet);
        self.ledger.dequeued(&sighting, waiting.sojourn(start), around.observer);
        let service = self.carriage.transmitter.transmit(start, sighting.bytes);
        let is_lost = self.carriage.loss.happens();
        let packet = UnderWay {
            delivery: Due::delivery(
                service.end + self.carriage.delay,
                waiting.insertion,
                self.ledger.link,
            ),
            parcel: around.depot.put(waiting.packet),
            is_lost,
        };
        if self.under_way.is_empty() {
            around.agenda.push(packet.delivery);
        }
        self.loss_due = is_lost.then_some(service.end);
        self.under_way.push_back(packet);
    }

    fn report_loss_until<O: Observer<P>>(
        &mut self,
        at: Instant,
        around: &mut Surroundings<'_, P, O>,
    ) {
        if let Some(due) = self.loss_due.filter(|due| *due <= at) {
            let lost = self.under_way.back().expect("a loss that is due has its packet");
            let sighting = around.depot.sighting(due, lost.parcel);
            let backlog = self.queue.backlog();
            self.ledger.dropped(&sighting, backlog, DropReason::LinkLoss, around.observer);
            self.loss_due = None;
        }
    }

    fn report_dropped<O: Observer<P>>(&mut self, at: Instant, observer: &mut O) {
        for (waiting, backlog, reason) in self.dropped.packets.drain(..) {
            self.ledger.dropped(&Sighting::of(at, &waiting.packet), backlog, reason, observer);
        }
    }
}
