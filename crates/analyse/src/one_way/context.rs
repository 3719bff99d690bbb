//! Types that flows between two taps share.

use super::clock_drift::DelayFloor;
use super::group::Group;
use super::samples::Spill;
use super::transmission::{Loss, MatchedPiece};
use fairwind_measure::Direction;
use fairwind_units::Instant;
use fairwind_wire::SequenceNumber;

/// At which capture a packet was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tap {
    /// The one near the sender.
    Sender,
    /// The one near the receiver.
    Receiver,
}

impl Tap {
    /// Its place in lists.
    pub(super) const fn index(self) -> usize {
        match self {
            Self::Sender => 0,
            Self::Receiver => 1,
        }
    }
}

/// A connection, as long as it is open. Places are used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FlowPairId(pub(super) u32);

/// A connection that two taps see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowPairDescription {
    /// Index of its group.
    pub group: u32,
    /// What the caller calls it; [`LostPacket`] names it.
    pub connection: u64,
    /// At which tap the packets of the side that opened it depart.
    pub opener: Tap,
    /// What departs before is followed, and does not count.
    pub counted_from: Instant,
}

/// A packet that left one tap and did not come to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LostPacket {
    /// Its connection, as the caller called it.
    pub connection: u64,
    /// Forward from the side that opened the connection.
    pub direction: Direction,
    /// When it departed.
    pub at: Instant,
    /// Sequence number of its first byte; `None` where it has none. Where only parts of what departed
    /// were lost, they are told as if they stood side by side.
    pub sequence: Option<SequenceNumber>,
    /// Payload bytes in it.
    pub payload_bytes: u32,
    /// Its bytes on the link.
    pub wire_bytes: u32,
    /// Whether it takes a place in sequence space: payload, SYN or FIN.
    pub has_length: bool,
}

/// What a flow is called in tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowName<'a> {
    /// Its number.
    pub number: u64,
    /// Its name.
    pub name: &'a str,
}

/// What a departure was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Departure {
    /// Behind the last byte, where some of its bytes are sent for the first time: bytes since the stream
    /// began.
    pub new_end: Option<u64>,
    /// Bytes since the stream began that the receiver has in order, where this departure lets that be
    /// known (its arrival had been seen before, by clocks that are not quite equal).
    pub in_order_end: Option<u64>,
}

/// What an arrival was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Arrival {
    /// Nanoseconds since its departure; `None` where that was not found.
    pub delay: Option<i64>,
    /// Which retransmission of its bytes it is: 0 for the first transmission.
    pub repeat: u8,
    /// Bytes since the stream began that the receiver had in order before.
    pub in_order_start: u64,
    /// Bytes since the stream began that the receiver now has in order, if more than before.
    pub in_order_end: Option<u64>,
}

/// What belongs to more than one passage, as long as a packet is looked at.
pub(super) struct FlowContext<'a> {
    pub(super) group: &'a mut Group,
    /// Delays of what departed at the sender's tap, and at the receiver's.
    pub(super) floors: &'a mut [DelayFloor; 2],
    pub(super) spill: &'a mut Spill,
    pub(super) scratch: &'a mut Scratch,
    pub(super) origin: Instant,
    /// What departed before is not judged.
    pub(super) counted_from: Instant,
    /// Which connection, and which way.
    pub(super) connection: u64,
    pub(super) direction: Direction,
    /// 0 where the direction departs at the sender's tap, else 1.
    pub(super) tap: usize,
}

impl FlowContext<'_> {
    /// Turns to the other direction of the connection.
    #[inline]
    pub(super) const fn turn(&mut self) {
        self.direction = match self.direction {
            Direction::Forward => Direction::Reverse,
            Direction::Reverse => Direction::Forward,
        };
        self.tap = 1 - self.tap;
    }
}

/// From when until when the tap of arrivals was watched.
#[derive(Debug, Clone, Copy)]
pub(super) struct CaptureSpan {
    pub(super) from: Instant,
    pub(super) until: Instant,
}

impl CaptureSpan {
    /// The same, ending at `end` at the latest.
    pub(super) fn ending_at(self, end: Instant) -> Self {
        Self { until: self.until.min(end), ..self }
    }
}

/// Such lists.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub(super) pieces: Vec<MatchedPiece>,
    pub(super) parts: Vec<(u64, u64)>,
    pub(super) losses: Vec<Loss>,
}

/// What every passage adds to, or uses for a packet.
#[derive(Debug)]
pub(super) struct SharedState {
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

impl SharedState {
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
    pub(super) fn context_for(
        &mut self,
        to: &FlowPairDescription,
        direction: Direction,
    ) -> FlowContext<'_> {
        let (_, tap) = way_and_tap(direction, to.opener);
        FlowContext {
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
pub(super) struct TapActivity {
    pub(super) first: Option<Instant>,
    pub(super) last: Instant,
}

impl TapActivity {
    /// A packet passes the tap.
    #[inline]
    pub(super) fn note(&mut self, at: Instant) {
        self.last = at;
        if self.first.is_none() {
            self.first = Some(at);
        }
    }
}

/// The passage of a direction, and the tap at which it departs.
#[inline]
pub(super) const fn way_and_tap(direction: Direction, opener: Tap) -> (usize, usize) {
    match direction {
        Direction::Forward => (0, opener.index()),
        Direction::Reverse => (1, 1 - opener.index()),
    }
}

/// A place in a list.
#[inline]
pub(super) fn index(place: u32) -> usize {
    usize::try_from(place).expect("it was the length of a list")
}
