//! Tables over time: `intervals`, `queue_intervals`, `queue_events`, `slots` and `slot_intervals`.

use super::{Basis, OpenFlow, Scope};
use crate::formula;
use crate::formula::{bits_per_second, ratio};
use crate::interval::{Scopes, Series, WindowCounts};
use crate::observation::DropReason;
use crate::queue_series::{
    QueueEvent, QueueEventKind, QueueSeries, QueueWindow, SlotBook, SlotCounts, Slots,
};
use crate::settings::{ObservationPoints as Points, ObservedCounts};
use crate::table::{DefinitionLine, Table, TableBuilder};
use fairwind_units::Span;

/// The windows that were not taken yet, and their owners.
pub(crate) struct Windows<'a> {
    pub(crate) series: &'a [Series],
    pub(crate) scopes: &'a Scopes,
    /// Where the flows of each group are watched.
    pub(crate) groups: Vec<ObservedCounts>,
    pub(crate) open: &'a [OpenFlow<'a>],
}

struct Row<'a> {
    length: Span,
    /// The window's number in its series.
    number: u64,
    scope: Scope<'a>,
    watched: ObservedCounts,
    counts: WindowCounts,
}

impl Row<'_> {
    fn rate(&self, points: Points, bytes: u64) -> Option<f64> {
        self.known(points, bits_per_second(bytes, self.length).unwrap_or_default())
    }

    fn share(&self, points: Points, part: u64, whole: u64) -> Option<f64> {
        self.known(points, ratio(part, whole)).flatten()
    }

    fn known<Value>(&self, points: Points, value: Value) -> Option<Value> {
        self.watched.knows(points).then_some(value)
    }
}

/// Rows by interval length as in the settings, then by window, then groups and flows.
pub(super) fn intervals_table(basis: &Basis<'_>, windows: &Windows<'_>) -> Table {
    let rows: Vec<Row<'_>> =
        windows.series.iter().flat_map(|series| series_rows(basis, windows, series)).collect();
    let begin = basis.settings.measured_from();
    TableBuilder::new("intervals", &rows)
        .with("interval_s", |row| row.length.as_secs_f64())
        .with("start_s", |row| basis.seconds_at(begin + row.length.saturating_mul(row.number)))
        .with_text("scope", |row, text| text.push_str(row.scope.kind))
        .with_text("name", |row, text| text.push_str(row.scope.name))
        .with_text("group", |row, text| text.push_str(row.scope.group))
        .with("flow", |row| row.scope.flow)
        .with_known("throughput_bits_per_second", |row| {
            row.rate(Points::ARRIVING, row.counts.wire_bytes_received)
        })
        .with_known("goodput_bits_per_second", |row| {
            row.rate(Points::READER, row.counts.payload_bytes_read)
        })
        .with_known("packets_sent", |row| row.known(Points::LEAVING, row.counts.packets_sent))
        .with_known("bytes_retransmitted", |row| {
            row.known(Points::SENDER, row.counts.payload_bytes_retransmitted)
        })
        .with_known("bundled_bytes_sent", |row| {
            row.known(Points::SENDER, row.counts.payload_bytes_bundled)
        })
        .with_known("packets_lost", |row| row.known(Points::HOSTS, row.counts.packets_lost))
        .with_known("wire_bytes_sent", |row| row.known(Points::LEAVING, row.counts.wire_bytes_sent))
        .with_known("wire_bytes_lost", |row| row.known(Points::HOSTS, row.counts.wire_bytes_lost))
        .with("packet_loss_ratio", |row| {
            row.share(Points::HOSTS, row.counts.packets_lost, row.counts.packets_sent)
        })
        .with("wire_byte_loss_ratio", |row| {
            row.share(Points::HOSTS, row.counts.wire_bytes_lost, row.counts.wire_bytes_sent)
        })
        .with_known("packets_received", |row| {
            row.known(Points::ARRIVING, row.counts.packets_received)
        })
        .with_known("packets_marked", |row| row.known(Points::RECEIVER, row.counts.packets_marked))
        .build()
}

