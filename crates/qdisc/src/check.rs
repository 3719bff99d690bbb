//! Errors and warnings of a tree of disciplines.
//!
//! A finding names the key as scenarios and `tc` call it, below the tree.

use crate::{
    Cake, CakeAckFilter, Choke, Codel, Drr, Dualpi2, Filter, Fq, FqCodel, FqPie, Htb, HtbClass,
    Pie, Prio, Qdisc, Red, Sfq, Tbf,
};
use fairwind_units::{BitRate, ByteCount, Ratio, Span};
use std::fmt;

mod hfsc;

/// An error or a warning about a tree of disciplines, and its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QdiscFinding {
    /// `bands[1].limit`; empty for the discipline itself.
    pub key: String,
    /// The rule that is broken, or what will surprise.
    pub rule: String,
}

impl fmt::Display for QdiscFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.key.as_str() {
            "" => write!(f, "{}", self.rule),
            key => write!(f, "{key}: {}", self.rule),
        }
    }
}

impl Qdisc {
    /// All errors; empty if a discipline can be built from it.
    pub fn errors(&self) -> Vec<QdiscFinding> {
        let mut check = Check { key: String::new(), findings: Vec::new() };
        check.queue(self);
        check.findings
    }
}

/// A tree while it is checked.
struct Check {
    /// Where it stands, with a dot behind it; empty at the root.
    key: String,
    findings: Vec<QdiscFinding>,
}

impl Check {
    /// Notes that `key` breaks a rule where it does not hold.
    fn hold(&mut self, holds: bool, key: &str, rule: &str) {
        if !holds {
            let key = format!("{}{key}", self.key);
            self.findings.push(QdiscFinding { key, rule: rule.to_owned() });
        }
    }

    fn limit(&mut self, limit: u64) {
        self.hold(limit > 0, "limit", "a queue must hold at least one packet");
    }

    fn quantum(&mut self, quantum: u32) {
        self.hold(
            quantum > 0,
            "quantum",
            "a flow or class must send at least one byte in its turn",
        );
    }

    fn time(&mut self, key: &str, time: Span) {
        self.hold(!time.is_zero(), key, "it must be above zero");
    }

    fn rate(&mut self, key: &str, rate: BitRate) {
        self.hold(rate.as_bits_per_second() > 0, key, "the rate must be above zero");
    }

    /// Checks the child, at `key`.
    fn child(&mut self, key: &str, queue: &Qdisc) {
        let longer = format!("{}{key}.", self.key);
        let before = std::mem::replace(&mut self.key, longer);
        self.queue(queue);
        self.key = before;
    }

    fn queue(&mut self, queue: &Qdisc) {
        match queue {
            Qdisc::Unlimited {} => {}
            Qdisc::Pfifo { limit_packets } => self.limit(u64::from(*limit_packets)),
            Qdisc::Bfifo { limit_bytes } => self.limit(*limit_bytes),
            Qdisc::Red(red) => self.red(red),
            Qdisc::Choke(choke) => self.choke(choke),
            Qdisc::Codel(codel) => self.codel(codel),
            Qdisc::Pie(pie) => self.pie(pie),
            Qdisc::Dualpi2(dualpi2) => self.dualpi2(dualpi2),
            Qdisc::PfifoFast(fast) => self.limit(fast.limit_packets.into()),
            Qdisc::Fq(fair) => self.fq(fair),
            Qdisc::Sfq(sfq) => self.sfq(sfq),
            Qdisc::FqCodel(fair) => self.fq_codel(fair),
            Qdisc::FqPie(fair) => self.fq_pie(fair),
            Qdisc::Cake(cake) => self.cake(cake),
            Qdisc::Drr(drr) => self.drr(drr),
            Qdisc::Prio(prio) => self.prio(prio),
            Qdisc::Tbf(tbf) => self.tbf(tbf),
            Qdisc::Htb(htb) => self.htb(htb),
            Qdisc::Hfsc(hfsc) => self.hfsc(hfsc),
        }
    }
}

