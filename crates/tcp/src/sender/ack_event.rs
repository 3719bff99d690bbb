//! One acknowledgment: its flags, duplicates and deliveries.

use fairwind_units::Instant;
use fairwind_wire::SequenceNumber;

/// Flags of one acknowledgment (the `FLAG_...` of Linux `tcp_ack`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct AckFlags(u16);

impl AckFlags {
    /// It advances SND.UNA (`FLAG_SND_UNA_ADVANCED`).
    pub(crate) const ADVANCED: Self = Self(1);
    /// It acknowledges whole segments (`FLAG_ACKED`).
    pub(crate) const ACKNOWLEDGED: Self = Self(1 << 1);
    /// It carries data (`FLAG_DATA`).
    pub(crate) const WITH_DATA: Self = Self(1 << 2);
    /// It updates the window (`FLAG_WIN_UPDATE`).
    pub(crate) const WINDOW_UPDATED: Self = Self(1 << 3);
    /// It newly selectively acknowledges segments (`FLAG_DATA_SACKED`).
    pub(crate) const SACKED: Self = Self(1 << 4);
    /// It reports a duplicate segment by D-SACK (`FLAG_DSACKING_ACK`).
    pub(crate) const DSACKED: Self = Self(1 << 5);
    /// The D-SACK reports the tail loss probe (`FLAG_DSACK_TLP`).
    pub(crate) const PROBE_DSACKED: Self = Self(1 << 6);
    /// It acknowledges retransmitted segments (`FLAG_RETRANS_DATA_ACKED`).
    pub(crate) const RETRANSMISSION_ACKNOWLEDGED: Self = Self(1 << 7);
    /// It acknowledges segments below the recovery point that were sent once (`FLAG_ORIG_SACK_ACKED`).
    pub(crate) const ORIGINAL_ACKNOWLEDGED: Self = Self(1 << 8);
    /// It shows a retransmission to be lost (`FLAG_LOST_RETRANS`).
    pub(crate) const LOST_RETRANSMISSION: Self = Self(1 << 9);
    /// The receiver has reneged (`FLAG_SACK_RENEGING`).
    pub(crate) const RENEGED: Self = Self(1 << 10);
    /// It echoes congestion (ECE, RFC 3168; `FLAG_ECE`).
    pub(crate) const CONGESTION_ECHOED: Self = Self(1 << 11);
    /// The retransmission timer must be armed again (`FLAG_SET_XMIT_TIMER`).
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

    /// Flags that no duplicate ACK has (`FLAG_NOT_DUP`).
    pub(crate) const NOT_DUPLICATE: Self =
        Self::WITH_DATA.and(Self::WINDOW_UPDATED).and(Self::ACKNOWLEDGED);
    /// Flags that make an acknowledgment dubious in any state (`FLAG_CA_ALERT`).
    pub(crate) const SUSPICIOUS: Self =
        Self::SACKED.and(Self::CONGESTION_ECHOED).and(Self::DSACKED);
}

/// One acknowledgment while it is processed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AckEvent {
    now: Instant,
    flags: AckFlags,
    /// Oldest unacknowledged number before it.
    oldest_before: SequenceNumber,
    /// Duplicate ACKs that it counts for.
    duplicates: u32,
    /// Segments that it reports as delivered.
    delivered: u32,
    /// The echoed timestamp, if any.
    echo: Option<u32>,
    /// Segments delivered before the latest segment that it reports was sent; 0 for none.
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

    /// An acknowledgment that arrives at `now`; `oldest_before` is SND.UNA before it.
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

    /// Counts a duplicate ACK: no new acknowledgment, no data, no window update (RFC 5681 §2).
    pub(super) fn count_duplicate(&mut self) {
        let excluded = AckFlags::NOT_DUPLICATE.and(AckFlags::ADVANCED).and(AckFlags::DSACKED);
        self.duplicates = u32::from(!self.has(excluded));
    }

    pub(super) fn count_delivered(&mut self, segments: u32) {
        self.delivered += segments;
    }

    pub(super) fn set_delivered_at_sending(&mut self, delivered: u32) {
        self.delivered_at_sending = delivered;
    }
}
