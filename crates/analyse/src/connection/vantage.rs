//! Position of the tap, and what a packet at a tap is to the flows of its connection.
//!
//! Source: our own rule. A tap sees the answer to a packet late if the answerer is far away. The time from SYN to
//! SYN-ACK is the round trip from the tap to the answerer, the time from there to the ACK the round trip to the opener.
//! After retransmissions it is unknown which copy was answered: the first and the last one before the answer bound the
//! round trip.

use super::endpoints::Side;
use super::lifecycle::{Lifecycle, SynRecord};
use crate::one_way::FlowPairId;
use crate::trace::TraceId;
use fairwind_measure::{ConnectionFlows, FlowId};
use fairwind_units::{Instant, Span};

/// How the position of the tap of a single capture is determined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Vantage {
    /// From the times of the handshake; near the sender of the first data if these are inconclusive.
    #[default]
    Auto,
    /// Near the side that sends the first data.
    Sender,
    /// Near the side that receives the first data.
    Receiver,
    /// Near the side that opens the connection.
    Opener,
    /// Near the side that accepts it.
    Answerer,
}

/// Position of a tap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum TapPosition {
    /// Near this side.
    Near(Side),
    /// On the path, far from both; counts as near the closer side.
    Between(Side),
    /// Unknown; counts as near this side.
    Unknown(Side),
    /// As the settings say.
    Given(Side),
}

impl TapPosition {
    /// The side with packets that depart here; those of the other side arrive here.
    pub(crate) const fn side(self) -> Side {
        match self {
            Self::Near(side) | Self::Between(side) | Self::Unknown(side) | Self::Given(side) => {
                side
            }
        }
    }

    /// Its name in tables.
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

/// The tap is near one side if the path to the other is longer by this factor.
const NEAR_RATIO: u64 = 4;
/// Shorter times are those of the host, with both ends on it.
const NO_WAY: Span = Span::from_micros(100);

/// Bounds of the round trip between the tap and one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RoundTrip {
    least: Span,
    most: Span,
}

impl RoundTrip {
    /// From the copies of a SYN or SYN-ACK to the answer at `answered_at`; `None` if the last copy before it is unknown.
    fn to_answer(offer: &SynRecord, answered_at: Instant) -> Option<Self> {
        let last_before = if offer.last_at <= answered_at {
            offer.last_at
        } else if offer.times <= 2 {
            offer.first_at
        } else {
            return None;
        };
        Some(Self {
            least: answered_at.saturating_since(last_before),
            most: answered_at.saturating_since(offer.first_at),
        })
    }

    /// Whether it is shorter than the other by the factor that makes a tap near, within all bounds.
    fn is_far_below(self, other: Self) -> bool {
        self.most.saturating_mul(NEAR_RATIO) <= other.least
    }
}

/// The position from the times of the handshake; `None` if inconclusive.
pub(crate) fn position_from_handshake(lifecycle: &Lifecycle) -> Option<TapPosition> {
    let asked = lifecycle.syn_of(Side::Opener)?;
    let answered = lifecycle.syn_of(Side::Answerer)?;
    if lifecycle.is_simultaneous {
        return None;
    }
    let to_answerer = RoundTrip::to_answer(asked, answered.first_at)?;
    let to_opener = RoundTrip::to_answer(answered, lifecycle.established_at?)?;
    if to_answerer.least.max(to_opener.least) < NO_WAY {
        return None;
    }
    if to_opener.is_far_below(to_answerer) {
        return Some(TapPosition::Near(Side::Opener));
    }
    if to_answerer.is_far_below(to_opener) {
        return Some(TapPosition::Near(Side::Answerer));
    }
    let is_opener_closer = to_opener.most <= to_answerer.most;
    let closer = if is_opener_closer { Side::Opener } else { Side::Answerer };
    let are_exact = asked.times == 1 && answered.times == 1;
    are_exact.then_some(TapPosition::Between(closer))
}

/// The flows of a connection, and the position of the taps.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TapMapping {
    /// The connection's flows.
    pub(crate) flows: ConnectionFlows,
    /// The side that the first tap is near.
    pub(crate) place: TapPosition,
    /// The side that each tap is near: its packets depart there, those of the other side arrive.
    pub(crate) near: [Side; 2],
    /// Its one-way flows, with two taps.
    pub(crate) pair: Option<FlowPairId>,
    /// Its traces, if it was chosen.
    pub(crate) trace: Option<TraceId>,
}

impl TapMapping {
    /// The flows with the side that sends their data.
    pub(crate) fn flows_by_side(&self) -> impl Iterator<Item = (FlowId, Side)> + use<> {
        let ConnectionFlows { opening, answering } = self.flows;
        let answering = answering.map(|flow| (flow, Side::Answerer));
        [(opening, Side::Opener)].into_iter().chain(answering)
    }

    /// Whether a packet of `side` departs at this tap.
    #[inline]
    pub(crate) fn leaves(&self, tap: usize, side: Side) -> bool {
        self.near[tap & 1] == side
    }
}

/// Position of a packet relative to the part of its connection that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum CountedPart {
    /// Before the part.
    Before,
    /// Within the part.
    #[default]
    Within,
    /// After the part.
    After,
}
