//! The link that serves any queue discipline, with separate events for departure and delivery.
//!
//! Cost per packet: two entries on the agenda where it waits, one where the link was idle, and the
//! calls of the discipline through a table of functions.

use super::{Arrival, Carriage, Ledger, LinkCounters};
use crate::agenda::{Agenda, Due};
use crate::queue::{Dropped, QueueDiscipline, Waiting};
use crate::{DropReason, Observer, Packet};
use fairwind_units::Instant;
use std::collections::VecDeque;

/// A packet that has left the queue.
struct UnderWay<P> {
    delivery: Instant,
    insertion: u64,
    is_lost: bool,
    packet: P,
}

/// A link with any queue discipline.
pub(crate) struct GeneralLink<P> {
    queue: Box<dyn QueueDiscipline<P>>,
    /// In order of service, which is that of delivery.
    under_way: VecDeque<UnderWay<P>>,
    /// When the last packet under way will be found lost.
    loss_due: Option<Instant>,
    /// The last acceptance; a packet that found the transmitter idle is served then.
    last_accepted: Instant,
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
            under_way: VecDeque::new(),
            loss_due: None,
            last_accepted: Instant::ZERO,
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
        arrival: Arrival<P>,
        agenda: &mut Agenda,
        observer: &mut O,
    ) {
        let Arrival { at, insertion, packet } = arrival;
        self.settle(at, agenda, observer);
        let backlog = self.queue.backlog();
        if let Err(reason) = self.queue.admit(at, &packet) {
            self.ledger.refused(at, &packet, backlog, reason, observer);
            return;
        }
        self.ledger.enqueued(at, &packet, backlog, observer);
        let waiting = Waiting { packet, enqueued: at, insertion };
        self.queue.enqueue(at, waiting, &mut self.dropped);
        self.report_dropped(at, observer);
        self.last_accepted = at;
        self.settle(at, agenda, observer);
    }

    /// Starts every service that is due, when the agenda's first entry is this link's departure.
    pub(crate) fn depart<O: Observer<P>>(
        &mut self,
        at: Instant,
        agenda: &mut Agenda,
        observer: &mut O,
    ) {
        agenda.remove_first();
        self.has_departure_on_agenda = false;
        self.settle(at, agenda, observer);
    }

    /// Hands over the first packet under way, whose delivery is the first on the agenda; none where
    /// the link had lost it.
    pub(crate) fn deliver<O: Observer<P>>(
        &mut self,
        at: Instant,
        agenda: &mut Agenda,
        observer: &mut O,
    ) -> Option<P> {
        self.report_loss_until(at, observer);
        let arrived = self.under_way.pop_front().expect("a delivery on the agenda has its packet");
        match self.under_way.front() {
            Some(next) => agenda.replace_first(self.delivery_of(next)),
            None => agenda.remove_first(),
        }
        if arrived.is_lost {
            return None;
        }
        self.ledger.delivered(&arrived.packet);
        Some(arrived.packet)
    }

    /// Starts every service due up to `at`, reports losses, and keeps the next departure on the
    /// agenda.
    pub(crate) fn settle<O: Observer<P>>(
        &mut self,
        at: Instant,
        agenda: &mut Agenda,
        observer: &mut O,
    ) {
        loop {
            self.report_loss_until(at, observer);
            let free = self.carriage.transmitter.busy_until();
            if free > at || self.queue.backlog().packets == 0 {
                break;
            }
            let start = free.max(self.last_accepted);
            let next = self.queue.dequeue(start, &mut self.dropped);
            self.report_dropped(start, observer);
            let Some(waiting) = next else { break };
            self.serve(start, waiting, agenda, observer);
        }
        if self.queue.backlog().packets > 0 && !self.has_departure_on_agenda {
            let at = self.carriage.transmitter.busy_until();
            agenda.push(Due::departure(at, self.ledger.link));
            self.has_departure_on_agenda = true;
        }
    }

    fn serve<O: Observer<P>>(
        &mut self,
        start: Instant,
        waiting: Waiting<P>,
        agenda: &mut Agenda,
        observer: &mut O,
    ) {
        self.ledger.dequeued(start, &waiting.packet, waiting.sojourn(start), observer);
        let service = self.carriage.transmitter.transmit(start, waiting.packet.wire_bytes());
        let is_lost = self.carriage.loss.happens();
        let packet = UnderWay {
            delivery: service.end + self.carriage.delay,
            insertion: waiting.insertion,
            is_lost,
            packet: waiting.packet,
        };
        if self.under_way.is_empty() {
            agenda.push(self.delivery_of(&packet));
        }
        self.loss_due = is_lost.then_some(service.end);
        self.under_way.push_back(packet);
    }

    fn report_loss_until<O: Observer<P>>(&mut self, at: Instant, observer: &mut O) {
        if let Some(due) = self.loss_due.filter(|due| *due <= at) {
            let lost = self.under_way.back().expect("a loss that is due has its packet");
            let backlog = self.queue.backlog();
            self.ledger.dropped(due, &lost.packet, backlog, DropReason::LinkLoss, observer);
            self.loss_due = None;
        }
    }

    fn report_dropped<O: Observer<P>>(&mut self, at: Instant, observer: &mut O) {
        for (waiting, backlog, reason) in self.dropped.packets.drain(..) {
            self.ledger.dropped(at, &waiting.packet, backlog, reason, observer);
        }
    }

    fn delivery_of(&self, packet: &UnderWay<P>) -> Due {
        Due::delivery(packet.delivery, packet.insertion, self.ledger.link)
    }
}
