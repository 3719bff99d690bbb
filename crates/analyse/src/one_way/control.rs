//! Matching of packets without payload: SYN, FIN, RST and acknowledgments.
//!
//! They carry no bytes, so they are matched by header fields that no hop changes. Of several equal ones the
//! oldest has arrived.

use super::clock_offset::signed_since;
use fairwind_capture::Packet;
use fairwind_units::Instant;
use fairwind_wire::Segment;
use std::collections::VecDeque;

/// Comparisons that each departure allows, so that captures without matches are not searched endlessly.
const PAID: u32 = 16;
/// Limit of allowed comparisons.
const MOST_PAID: u32 = 1 << 16;

/// Header fields that identify a packet without payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Header {
    sequence: u32,
    acknowledgment: u32,
    stamps: (u32, u32),
    flags_and_window: u32,
    first_block: u32,
}

impl Header {
    #[inline]
    fn of(segment: &Segment) -> Self {
        let stamps = segment.options.timestamps.unwrap_or_default();
        let block = segment.options.sack.as_slice().first();
        Self {
            sequence: segment.sequence.get(),
            acknowledgment: segment.acknowledgment.get(),
            stamps: (stamps.value, stamps.echo),
            flags_and_window: u32::from(segment.flags.bits()) << 16 | u32::from(segment.window),
            first_block: block
                .map_or(0, |block| block.left.get() ^ block.right.get().rotate_left(16)),
        }
    }
}

/// A departure without payload.
#[derive(Debug, Clone, Copy)]
pub(super) struct ControlPacket {
    header: Header,
    pub(super) at: Instant,
    pub(super) ticket: u64,
    /// Index of the group in which it left.
    pub(super) group: u32,
    pub(super) wire_bytes: u32,
    identification: Option<u16>,
    /// Whether it takes a sequence number (SYN, FIN).
    pub(super) has_length: bool,
}

/// Result of matching an arrival.
#[derive(Debug, Clone, Copy)]
pub(super) enum ControlMatch {
    /// Its departure.
    Departed(Instant),
    /// Its departure was not seen yet.
    Early,
    /// No departure matches.
    Nothing,
}

/// Departures without payload that have not arrived.
#[derive(Debug, Clone, Default)]
pub(super) struct ControlFlight {
    /// In the order of departure.
    waiting: VecDeque<ControlPacket>,
    /// Departures overtaken by a later one.
    overtaken: VecDeque<ControlPacket>,
    /// Comparisons that are left.
    paid: u32,
    last_departed: Option<Header>,
    /// Departure of the latest one that arrived.
    last_arrived: Option<Instant>,
}

impl ControlFlight {
    pub(super) fn len(&self) -> usize {
        self.waiting.len() + self.overtaken.len()
    }

    #[inline]
    pub(super) fn on_departure(&mut self, at: Instant, ticket: u64, group: u32, packet: &Packet) {
        let header = Header::of(&packet.segment);
        self.waiting.push_back(ControlPacket {
            header,
            at,
            ticket,
            group,
            wire_bytes: packet.wire_bytes,
            identification: packet.identification,
            has_length: packet.segment.sequence_length() > 0,
        });
        self.last_departed = Some(header);
        self.paid = (self.paid + PAID).min(MOST_PAID);
    }

    #[inline]
    pub(super) fn on_arrival(&mut self, packet: &Packet) -> ControlMatch {
        let header = Header::of(&packet.segment);
        if let Some(front) = self.waiting.front()
            && front.header == header
        {
            let departed = front.at;
            self.waiting.pop_front();
            self.last_arrived = Some(departed);
            return ControlMatch::Departed(departed);
        }
        self.search(&header, packet.identification)
    }

    fn search(&mut self, header: &Header, identification: Option<u16>) -> ControlMatch {
        let steps = usize::try_from(self.paid).unwrap_or(usize::MAX);
        let looked_at = self.waiting.len().min(steps);
        let place =
            self.waiting.iter().take(looked_at).position(|control| control.header == *header);
        self.pay(place.unwrap_or(looked_at));
        if let Some(place) = place {
            self.overtaken.extend(self.waiting.drain(..place));
            if let Some(control) = self.waiting.pop_front() {
                self.last_arrived = Some(control.at);
                return ControlMatch::Departed(control.at);
            }
        }
        let steps = usize::try_from(self.paid).unwrap_or(usize::MAX);
        let looked_at = self.overtaken.len().min(steps);
        let is_same = |control: &&ControlPacket| {
            control.header == *header && (control.identification == identification)
        };
        let place = self.overtaken.iter().take(looked_at).position(|control| is_same(&control));
        self.pay(looked_at);
        if let Some(control) = place.and_then(|place| self.overtaken.remove(place)) {
            return ControlMatch::Departed(control.at);
        }
        if self.last_departed.is_none_or(|last| is_newer(header, &last)) {
            return ControlMatch::Early;
        }
        ControlMatch::Nothing
    }

    fn pay(&mut self, steps: usize) {
        self.paid = self.paid.saturating_sub(u32::try_from(steps).unwrap_or(u32::MAX));
    }

    /// Departure time of the middle one.
    pub(super) fn middle(&self) -> Option<Instant> {
        let longest =
            if self.overtaken.len() > self.waiting.len() { &self.overtaken } else { &self.waiting };
        longest.get(longest.len() / 2).map(|control| control.at)
    }

    /// The oldest departure that has not arrived.
    pub(super) fn oldest(&self) -> Option<Instant> {
        let oldest = [self.overtaken.front(), self.waiting.front()];
        oldest.into_iter().flatten().map(|control| control.at).min()
    }

    /// Removes departures before `before` and reports them as lost.
    pub(super) fn settle(&mut self, before: Instant, mut lost: impl FnMut(&ControlPacket)) {
        for queue in [&mut self.overtaken, &mut self.waiting] {
            let aged = queue.iter().take_while(|control| control.at < before).count();
            queue.drain(..aged).for_each(|control| lost(&control));
        }
    }

    /// Ends the matching: overtaken departures and those before `lost_before` are lost. Returns the number of
    /// the others, which are unjudged.
    pub(super) fn finish(
        &mut self,
        lost_before: Instant,
        mut lost: impl FnMut(&ControlPacket),
    ) -> u64 {
        self.overtaken.drain(..).for_each(|control| lost(&control));
        let mut unjudged = 0;
        for control in self.waiting.drain(..) {
            let is_overtaken =
                self.last_arrived.is_some_and(|last| signed_since(last, control.at) > 0);
            if is_overtaken || control.at < lost_before {
                lost(&control);
            } else {
                unjudged += 1;
            }
        }
        unjudged
    }
}

/// Whether the header is of a newer packet than `last`.
fn is_newer(header: &Header, last: &Header) -> bool {
    let is_after = |one: u32, two: u32| one.wrapping_sub(two).cast_signed() > 0;
    is_after(header.stamps.0, last.stamps.0)
        || is_after(header.acknowledgment, last.acknowledgment)
        || is_after(header.sequence, last.sequence)
}
