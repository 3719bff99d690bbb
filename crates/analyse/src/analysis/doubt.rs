//! SYNs and resets that the other side of an open connection would not simply believe (RFC 5961).

use super::follower::Follower;
use crate::connection::{Answer, Held, Question, ResetStanding, Side, Turn};
use fairwind_capture::Packet;
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
