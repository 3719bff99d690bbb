//! How long a queue may grow, in the unit that its author thinks in.

use fairwind_units::{BitRate, ByteCount, Ratio, Span};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// The limit of a queue as written: resolved to packets or bytes when rate and RTT are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueLimit {
    /// A number of packets of one MTU (`"9 packets"`).
    Packets(u64),
    /// A number of bytes (`"64 kB"`).
    Bytes(ByteCount),
    /// What the link sends in this time (`"20 ms"`).
    Time(Span),
    /// A share of the bandwidth-delay product (`"1 bdp"`, `"20 % bdp"`).
    BandwidthDelay(Ratio),
}

/// What a text needs to be a queue limit.
pub(crate) const RULE: &str = "a queue limit is a number of packets, bytes, a time or a share of \
     the bandwidth-delay product: \"9 packets\", \"64 kB\", \"20 ms\", \"1 bdp\", \"20 % bdp\"";

/// Why a text is not a queue limit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueueLimitError {
    /// None of the forms.
    #[error("{RULE}")]
    Form,
    /// The share before `bdp` is not a number or share.
    #[error("{0}")]
    Share(fairwind_units::UnitError),
}

impl QueueLimit {
    /// The limit in bytes for a link of `rate` on a path of `rtt`, where `mtu` is one packet.
    ///
    /// `None` where the limit needs a rate or an RTT that is not known. One bandwidth-delay
    /// product is `rate x RTT / 8` bytes.
    pub fn bytes(
        self,
        rate: Option<BitRate>,
        rtt: Option<Span>,
        mtu: ByteCount,
    ) -> Option<ByteCount> {
        match self {
            Self::Packets(packets) => Some(ByteCount::new(packets.saturating_mul(mtu.get()))),
            Self::Bytes(bytes) => Some(bytes),
            Self::Time(span) => Some(rate?.bytes_in(span)),
            Self::BandwidthDelay(share) => {
                Some(ByteCount::new(share.of(rate?.bytes_in(rtt?).get())))
            }
        }
    }

    /// The limit in packets of `mtu` bytes, rounded up and never below one.
    ///
    /// `None` where the limit needs a rate or an RTT that is not known. Rounding up is what the
    /// published thin-stream experiments did: 5 Mbit/s x 150 ms = 93 750 bytes = 63 packets.
    pub fn packets(self, rate: Option<BitRate>, rtt: Option<Span>, mtu: ByteCount) -> Option<u64> {
        let packets = match self {
            Self::Packets(packets) => packets,
            _ => self.bytes(rate, rtt, mtu)?.get().div_ceil(mtu.get().max(1)),
        };
        Some(packets.max(1))
    }

    /// Whether nothing could ever wait in such a queue.
    pub fn is_zero(self) -> bool {
        match self {
            Self::Packets(packets) => packets == 0,
            Self::Bytes(bytes) => bytes == ByteCount::ZERO,
            Self::Time(span) => span.is_zero(),
            Self::BandwidthDelay(share) => share == Ratio::ZERO,
        }
    }
}

impl FromStr for QueueLimit {
    type Err = QueueLimitError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let trimmed = text.trim();
        let lower = trimmed.to_ascii_lowercase();
        if let Some(share) = lower.strip_suffix("bdp") {
            let share = Ratio::of_multiple(share.trim());
            return share.map(Self::BandwidthDelay).map_err(QueueLimitError::Share);
        }
        if let Some(count) = lower.strip_suffix("packets").or_else(|| lower.strip_suffix("packet"))
        {
            return count.trim().parse().map(Self::Packets).map_err(|_| QueueLimitError::Form);
        }
        let bytes = trimmed.parse().map(Self::Bytes);
        bytes.or_else(|_| trimmed.parse().map(Self::Time)).map_err(|_| QueueLimitError::Form)
    }
}

impl fmt::Display for QueueLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(1) => write!(f, "1 packet"),
            Self::Packets(packets) => write!(f, "{packets} packets"),
            Self::Bytes(bytes) => write!(f, "{bytes}"),
            Self::Time(span) => write!(f, "{span}"),
            Self::BandwidthDelay(share) => write!(f, "{share} bdp"),
        }
    }
}

impl serde::Serialize for QueueLimit {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for QueueLimit {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <Cow<'de, str> as serde::Deserialize>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl schemars::JsonSchema for QueueLimit {
    fn schema_name() -> Cow<'static, str> {
        "QueueLimit".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "format": "QueueLimit",
            "pattern": r"^\s*[0-9_.]+\s*(packets?|%?\s*bdp|GiB|GB|MiB|MB|KiB|kB|KB|B|bytes?|h|min|s|ms|us|µs|ns)\s*$",
            "description": RULE,
        })
    }
}
