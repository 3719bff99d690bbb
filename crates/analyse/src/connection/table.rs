//! Table of all open connections, and their timeouts.

use super::directory::{Directory, NO_SLOT, Slots};
use super::endpoints::{Ends, Sent, Side, flow_name};
use super::lifecycle::{
    HeldPacket, Lifecycle, LifecycleEvent, PendingSyn, Phase, ResetVerdict, Syns,
};
use super::tables::{Record, SetUpTimes};
use super::vantage::{CountedPart, TapMapping, TapPosition};
use crate::turns::Turns;
use fairwind_capture::Packet;
use fairwind_measure::{ConnectionFlows, EarlyPackets};
use fairwind_units::{Instant, Span};
use fairwind_wire::{Flags, Segment};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::SocketAddr;

/// Stale entries in the queue of timeouts that are tolerated, besides a few for each open connection.
const MOST_STALE: usize = 1000;

/// Silence after which a connection is removed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timeouts {
    /// After its end, for late packets.
    pub(crate) linger: Span,
    /// During the handshake, and when half-closed.
    pub(crate) half_open: Span,
    /// While established; `None`: never.
    pub(crate) idle: Option<Span>,
}

/// One open connection.
///
/// Fields that every packet needs come first in memory. With thousands of connections each cache line is a
/// miss, so that the first line must say whether a slot is in use: through the niche of the first field that
/// has the most spare values, which is `due_at`.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Connection {
    /// The mapping to flows, once the position of the tap is known.
    pub(crate) mapping: Option<TapMapping>,
    opener_is_low: bool,
    /// Whether the phase is [`Phase::Open`] and nothing is pending; cached because every packet asks.
    is_open: bool,
    /// Whether the SYN-ACK has left the tap near the answerer and was not acknowledged there.
    awaits_acknowledgment: bool,
    /// Window of the opener's last packet after its SYN, before the answerer's first data.
    pub(crate) early_window: Option<u16>,
    pub(crate) last: Instant,
    /// When its timeout is checked next.
    due_at: Option<Instant>,
    pub(crate) longest_silence: Span,
    pub(crate) began: Instant,
    /// What each side sent, counted at each tap.
    sent: [[Sent; 2]; 2],
    /// Its turns at each tap.
    pub(crate) turns: [Turns; 2],
    pub(crate) lifecycle: Lifecycle,
    pub(crate) ends: Ends,
    pub(crate) number: u64,
    pub(crate) is_guessed: bool,
    /// Its group as a connection, in the tables `connections` and `setups`.
    pub(crate) group: u32,
    /// The tap that saw it first, where its lifecycle is followed.
    pub(crate) first_tap: usize,
    /// Counts to be reattributed if data goes both ways.
    pub(crate) early: BeforeAnswers,
    /// Its packets while the position of the tap is unknown.
    pub(crate) held_packets: Vec<HeldPacket>,
    /// The part in which its last packet lay.
    pub(crate) part: CountedPart,
    /// A SYN that may begin another connection on its ports.
    pub(crate) pending_syn: Option<Box<PendingSyn>>,
}

/// What passed before the first data of the answerer, and belongs to its flow.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BeforeAnswers {
    pub(crate) packets: EarlyPackets,
    /// When the first SYN-ACK left the tap near the answerer, if that was not the first tap.
    pub(crate) answered_at: Option<Instant>,
    /// SYN-ACKs that left there.
    pub(crate) answers: u32,
    /// When the acknowledgment arrived there.
    pub(crate) acknowledged_at: Option<Instant>,
}

impl BeforeAnswers {
    /// Counts a packet of `side` that departs or arrives.
    #[inline]
    pub(crate) fn count(&mut self, leaves: bool, side: Side, packet: &Packet) {
        let has_length = packet.segment.sequence_length() > 0;
        let early = &mut self.packets;
        let count = match (side, has_length, leaves) {
            (Side::Opener, false, true) => &mut early.bare_sent,
            (Side::Opener, false, false) => &mut early.bare_received,
            (Side::Answerer, true, true) => &mut early.answer_sent,
            (Side::Answerer, true, false) => &mut early.answer_received,
            _ => return,
        };
        count.add(packet.wire_bytes);
    }
}

