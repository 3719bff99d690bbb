//! Tables over time: `intervals`, `queue_intervals`, `queue_events`, `slots` and `slot_intervals`.

use super::{Basis, OpenFlow, Scope};
use crate::formula;
use crate::formula::{bits_per_second, ratio, seconds};
use crate::interval::{Scopes, Series, WindowCounts};
use crate::observation::DropReason;
use crate::queue_series::{
    QueueEvent, QueueEventKind, QueueSeries, QueueWindow, SlotBook, SlotCounts, Slots,
};
use crate::settings::{ObservationPoints as Points, ObservedCounts};
use crate::table::{Table, TableBuilder};
use crate::table_columns;
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
    with_interval(TableBuilder::new("intervals", &rows), basis).build()
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
    with_queue_interval(TableBuilder::new("queue_intervals", rows), basis, length).build()
}

/// Rows in the order of the queues' reports.
pub(crate) fn queue_events_table(basis: &Basis<'_>, events: &[QueueEvent]) -> Table {
    with_queue_event(TableBuilder::new("queue_events", events), basis).build()
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
    with_slot_counts(with_slots(TableBuilder::new("slots", &rows), basis)).build()
}

/// Rows by queue, then by window; windows after the last report are left out.
pub(super) fn slot_intervals_table(basis: &Basis<'_>, book: &SlotBook) -> Table {
    let length = book.length.unwrap_or(Span::ZERO);
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
    let table = TableBuilder::new("slot_intervals", &rows);
    with_slot_counts(with_slot_interval(table, basis, length)).build()
}

