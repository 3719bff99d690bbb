//! Shapers, and schedulers with classes.

use super::QueueInput;
use super::resolve::{Resolver, set};
use crate::QueueLimit;
use fairwind_qdisc::{Filter, Htb, HtbClass, Prio, Qdisc, Tbf};
use fairwind_units::{BitRate, ByteCount, Span};
use serde::{Deserialize, Serialize};

/// Parameters of `prio` (tc-prio(8)).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrioInput {
    /// What holds the packets of each band, the most urgent first, 2 to 16; three pfifos of 1000 packets unless said.
    #[serde(default)]
    pub bands: Option<Vec<QueueInput>>,
    /// The band, from 0, of each of the 16 priorities that the kernel makes of a packet's type of service;
    /// `[1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1]` unless said, with 1 for 2 where there are two bands.
    #[schemars(inner(range(max = 15)))]
    pub priomap: Option<Vec<u8>>,
    /// What goes to a band whatever its priority; the first that fits decides.
    #[serde(default)]
    pub filters: Vec<PrioFilterInput>,
}

/// What goes to a band of `prio`: packets for which all that is set holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrioFilterInput {
    /// The band, from 0.
    #[schemars(range(max = 15))]
    pub band: u8,
    /// What packets it takes.
    #[serde(rename = "match")]
    pub matches: Filter,
}

impl PrioInput {
    pub(super) fn resolve(&self, resolver: &mut Resolver<'_>) -> Qdisc {
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
                let rule = format!("there are 16 priorities, not {}", priomap.len());
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
    /// How much may wait, in bytes.
    pub limit: Option<QueueLimit>,
    /// Instead of the limit: how long a packet may wait for its turn, from which `tc` reckons the limit.
    pub latency: Option<Span>,
    /// Rate that not even a burst exceeds; none unless said.
    pub peakrate: Option<BitRate>,
    /// Bytes that may leave at once at `peakrate`; 1500 B unless said.
    pub mtu: Option<ByteCount>,
    /// Time between two looks at the clock, as with a kernel of that timer frequency; exact timers unless said.
    pub granularity: Option<Span>,
    /// What holds the packets; a bfifo of `limit` unless said.
    pub child: Option<QueueInput>,
}

impl TbfInput {
    pub(super) fn resolve(&self, resolver: &mut Resolver<'_>) -> Qdisc {
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
                let rule = "there is a limit already".to_owned();
                resolver.fault("latency", rule, Some("write one of limit and latency"));
                1
            }
            // The child has a limit of its own.
            (None, None) if self.child.is_some() => tbf.burst_bytes.max(1),
            (None, None) => {
                let rule = "missing, but it is needed".to_owned();
                resolver.fault("limit", rule, Some("how much may wait; or else write latency"));
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
    /// Name of the class of packets that no filter takes; they pass unshaped unless said.
    pub default: Option<String>,
    /// A class without a quantum may send its rate in bytes per second divided by this in its turn; 10 unless said.
    #[schemars(range(min = 1))]
    pub r2q: Option<u32>,
    /// How many packets that pass unshaped may wait; 1000 unless said.
    pub direct_qlen: Option<u32>,
    /// Time between two looks at the clock, as with a kernel of that timer frequency; exact timers unless said.
    pub granularity: Option<Span>,
    /// Instead of classes: rate that all packets are shaped to.
    pub rate: Option<BitRate>,
    /// With `rate`: bytes that may leave at once at `ceil` after a pause; 1600 B unless said.
    pub burst: Option<ByteCount>,
    /// With `rate`: bytes that may leave at once as fast as the link goes; 1600 B unless said.
    pub cburst: Option<ByteCount>,
    /// With `rate`: what holds the packets; a pfifo of 1000 packets unless said.
    pub child: Option<QueueInput>,
}

/// A class of `htb`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HtbClassInput {
    /// What it is called, as `1:10` in `tc`; `1:` and its number from 1 in the list unless said.
    pub name: Option<String>,
    /// Name of the class that it borrows from; directly below the discipline unless said.
    pub parent: Option<String>,
    /// Rate that it is sure of.
    pub rate: BitRate,
    /// Rate that it may reach by borrowing; `rate` unless said.
    pub ceil: Option<BitRate>,
    /// Bytes that may be sent at once at `ceil` beyond what the rate lets; 1600 B unless said.
    pub burst: Option<ByteCount>,
    /// Bytes that may be sent at once as fast as the link goes; 1600 B unless said.
    pub cburst: Option<ByteCount>,
    /// Classes with a lower number are first offered what is left over; 0 unless said.
    #[schemars(range(max = 7))]
    pub prio: Option<u8>,
    /// Bytes that it may send in its turn; from its rate unless said.
    pub quantum: Option<ByteCount>,
    /// What it takes: packets that any of these fits.
    #[serde(default)]
    pub filters: Vec<Filter>,
    /// What holds its packets, where it has no classes below; a pfifo of 1000 packets unless said.
    pub child: Option<QueueInput>,
}

impl HtbInput {
    pub(super) fn resolve(&self, resolver: &mut Resolver<'_>) -> Qdisc {
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
            (Some(_), Some(_)) => {
                let hint = "write rate for one class that takes everything, or else classes";
                resolver.fault("rate", "there are classes already".to_owned(), Some(hint));
            }
            (None, None) => {
                let hint = "write rate for one class that takes everything, or else classes";
                resolver.fault("rate", "missing, but it is needed".to_owned(), Some(hint));
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
            resolver.fault(key, "it belongs to a class where there are classes".to_owned(), None);
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
