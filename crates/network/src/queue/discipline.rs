//! Interface of queue disciplines, and the queues they are made of.
//!
//! A discipline decides which packet leaves next and which is dropped or marked; the link, or a shaper, decides when. It
//! holds [`QueuedPacket`] entries: everything it may know about a packet.

use crate::pool::PacketRef;
use crate::{Backlog, DropReason, Header, TcpAck};
use fairwind_qdisc::Qdisc;
use fairwind_units::{Instant, Span};
use std::collections::VecDeque;

/// A packet in a queue.
#[derive(Debug, Clone, Copy)]
pub struct QueuedPacket {
    /// When it arrived at the queue.
    pub enqueued: Instant,
    /// Its header fields.
    pub header: Header,
    pub(crate) packet: PacketRef,
    /// Number of its acceptance in the whole network; orders deliveries at equal instants.
    pub(crate) insertion: u64,
}

impl QueuedPacket {
    /// Length of the IP packet in bytes.
    #[inline]
    pub fn bytes(&self) -> u32 {
        self.packet.bytes()
    }

    /// Its sojourn time at `now`.
    #[inline]
    pub fn sojourn(&self, now: Instant) -> Span {
        now.saturating_since(self.enqueued)
    }

    /// Number of its destination host.
    #[inline]
    pub fn destination(&self) -> u32 {
        self.packet.destination().0
    }
}

/// Drops and marks that a discipline decides.
#[derive(Debug, Default)]
pub struct QueueActions {
    pub(crate) dropped: Vec<(QueuedPacket, DropReason)>,
    pub(crate) marked: Vec<QueuedPacket>,
}

impl QueueActions {
    /// Drops a packet that was enqueued earlier.
    #[inline]
    pub fn drop(&mut self, waiting: QueuedPacket, reason: DropReason) {
        self.dropped.push((waiting, reason));
    }

    /// Marks a packet if it is ECN capable (RFC 3168 §5); returns whether it did.
    #[inline]
    pub fn mark(&mut self, waiting: &mut QueuedPacket) -> bool {
        let is_capable = waiting.header.is_ecn_capable();
        if is_capable {
            waiting.header.mark();
            self.marked.push(*waiting);
        }
        is_capable
    }
}

impl QueueActions {
    /// Reports a packet with a header that is marked already.
    pub(crate) fn note_mark(&mut self, waiting: QueuedPacket) {
        self.marked.push(waiting);
    }
}

/// Result of a dequeue.
#[derive(Debug, Clone, Copy)]
pub enum DequeueResult {
    /// This packet leaves.
    Packet(QueuedPacket),
    /// No packet leaves before this instant, which is later than now, unless others arrive.
    NotBefore(Instant),
    /// The queue is empty.
    Empty,
}

impl DequeueResult {
    /// The earlier of `instant` and the instant of this result, if it has one.
    #[must_use]
    pub(crate) fn or_not_before(self, instant: Instant) -> Self {
        match self {
            Self::NotBefore(other) => Self::NotBefore(other.min(instant)),
            _ => Self::NotBefore(instant),
        }
    }
}

/// Decides which packet leaves next and which is dropped.
///
/// Every call comes with the instant it was due, in order. The link dequeues when it is ready and something waits:
/// after the previous packet was sent, when a packet arrives at an idle link, or at the instant that the discipline has
/// returned. There are no calls in between, so a discipline that changes with time brings itself up to date when
/// called.
pub trait QueueDiscipline: Send {
    /// Enqueues an arrival, or refuses it. Packets that make room for it are dropped through `actions`; the arrival
    /// itself may be marked, or dropped after it was enqueued.
    ///
    /// # Errors
    /// The reason of the refusal; the queue is unchanged then.
    fn enqueue(
        &mut self,
        now: Instant,
        arrival: QueuedPacket,
        actions: &mut QueueActions,
    ) -> Result<(), DropReason>;

    /// Whether it reads acknowledgments, so that arrivals with one come by [`enqueue_ack`](Self::enqueue_ack).
    fn reads_acks(&self) -> bool {
        false
    }

    /// As [`enqueue`](Self::enqueue), for a TCP segment with ACK.
    ///
    /// # Errors
    /// As there.
    fn enqueue_ack(
        &mut self,
        now: Instant,
        arrival: QueuedPacket,
        ack: &TcpAck,
        actions: &mut QueueActions,
    ) -> Result<(), DropReason> {
        let _ = ack;
        self.enqueue(now, arrival, actions)
    }

