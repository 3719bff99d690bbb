//! Observations of one observer, handed over in batches.

use fairwind_assembly::Sink;
use fairwind_measure::{Direction, FlowDescription, FlowId, Observation, SenderCounts};
use fairwind_units::{Instant, Span};
use fairwind_wire::Segment;
use std::ops::Range;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex};

/// Entries that make a batch.
const FULL_BATCH: usize = 2048;

/// Bytes of captured packets that make a batch.
const FULL_BYTES: usize = 1 << 18;

/// How often an observer hands over a batch that is not full, in real time.
pub const REPORT_INTERVAL: Span = Span::from_millis(5);

/// Which way a packet passes the border of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObservationPoint {
    /// It leaves the host that made it.
    Departure,
    /// It reaches the host that it is for.
    Arrival,
}

/// A packet of a flow, as the measures need it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeasuredPacket {
    /// Its flow.
    pub flow: FlowId,
    /// Its direction.
    pub direction: Direction,
    /// Its TCP header; of a datagram ports and payload.
    pub segment: Segment,
    /// Whether it is a datagram, which no connection carries.
    pub is_datagram: bool,
}

/// An event with its instant.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// Its instant.
    pub at: Instant,
    /// The event.
    pub event: RecordedEvent,
}

#[derive(Debug, Clone)]
pub(crate) enum RecordedEvent {
    Packet(PacketSeen),
    /// A flow has come; its number is the next one.
    Flow(NewFlow),
    /// The kernel's account of a sender that is done.
    Account(FlowId, SenderCounts),
    /// Anything else; never [`Observation::Sent`] or [`Observation::Received`].
    Observed(Observation<'static>),
}

/// A flow that has come while others are measured.
#[derive(Debug, Clone)]
pub struct NewFlow {
    /// Its description for the measures.
    pub description: FlowDescription,
    /// Where its data sender is.
    pub first: FirstEnd,
}

/// At which of the two points of capture a flow's data sender is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstEnd {
    /// At the one that is called the sender's.
    Sender,
    /// At the other one.
    Receiver,
}

#[derive(Debug, Clone)]
pub(crate) struct PacketSeen {
    /// Which way it passes.
    pub point: ObservationPoint,
    /// Its flow.
    pub flow: FlowId,
    /// Its direction.
    pub direction: Direction,
    /// Its length on the wire in bytes.
    pub wire_bytes: u32,
    /// Place of its header among the batch's segments.
    pub segment: usize,
    /// Where its bytes stand among the batch's bytes; nothing if it is not captured.
    pub captured: Range<usize>,
}

/// Entries of one observer in order.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// Facts in order.
    pub entries: Vec<Entry>,
    /// TCP headers, in the order of their packets.
    pub segments: Vec<Segment>,
    /// Bytes of captured packets, one after another.
    pub bytes: Vec<u8>,
    /// Watermark: all later entries of this observer are at or after this instant.
    pub complete_until: Instant,
}

impl Batch {
    /// Memory of its contents, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(self.entries.as_slice())
            + size_of_val(self.segments.as_slice())
            + self.bytes.len()
    }

    fn clear(&mut self) {
        self.entries.clear();
        self.segments.clear();
        self.bytes.clear();
    }
}

/// Batches that can be used again. An observer never waits for them: it would wait for the recorder,
/// which waits for all other observers.
#[derive(Debug, Clone, Default)]
pub(super) struct UsedBatches(Arc<Mutex<Vec<Batch>>>);

impl UsedBatches {
    pub(super) fn give_back(&self, mut batch: Batch) {
        batch.clear();
        if let Ok(mut batches) = self.0.lock() {
            batches.push(batch);
        }
    }

    /// An empty batch, used before if one is at hand.
    fn take(&self) -> Batch {
        self.0.try_lock().ok().and_then(|mut batches| batches.pop()).unwrap_or_default()
    }
}

/// A batch, and the number of the observer that it comes from.
#[derive(Debug)]
pub(crate) struct Dispatch {
    /// Which observer.
    pub source: usize,
    /// Its facts.
    pub batch: Batch,
}

/// Writer of one observer's entries. They are in the order of their instants, except for events that a
/// network reports late.
pub struct ObservationWriter {
    source: usize,
    batch: Batch,
    /// When the oldest entry of the batch was made, or the last batch was handed over.
    since: Instant,
    output: SyncSender<Dispatch>,
    used: UsedBatches,
    /// Bytes of each packet to keep, by flow; none for flows that are not captured.
    snap: Vec<usize>,
    interval: Span,
}

