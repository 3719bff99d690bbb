//! What is between the transmitter and the other end: in order, or impaired.

use super::LinkSpec;
use super::impair::{Fate, ImpairmentModel};
use crate::LinkId;
use crate::event_queue::{Event, EventQueue};
use crate::pool::PacketRef;
use crate::random::derive_seed;
use crate::ring::Ring;
use fairwind_units::{Instant, Span};
use rand::Rng as _;
use rand_pcg::Pcg32;
use std::collections::BTreeMap;

/// A packet that leaves the transmitter.
#[derive(Debug, Clone, Copy)]
pub(super) struct DepartedPacket {
    pub(super) at: Instant,
    pub(super) packet: PacketRef,
    pub(super) insertion: u64,
}

/// A packet that arrives at the other end.
#[derive(Debug, Clone, Copy)]
pub(super) struct ArrivedPacket {
    pub(super) packet: PacketRef,
    /// Whether one that was sent before it is still under way.
    pub(super) has_overtaken: bool,
}

/// A packet under way, with its place in the order of sending.
#[derive(Debug, Clone, Copy)]
struct InFlight {
    delivery: Event,
    packet: PacketRef,
}

impl InFlight {
    const NOTHING: Self = Self { delivery: Event::NEVER, packet: PacketRef::NONE };
}

/// The wire of a link.
pub(super) enum Wire {
    /// All take the same time: the first sent is the first to arrive, and only it is on the agenda.
    InOrder { delay: Span, under_way: Ring<InFlightInOrder> },
    /// Every packet on its own; all are on the agenda.
    Impaired(Box<Impaired>),
}

/// A packet that nothing overtakes.
#[derive(Debug, Clone, Copy)]
pub(super) struct InFlightInOrder(InFlight);

/// A wire on which packets may be lost, doubled, damaged, delayed and overtaken.
pub(super) struct Impaired {
    impairer: ImpairmentModel,
    generator: Pcg32,
    /// By delivery, then in the order of sending.
    under_way: BTreeMap<(Event, u64), PacketRef>,
    /// The numbers of those under way.
    numbers: std::collections::BTreeSet<u64>,
    sent: u64,
}

/// What happens to a packet on a wire without impairments.
const UNIMPAIRED: Fate = Fate { copies: 1, is_corrupted: false };

impl Wire {
    pub(super) fn new(spec: &LinkSpec, seed: u64) -> Self {
        if spec.impairments.is_none() {
            let vacant = InFlightInOrder(InFlight::NOTHING);
            return Self::InOrder { delay: spec.delay, under_way: Ring::with_vacant(vacant) };
        }
        Self::Impaired(Box::new(Impaired {
            impairer: ImpairmentModel::new(&spec.impairments, spec.delay, seed),
            generator: Pcg32::new(derive_seed(seed, u64::MAX), 0),
            under_way: BTreeMap::new(),
            numbers: std::collections::BTreeSet::new(),
            sent: 0,
        }))
    }

    /// What happens to the next packet, which leaves the transmitter at `at`.
    #[inline]
    pub(super) fn fate(&mut self, at: Instant) -> Fate {
        match self {
            Self::InOrder { .. } => UNIMPAIRED,
            Self::Impaired(impaired) => impaired.impairer.fate(at),
        }
    }

    /// What happens to the copy of a packet.
    pub(super) fn fate_of_copy(&mut self) -> Fate {
        match self {
            Self::InOrder { .. } => UNIMPAIRED,
            Self::Impaired(impaired) => impaired.impairer.fate_of_copy(),
        }
    }

    /// A random number for whatever is to be damaged.
    pub(super) fn draw(&mut self) -> u32 {
        match self {
            Self::InOrder { .. } => 0,
            Self::Impaired(impaired) => impaired.generator.next_u32(),
        }
    }

    /// Sends a packet on its way.
    #[inline]
    pub(super) fn send(&mut self, leaving: DepartedPacket, link: LinkId, events: &mut EventQueue) {
        let DepartedPacket { at, packet, insertion } = leaving;
        match self {
            Self::InOrder { delay, under_way } => {
                let delivery = Event::delivery(at + *delay, insertion, link);
                if under_way.is_empty() {
                    events.push(delivery);
                }
                under_way.push_back(InFlightInOrder(InFlight { delivery, packet }));
            }
            Self::Impaired(impaired) => impaired.send(leaving, link, events),
        }
    }

    /// Takes the packet whose delivery is the first on the agenda, and that off it.
    #[inline]
    pub(super) fn deliver(&mut self, events: &mut EventQueue) -> ArrivedPacket {
        let expected = "a delivery on the events has its packet";
        match self {
            Self::InOrder { under_way, .. } => {
                let arrived = under_way.pop_front().expect(expected).0;
                match under_way.front() {
                    Some(next) => events.replace_first(next.0.delivery),
                    None => events.remove_first(),
                }
                ArrivedPacket { packet: arrived.packet, has_overtaken: false }
            }
            Self::Impaired(impaired) => impaired.deliver(events).expect(expected),
        }
    }
}

impl Impaired {
    #[inline(never)]
    fn send(&mut self, leaving: DepartedPacket, link: LinkId, events: &mut EventQueue) {
        let DepartedPacket { at, packet, insertion } = leaving;
        let (arrival, _) = self.impairer.arrival(at, packet.bytes());
        let delivery = Event::delivery(arrival, insertion, link);
        self.sent += 1;
        self.numbers.insert(self.sent);
        self.under_way.insert((delivery, self.sent), packet);
        events.push(delivery);
    }

    #[inline(never)]
    fn deliver(&mut self, events: &mut EventQueue) -> Option<ArrivedPacket> {
        events.remove_first();
        let ((_, number), packet) = self.under_way.pop_first()?;
        let has_overtaken = self.numbers.first().is_some_and(|first| *first < number);
        self.numbers.remove(&number);
        Some(ArrivedPacket { packet, has_overtaken })
    }
}
