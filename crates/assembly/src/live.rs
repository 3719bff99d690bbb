//! Counts of a run under way, handed to those who watch it.

use fairwind_measure::{Collector, LiveCounts};
use fairwind_units::Instant;
use serde_json::json;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The newest counts of a run, as JSON text. Whoever watches takes them and so asks for the next; the run counts only
/// when it is asked to. Counting changes no result.
#[derive(Debug, Default)]
pub struct LiveView {
    is_wanted: AtomicBool,
    newest: Mutex<Option<String>>,
}

impl LiveView {
    /// Takes the newest counts, unless they were taken before, and asks for the next.
    pub fn take(&self) -> Option<String> {
        self.is_wanted.store(true, Ordering::Relaxed);
        self.newest().take()
    }

    /// Whether somebody has asked since the last counts.
    #[inline]
    pub fn is_wanted(&self) -> bool {
        self.is_wanted.load(Ordering::Relaxed)
    }

    /// Hands over counts that exist as text.
    pub fn put(&self, counts: String) {
        self.is_wanted.store(false, Ordering::Relaxed);
        *self.newest() = Some(counts);
    }

    /// Counts what `collector` has seen until `now`.
    #[cold]
    pub fn count(&self, collector: &Collector, now: Instant) {
        self.put(text(&collector.live_counts(now)));
    }

    fn newest(&self) -> MutexGuard<'_, Option<String>> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn text(counts: &LiveCounts) -> String {
    let groups = counts.groups.iter().map(|group| {
        json!({
            "name": group.name,
            "payload_bytes_read": group.payload_bytes_read,
            "data_segments_sent": group.data_segments_sent,
            "data_segments_retransmitted": group.data_segments_retransmitted,
            "packets_lost": group.packets_lost,
            "timeouts": group.timeouts,
            "ack_latency_ns": group.ack_latency,
        })
    });
    let queues = counts.queues.iter().map(|queue| {
        json!({
            "name": queue.name,
            "enqueued_packets": queue.enqueued_packets,
            "dropped_packets": queue.dropped_packets,
            "marked_packets": queue.marked_packets,
            "backlog_packets_sum": queue.backlog_packets_sum,
            "backlog_bytes_sum": queue.backlog_bytes_sum,
        })
    });
    json!({
        "time_s": counts.time_s,
        "counted_from_s": counts.counted_from_s,
        "is_warm": counts.is_warm,
        "groups": groups.collect::<Vec<_>>(),
        "queues": queues.collect::<Vec<_>>(),
    })
    .to_string()
}
