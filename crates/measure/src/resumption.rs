//! What connections began with of what their hosts remember, and how saved windows were resumed with care (RFC 9959).

use crate::FlowId;
use crate::table::{Table, TableBuilder};
use fairwind_units::Instant;

/// A connection that has opened at a host with a memory, or come to another phase of a careful resumption.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResumptionStep {
    /// Whose data it is.
    pub flow: FlowId,
    /// The flow's name.
    pub name: String,
    /// The group of the flow.
    pub group: String,
    /// When.
    pub at: Instant,
    /// The phase that begins.
    pub phase: &'static str,
    /// Why what is remembered is not used, or why the resumption is over, where that is so.
    pub reason: Option<&'static str>,
    /// The congestion window in segments from then on.
    pub window_packets: u32,
    /// The window in segments that was remembered when the connection opened, where the phase is its opening and
    /// something was.
    pub saved_packets: Option<u32>,
}

/// The table `resumptions`, one row for each step, by time.
pub fn resumptions_table(steps: &[ResumptionStep]) -> Table {
    TableBuilder::new("resumptions", steps)
        .with("time_s", |row| row.at.as_secs_f64())
        .with("flow", |row| u64::from(row.flow.0))
        .with("name", |row| row.name.clone())
        .with("group", |row| row.group.clone())
        .with("phase", |row| row.phase.to_owned())
        .with("reason", |row| row.reason.unwrap_or_default().to_owned())
        .with("cwnd_packets", |row| u64::from(row.window_packets))
        .with("saved_packets", |row| row.saved_packets.map(u64::from))
        .build()
}
