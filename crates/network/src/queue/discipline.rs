//! Interface of queue disciplines, and the queues they are made of.
//!
//! A discipline decides which packet leaves next and which is dropped or marked; the link, or a shaper, decides when. It
//! holds [`QueuedPacket`] entries: everything it may know about a packet.

use crate::pool::PacketRef;
use crate::{Backlog, DropReason, Header};
use fairwind_qdisc::Qdisc;
use fairwind_units::{Instant, Span};
use std::collections::VecDeque;

/// A packet in a queue, and since when.
#[derive(Debug, Clone, Copy)]
pub struct QueuedPacket {
    /// When it was offered to the queue.
    pub enqueued: Instant,
    /// What tells it from others.
    pub header: Header,
    pub(crate) packet: PacketRef,
    /// Number of its acceptance among all of the network; orders deliveries at equal instants.
    pub(crate) insertion: u64,
}

impl QueuedPacket {
    /// Length of the IP packet in bytes.
    #[inline]
    pub fn bytes(&self) -> u32 {
        self.packet.bytes()
    }

    /// How long it has been waiting at `now`.
    #[inline]
    pub fn sojourn(&self, now: Instant) -> Span {
        now.saturating_since(self.enqueued)
    }

    /// Whether it is for the same host as `other`.
    #[inline]
    pub fn has_destination_of(&self, other: &Self) -> bool {
        self.packet.destination() == other.packet.destination()
    }

    /// Number of the host that it is for.
    #[inline]
    pub fn destination(&self) -> u32 {
        self.packet.destination().0
    }
}

/// What a discipline does to packets besides letting them wait and leave.
#[derive(Debug, Default)]
pub struct QueueActions {
    pub(crate) dropped: Vec<(QueuedPacket, DropReason)>,
    pub(crate) marked: Vec<QueuedPacket>,
}

impl QueueActions {
    /// Drops a packet that was accepted earlier.
    #[inline]
    pub fn drop(&mut self, waiting: QueuedPacket, reason: DropReason) {
        self.dropped.push((waiting, reason));
    }

    /// Marks a packet, where it can be marked (RFC 3168 §5); whether it is marked now.
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
    /// Tells of a packet whose header says already that it was marked.
    pub(crate) fn note_mark(&mut self, waiting: QueuedPacket) {
        self.marked.push(waiting);
    }
}

/// What a discipline answers when a packet is asked for.
#[derive(Debug, Clone, Copy)]
pub enum DequeueResult {
    /// This one leaves.
    Packet(QueuedPacket),
    /// None leaves before this instant, which is later than now, unless others arrive.
    NotBefore(Instant),
    /// Nothing waits.
    Empty,
}

impl DequeueResult {
    /// The earlier of this, where it is no packet, and `instant`.
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
/// Every call comes with the instant it was due, in order. A packet is asked for when the link is ready and something
/// waits: when the one before it was sent, when something arrives at an idle link, or at the instant that the
/// discipline has named. Nobody calls it in between, so a discipline that changes with time catches up when called.
pub trait QueueDiscipline: Send {
    /// Takes an arrival, or refuses it. Others that have to make room for it are dropped through `actions`; it may be
    /// marked, and even dropped once it is in.
    ///
    /// # Errors
    /// The reason for which it is not let in; nothing has changed then but what the discipline remembers.
    fn enqueue(
        &mut self,
        now: Instant,
        arrival: QueuedPacket,
        actions: &mut QueueActions,
    ) -> Result<(), DropReason>;

    /// The next packet to be serialised; those dropped on the way to it go to `actions`.
    fn dequeue(&mut self, now: Instant, actions: &mut QueueActions) -> DequeueResult;

    /// What would leave now, where that is certain without letting it leave; none where it has to be decided.
    fn head(&self) -> Option<QueuedPacket> {
        None
    }

    /// What is waiting.
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

/// Packets that wait in a row.
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

    /// Takes the oldest one out.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<QueuedPacket> {
        let first = self.waiting.pop_front();
        self.without(first)
    }

    /// Takes the newest one out.
    pub(crate) fn pop_newest(&mut self) -> Option<QueuedPacket> {
        let last = self.waiting.pop_back();
        self.without(last)
    }

    /// Takes the one at `place` out, counted from the oldest.
    pub(crate) fn remove(&mut self, place: usize) -> Option<QueuedPacket> {
        let removed = self.waiting.remove(place);
        self.without(removed)
    }

    #[inline]
    fn without(&mut self, removed: Option<QueuedPacket>) -> Option<QueuedPacket> {
        self.bytes -= removed.map_or(0, |waiting| u64::from(waiting.bytes()));
        removed
    }

    /// The next to leave.
    #[inline]
    pub(crate) fn oldest(&self) -> Option<&QueuedPacket> {
        self.waiting.front()
    }

    /// The one at `place`, counted from the oldest.
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

    /// Takes all out.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = QueuedPacket> + '_ {
        self.bytes = 0;
        self.waiting.drain(..)
    }
}

/// A discipline below another one, which may hold its next packet ready.
pub(super) struct PeekableChild {
    child: Box<dyn QueueDiscipline>,
    /// The next to leave, out of the child already.
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

    /// What would leave; a packet stays until it is [taken](PeekableChild::take). It is taken out of the child only where the
    /// child cannot tell otherwise, so that it counts in the limits of the others, as in the kernel.
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

    /// Lets the packet go that was looked at, at the same instant.
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
