//! Queue disciplines: which packet leaves next, and which is dropped. When it leaves is the link's, and of shapers.
//!
//! One file per discipline. They hold [`QueuedPacket`] entries, which say of a packet all that a discipline may know.

mod average;
mod bucket;
mod build;
mod cake;
mod choke;
mod codel;
mod drr;
mod dualpi2;
mod fifo;
mod fq_codel;
mod fq_pie;
mod hash;
mod held;
mod htb;
mod line;
mod pie;
mod prio;
mod red;
mod rounds;
mod select;
mod sfq;
mod tbf;
mod ticks;

pub use build::discipline;
pub use fifo::Fifo;
pub(crate) use fifo::FifoLimit;
pub use select::FlowGroups;

use crate::pool::PacketRef;
use crate::{Backlog, DropReason, Header};
use fairwind_units::{Instant, Span};

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
    /// Takes an arrival, or refuses it. Others that have to make room for it are dropped through `effects`; it may be
    /// marked, and even dropped once it is in.
    ///
    /// # Errors
    /// The reason for which it is not let in; nothing has changed then but what the discipline remembers.
    fn enqueue(
        &mut self,
        now: Instant,
        arrival: QueuedPacket,
        effects: &mut QueueActions,
    ) -> Result<(), DropReason>;

    /// The next packet to be serialised; those dropped on the way to it go to `effects`.
    fn dequeue(&mut self, now: Instant, effects: &mut QueueActions) -> DequeueResult;

    /// What would leave now, where that is certain without letting it leave; none where it has to be decided.
    fn head(&self) -> Option<QueuedPacket> {
        None
    }

    /// What is waiting.
    fn backlog(&self) -> Backlog;
}

/// A queue's length as reported.
#[inline]
pub(crate) fn packet_count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
