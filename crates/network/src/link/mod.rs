//! Links: their kinds, and which kind carries a link of a topology.

mod context;
mod delay;
mod fused;
mod general;
mod loss;
mod slotted;
mod transmitter;
mod wire;

pub(crate) use context::{Arrival, LinkContext};
pub use context::{LinkCounters, Volume};
pub(crate) use fused::FusedLink;
pub(crate) use general::GeneralLink;
pub(crate) use slotted::SlottedLink;

use crate::queue::{FifoLimit, QueueDiscipline, build_discipline};
use crate::random::derive_seed;
use crate::topology::{LinkDescription, LinkSpec};
use crate::{FlowGroups, LinkId, NodeId};
use context::LinkReporter;
use fused::Channel;
use general::LinkCore;
use loss::BernoulliLoss;
use transmitter::{TraceTransmitter, Transmitter};
use wire::Wire;

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
    Slotted(Box<SlottedLink>),
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
                let draws = derive_seed(seed, !u64::from(link.0));
                let queue = own.unwrap_or_else(|| build_discipline(&spec.queue, draws, groups));
                let wire = Wire::new(spec, derive_seed(draws, u64::MAX));
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
            LinkKind::Slotted(link) => Some(*link.counters()),
        }
    }
}

/// What serves a queue: a transmitter, a record of one, or slots.
fn serve(spec: &LinkSpec, served: LinkCore, terminal: usize) -> LinkKind {
    let overhead = spec.overhead_bytes;
    if let Some(access) = spec.carrier_access {
        let carrier = access.carrier.index();
        return LinkKind::Slotted(Box::new(SlottedLink::new(carrier, terminal, served, overhead)));
    }
    let traced = spec.rate_trace.as_ref().map(|trace| TraceTransmitter::new(trace, overhead));
    let transmitter = Transmitter::new(spec.rate, overhead);
    LinkKind::General(Box::new(GeneralLink::new(served, transmitter, traced)))
}