/// Bands that the kernel's prio has (tc-prio(8)).
const BANDS: std::ops::RangeInclusive<usize> = 2..=16;

/// Levels below an htb that the kernel supports.
const LEVELS: usize = 8;

/// Code points (RFC 2474).
const LARGEST_CODE_POINT: u8 = 63;

impl Check {
    fn prio(&mut self, prio: &Prio) {
        let bands = prio.bands.len();
        self.hold(BANDS.contains(&bands), "bands", "there must be 2 to 16 bands");
        let beyond = format!("there are {bands} bands, counted from 0");
        for band in prio.priomap {
            if usize::from(band) >= bands && BANDS.contains(&bands) {
                self.hold(false, "priomap", &beyond);
                break;
            }
        }
        for (index, (filter, band)) in prio.filters.iter().enumerate() {
            let key = format!("filters[{index}]");
            self.hold(usize::from(*band) < bands, &format!("{key}.band"), &beyond);
            self.filter(&format!("{key}.match"), filter);
        }
        for (index, band) in prio.bands.iter().enumerate() {
            self.child(&format!("bands[{index}]"), band);
        }
    }

    fn drr(&mut self, drr: &Drr) {
        self.hold(
            !drr.classes.is_empty(),
            "classes",
            "it needs a class; without one, all packets are dropped",
        );
        for (index, class) in drr.classes.iter().enumerate() {
            let key = format!("classes[{index}]");
            let quantum = format!("{key}.quantum");
            self.hold(
                class.quantum_bytes > 0,
                &quantum,
                "a class must send at least one byte in its turn",
            );
            self.filters(&key, &class.filters);
            self.child(&format!("{key}.child"), &class.child);
        }
        let for_the_rest = |class: &&crate::DrrClass| class.filters.is_empty();
        let is_one = drr.classes.iter().filter(for_the_rest).count() <= 1;
        self.hold(
            is_one,
            "classes",
            "only one class can be without filters; give the others filters",
        );
    }

    fn tbf(&mut self, tbf: &Tbf) {
        self.rate("rate", tbf.rate);
        self.hold(tbf.burst_bytes > 0, "burst", "without a burst no packet ever leaves");
        self.limit(tbf.limit_bytes);
        if let Some(peak) = tbf.peak_rate {
            let rule = format!(
                "the peakrate {peak} must be above the rate {}: raise it, or leave it out",
                tbf.rate
            );
            self.hold(peak > tbf.rate, "peakrate", &rule);
        }
        self.hold(tbf.mtu_bytes != Some(0), "mtu", "it must be at least one byte");
        if let Some(child) = &tbf.child {
            self.child("child", child);
        }
    }

    fn htb(&mut self, htb: &Htb) {
        self.hold(!htb.classes.is_empty(), "classes", "an htb needs at least one class");
        self.hold(
            htb.rate_to_quantum > 0,
            "r2q",
            "it must be at least 1, because rates are divided by it",
        );
        let is_parent = |index: usize| htb.classes.iter().any(|class| class.parent == Some(index));
        for (index, class) in htb.classes.iter().enumerate() {
            self.htb_class(htb, index, class, is_parent(index));
        }
        self.default_class(htb.default_class, htb.classes.len(), is_parent);
    }

    fn default_class(
        &mut self,
        default: Option<usize>,
        classes: usize,
        is_parent: impl Fn(usize) -> bool,
    ) {
        let Some(index) = default else { return };
        let exists = index < classes;
        self.hold(exists, "default", "no such class: name an existing one");
        let is_leaf = !exists || !is_parent(index);
        let rule = "the default class has classes below it, so it holds no packets: name a class without children";
        self.hold(is_leaf, "default", rule);
    }

