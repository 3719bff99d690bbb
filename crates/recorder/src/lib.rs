//! Recorder: observations of several observers, put in order, measured and captured while the experiment runs.
//!
//! The router, every host and perhaps the kernel's tracepoints each report what they saw in the order
//! of its instants, in batches, with the instant up to which their report is complete. A separate
//! thread, which gives way to all others, merges them and feeds the
//! [`Collector`](fairwind_measure::Collector) and the capture files. The batches that it has not yet
//! had time for are bounded: an observer that is too far ahead waits.
//!
//! | module | concern |
//! |---|---|
//! | `observations` | what an observer writes down, in batches |
//! | `merge` | batches of many observers in the order of instants |
//! | `recorder` | the thread: measures and captures |

#![allow(
    clippy::missing_errors_doc,
    reason = "the variants of the error types say when they occur"
)]

mod merge;
mod observations;
mod recorder;

pub use observations::{
    FirstEnd, MeasuredPacket, NewFlow, ObservationPoint, ObservationWriter, REPORT_INTERVAL,
};
pub use recorder::{Recorder, RecorderError, RecorderOutput, RecorderParts};