table_columns! {
    pub(super) INTERVAL: with_interval['a](Row<'a>, basis: &Basis<'_>);
    "interval_s", "s", with(|row| row.length.as_secs_f64()), "Length of the window; each requested length is a separate series.";
    "start_s", "s", with(|row| basis.window_start_s(row.length, row.number)), "Beginning of the window, since the experiment began. The first window begins at the end of the warm-up; an incomplete last window is left out. In captures, long silence has no rows: at most 131 072 silent windows are shown, and 4096 more for each window with packets.";
    "scope", "text", with_text(|row, text| text.push_str(row.scope.kind)), "`group`, or `flow` where series of flows were requested.";
    "name", "text", with_text(|row, text| text.push_str(row.scope.name)), "Name of the group or flow.";
    "group", "text", with_text(|row, text| text.push_str(row.scope.group)), "The group, or the group of the flow.";
    "flow", "number", with(|row| row.scope.flow), "The flow's number; missing for a group.";
    "throughput_bits_per_second", "bit/s", with_known(|row| row.rate(Points::ARRIVING, row.counts.wire_bytes_received)), "Bytes on the wire that reached the receiving host in the window, over its length.";
    "goodput_bits_per_second", "bit/s", with_known(|row| row.rate(Points::READER, row.counts.payload_bytes_read)), "Payload read in order in the window, over its length.";
    "packets_sent", "packets", with_known(|row| row.known(Points::LEAVING, row.counts.packets_sent)), "Packets that left the data sender's host in the window.";
    "bytes_retransmitted", "B", with_known(|row| row.known(Points::SENDER, row.counts.payload_bytes_retransmitted)), "Payload bytes of the data segments retransmitted in the window.";
    "bundled_bytes_sent", "B", with_known(|row| row.known(Points::SENDER, row.counts.payload_bytes_bundled)), "Payload bytes in the bundles of the window that had been sent before.";
    "packets_lost", "packets", with_known(|row| row.known(Points::HOSTS, row.counts.packets_lost)), "Packets of the data sender dropped in the network in the window; between two captures, those that left in the window.";
    "wire_bytes_sent", "B", with_known(|row| row.known(Points::LEAVING, row.counts.wire_bytes_sent)), "Bytes on the wire of the packets sent in the window.";
    "wire_bytes_lost", "B", with_known(|row| row.known(Points::HOSTS, row.counts.wire_bytes_lost)), "Bytes on the wire of the packets lost in the window.";
    "packet_loss_ratio", "ratio", with(|row| row.share(Points::HOSTS, row.counts.packets_lost, row.counts.packets_sent)), "Packets lost in the window over packets sent in it. It exceeds 1 if more packets of earlier windows were lost than were sent in this one.";
    "wire_byte_loss_ratio", "ratio", with(|row| row.share(Points::HOSTS, row.counts.wire_bytes_lost, row.counts.wire_bytes_sent)), "Bytes on the wire lost in the window over those sent in it.";
    "packets_received", "packets", with_known(|row| row.known(Points::ARRIVING, row.counts.packets_received)), "Packets that reached the receiving host in the window.";
    "packets_marked", "packets", with_known(|row| row.known(Points::RECEIVER, row.counts.packets_marked)), "Packets received in the window that carried a mark of congestion.";
}

table_columns! {
    pub(super) QUEUE_INTERVAL: with_queue_interval(QueueWindow, basis: &Basis<'_>, length: Span);
    "interval_s", "s", with(|_| length.as_secs_f64()), "Length of the window, `measure.queue_interval`.";
    "start_s", "s", with(|window| basis.window_start_s(length, window.number)), "Beginning of the window, since the experiment began. The first window begins at the end of the warm-up; an incomplete last window is left out.";
    "queue", "text", with_text(|window, text| text.push_str(&basis.settings.queues[window.queue])), "The queue's name.";
    "enqueued_packets", "packets", with(|window| window.enqueued), "Packets that the queue accepted in the window.";
    "drops_packets", "packets", with(|window| window.dropped), "Packets dropped at the queue or lost on the link behind it in the window.";
    "marks_packets", "packets", with(|window| window.marked), "Packets that the queue marked in the window.";
    "arrival_backlog_mean_packets", "packets", with(|window| formula::mean(window.backlog_sum, window.enqueued)), "Mean number of packets that a packet accepted in the window found waiting.";
    "arrival_backlog_max_packets", "packets", with(|window| window.backlog_most), "Most packets that it found waiting.";
    "sojourn_mean_s", "s", with(|window| formula::mean(window.waited_sum, window.left).map(|nanos| nanos / 1e9)), "Mean waiting time of the packets with a departure reported in the window. The last departure before a link becomes idle is reported when the link becomes busy again.";
    "sojourn_max_s", "s", with(|window| window.waited_most.map(seconds)), "Longest waiting time of these packets.";
}

table_columns! {
    pub(super) SLOTS: with_slots['a](SlotRow<'a>, basis: &Basis<'_>);
    "queue", "text", with_text(|row, text| text.push_str(&basis.settings.queues[row.queue])), "The queue's name; only queues that have slots of a carrier have rows here.";
    "frame_s", "s", with(|row| row.frame.as_secs_f64()), "How long a frame of the carrier lasts.";
}

table_columns! {
    pub(super) SLOT_INTERVALS: with_slot_interval['a](SlotRow<'a>, basis: &Basis<'_>, length: Span);
    "interval_s", "s", with(|_| length.as_secs_f64()), "Length of the window, `measure.queue_interval`.";
    "start_s", "s", with(|row| basis.window_start_s(length, row.number)), "Beginning of the window, since the experiment began; the first begins at the end of the warm-up.";
    "queue", "text", with_text(|row, text| text.push_str(&basis.settings.queues[row.queue])), "The queue's name.";
}

table_columns! {
    pub(super) SLOT_COUNTS: with_slot_counts['a](SlotRow<'a>);
    "frames", "frames", with(|row| row.counts.frames), "Frames of the carrier that began.";
    "slots_assigned", "slots", with(|row| row.counts.assigned()), "Slots of these frames that the queue had, used or not.";
    "slots_guaranteed", "slots", with(|row| row.counts.guaranteed), "Slots assigned to it permanently (CRA).";
    "slots_by_rate", "slots", with(|row| row.counts.by_rate), "Slots assigned for a requested rate (RBDC).";
    "slots_by_volume", "slots", with(|row| row.counts.by_volume), "Slots assigned for a requested volume (VBDC, AVBDC).";
    "slots_free", "slots", with(|row| row.counts.free), "Slots assigned without a request (FCA).";
    "slots_used", "slots", with(|row| row.counts.used), "Slots in which something was sent.";
    "slot_use_ratio", "ratio", with(|row| ratio(row.counts.used, row.counts.assigned())), "Slots used over slots assigned.";
    "capacity_bytes", "B", with(|row| row.counts.capacity_bytes), "Capacity of the assigned slots, including the overhead that the link adds to packets.";
    "carried_bytes", "B", with(|row| row.counts.sent_bytes), "Bytes sent in the assigned slots.";
    "capacity_use_ratio", "ratio", with(|row| ratio(row.counts.sent_bytes, row.counts.capacity_bytes)), "Bytes sent over the capacity of the assigned slots.";
    "assigned_bits_per_second", "bit/s", with(|row| bits_per_second(row.counts.capacity_bytes, row.lasted())), "Capacity of the assigned slots over the duration of the frames that began.";
    "requests", "requests", with(|row| row.counts.requests), "Requests of the terminal for more than nothing.";
    "requested_mean_bits_per_second", "bit/s", with(|row| formula::mean(row.counts.rate_sum, row.counts.rates)), "Mean of the requested rates.";
    "requested_max_bits_per_second", "bit/s", with(|row| (row.counts.rates > 0).then_some(row.counts.rate_most)), "Highest requested rate.";
    "requested_bytes", "B", with(|row| row.counts.volume_bytes), "Sum of the requested volumes.";
}

table_columns! {
    pub(super) QUEUE_EVENTS: with_queue_event(QueueEvent, basis: &Basis<'_>);
    "time_s", "s", with(|event| basis.seconds_at(event.at)), "When it happened, since the experiment began; the warm-up included. Only scenarios with `measure.queue_events` have rows here.";
    "queue", "text", with_text(|event, text| text.push_str(&basis.settings.queues[event.queue.index()])), "The queue's name.";
    "flow", "number", with(|event| event.flow), "The number of the packet's flow.";
    "group", "text", with_text(|event, text| text.push_str(&basis.settings.groups[event.group])), "The flow's group.";
    "event", "text", with_text(|event, text| text.push_str(name(event.kind))), "`accepted`: the queue accepted the packet; `refused`: it did not; `dropped`: dropped after it was accepted; `lost`: on the link behind the queue; `marked` instead of being dropped.";
    "reason", "text", with_text(|event, text| text.push_str(reason(event.kind))), "Why it was dropped: `queue_full`, `early` or `link_loss`; else empty.";
    "wire_bytes", "B", with(|event| u64::from(event.wire_bytes)), "Bytes of the packet on the wire.";
    "backlog_packets", "packets", with(|event| Some(u64::from(event.backlog?.0))), "Packets that were waiting when it arrived. For a packet dropped after it was accepted, the count includes it. Missing where the queue does not report it.";
    "backlog_bytes", "B", with(|event| Some(u64::from(event.backlog?.1))), "Bytes on the wire of these packets.";
    "waited_s", "s", with(|event| waited(event.kind).map(Span::as_secs_f64)), "How long it had waited when it was dropped, if it had been accepted.";
}