    /// A class with classes below; whether it is without a queue and without filters.
    fn inner_class(&mut self, index: usize, is_without_child: bool, is_without_filters: bool) {
        let inner = "a class with classes below holds no packets";
        self.hold(is_without_child, &format!("classes[{index}].child"), inner);
        self.hold(is_without_filters, &format!("classes[{index}].filters"), inner);
    }

    fn leaf_class(&mut self, index: usize, has_child: bool) {
        let leaf = "a class without classes below holds packets, and needs a queue for them";
        self.hold(has_child, &format!("classes[{index}].child"), leaf);
    }

    fn htb_class(&mut self, htb: &Htb, index: usize, class: &HtbClass, is_parent: bool) {
        let key = |name: &str| format!("classes[{index}].{name}");
        self.rate(&key("rate"), class.rate);
        let rule = format!(
            "the ceil {} is below the rate {}: raise it, or leave it out",
            class.ceil, class.rate
        );
        self.hold(class.ceil >= class.rate, &key("ceil"), &rule);
        self.hold(class.priority <= 7, &key("prio"), "it must be at most 7");
        self.hold(
            class.quantum_bytes > 0,
            &key("quantum"),
            "a class must send at least one byte in its turn",
        );
        self.hold(class.burst_bytes > 0, &key("burst"), "without a burst no packet ever leaves");
        self.hold(
            class.ceil_burst_bytes > 0,
            &key("cburst"),
            "without a burst no packet ever leaves",
        );
        let comes_later = class.parent.is_some_and(|parent| parent >= index);
        self.hold(!comes_later, &key("parent"), "parents must precede their children");
        if !comes_later {
            let next = |parent: &usize| htb.classes.get(*parent).and_then(|class| class.parent);
            let above = std::iter::successors(class.parent, next);
            self.hold(
                above.take(LEVELS).count() < LEVELS,
                &key("parent"),
                "there are at most 8 levels",
            );
        }
        if is_parent {
            self.inner_class(index, class.child.is_none(), class.filters.is_empty());
        } else {
            self.leaf_class(index, class.child.is_some());
        }
        self.filters(&format!("classes[{index}]"), &class.filters);
        if let Some(child) = &class.child {
            self.child(&key("child"), child);
        }
    }

    fn filters(&mut self, key: &str, filters: &[Filter]) {
        for (index, filter) in filters.iter().enumerate() {
            self.filter(&format!("{key}.filters[{index}]"), filter);
        }
    }

    fn filter(&mut self, key: &str, filter: &Filter) {
        let is_point = filter.dscp.is_none_or(|point| point <= LARGEST_CODE_POINT);
        self.hold(is_point, &format!("{key}.dscp"), "code points must be 0 to 63");
    }
}

/// The largest weight of a proportional or integral part that `tc` takes.
const LARGEST_WEIGHT: u32 = 32;

impl Check {
    fn red(&mut self, red: &Red) {
        self.limit(red.limit_bytes);
        self.thresholds(red.min_bytes, red.max_bytes, red.limit_bytes);
        self.average(red.average_packet_bytes, red.burst_packets, red.probability);
        self.rate("bandwidth", red.bandwidth);
        if let Some(child) = &red.child {
            self.child("child", child);
        }
    }

    fn choke(&mut self, choke: &Choke) {
        let limit = choke.limit_packets.into();
        self.limit(limit);
        self.thresholds(choke.min_packets.into(), choke.max_packets.into(), limit);
        self.average(choke.average_packet_bytes, choke.burst_packets, choke.probability);
        self.rate("bandwidth", choke.bandwidth);
    }

    fn thresholds(&mut self, min: u64, max: u64, limit: u64) {
        self.hold(
            min > 0,
            "min",
            "it must be above zero: the limit is too small for the value derived from it",
        );
        let rule = format!("min {min} must be below max {max}: swap them, or raise max");
        self.hold(min < max, "min", &rule);
        let rule = format!(
            "max {max} is above the limit {limit}, so the queue never reaches it: raise the limit"
        );
        self.hold(max <= limit, "max", &rule);
    }

