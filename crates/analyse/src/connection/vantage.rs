//! Position of the tap, and what a packet at a tap is to the flows of its connection.
//!
//! Source: our own rule. A tap sees the answer to a packet late if the answerer is far away. The time from SYN to
//! SYN-ACK is the round trip from the tap to the answerer, the time from there to the ACK the round trip to the opener.

use super::endpoints::Side;
use super::lifecycle::Lifecycle;
use crate::one_way::FlowPairId;
use crate::trace::TraceId;
use fairwind_measure::ConnectionFlows;
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
pub(crate) enum TapPosition {
    /// Near this side.
    Near(Side),
    /// On the way, far from both; taken as near to the side that is not so far.
    Between(Side),
    /// Nothing tells; taken as near to this side.
    Unknown(Side),
    /// As the settings say.
    Given(Side),
}

impl TapPosition {
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
pub(crate) fn position_from_handshake(lifecycle: &Lifecycle) -> Option<TapPosition> {
    let asked = lifecycle.syn_of(Side::Opener)?;
    let answered = lifecycle.syn_of(Side::Answerer)?;
    // What was sent several times does not tell which copy was answered.
    if asked.times > 1 || answered.times > 1 || lifecycle.is_simultaneous() {
        return None;
    }
    let to_answerer = answered.first_at.saturating_since(asked.first_at);
    let to_opener = lifecycle.established_at()?.saturating_since(answered.first_at);
    if to_answerer.max(to_opener) < NO_WAY {
        return None;
    }
    Some(if to_opener.saturating_mul(NEAR_RATIO) <= to_answerer {
        TapPosition::Near(Side::Opener)
    } else if to_answerer.saturating_mul(NEAR_RATIO) <= to_opener {
        TapPosition::Near(Side::Answerer)
    } else if to_opener <= to_answerer {
        TapPosition::Between(Side::Opener)
    } else {
        TapPosition::Between(Side::Answerer)
    })
}

/// The flows of a connection, and where the taps are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TapMapping {
    /// The connection's flows.
    pub(crate) flows: ConnectionFlows,
    /// The side that the tap, or the first of two taps, is near.
    pub(crate) place: TapPosition,
    /// The side that each tap is near: what it sends leaves there, what the other sends arrives.
    pub(crate) near: [Side; 2],
    /// What follows it from one tap to the other, where there are two.
    pub(crate) pair: Option<FlowPairId>,
    /// The traces of its flows, if it is drawn.
    pub(crate) trace: Option<TraceId>,
}

impl TapMapping {
    /// Whether a packet that `side` sent has just left it at this tap, rather than come from afar.
    #[inline]
    pub(crate) fn leaves(&self, tap: usize, side: Side) -> bool {
        self.near[tap & 1] == side
    }
}

/// Before the part that counts, in it, or behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum CountedPart {
    /// The connection is too young.
    Before,
    /// It counts.
    #[default]
    Within,
    /// The connection is too old.
    After,
}
