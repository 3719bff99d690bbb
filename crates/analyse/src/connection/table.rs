//! All open connections.

use super::directory::{Directory, NO_SLOT, Slots};
use super::endpoints::{Ends, Sent, Side, flow_name};
use super::lifecycle::{Lifecycle, LifecycleEvent, Phase, ResetVerdict, Syns};
use super::pending_syn::{HeldPacket, PendingSyn};
use super::tables::{Record, SetUpTimes};
use super::vantage::{CountedPart, TapMapping, TapPosition};
use fairwind_capture::Packet;
use fairwind_measure::{ConnectionFlows, EarlyPackets};
use fairwind_units::{Instant, Span};
use fairwind_wire::{Flags, Segment};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::SocketAddr;

/// Entries of connections that are over may stay in the list of what is due, as many as this and a few for
/// each open connection; then they are thrown out.
const MOST_STALE: usize = 1000;

/// How long a connection may be silent before it is forgotten.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timeouts {
    /// After its end, for stragglers.
    pub(crate) linger: Span,
    /// While it is being set up, and while one side has ended.
    pub(crate) half_open: Span,
    /// While it is open; `None`: for ever.
    pub(crate) idle: Option<Span>,
}

/// One open connection.
///
/// In this order in memory: what every packet needs, what few do. With thousands of connections each line of
/// memory is waited for, so whether a slot has a connection is to be told by the first one: by the first of the
/// fields that have most values to spare, which is `due_at`.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Connection {
    /// How its packets are measured, once the place of the tap is known.
    pub(crate) mapping: Option<TapMapping>,
    opener_is_low: bool,
    /// Whether its phase is [`Phase::Open`] and nothing is in doubt, said here again since it is asked for each
    /// packet.
    is_open: bool,
    /// Whether the SYN-ACK has left the tap near the answerer, and what acknowledges it has not come there.
    awaits_acknowledgment: bool,
    /// Window field of the opener's last packet behind its SYN, before the answerer's first data.
    pub(crate) early_window: Option<u16>,
    pub(crate) last: Instant,
    /// When it is looked at whether it is to be forgotten.
    due_at: Option<Instant>,
    pub(crate) longest_silence: Span,
    pub(crate) began: Instant,
    /// What each side sent, as counted at each tap.
    sent: [[Sent; 2]; 2],
    pub(crate) lifecycle: Lifecycle,
    pub(crate) ends: Ends,
    pub(crate) number: u64,
    pub(crate) is_guessed: bool,
    /// Its group as a connection: what the tables `connections` and `setups` say.
    pub(crate) group: u32,
    /// The tap that saw it first; there its life is followed.
    pub(crate) first_tap: usize,
    /// What is to be attributed anew if data goes both ways.
    pub(crate) early: BeforeAnswers,
    /// Its packets so far, while it is not known how they are measured.
    pub(crate) held_packets: Vec<HeldPacket>,
    /// Where its last packet lay, where only a part of each connection counts.
    pub(crate) part: CountedPart,
    /// A SYN that may begin another connection on its ports.
    pub(crate) pending_syn: Option<Box<PendingSyn>>,
}

/// What was seen before the first data of the answerer, and belongs to that once there is some.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BeforeAnswers {
    pub(crate) packets: EarlyPackets,
    /// When the first SYN-ACK left the tap near the answerer, where another tap was the first.
    pub(crate) answered_at: Option<Instant>,
    /// How often it did.
    pub(crate) answers: u32,
    /// When what acknowledges it came there.
    pub(crate) acknowledged_at: Option<Instant>,
}

impl BeforeAnswers {
    /// Counts a packet that `side` has sent, where it left it or where it arrived.
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

    /// Whether a packet that is no SYN, FIN or RST is only to be counted and measured.
    #[inline]
    pub(crate) const fn is_plain(&self) -> bool {
        self.is_open && self.mapping.is_some()
    }

    /// Its flows, once they are known.
    #[inline]
    pub(crate) fn flows(&self) -> Option<ConnectionFlows> {
        self.mapping.as_ref().map(|mapping| mapping.flows)
    }

    /// Reads what a packet that the lower or the other end sent changes in it, for whoever calls it in advance.
    #[inline]
    pub(crate) const fn prefetch(&self, low_sent: bool) -> u64 {
        let [of_sides, _] = &self.sent;
        self.longest_silence.as_nanos() ^ of_sides[self.side(low_sent).index()].packets
    }

