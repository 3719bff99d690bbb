//! Queue disciplines as a tree: the disciplines that hold others, and the tree's names, rates and filters.

use crate::classless::{
    AVERAGE_PACKET, Cake, Choke, Codel, Dualpi2, Fq, FqCodel, FqPie, PfifoFast, Pie, Sfq,
    USUAL_PROBABILITY, thresholds,
};
use crate::limit::DEFAULT_PACKETS;
use crate::parameters::parameter_table;
use crate::service_curve::ServiceCurve;
use fairwind_units::{BitRate, Ratio, Span};
use serde::{Deserialize, Serialize};

/// A queue discipline with its parameters. Limits count what waits, not the packet that is being serialised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "discipline", rename_all = "snake_case", deny_unknown_fields)]
pub enum Qdisc {
    /// First in, first out, never full.
    Unlimited {},
    /// First in, first out; an arrival is dropped where `limit_packets` wait already.
    Pfifo {
        /// Packets, at least one.
        limit_packets: u32,
    },
    /// First in, first out; an arrival is dropped where it would bring the waiting bytes above `limit_bytes`, so a
    /// small packet may find room where a large one does not.
    Bfifo {
        /// Bytes of IP packets, at least one. A packet larger than this never passes.
        limit_bytes: u64,
    },
    /// Three bands by type of service, each first in, first out.
    PfifoFast(PfifoFast),
    /// Random early detection.
    Red(Red),
    /// Random early detection that singles out flows which do not respond.
    Choke(Choke),
    /// Controlled delay.
    Codel(Codel),
    /// Proportional integral controller, enhanced.
    Pie(Pie),
    /// Two queues, coupled: one for scalable congestion controls, one for all others.
    Dualpi2(Dualpi2),
    /// Stochastic fairness queueing.
    Sfq(Sfq),
    /// Fair queueing with a largest rate of each flow.
    Fq(Fq),
    /// Fair queueing with controlled delay.
    FqCodel(FqCodel),
    /// Fair queueing with PIE.
    FqPie(FqPie),
    /// Common applications kept enhanced: shaper, isolation of flows and hosts, COBALT.
    Cake(Cake),
    /// Deficit round robin over classes.
    Drr(Drr),
    /// Bands, the first one first.
    Prio(Prio),
    /// Token bucket filter.
    Tbf(Tbf),
    /// Hierarchy token bucket.
    Htb(Htb),
    /// Hierarchical fair service curve.
    Hfsc(Hfsc),
}

impl Default for Qdisc {
    fn default() -> Self {
        Self::Unlimited {}
    }
}

