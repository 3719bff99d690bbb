//! Queues as a scenario writes them: a discipline by its name, or with the parameters that `tc` gives it; and how they
//! become a [`Qdisc`].
//!
//! The doc comments here are the descriptions in the JSON Schema. Keys are called as in `tc`; what may wait is a
//! [`QueueLimit`], whatever unit the discipline counts in.

use crate::classless::{
    CakeInput, ChokeInput, CodelInput, Dualpi2Input, FqCodelInput, FqInput, FqPieInput,
    PfifoFastInput, PieInput, SfqInput,
};
use crate::limit::{
    DEFAULT_BYTES, DEFAULT_PACKETS, ETHERNET_FRAME, Fault, QueueLimit, Resolver, Scale,
};
use crate::parameters::set;
use crate::qdisc::{Drr, DrrClass, Filter, Htb, HtbClass, Prio, Qdisc, Red, Tbf};
use crate::service_curve::ServiceCurveInput;
use crate::text::QueueText;
use fairwind_units::{BitRate, ByteCount, Ratio, Span};
use serde::{Deserialize, Serialize};

/// A queue: which packets wait, which leave next, and which are dropped or marked. Either the name of a discipline, with
/// default parameters, or a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum QueueInput {
    /// The name of a discipline, or the arguments of `tc`.
    Text(QueueText),
    /// A discipline and its parameters.
    Table(Box<QueueTable>),
}

/// A discipline and its parameters; default: `pfifo`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "discipline", rename_all = "snake_case", deny_unknown_fields)]
#[schemars(transform = first_is_usual)]
pub enum QueueTable {
    /// First in, first out; an arrival is dropped when `limit` packets wait.
    Pfifo {
        /// Limit of the queue, in packets; default: 1000 packets.
        limit: Option<QueueLimit>,
    },
    /// First in, first out; an arrival is dropped when it would not fit in `limit` bytes.
    Bfifo {
        /// Limit of the queue, in bytes; default: 1 514 000 B.
        limit: Option<QueueLimit>,
    },
    /// Three bands by type of service with strict priority, each first in, first out: the kernel's usual discipline
    /// without fair queueing.
    PfifoFast(PfifoFastInput),
    /// Random early detection (Floyd and Jacobson, 1993).
    Red(RedInput),
    /// Random early detection that singles out flows which do not respond (Pan, Prabhakar and Psounis, 2000).
    Choke(ChokeInput),
    /// Controlled delay (RFC 8289).
    Codel(CodelInput),
    /// Proportional integral controller, enhanced (RFC 8033).
    Pie(PieInput),
    /// Two coupled queues, one for scalable congestion controls, one for all others (RFC 9332).
    Dualpi2(Dualpi2Input),
    /// Stochastic fairness queueing (McKenney, 1990).
    Sfq(SfqInput),
    /// Fair queueing with a largest rate of each flow: the kernel's `fq`, as it works on a router.
    Fq(FqInput),
    /// Fair queueing with controlled delay (RFC 8290).
    FqCodel(FqCodelInput),
    /// Fair queueing with PIE for every flow.
    FqPie(FqPieInput),
    /// Common applications kept enhanced: shaper, isolation of flows and hosts, COBALT.
    Cake(CakeInput),
    /// Deficit round robin over classes (Shreedhar and Varghese, 1996). Packets that no class takes are dropped, as in
    /// the kernel.
    Drr(DrrInput),
    /// Bands with strict priority: a band is served only while all before it are empty.
    Prio(PrioInput),
    /// Token bucket filter: shapes to a rate, with bursts.
    Tbf(TbfInput),
    /// Hierarchy token bucket: each class has a rate and borrows up to its ceiling. With `rate` it has one
    /// class for all packets, with `classes` several.
    Htb(HtbInput),
    /// Hierarchical fair service curve (Stoica, Zhang and Ng, 1997): classes are sure of their real-time curves, and
    /// share what is left. Packets that no class takes are dropped, as in the kernel.
    Hfsc(HfscInput),
}

