//! One direction's data of one connection, as one tap saw it: what can be inferred and was not said.
//!
//! A [`Stream`] is told of the segments that carry the data ([`Stream::on_segment`]) and of the
//! acknowledgments that come back ([`Stream::on_acknowledgment`]), and says of each data segment at
//! once what it is ([`SegmentKind`]): new, sent again and for which [`Cause`], a bundle of old and new
//! bytes, out of order, a copy, a keep-alive, a probe of a closed window. It counts, and keeps
//! distributions ([`StreamMeasures`]), which [`StreamRows`] makes tables of.
//!
//! All rules by which a cause is found stand in one list, in `cause`. They are meant for a tap at, or
//! near, the host that sends the data; [`TapSide`] says where it is.
//!
//! Modules: `kind` (what is told), `stream` (segments of the data), `unusual` (those that do not simply continue it), `acknowledgment` (what comes back), `belonging` (which of both are the stream's),
//! `outstanding` (what was sent and not acknowledged), `cause` (the rules), `afar` (what is known near the receiver), `episode` (repairs that
//! belong together), `probe_inference` (whether the sender probes), `timeout` (the sender's time-out, estimated), `repeats` (which repetitions were
//! needless), `segment` (what is outstanding longest), `window` (what the other side offers), `limit` (what the time goes into),
//! `measures` (what is counted), `group` (the same of many streams), `tables`, `columns`.

mod acknowledgment;
mod cause;
mod columns;
mod kind;
mod limits;
mod measures;
mod outstanding;
mod repair;
mod retransmission;
mod rtt;
mod sequence_check;
#[expect(clippy::module_inception, reason = "the room is called after what it is about")]
mod stream;
mod tables;

pub use columns::columns;
pub use kind::{AckEvent, Cause, ProbeUseCounts, Retransmission, SegmentKind, TapSide};
pub use measures::{GroupMeasures, StreamMeasures};
pub(crate) use sequence_check::OutstandingSegment;
pub use stream::Stream;
pub use tables::{RowKey, StreamRows};
