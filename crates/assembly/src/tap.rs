//! Taps: the reports of the network, as observations for the measures.

use fairwind_measure::{
    Collector, Direction, DropReason, Dropped, FlowId, FramesAssigned, Observation, QueueId,
};
use fairwind_network::{Backlog, CapacityRequest, LinkId, Observer, Packet, SlotAssignment};
use fairwind_units::{BitRate, Instant, Span};

/// What a packet is to the measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketLabel {
    /// Its flow.
    pub flow: FlowId,
    /// Its direction.
    pub direction: Direction,
    /// Payload bytes in it.
    pub payload_bytes: u32,
}

/// A packet that knows its flow.
pub trait FlowPacket: Packet {
    /// Its kind in the measures.
    fn label(&self) -> PacketLabel;

    /// How often links have damaged it: never, unless it can be.
    fn damage(&self) -> Damage {
        Damage::None
    }
}

/// How often links have damaged a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Damage {
    /// It is whole.
    #[default]
    None,
    /// It is lost: no host will take it.
    Once,
    /// It was lost before.
    Again,
}

impl Damage {
    /// One link more has damaged it.
    #[must_use]
    pub const fn more(self) -> Self {
        match self {
            Self::None => Self::Once,
            Self::Once | Self::Again => Self::Again,
        }
    }
}

/// Which links have a queue that is measured, by link; links without rate and loss have none.
#[derive(Debug, Default)]
pub struct QueueMap {
    pub(crate) by_link: Vec<Option<QueueId>>,
}

impl QueueMap {
    /// The queue at `link`, where it is measured.
    #[inline]
    pub fn of(&self, link: LinkId) -> Option<QueueId> {
        self.by_link[link.index()]
    }
}

/// Receiver of observations: the measures, or a forwarder.
pub trait Sink {
    /// Takes a fact that became true at `at`.
    fn observe(&mut self, at: Instant, observation: Observation<'static>);

    /// Takes two facts at once: an idle queue let in a packet at `at`, and it left at `at`.
    #[inline]
    fn observe_through(&mut self, at: Instant, queue: QueueId, flow: FlowId, wire_bytes: u32) {
        let (backlog_packets, backlog_bytes, sojourn) = (0, 0, Span::ZERO);
        self.observe(
            at,
            Observation::Enqueued { queue, flow, wire_bytes, backlog_packets, backlog_bytes },
        );
        self.observe(at, Observation::Dequeued { queue, flow, wire_bytes, sojourn });
    }
}

impl Sink for Collector {
    #[expect(clippy::inline_always, reason = "a literal observation becomes its own code only so")]
    #[inline(always)]
    fn observe(&mut self, at: Instant, observation: Observation<'static>) {
        self.observe(at, observation);
    }

    #[inline]
    fn observe_through(&mut self, at: Instant, queue: QueueId, flow: FlowId, wire_bytes: u32) {
        self.observe_through(at, queue, flow, wire_bytes);
    }
}

/// The network's observer: reports events at queues.
pub struct Tap<'a, S> {
    /// The receiver of the reports.
    pub sink: &'a mut S,
    /// What is measured.
    pub queues: &'a QueueMap,
}

