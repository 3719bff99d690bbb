//! What a stream says of a packet.

use fairwind_measure::{FlowId, Observation};
use fairwind_units::Span;

/// Where a tap is, as seen from a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum TapSide {
    /// At or near the host that sends the data, or unknown: causes are told from what came back.
    #[default]
    Sender,
    /// Near the host that receives the data: what reacts to an acknowledgment comes a round trip later,
    /// and what was lost on the way has never been seen.
    Receiver,
}

/// Why something was sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cause {
    /// Acknowledgments gave evidence of a loss (RFC 5681 §3.2, RFC 6675 §5, RFC 8985 §6).
    FastRetransmit,
    /// The retransmission timer ran out (RFC 6298 §5.4).
    Timeout,
    /// What follows a time-out without waiting for another one (RFC 5681 §3.1).
    AfterTimeout,
    /// A tail loss probe (RFC 8985 §7).
    TailLossProbe,
    /// Nothing that the tap saw explains it.
    Unknown,
}

impl Cause {
    /// Number of causes.
    pub const COUNT: usize = 5;

    /// All of them, in the order of tables.
    pub const ALL: [Self; Self::COUNT] = [
        Self::FastRetransmit,
        Self::Timeout,
        Self::AfterTimeout,
        Self::TailLossProbe,
        Self::Unknown,
    ];

    /// The cause as it stands in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FastRetransmit => "fast_retransmit",
            Self::Timeout => "timeout",
            Self::AfterTimeout => "after_timeout",
            Self::TailLossProbe => "tail_loss_probe",
            Self::Unknown => "unknown",
        }
    }

    /// Its place in lists by cause.
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

/// A segment that was sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retransmission {
    /// How often its bytes have been sent again, this time included; that of the byte sent most often.
    pub order: u16,
    /// Why.
    pub cause: Cause,
    /// It is the first of its repair: of a fast recovery, or of what follows one time-out.
    pub begins: bool,
    /// It was a probe or a time-out of a single segment, and nothing has shown yet which: it is taken for
    /// a probe until the stream is finished.
    pub is_provisional: bool,
}

/// What the senders of one kind (a group, or a host) have shown of their habits, which decides where a
/// stream alone does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProbeUseCounts {
    /// Streams whose sender has shown that it uses tail loss probes.
    pub probing: u64,
    /// Streams whose sender has shown that it does not.
    pub waiting: u64,
}

/// What a packet of the data's direction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SegmentKind {
    /// It has neither payload nor FIN.
    Bare,
    /// Everything in it is sent for the first time.
    New,
    /// It, or what is left of it, was sent before.
    Retransmission(Retransmission),
    /// New bytes, and before them some that are outstanding, sent along in case they were lost
    /// (redundant data bundling).
    Bundle {
        /// Payload bytes that had been sent before.
        redundant_bytes: u32,
    },
    /// It passes the tap later than what was sent after it.
    OutOfOrder,
    /// The same packet once more, copied by the network or by the capture.
    Duplicate,
    /// Nothing is outstanding, and it asks whether the other side is still there (RFC 9293 §3.8.4).
    KeepAlive,
    /// It asks whether a closed window has opened (RFC 9293 §3.8.6.1).
    WindowProbe,
}

impl SegmentKind {
    /// What it means to the measures of `flow` beyond that it was sent.
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

/// What an acknowledgment told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AckEvent {
    /// Bytes that it is the first to acknowledge, in order; FIN counts as one.
    pub newly_acknowledged_bytes: u64,
    /// Bytes that it is the first to acknowledge out of order (SACK).
    pub newly_sacked_bytes: u64,
    /// Round-trip time, where it tells one: from the sending of the newest segment that it acknowledges
    /// in order and that was sent once, or whose transmission its timestamp names (RFC 6298 §3).
    pub rtt: Option<Span>,
    /// It is a duplicate (RFC 5681 §2), and so many came in a row, this one included; else 0.
    pub duplicates: u32,
    /// Retransmissions that it proves to have been needless.
    pub spurious: u32,
}
