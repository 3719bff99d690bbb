//! Lifecycle of a connection: handshake, close, reset and new SYNs, as seen at one tap.
//!
//! Source: RFC 9293 §3.3.2 and §3.5 for the states, §3.5.2 for resets. A capture shows packets, not endpoints:
//! the lifecycle is what an observer can conclude.
//!
//! A SYN on the ports of an open connection is a new connection or a stray segment (RFC 5961 §4). A host with an open
//! connection answers such a SYN with a challenge ACK, whatever its number, and the connection goes on. A host that has
//! really restarted then resets the connection and sends its SYN again. So only the answer decides: a SYN-ACK or a
//! refusal belongs to a new connection. The SYN is held until then. Memory: [`MOST_HELD`] packets for each connection
//! with a pending SYN.

use super::endpoints::Side;
use fairwind_capture::Packet;
use fairwind_measure::named_enum;
use fairwind_units::{Instant, Span};
use fairwind_wire::{Flags, Options, Segment, SequenceNumber};

named_enum! {
    /// The first packet of a connection.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub(crate) enum Beginning {
        /// A SYN.
        Syn = "syn",
        /// A SYN-ACK; its SYN is not in the capture.
        SynAck = "syn-ack",
        /// Any other: the capture began later than the connection.
        Midway = "midway",
    }
}

impl Beginning {
    pub(super) fn of(segment: &Segment) -> Self {
        match (segment.flags.contains(Flags::SYN), segment.flags.contains(Flags::ACK)) {
            (true, false) => Self::Syn,
            (true, true) => Self::SynAck,
            _ => Self::Midway,
        }
    }
}

named_enum! {
    /// Outcome of a handshake.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub(crate) enum SetUp {
        /// All three packets were seen, or one that can only follow them.
        Completed = "completed",
        /// The SYN was not answered.
        Unanswered = "unanswered",
        /// The SYN-ACK was not acknowledged.
        HalfOpen = "half-open",
        /// The SYN was answered with a reset.
        Refused = "refused",
        /// The capture began later than the connection.
        Unseen = "unseen",
    }
}

impl SetUp {
    /// All outcomes.
    pub(crate) const ALL: [Self; 5] =
        [Self::Completed, Self::Unanswered, Self::HalfOpen, Self::Refused, Self::Unseen];
}

named_enum! {
    /// How a connection ended.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub(crate) enum Ending {
        /// Not: it was open when the capture ended, or timed out.
        Open = "open",
        /// One side sent a FIN, the other did not.
        HalfClosed = "half-closed",
        /// Both sides sent a FIN.
        Closed = "closed",
        /// One side reset it.
        Reset = "reset",
        /// It was never established.
        NotEstablished = "not-established",
    }
}

/// Phase of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Phase {
    /// The handshake is in progress.
    Opening,
    /// Established.
    Open,
    /// A FIN was seen.
    Closing,
    /// Over; late packets may follow.
    Closed,
}

/// Effect of a segment on the lifecycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LifecycleEvent {
    None,
    /// A SYN with another sequence number, which began no connection.
    Foreign,
    /// The opener sent its SYN again.
    SynRetry,
    Established,
    /// A reset, before or after establishment.
    Aborted,
    /// The FIN of this side is acknowledged.
    Finished(Side),
}

/// Verdict of the receiver on a reset (RFC 5961 §3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResetVerdict {
    /// Its sequence number is the expected one, or may be: the connection is over.
    Accepted,
    /// It lies within the window: the receiver sends a challenge ACK. Older systems accept it, and fall silent.
    Challenged,
    /// It lies outside the window, and is dropped.
    Ignored,
}

/// A SYN or SYN-ACK of one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SynRecord {
    pub(crate) sequence: SequenceNumber,
    pub(crate) acknowledgment: SequenceNumber,
    pub(crate) window: u16,
    pub(crate) flags: Flags,
    pub(crate) options: Options,
    pub(crate) first_at: Instant,
    pub(crate) last_at: Instant,
    /// Transmissions.
    pub(crate) times: u32,
}

