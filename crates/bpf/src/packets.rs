//! Packet events on a path of kernel qdiscs, at the hosts' interfaces and at queues, by the programs
//! in `bpf/packets.bpf.c`.

use super::events::EventStream;
use super::loader::Object;
use super::{BpfError, RawEvent};
use fairwind_units::Instant;
use std::time::Duration;

/// Reported bytes of a packet: its IP and TCP headers.
const HEAD_BYTES: usize = 100;

/// Watched events of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchedEvents {
    /// Packets that arrive and leave.
    Border,
    /// A queue discipline at the root.
    Queue,
    /// Drops of a root queue discipline.
    Drops,
}

impl WatchedEvents {
    /// A bit for each kind of event in `bpf/packets.bpf.c`.
    fn kinds(self) -> u32 {
        let bits = |kinds: &[u32]| kinds.iter().map(|kind| 1 << kind).sum();
        match self {
            Self::Border => bits(&[LEAVES, ARRIVES]),
            Self::Queue => bits(&[ENQUEUED, DEQUEUED, DROPPED]),
            Self::Drops => bits(&[DROPPED]),
        }
    }
}

const LEAVES: u32 = 1;
const ARRIVES: u32 = 2;
const ENQUEUED: u32 = 3;
const DEQUEUED: u32 = 4;
const DROPPED: u32 = 5;

const UNKNOWN: u32 = 1;
const FULL: u32 = 2;
const EARLY: u32 = 3;

/// An interface that is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WatchedInterface {
    /// Its network namespace: the inode of `/proc/PID/ns/net`.
    pub namespace: u32,
    /// Its number there.
    pub interface: u32,
    /// Which of its events are reported.
    pub watched: WatchedEvents,
}

/// Kind of packet event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketEventKind {
    /// It leaves through the interface.
    Leaves,
    /// It arrives at the interface.
    Arrives,
    /// The queue has taken it.
    Enqueued,
    /// It leaves the queue.
    Dequeued,
    /// The queue has dropped it.
    Dropped,
}

/// Why a queue discipline dropped a packet, by the kernel's reason (`enum skb_drop_reason`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueDropReason {
    /// The kernel says only that it was a queue discipline; older kernels never say more.
    Unknown,
    /// It was full, or the packet's share of it was.
    Full,
    /// It was no longer willing to let packets wait.
    Early,
}

/// A packet at a watched interface.
#[derive(Debug, Clone, Copy)]
pub struct PacketEvent {
    /// Place of the interface in the list that was given.
    pub place: usize,
    /// The kind.
    pub kind: PacketEventKind,
    /// The same for all events of one packet between two interfaces; used again when it is gone.
    pub packet: u64,
    /// Packets in the queue, this one included where it has just been taken.
    pub backlog_packets: u32,
    /// Their bytes, as the queue counts them.
    pub backlog_bytes: u32,
    /// Bytes of the packet, as the queue counts it; of use at queues only.
    pub bytes: u32,
    /// How many segments the packet will become where the device, or the kernel in its place, divides it.
    pub segments: u32,
    /// The device's transmit queue that it is for, from 0.
    pub transmit_queue: u32,
    /// Why it was dropped, if it was.
    pub reason: Option<QueueDropReason>,
    head: [u8; HEAD_BYTES],
}

impl PacketEvent {
    fn read(record: RawEvent<'_>) -> Option<(Instant, Self)> {
        let kind = match record.u32(20) {
            LEAVES => PacketEventKind::Leaves,
            ARRIVES => PacketEventKind::Arrives,
            ENQUEUED => PacketEventKind::Enqueued,
            DEQUEUED => PacketEventKind::Dequeued,
            DROPPED => PacketEventKind::Dropped,
            _ => return None,
        };
        let event = Self {
            place: usize::try_from(record.u32(16)).ok()?,
            kind,
            packet: record.u64(8),
            backlog_packets: record.u32(24),
            backlog_bytes: record.u32(28),
            bytes: record.u32(132),
            segments: record.u32(136),
            transmit_queue: record.u32(140),
            reason: match record.u32(144) {
                UNKNOWN => Some(QueueDropReason::Unknown),
                FULL => Some(QueueDropReason::Full),
                EARLY => Some(QueueDropReason::Early),
                _ => None,
            },
            head: record.bytes(32, HEAD_BYTES).try_into().ok()?,
        };
        Some((Instant::from_nanos(record.u64(0)), event))
    }

    /// The reported bytes of the packet, from its IP header on.
    pub fn head(&self) -> &[u8] {
        &self.head
    }
}

/// Packets at watched interfaces. The kernel forgets the programs when this is dropped.
#[derive(Debug)]
pub struct PacketWatch {
    events: EventStream<PacketEvent>,
}

impl PacketWatch {
    /// Begins to watch interfaces, which have to be there.
    pub fn new(places: &[WatchedInterface]) -> Result<Self, BpfError> {
        const ALL: [&str; 5] = ["leaves", "arrives", "enqueued", "dequeued", "dropped"];
        let events = EventStream::attach(Object::Packets, &ALL)?;
        for (number, place) in (0_u32..).zip(places) {
            let key = [place.namespace.to_ne_bytes(), place.interface.to_ne_bytes()].concat();
            let value = [number.to_ne_bytes(), place.watched.kinds().to_ne_bytes()].concat();
            events.set("places", &key, &value)?;
        }
        Ok(Self { events })
    }

    /// Reports what has happened, in order, with instants of the monotonic clock; waits at most for
    /// `limit` where there is little. Returns the instant before which nothing will follow.
    pub fn read(
        &mut self,
        limit: Duration,
        each: impl FnMut(Instant, PacketEvent),
    ) -> Result<Instant, BpfError> {
        self.events.read(limit, PacketEvent::read, each)
    }

    /// Reports all that has happened until now and was not reported yet.
    pub fn finish(&mut self, each: impl FnMut(Instant, PacketEvent)) -> Result<(), BpfError> {
        self.events.finish(PacketEvent::read, each)
    }

    /// How many events were lost because they came faster than they were read.
    pub fn missed(&self) -> u64 {
        self.events.missed()
    }
}