impl ObservationWriter {
    pub(super) fn new(
        source: usize,
        output: SyncSender<Dispatch>,
        used: UsedBatches,
        snap: Vec<usize>,
        interval: Span,
    ) -> Self {
        Self { source, batch: Batch::default(), since: Instant::ZERO, output, used, snap, interval }
    }

    /// After this time a batch is handed over that is not full: call [`advance`](Self::advance) as often.
    pub fn interval(&self) -> Span {
        self.interval
    }

    /// A packet of a flow passes the border of a host.
    #[inline]
    pub fn on_packet(
        &mut self,
        at: Instant,
        point: ObservationPoint,
        packet: &MeasuredPacket,
        wire_bytes: u32,
        bytes: &[u8],
    ) {
        if packet.is_datagram && point == ObservationPoint::Departure {
            let (flow, payload_bytes) = (packet.flow, packet.segment.payload_bytes);
            self.on_fact(at, Observation::DatagramSent { flow, payload_bytes, wire_bytes });
            return;
        }
        let start = self.batch.bytes.len();
        if let Some(&snap) = self.snap.get(packet.flow.index()) {
            self.batch.bytes.extend_from_slice(&bytes[..snap.min(bytes.len())]);
        }
        let seen = PacketSeen {
            point,
            flow: packet.flow,
            direction: packet.direction,
            wire_bytes,
            segment: self.batch.segments.len(),
            captured: start..self.batch.bytes.len(),
        };
        self.batch.segments.push(packet.segment);
        self.batch.entries.push(Entry { at, event: RecordedEvent::Packet(seen) });
    }

    /// A flow has come, the next one to those that there are; so many bytes of each of its packets
    /// are to be kept for captures.
    pub fn on_flow(&mut self, at: Instant, id: FlowId, flow: NewFlow, snap: usize) {
        self.snap.resize(id.index() + 1, 0);
        self.snap[id.index()] = snap;
        self.batch.entries.push(Entry { at, event: RecordedEvent::Flow(flow) });
    }

    /// A sender is done, of which the kernel counted this.
    pub fn on_account(&mut self, at: Instant, flow: FlowId, counts: SenderCounts) {
        self.batch.entries.push(Entry { at, event: RecordedEvent::Account(flow, counts) });
    }

    /// Anything else has been seen.
    #[inline]
    pub fn on_fact(&mut self, at: Instant, observation: Observation<'static>) {
        self.batch.entries.push(Entry { at, event: RecordedEvent::Observed(observation) });
    }

    /// Declares that everything before `now` was written; hands over a batch that is full or old.
    #[inline]
    pub fn advance(&mut self, now: Instant) {
        let is_full =
            self.batch.entries.len() >= FULL_BATCH || self.batch.bytes.len() >= FULL_BYTES;
        if is_full || now.saturating_since(self.since) >= self.interval {
            self.hand_over(now);
        }
    }

    /// Declares that all entries were written.
    pub fn finish(&mut self) {
        self.hand_over(Instant::MAX);
    }

    fn hand_over(&mut self, complete_until: Instant) {
        self.since = complete_until;
        let mut batch = std::mem::replace(&mut self.batch, self.used.take());
        batch.complete_until = complete_until;
        // If the recorder has failed, `Recorder::finish` returns the error.
        let _ = self.output.send(Dispatch { source: self.source, batch });
    }
}

impl Sink for ObservationWriter {
    /// Takes everything but packets, which [`ObservationWriter::on_packet`] takes.
    #[inline]
    fn observe(&mut self, at: Instant, observation: Observation<'static>) {
        self.on_fact(at, observation);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::sync_channel;

    #[test]
    fn captured_bytes_fill_a_batch() {
        let (output, input) = sync_channel(1);
        let mut observations = ObservationWriter::new(
            0,
            output,
            UsedBatches::default(),
            vec![usize::MAX],
            REPORT_INTERVAL,
        );
        let measured = MeasuredPacket {
            flow: FlowId(0),
            direction: Direction::Forward,
            segment: Segment::default(),
            is_datagram: false,
        };
        let packet = [0; 1 << 12];
        for _ in 0..FULL_BYTES / packet.len() {
            assert!(input.try_recv().is_err(), "it is not full yet");
            observations.on_packet(
                Instant::ZERO,
                ObservationPoint::Departure,
                &measured,
                1 << 12,
                &packet,
            );
            observations.advance(Instant::ZERO);
        }
        let dispatch = input.try_recv().expect("a full batch");
        assert_eq!(dispatch.batch.bytes.len(), FULL_BYTES);
    }
}