/// Lets the tag of the first alternative be left out: changes the schema of a type with a tag.
pub fn first_is_usual(schema: &mut schemars::Schema) {
    let first = schema.pointer_mut("/oneOf/0");
    let Some(first) = first.and_then(|first| first.as_object_mut()) else { return };
    let properties = first.get("properties").and_then(|keys| keys.as_object()).cloned();
    if let Some(required) = first.get_mut("required").and_then(|keys| keys.as_array_mut()) {
        required.retain(|key| {
            let property = key.as_str().and_then(|key| properties.as_ref()?.get(key));
            !property.is_some_and(|property| property["const"].is_string())
        });
    }
}

impl QueueInput {
    /// A first-in-first-out queue of `limit`.
    pub fn pfifo(limit: QueueLimit) -> Self {
        Self::Table(Box::new(QueueTable::Pfifo { limit: Some(limit) }))
    }

    /// Groups that filters ask for, each with the key of the filter below this queue; for a text without one.
    pub fn groups(&self) -> Vec<(String, String)> {
        let scale = Scale { rate: None, rtt: None, mtu: ByteCount::new(1500) };
        let (queue, _) = self.resolve(scale, "");
        let mut found = queue.groups();
        if matches!(self, Self::Text(_)) {
            for (key, _) in &mut found {
                key.clear();
            }
        }
        found
    }

    /// Whether it shapes to a rate.
    pub fn shapes(&self) -> bool {
        self.shaped_rate().is_some()
    }

    /// The rate that nothing exceeds for long behind it, where it is a shaper.
    pub fn shaped_rate(&self) -> Option<BitRate> {
        // Rates do not depend on what limits are resolved with.
        let scale = Scale { rate: None, rtt: None, mtu: ByteCount::new(1500) };
        self.resolve(scale, "").0.shaped_rate()
    }

    /// The discipline that this, standing at `key`, describes, and the errors in it. A discipline with errors is
    /// meaningless.
    pub fn resolve(&self, scale: Scale, key: &str) -> (Qdisc, Vec<Fault>) {
        let mut faults = Vec::new();
        let queue = Resolver::new(scale, key, &mut faults).queue(self);
        (queue, faults)
    }
}

impl Resolver<'_> {
    fn queue(&mut self, input: &QueueInput) -> Qdisc {
        match input {
            QueueInput::Text(text) => text.queue(self.bandwidth()).unwrap_or_default(),
            QueueInput::Table(table) => self.table(table),
        }
    }

    fn table(&mut self, table: &QueueTable) -> Qdisc {
        match table {
            QueueTable::Pfifo { limit } => {
                let packets = limit.map(|limit| self.packets("limit", limit));
                Qdisc::Pfifo { limit_packets: packets.unwrap_or(DEFAULT_PACKETS) }
            }
            QueueTable::Bfifo { limit } => {
                // Less than one packet would let nothing wait at all.
                let least = self.mtu_bytes();
                let bytes = limit.map(|limit| self.bytes("limit", limit).max(least));
                Qdisc::Bfifo { limit_bytes: bytes.unwrap_or(DEFAULT_BYTES) }
            }
            QueueTable::Red(input) => input.resolve(self),
            QueueTable::Choke(input) => Qdisc::Choke(input.resolve(self)),
            QueueTable::Codel(input) => Qdisc::Codel(input.resolve(self)),
            QueueTable::Pie(input) => Qdisc::Pie(input.resolve(self)),
            QueueTable::Dualpi2(input) => Qdisc::Dualpi2(input.resolve(self)),
            QueueTable::PfifoFast(input) => Qdisc::PfifoFast(input.resolve(self)),
            QueueTable::Fq(input) => Qdisc::Fq(input.resolve(self)),
            QueueTable::Sfq(input) => Qdisc::Sfq(input.resolve(self)),
            QueueTable::FqCodel(input) => Qdisc::FqCodel(input.resolve(self)),
            QueueTable::FqPie(input) => Qdisc::FqPie(input.resolve(self)),
            QueueTable::Cake(input) => Qdisc::Cake(input.resolve(self)),
            QueueTable::Drr(input) => input.resolve(self),
            QueueTable::Prio(input) => input.resolve(self),
            QueueTable::Tbf(input) => input.resolve(self),
            QueueTable::Htb(input) => input.resolve(self),
            QueueTable::Hfsc(input) => input.resolve(self),
        }
    }

    /// The queue below, at `key` of this one.
    fn child(&mut self, key: &str, input: &QueueInput) -> Qdisc {
        self.below(key).queue(input)
    }

    /// The queue below, or what `tc` puts there.
    pub(crate) fn child_or_pfifo(&mut self, key: &str, input: Option<&QueueInput>) -> Qdisc {
        let usual = Qdisc::Pfifo { limit_packets: DEFAULT_PACKETS };
        input.map_or(usual, |input| self.child(key, input))
    }
}

