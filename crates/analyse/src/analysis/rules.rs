//! Rules of following connections: timeouts, the position of taps, and which part of each connection counts.

use super::settings::Settings;
use crate::connection::{
    Beginning, Connection, CountedPart, HeldPacket, Phase, Side, TapPosition, Timeouts, Vantage,
    position_from_handshake,
};
use fairwind_units::{Instant, Span};

/// So many packets of a connection are held back until it is clear which side the tap is near.
pub(super) const MOST_HELD: usize = 16;

/// What the follower goes by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    pub(crate) timeouts: Timeouts,
    pub(crate) vantage: Vantage,
    /// There are two taps.
    pub(crate) is_joined: bool,
    /// Which part of each connection counts, where it is not all of it.
    pub(crate) ages: Option<CountedAges>,
}

/// From which age of a connection on, and up to which one, it counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CountedAges {
    from: Span,
    until: Option<Span>,
}

impl CountedAges {
    /// Those that are asked for; `None` where all of each connection is.
    pub(super) fn of(settings: &Settings) -> Option<Self> {
        let (from, until) = (settings.connection_from, settings.connection_until);
        (from > Span::ZERO || until.is_some()).then_some(Self { from, until })
    }

    /// Where a packet at `at` of a connection that began at `began` lies.
    pub(super) fn part(self, began: Instant, at: Instant) -> CountedPart {
        let age = at.saturating_since(began);
        if self.until.is_some_and(|until| age >= until) {
            CountedPart::After
        } else if age < self.from {
            CountedPart::Before
        } else {
            CountedPart::Within
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

/// Where the taps of a connection are, as soon as its packets tell.
pub(super) fn tap_position(
    rules: &Rules,
    connection: &Connection,
    held: &HeldPacket,
) -> Option<TapPosition> {
    let phase = connection.lifecycle.phase;
    if rules.is_joined {
        // Whoever sent its first packet is near the tap that saw it first.
        let first = connection.held_packets.first().unwrap_or(held);
        let near_side = if first.tap == 0 { first.side } else { first.side.other() };
        return Some(TapPosition::Near(near_side));
    }
    let data_sender = (held.packet.segment.payload_bytes > 0).then_some(held.side);
    let is_exhausted = connection.held_packets.len() >= MOST_HELD || phase == Phase::Closed;
    let otherwise = || is_exhausted.then_some(TapPosition::Unknown(Side::Opener));
    match rules.vantage {
        Vantage::Opener => Some(TapPosition::Given(Side::Opener)),
        Vantage::Answerer => Some(TapPosition::Given(Side::Answerer)),
        Vantage::Sender => data_sender.map(TapPosition::Given).or_else(otherwise),
        Vantage::Receiver => {
            data_sender.map(|side| TapPosition::Given(side.other())).or_else(otherwise)
        }
        Vantage::Auto => {
            let from_times = position_from_handshake(&connection.lifecycle);
            let from_data =
                data_sender.map(TapPosition::Unknown).filter(|_| phase != Phase::Opening);
            // A bare acknowledgment goes to the side whose data it acknowledges.
            let from_midway = (connection.lifecycle.beginning == Beginning::Midway)
                .then(|| TapPosition::Unknown(data_sender.unwrap_or(held.side.other())));
            from_times.or(from_data).or(from_midway).or_else(otherwise)
        }
    }
}
