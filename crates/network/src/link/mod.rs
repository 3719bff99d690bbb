//! Links: their kinds, and which kind carries a link of a topology.
//!
//! Most links take a [`FastPath`]; every other one is general, or slotted if a carrier assigns its slots.

mod counters;
mod delay;
mod fused;
mod general;
mod loss;
mod slotted;
mod transmitter;
mod wire;

pub(crate) use counters::{Arrival, LinkContext};
pub use counters::{LinkCounters, Volume};
pub(crate) use fused::FusedLink;
pub(crate) use general::GeneralLink;
pub(crate) use slotted::SlottedLink;

use crate::packet::derive_seed;
use crate::queue::{FifoLimit, QueueDiscipline, build_discipline};
use crate::topology::{LinkDescription, LinkSpec};
use crate::{FlowGroups, LinkId, NodeId};
use counters::LinkReporter;
use fairwind_qdisc::Qdisc;
use fairwind_units::Ratio;
use fused::Channel;
use general::LinkCore;
use loss::BernoulliLoss;
use transmitter::{TraceTransmitter, Transmitter};
use wire::Wire;

/// One direction of a link.
pub(crate) struct Link {
    pub(crate) to: NodeId,
    pub(crate) kind: LinkKind,
}

/// How a link carries packets.
#[expect(clippy::large_enum_variant, reason = "nearly every link is fused, and a box costs a jump")]
pub(crate) enum LinkKind {
    /// At once; routing counts the packets (see `routing`).
    Transparent,
    /// First in, first out: a packet's departure is known when it arrives.
    Fused(FusedLink),
    /// Any queue discipline.
    General(Box<GeneralLink>),
    /// Any queue discipline, in slots of a carrier.
    Slotted(Box<SlottedLink>),
}

/// The fast paths of links. Each equals the general link in every delivery, drop and report, which the property test
/// `fused_and_general_links_agree` checks.
#[derive(Debug, Clone, Copy)]
enum FastPath {
    /// The link has no effect. Saves 19 % of the instructions of the example `hop_cost`.
    Transparent,
    /// FIFO queue, transmitter and wire in one. Saves half of the instructions per packet (`discipline_cost`).
    Fused(FifoLimit),
}

impl FastPath {
    /// The fast path of a link: its queue is FIFO, and nothing but loss makes its packets differ in their fate. The link
    /// is transparent if it also takes no time and loses nothing.
    fn of(spec: &LinkSpec) -> Option<Self> {
        let limit = FifoLimit::of(&spec.queue)?;
        if !spec.impairments.is_none() || spec.rate_trace.is_some() || spec.carrier_access.is_some()
        {
            return None;
        }
        let has_effect = spec.rate.is_some()
            || !spec.delay.is_zero()
            || spec.loss != Ratio::ZERO
            || spec.queue != Qdisc::default();
        Some(if has_effect { Self::Fused(limit) } else { Self::Transparent })
    }
}

impl Link {
    /// Builds a link that serves `custom`, or else the queue of its description; `terminal` is its number among the
    /// terminals of its carrier.
    pub(crate) fn new(
        link: LinkId,
        description: &LinkDescription,
        custom: Option<Box<dyn QueueDiscipline>>,
        terminal: usize,
        (seed, groups): (u64, &FlowGroups),
    ) -> Self {
        let spec = &description.spec;
        let fast_path = FastPath::of(spec).filter(|_| custom.is_none());
        let kind = match fast_path {
            Some(FastPath::Transparent) => LinkKind::Transparent,
            Some(FastPath::Fused(limit)) => {
                let channel = Channel::new(spec, seed, link);
                LinkKind::Fused(FusedLink::new(channel, limit, LinkReporter::new(link)))
            }
            None => {
                let draws = derive_seed(seed, !u64::from(link.0));
                let queue = custom.unwrap_or_else(|| build_discipline(&spec.queue, draws, groups));
                let wire = Wire::new(spec, derive_seed(draws, u64::MAX));
                let loss = BernoulliLoss::new(spec.loss, seed, link);
                let core = LinkCore::new(queue, wire, loss, LinkReporter::new(link));
                general_kind(spec, core, terminal)
            }
        };
        Self { to: description.to, kind }
    }

    /// Counters of the link; `None` if it is transparent.
    pub(crate) fn counters(&self) -> Option<LinkCounters> {
        match &self.kind {
            LinkKind::Transparent => None,
            LinkKind::Fused(link) => Some(*link.counters()),
            LinkKind::General(link) => Some(*link.counters()),
            LinkKind::Slotted(link) => Some(*link.counters()),
        }
    }
}

/// A link that serves its queue with a transmitter, along a rate trace, or in slots.
fn general_kind(spec: &LinkSpec, core: LinkCore, terminal: usize) -> LinkKind {
    let overhead = spec.overhead_bytes;
    if let Some(access) = spec.carrier_access {
        let carrier = access.carrier.index();
        return LinkKind::Slotted(Box::new(SlottedLink::new(carrier, terminal, core, overhead)));
    }
    let trace = spec.rate_trace.as_ref().map(|trace| TraceTransmitter::new(trace, overhead));
    let transmitter = Transmitter::new(spec.rate, overhead);
    LinkKind::General(Box::new(GeneralLink::new(core, transmitter, trace)))
}