impl Connection {
    /// The side that sent a packet.
    #[inline]
    pub(crate) const fn side(&self, low_sent: bool) -> Side {
        if low_sent == self.opener_is_low { Side::Opener } else { Side::Answerer }
    }

    /// Whether packets without SYN, FIN and RST only have to be counted and measured.
    #[inline]
    pub(crate) const fn is_plain(&self) -> bool {
        self.is_open && self.mapping.is_some()
    }

    /// Its flows, once mapped.
    #[inline]
    pub(crate) fn flows(&self) -> Option<ConnectionFlows> {
        self.mapping.as_ref().map(|mapping| mapping.flows)
    }

    /// Prefetches the fields that a packet of this end changes.
    #[inline]
    pub(crate) const fn prefetch(&self, low_sent: bool) -> u64 {
        let [of_sides, _] = &self.sent;
        self.longest_silence.as_nanos() ^ of_sides[self.side(low_sent).index()].packets
    }

    /// Takes a packet that may change the lifecycle.
    pub(crate) fn on_lifecycle_packet(
        &mut self,
        at: Instant,
        side: Side,
        segment: &Segment,
        verdict: ResetVerdict,
    ) -> LifecycleEvent {
        let event = self.lifecycle.on_segment(at, side, segment, verdict);
        self.update_is_open();
        event
    }

    /// Holds a SYN that may begin another connection.
    pub(crate) fn hold_syn(&mut self, pending_syn: PendingSyn) {
        self.pending_syn = Some(Box::new(pending_syn));
        self.update_is_open();
    }

    /// Takes the pending SYN, which is decided.
    pub(crate) fn take_pending_syn(&mut self) -> Option<PendingSyn> {
        let pending_syn = self.pending_syn.take().map(|pending_syn| *pending_syn);
        self.update_is_open();
        pending_syn
    }

    fn update_is_open(&mut self) {
        self.is_open = self.lifecycle.phase == Phase::Open
            && self.pending_syn.is_none()
            && !self.lifecycle.is_reset_challenged();
    }

    /// Address and port of `side`.
    pub(crate) fn end(&self, side: Side) -> SocketAddr {
        self.ends.end((side == Side::Opener) == self.opener_is_low)
    }

    /// Counts a packet of `side`.
    #[inline]
    pub(crate) fn count(&mut self, tap: usize, at: Instant, side: Side, packet: &Packet) {
        let silence = at.saturating_since(self.last);
        if silence > self.longest_silence {
            self.longest_silence = silence;
        }
        self.last = self.last.max(at);
        self.sent[tap & 1][side.index()].count(packet);
    }

    /// A SYN-ACK leaves the tap near the answerer, which was not the first tap.
    pub(crate) fn on_syn_ack_left(&mut self, at: Instant) {
        self.early.answered_at.get_or_insert(at);
        self.early.answers = self.early.answers.saturating_add(1);
        self.awaits_acknowledgment = self.early.acknowledged_at.is_none();
    }

    /// A packet of the opener passes the tap that serves the answerer's data, before there is any.
    #[inline]
    pub(crate) fn on_opener_packet(&mut self, at: Instant, segment: &Segment) {
        if segment.flags.contains(Flags::SYN) {
            return;
        }
        self.early_window = Some(segment.window);
        if self.awaits_acknowledgment && segment.flags.contains(Flags::ACK) {
            self.early.acknowledged_at = Some(at);
            self.awaits_acknowledgment = false;
        }
    }

    /// Whether a packet of `side` carries data of the answerer.
    #[inline]
    pub(crate) fn is_first_answer_data(&self, side: Side, segment: &Segment) -> bool {
        side == Side::Answerer
            && segment.payload_bytes > 0
            && !self.lifecycle.is_before_data(side, segment)
    }