/// SYNs by sender, with the instants at which they first passed.
pub(crate) type Syns = Vec<(Side, (Instant, Segment))>;

/// The FIN of one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fin {
    end: SequenceNumber,
    is_acknowledged: bool,
}

/// Lifecycle of one connection.
#[derive(Debug, Clone)]
pub(crate) struct Lifecycle {
    pub(crate) phase: Phase,
    pub(crate) beginning: Beginning,
    syn_records: [Option<SynRecord>; 2],
    fins: [Option<Fin>; 2],
    first_fin: Option<Side>,
    reset_by: Option<Side>,
    /// Sender of a reset in the window, while it is open whether that was accepted.
    challenged_reset_by: Option<Side>,
    is_refused: bool,
    /// When the acknowledgment of the SYN-ACK was seen.
    pub(crate) established_at: Option<Instant>,
    pub(crate) is_simultaneous: bool,
}

/// Silence after which an unanswered new SYN on the same ports begins a new connection, without FIN or reset in
/// between: the maximum segment lifetime in use, 60 s (Linux `TCP_TIMEWAIT_LEN`).
const LONG_IDLE: Span = Span::from_secs(60);

/// Most bytes that can follow a SYN before an answer is seen: an unscaled window.
const MOST_UNSEEN: u32 = 1 << 16;

impl Lifecycle {
    pub(crate) fn new(first: &Segment) -> Self {
        let beginning = Beginning::of(first);
        let phase = match beginning {
            Beginning::Midway => Phase::Open,
            Beginning::Syn | Beginning::SynAck => Phase::Opening,
        };
        Self {
            phase,
            beginning,
            syn_records: [None; 2],
            fins: [None; 2],
            first_fin: None,
            reset_by: None,
            challenged_reset_by: None,
            is_refused: false,
            established_at: None,
            is_simultaneous: false,
        }
    }

    /// The SYN or SYN-ACK of `side`.
    pub(crate) const fn syn_of(&self, side: Side) -> Option<&SynRecord> {
        self.syn_records[side.index()].as_ref()
    }

    /// The first SYN of each side, with the fields that streams use.
    pub(crate) fn syns(&self) -> Syns {
        let of = |side: Side| {
            let offer = self.syn_of(side)?;
            let segment = Segment {
                sequence: offer.sequence,
                acknowledgment: offer.acknowledgment,
                flags: offer.flags,
                window: offer.window,
                options: offer.options,
                ..Segment::default()
            };
            Some((side, (offer.first_at, segment)))
        };
        [Side::Opener, Side::Answerer].into_iter().filter_map(of).collect()
    }

    /// Who ended it: the sender of the first FIN, or of the reset.
    pub(crate) fn ended_by(&self) -> Option<Side> {
        self.reset_by.or(self.challenged_reset_by).or(self.first_fin)
    }

    pub(crate) fn set_up(&self) -> SetUp {
        match self.beginning {
            Beginning::Midway => SetUp::Unseen,
            _ if self.is_refused => SetUp::Refused,
            _ if self.established_at.is_some() => SetUp::Completed,
            _ if self.syn_of(Side::Answerer).is_some() => SetUp::HalfOpen,
            _ => SetUp::Unanswered,
        }
    }

    pub(crate) fn ending(&self) -> Ending {
        if self.is_refused || matches!(self.set_up(), SetUp::Unanswered | SetUp::HalfOpen) {
            return Ending::NotEstablished;
        }
        match (self.reset_by.or(self.challenged_reset_by), self.fins) {
            (Some(_), _) => Ending::Reset,
            (None, [Some(_), Some(_)]) => Ending::Closed,
            (None, [None, None]) => Ending::Open,
            _ => Ending::HalfClosed,
        }
    }

