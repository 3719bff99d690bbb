//! Points for pictures of single flows: time and sequence, round-trip time, bytes in flight,
//! throughput.
//!
//! A [`FlowTrace`] is told what passed of one flow, and of what kind each segment was, and keeps the
//! points that draw it, as few as a picture needs: where there are more, neighbours become one that
//! spans their extremes, and kinds that are rare stay whole. A `Tracer` keeps the traces of the
//! connections that were chosen, which become the table `traces`.

mod flow;
mod points;
mod tracer;

pub use flow::{AckKind, FlowTrace, NewData, TraceLimits};
pub use points::{Point, PointKind, Series};
pub(crate) use tracer::{COLUMNS, TraceId, Tracer};
pub use tracer::{Selection, TraceSettings, traces_table};