    fn average(&mut self, packet: u32, burst: u32, probability: Ratio) {
        self.hold(packet > 0, "avpkt", "it must be at least one byte");
        self.hold(burst > 0, "burst", "it must be at least one packet");
        self.probability("probability", probability);
        let never = "with a probability of zero nothing is ever dropped or marked early";
        self.hold(probability > Ratio::ZERO, "probability", never);
    }

    fn probability(&mut self, key: &str, share: Ratio) {
        self.hold(share <= Ratio::ONE, key, "it must be at most 100 %");
    }

    fn codel(&mut self, codel: &Codel) {
        self.limit(codel.limit_packets.into());
        self.time("interval", codel.interval);
    }

    fn pie(&mut self, pie: &Pie) {
        self.limit(pie.limit_packets.into());
        self.controller(pie.alpha, pie.beta);
        self.time("target", pie.target);
        self.time("tupdate", pie.update);
    }

    fn controller(&mut self, alpha: u32, beta: u32) {
        for (key, weight) in [("alpha", alpha), ("beta", beta)] {
            self.hold(weight <= LARGEST_WEIGHT, key, "it must be at most 32");
        }
    }

    fn dualpi2(&mut self, dualpi2: &Dualpi2) {
        self.limit(dualpi2.limit_packets.into());
        self.time("target", dualpi2.target);
        self.time("tupdate", dualpi2.update);
        self.hold(
            dualpi2.coupling > 0,
            "coupling_factor",
            "it must be at least 1, otherwise the queues are not coupled",
        );
        let whole = "it must be less than 100 % of the service";
        self.hold(dualpi2.classic_protection < Ratio::ONE, "classic_protection", whole);
    }
}

/// Quanta that the kernel's fq takes as they are; it replaces others by the nearest of these.
const FQ_QUANTA: std::ops::RangeInclusive<u32> = 256..=1 << 20;

/// Buckets that the kernel has at most.
const MOST_FLOWS: u32 = 65_536;

impl Check {
    fn sfq(&mut self, sfq: &Sfq) {
        self.limit(sfq.limit_packets.into());
        self.hold(sfq.limit_packets != 1, "limit", "it must be at least 2 packets");
        self.quantum(sfq.quantum_bytes);
        let is_possible = sfq.divisor.is_power_of_two() && sfq.divisor <= MOST_FLOWS;
        self.hold(is_possible, "divisor", "it must be a power of two up to 65536");
        self.flows(sfq.flows);
        self.hold(sfq.depth_packets > 0, "depth", "it must be at least one packet per flow");
    }

    fn flows(&mut self, flows: u32) {
        self.hold((1..=MOST_FLOWS).contains(&flows), "flows", "it must be between 1 and 65536");
    }

    fn memory(&mut self, key: &str, bytes: u64) {
        self.hold(bytes > 0, key, "a queue must hold at least one byte");
    }

    fn fq(&mut self, fair: &Fq) {
        self.limit(fair.limit_packets.into());
        self.hold(fair.flow_limit_packets > 0, "flow_limit", "it must be at least one packet");
        let is_possible = FQ_QUANTA.contains(&fair.quantum_bytes);
        self.hold(is_possible, "quantum", "it must be between 256 B and 1 MiB");
        let is_possible = fair.initial_quantum_bytes <= *FQ_QUANTA.end();
        self.hold(is_possible, "initial_quantum", "it must be at most 1 MiB");
        if let Some(rate) = fair.max_rate {
            self.hold(
                rate.as_bits_per_second() >= 8,
                "maxrate",
                "it must be at least one byte per second",
            );
        }
    }

    fn fq_codel(&mut self, fair: &FqCodel) {
        self.limit(fair.limit_packets.into());
        self.flows(fair.flows);
        self.quantum(fair.quantum_bytes);
        self.time("interval", fair.interval);
        self.memory("memory_limit", fair.memory_limit_bytes);
        self.hold(fair.drop_batch_packets > 0, "drop_batch", "it must be at least one packet");
    }