impl Qdisc {
    /// What `tc` calls it; `unlimited` is ours.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Unlimited {} => "unlimited",
            Self::Pfifo { .. } => "pfifo",
            Self::Bfifo { .. } => "bfifo",
            Self::PfifoFast(_) => "pfifo_fast",
            Self::Red(_) => "red",
            Self::Choke(_) => "choke",
            Self::Codel(_) => "codel",
            Self::Pie(_) => "pie",
            Self::Dualpi2(_) => "dualpi2",
            Self::Sfq(_) => "sfq",
            Self::Fq(_) => "fq",
            Self::FqCodel(_) => "fq_codel",
            Self::FqPie(_) => "fq_pie",
            Self::Cake(_) => "cake",
            Self::Drr(_) => "drr",
            Self::Prio(_) => "prio",
            Self::Tbf(_) => "tbf",
            Self::Htb(_) => "htb",
            Self::Hfsc(_) => "hfsc",
        }
    }

    /// The rate that nothing exceeds for long behind it, where it is a shaper: of an htb, that of the classes directly
    /// below it, which cannot borrow; of an hfsc, their upper limits.
    pub fn shaped_rate(&self) -> Option<BitRate> {
        match self {
            Self::Tbf(tbf) => Some(tbf.rate),
            Self::Cake(cake) => cake.bandwidth,
            Self::Htb(htb) => {
                let roots = htb.classes.iter().filter(|class| class.parent.is_none());
                let rates = roots.map(|class| class.rate.as_bits_per_second());
                let whole = rates.fold(0, u64::saturating_add);
                (whole > 0).then(|| BitRate::from_bits_per_second(whole))
            }
            Self::Hfsc(hfsc) => hfsc.shaped_rate(),
            _ => None,
        }
    }

    /// Whether it is first in, first out, and drops at the tail only.
    pub fn is_fifo(&self) -> bool {
        matches!(self, Self::Unlimited {} | Self::Pfifo { .. } | Self::Bfifo { .. })
    }

    /// Disciplines directly below.
    pub fn children(&self) -> Vec<&Self> {
        self.named_children().into_iter().map(|(_, child)| child).collect()
    }

    /// Disciplines directly below, each with the key that it stands at: `bands[0]`, `classes[1].child`.
    pub fn named_children(&self) -> Vec<(String, &Self)> {
        match self {
            Self::Red(Red { child: Some(child), .. })
            | Self::Tbf(Tbf { child: Some(child), .. }) => {
                vec![("child".to_owned(), child)]
            }
            Self::Prio(prio) => {
                let bands = prio.bands.iter().enumerate();
                bands.map(|(index, band)| (format!("bands[{index}]"), band)).collect()
            }
            Self::Drr(drr) => of_classes(drr.classes.iter().map(|class| Some(&class.child))),
            Self::Htb(htb) => of_classes(htb.classes.iter().map(|class| class.child.as_ref())),
            Self::Hfsc(hfsc) => of_classes(hfsc.classes.iter().map(|class| class.child.as_ref())),
            _ => Vec::new(),
        }
    }

    /// Groups that filters ask for, each with the key of the filter: `classes[0].filters[1].group`.
    pub fn groups(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        self.gather_groups("", &mut found);
        found
    }

    fn gather_groups(&self, at: &str, found: &mut Vec<(String, String)>) {
        let mut note = |key: String, filter: &Filter| {
            found.extend(filter.group.clone().map(|group| (format!("{key}.group"), group)));
        };
        let mut note_classes = |classes: Vec<&Vec<Filter>>| {
            for (index, filters) in classes.into_iter().enumerate() {
                for (number, filter) in filters.iter().enumerate() {
                    note(format!("{at}classes[{index}].filters[{number}]"), filter);
                }
            }
        };
        match self {
            Self::Prio(prio) => {
                for (index, (filter, _)) in prio.filters.iter().enumerate() {
                    note(format!("{at}filters[{index}].match"), filter);
                }
            }
            Self::Drr(drr) => note_classes(drr.classes.iter().map(|c| &c.filters).collect()),
            Self::Htb(htb) => note_classes(htb.classes.iter().map(|c| &c.filters).collect()),
            Self::Hfsc(hfsc) => note_classes(hfsc.classes.iter().map(|c| &c.filters).collect()),
            _ => {}
        }
        for (key, child) in self.named_children() {
            child.gather_groups(&format!("{at}{key}."), found);
        }
    }
}

/// The queues of classes, as far as they have one, each with its key.
fn of_classes<'q>(queues: impl Iterator<Item = Option<&'q Qdisc>>) -> Vec<(String, &'q Qdisc)> {
    let queues = queues.enumerate();
    queues.filter_map(|(index, queue)| Some((format!("classes[{index}].child"), queue?))).collect()
}

/// Random early detection (Floyd and Jacobson, 1993; parameters as tc-red(8) has them).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "switches of the same names in tc")]
pub struct Red {
    /// Bytes that may wait.
    pub limit_bytes: u64,
    /// Average backlog in bytes from which on packets are dropped or marked.
    pub min_bytes: u64,
    /// Average backlog in bytes at which the probability reaches its largest value.
    pub max_bytes: u64,
    /// Bytes of a typical packet: the unit of the average while the link is idle.
    pub average_packet_bytes: u32,
    /// Packets that may come at once: decides the weight of the average.
    pub burst_packets: u32,
    /// Probability at `max_bytes`.
    pub probability: Ratio,
    /// Rate of the link, for the average's decay while it is idle.
    pub bandwidth: BitRate,
    /// Mark packets that can be marked instead of dropping them.
    pub ecn: bool,
    /// Above `max_bytes` drop even what could be marked.
    pub hard_drop: bool,
    /// Between `max_bytes` and twice that, let the probability rise to one instead of jumping there.
    pub gentle: bool,
    /// Move the probability so that the average stays in the middle (Floyd, Gummadi and Shenker, 2001).
    pub adaptive: bool,
    /// Discipline that holds the packets; a queue of `limit_bytes` unless set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<Box<Qdisc>>,
}

impl Red {
    /// What `tc` makes of a limit alone: thresholds and burst as Floyd recommends (2000), average packets of 1000 B, a
    /// largest probability of 2 %.
    pub fn with_limit(limit_bytes: u64, bandwidth: BitRate) -> Self {
        let mut red = Self {
            limit_bytes,
            min_bytes: 0,
            max_bytes: 0,
            average_packet_bytes: AVERAGE_PACKET,
            burst_packets: 0,
            probability: USUAL_PROBABILITY,
            bandwidth,
            ecn: false,
            hard_drop: false,
            gentle: false,
            adaptive: false,
            child: None,
        };
        red.fill_defaults();
        red
    }

