//! The link of a terminal: it sends only in the slots that its carrier assigns to it.
//!
//! A packet leaves the queue when the slot of its first byte begins, and is on its way when the slot of its last byte ends.
//! It may take several slots, and several packets may share one. A packet that comes after a slot has begun waits for the
//! next slot, so packets leave in bursts, and unused slots are lost.

use super::counters::{Arrival, LinkContext, LinkCounters};
use super::general::LinkCore;
use crate::dama::SharedCarrier;
use crate::event_queue::Event;
use crate::pool::PacketRef;
use crate::queue::{DequeueResult, QueuedPacket};
use crate::{Backlog, Observer, Packet};
use fairwind_units::Instant;

/// A link of a terminal.
pub(crate) struct SlottedLink {
    /// Index of its carrier, and of its terminal there.
    pub(crate) carrier: usize,
    terminal: usize,
    core: LinkCore,
    overhead_bytes: u32,
    /// The packet in service, when its service began, and its bytes left.
    in_service: Option<(QueuedPacket, Instant, u64)>,
    /// When its next departure event is due; [`Instant::MAX`] for none.
    next_slot: Instant,
}

impl SlottedLink {
    pub(super) fn new(
        carrier: usize,
        terminal: usize,
        core: LinkCore,
        overhead_bytes: u32,
    ) -> Self {
        Self { carrier, terminal, core, overhead_bytes, in_service: None, next_slot: Instant::MAX }
    }

    pub(super) fn counters(&self) -> &LinkCounters {
        &self.core.reporter.counters
    }

    /// Its terminal's number on the carrier.
    pub(crate) fn terminal(&self) -> usize {
        self.terminal
    }

    /// Enqueues a packet, or drops it if the discipline refuses it.
    pub(crate) fn accept<P: Packet, O: Observer<P>>(
        &mut self,
        arrival: &Arrival,
        carrier: &mut SharedCarrier,
        context: &mut LinkContext<'_, P, O>,
    ) {
        let at = arrival.at;
        // Events due before or at this instant do not see the packet.
        self.settle(at, carrier, context);
        let before = self.core.backlog();
        carrier.arrive(self.terminal, at, self.volume(before.with(arrival.packet.bytes()), before));
        self.core.accept(arrival, context);
        self.report_drops(before.with(arrival.packet.bytes()), carrier);
        self.schedule_next_slot(at, carrier, context);
    }

    /// Sends in the slot that begins, when the first event is this link's departure.
    pub(crate) fn depart<P: Packet, O: Observer<P>>(
        &mut self,
        at: Instant,
        carrier: &mut SharedCarrier,
        context: &mut LinkContext<'_, P, O>,
    ) {
        context.events.remove_first();
        self.settle(at, carrier, context);
    }

    /// Delivers the packet of the first event.
    pub(crate) fn deliver<P: Packet, O: Observer<P>>(
        &mut self,
        at: Instant,
        context: &mut LinkContext<'_, P, O>,
    ) -> PacketRef {
        self.core.deliver(at, context)
    }

    /// Brings the carrier up to date, reports losses, and sends in a slot that begins at `at`.
    pub(crate) fn settle<P: Packet, O: Observer<P>>(
        &mut self,
        at: Instant,
        carrier: &mut SharedCarrier,
        context: &mut LinkContext<'_, P, O>,
    ) {
        carrier.catch_up(at, context.observer);
        self.core.report_losses_until(at, context);
        if self.next_slot > at {
            return;
        }
        self.next_slot = Instant::MAX;
        if let Some(end) = carrier.slot_at(self.terminal, at) {
            self.use_slot(at, end, carrier, context);
        }
        self.schedule_next_slot(at, carrier, context);
    }

    /// Sends packets in a slot.
    fn use_slot<P: Packet, O: Observer<P>>(
        &mut self,
        start: Instant,
        end: Instant,
        carrier: &mut SharedCarrier,
        context: &mut LinkContext<'_, P, O>,
    ) {
        let slot = carrier.slot_bytes();
        let mut room = u64::from(slot);
        while room > 0 {
            let Some((waiting, began, left)) =
                self.in_service.take().or_else(|| self.begin(start, carrier, context))
            else {
                break;
            };
            let sent = left.min(room);
            room -= sent;
            carrier.depart(self.terminal, sent);
            if sent < left {
                self.in_service = Some((waiting, began, left - sent));
            } else {
                self.core.send(began, end, &waiting, context);
            }
        }
        let sent_bytes = slot - u32::try_from(room).unwrap_or(slot);
        if sent_bytes > 0 {
            carrier.use_slot(self.terminal);
            context.observer.on_slot(start, self.core.reporter.link, sent_bytes);
        }
    }

    /// Dequeues the next packet, with its bytes on the carrier.
    fn begin<P: Packet, O: Observer<P>>(
        &mut self,
        at: Instant,
        carrier: &mut SharedCarrier,
        context: &mut LinkContext<'_, P, O>,
    ) -> Option<(QueuedPacket, Instant, u64)> {
        let before = self.core.backlog();
        let next = self.core.next(at, context);
        let DequeueResult::Packet(waiting) = next else {
            self.report_drops(before, carrier);
            return None;
        };
        self.report_drops(before.without(waiting.bytes()), carrier);
        let bytes = u64::from(waiting.bytes()) + u64::from(self.overhead_bytes);
        Some((waiting, at, bytes))
    }

    /// Reports to the carrier the bytes that were dropped from the `expected` backlog.
    fn report_drops(&self, expected: Backlog, carrier: &mut SharedCarrier) {
        let left = self.core.backlog();
        if left != expected {
            carrier.forget(self.terminal, self.volume(expected, left));
        }
    }

    /// Difference of `more` and `less` in bytes on the carrier.
    fn volume(&self, more: Backlog, less: Backlog) -> u64 {
        let gone = more.minus(less);
        gone.bytes + u64::from(gone.packets) * u64::from(self.overhead_bytes)
    }

    /// Schedules the next slot while there is something to send.
    fn schedule_next_slot<P: Packet, O: Observer<P>>(
        &mut self,
        at: Instant,
        carrier: &SharedCarrier,
        context: &mut LinkContext<'_, P, O>,
    ) {
        let has_nothing = self.in_service.is_none() && self.core.backlog().packets == 0;
        if has_nothing || self.next_slot < Instant::MAX {
            return;
        }
        self.next_slot = carrier.next_look(self.terminal, at);
        context.events.push(Event::departure(self.next_slot, self.core.reporter.link));
    }
}
