//! The link that serves any queue discipline, with separate events for departure and delivery.
//!
//! Cost per packet: two entries on the agenda where it waits, one where the link was idle, and the
//! calls of the discipline through a table of functions.

use super::traced::Traced;
use super::wire::{Leaving, Wire};
use super::{Arrival, Carriage, Ledger, LinkCounters, Surroundings};
use crate::agenda::Due;
use crate::parcel::Parcel;
use crate::queue::{Dequeued, Effects, QueueDiscipline, Waiting};
use crate::{Backlog, DropReason, Header, Observer, Packet};
use fairwind_units::Instant;

/// A link with any queue discipline.
pub(crate) struct GeneralLink {
    queue: Box<dyn QueueDiscipline>,
    wire: Wire,
    /// The packet in service, or its copy, that will be found lost at its end, and when that is.
    loss_due: Option<(Instant, Parcel)>,
    /// The transmitter is busy until then.
    free: Instant,
    /// The discipline lets nothing leave before this.
    not_before: Instant,
    /// The earliest departure on the agenda; [`Instant::MAX`] for none.
    departure: Instant,
    /// Kept for its memory.
    effects: Effects,
    carriage: Carriage,
    /// In the place of the carriage's transmitter, where the rate was recorded.
    traced: Option<Traced>,
    ledger: Ledger,
}

impl GeneralLink {
    pub(super) fn new(
        carriage: Carriage,
        traced: Option<Traced>,
        queue: Box<dyn QueueDiscipline>,
        wire: Wire,
        ledger: Ledger,
    ) -> Self {
        Self {
            queue,
            wire,
            loss_due: None,
            free: Instant::ZERO,
            not_before: Instant::ZERO,
            departure: Instant::MAX,
            effects: Effects::default(),
            carriage,
            traced,
            ledger,
        }
    }

    pub(super) fn counters(&self) -> &LinkCounters {
        &self.ledger.counters
    }

    /// Takes a packet, or drops it where the discipline refuses it.
    pub(crate) fn accept<P: Packet, O: Observer<P>>(
        &mut self,
        arrival: &Arrival,
        around: &mut Surroundings<'_, P, O>,
    ) {
        let Arrival { at, insertion, parcel } = *arrival;
        if self.ready_at() <= at {
            self.settle(at, around);
        } else {
            self.report_loss_until(at, around);
        }
        let backlog = self.queue.backlog();
        let sighting = around.depot.sighting(at, parcel);
        let header = sighting.packet.map_or_else(Header::default, Packet::header);
        let waiting = Waiting { enqueued: at, header, parcel, insertion };
        if let Err(reason) = self.queue.enqueue(at, waiting, &mut self.effects) {
            self.ledger.refused(&sighting, backlog, reason, around.observer);
            drop(around.depot.take(parcel));
            self.report_effects(at, backlog, around);
            return;
        }
        self.ledger.enqueued(&sighting, backlog, around.observer);
        self.report_effects(at, backlog.with(parcel.bytes), around);
        // What has come may leave earlier than what the discipline was waiting for.
        self.not_before = at;
        self.settle(at, around);
    }

    /// Starts every service that is due, when the agenda's first entry is this link's departure.
    pub(crate) fn depart<P: Packet, O: Observer<P>>(
        &mut self,
        at: Instant,
        around: &mut Surroundings<'_, P, O>,
    ) {
        around.agenda.remove_first();
        if self.departure <= at {
            self.departure = Instant::MAX;
        }
        self.settle(at, around);
    }

    /// Hands over the packet whose delivery is the first on the agenda.
    pub(crate) fn deliver<P: Packet, O: Observer<P>>(
        &mut self,
        at: Instant,
        around: &mut Surroundings<'_, P, O>,
    ) -> Parcel {
        self.report_loss_until(at, around);
        let arrived = self.wire.deliver(around.agenda);
        if arrived.has_overtaken {
            self.ledger.overtaken(at, arrived.parcel.bytes, around.observer);
        }
        self.ledger.delivered(arrived.parcel.bytes);
        arrived.parcel
    }

    /// Starts every service due at `at`, reports losses up to then, and keeps the next departure on
    /// the agenda, which is why none is ever overdue.
    pub(crate) fn settle<P: Packet, O: Observer<P>>(
        &mut self,
        at: Instant,
        around: &mut Surroundings<'_, P, O>,
    ) {
        loop {
            self.report_loss_until(at, around);
            let backlog = self.queue.backlog();
            if backlog.packets == 0 {
                return;
            }
            if self.ready_at() > at {
                break;
            }
            let next = self.queue.dequeue(at, &mut self.effects);
            self.report_effects(at, backlog, around);
            match next {
                Dequeued::Packet(waiting) => self.serve(at, &waiting, around),
                Dequeued::NotBefore(instant) => {
                    debug_assert!(instant > at, "what is ready leaves");
                    self.not_before = instant;
                }
                Dequeued::Empty if self.queue.backlog().packets == 0 => return,
                Dequeued::Empty => break,
            }
        }
        let ready = self.ready_at();
        if ready < self.departure {
            around.agenda.push(Due::departure(ready, self.ledger.link));
            self.departure = ready;
        }
    }

