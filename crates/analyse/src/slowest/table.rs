//! The longest waits as a table.

use super::waits::{SeenAt, Wait};
use crate::connection::flow_name;
use crate::stream::Cause;
use fairwind_measure::{DefinitionLine, Table, TableBuilder, TableDefinition};
use fairwind_units::Instant;

/// The name of the table.
const SLOWEST: &str = "slowest";

/// What its columns mean.
pub(crate) const COLUMNS: TableDefinition = (SLOWEST, &[WAITS]);

#[rustfmt::skip]
const WAITS: &[DefinitionLine] = &[
    ("flow", "number", "The flow's number, as in the table `flows`."),
    ("name", "text", "The flow of the data."),
    ("group", "text", "The group's name."),
    ("seen_at", "text", "`sender`: from the first transmission of a segment to its acknowledgment, seen where the data leaves; `receiver`: the same, seen where it arrives, so that what was lost counts from what was sent next; `both`: from the first transmission at one tap until the segment, and all before it, had come to the other."),
    ("sent_s", "s", "When the segment was first sent, since the origin."),
    ("wait_s", "s", "How long it took. The rows are those of the longest waits of all flows, the longest first."),
    ("place_bytes", "B", "Bytes of the stream before the segment."),
    ("payload_bytes", "B", "Bytes of the segment; FIN counts as one."),
    ("repeats", "packets", "How often it was sent again until then."),
    ("cause", "text", "Why it was sent again the last time: `fast_retransmit`, `timeout`, `after_timeout`, `tail_loss_probe`, `unknown`; nothing if it was not: then it waited in a queue, or the acknowledgment came late."),
    ("segments_behind", "packets", "Segments behind it that were acknowledged, or came to be in order, in the same instant: where it was sent again, they waited for it (head-of-line blocking)."),
    ("bytes_behind", "B", "Bytes of these."),
];

/// Makes the table, whose times count from `origin`.
pub(crate) fn slowest_table(waits: &[Wait], origin: Instant, groups: &[String]) -> Table {
    TableBuilder::new(SLOWEST, waits)
        .with("flow", |wait| wait.flow)
        .with("name", |wait| flow_name(wait.ends.0, wait.ends.1))
        .with("group", |wait| groups.get(wait.group).cloned().unwrap_or_default())
        .with("seen_at", |wait| seen_at(wait.seen_at).to_owned())
        .with("sent_s", |wait| wait.held.sent_at.saturating_since(origin).as_secs_f64())
        .with("wait_s", |wait| wait.length().as_secs_f64())
        .with("place_bytes", |wait| wait.held.start)
        .with("payload_bytes", |wait| wait.held.bytes)
        .with("repeats", |wait| u64::from(wait.held.repeats))
        .with("cause", |wait| wait.held.cause.map_or("", Cause::name).to_owned())
        .with("segments_behind", |wait| wait.segments_behind)
        .with("bytes_behind", |wait| wait.bytes_behind)
        .build()
}

const fn seen_at(place: SeenAt) -> &'static str {
    match place {
        SeenAt::Sender => "sender",
        SeenAt::Receiver => "receiver",
        SeenAt::Both => "both",
    }
}
