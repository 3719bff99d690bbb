//! Beginning and end of connections: new SYNs on known ports, the part that counts, and retirement.

use super::follower::Follower;
use crate::connection::{
    Answer, Connection, Held, Part, Place, Question, ResetStanding, Side, Turn, count_setup,
};
use crate::stream::RowKey;
use fairwind_capture::Packet;
use fairwind_measure::{ConnectionFlows, FlowId, Observation};
use fairwind_units::Instant;
use fairwind_wire::Flags;

impl Follower {
    /// Whether a packet of a connection is about another one on the same ports that may have begun, and was
    /// taken: a SYN that is held back until it is answered, or the answer.
    pub(super) fn is_about_another(
        &mut self,
        slot: u32,
        (tap, at): (usize, Instant),
        side: Side,
        packet: &Packet,
    ) -> bool {
        let Some(connection) = self.connections.get_mut(slot) else { return false };
        let segment = &packet.segment;
        if connection.life.is_asked_by(side, segment) {
            let held = Held { tap, at, side, turn: Turn::Foreign, packet: *packet };
            self.ask(slot, held);
            return true;
        }
        let Some(question) = &mut connection.question else { return false };
        match question.answered_by(side, segment) {
            Answer::None => false,
            Answer::Dismissed => {
                self.dismiss_question(slot);
                false
            }
            Answer::Anew => {
                self.retire_for(slot, true);
                self.on_known_or_stranger(tap, at, packet);
                true
            }
        }
    }

    /// A SYN asks for another connection.
    fn ask(&mut self, slot: u32, held: Held) {
        let Some(connection) = self.connections.get_mut(slot) else { return };
        if let Some(question) = &mut connection.question
            && question.is_same(held.side, &held.packet.segment)
        {
            if question.repeat(held) {
                self.retire_for(slot, true);
            }
            return;
        }
        let silence = held.at.saturating_since(connection.last);
        let is_likely = connection.life.is_probably_over(silence);
        self.dismiss_question(slot);
        if let Some(connection) = self.connections.get_mut(slot) {
            connection.ask(Question::new(held, is_likely));
        }
    }

    /// The connection goes on, and what was held back is a part of it that means nothing.
    fn dismiss_question(&mut self, slot: u32) {
        let Some(connection) = self.connections.get_mut(slot) else { return };
        let Some(question) = connection.take_question() else { return };
        self.belong(slot, question.settle().0);
    }

    /// Counts and measures what was held back as packets of the connection.
    fn belong(&mut self, slot: u32, held: Vec<Held>) {
        for held in held {
            let Some(connection) = self.connections.get_mut(slot) else { return };
            connection.count(held.tap, held.at, held.side, &held.packet);
            self.take(slot, held);
        }
    }

    /// What was held back when the connection ends: packets that begin another one, which are to be taken
    /// once it is gone. Others become a part of it.
    pub(super) fn settle_question(&mut self, slot: u32, is_answered: bool) -> Vec<Held> {
        let Some(connection) = self.connections.get_mut(slot) else { return Vec::new() };
        let Some(question) = connection.take_question() else { return Vec::new() };
        let (held, is_likely) = question.settle();
        if is_likely || is_answered {
            return held;
        }
        self.belong(slot, held);
        Vec::new()
    }

    /// What the one to whom `side` sends a reset makes of it.
    pub(super) fn standing_of(&mut self, slot: u32, side: Side, packet: &Packet) -> ResetStanding {
        let segment = &packet.segment;
        if !segment.flags.contains(Flags::RST) {
            return ResetStanding::Believed;
        }
        let Some(connection) = self.connections.get_mut(slot) else {
            return ResetStanding::Believed;
        };
        let flow = connection.flows().and_then(|flows| match side {
            Side::Opener => Some(flows.opening),
            Side::Answerer => flows.answering,
        });
        flow.and_then(|flow| self.streams.standing_of(flow, segment.sequence))
            .unwrap_or_else(|| connection.life.standing_without_data(side, segment))
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

impl Follower {
    /// Forgets what has been silent for too long.
    #[cold]
    pub(super) fn forget_expired(&mut self) {
        while let Some(slot) = self.connections.expired(self.now) {
            self.retire(slot);
        }
    }

    /// Ends a connection: its row is written, and what was kept of it is let go.
    pub(super) fn retire(&mut self, slot: u32) {
        self.retire_for(slot, false);
    }

    /// Ends a connection; `is_replaced` says that another one has begun on its ports.
    pub(super) fn retire_for(&mut self, slot: u32, is_replaced: bool) {
        let of_another = self.settle_question(slot, is_replaced);
        self.retire_one(slot);
        for held in of_another {
            self.on_known_or_stranger(held.tap, held.at, &held.packet);
        }
    }

    fn retire_one(&mut self, slot: u32) {
        // What was never decided is counted as near the opener.
        self.wire_if_undecided(slot);
        self.fail_if_doubted(slot);
        self.close_crossing(slot);
        let Some(connection) = self.connections.remove(slot) else { return };
        if let Some(ConnectionFlows { opening, answering }) =
            connection.wiring.map(|wiring| wiring.flows)
        {
            self.retire_flow(&connection, opening, Side::Opener);
            if let Some(flow) = answering {
                self.retire_flow(&connection, flow, Side::Answerer);
            }
        }
        let record = connection.record();
        count_setup(&mut self.setups, &record);
        self.records.push(record);
    }

    fn retire_flow(&mut self, connection: &Connection, flow: FlowId, side: Side) {
        let at = connection.last;
        let counted_until = self.rules.counted_until(connection.began).min(at);
        let (group, subject) = self.subject(connection, flow, side);
        let number = subject.flow;
        let timeouts = self.streams.retire(flow, counted_until, group, subject);
        if timeouts > 0 {
            self.waits.settle(number);
        }
        for _ in 0..timeouts {
            self.collector.observe(at, Observation::Timeout { flow });
        }
        self.collector.retire(flow, at);
    }

    /// The place of a flow's group, and what the flow is called in tables.
    pub(super) fn subject(
        &self,
        connection: &Connection,
        flow: FlowId,
        side: Side,
    ) -> (usize, RowKey) {
        let group = self.groups.of_flow(connection, side);
        let group = usize::try_from(group).expect("groups are held in memory");
        let subject = RowKey {
            flow: self.collector.number_of(flow),
            name: connection.flow_name(side),
            group: self.groups.names[group].clone(),
        };
        (group, subject)
    }

    /// Nothing came behind a reset that lay within the window: it was believed.
    fn fail_if_doubted(&mut self, slot: u32) {
        let Some(connection) = self.connections.get_mut(slot) else { return };
        if connection.life.is_reset_doubted() {
            let last = connection.last;
            self.tell(slot, last, Turn::Aborted);
        }
    }

    fn wire_if_undecided(&mut self, slot: u32) {
        if self.connections.get_mut(slot).is_some_and(|connection| connection.wiring.is_none()) {
            self.wire(slot, Place::Unknown(Side::Opener));
        }
    }
}
