//! The link that serves any queue discipline, with separate events for departure and delivery.
//!
//! Cost per packet: two entries on the agenda where it waits, one where the link was idle, and the
//! calls of the discipline through a table of functions.

use super::queued::LinkCore;
use super::traced::TraceTransmitter;
use super::transmitter::Transmitter;
use super::{Arrival, LinkContext, LinkCounters};
use crate::event_queue::Event;
use crate::pool::PacketRef;
use crate::queue::{DequeueResult, QueuedPacket};
use crate::{Observer, Packet};
use fairwind_units::Instant;

/// A link with any queue discipline.
pub(crate) struct GeneralLink {
    served: LinkCore,
    /// The transmitter is busy until then.
    free: Instant,
    /// The discipline lets nothing leave before this.
    not_before: Instant,
    /// The earliest departure on the agenda; [`Instant::MAX`] for none.
    departure: Instant,
    transmitter: Transmitter,
    /// In the place of the transmitter, where the rate was recorded.
    traced: Option<TraceTransmitter>,
}

impl GeneralLink {
    pub(super) fn new(
        served: LinkCore,
        transmitter: Transmitter,
        traced: Option<TraceTransmitter>,
    ) -> Self {
        Self {
            served,
            free: Instant::ZERO,
            not_before: Instant::ZERO,
            departure: Instant::MAX,
            transmitter,
            traced,
        }
    }

    pub(super) fn counters(&self) -> &LinkCounters {
        &self.served.reporter.counters
    }

    /// Takes a packet, or drops it where the discipline refuses it.
    pub(crate) fn accept<P: Packet, O: Observer<P>>(
        &mut self,
        arrival: &Arrival,
        context: &mut LinkContext<'_, P, O>,
    ) {
        let at = arrival.at;
        if self.ready_at() <= at {
            self.settle(at, context);
        } else {
            self.served.report_losses_until(at, context);
        }
        if self.served.accept(arrival, context) {
            // What has come may leave earlier than what the discipline was waiting for.
            self.not_before = at;
            self.settle(at, context);
        }
    }

    /// Starts every service that is due, when the agenda's first entry is this link's departure.
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

    /// Hands over the packet whose delivery is the first on the agenda.
    pub(crate) fn deliver<P: Packet, O: Observer<P>>(
        &mut self,
        at: Instant,
        context: &mut LinkContext<'_, P, O>,
    ) -> PacketRef {
        self.served.deliver(at, context)
    }

    /// Starts every service due at `at`, reports losses up to then, and keeps the next departure on
    /// the agenda, which is why none is ever overdue.
    pub(crate) fn settle<P: Packet, O: Observer<P>>(
        &mut self,
        at: Instant,
        context: &mut LinkContext<'_, P, O>,
    ) {
        loop {
            self.served.report_losses_until(at, context);
            if self.served.backlog().packets == 0 {
                return;
            }
            if self.ready_at() > at {
                break;
            }
            match self.served.next(at, context) {
                DequeueResult::Packet(waiting) => self.serve(at, &waiting, context),
                DequeueResult::NotBefore(instant) => {
                    debug_assert!(instant > at, "what is ready leaves");
                    self.not_before = instant;
                }
                DequeueResult::Empty if self.served.backlog().packets == 0 => return,
                DequeueResult::Empty => break,
            }
        }
        let ready = self.ready_at();
        if ready < self.departure {
            context.events.push(Event::departure(ready, self.served.reporter.link));
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
        waiting: &QueuedPacket,
        context: &mut LinkContext<'_, P, O>,
    ) {
        let bytes = waiting.bytes();
        let service = match &mut self.traced {
            Some(traced) => traced.transmit(start, bytes),
            None => self.transmitter.transmit(start, bytes),
        };
        self.free = service.end;
        self.served.send(start, service.end, waiting, context);
    }
}
