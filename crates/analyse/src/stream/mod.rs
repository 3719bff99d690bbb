//! One direction's data of one connection at one tap: inferred causes, windows and limits.
//!
//! A [`Stream`] takes the segments of the data ([`Stream::on_segment`]) and the acknowledgments of the other
//! direction ([`Stream::on_acknowledgment`]). It classifies each data segment at once ([`SegmentKind`]): new,
//! retransmitted for a [`Cause`], a bundle of old and new bytes, out of order, a network copy, a keep-alive, or
//! a window probe. It counts in [`StreamMeasures`], of which [`StreamRows`] makes tables.
//!
//! The rules for causes stand in one list, in `cause`. They assume a tap near the sender; [`TapSide`] says
//! where it is.
//!
//! Modules: `measures` (results and counters), `stream` (state and new data), `retransmission` (segments out of
//! sequence), `acknowledgment`, `sequence_check` (plausible numbers), `outstanding` (ranges not acknowledged), `cause`
//! (rules), `repair` (episodes, spurious retransmissions), `rtt` (estimates), `limits` (windows and what limits the
//! sender), `tables`.

mod acknowledgment;
mod cause;
mod limits;
mod measures;
mod outstanding;
mod repair;
mod retransmission;
mod rtt;
mod sequence_check;
#[expect(clippy::module_inception, reason = "the module is named after its subject")]
mod stream;
mod tables;

pub use measures::{
    AckEvent, Cause, GroupMeasures, ProbeUseCounts, Retransmission, SegmentKind, StreamMeasures,
    TapSide,
};
pub(crate) use sequence_check::OutstandingSegment;
pub use stream::Stream;
pub use tables::{RowKey, StreamRows, columns};
