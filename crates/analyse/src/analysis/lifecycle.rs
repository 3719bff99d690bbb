//! Lifecycle steps: new SYNs on known ports (RFC 5961), the part that counts, and retirement.
//!
//! Packets before the counted part are followed like all others, so that outstanding data, round trips and
//! windows are known when the part begins; their counts are discarded one by one. Packets after the part are
//! ignored.

use super::follower::Follower;
use crate::connection::{
    Connection, CountedPart, HeldPacket, LifecycleEvent, PendingSyn, ResetVerdict, Side,
    SynVerdict, TapPosition, count_setup,
};
use crate::stream::RowKey;
use fairwind_capture::Packet;
use fairwind_measure::{ConnectionFlows, FlowId, Observation};
use fairwind_units::Instant;
use fairwind_wire::Flags;

impl Follower {
    /// Whether a packet is a new SYN on the connection's ports, or its answer, and was handled: the SYN is held
    /// until it is answered.
    pub(super) fn is_for_new_connection(
        &mut self,
        slot: u32,
        (tap, at): (usize, Instant),
        side: Side,
        packet: &Packet,
    ) -> bool {
        let Some(connection) = self.connections.get_mut(slot) else { return false };
        let segment = &packet.segment;
        if connection.lifecycle.may_be_reopened_by(side, segment) {
            let held =
                HeldPacket { tap, at, side, event: LifecycleEvent::Foreign, packet: *packet };
            self.hold_syn(slot, held);
            return true;
        }
        let Some(pending_syn) = &mut connection.pending_syn else { return false };
        match pending_syn.on_packet(side, segment) {
            SynVerdict::Undecided => false,
            SynVerdict::Dismissed => {
                self.dismiss_pending_syn(slot);
                false
            }
            SynVerdict::NewConnection => {
                self.retire_for(slot, true);
                self.replay_packet(tap, at, packet);
                true
            }
        }
    }

    /// A SYN requests another connection.
    fn hold_syn(&mut self, slot: u32, held: HeldPacket) {
        let Some(connection) = self.connections.get_mut(slot) else { return };
        if let Some(pending_syn) = &mut connection.pending_syn
            && pending_syn.matches_syn(held.side, &held.packet.segment)
        {
            if pending_syn.add_repeat(held) {
                self.retire_for(slot, true);
            }
            return;
        }
        let silence = held.at.saturating_since(connection.last);
        let is_new_connection = connection.lifecycle.is_probably_over(silence);
        self.dismiss_pending_syn(slot);
        if let Some(connection) = self.connections.get_mut(slot) {
            connection.hold_syn(PendingSyn::new(held, is_new_connection));
        }
    }

    /// The connection goes on: the held SYN counts as one of its packets, without effect.
    fn dismiss_pending_syn(&mut self, slot: u32) {
        let Some(connection) = self.connections.get_mut(slot) else { return };
        let Some(pending_syn) = connection.take_pending_syn() else { return };
        self.count_as_own(slot, pending_syn.into_packets().0);
    }

    /// Counts and measures held packets as packets of the connection.
    fn count_as_own(&mut self, slot: u32, held: Vec<HeldPacket>) {
        for held in held {
            let Some(connection) = self.connections.get_mut(slot) else { return };
            connection.count(held.tap, held.at, held.side, &held.packet);
            self.take(slot, held);
        }
    }

    /// The held SYN when the connection ends: returns the packets that begin another connection, to be replayed
    /// after removal. Other packets count as the connection's own.
    pub(super) fn settle_pending_syn(&mut self, slot: u32, is_answered: bool) -> Vec<HeldPacket> {
        let Some(connection) = self.connections.get_mut(slot) else { return Vec::new() };
        let Some(pending_syn) = connection.take_pending_syn() else { return Vec::new() };
        let (held, is_new_connection) = pending_syn.into_packets();
        if is_new_connection || is_answered {
            return held;
        }
        self.count_as_own(slot, held);
        Vec::new()
    }

    /// The verdict of the receiver on a reset that `side` sends.
    pub(super) fn reset_verdict(&mut self, slot: u32, side: Side, packet: &Packet) -> ResetVerdict {
        let segment = &packet.segment;
        if !segment.flags.contains(Flags::RST) {
            return ResetVerdict::Accepted;
        }
        let Some(connection) = self.connections.get_mut(slot) else {
            return ResetVerdict::Accepted;
        };
        let flow = connection.flows().and_then(|flows| match side {
            Side::Opener => Some(flows.opening),
            Side::Answerer => flows.answering,
        });
        flow.and_then(|flow| self.streams.reset_verdict(flow, segment.sequence))
            .unwrap_or_else(|| connection.lifecycle.reset_verdict_without_data(side, segment))
    }
}

