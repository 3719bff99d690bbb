//! Tables that engines fill: `senders`, `resumptions`, `remembered`, `control_complaints`, `hosts` and `lateness`.

use crate::collector::Collector;
use crate::distribution::{Counts, Percentiles, Summary, Times};
use crate::formula::seconds;
use crate::observation::FlowId;
use crate::settings::FlowDescription;
use crate::table::{Table, TableBuilder};
use crate::table_columns;
use fairwind_units::{Instant, Span};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// Counts of one data sender from its start to the end of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
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
    /// The row of the table `senders` for a flow, from its sender's counts until `end`; `None` where there is no such
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
    with_sender(TableBuilder::new("senders", accounts)).build()
}

/// A connection that has opened at a host with a memory, or come to another phase of a careful resumption.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResumptionStep {
    /// The flow of the data.
    pub flow: FlowId,
    /// The flow's name.
    pub name: String,
    /// The group of the flow.
    pub group: String,
    /// When.
    pub at: Instant,
    /// The phase that begins.
    pub phase: &'static str,
    /// Why the remembered window is not used, or why the resumption is over, if so.
    pub reason: Option<&'static str>,
    /// The congestion window in segments from then on.
    pub window_packets: u32,
    /// The window in segments that was remembered when the connection opened, where the phase is its opening and
    /// something was.
    pub saved_packets: Option<u32>,
}

/// The table `resumptions`, one row for each step, by time.
pub fn resumptions_table(steps: &[ResumptionStep]) -> Table {
    with_resumption(TableBuilder::new("resumptions", steps)).build()
}

/// A remembered window of a host for a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedWindow {
    /// The host that remembers the window.
    pub host: String,
    /// The peer.
    pub peer: IpAddr,
    /// The window in segments.
    pub window_packets: u32,
    /// How old it is.
    pub age: Span,
}

/// The table `remembered`, by host and address.
pub fn remembered_table(mut peers: Vec<CachedWindow>) -> Table {
    peers.sort_by(|one, other| (&one.host, one.peer).cmp(&(&other.host, other.peer)));
    with_remembered(TableBuilder::new("remembered", &peers)).build()
}

/// Something that one group's congestion control did and should not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlComplaint {
    /// The group of flows.
    pub group: String,
    /// The congestion control's name.
    pub congestion: String,
    /// The complaint.
    pub complaint: String,
    /// Connections of the group with which it was.
    pub connections: u64,
    /// How often altogether, where that is counted.
    pub times: Option<u64>,
}

/// The table `control_complaints`, one row for each.
pub fn control_complaints_table(complaints: &[ControlComplaint]) -> Table {
    with_complaint(TableBuilder::new("control_complaints", complaints)).build()
}

/// Lateness of the applications of one host, and its connection problems.
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
    /// Connections from an unexpected peer.
    pub unexpected_connections: u64,
    /// Connections that the other end broke off while this host was reading.
    pub broken_connections: u64,
}

/// The table `hosts`, one row for each.
pub fn hosts_table(hosts: &[HostLateness]) -> Table {
    with_host(TableBuilder::new("hosts", hosts)).build()
}

impl HostLateness {
    fn seconds_late(&self, late: Span) -> Option<f64> {
        (self.timed_writes > 0).then(|| seconds(late.as_nanos()))
    }
}

/// What became of packets that hosts gave to a router.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RoutedPackets {
    /// Taken from hosts, whatever became of them.
    pub taken: u64,
    /// Of these, carried although they belong to no flow that is measured.
    pub unmeasured: u64,
    /// Of these, packets without destination here, or malformed: discarded and counted nowhere else.
    pub discarded: u64,
    /// Carried, but refused by the kernel at their destination.
    pub refused: u64,
    /// Datagrams that never left their host's device, as far as the router can see.
    pub missing: u64,
}

/// Lateness of deliveries, and the bound that it is judged by.
#[derive(Debug, Clone)]
pub struct Lateness {
    bound: Span,
    deliveries: Times,
    beyond_bound: u64,
    batches: Counts,
    /// What became of packets.
    pub packets: RoutedPackets,
    /// Events of the kernel's endpoints that were lost because they came faster than they were read.
    pub events_missed: u64,
}

impl Lateness {
    /// Of nothing yet.
    pub fn new(bound: Span) -> Self {
        Self {
            bound,
            deliveries: Times::new(),
            beyond_bound: 0,
            batches: Counts::new(),
            packets: RoutedPackets::default(),
            events_missed: 0,
        }
    }

    /// A packet was handed over `late` after it was due.
    #[inline]
    pub fn on_delivery(&mut self, late: Span) {
        self.beyond_bound += u64::from(late > self.bound);
        self.deliveries.record(late.as_nanos());
    }

    /// Number of packets of one host that were waiting when the router looked: all but the last of them
    /// had been ready before.
    #[inline]
    pub fn on_batch(&mut self, packets: u64) {
        self.batches.record(packets);
    }

    /// What its 99th percentile may be.
    pub const fn bound(&self) -> Span {
        self.bound
    }