    /// Whether a SYN of `side` begins another connection on the same ports, whatever the answer.
    pub(crate) fn is_reopened_by(&self, side: Side, segment: &Segment) -> bool {
        self.is_new_syn(side, segment)
            && match self.phase {
                Phase::Closed => true,
                // It crosses the other side's SYN, or the same side starts again.
                Phase::Opening => self.syn_of(side).is_some(),
                Phase::Open | Phase::Closing => self.fins[side.index()].is_some(),
            }
    }

    /// Whether a SYN of `side` may begin another connection on the same ports, depending on its answer.
    pub(crate) fn may_be_reopened_by(&self, side: Side, segment: &Segment) -> bool {
        self.is_new_syn(side, segment) && matches!(self.phase, Phase::Open | Phase::Closing)
    }

    /// Whether an unanswered SYN begins another connection after this silence.
    pub(crate) fn is_probably_over(&self, silence: Span) -> bool {
        self.beginning == Beginning::Midway || silence >= LONG_IDLE
    }

    /// Whether a segment is a SYN with another sequence number than the connection's.
    fn is_new_syn(&self, side: Side, segment: &Segment) -> bool {
        segment.flags.contains(Flags::SYN)
            && !segment.flags.intersects(Flags::ACK | Flags::RST)
            && self.syn_of(side).is_none_or(|offer| offer.sequence != segment.sequence)
    }

    /// Whether a reset is challenged and undecided.
    pub(crate) const fn is_reset_challenged(&self) -> bool {
        self.challenged_reset_by.is_some()
    }

    /// The verdict on a reset by `side`, which has sent no data: its number follows the SYN or FIN, with an
    /// allowance for packets missing from the capture.
    pub(crate) fn reset_verdict_without_data(&self, side: Side, segment: &Segment) -> ResetVerdict {
        let Some(offer) = self.syn_of(side) else { return ResetVerdict::Accepted };
        match segment.sequence.distance_from(offer.sequence) {
            1..=MOST_UNSEEN => ResetVerdict::Accepted,
            _ => ResetVerdict::Ignored,
        }
    }

    /// Whether a segment with payload lies before the first byte of the data: a keep-alive with a garbage byte
    /// (RFC 9293 §3.8.4).
    pub(crate) fn is_before_data(&self, side: Side, segment: &Segment) -> bool {
        self.syn_of(side).is_some_and(|offer| {
            offer.sequence == segment.sequence
                && segment.payload_bytes == 1
                && !segment.flags.contains(Flags::SYN)
        })
    }

    /// Takes a segment that `side` sent.
    pub(crate) fn on_segment(
        &mut self,
        at: Instant,
        side: Side,
        segment: &Segment,
        verdict: ResetVerdict,
    ) -> LifecycleEvent {
        if segment.flags.contains(Flags::RST) {
            return self.on_reset(side, segment, verdict);
        }
        // A segment after the reset: it was not accepted, or not sent by this side.
        self.challenged_reset_by = None;
        if segment.flags.contains(Flags::SYN) {
            return self.on_syn(at, side, segment);
        }
        match self.phase {
            Phase::Opening => self.on_third_way(at, side, segment),
            Phase::Open | Phase::Closing => self.on_closing(side, segment),
            Phase::Closed => LifecycleEvent::None,
        }
    }

    fn on_reset(&mut self, side: Side, segment: &Segment, verdict: ResetVerdict) -> LifecycleEvent {
        let is_opening = self.phase == Phase::Opening;
        let is_refusal =
            is_opening && side == Side::Answerer && self.syn_of(Side::Answerer).is_none();
        let verdict = match self.phase {
            Phase::Closed => ResetVerdict::Ignored,
            // A refusal acknowledges the SYN (RFC 9293 §3.10.7.3).
            Phase::Opening if is_refusal && !self.answers_syn(segment) => ResetVerdict::Ignored,
            Phase::Opening => ResetVerdict::Accepted,
            Phase::Open | Phase::Closing => verdict,
        };
        match verdict {
            ResetVerdict::Ignored => return LifecycleEvent::None,
            ResetVerdict::Challenged => {
                self.challenged_reset_by = Some(side);
                return LifecycleEvent::None;
            }
            ResetVerdict::Accepted => {}
        }
        self.is_refused = is_refusal;
        self.reset_by = Some(side);
        self.challenged_reset_by = None;
        self.phase = Phase::Closed;
        LifecycleEvent::Aborted
    }

