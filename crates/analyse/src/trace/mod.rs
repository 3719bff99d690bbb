//! Traces of single flows: sequence numbers, round-trip time, bytes in flight and throughput over time.
//!
//! A [`FlowTrace`] takes segments with their kinds, and keeps as few points as a picture needs: neighbours
//! merge into one point that spans their extremes, and rare kinds stay whole. A `Tracer` keeps the traces of
//! the chosen connections for the table `traces`.

mod flow;
mod points;
mod tracer;

pub use flow::{AckKind, FlowTrace, NewData, TraceLimits};
pub use points::{Point, PointKind, Series};
pub(crate) use tracer::{COLUMNS, TraceId, Tracer};
pub use tracer::{Selection, TraceSettings, traces_table};