    /// The lateness that this per cent of the deliveries do not exceed, at most 1 % (or 0.5 us)
    /// above the true one; `None` without deliveries.
    pub fn percentile(&self, percentile: f64) -> Option<Span> {
        self.deliveries.percentile(percentile).map(Span::from_nanos)
    }

    /// Whether the 99th percentile is above the bound.
    pub fn exceeds_bound(&self) -> bool {
        self.percentile(99.0).is_some_and(|late| late > self.bound)
    }

    /// The table `lateness`, of one row.
    pub fn table(&self) -> Table {
        let percentiles = &Percentiles::new(LATENESS_PERCENTILES);
        let rows = [LatenessRow {
            whole: self,
            deliveries: Summary::of(&self.deliveries, percentiles),
            batches: Summary::of(&self.batches, percentiles),
        }];
        with_lateness(TableBuilder::new("lateness", &rows), percentiles).build()
    }
}

/// The row of the table `lateness`.
struct LatenessRow<'a> {
    whole: &'a Lateness,
    deliveries: Summary,
    batches: Summary,
}

/// The percentiles of the table `lateness`.
const LATENESS_PERCENTILES: [f64; 4] = [50.0, 90.0, 99.0, 99.9];

table_columns! {
    pub(crate) RESUMPTION: with_resumption(ResumptionStep);
    "time_s", "s", with(|row| row.at.as_secs_f64()), "When the phase began, since the experiment began. Only simulations with a host that remembers windows (`tcp.sharing`) have this table.";
    "flow", "number", with(|row| u64::from(row.flow.0)), "The number of the flow that the connection carries.";
    "name", "text", with(|row| row.name.clone()), "The flow's name.";
    "group", "text", with(|row| row.group.clone()), "The group of the flow.";
    "phase", "text", with(|row| row.phase.to_owned()), "`opening`: the handshake is over, and the host had looked up a window for the connection. With careful-resume also reconnaissance, unvalidated, validating and safe-retreat, and normal when the resumption is over (RFC 9959).";
    "reason", "text", with(|row| row.reason.unwrap_or_default().to_owned()), "For `opening`, why the remembered window is not used: unknown (there is none), outdated, in-use (another connection resumes it), unfit (a loss in the handshake or another path), too-small (no more than the initial window); empty where it is used. For `normal`, why the resumption is over: congested (before the jump), path-changed, nothing-to-gain, rate-limited, validated, retreated, timed-out or closed (the connection ended first).";
    "cwnd_packets", "packets", with(|row| u64::from(row.window_packets)), "The congestion window in segments at the beginning of the phase.";
    "saved_packets", "packets", with(|row| row.saved_packets.map(u64::from)), "For `opening`, the window in segments remembered for the peer, outdated or not; missing where there was none, and in other phases.";
}

table_columns! {
    pub(crate) REMEMBERED: with_remembered(CachedWindow);
    "host", "text", with(|row| row.host.clone()), "The host that remembers the window (`tcp.sharing`). At the end of the run there is a row for each of its peers, as in the report's `/proc/project`; outdated windows are listed until they are looked up.";
    "peer", "text", with(|row| row.peer.to_string()), "The peer's address.";
    "window_packets", "packets", with(|row| u64::from(row.window_packets)), "The remembered window in segments: the largest (classic), the mean (rfc9040), that of Linux (tcp-metrics), the saved one (careful-resume).";
    "age_s", "s", with(|row| row.age.as_secs_f64()), "How long ago the window was saved. On the kernel it is read when the hosts have ended; these also save the windows of connections that are still open.";
}

table_columns! {
    pub(crate) SENDER: with_sender(SenderRow);
    "flow", "number", with(|row| row.flow), "The flow's number; there is a row for each data sender, of runs, not of captures.";
    "name", "text", with(|row| row.name.clone()), "The flow's name.";
    "group", "text", with(|row| row.group.clone()), "The group of the flow.";
    "open_s", "s", with(|row| row.open.as_secs_f64()), "From the flow's start until it finished, was given up, or the run ended. This table includes the warm-up.";
    "busy_s", "s", with(|row| row.counts.busy.as_secs_f64()), "Time in which written data was not yet acknowledged; in the rest the application had nothing to send.";
    "window_limited_s", "s", with(|row| row.counts.window_limited.as_secs_f64()), "Part of the busy time in which the peer's window held data back.";
    "buffer_limited_s", "s", with(|row| row.counts.buffer_limited.as_secs_f64()), "Part of the busy time in which the whole send buffer was sent and the application had more.";
    "total_segments_retransmitted", "segments", with(|row| u64::from(row.counts.segments_retransmitted)), "Segments that the sender sent again.";
    "cwnd_packets", "packets", with(|row| u64::from(row.counts.cwnd_packets)), "Congestion window at the end. It is 0 only on the kernel, where a congestion control may have set it; then only probes are sent.";
    "in_slow_start", "yes/no", with(|row| row.counts.in_slow_start), "Whether the congestion window was below the slow-start threshold at the end. If no segment was sent again, the flow never left slow start.";
}

