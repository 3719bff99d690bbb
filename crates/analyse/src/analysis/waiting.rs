//! Which segments were waited for longest.

use super::follower::Follower;
use crate::connection::Side;
use crate::one_way::Arrival;
use crate::slowest::{SeenAt, Wait};
use crate::stream::Held;
use fairwind_measure::FlowId;
use fairwind_units::{Instant, Span};

/// The data that one side of a connection sends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sending {
    /// The connection.
    pub(super) slot: u32,
    /// Who sends it.
    pub(super) side: Side,
    /// Its flow.
    pub(super) flow: FlowId,
}

impl Follower {
    /// The oldest segment that is outstanding, if a wait for it that ended now would be one of the longest.
    #[inline]
    pub(super) fn long_held(&self, flow: FlowId, at: Instant) -> Option<Held> {
        let sent_at = self.streams.oldest_sent_at(flow)?;
        if self.waits.is_long(sent_at, at) { self.streams.stream(flow).oldest_held() } else { None }
    }

    /// So many bytes were acknowledged while `held` was the oldest segment that was outstanding.
    #[cold]
    pub(super) fn end_wait(
        &mut self,
        sending: Sending,
        (at, seen_at): (Instant, SeenAt),
        held: Held,
        acknowledged_bytes: u64,
    ) {
        // A part of a segment was acknowledged, or nothing.
        let Some(bytes_behind) = acknowledged_bytes.checked_sub(held.bytes) else { return };
        let left = self.streams.stream(sending.flow).outstanding_segments();
        let segments_behind = held.behind.saturating_sub(left);
        self.add_wait(sending, (at, seen_at), held, (segments_behind, bytes_behind));
    }

    /// An arrival at `at` has brought `payload_bytes` and more of the stream into order.
    #[inline]
    pub(super) fn note_delivery(
        &mut self,
        sending: Sending,
        at: Instant,
        arrival: &Arrival,
        payload_bytes: u32,
    ) {
        let Some(end) = arrival.in_order_end else { return };
        let start = arrival.in_order_start;
        let delay = Span::from_nanos(arrival.delay.map_or(0, |delay| delay.max(0).cast_unsigned()));
        // A segment that came first and brought itself alone has waited for its own way only.
        let came_as_sent = arrival.repeat == 0 && end - start == u64::from(payload_bytes);
        let began = Instant::ZERO;
        if !came_as_sent || self.waits.is_long(began, began + delay) {
            self.deliver(sending, at, (start, end));
        }
    }

    #[cold]
    fn deliver(&mut self, sending: Sending, at: Instant, (start, end): (u64, u64)) {
        let stream = self.streams.stream(sending.flow);
        let Some(held) = stream.held_at(start).filter(|held| held.end() <= end) else { return };
        if !self.waits.is_long(held.sent_at, at) {
            return;
        }
        let behind = stream.segments_before(end).saturating_sub(stream.segments_before(held.end()));
        self.add_wait(sending, (at, SeenAt::Both), held, (behind, end - held.end()));
    }

    fn add_wait(
        &mut self,
        Sending { slot, side, flow }: Sending,
        (ended_at, seen_at): (Instant, SeenAt),
        held: Held,
        (segments_behind, bytes_behind): (usize, u64),
    ) {
        // What was sent before the measured time belongs to nobody's latency.
        if held.sent_at < self.collector.measured_from() {
            return;
        }
        let Some(connection) = self.connections.get_mut(slot) else { return };
        if held.sent_at < self.rules.counted_from(connection.began) {
            return;
        }
        let group = usize::try_from(self.groups.of_flow(connection, side)).unwrap_or(usize::MAX);
        self.waits.add(Wait {
            flow: self.collector.number_of(flow),
            ends: (connection.end(side), connection.end(side.other())),
            group,
            seen_at,
            held,
            ended_at,
            segments_behind: u64::try_from(segments_behind).unwrap_or(u64::MAX),
            bytes_behind,
        });
    }
}