    /// A packet passes that may change its life.
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

    /// A SYN asks for another connection on its ports.
    pub(crate) fn hold_syn(&mut self, pending_syn: PendingSyn) {
        self.pending_syn = Some(Box::new(pending_syn));
        self.update_is_open();
    }

    /// The question is answered.
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

    /// Takes notice of a packet that `side` sent.
    #[inline]
    pub(crate) fn count(&mut self, tap: usize, at: Instant, side: Side, packet: &Packet) {
        let silence = at.saturating_since(self.last);
        if silence > self.longest_silence {
            self.longest_silence = silence;
        }
        self.last = self.last.max(at);
        self.sent[tap & 1][side.index()].count(packet);
    }

    /// The answer to SYN leaves the tap near the answerer, where another tap was the first.
    pub(crate) fn on_syn_ack_left(&mut self, at: Instant) {
        self.early.answered_at.get_or_insert(at);
        self.early.answers = self.early.answers.saturating_add(1);
        self.awaits_acknowledgment = self.early.acknowledged_at.is_none();
    }

    /// A packet of the opener passes the tap that will tell of the answerer's data, of which there is none.
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

    /// Whether a packet of `side` brings data of the answerer.
    #[inline]
    pub(crate) fn is_first_answer_data(&self, side: Side, segment: &Segment) -> bool {
        side == Side::Answerer
            && segment.payload_bytes > 0
            && !self.lifecycle.is_before_data(side, segment)
    }

    /// The SYNs as they passed the tap that tells of the answerer's data, which is the one that saw the
    /// connection first or the other one; and when the answer was acknowledged there, if it was sent once.
    pub(crate) fn set_up_at(&self, is_first_tap: bool) -> (Syns, Option<Instant>) {
        let mut syns = self.lifecycle.syns();
        if is_first_tap {
            let was_sent_once =
                self.lifecycle.syn_of(Side::Answerer).is_some_and(|offer| offer.times == 1);
            return (syns, self.lifecycle.established_at().filter(|_| was_sent_once));
        }
        for (_, (at, _)) in syns.iter_mut().filter(|(side, _)| *side == Side::Answerer) {
            *at = self.early.answered_at.unwrap_or(*at);
        }
        (syns, self.early.acknowledged_at.filter(|_| self.early.answers == 1))
    }

    /// What is to be told of it when it is over, or so far.
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
            is_simultaneous: self.lifecycle.is_simultaneous(),
            sent: self.sent_by_sides(),
            syn_records: [Side::Opener, Side::Answerer]
                .map(|side| self.lifecycle.syn_of(side).copied()),
            retries: [Side::Opener, Side::Answerer].map(retries),
        }
    }

    /// Whether both taps have seen it.
    pub(crate) fn is_seen_at_both(&self) -> bool {
        self.sent.iter().all(|sides| sides.iter().any(|sent| sent.packets > 0))
    }

    /// The name of the flow of the data that `side` sends.
    pub(crate) fn flow_name(&self, side: Side) -> String {
        flow_name(self.end(side), self.end(side.other()))
    }

    /// Which taps have seen it.
    fn taps(&self) -> &'static str {
        let [first, second] = self.sent.map(|sides| sides.iter().any(|sent| sent.packets > 0));
        match (first, second) {
            (true, true) => "both",
            (false, true) => "second",
            _ => "first",
        }
    }

    /// What each side sent: as it left, where some tap saw that, else as it passed or arrived.
    fn sent_by_sides(&self) -> [Sent; 2] {
        [Side::Opener, Side::Answerer].map(|side| {
            let leaves =
                |tap: &usize| self.mapping.is_some_and(|mapping| mapping.leaves(*tap, side));
            let has_seen = |tap: &usize| self.sent[*tap].iter().any(|sent| sent.packets > 0);
            let tap = [0, 1].into_iter().filter(has_seen).max_by_key(leaves).unwrap_or(0);
            self.sent[tap][side.index()]
        })
    }

    /// When it is to be forgotten if nothing more comes; `None`: not at all.
    fn due(&self, timeouts: &Timeouts) -> Option<Instant> {
        let timeouts = match self.lifecycle.phase {
            Phase::Closed => Some(timeouts.linger),
            Phase::Opening | Phase::Closing => Some(timeouts.half_open),
            Phase::Open => timeouts.idle,
        }?;
        Some(self.last + timeouts)
    }
}

