//! Results of a stream: kinds of segments, causes, and acknowledgment events.

use fairwind_measure::{FlowId, Observation};
use fairwind_units::Span;

/// Position of the tap relative to a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum TapSide {
    /// At or near the data sender, or unknown: causes are inferred from acknowledgments.
    #[default]
    Sender,
    /// Near the data receiver: reactions to an acknowledgment come a round trip later, and packets lost on the
    /// path are not seen.
    Receiver,
}

/// Cause of a retransmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cause {
    /// Acknowledgments showed a loss (RFC 5681 §3.2, RFC 6675 §5, RFC 8985 §6).
    FastRetransmit,
    /// The retransmission timer expired (RFC 6298 §5.4).
    Timeout,
    /// It followed a timeout in the same repair (RFC 5681 §3.1).
    AfterTimeout,
    /// A tail loss probe (RFC 8985 §7).
    TailLossProbe,
    /// Nothing at the tap explains it.
    Unknown,
}

impl Cause {
    /// Number of causes.
    pub const COUNT: usize = 5;

    /// All causes, in the order of tables.
    pub const ALL: [Self; Self::COUNT] = [
        Self::FastRetransmit,
        Self::Timeout,
        Self::AfterTimeout,
        Self::TailLossProbe,
        Self::Unknown,
    ];

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FastRetransmit => "fast_retransmit",
            Self::Timeout => "timeout",
            Self::AfterTimeout => "after_timeout",
            Self::TailLossProbe => "tail_loss_probe",
            Self::Unknown => "unknown",
        }
    }

    /// Its index in lists by cause.
    pub(crate) const fn index(self) -> usize {
        match self {
            Self::FastRetransmit => 0,
            Self::Timeout => 1,
            Self::AfterTimeout => 2,
            Self::TailLossProbe => 3,
            Self::Unknown => 4,
        }
    }
}

/// A retransmitted segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retransmission {
    /// How often its bytes have been retransmitted, now included; the maximum over its bytes.
    pub order: u16,
    /// Its cause.
    pub cause: Cause,
    /// Whether it is the first of its repair.
    pub begins: bool,
    /// Whether it may be a probe or a timeout of a single segment; it counts as a probe until the stream ends.
    pub is_provisional: bool,
}

/// Use of tail loss probes by the senders of a group, which decides for streams without evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProbeUseCounts {
    /// Streams whose sender uses tail loss probes.
    pub probing: u64,
    /// Streams whose sender does not.
    pub waiting: u64,
}

/// Kind of a packet of the data's direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SegmentKind {
    /// Neither payload nor FIN.
    Bare,
    /// New data only.
    New,
    /// Retransmitted data, perhaps filled up with new bytes.
    Retransmission(Retransmission),
    /// New bytes after outstanding ones that are repeated in advance (redundant data bundling).
    Bundle {
        /// Payload bytes that had been sent before.
        redundant_bytes: u32,
    },
    /// Reordered: it passes the tap after later data.
    OutOfOrder,
    /// A copy of a packet, made by the network or the capture.
    Duplicate,
    /// A keep-alive while nothing is outstanding (RFC 9293 §3.8.4).
    KeepAlive,
    /// A probe of a closed window (RFC 9293 §3.8.6.1).
    WindowProbe,
}

impl SegmentKind {
    /// The observation for `flow` beyond that the packet was sent.
    pub fn observation(self, flow: FlowId) -> Option<Observation<'static>> {
        match self {
            Self::WindowProbe => Some(Observation::ZeroWindowProbe { flow }),
            Self::Retransmission(Retransmission { cause: Cause::Timeout, .. }) => {
                Some(Observation::Timeout { flow })
            }
            Self::Retransmission(Retransmission {
                cause: Cause::FastRetransmit,
                begins: true,
                ..
            }) => Some(Observation::FastRetransmit { flow }),
            _ => None,
        }
    }
}

/// Effect of an acknowledgment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AckEvent {
    /// Bytes that it newly acknowledges in order; FIN counts as one.
    pub newly_acknowledged_bytes: u64,
    /// Bytes that it newly acknowledges out of order (SACK).
    pub newly_sacked_bytes: u64,
    /// Round-trip time: from the newest segment that it acknowledges in order and that was sent once, or whose
    /// transmission its timestamp identifies (RFC 6298 §3).
    pub rtt: Option<Span>,
    /// Duplicates in a row, this one included; 0 if it is none (RFC 5681 §2).
    pub duplicates: u32,
    /// Retransmissions that it proves spurious.
    pub spurious: u32,
}
