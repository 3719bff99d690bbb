//! Queue disciplines: which packet leaves next, and which is dropped. When it leaves is the link's.
//!
//! Source: pfifo and bfifo as the Linux manual page tc-pfifo(8) describes them.

use crate::{Backlog, DropReason, Packet};
use fairwind_units::{Instant, Span};
use std::collections::VecDeque;

/// The queue in front of a link. Limits count what waits, not the packet that is being serialised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum QueueSpec {
    /// First in, first out, never full.
    #[default]
    Unlimited,
    /// First in, first out; an arrival is dropped where `limit_packets` wait already.
    Pfifo {
        /// Packets, at least one.
        limit_packets: u32,
    },
    /// First in, first out; an arrival is dropped where it would bring the waiting bytes above
    /// `limit_bytes`, so a small packet may find room where a large one does not.
    Bfifo {
        /// Bytes of IP packets, at least one. A packet larger than this never passes.
        limit_bytes: u64,
    },
}

/// When a first-in, first-out queue is full.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FifoLimit {
    packets: u32,
    bytes: u64,
}

impl FifoLimit {
    #[inline]
    pub(crate) fn admits(self, backlog: Backlog, wire_bytes: u32) -> bool {
        backlog.packets < self.packets && backlog.bytes + u64::from(wire_bytes) <= self.bytes
    }
}

impl From<QueueSpec> for FifoLimit {
    fn from(spec: QueueSpec) -> Self {
        match spec {
            QueueSpec::Unlimited => Self { packets: u32::MAX, bytes: u64::MAX },
            QueueSpec::Pfifo { limit_packets } => Self { packets: limit_packets, bytes: u64::MAX },
            QueueSpec::Bfifo { limit_bytes } => Self { packets: u32::MAX, bytes: limit_bytes },
        }
    }
}

/// A packet in a queue, and since when.
#[derive(Debug)]
pub struct Waiting<P> {
    /// The packet.
    pub packet: P,
    /// When it was accepted.
    pub enqueued: Instant,
    /// Number of its acceptance among all of the network; orders deliveries at equal instants.
    pub(crate) insertion: u64,
}

impl<P> Waiting<P> {
    /// How long it has been waiting at `now`.
    pub fn sojourn(&self, now: Instant) -> Span {
        now.saturating_since(self.enqueued)
    }
}

/// Where a discipline puts packets that it had accepted and drops later.
#[derive(Debug)]
pub struct Dropped<P> {
    pub(crate) packets: Vec<(Waiting<P>, Backlog, DropReason)>,
}

impl<P> Dropped<P> {
    pub(crate) fn new() -> Self {
        Self { packets: Vec::new() }
    }

    /// Drops `waiting` because of `reason`, when `backlog` was waiting, itself included.
    pub fn push(&mut self, waiting: Waiting<P>, backlog: Backlog, reason: DropReason) {
        self.packets.push((waiting, backlog, reason));
    }
}

/// Decides which packet leaves next and which is dropped.
///
/// A discipline holds packets for no other reason than that the transmitter is busy: `dequeue`
/// gives none only where none is left. Every call comes with the instant it was due, in order.
pub trait QueueDiscipline<P: Packet>: Send {
    /// Whether an arrival is let in at `now`. It is enqueued directly afterwards if so.
    ///
    /// # Errors
    /// The reason for which it is dropped.
    fn admit(&mut self, now: Instant, packet: &P) -> Result<(), DropReason>;

    /// Takes an admitted packet; others that have to make room for it go to `dropped`.
    fn enqueue(&mut self, now: Instant, packet: Waiting<P>, dropped: &mut Dropped<P>);

    /// The next packet to be serialised; those dropped on the way to it go to `dropped`.
    fn dequeue(&mut self, now: Instant, dropped: &mut Dropped<P>) -> Option<Waiting<P>>;

    /// What is waiting.
    fn backlog(&self) -> Backlog;
}

/// First in, first out: pfifo, bfifo or unlimited.
#[derive(Debug)]
pub struct Fifo<P> {
    limit: FifoLimit,
    waiting: VecDeque<Waiting<P>>,
    bytes: u64,
}

impl<P: Packet> Fifo<P> {
    /// An empty queue with the limit of `spec`.
    pub fn new(spec: QueueSpec) -> Self {
        Self { limit: spec.into(), waiting: VecDeque::new(), bytes: 0 }
    }
}

impl<P: Packet + Send> QueueDiscipline<P> for Fifo<P> {
    fn admit(&mut self, _: Instant, packet: &P) -> Result<(), DropReason> {
        let admitted = self.limit.admits(self.backlog(), packet.wire_bytes());
        admitted.then_some(()).ok_or(DropReason::QueueFull)
    }

    fn enqueue(&mut self, _: Instant, packet: Waiting<P>, _: &mut Dropped<P>) {
        self.bytes += u64::from(packet.packet.wire_bytes());
        self.waiting.push_back(packet);
    }

    fn dequeue(&mut self, _: Instant, _: &mut Dropped<P>) -> Option<Waiting<P>> {
        let first = self.waiting.pop_front()?;
        self.bytes -= u64::from(first.packet.wire_bytes());
        Some(first)
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: packet_count(self.waiting.len()), bytes: self.bytes }
    }
}

/// A queue's length as reported.
#[inline]
pub(crate) fn packet_count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