/// Where the connection of a packet was found, and which end sent it. It holds until a connection is added or
/// forgotten.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SlotHint {
    changes: u64,
    /// The connection's slot, or one that there is not.
    pub(crate) slot: u32,
    /// Whether the lower end sent the packet.
    pub(crate) low_sent: bool,
}

impl SlotHint {
    /// Nothing was looked for.
    pub(crate) const NONE: Self = Self { changes: u64::MAX, slot: NO_SLOT, low_sent: false };
}

/// Open connections by their ends.
#[derive(Debug)]
pub(crate) struct Connections {
    directory: Directory,
    slots: Slots<Connection>,
    /// When to look whether a connection is to be forgotten: instant, its number, its slot. Of each
    /// connection one entry counts; one that has become earlier leaves another behind.
    due: BinaryHeap<Reverse<(Instant, u64, u32)>>,
    next_due: Instant,
    timeouts: Timeouts,
    began: u64,
    /// How often a connection was added or forgotten.
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

    /// Where the connection of `packet` is now.
    #[inline]
    pub(crate) fn hint(&self, packet: &Packet) -> SlotHint {
        let (ends, low_sent) = Ends::of(packet);
        let slot = self.directory.find(&ends);
        SlotHint { changes: self.changes, slot, low_sent }
    }

    /// Where the connection of `packet` is now, if the hint is right without another search.
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

    /// Begins a connection with its first packet; gives its slot.
    ///
    /// Who opened it: the sender of a SYN, the receiver of a SYN-ACK; otherwise it is guessed that the
    /// lower port answers (a service's port is mostly the lower one), and the sender opened it where both
    /// are the same.
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

    /// Sees to it that the connection is looked at when it may be forgotten; to be called when its phase
    /// has changed.
    pub(crate) fn schedule(&mut self, slot: u32) {
        let Some(connection) = self.slots.get_mut(slot) else { return };
        let Some(due) = connection.due(&self.timeouts) else { return };
        // What is looked at before that is put off then.
        if connection.due_at.is_none_or(|due_at| due < due_at) {
            connection.due_at = Some(due);
            self.due.push(Reverse((due, connection.number, slot)));
            self.next_due = self.next_due.min(due);
        }
    }

    /// When [`Connections::expired`] has something to look at.
    #[inline]
    pub(crate) const fn next_due(&self) -> Instant {
        self.next_due
    }

    /// A connection that is to be forgotten by `now`; to be asked until there is none.
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

    /// Forgets a connection.
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

    /// All that are open, in the order in which they began.
    pub(crate) fn open(&self) -> Vec<(u32, &Connection)> {
        let mut open: Vec<_> = self.slots.iter().collect();
        open.sort_by_key(|(_, connection)| connection.number);
        open
    }

    /// The most connections that were open at once.
    pub(crate) fn most(&self) -> usize {
        self.slots.capacity()
    }

    /// Connections that there have been.
    pub(crate) const fn began(&self) -> u64 {
        self.began
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwind_wire::SequenceNumber;
    use std::mem::offset_of;

    #[test]
    fn what_packets_need_lies_in_the_first_lines_of_memory() {
        assert!(offset_of!(Connection, longest_silence) <= 64);
        let sent = offset_of!(Connection, sent);
        // What each side sent at the first tap has a line of its own.
        assert_eq!((sent / 64, (sent + size_of::<Sent>() - 1) / 64), (1, 1));
        assert_eq!((sent + size_of::<Sent>()) / 64, (sent + 2 * size_of::<Sent>() - 1) / 64);
        // The first lines of all connections do not share few places of the caches.
        assert_ne!(size_of::<Option<Connection>>() / 64 % 8, 0);
    }

    #[test]
    fn a_connection_that_is_refused_and_asked_again_for_ever_takes_no_more_and_more_room() {
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
        // The last word, at 9.999 s, was a refusal.
        assert_eq!(connections.expired(Instant::from_millis(11_998)), None);
        assert_eq!(connections.expired(Instant::from_millis(11_999)), Some(slot));
    }
}