fn series_rows<'a>(
    basis: &Basis<'a>,
    windows: &'a Windows<'a>,
    series: &'a Series,
) -> Vec<Row<'a>> {
    let length = series.length;
    let row = |number, scope, watched, counts| Row { length, number, scope, watched, counts };
    let groups: Vec<_> =
        basis.group_scopes().zip(&windows.scopes.of_group).zip(&windows.groups).collect();
    let flows: Vec<_> = windows
        .open
        .iter()
        .filter_map(|open| Some((open, *windows.scopes.of_flow.get(open.place)?)))
        .map(|(open, place)| {
            let scope = basis.flow_scope(open.number, open.description);
            (scope, place, ObservedCounts::one(open.description.seen_at))
        })
        .collect();
    let mut rows = Vec::new();
    for window in series.windows() {
        for ((scope, place), watched) in &groups {
            rows.push(row(window.number, *scope, **watched, window.counts(**place)));
        }
        for (scope, place, watched) in &flows {
            rows.push(row(window.number, *scope, *watched, window.counts(*place)));
        }
    }
    rows.extend(series.of_retired().map(|retired| {
        let scope = basis.flow_scope(retired.flow.number, &retired.flow.description);
        let watched = ObservedCounts::one(retired.flow.description.seen_at);
        row(retired.window, scope, watched, retired.counts)
    }));
    // Groups in their order, then flows by their numbers; mostly they lie so.
    rows.sort_by_key(|row| (row.number, row.scope.flow.map_or(0, |flow| flow + 1)));
    rows
}

/// Rows by window, then by queue.
pub(super) fn queue_intervals_table(basis: &Basis<'_>, series: Option<&QueueSeries>) -> Table {
    let length = series.map_or(Span::ZERO, |series| series.length);
    let rows = series.map_or(&[][..], |series| &series.windows);
    let begin = basis.settings.measured_from();
    let seconds = |nanos: u64| Span::from_nanos(nanos).as_secs_f64();
    TableBuilder::new("queue_intervals", rows)
        .with("interval_s", |_| length.as_secs_f64())
        .with("start_s", |window: &QueueWindow| {
            basis.seconds_at(begin + length.saturating_mul(window.number))
        })
        .with_text("queue", |window, text| text.push_str(&basis.settings.queues[window.queue]))
        .with("enqueued_packets", |window| window.enqueued)
        .with("drops_packets", |window| window.dropped)
        .with("marks_packets", |window| window.marked)
        .with("arrival_backlog_mean_packets", |window| {
            formula::mean(window.backlog_sum, window.enqueued)
        })
        .with("arrival_backlog_max_packets", |window| window.backlog_most)
        .with("sojourn_mean_s", |window| {
            formula::mean(window.waited_sum, window.left).map(|nanos| nanos / 1e9)
        })
        .with("sojourn_max_s", |window| window.waited_most.map(seconds))
        .build()
}

/// Rows in the order of the queues' reports.
pub(crate) fn queue_events_table(basis: &Basis<'_>, events: &[QueueEvent]) -> Table {
    let settings = basis.settings;
    TableBuilder::new("queue_events", events)
        .with("time_s", |event| basis.seconds_at(event.at))
        .with_text("queue", |event, text| text.push_str(&settings.queues[event.queue.index()]))
        .with("flow", |event| event.flow)
        .with_text("group", |event, text| text.push_str(&settings.groups[event.group]))
        .with_text("event", |event, text| text.push_str(name(event.kind)))
        .with_text("reason", |event, text| text.push_str(reason(event.kind)))
        .with("wire_bytes", |event| u64::from(event.wire_bytes))
        .with("backlog_packets", |event| Some(u64::from(event.backlog?.0)))
        .with("backlog_bytes", |event| Some(u64::from(event.backlog?.1)))
        .with("waited_s", |event| waited(event.kind).map(Span::as_secs_f64))
        .build()
}

const fn name(kind: QueueEventKind) -> &'static str {
    match kind {
        QueueEventKind::Accepted => "accepted",
        QueueEventKind::Refused(_) => "refused",
        QueueEventKind::Dropped(..) => "dropped",
        QueueEventKind::Lost => "lost",
        QueueEventKind::Marked => "marked",
    }
}

const fn reason(kind: QueueEventKind) -> &'static str {
    match kind {
        QueueEventKind::Accepted | QueueEventKind::Marked => "",
        QueueEventKind::Lost => DropReason::LinkLoss.name(),
        QueueEventKind::Refused(reason) | QueueEventKind::Dropped(reason, _) => reason.name(),
    }
}

const fn waited(kind: QueueEventKind) -> Option<Span> {
    match kind {
        QueueEventKind::Dropped(_, waited) => Some(waited),
        _ => None,
    }
}

/// A row of either table.
struct SlotRow<'a> {
    queue: usize,
    /// The window's number; 0 for the whole.
    number: u64,
    frame: Span,
    counts: &'a SlotCounts,
}

impl SlotRow<'_> {
    /// How long the frames last that were counted.
    fn lasted(&self) -> Span {
        self.frame.saturating_mul(self.counts.frames)
    }
}

