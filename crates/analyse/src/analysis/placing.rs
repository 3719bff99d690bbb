//! Where the taps of a connection are.

use super::follower::{MOST_HELD, Rules};
use crate::connection::{Beginning, Connection, Held, Phase, Place, Side, Vantage, place_of};

/// Where the taps of a connection are, as soon as its packets tell.
pub(super) fn place_by(rules: &Rules, connection: &Connection, held: &Held) -> Option<Place> {
    let phase = connection.life.phase;
    if rules.is_joined {
        // Whoever sent its first packet is near the tap that saw it first.
        let first = connection.held.first().unwrap_or(held);
        let near = if first.tap == 0 { first.side } else { first.side.other() };
        return Some(Place::Near(near));
    }
    let data_sender = (held.packet.segment.payload_bytes > 0).then_some(held.side);
    let is_exhausted = connection.held.len() >= MOST_HELD || phase == Phase::Closed;
    let otherwise = || is_exhausted.then_some(Place::Unknown(Side::Opener));
    match rules.vantage {
        Vantage::Opener => Some(Place::Given(Side::Opener)),
        Vantage::Answerer => Some(Place::Given(Side::Answerer)),
        Vantage::Sender => data_sender.map(Place::Given).or_else(otherwise),
        Vantage::Receiver => data_sender.map(|side| Place::Given(side.other())).or_else(otherwise),
        Vantage::Auto => {
            let from_times = place_of(&connection.life);
            let from_data = data_sender.map(Place::Unknown).filter(|_| phase != Phase::Opening);
            // A bare acknowledgment goes to the side whose data it acknowledges.
            let from_midway = (connection.life.beginning == Beginning::Midway)
                .then(|| Place::Unknown(data_sender.unwrap_or(held.side.other())));
            from_times.or(from_data).or(from_midway).or_else(otherwise)
        }
    }
}
