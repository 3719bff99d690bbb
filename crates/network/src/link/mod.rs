//! One direction of a link: its description, and the four ways of carrying packets over it.

mod deviate;
mod fused;
mod general;
mod impair;
mod loss;
mod queued;
mod reporter;
mod slotted;
mod traced;
mod transmitter;
mod wire;

pub(crate) use fused::FusedLink;
pub(crate) use general::GeneralLink;
pub(crate) use reporter::LinkReporter;
pub use reporter::{LinkCounters, Volume};
pub(crate) use slotted::SlottedLink;

use crate::event_queue::EventQueue;
use crate::pool::{PacketPool, PacketRef};
use crate::queue::{FifoLimit, QueueDiscipline, build_discipline};
use crate::random;
use crate::topology::LinkDescription;
use crate::{CarrierId, FlowGroups, LinkId, NodeId};
use fairwind_qdisc::{Impairments, Qdisc, RateTrace, Terminal};
use fairwind_units::{BitRate, Instant, Ratio, Span};
use loss::BernoulliLoss;
use queued::LinkCore;
use traced::TraceTransmitter;
use transmitter::Transmitter;
use wire::Wire;

/// One direction of a link. The default is a wire without any effect.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LinkSpec {
    /// Rate of serialisation; `None` takes no time, so that nothing ever waits.
    pub rate: Option<BitRate>,
    /// Instead of the rate: when packets may leave, as recorded.
    pub rate_trace: Option<RateTrace>,
    /// Instead of the rate: slots of a carrier, which are shared with other links.
    pub carrier_access: Option<CarrierAccess>,
    /// Propagation delay.
    pub delay: Span,
    /// The queue in front of the link.
    pub queue: Qdisc,
    /// Probability that a serialised packet is lost, each on its own.
    pub loss: Ratio,
    /// What it does to packets besides taking time.
    pub impairments: Impairments,
    /// Bytes that the link layer adds to every IP packet when it is serialised. Queue limits and
    /// backlogs do not count them.
    pub overhead_bytes: u32,
}

/// Where a link has its slots from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CarrierAccess {
    /// Of this carrier ([`crate::Topology::add_carrier`]).
    pub carrier: CarrierId,
    /// What it may have of it, and how it asks.
    pub terminal: Terminal,
}

impl LinkSpec {
    /// Whether packets pass as if the two nodes were one.
    fn is_transparent(&self) -> bool {
        self.rate.is_none()
            && self.rate_trace.is_none()
            && self.carrier_access.is_none()
            && self.delay.is_zero()
            && self.loss == Ratio::ZERO
            && self.queue == Qdisc::default()
            && self.impairments.is_none()
    }
}

/// A packet as it comes to a link.
pub(crate) struct Arrival {
    pub(crate) at: Instant,
    pub(crate) insertion: u64,
    pub(crate) packet: PacketRef,
}

/// What a link reaches for while it works.
pub(crate) struct LinkContext<'a, P, O> {
    pub(crate) pool: &'a mut PacketPool<P>,
    pub(crate) events: &'a mut EventQueue,
    pub(crate) observer: &'a mut O,
}

/// What happens to a packet between the queue and the other end.
struct Channel {
    transmitter: Transmitter,
    delay: Span,
    loss: BernoulliLoss,
}

impl Channel {
    fn new(spec: &LinkSpec, seed: u64, link: LinkId) -> Self {
        Self {
            transmitter: Transmitter::new(spec.rate, spec.overhead_bytes),
            delay: spec.delay,
            loss: BernoulliLoss::new(spec.loss, seed, link),
        }
    }
}

/// One direction of a link at work.
pub(crate) struct Link {
    pub(crate) to: NodeId,
    pub(crate) kind: LinkKind,
}

/// How a link carries packets.
#[expect(clippy::large_enum_variant, reason = "nearly every link is fused, and one step nearer")]
pub(crate) enum LinkKind {
    /// At once; what passes is counted by the way that it goes (see `routing`).
    Transparent,
    /// First in, first out: departures are known at arrival.
    Fused(FusedLink),
    /// Any queue discipline.
    General(Box<GeneralLink>),
    /// Any queue discipline, in slots.
    CarrierAccess(Box<SlottedLink>),
}

impl Link {
    /// A link that serves `own`, or without one the queue that is described; `terminal` is its number among those of
    /// its carrier.
    pub(crate) fn new(
        link: LinkId,
        description: &LinkDescription,
        own: Option<Box<dyn QueueDiscipline>>,
        terminal: usize,
        (seed, groups): (u64, &FlowGroups),
    ) -> Self {
        let spec = &description.spec;
        let reporter = LinkReporter::new(link);
        let is_plain = spec.impairments.is_none()
            && spec.rate_trace.is_none()
            && spec.carrier_access.is_none();
        let kind = match (own, FifoLimit::of(&spec.queue)) {
            (None, Some(_)) if spec.is_transparent() => LinkKind::Transparent,
            (None, Some(limit)) if is_plain => {
                LinkKind::Fused(FusedLink::new(Channel::new(spec, seed, link), limit, reporter))
            }
            (own, _) => {
                let draws = random::derive_seed(seed, !u64::from(link.0));
                let queue = own.unwrap_or_else(|| build_discipline(&spec.queue, draws, groups));
                let wire = Wire::new(spec, random::derive_seed(draws, u64::MAX));
                let loss = BernoulliLoss::new(spec.loss, seed, link);
                serve(spec, LinkCore::new(queue, wire, loss, reporter), terminal)
            }
        };
        Self { to: description.to, kind }
    }

    /// What happened here; none of a link without effect.
    pub(crate) fn counters(&self) -> Option<LinkCounters> {
        match &self.kind {
            LinkKind::Transparent => None,
            LinkKind::Fused(link) => Some(*link.counters()),
            LinkKind::General(link) => Some(*link.counters()),
            LinkKind::CarrierAccess(link) => Some(*link.counters()),
        }
    }
}

/// What serves a queue: a transmitter, a record of one, or slots.
fn serve(spec: &LinkSpec, served: LinkCore, terminal: usize) -> LinkKind {
    let overhead = spec.overhead_bytes;
    if let Some(access) = spec.carrier_access {
        let carrier = access.carrier.index();
        return LinkKind::CarrierAccess(Box::new(SlottedLink::new(
            carrier, terminal, served, overhead,
        )));
    }
    let traced = spec.rate_trace.as_ref().map(|trace| TraceTransmitter::new(trace, overhead));
    let transmitter = Transmitter::new(spec.rate, overhead);
    LinkKind::General(Box::new(GeneralLink::new(served, transmitter, traced)))
}
