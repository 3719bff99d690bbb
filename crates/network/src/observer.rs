//! What the network reports while it works.

use crate::{CapacityRequest, LinkId, NodeId, SlotAssignment};
use fairwind_units::{Instant, Span};

/// What waits in a queue; the packet that is being serialised does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Backlog {
    /// Waiting packets.
    pub packets: u32,
    /// Their IP lengths together, in bytes.
    pub bytes: u64,
}

impl Backlog {
    /// Together with `other`.
    #[inline]
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { packets: self.packets + other.packets, bytes: self.bytes + other.bytes }
    }

    /// Without `other`, which is part of it.
    #[inline]
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self { packets: self.packets - other.packets, bytes: self.bytes - other.bytes }
    }

    /// With a packet of `bytes` more.
    #[inline]
    #[must_use]
    pub fn with(self, bytes: u32) -> Self {
        Self { packets: self.packets + 1, bytes: self.bytes + u64::from(bytes) }
    }

    /// With a packet of `bytes` less.
    #[inline]
    #[must_use]
    pub fn without(self, bytes: u32) -> Self {
        Self { packets: self.packets - 1, bytes: self.bytes - u64::from(bytes) }
    }
}

/// Why a packet was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DropReason {
    /// It found no room in the queue, or had to make room for another.
    QueueFull,
    /// The queue discipline gave notice of congestion (RFC 7567) while there was room.
    Early,
    /// The link lost it after it had been serialised.
    LinkLoss,
}

/// Receives the facts of every queue; an empty method costs nothing, but for
/// [`on_transparent_link`](Self::on_transparent_link) where [`OBSERVES_TRANSPARENT_LINKS`](Self::OBSERVES_TRANSPARENT_LINKS).
///
/// The facts of one link come in the order of their instants. A fact is reported when the link next
/// has something to do, so facts of *different* links may be out of order; every one carries the
/// instant at which it was due. [`crate::Network::advance_to`] reports all that is due.
#[expect(unused_variables, reason = "the names document the arguments of empty defaults")]
pub trait Observer<P> {
    /// Whether [`on_transparent_link`](Self::on_transparent_link) is called. Each call costs a lookup per transparent link.
    const OBSERVES_TRANSPARENT_LINKS: bool = true;

    /// The queue of `link` accepted `packet` at `at`, finding `backlog` before it.
    #[inline]
    fn on_enqueue(&mut self, at: Instant, link: LinkId, packet: &P, backlog: Backlog) {}

    /// `packet` left the queue of `link` at `at` for the transmitter, after waiting `sojourn`.
    #[inline]
    fn on_dequeue(&mut self, at: Instant, link: LinkId, packet: &P, sojourn: Span) {}

    /// `packet` bypassed the idle queue of `link` at `at`: it was accepted and left for the transmitter at once. Must
    /// equal [`on_enqueue`](Self::on_enqueue) followed by [`on_dequeue`](Self::on_dequeue). FIFO links call this;
    /// other links call those two.
    #[inline]
    fn on_bypass(&mut self, at: Instant, link: LinkId, packet: &P) {
        self.on_enqueue(at, link, packet, Backlog::default());
        self.on_dequeue(at, link, packet, Span::ZERO);
    }

    /// `packet` passed the transparent `link` at `at`, which takes no time and drops nothing.
    #[inline]
    fn on_transparent_link(&mut self, at: Instant, link: LinkId, packet: &P) {
        self.on_bypass(at, link, packet);
    }

    /// The queue of `link` marked `packet` at `at` instead of dropping it (RFC 3168).
    #[inline]
    fn on_mark(&mut self, at: Instant, link: LinkId, packet: &P) {}

    /// `link` made a second `packet` at `at`, which may be delivered, lost or damaged as any other.
    #[inline]
    fn on_duplicate(&mut self, at: Instant, link: LinkId, packet: &P) {}

    /// `packet` was damaged on `link` at `at`; it goes on, to no avail.
    #[inline]
    fn on_corrupt(&mut self, at: Instant, link: LinkId, packet: &P) {}

    /// A packet of `wire_bytes` reached the end of `link` at `at` before one that was sent earlier.
    #[inline]
    fn on_reorder(&mut self, at: Instant, link: LinkId, wire_bytes: u32) {}

    /// `link` dropped `packet` at `at` because of `reason`, while `backlog` was waiting. The
    /// packet itself counts in `backlog` only where it was waiting and had to make room. It had
    /// `waited` so long in the queue; `None` where the queue did not let it in, or where it was lost
    /// behind it.
    #[inline]
    fn on_drop(
        &mut self,
        at: Instant,
        link: LinkId,
        packet: &P,
        backlog: Backlog,
        reason: DropReason,
        waited: Option<Span>,
    ) {
    }

    /// The terminal that `link` belongs to asked for capacity at `at`; not told where it asked for nothing.
    #[inline]
    fn on_request(&mut self, at: Instant, link: LinkId, ask: &CapacityRequest) {}

    /// Frames of which `link` has slots began at `at`, the first of them; told for every frame, or for several at once
    /// that are all the same.
    #[inline]
    fn on_assignment(&mut self, at: Instant, link: LinkId, assignment: &SlotAssignment) {}

    /// `link` sent so many bytes, with what it adds to packets, in its slot that began at `at`.
    #[inline]
    fn on_slot(&mut self, at: Instant, link: LinkId, sent_bytes: u32) {}

    /// `packet` was at `node` at `at`, from where nothing leads to its destination; it is gone.
    #[inline]
    fn on_unroutable(&mut self, at: Instant, node: NodeId, packet: &P) {}
}

/// The observer that looks away.
impl<P> Observer<P> for () {
    const OBSERVES_TRANSPARENT_LINKS: bool = false;
}