    /// When the link may ask for a packet.
    #[inline]
    fn ready_at(&self) -> Instant {
        self.free.max(self.not_before)
    }

    fn serve<P: Packet, O: Observer<P>>(
        &mut self,
        start: Instant,
        waiting: &Waiting,
        around: &mut Surroundings<'_, P, O>,
    ) {
        let sighting = around.depot.sighting(start, waiting.parcel);
        self.ledger.dequeued(&sighting, waiting.sojourn(start), around.observer);
        let bytes = waiting.bytes();
        let service = match &mut self.traced {
            Some(traced) => traced.transmit(start, bytes),
            None => self.carriage.transmitter.transmit(start, bytes),
        };
        self.free = service.end;
        let fate = self.wire.fate();
        if self.carriage.loss.happens() || fate.copies == 0 {
            self.loss_due = Some((service.end, waiting.parcel));
            return;
        }
        let leaving =
            Leaving { at: service.end, parcel: waiting.parcel, insertion: waiting.insertion };
        // As in netem, the copy is made before the packet is damaged.
        if fate.copies > 1 {
            self.send_copy(start, &leaving, around);
        }
        if fate.is_corrupted {
            self.corrupt(start, waiting.parcel, around);
        }
        self.wire.send(leaving, self.ledger.link, around.agenda);
    }

    /// Makes a second one of a packet that leaves, which is lost, damaged and delayed by draws of its own.
    #[inline(never)]
    fn send_copy<P: Packet, O: Observer<P>>(
        &mut self,
        start: Instant,
        original: &Leaving,
        around: &mut Surroundings<'_, P, O>,
    ) {
        let Some(parcel) = around.depot.duplicate(original.parcel) else { return };
        self.ledger.duplicated(&around.depot.sighting(start, parcel), around.observer);
        let fate = self.wire.fate_of_copy();
        if fate.copies == 0 {
            self.loss_due = Some((original.at, parcel));
            return;
        }
        if fate.is_corrupted {
            self.corrupt(start, parcel, around);
        }
        self.wire.send(Leaving { parcel, ..*original }, self.ledger.link, around.agenda);
    }

    #[inline(never)]
    fn corrupt<P: Packet, O: Observer<P>>(
        &mut self,
        at: Instant,
        parcel: Parcel,
        around: &mut Surroundings<'_, P, O>,
    ) {
        let draw = self.wire.draw();
        if let Some(packet) = around.depot.packet_mut(parcel) {
            packet.corrupt(draw);
        }
        self.ledger.corrupted(&around.depot.sighting(at, parcel), around.observer);
    }

    #[inline]
    fn report_loss_until<P: Packet, O: Observer<P>>(
        &mut self,
        at: Instant,
        around: &mut Surroundings<'_, P, O>,
    ) {
        if let Some((due, lost)) = self.loss_due
            && due <= at
        {
            self.report_loss(due, lost, around);
        }
    }

    #[cold]
    fn report_loss<P: Packet, O: Observer<P>>(
        &mut self,
        due: Instant,
        lost: Parcel,
        around: &mut Surroundings<'_, P, O>,
    ) {
        let sighting = around.depot.sighting(due, lost);
        let backlog = self.queue.backlog();
        let reason = DropReason::LinkLoss;
        self.ledger.dropped(&sighting, backlog, reason, None, around.observer);
        drop(around.depot.take(lost));
        self.loss_due = None;
    }

    /// Marks and drops what the discipline has chosen, when `backlog` was waiting, the victims included.
    #[inline]
    fn report_effects<P: Packet, O: Observer<P>>(
        &mut self,
        at: Instant,
        backlog: Backlog,
        around: &mut Surroundings<'_, P, O>,
    ) {
        if !self.effects.marked.is_empty() {
            self.report_marked(at, around);
        }
        if !self.effects.dropped.is_empty() {
            self.report_dropped(at, backlog, around);
        }
    }

    #[inline(never)]
    fn report_marked<P: Packet, O: Observer<P>>(
        &mut self,
        at: Instant,
        around: &mut Surroundings<'_, P, O>,
    ) {
        for waiting in self.effects.marked.drain(..) {
            if let Some(packet) = around.depot.packet_mut(waiting.parcel) {
                packet.mark();
            }
            self.ledger.marked(&around.depot.sighting(at, waiting.parcel), around.observer);
        }
    }

    #[inline(never)]
    fn report_dropped<P: Packet, O: Observer<P>>(
        &mut self,
        at: Instant,
        mut backlog: Backlog,
        around: &mut Surroundings<'_, P, O>,
    ) {
        for (waiting, reason) in self.effects.dropped.drain(..) {
            let sighting = around.depot.sighting(at, waiting.parcel);
            let waited = Some(waiting.sojourn(at));
            self.ledger.dropped(&sighting, backlog, reason, waited, around.observer);
            backlog = backlog.without(waiting.bytes());
            drop(around.depot.take(waiting.parcel));
        }
    }
}
