//! What every link with a queue discipline does to its packets, whenever they are sent: let them wait, report what
//! becomes of them, and put them on the wire.

use super::loss::BernoulliLoss;
use super::wire::{Leaving, Wire};
use super::{Arrival, Ledger, Surroundings};
use crate::parcel::Parcel;
use crate::queue::{Dequeued, Effects, QueueDiscipline, Waiting};
use crate::{Backlog, DropReason, Header, Observer, Packet};
use fairwind_units::Instant;
use std::collections::VecDeque;

/// A queue and the wire behind it; what is in between is the link's.
pub(super) struct Served {
    queue: Box<dyn QueueDiscipline>,
    wire: Wire,
    loss: BernoulliLoss,
    /// Packets in service, or copies of them, that will be found lost at its end, and when that is.
    losses_due: VecDeque<(Instant, Parcel)>,
    /// Kept for its memory.
    effects: Effects,
    pub(super) ledger: Ledger,
}

impl Served {
    pub(super) fn new(
        queue: Box<dyn QueueDiscipline>,
        wire: Wire,
        loss: BernoulliLoss,
        ledger: Ledger,
    ) -> Self {
        Self { queue, wire, loss, losses_due: VecDeque::new(), effects: Effects::default(), ledger }
    }

    /// What waits.
    #[inline]
    pub(super) fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    /// Takes a packet, or drops it where the discipline refuses it; whether it was taken.
    #[inline]
    pub(super) fn accept<P: Packet, O: Observer<P>>(
        &mut self,
        arrival: &Arrival,
        around: &mut Surroundings<'_, P, O>,
    ) -> bool {
        let Arrival { at, insertion, parcel } = *arrival;
        let backlog = self.queue.backlog();
        let sighting = around.depot.sighting(at, parcel);
        let header = sighting.packet.map_or_else(Header::default, Packet::header);
        let waiting = Waiting { enqueued: at, header, parcel, insertion };
        if let Err(reason) = self.queue.enqueue(at, waiting, &mut self.effects) {
            self.ledger.refused(&sighting, backlog, reason, around.observer);
            drop(around.depot.take(parcel));
            self.report_effects(at, backlog, around);
            return false;
        }
        self.ledger.enqueued(&sighting, backlog, around.observer);
        self.report_effects(at, backlog.with(parcel.bytes()), around);
        true
    }

    /// Asks the discipline for a packet, where something waits.
    #[inline]
    pub(super) fn next<P: Packet, O: Observer<P>>(
        &mut self,
        at: Instant,
        around: &mut Surroundings<'_, P, O>,
    ) -> Dequeued {
        let backlog = self.queue.backlog();
        if backlog.packets == 0 {
            return Dequeued::Empty;
        }
        let next = self.queue.dequeue(at, &mut self.effects);
        self.report_effects(at, backlog, around);
        if let Dequeued::Packet(waiting) = &next {
            let sighting = around.depot.sighting(at, waiting.parcel);
            self.ledger.dequeued(&sighting, waiting.sojourn(at), around.observer);
        }
        next
    }

    /// Puts a packet on the wire whose service ends at `end`, or finds it lost then.
    #[inline]
    pub(super) fn send<P: Packet, O: Observer<P>>(
        &mut self,
        start: Instant,
        end: Instant,
        waiting: &Waiting,
        around: &mut Surroundings<'_, P, O>,
    ) {
        let fate = self.wire.fate(end);
        if self.loss.happens() || fate.copies == 0 {
            self.losses_due.push_back((end, waiting.parcel));
            return;
        }
        let leaving = Leaving { at: end, parcel: waiting.parcel, insertion: waiting.insertion };
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
            self.losses_due.push_back((original.at, parcel));
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

    /// Hands over the packet whose delivery is the first on the agenda.
    pub(super) fn deliver<P: Packet, O: Observer<P>>(
        &mut self,
        at: Instant,
        around: &mut Surroundings<'_, P, O>,
    ) -> Parcel {
        self.report_losses_until(at, around);
        let arrived = self.wire.deliver(around.agenda);
        if arrived.has_overtaken {
            self.ledger.overtaken(at, arrived.parcel.bytes(), around.observer);
        }
        self.ledger.delivered(arrived.parcel.bytes());
        arrived.parcel
    }

    #[inline]
    pub(super) fn report_losses_until<P: Packet, O: Observer<P>>(
        &mut self,
        at: Instant,
        around: &mut Surroundings<'_, P, O>,
    ) {
        while let Some((due, lost)) = self.losses_due.front().copied()
            && due <= at
        {
            self.losses_due.pop_front();
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
