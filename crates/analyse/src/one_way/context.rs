//! Shared types of one-way flows: taps, flow pairs, departures, arrivals and losses.

use super::clock_drift::DelayFloor;
use super::group::Group;
use super::samples::Spill;
use super::transmission::{Loss, MatchedPiece};
use fairwind_measure::Direction;
use fairwind_units::Instant;
use fairwind_wire::SequenceNumber;

/// One of two taps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tap {
    /// The tap near the sender.
    Sender,
    /// The tap near the receiver.
    Receiver,
}

impl Tap {
    /// Its index in lists.
    pub(super) const fn index(self) -> usize {
        match self {
            Self::Sender => 0,
            Self::Receiver => 1,
        }
    }
}

/// An open connection between the taps. Ids are reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FlowPairId(pub(super) u32);

/// A connection between two taps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowPairDescription {
    /// Index of its group: that of packets in a direction that has no payload.
    pub group: u32,
    /// Indexes of the groups of the opener's data and of the answers; packets without payload in these
    /// directions belong there, too.
    pub data_groups: [u32; 2],
    /// The caller's number, for [`LostPacket`].
    pub connection: u64,
    /// The tap at which packets of the opener depart.
    pub opener: Tap,
    /// Departures before this instant are followed without counting.
    pub counted_from: Instant,
}

/// A packet that departed and did not arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LostPacket {
    /// The caller's number of its connection.
    pub connection: u64,
    /// Forward from the opener.
    pub direction: Direction,
    /// When it departed.
    pub at: Instant,
    /// Sequence number of its first byte, if any. Lost parts of one departure are reported as if they were
    /// adjacent.
    pub sequence: Option<SequenceNumber>,
    /// Payload bytes in it.
    pub payload_bytes: u32,
    /// Its bytes on the link.
    pub wire_bytes: u32,
    /// Whether it takes sequence numbers: payload, SYN or FIN.
    pub has_length: bool,
}

/// Number and name of a flow in tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowName<'a> {
    /// Its number.
    pub number: u64,
    /// Its name.
    pub name: &'a str,
}

/// Result of a departure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Departure {
    /// Stream offset behind its last byte, if it carries new bytes.
    pub new_end: Option<u64>,
    /// Stream offset up to which the receiver has everything in order, if this departure shows it: its arrival
    /// was seen before, because the clocks differ slightly.
    pub in_order_end: Option<u64>,
}

/// Result of an arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Arrival {
    /// Nanoseconds since its departure, if known.
    pub delay: Option<i64>,
    /// Number of the retransmission that arrived, 0 for the first transmission.
    pub repeat: u8,
    /// Stream offset that was in order before.
    pub in_order_start: u64,
    /// Stream offset that is in order now, if more than before.
    pub in_order_end: Option<u64>,
}

/// State that one-way flows share while a packet is handled.
pub(super) struct FlowContext<'a> {
    groups: &'a mut [Group],
    /// Index of the group of the direction.
    group: u32,
    /// Minima of the delays of departures at each tap.
    pub(super) floors: &'a mut [DelayFloor; 2],
    pub(super) spill: &'a mut Spill,
    pub(super) scratch: &'a mut Scratch,
    pub(super) origin: Instant,
    /// Departures before this instant are not counted as lost.
    pub(super) counted_from: Instant,
    /// Connection and direction.
    pub(super) connection: u64,
    pub(super) direction: Direction,
    /// Tap of departure: 0 for the sender's, 1 for the receiver's.
    pub(super) tap: usize,
}

impl FlowContext<'_> {
    /// The group of the direction.
    #[inline]
    pub(super) fn group(&mut self) -> &mut Group {
        &mut self.groups[index(self.group)]
    }

    /// The index of the group of the direction.
    #[inline]
    pub(super) const fn group_index(&self) -> u32 {
        self.group
    }

    /// The group with this index.
    pub(super) fn group_at(&mut self, group: u32) -> &mut Group {
        &mut self.groups[index(group)]
    }

    /// Switches to the other direction of the connection, which is in `group`.
    #[inline]
    pub(super) const fn turn(&mut self, group: u32) {
        self.group = group;
        self.direction = match self.direction {
            Direction::Forward => Direction::Reverse,
            Direction::Reverse => Direction::Forward,
        };
        self.tap = 1 - self.tap;
    }
}

/// Beginning and end of the capture at the tap of arrivals.
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

/// Buffers that are reused for every packet.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub(super) pieces: Vec<MatchedPiece>,
    pub(super) parts: Vec<(u64, u64)>,
    pub(super) losses: Vec<Loss>,
}

/// State of all one-way flows.
#[derive(Debug)]
pub(super) struct SharedState {
    pub(super) groups: Vec<Group>,
    /// Minima of the delays of departures at each tap.
    pub(super) floors: [DelayFloor; 2],
    pub(super) spill: Spill,
    pub(super) scratch: Scratch,
    /// Origin of windows.
    pub(super) origin: Instant,
    /// Departures before this instant are not counted as lost.
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

    /// The context for one direction of a connection; `groups` has the groups of both directions.
    #[inline]
    pub(super) fn context_for(
        &mut self,
        to: &FlowPairDescription,
        groups: [u32; 2],
        direction: Direction,
    ) -> FlowContext<'_> {
        let (way, tap) = way_and_tap(direction, to.opener);
        FlowContext {
            groups: &mut self.groups,
            group: groups[way],
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

/// First and last packet at a tap.
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

/// Index of a direction, and its tap of departure.
#[inline]
pub(super) const fn way_and_tap(direction: Direction, opener: Tap) -> (usize, usize) {
    match direction {
        Direction::Forward => (0, opener.index()),
        Direction::Reverse => (1, 1 - opener.index()),
    }
}

/// A number as an index.
#[inline]
pub(super) fn index(place: u32) -> usize {
    usize::try_from(place).expect("it was the length of a list")
}
