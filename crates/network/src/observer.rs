//! Observers of the network, and what is reported to them.

use crate::{LinkId, NodeId};
use fairwind_units::{BitRate, Instant, Span};

/// Length of a queue, without the packet that is being serialised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Backlog {
    /// Waiting packets.
    pub packets: u32,
    /// Sum of their IP lengths, in bytes.
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

/// Reason of a drop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DropReason {
    /// The queue was full; the packet found no room, or had to make room for another.
    QueueFull,
    /// Early drop by the queue discipline (AQM, RFC 7567).
    Early,
    /// The link lost it after it had been serialised.
    LinkLoss,
}

/// A terminal's request for capacity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CapacityRequest {
    /// A rate that includes the guaranteed slots; it replaces the last one.
    pub rate: Option<BitRate>,
    /// A volume.
    pub volume: Option<VolumeRequest>,
}

/// A requested volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VolumeRequest {
    /// Bytes.
    pub bytes: u64,
    /// Whether it replaces earlier requests that were not yet assigned, or adds to them.
    pub replaces: bool,
}

impl CapacityRequest {
    pub(crate) fn is_for_nothing(&self) -> bool {
        self.rate.is_none_or(|rate| rate.as_bits_per_second() == 0)
            && self.volume.is_none_or(|volume| volume.bytes == 0)
    }
}

/// The slots of a terminal per frame, by category.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotAssignment {
    /// Number of consecutive frames with these slots.
    pub frames: u64,
    /// Duration of a frame.
    pub frame: Span,
    /// Bytes per slot.
    pub slot_bytes: u32,
    /// Guaranteed (CRA).
    pub guaranteed: u32,
    /// For a requested rate (RBDC).
    pub by_rate: u32,
    /// For a requested volume (VBDC, AVBDC).
    pub by_volume: u32,
    /// Free, not requested (FCA).
    pub free: u32,
}

impl SlotAssignment {
    /// Slots per frame.
    pub fn slots(&self) -> u32 {
        self.guaranteed + self.by_rate + self.by_volume + self.free
    }
}

/// Receives the events of every queue. An empty method costs nothing, except
/// [`on_transparent_link`](Self::on_transparent_link) with
/// [`OBSERVES_TRANSPARENT_LINKS`](Self::OBSERVES_TRANSPARENT_LINKS).
///
/// The events of one link come in the order of their instants. An event may be reported later, when the link next
/// works, so events of *different* links may be out of order; each carries the instant at which it was due.
/// [`crate::Network::advance_to`] reports all that are due.
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

    /// `link` duplicated a packet at `at`; the copy `packet` may be delivered, lost or corrupted like any other.
    #[inline]
    fn on_duplicate(&mut self, at: Instant, link: LinkId, packet: &P) {}

    /// `packet` was corrupted on `link` at `at`; it travels on.
    #[inline]
    fn on_corrupt(&mut self, at: Instant, link: LinkId, packet: &P) {}

    /// A packet of `wire_bytes` reached the end of `link` at `at` before one sent earlier.
    #[inline]
    fn on_reorder(&mut self, at: Instant, link: LinkId, wire_bytes: u32) {}

    /// `link` dropped `packet` at `at` with `backlog` in the queue. The packet itself counts in `backlog` only if it
    /// was in the queue. `waited` is its time in the queue; `None` if it was not accepted, or lost behind the queue.
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

    /// The terminal of `link` requested capacity at `at`; empty requests are not reported.
    #[inline]
    fn on_request(&mut self, at: Instant, link: LinkId, ask: &CapacityRequest) {}

    /// Frames with these slots for `link` began at `at`, the first of them; reported per frame, or once for several
    /// equal frames.
    #[inline]
    fn on_assignment(&mut self, at: Instant, link: LinkId, assignment: &SlotAssignment) {}

    /// `link` sent this number of bytes, with its overhead, in its slot that began at `at`.
    #[inline]
    fn on_slot(&mut self, at: Instant, link: LinkId, sent_bytes: u32) {}

    /// `packet` was discarded at `node` at `at`: there is no route to its destination.
    #[inline]
    fn on_unroutable(&mut self, at: Instant, node: NodeId, packet: &P) {}
}

/// Observes nothing.
impl<P> Observer<P> for () {
    const OBSERVES_TRANSPARENT_LINKS: bool = false;
}
