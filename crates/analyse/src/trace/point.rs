//! What can be drawn: one point of one series.

use fairwind_units::Instant;

/// What a point belongs to. Numbers of bytes are places in the flow's stream, whose first payload byte
/// is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Series {
    /// A data segment, from its first byte to the one behind its last, as it passes its sender's tap.
    Data,
    /// The same, as it passes the tap of its receiver.
    Arrival,
    /// A data segment that never passed the tap of its receiver, when it was sent.
    Lost,
    /// The cumulative acknowledgment.
    Acknowledged,
    /// The end of the window that the receiver offers.
    WindowEdge,
    /// A block of a selective acknowledgment, the first of its segment: the others repeat what was
    /// told before (RFC 2018 §4).
    Sack,
    /// An acknowledgment that repeats the one before it (RFC 5681 §2), at its number.
    DuplicateAck,
    /// A SYN, FIN, reset or closed window.
    Mark,
    /// A sample of the round-trip time.
    RoundTripTime,
    /// Bytes that were sent and not yet acknowledged.
    Flight,
    /// Payload per second, in windows of equal length.
    Throughput,
    /// Payload bytes of a data segment.
    SegmentSize,
}

impl Series {
    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Arrival => "arrival",
            Self::Lost => "lost",
            Self::Acknowledged => "acknowledged",
            Self::WindowEdge => "window_edge",
            Self::Sack => "sack",
            Self::DuplicateAck => "duplicate_ack",
            Self::Mark => "mark",
            Self::RoundTripTime => "rtt",
            Self::Flight => "flight",
            Self::Throughput => "throughput",
            Self::SegmentSize => "segment_size",
        }
    }
}

/// Which kind of its series a point is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PointKind {
    /// The series has one kind.
    Only,
    /// Data that had not been sent before.
    New,
    /// New data behind a copy of data that is still outstanding (redundant data bundling).
    Bundle,
    /// Data repeated on evidence of its loss.
    FastRetransmit,
    /// Data repeated because the retransmission timer ran out.
    Timeout,
    /// Data repeated in the wake of a time-out, without waiting for another one (RFC 5681 §3.1).
    AfterTimeout,
    /// The last data repeated to learn whether it was lost (RFC 8985 §7).
    TailLossProbe,
    /// A probe or a time-out of a single segment, as long as nothing has shown which.
    Undecided,
    /// Data repeated, and nothing tells why.
    Retransmission,
    /// Data that left in its turn and passed the tap late.
    OutOfOrder,
    /// A copy that the network made.
    NetworkDuplicate,
    /// A segment that asks whether the peer is there (RFC 9293 §3.8.4).
    KeepAlive,
    /// A segment that asks whether the peer's window is still closed (RFC 9293 §3.8.6.1).
    WindowProbe,
    /// A block that tells what was received.
    Sack,
    /// A block that tells what was received twice (RFC 2883).
    DuplicateSack,
    /// SYN.
    Syn,
    /// FIN.
    Fin,
    /// RST.
    Reset,
    /// The receiver's window is closed.
    ZeroWindow,
    /// All payload sent, repeated one included.
    PayloadSent,
    /// Payload sent for the first time.
    NewPayloadSent,
    /// All payload that reached the receiver.
    PayloadReceived,
}

impl PointKind {
    /// Its name in tables; empty for the only one of a series.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Only => "",
            Self::New => "new",
            Self::Bundle => "bundle",
            Self::FastRetransmit => "fast_retransmit",
            Self::Timeout => "timeout",
            Self::AfterTimeout => "after_timeout",
            Self::TailLossProbe | Self::Undecided => "tail_loss_probe",
            Self::Retransmission => "retransmission",
            Self::OutOfOrder => "out_of_order",
            Self::NetworkDuplicate => "network_duplicate",
            Self::KeepAlive => "keep_alive",
            Self::WindowProbe => "window_probe",
            Self::Sack => "sack",
            Self::DuplicateSack => "duplicate_sack",
            Self::Syn => "syn",
            Self::Fin => "fin",
            Self::Reset => "reset",
            Self::ZeroWindow => "zero_window",
            Self::PayloadSent => "payload_sent",
            Self::NewPayloadSent => "new_payload_sent",
            Self::PayloadReceived => "payload_received",
        }
    }

    /// Whether data of this kind repeats what had been sent before, by its sender's will.
    pub const fn is_retransmission(self) -> bool {
        matches!(
            self,
            Self::FastRetransmit
                | Self::Timeout
                | Self::AfterTimeout
                | Self::TailLossProbe
                | Self::Undecided
                | Self::Retransmission
        )
    }
}

/// One point, or several that were brought together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// When; of several, the first one's.
    pub at: Instant,
    /// The least value: bytes, nanoseconds or bits per second, as the series has it.
    pub low: u64,
    /// The greatest value.
    pub high: u64,
    /// How many there were.
    pub count: u64,
}

impl Point {
    /// One point that is a value and no range.
    pub const fn value(at: Instant, value: u64) -> Self {
        Self { at, low: value, high: value, count: 1 }
    }

    /// One point that is a range.
    pub const fn range(at: Instant, low: u64, high: u64) -> Self {
        Self { at, low, high, count: 1 }
    }

    /// Whether the ranges have something in common, or one begins where the other ends.
    pub(super) const fn touches(&self, other: &Self) -> bool {
        self.low <= other.high && other.low <= self.high
    }

    /// Takes `other` in.
    pub(super) fn absorb(&mut self, other: &Self) {
        self.at = self.at.min(other.at);
        self.low = self.low.min(other.low);
        self.high = self.high.max(other.high);
        self.count = self.count.saturating_add(other.count);
    }
}