    fn fq_pie(&mut self, fair: &FqPie) {
        self.limit(fair.limit_packets.into());
        self.flows(fair.flows);
        self.quantum(fair.quantum_bytes);
        self.controller(fair.alpha, fair.beta);
        self.time("target", fair.target);
        self.time("tupdate", fair.update);
        self.memory("memory_limit", fair.memory_limit_bytes);
        self.hold(fair.ecn_probability_percent <= 100, "ecn_prob", "it must be at most 100");
    }

    fn cake(&mut self, cake: &Cake) {
        if let Some(bandwidth) = cake.bandwidth {
            self.rate("bandwidth", bandwidth);
        }
        self.time("rtt", cake.rtt);
        let is_root = self.key.is_empty();
        let rule = "only the queue of a link itself sees acknowledgments: give the cake no other discipline above it";
        self.hold(is_root || cake.ack_filter == CakeAckFilter::Off, "ack_filter", rule);
        if let Some(bytes) = cake.memory_limit_bytes {
            self.memory("memlimit", bytes);
        }
    }
}

/// Warnings while they are collected.
struct Warnings {
    mtu: ByteCount,
    findings: Vec<QdiscFinding>,
}

impl Qdisc {
    /// Warnings: what can be built but will surprise before a link of this rate, with packets of up to `mtu_bytes`.
    pub fn warnings(&self, link: Option<BitRate>, mtu_bytes: u64) -> Vec<QdiscFinding> {
        let mut warnings = Warnings { mtu: ByteCount::new(mtu_bytes), findings: Vec::new() };
        warnings.queue("", self, link);
        warnings.findings
    }
}

impl Warnings {
    fn note(&mut self, is_surprising: bool, key: String, rule: impl FnOnce() -> String) {
        if is_surprising {
            self.findings.push(QdiscFinding { key, rule: rule() });
        }
    }

    fn queue(&mut self, at: &str, queue: &Qdisc, rate: Option<BitRate>) {
        match queue {
            Qdisc::Red(red) => self.red(at, red),
            Qdisc::Codel(Codel { target, interval, .. }) => {
                self.target(at, *target, *interval, rate);
            }
            Qdisc::FqCodel(fair) => self.target(at, fair.target, fair.interval, rate),
            Qdisc::Tbf(tbf) => self.tbf(at, tbf, rate),
            Qdisc::Htb(htb) => self.htb(at, htb, rate),
            Qdisc::Hfsc(hfsc) => self.hfsc(at, hfsc, rate),
            Qdisc::Drr(drr) => {
                let rest = drr.classes.iter().position(|class| class.filters.is_empty());
                self.note(rest.is_some(), format!("{at}classes[{}].filters", rest.unwrap_or_default()), || {
                    "missing: the class takes what no other takes; a kernel's drr drops that, and needs a filter \
                     for everything (tc filter .. matchall)".to_owned()
                });
            }
            _ => {}
        }
        self.below(at, queue, rate);
    }

    fn below(&mut self, at: &str, queue: &Qdisc, rate: Option<BitRate>) {
        for (key, child) in queue.named_children() {
            let is_it =
                |held: &Option<Qdisc>| held.as_ref().is_some_and(|c| std::ptr::eq(c, child));
            let own = match queue {
                Qdisc::Tbf(tbf) => Some(tbf.rate),
                Qdisc::Htb(htb) => {
                    htb.classes.iter().find(|class| is_it(&class.child)).map(|class| class.ceil)
                }
                Qdisc::Hfsc(hfsc) => {
                    let place = hfsc.classes.iter().position(|class| is_it(&class.child));
                    place.and_then(|place| hfsc.most(place))
                }
                _ => None,
            };
            self.queue(&format!("{at}{key}."), child, own.into_iter().chain(rate).min());
        }
    }

