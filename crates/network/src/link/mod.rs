//! One direction of a link: its description, and the three ways of carrying packets over it.

mod deviate;
mod fused;
mod general;
mod impair;
mod ledger;
mod loss;
mod traced;
mod transmitter;
mod wire;

pub(crate) use fused::FusedLink;
pub(crate) use general::GeneralLink;
pub(crate) use ledger::Ledger;
pub use ledger::{LinkCounters, Volume};

use crate::agenda::Agenda;
use crate::parcel::{Depot, Parcel};
use crate::queue::{FifoLimit, QueueDiscipline, discipline};
use crate::random;
use crate::topology::LinkDescription;
use crate::{Groups, LinkId, NodeId};
use fairwind_qdisc::{Impairments, Qdisc, RateTrace};
use fairwind_units::{BitRate, Instant, Ratio, Span};
use loss::BernoulliLoss;
use traced::Traced;
use transmitter::Transmitter;
use wire::Wire;

/// One direction of a link. The default is a wire without any effect.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LinkSpec {
    /// Rate of serialisation; `None` takes no time, so that nothing ever waits.
    pub rate: Option<BitRate>,
    /// Instead of the rate: when packets may leave, as recorded.
    pub rate_trace: Option<RateTrace>,
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

impl LinkSpec {
    /// Whether packets pass as if the two nodes were one.
    fn is_transparent(&self) -> bool {
        self.rate.is_none()
            && self.rate_trace.is_none()
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
    pub(crate) parcel: Parcel,
}

/// What a link reaches for while it works.
pub(crate) struct Surroundings<'a, P, O> {
    pub(crate) depot: &'a mut Depot<P>,
    pub(crate) agenda: &'a mut Agenda,
    pub(crate) observer: &'a mut O,
}

/// What happens to a packet between the queue and the other end.
struct Carriage {
    transmitter: Transmitter,
    delay: Span,
    loss: BernoulliLoss,
}

impl Carriage {
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
    /// At once.
    Transparent(Ledger),
    /// First in, first out: departures are known at arrival.
    Fused(FusedLink),
    /// Any queue discipline.
    General(Box<GeneralLink>),
}

impl Link {
    /// A link that serves `own`, or without one the queue that is described.
    pub(crate) fn new(
        link: LinkId,
        description: &LinkDescription,
        own: Option<Box<dyn QueueDiscipline>>,
        seed: u64,
        groups: &Groups,
    ) -> Self {
        let spec = &description.spec;
        let carriage = Carriage::new(spec, seed, link);
        let ledger = Ledger::new(link);
        let kind = match (own, FifoLimit::of(&spec.queue)) {
            (None, Some(_)) if spec.is_transparent() => LinkKind::Transparent(ledger),
            (None, Some(limit)) if spec.impairments.is_none() && spec.rate_trace.is_none() => {
                LinkKind::Fused(FusedLink::new(carriage, limit, ledger))
            }
            (own, _) => {
                let draws = random::mixed(seed, !u64::from(link.0));
                let queue = own.unwrap_or_else(|| discipline(&spec.queue, draws, groups));
                let wire = Wire::new(spec, random::mixed(draws, u64::MAX));
                let trace = spec.rate_trace.as_ref();
                let traced = trace.map(|trace| Traced::new(trace, spec.overhead_bytes));
                LinkKind::General(Box::new(GeneralLink::new(carriage, traced, queue, wire, ledger)))
            }
        };
        Self { to: description.to, kind }
    }

    pub(crate) fn counters(&self) -> &LinkCounters {
        match &self.kind {
            LinkKind::Transparent(ledger) => &ledger.counters,
            LinkKind::Fused(link) => link.counters(),
            LinkKind::General(link) => link.counters(),
        }
    }
}
