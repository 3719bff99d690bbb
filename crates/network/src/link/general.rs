//! The general link: any queue discipline, with separate events for departure and delivery.
//!
//! [`LinkCore`] is what every link with a queue discipline does with its packets, whenever they are sent: queue them, report
//! drops and marks, and put them on the wire. Slotted links share it.
//!
//! Cost per packet: two events if it waits, one if the link is idle, and the virtual calls of the discipline.

use super::counters::{Arrival, LinkContext, LinkCounters, LinkReporter};
use super::loss::BernoulliLoss;
use super::transmitter::{TraceTransmitter, Transmitter};
use super::wire::{DepartedPacket, Wire};
use crate::event_queue::Event;
use crate::pool::PacketRef;
use crate::queue::{DequeueResult, QueueActions, QueueDiscipline, QueuedPacket};
use crate::{Backlog, DropReason, Header, Observer, Packet};
use fairwind_units::Instant;
use std::collections::VecDeque;

/// A queue and the wire behind it; each link has its own transmitter in between.
pub(super) struct LinkCore {
    queue: Box<dyn QueueDiscipline>,
    /// Whether the queue reads acknowledgments.
    reads_acks: bool,
    wire: Wire,
    loss: BernoulliLoss,
    /// Packets that will be lost when their service ends, and when that is.
    losses_due: VecDeque<(Instant, PacketRef)>,
    /// Reused to avoid allocation.
    effects: QueueActions,
    pub(super) reporter: LinkReporter,
}

impl LinkCore {
    pub(super) fn new(
        queue: Box<dyn QueueDiscipline>,
        wire: Wire,
        loss: BernoulliLoss,
        reporter: LinkReporter,
    ) -> Self {
        Self {
            reads_acks: queue.reads_acks(),
            queue,
            wire,
            loss,
            losses_due: VecDeque::new(),
            effects: QueueActions::default(),
            reporter,
        }
    }

    /// Length of the queue.
    #[inline]
    pub(super) fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    /// Enqueues a packet, or drops it if the discipline refuses it; returns whether it was enqueued.
    #[inline]
    pub(super) fn accept<P: Packet, O: Observer<P>>(
        &mut self,
        arrival: &Arrival,
        context: &mut LinkContext<'_, P, O>,
    ) -> bool {
        let Arrival { at, insertion, packet } = *arrival;
        let backlog = self.queue.backlog();
        let event = context.pool.event(at, packet);
        let header = event.packet.map_or_else(Header::default, Packet::header);
        let waiting = QueuedPacket { enqueued: at, header, packet, insertion };
        let ack = self.reads_acks.then(|| event.packet.and_then(Packet::tcp_ack)).flatten();
        let accepted = match ack {
            Some(ack) => self.queue.enqueue_ack(at, waiting, &ack, &mut self.effects),
            None => self.queue.enqueue(at, waiting, &mut self.effects),
        };
        if let Err(reason) = accepted {
            self.reporter.refused(&event, backlog, reason, context.observer);
            drop(context.pool.remove(packet));
            self.report_effects(at, backlog, context);
            return false;
        }
        self.reporter.enqueued(&event, backlog, context.observer);
        self.report_effects(at, backlog.with(packet.bytes()), context);
        true
    }

    /// Dequeues a packet if any waits.
    #[inline]
    pub(super) fn next<P: Packet, O: Observer<P>>(
        &mut self,
        at: Instant,
        context: &mut LinkContext<'_, P, O>,
    ) -> DequeueResult {
        let backlog = self.queue.backlog();
        if backlog.packets == 0 {
            return DequeueResult::Empty;
        }
        let next = self.queue.dequeue(at, &mut self.effects);
        self.report_effects(at, backlog, context);
        if let DequeueResult::Packet(waiting) = &next {
            let event = context.pool.event(at, waiting.packet);
            self.reporter.dequeued(&event, waiting.sojourn(at), context.observer);
        }
        next
    }