    /// The SYNs as they passed the tap that serves the answerer's data, and when the SYN-ACK was acknowledged
    /// there, if it was sent once.
    pub(crate) fn set_up_at(&self, is_first_tap: bool) -> (Syns, Option<Instant>) {
        let mut syns = self.lifecycle.syns();
        if is_first_tap {
            let was_sent_once =
                self.lifecycle.syn_of(Side::Answerer).is_some_and(|offer| offer.times == 1);
            return (syns, self.lifecycle.established_at.filter(|_| was_sent_once));
        }
        for (_, (at, _)) in syns.iter_mut().filter(|(side, _)| *side == Side::Answerer) {
            *at = self.early.answered_at.unwrap_or(*at);
        }
        (syns, self.early.acknowledged_at.filter(|_| self.early.answers == 1))
    }

    /// Its row in the table `connections`.
    pub(crate) fn record(&self) -> Record {
        let retries =
            |side| self.lifecycle.syn_of(side).map_or(0, |offer| offer.times.saturating_sub(1));
        Record {
            number: self.number,
            opener: self.end(Side::Opener),
            answerer: self.end(Side::Answerer),
            group: self.group,
            is_guessed: self.is_guessed,
            began: self.began,
            last: self.last,
            longest_silence: self.longest_silence,
            place: self.mapping.map_or(TapPosition::Unknown(Side::Opener), |mapping| mapping.place),
            taps: self.taps(),
            times: SetUpTimes::of(&self.lifecycle),
            beginning: self.lifecycle.beginning,
            set_up: self.lifecycle.set_up(),
            ending: self.lifecycle.ending(),
            ended_by: self.lifecycle.ended_by(),
            is_simultaneous: self.lifecycle.is_simultaneous,
            sent: self.sent_by_sides(),
            syn_records: [Side::Opener, Side::Answerer]
                .map(|side| self.lifecycle.syn_of(side).copied()),
            retries: [Side::Opener, Side::Answerer].map(retries),
        }
    }

    /// Whether both taps have seen it.
    pub(crate) fn is_seen_at_both(&self) -> bool {
        self.is_seen_at(0) && self.is_seen_at(1)
    }

    fn is_seen_at(&self, tap: usize) -> bool {
        self.sent[tap].iter().any(|sent| sent.packets > 0)
    }

    /// The name of the flow of the data that `side` sends.
    pub(crate) fn flow_name(&self, side: Side) -> String {
        flow_name(self.end(side), self.end(side.other()))
    }

    /// The taps that have seen it.
    fn taps(&self) -> &'static str {
        let [first, second] = [0, 1].map(|tap| self.is_seen_at(tap));
        match (first, second) {
            (true, true) => "both",
            (false, true) => "second",
            _ => "first",
        }
    }

    /// What each side sent: counted where it departed if a tap saw that, otherwise where it passed or arrived.
    fn sent_by_sides(&self) -> [Sent; 2] {
        [Side::Opener, Side::Answerer].map(|side| {
            let leaves =
                |tap: &usize| self.mapping.is_some_and(|mapping| mapping.leaves(*tap, side));
            let has_seen = |tap: &usize| self.is_seen_at(*tap);
            let tap = [0, 1].into_iter().filter(has_seen).max_by_key(leaves).unwrap_or(0);
            self.sent[tap][side.index()]
        })
    }

    /// When it times out without further packets; `None`: never.
    fn due(&self, timeouts: &Timeouts) -> Option<Instant> {
        let timeouts = match self.lifecycle.phase {
            Phase::Closed => Some(timeouts.linger),
            Phase::Opening | Phase::Closing => Some(timeouts.half_open),
            Phase::Open => timeouts.idle,
        }?;
        Some(self.last + timeouts)
    }
}

/// Slot of a packet's connection, and which end sent it. Valid until a connection is added or removed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SlotHint {
    changes: u64,
    /// The slot, or [`NO_SLOT`].
    pub(crate) slot: u32,
    /// Whether the lower end sent the packet.
    pub(crate) low_sent: bool,
}

