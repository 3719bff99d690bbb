//! What connections between two taps have in common, and what the taps have seen.

use super::super::clock::DelayFloor;
use super::super::group::Group;
use super::super::passage::Shared;
use super::super::samples::Spill;
use super::super::scratch::Scratch;
use super::{FlowPairDescription, index, way_and_tap};
use fairwind_measure::Direction;
use fairwind_units::Instant;

/// What every passage adds to, or uses for a packet.
#[derive(Debug)]
pub(super) struct Common {
    pub(super) groups: Vec<Group>,
    /// Delays of what departed at the sender's tap, and at the receiver's.
    pub(super) floors: [DelayFloor; 2],
    pub(super) spill: Spill,
    pub(super) scratch: Scratch,
    /// Where windows count from.
    pub(super) origin: Instant,
    /// What departed before is not judged.
    pub(super) counted_from: Instant,
}

impl Common {
    pub(super) fn new(origin: Instant) -> Self {
        Self {
            groups: Vec::new(),
            floors: [DelayFloor::new(), DelayFloor::new()],
            spill: Spill::new(),
            scratch: Scratch::default(),
            origin,
            counted_from: Instant::ZERO,
        }
    }

    /// Lends it to one direction of a connection.
    #[inline]
    pub(super) fn lend(&mut self, to: &FlowPairDescription, direction: Direction) -> Shared<'_> {
        let (_, tap) = way_and_tap(direction, to.opener);
        Shared {
            group: &mut self.groups[index(to.group)],
            floors: &mut self.floors,
            spill: &mut self.spill,
            scratch: &mut self.scratch,
            origin: self.origin,
            counted_from: self.counted_from.max(to.counted_from),
            connection: to.connection,
            direction,
            tap,
        }
    }
}

/// From when to when a tap has seen packets.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sight {
    pub(super) first: Option<Instant>,
    pub(super) last: Instant,
}

impl Sight {
    /// A packet passes the tap.
    #[inline]
    pub(super) fn note(&mut self, at: Instant) {
        self.last = at;
        if self.first.is_none() {
            self.first = Some(at);
        }
    }
}
