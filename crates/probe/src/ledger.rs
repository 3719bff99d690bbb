//! What waits in the queues, and observations of it.

use crate::connections::{Connection, Connections, Protocol};
use fairwind_bpf::{PacketEvent, PacketEventKind, QueueDropReason};
use fairwind_measure::{Collector, Direction, DropReason, Dropped, FlowId, Observation, QueueId};
use fairwind_units::Instant;
use std::collections::HashMap;

/// Events so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Packets that a queue took.
    pub enqueued_packets: u64,
    /// Packets that left a queue.
    pub dequeued_packets: u64,
    /// Segments that these became where they were divided later.
    pub dequeued_segments: u64,
    /// Packets that a queue dropped.
    pub dropped_packets: u64,
    /// Of these, packets of which the kernel says no more than that a queue discipline dropped them.
    pub dropped_without_reason: u64,
    /// Packets that left a queue and were not seen to enter it: they were there before, were put back once, or were made
    /// of another packet in the queue.
    pub dequeued_without_enqueue: u64,
    /// Packets that entered a queue and were not seen to leave it, though they are gone.
    pub enqueued_without_end: u64,
}

/// A packet that waits.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    since: Instant,
    queue: usize,
    bytes: u32,
}

/// Packets and bytes that wait in a queue, of those that were seen to enter it.
#[derive(Debug, Clone, Copy, Default)]
struct Backlog {
    packets: u32,
    bytes: u32,
}

/// Follows packets through queues of one device.
#[derive(Debug)]
pub(crate) struct Ledger {
    waiting: HashMap<u64, Waiting>,
    backlogs: Vec<Backlog>,
    pub(crate) connections: Connections,
    pub(crate) counts: Counts,
}

impl Ledger {
    /// With nothing seen yet of so many queues, at least one.
    pub(crate) fn new(queues: usize) -> Self {
        Self {
            waiting: HashMap::new(),
            backlogs: vec![Backlog::default(); queues.max(1)],
            connections: Connections::default(),
            counts: Counts::default(),
        }
    }

    /// Takes an event into account, and reports it to the collector.
    pub(crate) fn on_event(&mut self, at: Instant, event: &PacketEvent, collector: &mut Collector) {
        let connection = Connection::of(event.head());
        match event.kind {
            PacketEventKind::Enqueued => self.on_enqueued(at, event, connection, collector),
            PacketEventKind::Dequeued => self.on_dequeued(at, event, connection, collector),
            PacketEventKind::Dropped => self.on_dropped(at, event, connection, collector),
            PacketEventKind::Leaves | PacketEventKind::Arrives => {}
        }
    }

    fn on_enqueued(
        &mut self,
        at: Instant,
        event: &PacketEvent,
        connection: Option<Connection>,
        collector: &mut Collector,
    ) {
        let queue = self.queue_of(event);
        // The kernel uses the memory of a packet again when it is gone.
        if self.take(event.packet).is_some() {
            self.counts.enqueued_without_end += 1;
        }
        let before = self.backlog_before(event, queue);
        let waiting = Waiting { since: at, queue, bytes: event.bytes };
        self.waiting.insert(event.packet, waiting);
        self.backlogs[queue].packets += 1;
        self.backlogs[queue].bytes = self.backlogs[queue].bytes.saturating_add(event.bytes);
        self.counts.enqueued_packets += 1;
        let observation = Observation::Enqueued {
            queue: id_of(queue),
            flow: flow_of(connection),
            wire_bytes: event.bytes,
            backlog_packets: before.packets,
            backlog_bytes: before.bytes,
        };
        collector.observe(at, observation);
    }

    fn on_dequeued(
        &mut self,
        at: Instant,
        event: &PacketEvent,
        connection: Option<Connection>,
        collector: &mut Collector,
    ) {
        self.counts.dequeued_packets += 1;
        self.counts.dequeued_segments += u64::from(event.segments);
        let Some(waiting) = self.take(event.packet) else {
            self.counts.dequeued_without_enqueue += 1;
            return;
        };
        let sojourn = at.saturating_since(waiting.since);
        if let Some(counts) = connection.and_then(|one| self.connections.of(one)) {
            counts.sent_packets += 1;
            counts.sent_bytes += u64::from(event.bytes);
            counts.waited += sojourn;
            counts.longest_wait = counts.longest_wait.max(sojourn);
        }
        let observation = Observation::Dequeued {
            queue: id_of(waiting.queue),
            flow: flow_of(connection),
            wire_bytes: waiting.bytes,
            sojourn,
        };
        collector.observe(at, observation);
    }

    fn on_dropped(
        &mut self,
        at: Instant,
        event: &PacketEvent,
        connection: Option<Connection>,
        collector: &mut Collector,
    ) {
        let waiting = self.take(event.packet);
        let queue = waiting.map_or_else(|| self.queue_of(event), |one| one.queue);
        let reason = match event.reason {
            Some(QueueDropReason::Early) => DropReason::Early,
            Some(QueueDropReason::Full) => DropReason::QueueFull,
            // Tables know two reasons only; how many drops have none of their own is counted.
            Some(QueueDropReason::Unknown) | None => {
                self.counts.dropped_without_reason += 1;
                DropReason::QueueFull
            }
        };
        self.counts.dropped_packets += 1;
        if let Some(counts) = connection.and_then(|one| self.connections.of(one)) {
            counts.dropped_packets += 1;
        }
        collector.observe(
            at,
            Observation::Dropped(Dropped {
                flow: flow_of(connection),
                direction: Direction::Forward,
                queue: id_of(queue),
                payload_bytes: 0,
                wire_bytes: event.bytes,
                reason,
                waited: waiting.map(|one| at.saturating_since(one.since)),
                backlog: Some((self.backlogs[queue].packets, self.backlogs[queue].bytes)),
            }),
        );
    }

    /// Removes a packet from those that wait.
    fn take(&mut self, packet: u64) -> Option<Waiting> {
        let waiting = self.waiting.remove(&packet)?;
        let backlog = &mut self.backlogs[waiting.queue];
        backlog.packets = backlog.packets.saturating_sub(1);
        backlog.bytes = backlog.bytes.saturating_sub(waiting.bytes);
        Some(waiting)
    }

    /// A single queue serves all transmit queues of the device.
    fn queue_of(&self, event: &PacketEvent) -> usize {
        let transmit_queue = usize::try_from(event.transmit_queue).unwrap_or(usize::MAX);
        transmit_queue.min(self.backlogs.len() - 1)
    }

    /// What waited before a packet that has just been taken, by the kernel's count where it keeps one: `pfifo_fast`
    /// counts by processor, and shows zero.
    fn backlog_before(&self, event: &PacketEvent, queue: usize) -> Backlog {
        match event.backlog_packets {
            0 => self.backlogs[queue],
            packets => Backlog {
                packets: packets - 1,
                bytes: event.backlog_bytes.saturating_sub(event.bytes),
            },
        }
    }
}

fn id_of(queue: usize) -> QueueId {
    QueueId(u32::try_from(queue).unwrap_or(u32::MAX))
}

/// One flow stands for all packets of a protocol.
fn flow_of(connection: Option<Connection>) -> FlowId {
    let protocol = connection.map_or(Protocol::Other, |one| one.protocol);
    let place = Protocol::ALL.iter().position(|one| *one == protocol).unwrap_or(0);
    FlowId(u32::try_from(place).unwrap_or(0))
}