table_columns! {
    pub(crate) CONTROL_COMPLAINT: with_complaint(ControlComplaint);
    "group", "text", with(|row| row.group.clone()), "The group of flows. The table exists only if a congestion control misbehaved.";
    "congestion", "text", with(|row| row.congestion.clone()), "The congestion control, by its name in the scenario.";
    "complaint", "text", with(|row| row.complaint.clone()), "What was wrong: it asked for a window of no segments, or for a pace of less than a segment per minute, or a hook was ended. Then the reason follows, with the line of the source where known.";
    "connections", "number", with(|row| row.connections), "Connections of the group that were affected.";
    "times", "number", with(|row| row.times), "How often it happened, over all connections; missing where only the first time is reported.";
}

table_columns! {
    pub(crate) LATENESS: with_lateness['a](LatenessRow<'a>, percentiles: &Percentiles);
    "bound_s", "s", with(|row| seconds(row.whole.bound.as_nanos())), "The bound of the 99th percentile of the lateness: 0.2 ms, or a tenth of a full packet's time on the bottleneck or of the mean time between bunches (`slot`) if that is longer. Only runs in real time have this table.";
    "exceeds_bound", "yes/no", with(|row| row.whole.exceeds_bound()), "Whether the 99th percentile of the lateness is above the bound. If so, do not trust the run.";
    "deliveries", "packets", with(|row| row.deliveries.count), "Packets handed over to hosts, warm-up included.";
    "deliveries_beyond_bound", "packets", with(|row| row.whole.beyond_bound), "Packets handed over later than the bound after they were due.";
    "lateness_mean_s", "s", = with_times("lateness_", &LATENESS_PERCENTILES, percentiles, |row| &row.deliveries), "Mean lateness. Each delivery is one sample: from the instant at which it was due until the router handed it to the host's kernel.";
    "lateness_p50_s", "s", _, "Median of the lateness, at most 1 % (or 0.5 us) above the true one.";
    "lateness_p90_s", "s", _, "90th percentile of the lateness.";
    "lateness_p99_s", "s", _, "99th percentile of the lateness.";
    "lateness_p99_9_s", "s", _, "99.9th percentile of the lateness.";
    "lateness_max_s", "s", _, "Largest lateness.";
    "batch_mean_packets", "packets", with(|row| row.batches.mean), "Mean number of packets of one host that the router found waiting at once; 1 if it took each packet as it arrived.";
    "batch_p99_packets", "packets", with(|row| row.batches.percentile(percentiles.place(99.0))), "99th percentile of the packets found waiting at once.";
    "batch_max_packets", "packets", with(|row| row.batches.maximum), "Most packets found waiting at once.";
    "packets_taken", "packets", with(|row| row.whole.packets.taken), "Packets that the router took from hosts, delivered or not.";
    "packets_unmeasured", "packets", with(|row| row.whole.packets.unmeasured), "Packets carried that belong to no measured flow, such as ICMP.";
    "packets_discarded", "packets", with(|row| row.whole.packets.discarded), "Packets that the router discarded because no host of the experiment is their destination, such as IPv6 neighbour announcements.";
    "packets_refused", "packets", with(|row| row.whole.packets.refused), "Packets that the kernel refused at their destination.";
    "datagrams_missing", "packets", with(|row| row.whole.packets.missing), "Datagrams that hosts sent and that never reached the router, because the host's device had no room; a lower bound. Gaps in the sequence numbers of datagrams show them. No other table counts them. Datagrams with fewer than 16 bytes of payload have no number, and the kernel's own router does not check them.";
    "events_missed", "events", with(|row| row.whole.events_missed), "Events of the kernel's endpoints or of its own router that the tracing programs missed; a lower bound. Some counts are too low then. Events came faster than they were read, or the hosts' devices counted more packets than were reported. It is 0 if the kernel is not traced.";
}

table_columns! {
    pub(crate) HOST: with_host(HostLateness);
    "host", "text", with(|row| row.host.clone()), "The host's name in the scenario. Only runs in real time have this table.";
    "timed_writes", "writes", with(|row| row.timed_writes), "Writes of the host's applications that were due at a given instant, as in thin streams; warm-up included.";
    "late_write_mean_s", "s", with(|row| row.seconds_late(row.mean)), "Mean lateness of the timed writes, because the host's process was not woken in time; missing where there were none. Latencies are measured from the actual write, not from the instant at which it was due.";
    "late_write_p99_s", "s", with(|row| row.seconds_late(row.p99)), "99th percentile of the lateness of timed writes.";
    "late_write_max_s", "s", with(|row| row.seconds_late(row.maximum)), "Largest lateness of timed writes.";
    "unexpected_connections", "connections", with(|row| row.unexpected_connections), "Connections from an unexpected peer; they were closed.";
    "broken_connections", "connections", with(|row| row.broken_connections), "Connections that the peer reset while this host was reading.";
}