    /// Whether a segment of the answerer acknowledges the SYN, or data sent with it.
    fn answers_syn(&self, segment: &Segment) -> bool {
        let Some(asked) = self.syn_of(Side::Opener) else { return true };
        let beyond = segment.acknowledgment.distance_from(asked.sequence);
        segment.flags.contains(Flags::ACK) && (1..=MOST_UNSEEN).contains(&beyond)
    }

    fn on_syn(&mut self, at: Instant, side: Side, segment: &Segment) -> LifecycleEvent {
        let has_ack = segment.flags.contains(Flags::ACK);
        let Some(offer) = &mut self.syn_records[side.index()] else {
            self.syn_records[side.index()] = Some(SynRecord {
                sequence: segment.sequence,
                acknowledgment: segment.acknowledgment,
                window: segment.window,
                flags: segment.flags,
                options: segment.options,
                first_at: at,
                last_at: at,
                times: 1,
            });
            self.is_simultaneous |= side == Side::Answerer && !has_ack;
            return LifecycleEvent::None;
        };
        if offer.sequence != segment.sequence {
            return LifecycleEvent::None;
        }
        if self.is_simultaneous && has_ack && !offer.flags.contains(Flags::ACK) {
            // It answers the SYN that crossed (RFC 9293 §3.5, figure 8).
            offer.flags |= Flags::ACK;
            return self.on_crossed_answer(at, side);
        }
        offer.last_at = at;
        offer.times = offer.times.saturating_add(1);
        if side == Side::Opener && self.phase == Phase::Closed && self.established_at.is_none() {
            // Some systems retry after a refusal; and so does a host that had to reset a half-open connection
            // of the other side first (RFC 9293 §3.5.1, figure 10).
            (self.is_refused, self.reset_by, self.phase) = (false, None, Phase::Opening);
        }
        if side == Side::Opener { LifecycleEvent::SynRetry } else { LifecycleEvent::None }
    }

    fn on_crossed_answer(&mut self, at: Instant, side: Side) -> LifecycleEvent {
        if self.phase != Phase::Opening || side == Side::Opener {
            return LifecycleEvent::None;
        }
        self.establish(at)
    }

    fn establish(&mut self, at: Instant) -> LifecycleEvent {
        self.established_at = Some(at);
        self.phase = Phase::Open;
        LifecycleEvent::Established
    }

    /// The third packet of the handshake, or one that can only follow it.
    fn on_third_way(&mut self, at: Instant, side: Side, segment: &Segment) -> LifecycleEvent {
        if !segment.flags.contains(Flags::ACK) {
            return LifecycleEvent::None;
        }
        let acknowledges = |offer: Option<&SynRecord>| {
            offer.is_none_or(|offer| segment.acknowledgment.is_after(offer.sequence))
        };
        let is_established = match side {
            Side::Opener => acknowledges(self.syn_of(Side::Answerer)),
            // Only after the handshake the answerer sends segments without SYN, or its SYN-ACK was reordered;
            // or the segment is of an older connection, as its number shows (RFC 9293 §3.5.1).
            Side::Answerer => self.syn_of(Side::Answerer).is_none() && self.answers_syn(segment),
        };
        if !is_established {
            return LifecycleEvent::None;
        }
        let event = self.establish(at);
        self.on_closing(side, segment);
        event
    }