impl SlotHint {
    /// No lookup was made.
    pub(crate) const NONE: Self = Self { changes: u64::MAX, slot: NO_SLOT, low_sent: false };
}

/// Open connections by endpoints.
#[derive(Debug)]
pub(crate) struct Connections {
    directory: Directory,
    slots: Slots<Connection>,
    /// Timeouts to check: instant, number and slot. The latest entry of a connection counts.
    due: BinaryHeap<Reverse<(Instant, u64, u32)>>,
    /// When [`Connections::expired`] has something to check.
    pub(crate) next_due: Instant,
    timeouts: Timeouts,
    /// Connections so far.
    pub(crate) began: u64,
    /// Changes to the directory.
    changes: u64,
}

impl Connections {
    pub(crate) fn new(timeouts: Timeouts) -> Self {
        Self {
            directory: Directory::new(),
            slots: Slots::new(),
            due: BinaryHeap::new(),
            next_due: Instant::MAX,
            timeouts,
            began: 0,
            changes: 0,
        }
    }

    /// The present slot of the connection of `packet`.
    #[inline]
    pub(crate) fn hint(&self, packet: &Packet) -> SlotHint {
        let (ends, low_sent) = Ends::of(packet);
        let slot = self.directory.find(&ends);
        SlotHint { changes: self.changes, slot, low_sent }
    }

    /// The present slot; without a lookup if `hint` is still valid.
    #[inline]
    pub(crate) fn verified(&self, hint: SlotHint, packet: &Packet) -> SlotHint {
        if hint.changes == self.changes { hint } else { self.hint(packet) }
    }

    #[inline]
    pub(crate) fn get(&self, slot: u32) -> Option<&Connection> {
        self.slots.get(slot)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, slot: u32) -> Option<&mut Connection> {
        self.slots.get_mut(slot)
    }

    /// Adds a connection with its first packet; returns its slot.
    ///
    /// The opener is the sender of a SYN or the receiver of a SYN-ACK. Otherwise it is guessed that the lower
    /// port belongs to the answerer, since service ports are mostly lower; with equal ports the sender is the
    /// opener.
    pub(crate) fn begin(&mut self, tap: usize, at: Instant, packet: &Packet, group: u32) -> u32 {
        let (ends, low_sent) = Ends::of(packet);
        let segment = &packet.segment;
        let is_syn = segment.flags.contains(Flags::SYN);
        let sender_opened = if is_syn {
            !segment.flags.contains(Flags::ACK)
        } else {
            segment.source_port >= segment.destination_port
        };
        let lifecycle = Lifecycle::new(segment);
        let connection = Connection {
            mapping: None,
            is_open: lifecycle.phase == Phase::Open,
            awaits_acknowledgment: false,
            early_window: None,
            opener_is_low: sender_opened == low_sent,
            last: at,
            longest_silence: Span::ZERO,
            sent: [[Sent::default(); 2]; 2],
            lifecycle,
            ends,
            number: self.began,
            began: at,
            is_guessed: !is_syn,
            group,
            first_tap: tap,
            turns: Default::default(),
            early: BeforeAnswers::default(),
            held_packets: Vec::new(),
            part: CountedPart::default(),
            pending_syn: None,
            due_at: None,
        };
        self.began += 1;
        self.changes += 1;
        let slot = self.slots.insert(connection);
        self.directory.insert(&ends, slot);
        self.schedule(slot);
        slot
    }

    /// Schedules the timeout of a connection; to be called when its phase has changed.
    pub(crate) fn schedule(&mut self, slot: u32) {
        let Some(connection) = self.slots.get_mut(slot) else { return };
        let Some(due) = connection.due(&self.timeouts) else { return };
        // An earlier check reschedules itself.
        if connection.due_at.is_none_or(|due_at| due < due_at) {
            connection.due_at = Some(due);
            self.due.push(Reverse((due, connection.number, slot)));
            self.next_due = self.next_due.min(due);
        }
    }