    /// Sends a packet with the end of service `end`, or schedules its loss for then.
    #[inline]
    pub(super) fn send<P: Packet, O: Observer<P>>(
        &mut self,
        start: Instant,
        end: Instant,
        waiting: &QueuedPacket,
        context: &mut LinkContext<'_, P, O>,
    ) {
        let fate = self.wire.fate(end);
        if self.loss.happens() || fate.copies == 0 {
            self.losses_due.push_back((end, waiting.packet));
            return;
        }
        let leaving =
            DepartedPacket { at: end, packet: waiting.packet, insertion: waiting.insertion };
        // As in netem, the copy is made before the packet is damaged.
        if fate.copies > 1 {
            self.send_copy(start, &leaving, context);
        }
        if fate.is_corrupted {
            self.corrupt(start, waiting.packet, context);
        }
        self.wire.send(leaving, self.reporter.link, context.events);
    }

    /// Sends a copy of a packet, which is lost, corrupted and delayed independently.
    #[inline(never)]
    fn send_copy<P: Packet, O: Observer<P>>(
        &mut self,
        start: Instant,
        original: &DepartedPacket,
        context: &mut LinkContext<'_, P, O>,
    ) {
        let Some(packet) = context.pool.duplicate(original.packet) else { return };
        self.reporter.duplicated(&context.pool.event(start, packet), context.observer);
        let fate = self.wire.fate_of_copy();
        if fate.copies == 0 {
            self.losses_due.push_back((original.at, packet));
            return;
        }
        if fate.is_corrupted {
            self.corrupt(start, packet, context);
        }
        self.wire.send(DepartedPacket { packet, ..*original }, self.reporter.link, context.events);
    }

    #[inline(never)]
    fn corrupt<P: Packet, O: Observer<P>>(
        &mut self,
        at: Instant,
        packet: PacketRef,
        context: &mut LinkContext<'_, P, O>,
    ) {
        let draw = self.wire.draw();
        if let Some(packet) = context.pool.get_mut(packet) {
            packet.corrupt(draw);
        }
        self.reporter.corrupted(&context.pool.event(at, packet), context.observer);
    }

    /// Delivers the packet of the first event.
    pub(super) fn deliver<P: Packet, O: Observer<P>>(
        &mut self,
        at: Instant,
        context: &mut LinkContext<'_, P, O>,
    ) -> PacketRef {
        self.report_losses_until(at, context);
        let arrived = self.wire.deliver(context.events);
        if arrived.has_overtaken {
            self.reporter.overtaken(at, arrived.packet.bytes(), context.observer);
        }
        self.reporter.delivered(arrived.packet.bytes());
        arrived.packet
    }

    #[inline]
    pub(super) fn report_losses_until<P: Packet, O: Observer<P>>(
        &mut self,
        at: Instant,
        context: &mut LinkContext<'_, P, O>,
    ) {
        while let Some((due, lost)) = self.losses_due.front().copied()
            && due <= at
        {
            self.losses_due.pop_front();
            self.report_loss(due, lost, context);
        }
    }

    #[cold]
    fn report_loss<P: Packet, O: Observer<P>>(
        &mut self,
        due: Instant,
        lost: PacketRef,
        context: &mut LinkContext<'_, P, O>,
    ) {
        let event = context.pool.event(due, lost);
        let backlog = self.queue.backlog();
        let reason = DropReason::LinkLoss;
        self.reporter.dropped(&event, backlog, reason, None, context.observer);
        drop(context.pool.remove(lost));
    }

    /// Carries out the discipline's marks and drops; `backlog` includes the dropped packets.
    #[inline]
    fn report_effects<P: Packet, O: Observer<P>>(
        &mut self,
        at: Instant,
        backlog: Backlog,
        context: &mut LinkContext<'_, P, O>,
    ) {
        if !self.effects.marked.is_empty() {
            self.report_marked(at, context);
        }
        if !self.effects.dropped.is_empty() {
            self.report_dropped(at, backlog, context);
        }
    }

    #[inline(never)]
    fn report_marked<P: Packet, O: Observer<P>>(
        &mut self,
        at: Instant,
        context: &mut LinkContext<'_, P, O>,
    ) {
        for waiting in self.effects.marked.drain(..) {
            if let Some(packet) = context.pool.get_mut(waiting.packet) {
                packet.mark();
            }
            self.reporter.marked(&context.pool.event(at, waiting.packet), context.observer);
        }
    }

