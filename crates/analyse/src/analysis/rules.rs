//! Rules of following connections: timeouts, the position of taps, and which part of each connection counts.

use super::settings::Settings;
use crate::connection::{
    Beginning, Connection, CountedPart, HeldPacket, Phase, Side, TapPosition, Timeouts, Vantage,
    position_from_handshake,
};
use fairwind_units::{Instant, Span};

/// Packets of a connection that wait until the position of the tap is known.
pub(super) const MOST_HELD: usize = 16;

/// Rules of the follower.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    pub(crate) timeouts: Timeouts,
    pub(crate) vantage: Vantage,
    /// Whether there are two taps.
    pub(crate) is_joined: bool,
    /// The part of each connection that counts, if not all of it.
    pub(crate) ages: Option<CountedAges>,
}

/// The ages of a connection between which it counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CountedAges {
    from: Span,
    until: Option<Span>,
}

impl CountedAges {
    /// The ages in `settings`; `None` if all of each connection counts.
    pub(super) fn of(settings: &Settings) -> Option<Self> {
        let (from, until) = (settings.connection_from, settings.connection_until);
        (from > Span::ZERO || until.is_some()).then_some(Self { from, until })
    }

    /// The part in which a packet at `at` lies, of a connection that began at `began`.
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
    /// When a connection that began at `began` starts to count.
    pub(super) fn counted_from(&self, began: Instant) -> Instant {
        self.ages.map_or(Instant::ZERO, |ages| began + ages.from)
    }

    /// When it stops counting.
    pub(super) fn counted_until(&self, began: Instant) -> Instant {
        let until = self.ages.and_then(|ages| ages.until);
        until.map_or(Instant::MAX, |until| began + until)
    }
}

/// The position of the taps of a connection, as soon as its packets show it.
pub(super) fn tap_position(
    rules: &Rules,
    connection: &Connection,
    held: &HeldPacket,
) -> Option<TapPosition> {
    let phase = connection.lifecycle.phase;
    if rules.is_joined {
        // The sender of the first packet is near the tap that saw it first.
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