    /// Whether a segment of `side` acknowledges the other side's FIN, at the tap where the lifecycle is not
    /// followed.
    pub(crate) fn finished_by(&self, side: Side, segment: &Segment) -> LifecycleEvent {
        let opposite = side.other();
        match self.fins[opposite.index()] {
            Some(fin)
                if segment.flags.contains(Flags::ACK)
                    && !segment.flags.contains(Flags::RST)
                    && segment.acknowledgment.is_at_or_after(fin.end) =>
            {
                LifecycleEvent::Finished(opposite)
            }
            _ => LifecycleEvent::None,
        }
    }

    fn on_closing(&mut self, side: Side, segment: &Segment) -> LifecycleEvent {
        if segment.flags.contains(Flags::FIN) && self.fins[side.index()].is_none() {
            self.fins[side.index()] = Some(Fin { end: segment.end(), is_acknowledged: false });
            self.first_fin.get_or_insert(side);
            self.phase = Phase::Closing;
        }
        let opposite = side.other();
        match &mut self.fins[opposite.index()] {
            Some(fin)
                if !fin.is_acknowledged
                    && segment.flags.contains(Flags::ACK)
                    && segment.acknowledgment.is_at_or_after(fin.end) =>
            {
                fin.is_acknowledged = true;
            }
            _ => return LifecycleEvent::None,
        }
        if self.fins.iter().all(|fin| fin.is_some_and(|fin| fin.is_acknowledged)) {
            self.phase = Phase::Closed;
        }
        LifecycleEvent::Finished(opposite)
    }
}

/// A SYN repeated so often without an answer begins a connection.
const MOST_HELD: usize = 8;

/// A packet that waits for a decision.
#[derive(Debug, Clone)]
pub(crate) struct HeldPacket {
    pub(crate) tap: usize,
    pub(crate) at: Instant,
    pub(crate) side: Side,
    pub(crate) event: LifecycleEvent,
    pub(crate) packet: Packet,
}

/// A SYN that waits for its answer.
#[derive(Debug)]
pub(crate) struct PendingSyn {
    sender: Side,
    sequence: SequenceNumber,
    /// Whether it begins a connection without an answer: the old one was silent for long.
    is_new_connection: bool,
    /// All its transmissions.
    held_packets: Vec<HeldPacket>,
}

/// What a packet says about a pending SYN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SynVerdict {
    /// Nothing.
    Undecided,
    /// It began a new connection, or was refused.
    NewConnection,
    /// The old connection goes on.
    Dismissed,
}

impl PendingSyn {
    pub(crate) fn new(held: HeldPacket, is_new_connection: bool) -> Self {
        let (sender, sequence) = (held.side, held.packet.segment.sequence);
        Self { sender, sequence, is_new_connection, held_packets: vec![held] }
    }

    /// Whether a segment repeats the SYN.
    pub(crate) fn matches_syn(&self, side: Side, segment: &Segment) -> bool {
        side == self.sender && segment.sequence == self.sequence
    }

    /// Adds a repetition; returns whether the SYN now begins a connection.
    pub(crate) fn add_repeat(&mut self, held: HeldPacket) -> bool {
        self.held_packets.push(held);
        self.is_new_connection |= self.held_packets.len() >= MOST_HELD;
        self.held_packets.len() >= MOST_HELD
    }

    /// Takes a packet of the connection that is not this SYN.
    pub(crate) fn on_packet(&mut self, side: Side, segment: &Segment) -> SynVerdict {
        let flags = segment.flags;
        if side == self.sender {
            // The sender goes on with the old connection or resets it.
            return SynVerdict::Dismissed;
        }
        let is_meant = flags.contains(Flags::ACK) && segment.acknowledgment == self.sequence + 1;
        if flags.intersects(Flags::SYN | Flags::RST) {
            return if is_meant { SynVerdict::NewConnection } else { SynVerdict::Undecided };
        }
        // A challenge ACK, or a packet that was under way. The sender of the SYN may still reset.
        self.is_new_connection = false;
        SynVerdict::Undecided
    }

    /// The held packets, and whether they begin a connection without an answer.
    pub(crate) fn into_packets(self) -> (Vec<HeldPacket>, bool) {
        (self.held_packets, self.is_new_connection)
    }
}
