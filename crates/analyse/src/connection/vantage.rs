//! Which side of a connection a tap is near to.
//!
//! Source: our own rule. A tap sees the answer to a packet late where the answerer is far away: the time
//! from SYN to SYN-ACK is the way from the tap to the answerer and back, the time from there to the ACK
//! the way to the opener and back.

use super::life::Life;
use super::side::Side;
use fairwind_units::Span;

/// How it is decided which side the tap of a single capture is near to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Vantage {
    /// From the times of the set-up; near the sender of the first data where these do not tell.
    #[default]
    Auto,
    /// Near the side that sends the first data.
    Sender,
    /// Near the side that receives the first data.
    Receiver,
    /// Near the side that opens the connection.
    Opener,
    /// Near the side that answers.
    Answerer,
}

/// Where a tap was found to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    /// Near this side.
    Near(Side),
    /// On the way, far from both; taken as near to the side that is not so far.
    Between(Side),
    /// Nothing tells; taken as near to this side.
    Unknown(Side),
    /// As the settings say.
    Given(Side),
}

impl Place {
    /// The side whose packets count as sent here, while those of the other side arrive here.
    pub(crate) const fn side(self) -> Side {
        match self {
            Self::Near(side) | Self::Between(side) | Self::Unknown(side) | Self::Given(side) => {
                side
            }
        }
    }

    /// As it stands in tables.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Near(Side::Opener) => "near-opener",
            Self::Near(Side::Answerer) => "near-answerer",
            Self::Between(_) => "between",
            Self::Unknown(_) => "unknown",
            Self::Given(Side::Opener) => "given-opener",
            Self::Given(Side::Answerer) => "given-answerer",
        }
    }
}

/// The way to one side must be so many times the way to the other for the tap to be near that one.
const NEAR_RATIO: u64 = 4;
/// Ways shorter than this are the machine's own, and tell nothing (both ends on one host).
const NO_WAY: Span = Span::from_micros(100);

/// Where the tap is, from the times of the set-up; `None` where they do not tell.
pub(crate) fn place_of(life: &Life) -> Option<Place> {
    let asked = life.offer(Side::Opener)?;
    let answered = life.offer(Side::Answerer)?;
    // What was sent several times does not tell which copy was answered.
    if asked.times > 1 || answered.times > 1 || life.is_simultaneous() {
        return None;
    }
    let to_answerer = answered.first_at.saturating_since(asked.first_at);
    let to_opener = life.established_at()?.saturating_since(answered.first_at);
    if to_answerer.max(to_opener) < NO_WAY {
        return None;
    }
    Some(if to_opener.saturating_mul(NEAR_RATIO) <= to_answerer {
        Place::Near(Side::Opener)
    } else if to_answerer.saturating_mul(NEAR_RATIO) <= to_opener {
        Place::Near(Side::Answerer)
    } else if to_opener <= to_answerer {
        Place::Between(Side::Opener)
    } else {
        Place::Between(Side::Answerer)
    })
}