    #[inline(never)]
    fn report_dropped<P: Packet, O: Observer<P>>(
        &mut self,
        at: Instant,
        mut backlog: Backlog,
        context: &mut LinkContext<'_, P, O>,
    ) {
        for (waiting, reason) in self.effects.dropped.drain(..) {
            let event = context.pool.event(at, waiting.packet);
            let waited = Some(waiting.sojourn(at));
            self.reporter.dropped(&event, backlog, reason, waited, context.observer);
            backlog = backlog.without(waiting.bytes());
            drop(context.pool.remove(waiting.packet));
        }
    }
}

/// A link with any queue discipline.
pub(crate) struct GeneralLink {
    core: LinkCore,
    /// The transmitter is busy until then.
    free: Instant,
    /// The discipline releases nothing before this.
    not_before: Instant,
    /// The earliest departure event; [`Instant::MAX`] for none.
    departure: Instant,
    transmitter: Transmitter,
    /// Used instead of the transmitter if the rate was recorded.
    trace: Option<TraceTransmitter>,
}

impl GeneralLink {
    pub(super) fn new(
        core: LinkCore,
        transmitter: Transmitter,
        trace: Option<TraceTransmitter>,
    ) -> Self {
        Self {
            core,
            free: Instant::ZERO,
            not_before: Instant::ZERO,
            departure: Instant::MAX,
            transmitter,
            trace,
        }
    }

    pub(super) fn counters(&self) -> &LinkCounters {
        &self.core.reporter.counters
    }

    /// Enqueues a packet, or drops it if the discipline refuses it.
    pub(crate) fn accept<P: Packet, O: Observer<P>>(
        &mut self,
        arrival: &Arrival,
        context: &mut LinkContext<'_, P, O>,
    ) {
        let at = arrival.at;
        if self.ready_at() <= at {
            self.settle(at, context);
        } else {
            self.core.report_losses_until(at, context);
        }
        if self.core.accept(arrival, context) {
            // The new packet may leave earlier than the one that the discipline waits for.
            self.not_before = at;
            self.settle(at, context);
        }
    }

    /// Starts every service that is due; the first event is this link's departure.
    pub(crate) fn depart<P: Packet, O: Observer<P>>(
        &mut self,
        at: Instant,
        context: &mut LinkContext<'_, P, O>,
    ) {
        context.events.remove_first();
        if self.departure <= at {
            self.departure = Instant::MAX;
        }
        self.settle(at, context);
    }

    /// Delivers the packet of the first event.
    pub(crate) fn deliver<P: Packet, O: Observer<P>>(
        &mut self,
        at: Instant,
        context: &mut LinkContext<'_, P, O>,
    ) -> PacketRef {
        self.core.deliver(at, context)
    }

    /// Starts every service due at `at`, reports losses up to then, and schedules the next departure, so none is ever
    /// overdue.
    pub(crate) fn settle<P: Packet, O: Observer<P>>(
        &mut self,
        at: Instant,
        context: &mut LinkContext<'_, P, O>,
    ) {
        loop {
            self.core.report_losses_until(at, context);
            if self.core.backlog().packets == 0 {
                return;
            }
            if self.ready_at() > at {
                break;
            }
            match self.core.next(at, context) {
                DequeueResult::Packet(waiting) => self.serve(at, &waiting, context),
                DequeueResult::NotBefore(instant) => {
                    debug_assert!(instant > at, "what is ready leaves");
                    self.not_before = instant;
                }
                DequeueResult::Empty if self.core.backlog().packets == 0 => return,
                DequeueResult::Empty => break,
            }
        }
        let ready = self.ready_at();
        if ready < self.departure {
            context.events.push(Event::departure(ready, self.core.reporter.link));
            self.departure = ready;
        }
    }

    /// When the link may dequeue the next packet.
    #[inline]
    fn ready_at(&self) -> Instant {
        self.free.max(self.not_before)
    }

    fn serve<P: Packet, O: Observer<P>>(
        &mut self,
        start: Instant,
        waiting: &QueuedPacket,
        context: &mut LinkContext<'_, P, O>,
    ) {
        let bytes = waiting.bytes();
        let service = match &mut self.trace {
            Some(trace) => trace.transmit(start, bytes),
            None => self.transmitter.transmit(start, bytes),
        };
        self.free = service.end;
        self.core.send(start, service.end, waiting, context);
    }
}
