//! Queue limits: in the unit of their author, resolved for a link.

use crate::tc::suggestion;
use fairwind_units::{BitRate, ByteCount, Ratio, Span};
use std::fmt;
use std::str::FromStr;

/// Packets that may wait where `tc` takes the length of the device's queue (`txqueuelen`).
pub const DEFAULT_PACKETS: u32 = 1000;

/// Bytes of the largest Ethernet frame, which is what `tc` takes for a quantum.
pub const ETHERNET_FRAME: u32 = 1514;

/// Bytes that may wait in a bfifo by default: [`DEFAULT_PACKETS`] of the largest frame.
// Widening; `u64::from` is not yet possible in a constant.
pub const DEFAULT_BYTES: u64 = DEFAULT_PACKETS as u64 * ETHERNET_FRAME as u64;

/// Rate that `tc` assumes for a link by default (tc-red(8)).
pub const DEFAULT_BANDWIDTH: BitRate = BitRate::from_bits_per_second(10_000_000);

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
const RULE: &str = "a queue limit is a number of packets, bytes, a time or a share of \
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

text_value!(QueueLimit, "QueueLimit", RULE, pattern: r"^\s*[0-9_.]+\s*(packets?|%?\s*bdp|GiB|GB|MiB|MB|KiB|kB|KB|B|bytes?|h|min|s|ms|us|µs|ns)\s*$");

/// What a queue's limits are resolved with.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    /// Rate at which the queue is emptied, where it is known.
    pub rate: Option<BitRate>,
    /// Round-trip time of the path, where there is one.
    pub rtt: Option<Span>,
    /// Largest packet.
    pub mtu: ByteCount,
}

/// An error in a description: the key, the rule that it breaks, and a remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The key, as printed in errors.
    pub key: String,
    /// The rule that it breaks.
    pub rule: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// A queue while it is resolved: its scale, its key, and the errors so far.
pub(crate) struct Resolver<'f> {
    scale: Scale,
    key: String,
    faults: &'f mut Vec<Fault>,
}

impl<'f> Resolver<'f> {
    pub(crate) fn new(scale: Scale, key: &str, faults: &'f mut Vec<Fault>) -> Self {
        Self { scale, key: key.to_owned(), faults }
    }

    /// The resolver of the queue at `key` of this one.
    pub(crate) fn below(&mut self, key: &str) -> Resolver<'_> {
        let key = self.key_of(key);
        Resolver { scale: self.scale, key, faults: self.faults }
    }

    /// The same queue where no more than `rate` leaves.
    pub(crate) fn shaped_to(&mut self, rate: BitRate) -> Resolver<'_> {
        let slower = self.scale.rate.map_or(rate, |link| link.min(rate));
        let scale = Scale { rate: Some(slower), ..self.scale };
        Resolver { scale, key: self.key.clone(), faults: self.faults }
    }

    /// The rate at which the queue is emptied, or what `tc` takes for it.
    pub(crate) fn bandwidth(&self) -> BitRate {
        self.scale.rate.unwrap_or(DEFAULT_BANDWIDTH)
    }

    /// `limit` in packets.
    pub(crate) fn packets(&mut self, key: &str, limit: QueueLimit) -> u32 {
        let Scale { rate, rtt, mtu } = self.scale;
        if !self.is_possible(key, limit) {
            return 1;
        }
        if matches!(limit, QueueLimit::Packets(packets) if packets > u64::from(u32::MAX)) {
            self.fault(key, "it must be at most 4294967295 packets".to_owned(), None);
        }
        let packets = limit.packets(rate, rtt, mtu).unwrap_or(1);
        u32::try_from(packets).unwrap_or(u32::MAX)
    }

    /// `limit` in bytes.
    pub(crate) fn bytes(&mut self, key: &str, limit: QueueLimit) -> u64 {
        let Scale { rate, rtt, mtu } = self.scale;
        if !self.is_possible(key, limit) {
            return 1;
        }
        limit.bytes(rate, rtt, mtu).map_or(1, ByteCount::get)
    }

    /// Bytes of the largest packet.
    pub(crate) fn mtu_bytes(&self) -> u64 {
        self.scale.mtu.get()
    }

    fn is_possible(&mut self, key: &str, limit: QueueLimit) -> bool {
        let Scale { rate, rtt, .. } = self.scale;
        let found = self.faults.len();
        if limit.is_zero() {
            self.fault(key, "a queue must hold at least one packet".to_owned(), None);
        }
        let needs_rate = matches!(limit, QueueLimit::Time(_) | QueueLimit::BandwidthDelay(_));
        if needs_rate && rate.is_none() {
            let rule = "a time or a bandwidth-delay product needs a rate, and this link has none"
                .to_owned();
            self.fault(key, rule, Some("give the link a rate, or write it in packets or bytes"));
        } else if matches!(limit, QueueLimit::BandwidthDelay(_)) && rtt.is_none() {
            let rule = "a link has no round-trip time for the bandwidth-delay product";
            let hint = "write it as a time or in packets: \"20 ms\", \"9 packets\"";
            self.fault(key, rule.to_owned(), Some(hint));
        }
        self.faults.len() == found
    }

    /// A number of bytes that a packet may have.
    pub(crate) fn size(&mut self, key: &str, size: ByteCount) -> u32 {
        u32::try_from(size.get()).unwrap_or_else(|_| {
            self.fault(key, "it must be less than 4 GiB".to_owned(), None);
            u32::MAX
        })
    }

    /// Index of the class called `name`.
    pub(crate) fn class(&mut self, key: &str, name: &str, names: &[String]) -> Option<usize> {
        let index = names.iter().position(|known| known == name);
        if index.is_none() {
            let hint = suggestion(name, names.iter().map(String::as_str));
            self.fault(key, "no class has this name".to_owned(), Some(&hint));
        }
        index
    }

    /// Notes an error of `key`.
    pub(crate) fn fault(&mut self, key: &str, rule: String, hint: Option<&str>) {
        let hint = hint.map(str::to_owned);
        self.faults.push(Fault { key: self.key_of(key), rule, hint });
    }

    fn key_of(&self, key: &str) -> String {
        format!("{}.{key}", self.key)
    }
}