/// Parameters of `red` (tc-red(8)).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "switches of the same names in tc")]
pub struct RedInput {
    /// Limit of the queue, in bytes.
    pub limit: QueueLimit,
    /// Average backlog above which packets are dropped or marked; default: a third of `max`.
    pub min: Option<QueueLimit>,
    /// Average backlog at which the probability is largest; default: thrice `min`, or else a quarter of the limit.
    pub max: Option<QueueLimit>,
    /// Size of a typical packet; default: 1000 B.
    pub avpkt: Option<ByteCount>,
    /// Packets that may arrive at once, which determines how slowly the average follows; default: `(2 min + max) / (3
    /// avpkt)`.
    pub burst: Option<u32>,
    /// Probability at `max`; default: 2 %.
    pub probability: Option<Ratio>,
    /// Rate for the average's decay while nothing is sent; default: the link's.
    pub bandwidth: Option<BitRate>,
    /// Whether packets that can be marked are marked instead of dropped; default: false.
    #[serde(default)]
    pub ecn: bool,
    /// Whether packets above `max` are dropped even where they could be marked; default: false.
    #[serde(default)]
    pub harddrop: bool,
    /// Whether the probability rises to one between `max` and twice that, instead of at once, which the kernel does
    /// not know; default: false.
    #[serde(default)]
    pub gentle: bool,
    /// Whether the probability is adapted so that the average stays in the middle; default: false.
    #[serde(default)]
    pub adaptive: bool,
    /// Discipline that holds the packets; default: a bfifo of `limit`.
    pub child: Option<QueueInput>,
}

impl RedInput {
    fn resolve(&self, resolver: &mut Resolver<'_>) -> Qdisc {
        let mut red = Red {
            limit_bytes: resolver.bytes("limit", self.limit),
            min_bytes: self.min.map_or(0, |min| resolver.bytes("min", min)),
            max_bytes: self.max.map_or(0, |max| resolver.bytes("max", max)),
            burst_packets: self.burst.unwrap_or_default(),
            ecn: self.ecn,
            hard_drop: self.harddrop,
            gentle: self.gentle,
            adaptive: self.adaptive,
            ..Red::with_limit(0, self.bandwidth.unwrap_or(resolver.bandwidth()))
        };
        set(&mut red.average_packet_bytes, self.avpkt.map(|size| resolver.size("avpkt", size)));
        set(&mut red.probability, self.probability);
        red.fill_defaults();
        red.child = self.child.as_ref().map(|child| Box::new(resolver.child("child", child)));
        Qdisc::Red(red)
    }
}

/// Parameters of `drr` (tc-drr(8)).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DrrInput {
    /// The classes; a packet goes to the first one with a matching filter.
    pub classes: Vec<DrrClassInput>,
}

/// A class of `drr`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DrrClassInput {
    /// Bytes that it may send in its turn; default: 1514 B.
    pub quantum: Option<ByteCount>,
    /// Filters: the class takes packets that match any of them; without filters, packets that no other class takes.
    #[serde(default)]
    pub filters: Vec<Filter>,
    /// Discipline that holds its packets; default: a pfifo of 1000 packets.
    pub child: Option<QueueInput>,
}

