//! The table `queue_events`: what happened at queues, packet by packet.

use super::Basis;
use crate::observation::DropReason;
use crate::queue_events::{Happening, QueueEvent};
use crate::table::{Table, TableBuilder};
use fairwind_units::Span;

/// Rows in the order in which queues told.
pub(crate) fn queue_events_table(basis: &Basis<'_>, events: &[QueueEvent]) -> Table {
    let settings = basis.settings;
    TableBuilder::new("queue_events", events)
        .with("time_s", |event| basis.seconds_at(event.at))
        .with_text("queue", |event, text| text.push_str(&settings.queues[event.queue.index()]))
        .with("flow", |event| event.flow)
        .with_text("group", |event, text| text.push_str(&settings.groups[event.group]))
        .with_text("event", |event, text| text.push_str(name(event.happening)))
        .with_text("reason", |event, text| text.push_str(reason(event.happening)))
        .with("wire_bytes", |event| u64::from(event.wire_bytes))
        .with("backlog_packets", |event| Some(u64::from(event.backlog?.0)))
        .with("backlog_bytes", |event| Some(u64::from(event.backlog?.1)))
        .with("waited_s", |event| waited(event.happening).map(Span::as_secs_f64))
        .build()
}

const fn name(happening: Happening) -> &'static str {
    match happening {
        Happening::Accepted => "accepted",
        Happening::Refused(_) => "refused",
        Happening::Dropped(..) => "dropped",
        Happening::Lost => "lost",
        Happening::Marked => "marked",
    }
}

const fn reason(happening: Happening) -> &'static str {
    match happening {
        Happening::Accepted | Happening::Marked => "",
        Happening::Lost => "link_loss",
        Happening::Refused(reason) | Happening::Dropped(reason, _) => match reason {
            DropReason::QueueFull => "queue_full",
            DropReason::Early => "early",
            DropReason::LinkLoss => "link_loss",
        },
    }
}

const fn waited(happening: Happening) -> Option<Span> {
    match happening {
        Happening::Dropped(_, waited) => Some(waited),
        _ => None,
    }
}