    /// A connection that has timed out by `now`; to be called until `None`.
    pub(crate) fn expired(&mut self, now: Instant) -> Option<u32> {
        while let Some(&Reverse((due, number, slot))) = self.due.peek() {
            if due > now {
                self.next_due = due;
                return None;
            }
            self.due.pop();
            let counts = |open: &&mut Connection| open.number == number && open.due_at == Some(due);
            let Some(connection) = self.slots.get_mut(slot).filter(counts) else { continue };
            connection.due_at = connection.due(&self.timeouts);
            match connection.due_at {
                Some(due) if due <= now => return Some(slot),
                Some(due) => self.due.push(Reverse((due, number, slot))),
                None => {}
            }
        }
        self.next_due = Instant::MAX;
        None
    }

    /// Removes a connection.
    pub(crate) fn remove(&mut self, slot: u32) -> Option<Connection> {
        let connection = self.slots.remove(slot)?;
        self.directory.remove(&connection.ends);
        self.changes += 1;
        if self.due.len() > MOST_STALE + 4 * self.slots.len() {
            let slots = &self.slots;
            let is_of = |number: u64| move |open: &Connection| open.number == number;
            self.due
                .retain(|Reverse((_, number, slot))| slots.get(*slot).is_some_and(is_of(*number)));
        }
        Some(connection)
    }

    /// All open connections, in the order in which they began.
    pub(crate) fn open(&self) -> Vec<(u32, &Connection)> {
        let mut open: Vec<_> = self.slots.iter().collect();
        open.sort_by_key(|(_, connection)| connection.number);
        open
    }

    /// Changes all open connections.
    pub(crate) fn each_mut(&mut self, change: impl FnMut(&mut Connection)) {
        self.slots.iter_mut().for_each(change);
    }

    /// The most connections that were open at once.
    pub(crate) fn most(&self) -> usize {
        self.slots.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwind_wire::SequenceNumber;
    use std::mem::offset_of;

    #[test]
    fn hot_fields_lie_in_first_cache_lines() {
        assert!(offset_of!(Connection, longest_silence) <= 64);
        let sent = offset_of!(Connection, sent);
        // What each side sent at the first tap has one cache line.
        assert_eq!((sent / 64, (sent + size_of::<Sent>() - 1) / 64), (1, 1));
        assert_eq!((sent + size_of::<Sent>()) / 64, (sent + 2 * size_of::<Sent>() - 1) / 64);
        // First lines of connections must not map to few cache sets.
        assert_ne!(size_of::<Option<Connection>>() / 64 % 8, 0);
    }

    #[test]
    fn repeated_refused_connection_uses_bounded_memory() {
        let timeouts =
            Timeouts { linger: Span::from_secs(2), half_open: Span::from_secs(130), idle: None };
        let mut connections = Connections::new(timeouts);
        let mut packet = Packet::EMPTY;
        packet.segment.flags = Flags::SYN;
        let slot = connections.begin(0, Instant::ZERO, &packet, 0);
        let mut reset = packet;
        reset.segment.flags = Flags::RST | Flags::ACK;
        reset.segment.acknowledgment = SequenceNumber::new(1);
        for step in 1..10_000 {
            let at = Instant::from_millis(step);
            let (side, packet) =
                if step % 2 == 0 { (Side::Opener, &packet) } else { (Side::Answerer, &reset) };
            let connection = connections.get_mut(slot).expect("it is open");
            connection.count(0, at, side, packet);
            connection.lifecycle.on_segment(at, side, &packet.segment, ResetVerdict::Accepted);
            connections.schedule(slot);
        }
        assert!(connections.due.len() <= 2, "{} entries", connections.due.len());
        // The last packet, at 9.999 s, was a refusal.
        assert_eq!(connections.expired(Instant::from_millis(11_998)), None);
        assert_eq!(connections.expired(Instant::from_millis(11_999)), Some(slot));
    }
}
