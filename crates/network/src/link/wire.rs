//! What is between the transmitter and the other end: in order, or impaired.

use super::LinkSpec;
use super::impair::{Fate, Impairer};
use crate::LinkId;
use crate::agenda::{Agenda, Due};
use crate::parcel::Parcel;
use crate::random::mixed;
use crate::ring::Ring;
use fairwind_units::{Instant, Span};
use rand::Rng as _;
use rand_pcg::Pcg32;
use std::collections::BTreeMap;

/// A packet that leaves the transmitter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leaving {
    pub(super) at: Instant,
    pub(super) parcel: Parcel,
    pub(super) insertion: u64,
}

/// A packet that arrives at the other end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrived {
    pub(super) parcel: Parcel,
    /// Whether one that was sent before it is still under way.
    pub(super) has_overtaken: bool,
}

/// A packet under way, with its place in the order of sending.
#[derive(Debug, Clone, Copy)]
struct UnderWay {
    delivery: Due,
    parcel: Parcel,
}

impl UnderWay {
    const NOTHING: Self = Self { delivery: Due::NEVER, parcel: Parcel::NONE };
}

/// The wire of a link.
pub(super) enum Wire {
    /// All take the same time: the first sent is the first to arrive, and only it is on the agenda.
    InOrder { delay: Span, under_way: Ring<UnderWayInOrder> },
    /// Every packet on its own; all are on the agenda.
    Impaired(Box<Impaired>),
}

/// A packet that nothing overtakes.
#[derive(Debug, Clone, Copy)]
pub(super) struct UnderWayInOrder(UnderWay);

/// A wire on which packets may be lost, doubled, damaged, delayed and overtaken.
pub(super) struct Impaired {
    impairer: Impairer,
    generator: Pcg32,
    /// By delivery, then in the order of sending.
    under_way: BTreeMap<(Due, u64), Parcel>,
    /// The numbers of those under way.
    numbers: std::collections::BTreeSet<u64>,
    sent: u64,
}

/// What happens to a packet on a wire without impairments.
const UNIMPAIRED: Fate = Fate { copies: 1, is_corrupted: false };

impl Wire {
    pub(super) fn new(spec: &LinkSpec, seed: u64) -> Self {
        if spec.impairments.is_none() {
            let vacant = UnderWayInOrder(UnderWay::NOTHING);
            return Self::InOrder { delay: spec.delay, under_way: Ring::with_vacant(vacant) };
        }
        Self::Impaired(Box::new(Impaired {
            impairer: Impairer::new(&spec.impairments, spec.delay, seed),
            generator: Pcg32::new(mixed(seed, u64::MAX), 0),
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
    pub(super) fn send(&mut self, leaving: Leaving, link: LinkId, agenda: &mut Agenda) {
        let Leaving { at, parcel, insertion } = leaving;
        match self {
            Self::InOrder { delay, under_way } => {
                let delivery = Due::delivery(at + *delay, insertion, link);
                if under_way.is_empty() {
                    agenda.push(delivery);
                }
                under_way.push_back(UnderWayInOrder(UnderWay { delivery, parcel }));
            }
            Self::Impaired(impaired) => impaired.send(leaving, link, agenda),
        }
    }

    /// Takes the packet whose delivery is the first on the agenda, and that off it.
    #[inline]
    pub(super) fn deliver(&mut self, agenda: &mut Agenda) -> Arrived {
        let expected = "a delivery on the agenda has its packet";
        match self {
            Self::InOrder { under_way, .. } => {
                let arrived = under_way.pop_front().expect(expected).0;
                match under_way.front() {
                    Some(next) => agenda.replace_first(next.0.delivery),
                    None => agenda.remove_first(),
                }
                Arrived { parcel: arrived.parcel, has_overtaken: false }
            }
            Self::Impaired(impaired) => impaired.deliver(agenda).expect(expected),
        }
    }
}

impl Impaired {
    #[inline(never)]
    fn send(&mut self, leaving: Leaving, link: LinkId, agenda: &mut Agenda) {
        let Leaving { at, parcel, insertion } = leaving;
        let (arrival, _) = self.impairer.arrival(at, parcel.bytes());
        let delivery = Due::delivery(arrival, insertion, link);
        self.sent += 1;
        self.numbers.insert(self.sent);
        self.under_way.insert((delivery, self.sent), parcel);
        agenda.push(delivery);
    }

    #[inline(never)]
    fn deliver(&mut self, agenda: &mut Agenda) -> Option<Arrived> {
        agenda.remove_first();
        let ((_, number), parcel) = self.under_way.pop_first()?;
        let has_overtaken = self.numbers.first().is_some_and(|first| *first < number);
        self.numbers.remove(&number);
        Some(Arrived { parcel, has_overtaken })
    }
}