impl DrrInput {
    fn resolve(&self, resolver: &mut Resolver<'_>) -> Qdisc {
        let mut classes = Vec::new();
        for (index, class) in self.classes.iter().enumerate() {
            let key = format!("classes[{index}]");
            let quantum = class.quantum.map(|size| resolver.size(&format!("{key}.quantum"), size));
            classes.push(DrrClass {
                quantum_bytes: quantum.unwrap_or(ETHERNET_FRAME),
                filters: class.filters.clone(),
                child: resolver.child_or_pfifo(&format!("{key}.child"), class.child.as_ref()),
            });
        }
        Qdisc::Drr(Drr { classes })
    }
}

/// Parameters of `prio` (tc-prio(8)).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrioInput {
    /// Disciplines that hold the packets of the 2 to 16 bands, the most urgent first; default: three pfifos of 1000
    /// packets.
    #[serde(default)]
    pub bands: Option<Vec<QueueInput>>,
    /// The band, from 0, of each of the 16 priorities that the kernel makes of a packet's type of service;
    /// default: `[1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1]`, with 1 for 2 where there are two bands.
    #[schemars(inner(range(max = 15)))]
    pub priomap: Option<Vec<u8>>,
    /// Filters that send packets to a band whatever their priority; the first match decides.
    #[serde(default)]
    pub filters: Vec<PrioFilterInput>,
}

/// A filter to a band of `prio`: packets that match all keys that are set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrioFilterInput {
    /// The band, from 0.
    #[schemars(range(max = 15))]
    pub band: u8,
    /// Packets that it matches.
    #[serde(rename = "match")]
    pub matches: Filter,
}

impl PrioInput {
    fn resolve(&self, resolver: &mut Resolver<'_>) -> Qdisc {
        let mut prio = Prio::default();
        if let Some(bands) = &self.bands {
            let band = |(index, band)| resolver.child(&format!("bands[{index}]"), band);
            prio.bands = bands.iter().enumerate().map(band).collect();
            prio.priomap = Prio::default_priomap(prio.bands.len());
        }
        if let Some(priomap) = &self.priomap {
            if let Ok(priomap) = priomap.as_slice().try_into() {
                prio.priomap = priomap;
            } else {
                let rule = format!("there must be 16 priorities, not {}", priomap.len());
                resolver.fault("priomap", rule, None);
            }
        }
        prio.filters = self.filters.iter().map(|f| (f.matches.clone(), f.band)).collect();
        Qdisc::Prio(prio)
    }
}

/// Parameters of `tbf` (tc-tbf(8)).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TbfInput {
    /// Rate that it shapes to.
    pub rate: BitRate,
    /// Bytes that may leave at once after a pause.
    pub burst: ByteCount,
    /// Limit of the queue, in bytes.
    pub limit: Option<QueueLimit>,
    /// Instead of the limit: longest waiting time, from which `tc` computes the limit.
    pub latency: Option<Span>,
    /// Peak rate, also for bursts; default: none.
    pub peakrate: Option<BitRate>,
    /// Bytes that may leave at once at `peakrate`; default: 1500 B.
    pub mtu: Option<ByteCount>,
    /// Resolution of the clock, as with a kernel of that timer frequency; default: exact timers.
    pub granularity: Option<Span>,
    /// Discipline that holds the packets; default: a bfifo of `limit`.
    pub child: Option<QueueInput>,
}

impl TbfInput {
    fn resolve(&self, resolver: &mut Resolver<'_>) -> Qdisc {
        let mut resolver = resolver.shaped_to(self.rate);
        let mut tbf = Tbf {
            rate: self.rate,
            burst_bytes: self.burst.get(),
            limit_bytes: 0,
            peak_rate: self.peakrate,
            mtu_bytes: self.mtu.map(ByteCount::get),
            granularity: self.granularity.unwrap_or_default(),
            child: None,
        };
        tbf.limit_bytes = match (self.limit, self.latency) {
            (Some(limit), None) => resolver.bytes("limit", limit),
            (None, Some(latency)) => tbf.limit_for_latency(latency),
            (Some(_), Some(_)) => {
                let rule = "limit is set already".to_owned();
                resolver.fault("latency", rule, Some("set either limit or latency"));
                1
            }
            // The child has its own limit.
            (None, None) if self.child.is_some() => tbf.burst_bytes.max(1),
            (None, None) => {
                let rule = "missing; it is required".to_owned();
                resolver.fault("limit", rule, Some("set limit or latency"));
                1
            }
        };
        tbf.child = self.child.as_ref().map(|child| Box::new(resolver.child("child", child)));
        Qdisc::Tbf(tbf)
    }
}

