//! Shapers, classful schedulers, and the filters that choose a class.

use crate::Qdisc;
use fairwind_units::{BitRate, Span};
use serde::{Deserialize, Serialize};

/// Bands that are served in order: a band is served only while all before it are empty (tc-prio(8)).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prio {
    /// What holds the packets of each band, 2 to 16.
    pub bands: Vec<Qdisc>,
    /// The band of each of the 16 priorities that the kernel makes of a packet's type of service.
    pub priomap: [u8; 16],
    /// Packets that a filter takes go to its band, whatever their priority.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<(Filter, u8)>,
}

/// Priorities to bands unless said otherwise.
pub(crate) const PRIOMAP: [u8; 16] = [1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1];

impl Default for Prio {
    fn default() -> Self {
        let pfifo = Qdisc::Pfifo { limit_packets: crate::DEFAULT_PACKETS };
        Self { bands: vec![pfifo; 3], priomap: PRIOMAP, filters: Vec::new() }
    }
}

impl Prio {
    /// Priorities to `bands` bands unless said otherwise: where there are fewer than three, the last one takes what
    /// would go behind it.
    pub fn default_priomap(bands: usize) -> [u8; 16] {
        let last = u8::try_from(bands.saturating_sub(1)).unwrap_or(u8::MAX);
        PRIOMAP.map(|band| band.min(last))
    }
}

/// Token bucket filter (tc-tbf(8)).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tbf {
    /// Rate at which tokens come.
    pub rate: BitRate,
    /// Bytes that the bucket holds.
    pub burst_bytes: u64,
    /// Bytes that may wait.
    pub limit_bytes: u64,
    /// Rate that no burst exceeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_rate: Option<BitRate>,
    /// Bytes of the second bucket, for `peak_rate`: one packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu_bytes: Option<u64>,
    /// Time between two looks at the clock: tokens come in portions of this, and packets leave only then, as with a
    /// kernel of that timer frequency; zero for exact timers.
    #[serde(default)]
    pub granularity: Span,
    /// What holds the packets; a queue of `limit_bytes` unless set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<Box<Qdisc>>,
}

impl Tbf {
    /// Bytes that may wait so that none waits longer than `latency` for tokens, as `tc` reckons them.
    pub fn limit_for_latency(&self, latency: Span) -> u64 {
        let limit = |rate: BitRate, burst: u64| rate.bytes_in(latency).get().saturating_add(burst);
        let of_peak = self.peak_rate.zip(self.mtu_bytes).map(|(rate, burst)| limit(rate, burst));
        limit(self.rate, self.burst_bytes).min(of_peak.unwrap_or(u64::MAX))
    }
}

/// Hierarchy token bucket (tc-htb(8)): classes have a rate of their own and borrow up to their ceiling.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Htb {
    /// The tree, parents before their children.
    pub classes: Vec<HtbClass>,
    /// Index of the class of packets that no filter takes; `None`: they pass unshaped, as the kernel does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_class: Option<usize>,
    /// A class without a quantum may send its rate in bytes per second divided by this in its turn.
    pub rate_to_quantum: u32,
    /// Packets that may wait in the queue of those that pass unshaped.
    pub direct_packets: u32,
    /// As for [`Tbf::granularity`].
    #[serde(default)]
    pub granularity: Span,
}

impl Default for Htb {
    /// Without any class; as `tc` has it otherwise.
    fn default() -> Self {
        Self {
            classes: Vec::new(),
            default_class: None,
            rate_to_quantum: 10,
            direct_packets: crate::DEFAULT_PACKETS,
            granularity: Span::ZERO,
        }
    }
}

/// Bytes that `tc` adds to what a rate sends between two looks at the clock, which is next to nothing.
const HTB_BURST_BYTES: u64 = 1600;

/// Bounds of a quantum that the kernel derives from a rate.
const DERIVED_QUANTUM: std::ops::RangeInclusive<u64> = 1000..=200_000;

impl HtbClass {
    /// A leaf with what `tc` takes besides the rate: the same ceiling, bursts of 1600 B, a quantum of the rate in bytes
    /// per second divided by `rate_to_quantum`, and a pfifo of 1000 packets.
    pub fn new(name: impl Into<String>, rate: BitRate, rate_to_quantum: u32) -> Self {
        Self {
            name: name.into(),
            parent: None,
            rate,
            ceil: rate,
            burst_bytes: Self::default_burst(rate),
            ceil_burst_bytes: Self::default_burst(rate),
            priority: 0,
            quantum_bytes: Self::default_quantum(rate, rate_to_quantum),
            filters: Vec::new(),
            child: Some(Qdisc::Pfifo { limit_packets: crate::DEFAULT_PACKETS }),
        }
    }

    /// Burst in bytes at `rate` where none is given: what it sends in a nanosecond, and 1600 B.
    pub fn default_burst(rate: BitRate) -> u64 {
        rate.as_bits_per_second() / 8 / 1_000_000_000 + HTB_BURST_BYTES
    }

    /// Quantum in bytes at `rate` where none is given, 1000 to 200 000.
    pub fn default_quantum(rate: BitRate, rate_to_quantum: u32) -> u32 {
        let quantum = rate.as_bits_per_second() / 8 / u64::from(rate_to_quantum.max(1));
        let bounded = quantum.clamp(*DERIVED_QUANTUM.start(), *DERIVED_QUANTUM.end());
        u32::try_from(bounded).unwrap_or(u32::MAX)
    }
}

/// A class of [`Htb`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HtbClass {
    /// What it is called in `tc`, `1:10`.
    pub name: String,
    /// Index of its parent; `None` for one directly below the discipline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<usize>,
    /// Rate that it is sure of.
    pub rate: BitRate,
    /// Rate that it may reach by borrowing.
    pub ceil: BitRate,
    /// Bytes that may be sent at once at `ceil` beyond what the rate lets.
    pub burst_bytes: u64,
    /// Bytes that may be sent at once as fast as the link goes.
    pub ceil_burst_bytes: u64,
    /// Classes with a lower number are first offered what is left over, 0 to 7.
    pub priority: u8,
    /// Bytes that it may send in its turn.
    pub quantum_bytes: u32,
    /// What it takes: any of these; only of a class without children.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<Filter>,
    /// What holds its packets; `None` for a class with children.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<Qdisc>,
}

/// What a packet must be for a filter to send it to a class: everything that is set.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Filter {
    /// Of a flow of this group, in either direction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// From this port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_port: Option<u16>,
    /// To this port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination_port: Option<u16>,
    /// With this code point (RFC 2474), 0 to 63.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 63))]
    pub dscp: Option<u8>,
    /// Of this protocol, by its number: 6 is TCP, 17 is UDP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<u8>,
}