/// Rows by queue.
pub(super) fn slots_table(basis: &Basis<'_>, book: &SlotBook) -> Table {
    let whole = |(queue, slots): (usize, &'_ Slots)| (queue, slots.frame, slots.all);
    let counted: Vec<_> = book.queues().map(whole).collect();
    let rows: Vec<SlotRow<'_>> = counted
        .iter()
        .map(|(queue, frame, counts)| SlotRow { queue: *queue, number: 0, frame: *frame, counts })
        .collect();
    let builder = TableBuilder::new("slots", &rows)
        .with_text("queue", |row: &SlotRow<'_>, text| {
            text.push_str(&basis.settings.queues[row.queue]);
        })
        .with("frame_s", |row| row.frame.as_secs_f64());
    counts(builder).build()
}

/// Rows by queue, then by window; windows after the last report are left out.
pub(super) fn slot_intervals_table(basis: &Basis<'_>, book: &SlotBook) -> Table {
    let length = book.length.unwrap_or(Span::ZERO);
    let begin = basis.settings.measured_from();
    let rows: Vec<SlotRow<'_>> = book
        .queues()
        .flat_map(|(queue, slots)| {
            let numbered = (0..).zip(&slots.windows);
            numbered.map(move |(number, counts)| SlotRow {
                queue,
                number,
                frame: slots.frame,
                counts,
            })
        })
        .collect();
    let builder = TableBuilder::new("slot_intervals", &rows)
        .with("interval_s", |_: &SlotRow<'_>| length.as_secs_f64())
        .with("start_s", |row| basis.seconds_at(begin + length.saturating_mul(row.number)))
        .with_text("queue", |row, text| text.push_str(&basis.settings.queues[row.queue]));
    counts(builder).build()
}

/// What both tables have.
fn counts<'a, 'r>(builder: TableBuilder<'a, SlotRow<'r>>) -> TableBuilder<'a, SlotRow<'r>> {
    let ratio = |above: u64, below: u64| formula::mean(u128::from(above), below);
    builder
        .with("frames", |row| row.counts.frames)
        .with("slots_assigned", |row| row.counts.assigned())
        .with("slots_guaranteed", |row| row.counts.guaranteed)
        .with("slots_by_rate", |row| row.counts.by_rate)
        .with("slots_by_volume", |row| row.counts.by_volume)
        .with("slots_free", |row| row.counts.free)
        .with("slots_used", |row| row.counts.used)
        .with("slot_use_ratio", move |row| ratio(row.counts.used, row.counts.assigned()))
        .with("capacity_bytes", |row| row.counts.capacity_bytes)
        .with("carried_bytes", |row| row.counts.sent_bytes)
        .with("capacity_use_ratio", move |row| {
            ratio(row.counts.sent_bytes, row.counts.capacity_bytes)
        })
        .with("assigned_bits_per_second", |row| {
            bits_per_second(row.counts.capacity_bytes, row.lasted())
        })
        .with("requests", |row| row.counts.requests)
        .with("requested_mean_bits_per_second", |row| {
            formula::mean(row.counts.rate_sum, row.counts.rates)
        })
        .with("requested_max_bits_per_second", |row| {
            (row.counts.rates > 0).then_some(row.counts.rate_most)
        })
        .with("requested_bytes", |row| row.counts.volume_bytes)
}

#[rustfmt::skip]
pub(super) const INTERVAL: &[DefinitionLine] = &[
    ("interval_s", "s", "Length of the window; each requested length is a separate series."),
    ("start_s", "s", "Beginning of the window, since the experiment began. The first window begins at the end of the warm-up; an incomplete last window is left out. In captures, long silence has no rows: at most 131 072 silent windows are shown, and 4096 more for each window with packets."),
    ("scope", "text", "`group`, or `flow` where series of flows were requested."),
    ("name", "text", "Name of the group or flow."),
    ("group", "text", "The group, or the group of the flow."),
    ("flow", "number", "The flow's number; missing for a group."),
    ("throughput_bits_per_second", "bit/s", "Bytes on the wire that reached the receiving host in the window, over its length."),
    ("goodput_bits_per_second", "bit/s", "Payload read in order in the window, over its length."),
    ("packets_sent", "packets", "Packets that left the data sender's host in the window."),
    ("bytes_retransmitted", "B", "Payload bytes of the data segments retransmitted in the window."),
    ("bundled_bytes_sent", "B", "Payload bytes in the bundles of the window that had been sent before."),
    ("packets_lost", "packets", "Packets of the data sender dropped in the network in the window; between two captures, those that left in the window."),
    ("wire_bytes_sent", "B", "Bytes on the wire of the packets sent in the window."),
    ("wire_bytes_lost", "B", "Bytes on the wire of the packets lost in the window."),
    ("packet_loss_ratio", "ratio", "Packets lost in the window over packets sent in it. It exceeds 1 if more packets of earlier windows were lost than were sent in this one."),
    ("wire_byte_loss_ratio", "ratio", "Bytes on the wire lost in the window over those sent in it."),
    ("packets_received", "packets", "Packets that reached the receiving host in the window."),
    ("packets_marked", "packets", "Packets received in the window that carried a mark of congestion."),
];

#[rustfmt::skip]
pub(super) const QUEUE_INTERVAL: &[DefinitionLine] = &[
    ("interval_s", "s", "Length of the window, `measure.queue_interval`."),
    ("start_s", "s", "Beginning of the window, since the experiment began. The first window begins at the end of the warm-up; an incomplete last window is left out."),
    ("queue", "text", "The queue's name."),
    ("enqueued_packets", "packets", "Packets that the queue accepted in the window."),
    ("drops_packets", "packets", "Packets dropped at the queue or lost on the link behind it in the window."),
    ("marks_packets", "packets", "Packets that the queue marked in the window."),
    ("arrival_backlog_mean_packets", "packets", "Mean number of packets that a packet accepted in the window found waiting."),
    ("arrival_backlog_max_packets", "packets", "Most packets that it found waiting."),
    ("sojourn_mean_s", "s", "Mean waiting time of the packets with a departure reported in the window. The last departure before a link becomes idle is reported when the link becomes busy again."),
    ("sojourn_max_s", "s", "Longest waiting time of these packets."),
];

#[rustfmt::skip]
pub(super) const SLOTS: &[DefinitionLine] = &[
    ("queue", "text", "The queue's name; only queues that have slots of a carrier have rows here."),
    ("frame_s", "s", "How long a frame of the carrier lasts."),
];

#[rustfmt::skip]
pub(super) const SLOT_INTERVALS: &[DefinitionLine] = &[
    ("interval_s", "s", "Length of the window, `measure.queue_interval`."),
    ("start_s", "s", "Beginning of the window, since the experiment began; the first begins at the end of the warm-up."),
    ("queue", "text", "The queue's name."),
];

#[rustfmt::skip]
pub(super) const SLOT_COUNTS: &[DefinitionLine] = &[
    ("frames", "frames", "Frames of the carrier that began."),
    ("slots_assigned", "slots", "Slots of these frames that the queue had, used or not."),
    ("slots_guaranteed", "slots", "Slots assigned to it permanently (CRA)."),
    ("slots_by_rate", "slots", "Slots assigned for a requested rate (RBDC)."),
    ("slots_by_volume", "slots", "Slots assigned for a requested volume (VBDC, AVBDC)."),
    ("slots_free", "slots", "Slots assigned without a request (FCA)."),
    ("slots_used", "slots", "Slots in which something was sent."),
    ("slot_use_ratio", "ratio", "Slots used over slots assigned."),
    ("capacity_bytes", "B", "Capacity of the assigned slots, including the overhead that the link adds to packets."),
    ("carried_bytes", "B", "Bytes sent in the assigned slots."),
    ("capacity_use_ratio", "ratio", "Bytes sent over the capacity of the assigned slots."),
    ("assigned_bits_per_second", "bit/s", "Capacity of the assigned slots over the duration of the frames that began."),
    ("requests", "requests", "Requests of the terminal for more than nothing."),
    ("requested_mean_bits_per_second", "bit/s", "Mean of the requested rates."),
    ("requested_max_bits_per_second", "bit/s", "Highest requested rate."),
    ("requested_bytes", "B", "Sum of the requested volumes."),
];

#[rustfmt::skip]
pub(super) const QUEUE_EVENTS: &[DefinitionLine] = &[
    ("time_s", "s", "When it happened, since the experiment began; the warm-up included. Only scenarios with `measure.queue_events` have rows here."),
    ("queue", "text", "The queue's name."),
    ("flow", "number", "The number of the packet's flow."),
    ("group", "text", "The flow's group."),
    ("event", "text", "`accepted`: the queue accepted the packet; `refused`: it did not; `dropped`: dropped after it was accepted; `lost`: on the link behind the queue; `marked` instead of being dropped."),
    ("reason", "text", "Why it was dropped: `queue_full`, `early` or `link_loss`; else empty."),
    ("wire_bytes", "B", "Bytes of the packet on the wire."),
    ("backlog_packets", "packets", "Packets that were waiting when it arrived. For a packet dropped after it was accepted, the count includes it. Missing where the queue does not report it."),
    ("backlog_bytes", "B", "Bytes on the wire of these packets."),
    ("waited_s", "s", "How long it had waited when it was dropped, if it had been accepted."),
];