/// Parameters of `htb` (tc-htb(8)).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HtbInput {
    /// The tree, parents before their children.
    pub classes: Option<Vec<HtbClassInput>>,
    /// Name of the class of packets that no filter takes; default: they pass unshaped.
    pub default: Option<String>,
    /// Divisor: a class without a quantum may send its rate in bytes per second divided by this in its turn; default:
    /// 10.
    #[schemars(range(min = 1))]
    pub r2q: Option<u32>,
    /// Largest number of waiting packets that pass unshaped; default: 1000.
    pub direct_qlen: Option<u32>,
    /// Resolution of the clock, as with a kernel of that timer frequency; default: exact timers.
    pub granularity: Option<Span>,
    /// Instead of classes: rate that all packets are shaped to.
    pub rate: Option<BitRate>,
    /// With `rate`: bytes that may leave at once at `ceil` after a pause; default: 1600 B.
    pub burst: Option<ByteCount>,
    /// With `rate`: bytes that may leave at once as fast as the link goes; default: 1600 B.
    pub cburst: Option<ByteCount>,
    /// With `rate`: discipline that holds the packets; default: a pfifo of 1000 packets.
    pub child: Option<QueueInput>,
}

/// A class of `htb`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HtbClassInput {
    /// Name, as `1:10` in `tc`; default: `1:` and its number from 1 in the list.
    pub name: Option<String>,
    /// Name of the class that it borrows from; default: directly below the discipline.
    pub parent: Option<String>,
    /// Guaranteed rate.
    pub rate: BitRate,
    /// Largest rate, with borrowing; default: `rate`.
    pub ceil: Option<BitRate>,
    /// Bytes that may be sent at once at `ceil` above the rate; default: 1600 B.
    pub burst: Option<ByteCount>,
    /// Bytes that may be sent at once as fast as the link goes; default: 1600 B.
    pub cburst: Option<ByteCount>,
    /// Priority: classes with a lower number are offered spare rate first; default: 0.
    #[schemars(range(max = 7))]
    pub prio: Option<u8>,
    /// Bytes that it may send in its turn; default: from its rate.
    pub quantum: Option<ByteCount>,
    /// Filters: the class takes packets that match any of them.
    #[serde(default)]
    pub filters: Vec<Filter>,
    /// Discipline that holds its packets, if it has no classes below; default: a pfifo of 1000 packets.
    pub child: Option<QueueInput>,
}

impl HtbInput {
    fn resolve(&self, resolver: &mut Resolver<'_>) -> Qdisc {
        let mut htb = Htb::default();
        set(&mut htb.rate_to_quantum, self.r2q);
        set(&mut htb.direct_packets, self.direct_qlen);
        set(&mut htb.granularity, self.granularity);
        match (self.rate, &self.classes) {
            (Some(rate), None) => {
                htb.classes = vec![self.only_class(rate, htb.rate_to_quantum, resolver)];
                htb.default_class = Some(0);
                if self.default.is_some() {
                    let rule = "with rate there is one class, and it takes everything".to_owned();
                    resolver.fault("default", rule, None);
                }
            }
            (None, Some(classes)) => self.resolve_classes(classes, &mut htb, resolver),
            (rate, _) => {
                let hint = "write rate for one class that takes everything, or else classes";
                let both = rate.map(|_| "classes is set already");
                let rule = both.unwrap_or("missing; it is required").to_owned();
                resolver.fault("rate", rule, Some(hint));
            }
        }
        Qdisc::Htb(htb)
    }

