//! The part of each connection that counts, where it is not all of it.
//!
//! What comes before the part is followed as anything else, so that it is known what is outstanding, how long round
//! trips are and what windows mean when the part begins; what was counted of it is forgotten packet by packet. Of
//! what comes behind the part nothing is told.

use super::follower::{Follower, Rules};
use super::settings::Settings;
use crate::connection::{Part, Side, Turn};
use fairwind_capture::Packet;
use fairwind_measure::FlowId;
use fairwind_units::{Instant, Span};

/// From which age of a connection on, and up to which one, it counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ages {
    from: Span,
    until: Option<Span>,
}

impl Ages {
    /// Those that are asked for; `None` where all of each connection is.
    pub(super) fn of(settings: &Settings) -> Option<Self> {
        let (from, until) = (settings.connection_from, settings.connection_until);
        (from > Span::ZERO || until.is_some()).then_some(Self { from, until })
    }

    /// Where a packet at `at` of a connection that began at `began` lies.
    fn part(self, began: Instant, at: Instant) -> Part {
        let age = at.saturating_since(began);
        if self.until.is_some_and(|until| age >= until) {
            Part::Behind
        } else if age < self.from {
            Part::Before
        } else {
            Part::Within
        }
    }
}

impl Rules {
    /// When a connection that began at `began` begins to count.
    pub(super) fn counted_from(&self, began: Instant) -> Instant {
        self.ages.map_or(Instant::ZERO, |ages| began + ages.from)
    }

    /// When it counts no more.
    pub(super) fn counted_until(&self, began: Instant) -> Instant {
        let until = self.ages.and_then(|ages| ages.until);
        until.map_or(Instant::MAX, |until| began + until)
    }
}

impl Follower {
    /// Tells the measures of a packet, where only a part of each connection counts.
    #[cold]
    pub(super) fn measure_part(
        &mut self,
        slot: u32,
        tap: usize,
        at: Instant,
        who: (Side, Turn),
        packet: &Packet,
    ) {
        let Some(ages) = self.rules.ages else { return };
        let Some(connection) = self.connections.get_mut(slot) else { return };
        let part = ages.part(connection.began, at);
        let before = std::mem::replace(&mut connection.part, part);
        let (from, until) =
            (self.rules.counted_from(connection.began), self.rules.counted_until(connection.began));
        match (before, part) {
            (Part::Before, Part::Within) => self.forget(slot, from),
            (Part::Before | Part::Within, Part::Behind) => {
                self.forget_if_before(slot);
                self.end_part(slot, until);
            }
            _ => {}
        }
        if part == Part::Behind {
            return;
        }
        self.measure_any(slot, tap, at, who, packet);
        if part == Part::Before {
            self.forget(slot, at);
        }
    }

    /// Forgets what a connection has counted that is over before it is old enough.
    pub(super) fn forget_if_before(&mut self, slot: u32) {
        let connection = self.connections.get_mut(slot);
        let Some(connection) = connection.filter(|it| it.part == Part::Before) else { return };
        let at = connection.last;
        self.end_part(slot, at);
        self.forget(slot, at);
    }

    /// Forgets what was counted of a connection up to `at`.
    fn forget(&mut self, slot: u32, at: Instant) {
        let Some(connection) = self.connections.get_mut(slot) else { return };
        let Some(wiring) = connection.wiring else { return };
        for flow in std::iter::once(wiring.flows.opening).chain(wiring.flows.answering) {
            self.streams.reset_flow_counts(flow, at);
            self.collector.reset_flow_counts(flow);
        }
        if let (Some(joint), Some(crossing)) = (&mut self.joint, wiring.crossing) {
            joint.reset_connection_counts(crossing);
        }
    }

    /// The stream of a connection's answers, which is told of now, counts since the part has begun.
    pub(super) fn begin_part_of_answers(&mut self, slot: u32, flow: FlowId) {
        let Some(connection) = self.connections.get_mut(slot) else { return };
        if self.rules.ages.is_some() && connection.part == Part::Within {
            self.streams.reset_flow_counts(flow, self.rules.counted_from(connection.began));
        }
    }

    /// Nothing of a connection counts from `at` on.
    fn end_part(&mut self, slot: u32, at: Instant) {
        let Some(connection) = self.connections.get_mut(slot) else { return };
        let crossing = connection.wiring.and_then(|wiring| wiring.crossing);
        if let (Some(joint), Some(crossing)) = (&mut self.joint, crossing) {
            joint.end(crossing, at);
            self.lose_found();
        }
    }
}