impl Follower {
    /// Measures a packet if only a part of each connection counts.
    #[cold]
    pub(super) fn measure_part(
        &mut self,
        slot: u32,
        tap: usize,
        at: Instant,
        who: (Side, LifecycleEvent),
        packet: &Packet,
    ) {
        let Some(ages) = self.rules.ages else { return };
        let Some(connection) = self.connections.get_mut(slot) else { return };
        let part = ages.part(connection.began, at);
        let before = std::mem::replace(&mut connection.part, part);
        let (from, until) =
            (self.rules.counted_from(connection.began), self.rules.counted_until(connection.began));
        match (before, part) {
            (CountedPart::Before, CountedPart::Within) => self.discard_counts(slot, from),
            (CountedPart::Before | CountedPart::Within, CountedPart::After) => {
                self.discard_if_before(slot);
                self.end_part(slot, until);
            }
            _ => {}
        }
        if part == CountedPart::After {
            return;
        }
        self.measure_any(slot, tap, at, who, packet);
        if part == CountedPart::Before {
            self.discard_counts(slot, at);
        }
    }

    /// Discards the counts of a connection that ends before its part begins.
    pub(super) fn discard_if_before(&mut self, slot: u32) {
        let connection = self.connections.get_mut(slot);
        let Some(connection) = connection.filter(|it| it.part == CountedPart::Before) else {
            return;
        };
        let at = connection.last;
        self.end_part(slot, at);
        self.discard_counts(slot, at);
    }

    /// Discards the counts of a connection up to `at`.
    fn discard_counts(&mut self, slot: u32, at: Instant) {
        let Some(connection) = self.connections.get_mut(slot) else { return };
        let Some(mapping) = connection.mapping else { return };
        for flow in std::iter::once(mapping.flows.opening).chain(mapping.flows.answering) {
            self.streams.reset_flow_counts(flow, at);
            self.collector.reset_flow_counts(flow);
        }
        if let (Some(tap_pair), Some(pair)) = (&mut self.tap_pair, mapping.pair) {
            tap_pair.reset_connection_counts(pair);
        }
    }

    /// The stream of the answers begins late: it counts from the beginning of the part.
    pub(super) fn start_counting_answers(&mut self, slot: u32, flow: FlowId) {
        let Some(connection) = self.connections.get_mut(slot) else { return };
        if self.rules.ages.is_some() && connection.part == CountedPart::Within {
            self.streams.reset_flow_counts(flow, self.rules.counted_from(connection.began));
        }
    }

    /// Stops counting a connection at `at`.
    fn end_part(&mut self, slot: u32, at: Instant) {
        let Some(connection) = self.connections.get_mut(slot) else { return };
        let pair = connection.mapping.and_then(|mapping| mapping.pair);
        if let (Some(tap_pair), Some(pair)) = (&mut self.tap_pair, pair) {
            tap_pair.end(pair, at);
            self.report_losses();
        }
    }
}

impl Follower {
    /// Retires connections whose timeout has expired.
    #[cold]
    pub(super) fn forget_expired(&mut self) {
        while let Some(slot) = self.connections.expired(self.now) {
            self.retire(slot);
        }
    }

    /// Retires a connection: its row is written and its state is freed.
    pub(super) fn retire(&mut self, slot: u32) {
        self.retire_for(slot, false);
    }

    /// Retires a connection; `is_replaced` says that another one has begun on its ports.
    pub(super) fn retire_for(&mut self, slot: u32, is_replaced: bool) {
        let of_another = self.settle_pending_syn(slot, is_replaced);
        self.retire_one(slot);
        for held in of_another {
            self.replay_packet(held.tap, held.at, &held.packet);
        }
    }

    fn retire_one(&mut self, slot: u32) {
        // Without evidence, the tap counts as near the opener.
        self.map_flows_if_undecided(slot);
        self.fail_if_challenged(slot);
        self.close_pair(slot);
        let Some(connection) = self.connections.remove(slot) else { return };
        if let Some(ConnectionFlows { opening, answering }) =
            connection.mapping.map(|mapping| mapping.flows)
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

    /// The index of a flow's group, and the flow's key in tables.
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

    /// No packet followed a reset that lay within the window: the receiver accepted it.
    fn fail_if_challenged(&mut self, slot: u32) {
        let Some(connection) = self.connections.get_mut(slot) else { return };
        if connection.lifecycle.is_reset_challenged() {
            let last = connection.last;
            self.report_event(slot, last, LifecycleEvent::Aborted);
        }
    }

    fn map_flows_if_undecided(&mut self, slot: u32) {
        if self.connections.get_mut(slot).is_some_and(|connection| connection.mapping.is_none()) {
            self.map_flows(slot, TapPosition::Unknown(Side::Opener));
        }
    }
}
