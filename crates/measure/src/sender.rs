//! What kept data senders from sending, as they know it themselves: was the congestion control exercised?
//!
//! Source: Leith, "An experimental evaluation of congestion control": a comparison of congestion controls says nothing
//! where something else limits the flows. The counters are those of Linux' `tcp_info`.

use crate::collector::Collector;
use crate::observation::FlowId;
use crate::settings::FlowDescription;
use crate::table::{Table, TableBuilder};
use fairwind_units::{Instant, Span};

/// What one data sender counted from its start to the end of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SenderCounts {
    /// Time with something written that was not acknowledged (`tcpi_busy_time`).
    pub busy: Span,
    /// Of it: time in which the peer's window held data back (`tcpi_rwnd_limited`).
    pub window_limited: Span,
    /// Of it: time in which the send buffer held the application back (`tcpi_sndbuf_limited`).
    pub buffer_limited: Span,
    /// Segments sent again (`tcpi_total_retrans`).
    pub segments_retransmitted: u32,
    /// The congestion window at the end (`tcpi_snd_cwnd`).
    pub cwnd_packets: u32,
    /// Whether the congestion window is below the slow-start threshold at the end.
    pub in_slow_start: bool,
}

/// One row of the table `senders`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SenderRow {
    flow: u64,
    name: String,
    group: String,
    open: Span,
    counts: SenderCounts,
}

impl SenderRow {
    /// The flow's number in tables.
    pub const fn flow(&self) -> u64 {
        self.flow
    }
}

impl Collector {
    /// What the table `senders` tells of a flow whose sender counted this until `end`; `None` where there is no such
    /// flow, or no more, or it has not begun.
    pub fn sender_row(
        &self,
        flow: FlowId,
        end: Instant,
        counts: SenderCounts,
    ) -> Option<SenderRow> {
        let number = self.number_of(flow)?;
        let has_begun = |flow: &&FlowDescription| flow.start != FlowDescription::START_PENDING;
        let description = self.settings.flows.get(flow.index()).filter(has_begun)?;
        let over = self.over(flow).unwrap_or(end);
        Some(SenderRow {
            flow: number,
            name: description.name.clone(),
            group: self.settings.groups.get(description.group_index())?.clone(),
            open: over.saturating_since(description.start),
            counts,
        })
    }
}

/// The table `senders`, one row for each.
pub fn senders_table(accounts: &[SenderRow]) -> Table {
    TableBuilder::new("senders", accounts)
        .with("flow", |row| row.flow)
        .with("name", |row| row.name.clone())
        .with("group", |row| row.group.clone())
        .with("open_s", |row| row.open.as_secs_f64())
        .with("busy_s", |row| row.counts.busy.as_secs_f64())
        .with("window_limited_s", |row| row.counts.window_limited.as_secs_f64())
        .with("buffer_limited_s", |row| row.counts.buffer_limited.as_secs_f64())
        .with("total_segments_retransmitted", |row| u64::from(row.counts.segments_retransmitted))
        .with("cwnd_packets", |row| u64::from(row.counts.cwnd_packets))
        .with("in_slow_start", |row| row.counts.in_slow_start)
        .build()
}
