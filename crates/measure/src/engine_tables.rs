//! Tables that engines fill: `senders`, `resumptions`, `remembered`, `control_complaints` and `hosts`.

use crate::collector::Collector;
use crate::formula::seconds;
use crate::observation::FlowId;
use crate::settings::FlowDescription;
use crate::table::{Table, TableBuilder};
use fairwind_units::{Instant, Span};
use std::net::IpAddr;

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

/// A peer of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedWindow {
    /// Who remembers.
    pub host: String,
    /// Whom.
    pub peer: IpAddr,
    /// The window in segments.
    pub window_packets: u32,
    /// How old it is.
    pub age: Span,
}

/// The table `remembered`, by host and address.
pub fn remembered_table(mut peers: Vec<CachedWindow>) -> Table {
    peers.sort_by(|one, other| (&one.host, one.peer).cmp(&(&other.host, other.peer)));
    TableBuilder::new("remembered", &peers)
        .with("host", |row| row.host.clone())
        .with("peer", |row| row.peer.to_string())
        .with("window_packets", |row| u64::from(row.window_packets))
        .with("age_s", |row| row.age.as_secs_f64())
        .build()
}

/// Something that one group's congestion control did and should not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlComplaint {
    /// The group of flows.
    pub group: String,
    /// The congestion control's name.
    pub congestion: String,
    /// What was amiss.
    pub complaint: String,
    /// Connections of the group with which it was.
    pub connections: u64,
    /// How often altogether, where that is counted.
    pub times: Option<u64>,
}

/// The table `control_complaints`, one row for each.
pub fn control_complaints_table(complaints: &[ControlComplaint]) -> Table {
    TableBuilder::new("control_complaints", complaints)
        .with("group", |row| row.group.clone())
        .with("congestion", |row| row.congestion.clone())
        .with("complaint", |row| row.complaint.clone())
        .with("connections", |row| row.connections)
        .with("times", |row| row.times)
        .build()
}

/// How punctual the applications of one host were, and what it met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostLateness {
    /// The host's name.
    pub host: String,
    /// Writes that were due at an instant.
    pub timed_writes: u64,
    /// How late they were on average.
    pub mean: Span,
    /// How late 99 of 100 were at most.
    pub p99: Span,
    /// How late the latest was.
    pub maximum: Span,
    /// Connections that came from where nobody was expected.
    pub unexpected_connections: u64,
    /// Connections that the other end broke off while this host was reading.
    pub broken_connections: u64,
}

/// The table `hosts`, one row for each.
pub fn hosts_table(hosts: &[HostLateness]) -> Table {
    let late =
        |host: &HostLateness, late: Span| (host.timed_writes > 0).then(|| seconds(late.as_nanos()));
    TableBuilder::new("hosts", hosts)
        .with("host", |row| row.host.clone())
        .with("timed_writes", |row| row.timed_writes)
        .with("late_write_mean_s", |row| late(row, row.mean))
        .with("late_write_p99_s", |row| late(row, row.p99))
        .with("late_write_max_s", |row| late(row, row.maximum))
        .with("unexpected_connections", |row| row.unexpected_connections)
        .with("broken_connections", |row| row.broken_connections)
        .build()
}