    /// The next packet to be serialised; drops before it go to `actions`.
    fn dequeue(&mut self, now: Instant, actions: &mut QueueActions) -> DequeueResult;

    /// The packet that would leave now; `None` if that is decided only at dequeue.
    fn head(&self) -> Option<QueuedPacket> {
        None
    }

    /// Length of the queue.
    fn backlog(&self) -> Backlog;
}

/// Builds a child discipline from its description and a seed.
pub(super) type BuildChild<'a> = dyn Fn(&Qdisc, u64) -> Box<dyn QueueDiscipline> + 'a;

/// A flow's or queue's number as an index.
#[inline]
pub(super) fn index(number: u32) -> usize {
    // Widening on every supported machine.
    number as usize
}

/// A queue's length as reported.
#[inline]
pub(crate) fn packet_count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// Packets in order of arrival, and their bytes.
#[derive(Debug, Default)]
pub(crate) struct PacketFifo {
    waiting: VecDeque<QueuedPacket>,
    bytes: u64,
}

impl PacketFifo {
    #[inline]
    pub(crate) fn push(&mut self, waiting: QueuedPacket) {
        self.bytes += u64::from(waiting.bytes());
        self.waiting.push_back(waiting);
    }

    /// Removes the oldest packet.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<QueuedPacket> {
        let first = self.waiting.pop_front();
        self.without(first)
    }

    /// Removes the newest packet.
    pub(crate) fn pop_newest(&mut self) -> Option<QueuedPacket> {
        let last = self.waiting.pop_back();
        self.without(last)
    }

    /// Removes the packet at `place`, counted from the oldest.
    pub(crate) fn remove(&mut self, place: usize) -> Option<QueuedPacket> {
        let removed = self.waiting.remove(place);
        self.without(removed)
    }

    #[inline]
    fn without(&mut self, removed: Option<QueuedPacket>) -> Option<QueuedPacket> {
        self.bytes -= removed.map_or(0, |waiting| u64::from(waiting.bytes()));
        removed
    }

    /// The oldest packet.
    #[inline]
    pub(crate) fn oldest(&self) -> Option<&QueuedPacket> {
        self.waiting.front()
    }

    /// The packet at `place`, counted from the oldest.
    pub(crate) fn get(&self, place: usize) -> Option<&QueuedPacket> {
        self.waiting.get(place)
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    #[inline]
    pub(crate) fn backlog(&self) -> Backlog {
        Backlog { packets: packet_count(self.waiting.len()), bytes: self.bytes }
    }

    /// Removes all packets.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = QueuedPacket> + '_ {
        self.bytes = 0;
        self.waiting.drain(..)
    }
}

/// A child discipline that shows its next packet before it leaves.
pub(super) struct PeekableChild {
    child: Box<dyn QueueDiscipline>,
    /// The next packet, if it has left the child already.
    next: Option<QueuedPacket>,
}

impl PeekableChild {
    pub(super) fn new(child: Box<dyn QueueDiscipline>) -> Self {
        Self { child, next: None }
    }

    pub(super) fn enqueue(
        &mut self,
        now: Instant,
        arrival: QueuedPacket,
        actions: &mut QueueActions,
    ) -> Result<(), DropReason> {
        self.child.enqueue(now, arrival, actions)
    }

    /// The next packet, which stays until it is [taken](PeekableChild::take). It leaves the child early only if the
    /// child cannot name it otherwise, so that it counts in the child's limit, as in the kernel.
    pub(super) fn peek(&mut self, now: Instant, actions: &mut QueueActions) -> DequeueResult {
        if let Some(waiting) = self.next {
            return DequeueResult::Packet(waiting);
        }
        if let Some(waiting) = self.child.head() {
            return DequeueResult::Packet(waiting);
        }
        let answer = self.child.dequeue(now, actions);
        if let DequeueResult::Packet(waiting) = answer {
            self.next = Some(waiting);
        }
        answer
    }

    /// Dequeues the packet returned by [`peek`](PeekableChild::peek) at the same instant.
    pub(super) fn take(&mut self, now: Instant, actions: &mut QueueActions) {
        if self.next.take().is_none() {
            self.child.dequeue(now, actions);
        }
    }

    pub(super) fn backlog(&self) -> Backlog {
        let below = self.child.backlog();
        self.next.map_or(below, |waiting| below.with(waiting.bytes()))
    }
}