    /// Fills in thresholds and burst where they are zero, as `tc` does.
    pub fn fill_defaults(&mut self) {
        let of_limit = self.limit_bytes / 4;
        (self.min_bytes, self.max_bytes) = thresholds(self.min_bytes, self.max_bytes, of_limit);
        if self.burst_packets == 0 {
            let packet = u64::from(self.average_packet_bytes.max(1));
            let burst = (self.min_bytes.saturating_mul(2)).saturating_add(self.max_bytes);
            self.burst_packets = u32::try_from(burst / (packet * 3)).unwrap_or(u32::MAX);
        }
    }
}

parameter_table!(
    Red [
        [limit Bytes limit_bytes]
        [min Bytes min_bytes]
        [max Bytes max_bytes]
        [avpkt Size average_packet_bytes]
        [burst Count burst_packets]
        [probability Share probability]
        [bandwidth Rate bandwidth]
        [ecn Flag ecn]
        [harddrop Flag hard_drop]
        [gentle Flag gentle]
        [adaptive Flag adaptive]
    ] [] []
);

/// Deficit round robin over classes (Shreedhar and Varghese, 1996; tc-drr(8)). What no class takes is dropped, as
/// the kernel does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drr {
    /// At least one.
    pub classes: Vec<DrrClass>,
}

/// A class of [`Drr`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrrClass {
    /// Bytes that it may send in its turn.
    pub quantum_bytes: u32,
    /// Filters, any of which may match; without filters, packets that no other class takes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<Filter>,
    /// What holds its packets.
    pub child: Qdisc,
}

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
const PRIOMAP: [u8; 16] = [1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1];

impl Default for Prio {
    fn default() -> Self {
        let pfifo = Qdisc::Pfifo { limit_packets: DEFAULT_PACKETS };
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
    /// Discipline that holds the packets; a queue of `limit_bytes` unless set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<Box<Qdisc>>,
}

impl Tbf {
    /// Bytes that may wait so that none waits longer than `latency` for tokens, as `tc` computes them.
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
            direct_packets: DEFAULT_PACKETS,
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
            child: Some(Qdisc::Pfifo { limit_packets: DEFAULT_PACKETS }),
        }
    }

    /// Default burst in bytes at `rate`: the bytes of a nanosecond, and 1600 B.
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
    /// Its name in `tc`, `1:10`.
    pub name: String,
    /// Index of its parent; `None` for one directly below the discipline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<usize>,
    /// Guaranteed rate.
    pub rate: BitRate,
    /// Rate that it may reach by borrowing.
    pub ceil: BitRate,
    /// Bytes that may be sent at once at `ceil` beyond what the rate lets.
    pub burst_bytes: u64,
    /// Bytes that may be sent at once as fast as the link goes.
    pub ceil_burst_bytes: u64,
    /// Classes with a lower number are offered spare rate first, 0 to 7.
    pub priority: u8,
    /// Bytes that it may send in its turn.
    pub quantum_bytes: u32,
    /// Filters, any of which may match; only of a class without children.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<Filter>,
    /// Discipline that holds its packets; `None` for a class with children.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<Qdisc>,
}

/// Hierarchical fair service curve (tc-hfsc(7)): leaves are sure of their real-time curves, and share what is left by
/// their link-sharing curves, up to their upper limits.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hfsc {
    /// The tree, parents before their children.
    pub classes: Vec<HfscClass>,
    /// Index of the class of packets that no filter takes; `None`: they are dropped, as the kernel does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_class: Option<usize>,
}

/// A class of [`Hfsc`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HfscClass {
    /// Its name in `tc`, `1:10`.
    pub name: String,
    /// Index of its parent; `None` for one directly below the discipline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<usize>,
    /// Service that a leaf is sure of, whatever the classes above it have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub real_time: Option<ServiceCurve>,
    /// Its part of what is left, in relation to the other children of its parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_sharing: Option<ServiceCurve>,
    /// Most that it gets by link sharing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper_limit: Option<ServiceCurve>,
    /// Filters, any of which may match; only of a class without children.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<Filter>,
    /// Discipline that holds its packets; `None` for a class with children.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<Qdisc>,
}

/// A filter: a packet matches if it matches all keys that are set.
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