    fn only_class(&self, rate: BitRate, r2q: u32, resolver: &mut Resolver<'_>) -> HtbClass {
        let mut class = HtbClass::new("1:1", rate, r2q);
        set(&mut class.burst_bytes, self.burst.map(ByteCount::get));
        set(&mut class.ceil_burst_bytes, self.cburst.map(ByteCount::get));
        let mut inside = resolver.shaped_to(rate);
        class.child = Some(inside.child_or_pfifo("child", self.child.as_ref()));
        class
    }

    fn resolve_classes(
        &self,
        classes: &[HtbClassInput],
        htb: &mut Htb,
        resolver: &mut Resolver<'_>,
    ) {
        let needless = [
            ("burst", self.burst.is_some()),
            ("cburst", self.cburst.is_some()),
            ("child", self.child.is_some()),
        ];
        for (key, _) in needless.iter().filter(|(_, is_said)| *is_said) {
            resolver.fault(key, "with classes, it belongs to a class".to_owned(), None);
        }
        let names: Vec<String> = classes.iter().enumerate().map(HtbClassInput::name).collect();
        for (index, class) in classes.iter().enumerate() {
            let has_children = classes.iter().any(|c| c.parent.as_ref() == Some(&names[index]));
            let whole = class.resolve(index, &names, has_children, htb.rate_to_quantum, resolver);
            htb.classes.push(whole);
        }
        if let Some(name) = &self.default {
            htb.default_class = resolver.class("default", name, &names);
        }
    }
}

impl HtbClassInput {
    fn name((index, class): (usize, &Self)) -> String {
        class.name.clone().unwrap_or_else(|| format!("1:{:x}", index + 1))
    }

    fn resolve(
        &self,
        index: usize,
        names: &[String],
        has_children: bool,
        r2q: u32,
        resolver: &mut Resolver<'_>,
    ) -> HtbClass {
        let key = |name: &str| format!("classes[{index}].{name}");
        let ceil = self.ceil.unwrap_or(self.rate);
        let parent = self.parent.as_ref();
        let mut class = HtbClass {
            parent: parent.and_then(|parent| resolver.class(&key("parent"), parent, names)),
            ceil,
            ceil_burst_bytes: HtbClass::default_burst(ceil),
            priority: self.prio.unwrap_or_default(),
            filters: self.filters.clone(),
            child: None,
            ..HtbClass::new(names[index].clone(), self.rate, r2q)
        };
        set(&mut class.burst_bytes, self.burst.map(ByteCount::get));
        set(&mut class.ceil_burst_bytes, self.cburst.map(ByteCount::get));
        let quantum = self.quantum.map(|size| resolver.size(&key("quantum"), size));
        set(&mut class.quantum_bytes, quantum);
        if !has_children || self.child.is_some() {
            let mut inside = resolver.shaped_to(ceil);
            class.child = Some(inside.child_or_pfifo(&key("child"), self.child.as_ref()));
        }
        class
    }
}

/// Parameters of `hfsc` (tc-hfsc(7)).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HfscInput {
    /// The tree, parents before their children.
    pub classes: Vec<HfscClassInput>,
    /// Name of the class of packets that no filter takes; default: they are dropped.
    pub default: Option<String>,
}

/// A class of `hfsc`. It has `rt`, `ls` or both; `sc` sets both at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HfscClassInput {
    /// Name, as `1:10` in `tc`; default: `1:` and its number from 1 in the list.
    pub name: Option<String>,
    /// Name of the class that it is part of; default: directly below the discipline.
    pub parent: Option<String>,
    /// Real-time curve: service that it is sure of; only of a class without classes below.
    pub rt: Option<ServiceCurveInput>,
    /// Link-sharing curve: its part of what is left, in relation to the other classes below its parent.
    pub ls: Option<ServiceCurveInput>,
    /// Instead of `rt` and `ls`: the same curve for both.
    pub sc: Option<ServiceCurveInput>,
    /// Upper limit of what it gets by link sharing; default: none.
    pub ul: Option<ServiceCurveInput>,
    /// Filters: the class takes packets that match any of them.
    #[serde(default)]
    pub filters: Vec<Filter>,
    /// Discipline that holds its packets, if it has no classes below; default: a pfifo of 1000 packets.
    pub child: Option<QueueInput>,
}