impl<P: FlowPacket, S: Sink> Observer<P> for Tap<'_, S> {
    /// A link without effect has no queue, so none that is measured.
    const OBSERVES_TRANSPARENT_LINKS: bool = false;

    #[inline]
    fn on_enqueue(&mut self, at: Instant, link: LinkId, packet: &P, backlog: Backlog) {
        if let Some(queue) = self.queues.of(link) {
            let enqueued = Observation::Enqueued {
                queue,
                flow: packet.label().flow,
                wire_bytes: packet.wire_bytes(),
                backlog_packets: backlog.packets,
                backlog_bytes: u32::try_from(backlog.bytes).unwrap_or(u32::MAX),
            };
            self.sink.observe(at, enqueued);
        }
    }

    #[inline]
    fn on_dequeue(&mut self, at: Instant, link: LinkId, packet: &P, sojourn: Span) {
        if let Some(queue) = self.queues.of(link) {
            let (flow, wire_bytes) = (packet.label().flow, packet.wire_bytes());
            self.sink.observe(at, Observation::Dequeued { queue, flow, wire_bytes, sojourn });
        }
    }

    #[inline]
    fn on_bypass(&mut self, at: Instant, link: LinkId, packet: &P) {
        if let Some(queue) = self.queues.of(link) {
            self.sink.observe_through(at, queue, packet.label().flow, packet.wire_bytes());
        }
    }

    #[inline]
    fn on_mark(&mut self, at: Instant, link: LinkId, packet: &P) {
        let queue = self.queues.of(link).expect("only links with a queue mark");
        let (flow, wire_bytes) = (packet.label().flow, packet.wire_bytes());
        self.sink.observe(at, Observation::Marked { queue, flow, wire_bytes });
    }

    #[inline]
    fn on_drop(
        &mut self,
        at: Instant,
        link: LinkId,
        packet: &P,
        backlog: Backlog,
        reason: fairwind_network::DropReason,
        waited: Option<Span>,
    ) {
        let reason = match reason {
            fairwind_network::DropReason::LinkLoss => DropReason::LinkLoss,
            fairwind_network::DropReason::Early => DropReason::Early,
            _ => DropReason::QueueFull,
        };
        match packet.damage() {
            Damage::None => self.lose(at, link, packet, (reason, waited), Some(backlog)),
            _ => self.lose_again(at, link, packet, (reason, waited), Some(backlog)),
        }
    }

    fn on_duplicate(&mut self, at: Instant, link: LinkId, _: &P) {
        self.impair(at, link, |queue| Observation::Duplicated { queue });
    }

    fn on_reorder(&mut self, at: Instant, link: LinkId, _: u32) {
        self.impair(at, link, |queue| Observation::Reordered { queue });
    }

    fn on_request(&mut self, at: Instant, link: LinkId, ask: &CapacityRequest) {
        let bits_per_second = ask.rate.map(BitRate::as_bits_per_second);
        let volume_bytes = ask.volume.map_or(0, |volume| volume.bytes);
        self.impair(at, link, |queue| Observation::CapacityRequested {
            queue,
            bits_per_second,
            volume_bytes,
        });
    }

    fn on_assignment(&mut self, at: Instant, link: LinkId, assignment: &SlotAssignment) {
        let SlotAssignment { frames, frame, slot_bytes, guaranteed, by_rate, by_volume, free } =
            *assignment;
        let frames =
            FramesAssigned { frames, frame, slot_bytes, guaranteed, by_rate, by_volume, free };
        self.impair(at, link, |queue| Observation::SlotsAssigned { queue, frames });
    }

    fn on_slot(&mut self, at: Instant, link: LinkId, sent_bytes: u32) {
        self.impair(at, link, |queue| Observation::SlotUsed { queue, sent_bytes });
    }

    /// A damaged packet is lost: no host accepts it.
    fn on_corrupt(&mut self, at: Instant, link: LinkId, packet: &P) {
        self.impair(at, link, |queue| Observation::Damaged { queue });
        match packet.damage() {
            Damage::Again => self.lose_again(at, link, packet, (DropReason::LinkLoss, None), None),
            _ => self.lose(at, link, packet, (DropReason::LinkLoss, None), None),
        }
    }
}

impl<S: Sink> Tap<'_, S> {
    /// Reports the fate of a link's packets, or of its slots, behind the queue.
    fn impair(
        &mut self,
        at: Instant,
        link: LinkId,
        observation: impl Fn(QueueId) -> Observation<'static>,
    ) {
        let queue =
            self.queues.of(link).expect("only links that are measured impair or have slots");
        self.sink.observe(at, observation(queue));
    }

    fn lose<P: FlowPacket>(
        &mut self,
        at: Instant,
        link: LinkId,
        packet: &P,
        (reason, waited): (DropReason, Option<Span>),
        backlog: Option<Backlog>,
    ) {
        let queue = self.queues.of(link).expect("only links with a queue drop");
        let PacketLabel { flow, direction, payload_bytes } = packet.label();
        let wire_bytes = packet.wire_bytes();
        let backlog = backlog.map(in_numbers);
        let dropped = Observation::Dropped(Dropped {
            flow,
            direction,
            queue,
            payload_bytes,
            wire_bytes,
            reason,
            waited,
            backlog,
        });
        self.sink.observe(at, dropped);
    }

    /// It was damaged, and has been reported as lost.
    #[cold]
    fn lose_again<P: FlowPacket>(
        &mut self,
        at: Instant,
        link: LinkId,
        packet: &P,
        (reason, waited): (DropReason, Option<Span>),
        backlog: Option<Backlog>,
    ) {
        let queue = self.queues.of(link).expect("only links with a queue drop");
        let (flow, wire_bytes) = (packet.label().flow, packet.wire_bytes());
        let backlog = backlog.map(in_numbers);
        let dropped =
            Observation::DroppedDamaged { flow, queue, wire_bytes, reason, waited, backlog };
        self.sink.observe(at, dropped);
    }
}

/// Packets and bytes of a backlog.
fn in_numbers(backlog: Backlog) -> (u32, u32) {
    (backlog.packets, u32::try_from(backlog.bytes).unwrap_or(u32::MAX))
}
