//! What one acknowledgment reports.

use fairwind_units::Instant;
use fairwind_wire::SequenceNumber;

/// Facts about one acknowledgment (the `FLAG_...` of Linux' `tcp_ack`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct AckFlags(u16);

impl AckFlags {
    /// It acknowledged more than was acknowledged before.
    pub(crate) const ADVANCED: Self = Self(1);
    /// It took segments off the queue.
    pub(crate) const ACKNOWLEDGED: Self = Self(1 << 1);
    /// It came with data of the peer's.
    pub(crate) const WITH_DATA: Self = Self(1 << 2);
    /// It was newer than what set the window last.
    pub(crate) const WINDOW_UPDATED: Self = Self(1 << 3);
    /// It selectively acknowledged segments.
    pub(crate) const SACKED: Self = Self(1 << 4);
    /// It reported a segment that had arrived before (D-SACK).
    pub(crate) const REPEATED: Self = Self(1 << 5);
    /// What it reported is the tail loss probe.
    pub(crate) const PROBE_REPEATED: Self = Self(1 << 6);
    /// Segments that had been sent again were acknowledged.
    pub(crate) const REPAIR_ACKNOWLEDGED: Self = Self(1 << 7);
    /// Segments were acknowledged that were sent once, before the state was entered.
    pub(crate) const ORIGINAL_ACKNOWLEDGED: Self = Self(1 << 8);
    /// Retransmissions were found lost.
    pub(crate) const REPAIR_LOST: Self = Self(1 << 9);
    /// The receiver has dropped what it had reported.
    pub(crate) const RENEGED: Self = Self(1 << 10);
    /// It echoes congestion (ECE, RFC 3168).
    pub(crate) const CONGESTION_ECHOED: Self = Self(1 << 11);
    /// The timer is to be set anew.
    pub(crate) const TIMER_DUE: Self = Self(1 << 12);

    pub(crate) const fn has(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }

    pub(crate) fn add(&mut self, others: Self) {
        self.0 |= others.0;
    }

    #[inline]
    pub(crate) fn add_if(&mut self, condition: bool, others: Self) {
        if condition {
            self.add(others);
        }
    }

    pub(crate) fn remove(&mut self, others: Self) {
        self.0 &= !others.0;
    }

    pub(crate) const fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// What keeps an acknowledgment from being a duplicate.
    pub(crate) const NOT_DUPLICATE: Self =
        Self::WITH_DATA.and(Self::WINDOW_UPDATED).and(Self::ACKNOWLEDGED);
    /// What makes one worth a closer look in any state.
    pub(crate) const SUSPICIOUS: Self =
        Self::SACKED.and(Self::CONGESTION_ECHOED).and(Self::REPEATED);
}

/// One acknowledgment on its way through recovery.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AckEvent {
    now: Instant,
    flags: AckFlags,
    /// Oldest unacknowledged number before it.
    oldest_before: SequenceNumber,
    /// Duplicate ACKs that it stands for.
    duplicates: u32,
    /// Segments that it says have arrived.
    delivered: u32,
    /// The echoed timestamp, where there is one.
    echo: Option<u32>,
    /// Segments delivered before the youngest one that it reports was sent; 0 for none.
    delivered_at_sending: u32,
}

impl AckEvent {
    getters! {
        now: Instant,
        flags: AckFlags,
        oldest_before: SequenceNumber,
        duplicates: u32,
        delivered: u32,
        echo: Option<u32>,
        delivered_at_sending: u32,
    }

    /// An acknowledgment that comes at `now`, while `oldest_before` is the oldest unacknowledged number.
    #[inline]
    pub(super) fn new(
        now: Instant,
        flags: AckFlags,
        oldest_before: SequenceNumber,
        echo: Option<u32>,
    ) -> Self {
        Self {
            now,
            flags,
            oldest_before,
            duplicates: 0,
            delivered: 0,
            echo,
            delivered_at_sending: 0,
        }
    }

    pub(crate) fn has(&self, flags: AckFlags) -> bool {
        self.flags.has(flags)
    }

    pub(super) fn add(&mut self, flags: AckFlags) {
        self.flags.add(flags);
    }

    pub(super) fn add_if(&mut self, condition: bool, flags: AckFlags) {
        self.flags.add_if(condition, flags);
    }

    pub(super) fn remove(&mut self, flags: AckFlags) {
        self.flags.remove(flags);
    }

    /// It is a duplicate if it acknowledges nothing, brings nothing and opens nothing (RFC 5681 §2).
    pub(super) fn count_duplicate(&mut self) {
        let excluded = AckFlags::NOT_DUPLICATE.and(AckFlags::ADVANCED).and(AckFlags::REPEATED);
        self.duplicates = u32::from(!self.has(excluded));
    }

    pub(super) fn count_delivered(&mut self, segments: u32) {
        self.delivered += segments;
    }

    pub(super) fn set_delivered_at_sending(&mut self, delivered: u32) {
        self.delivered_at_sending = delivered;
    }
}