    fn red(&mut self, at: &str, red: &Red) {
        let is_narrow = red.max_bytes < red.min_bytes.saturating_mul(2);
        self.note(is_narrow, format!("{at}max"), || {
            "less than twice min: Floyd recommends three times min, so that queues do not oscillate"
                .to_owned()
        });
        let packets = u64::from(red.burst_packets) * u64::from(red.average_packet_bytes);
        self.note(packets < red.min_bytes, format!("{at}burst"), || {
            "smaller than min: tc takes (2 min + max) / (3 avpkt), and refuses less than min / avpkt".to_owned()
        });
    }

    fn target(&mut self, at: &str, target: Span, interval: Span, rate: Option<BitRate>) {
        if let Some(rate) = rate {
            let mtu = self.mtu;
            let packet = rate.serialisation_time(mtu);
            self.note(target < packet, format!("{at}target"), || {
                format!("below {packet}, the time of one packet of {mtu} at {rate}")
            });
        }
        self.note(target >= interval, format!("{at}target"), || {
            "not below the interval; 5 to 10 % of the interval is usual (RFC 8289 section 4.3)"
                .to_owned()
        });
    }

    fn tbf(&mut self, at: &str, tbf: &Tbf, link: Option<BitRate>) {
        let mtu = self.mtu;
        self.note(tbf.burst_bytes < mtu.get(), format!("{at}burst"), || {
            format!("packets above it never fit and are dropped; packets have up to {mtu}")
        });
        let is_small =
            tbf.peak_rate.is_some() && tbf.mtu_bytes.is_some_and(|bytes| bytes < mtu.get());
        self.note(is_small, format!("{at}mtu"), || {
            format!("packets above it never fit and are dropped; packets have up to {mtu}")
        });
        self.faster_than_link(&format!("{at}rate"), tbf.rate, link);
    }

    fn faster_than_link(&mut self, key: &str, rate: BitRate, link: Option<BitRate>) {
        if let Some(link) = link {
            self.note(rate > link, key.to_owned(), || {
                format!("above the link's {link}: it has no effect")
            });
        }
    }

    fn htb(&mut self, at: &str, htb: &Htb, link: Option<BitRate>) {
        let mtu = self.mtu;
        for (index, class) in htb.classes.iter().enumerate() {
            let key = |name: &str| format!("{at}classes[{index}].{name}");
            self.note(class.burst_bytes < mtu.get(), key("burst"), || {
                format!("below one packet of {mtu}: every packet delays the next one")
            });
            let of = |child: &&HtbClass| child.parent == Some(index);
            let bits = |child: &HtbClass| child.rate.as_bits_per_second();
            let sum = htb.classes.iter().filter(of).map(bits).fold(0, u64::saturating_add);
            self.note(sum > class.rate.as_bits_per_second(), key("rate"), || {
                let (sum, rate) = (BitRate::from_bits_per_second(sum), class.rate);
                format!(
                    "the classes below are sure of {sum} together, and this one has {rate}: as in the kernel they get what \
                     they are sure of, so that it does not shape them; lower their rates and let them borrow up to a ceil"
                )
            });
            let is_empty = class.child.is_some() && class.filters.is_empty();
            self.unreachable(is_empty && htb.default_class != Some(index), key("filters"));
        }
        let shaped = Qdisc::Htb(htb.clone()).shaped_rate();
        if let Some(rate) = shaped {
            self.faster_than_link(&format!("{at}classes[0].rate"), rate, link);
        }
        self.note(htb.default_class.is_none(), format!("{at}default"), || {
            "missing: packets without a matching filter pass unshaped, as in the kernel".to_owned()
        });
    }

    fn unreachable(&mut self, is_unreachable: bool, key: String) {
        self.note(is_unreachable, key, || {
            "the class has no filter and is not the default: it gets no packets".to_owned()
        });
    }
}
