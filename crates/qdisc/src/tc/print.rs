//! A tree as the commands that build it.

use super::draft::Handle;
use super::filter;
use super::number::{print_rate, print_share, print_time};
use super::options::{ISOLATION, TINS};
use crate::{
    Cake, Choke, Dualpi2, Filter, FqCodel, FqPie, Htb, HtbClass, Pie, Prio, Qdisc, Red, Sfq, Tbf,
};
use fairwind_units::{BitRate, Ratio};
use std::fmt::Write as _;

/// The commands that give `device` this queue, one by one, as [`parse`](super::parse) reads them. What `tc` has no word
/// for is told by a word of ours, so a kernel refuses it.
///
/// Classes whose names are no numbers of `tc` such as `1:10` get other ones.
pub fn commands(queue: &Qdisc, device: &str) -> Vec<String> {
    let mut printer = Printer { device, lines: Vec::new(), majors: 0 };
    printer.discipline(queue, None);
    printer.lines
}

struct Printer<'d> {
    device: &'d str,
    lines: Vec<String>,
    /// Numbers that disciplines have got.
    majors: u32,
}

impl Printer<'_> {
    fn discipline(&mut self, queue: &Qdisc, parent: Option<Handle>) {
        self.majors += 1;
        let major = self.majors;
        let place = parent.map_or("root".to_owned(), |parent| format!("parent {parent}"));
        let device = self.device;
        let (name, parameters) = (queue.name(), parameters(queue, major));
        self.lines.push(format!(
            "tc qdisc add dev {device} {place} handle {major:x}: {name}{parameters}"
        ));
        let below = |minor| Some(Handle { major, minor });
        match queue {
            Qdisc::Red(Red { child: Some(child), .. })
            | Qdisc::Tbf(Tbf { child: Some(child), .. }) => {
                self.discipline(child, below(1));
            }
            Qdisc::Prio(prio) => self.prio(prio, major),
            Qdisc::Drr(drr) => {
                for (minor, class) in (1..).zip(&drr.classes) {
                    let handle = Handle { major, minor };
                    let quantum = class.quantum_bytes;
                    self.lines.push(format!(
                        "tc class add dev {device} parent {major:x}: classid {handle} drr quantum {quantum}"
                    ));
                    self.filters(handle, class.filters.iter());
                    self.discipline(&class.child, Some(handle));
                }
            }
            Qdisc::Htb(htb) => self.htb(htb, major),
            _ => {}
        }
    }

    fn prio(&mut self, prio: &Prio, major: u32) {
        for (minor, band) in (1..).zip(&prio.bands) {
            self.discipline(band, Some(Handle { major, minor }));
        }
        for (priority, (filter, band)) in (1..).zip(&prio.filters) {
            let minor = u32::from(*band) + 1;
            self.filter(Handle { major, minor }, filter, priority);
        }
    }

    fn htb(&mut self, htb: &Htb, major: u32) {
        let handles = handles(htb, major);
        for (class, handle) in htb.classes.iter().zip(&handles) {
            let parent = class.parent.and_then(|parent| handles.get(parent).copied());
            let parent = parent.unwrap_or(Handle { major, minor: 0 });
            let parent = if parent.minor == 0 { format!("{major:x}:") } else { parent.to_string() };
            let (device, parameters) = (self.device, class_parameters(class));
            self.lines.push(format!(
                "tc class add dev {device} parent {parent} classid {handle} htb{parameters}"
            ));
            self.filters(*handle, class.filters.iter());
        }
        for (class, handle) in htb.classes.iter().zip(handles) {
            if let Some(child) = &class.child {
                self.discipline(child, Some(handle));
            }
        }
    }

    fn filters<'f>(&mut self, target: Handle, filters: impl Iterator<Item = &'f Filter>) {
        for (priority, filter) in (1..).zip(filters) {
            self.filter(target, filter, priority);
        }
    }

    fn filter(&mut self, target: Handle, filter: &Filter, priority: u32) {
        let matches = filter::print(filter);
        let kind = if matches.is_empty() { "matchall" } else { "u32" };
        let (device, major) = (self.device, target.major);
        self.lines.push(format!(
            "tc filter add dev {device} parent {major:x}: protocol ip prio {priority} {kind}{matches} flowid {target}"
        ));
    }
}

/// The numbers of the classes: those in their names where all are numbers of this discipline.
fn handles(htb: &Htb, major: u32) -> Vec<Handle> {
    let number = |class: &HtbClass| {
        let (named, minor) = class.name.split_once(':')?;
        let minor =
            u32::from_str_radix(minor, 16).ok().filter(|minor| (1..=0xffff).contains(minor))?;
        (u32::from_str_radix(named, 16).ok()? == major).then_some(Handle { major, minor })
    };
    let named: Option<Vec<Handle>> = htb.classes.iter().map(number).collect();
    named.unwrap_or_else(|| {
        (1..).take(htb.classes.len()).map(|minor| Handle { major, minor }).collect()
    })
}

fn class_parameters(class: &HtbClass) -> String {
    format!(
        " rate {} ceil {} burst {} cburst {} prio {} quantum {}",
        print_rate(class.rate),
        print_rate(class.ceil),
        class.burst_bytes,
        class.ceil_burst_bytes,
        class.priority,
        class.quantum_bytes,
    )
}

/// Words and numbers, each behind a blank.
#[derive(Default)]
struct Text(String);

impl Text {
    fn key(mut self, key: &str, value: impl std::fmt::Display) -> Self {
        let _ = write!(self.0, " {key} {value}");
        self
    }

    fn some(self, key: &str, value: Option<impl std::fmt::Display>) -> Self {
        match value {
            Some(value) => self.key(key, value),
            None => self,
        }
    }

    fn word(mut self, word: &str) -> Self {
        let _ = write!(self.0, " {word}");
        self
    }

    fn flag(self, word: &str, is_set: bool) -> Self {
        if is_set { self.word(word) } else { self }
    }

    fn either(self, is_first: bool, first: &str, second: &str) -> Self {
        self.word(if is_first { first } else { second })
    }
}

fn parameters(queue: &Qdisc, major: u32) -> String {
    let text = Text::default();
    match queue {
        Qdisc::Unlimited {} | Qdisc::Drr(_) => text,
        Qdisc::Pfifo { limit_packets } => text.key("limit", limit_packets),
        Qdisc::Bfifo { limit_bytes } => text.key("limit", limit_bytes),
        Qdisc::Red(red) => print_red(text, red),
        Qdisc::Choke(choke) => print_choke(text, choke),
        Qdisc::Codel(codel) => text
            .key("limit", codel.limit_packets)
            .key("target", print_time(codel.target))
            .key("interval", print_time(codel.interval))
            .either(codel.ecn, "ecn", "noecn")
            .some("ce_threshold", codel.ce_threshold.map(print_time)),
        Qdisc::Pie(pie) => print_pie(text, pie),
        Qdisc::Dualpi2(dualpi2) => print_dualpi2(text, dualpi2),
        Qdisc::Sfq(sfq) => print_sfq(text, sfq),
        Qdisc::FqCodel(fair) => print_fq_codel(text, fair),
        Qdisc::FqPie(fair) => print_fq_pie(text, fair),
        Qdisc::Cake(cake) => print_cake(text, cake),
        Qdisc::Prio(prio) => {
            let map: Vec<String> = prio.priomap.iter().map(u8::to_string).collect();
            text.key("bands", prio.bands.len()).key("priomap", map.join(" "))
        }
        Qdisc::Tbf(tbf) => text
            .key("rate", print_rate(tbf.rate))
            .key("burst", tbf.burst_bytes)
            .key("limit", tbf.limit_bytes)
            .some("peakrate", tbf.peak_rate.map(print_rate))
            .some("mtu", tbf.mtu_bytes)
            .some("granularity", Some(tbf.granularity).filter(|g| !g.is_zero()).map(print_time)),
        Qdisc::Htb(htb) => {
            let default =
                htb.default_class.and_then(|index| handles(htb, major).get(index).copied());
            text.some("default", default.map(|handle| format!("{:x}", handle.minor)))
                .key("r2q", htb.rate_to_quantum)
                .key("direct_qlen", htb.direct_packets)
                .some("granularity", Some(htb.granularity).filter(|g| !g.is_zero()).map(print_time))
        }
    }
    .0
}

fn print_red(text: Text, red: &Red) -> Text {
    let sizes = [red.limit_bytes, red.min_bytes, red.max_bytes];
    let packets = [red.average_packet_bytes, red.burst_packets];
    print_average(text, sizes, packets, red.probability, red.bandwidth)
        .flag("ecn", red.ecn)
        .flag("harddrop", red.hard_drop)
        .flag("gentle", red.gentle)
        .flag("adaptive", red.adaptive)
}

fn print_choke(text: Text, choke: &Choke) -> Text {
    let sizes = [choke.limit_packets, choke.min_packets, choke.max_packets].map(u64::from);
    let packets = [choke.average_packet_bytes, choke.burst_packets];
    print_average(text, sizes, packets, choke.probability, choke.bandwidth).flag("ecn", choke.ecn)
}

/// What disciplines have that go by an average of the backlog: limit and thresholds, the packets that it is reckoned
/// with, and how it acts.
fn print_average(
    text: Text,
    [limit, min, max]: [u64; 3],
    [average_packet, burst]: [u32; 2],
    probability: Ratio,
    bandwidth: BitRate,
) -> Text {
    text.key("limit", limit)
        .key("min", min)
        .key("max", max)
        .key("avpkt", average_packet)
        .key("burst", burst)
        .key("probability", print_share(probability))
        .key("bandwidth", print_rate(bandwidth))
}

fn print_pie(text: Text, pie: &Pie) -> Text {
    text.key("limit", pie.limit_packets)
        .key("target", print_time(pie.target))
        .key("tupdate", print_time(pie.update))
        .key("alpha", pie.alpha)
        .key("beta", pie.beta)
        .either(pie.ecn, "ecn", "noecn")
        .either(pie.bytemode, "bytemode", "nobytemode")
        .either(pie.departure_rate, "dq_rate_estimator", "no_dq_rate_estimator")
}

fn print_dualpi2(text: Text, dualpi2: &Dualpi2) -> Text {
    let per_cent =
        format!("{}%", print_hundredfold(dualpi2.classic_protection.as_parts_per_billion()));
    text.key("limit", dualpi2.limit_packets)
        .key("target", print_time(dualpi2.target))
        .key("tupdate", print_time(dualpi2.update))
        .key("alpha", print_share(dualpi2.alpha))
        .key("beta", print_share(dualpi2.beta))
        .key("step_thresh", print_time(dualpi2.step_threshold))
        .key("coupling_factor", dualpi2.coupling)
        .key("classic_protection", per_cent)
        .either(dualpi2.drop_on_dequeue, "drop_dequeue", "drop_enqueue")
        .either(dualpi2.drop_on_overload, "drop_on_overload", "overflow")
        .either(dualpi2.only_ect1, "l4s_ect", "any_ect")
}

/// Parts per billion in per cent.
fn print_hundredfold(parts: u64) -> String {
    let text = format!("{}.{:07}", parts / 10_000_000, parts % 10_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn print_sfq(text: Text, sfq: &Sfq) -> Text {
    text.key("limit", sfq.limit_packets)
        .key("quantum", sfq.quantum_bytes)
        .key("divisor", sfq.divisor)
        .key("flows", sfq.flows)
        .key("depth", sfq.depth_packets)
        .some("perturb", Some(sfq.perturb).filter(|time| !time.is_zero()).map(print_seconds))
        .flag("headdrop", sfq.head_drop)
}

/// A bare number of seconds, which is all that `tc` takes here, or else a time.
fn print_seconds(time: fairwind_units::Span) -> String {
    print_time(time)
        .strip_suffix('s')
        .filter(|digits| digits.parse::<u32>().is_ok())
        .map_or_else(|| print_time(time), str::to_owned)
}

fn print_fq_codel(text: Text, fair: &FqCodel) -> Text {
    text.key("limit", fair.limit_packets)
        .key("flows", fair.flows)
        .key("quantum", fair.quantum_bytes)
        .key("target", print_time(fair.target))
        .key("interval", print_time(fair.interval))
        .either(fair.ecn, "ecn", "noecn")
        .some("ce_threshold", fair.ce_threshold.map(print_time))
        .key("memory_limit", fair.memory_limit_bytes)
        .key("drop_batch", fair.drop_batch_packets)
}

fn print_fq_pie(text: Text, fair: &FqPie) -> Text {
    text.key("limit", fair.limit_packets)
        .key("flows", fair.flows)
        .key("target", print_time(fair.target))
        .key("tupdate", print_time(fair.update))
        .key("alpha", fair.alpha)
        .key("beta", fair.beta)
        .key("quantum", fair.quantum_bytes)
        .key("memory_limit", fair.memory_limit_bytes)
        .key("ecn_prob", fair.ecn_probability_percent)
        .either(fair.ecn, "ecn", "noecn")
        .either(fair.bytemode, "bytemode", "nobytemode")
        .either(fair.departure_rate, "dq_rate_estimator", "no_dq_rate_estimator")
}

fn print_cake(text: Text, cake: &Cake) -> Text {
    let tins = TINS.iter().find(|(_, tins)| *tins == cake.tins).map_or("", |(word, _)| *word);
    let isolation = ISOLATION.iter().find(|(_, isolation)| *isolation == cake.isolation);
    let text = match cake.bandwidth {
        Some(bandwidth) => text.key("bandwidth", print_rate(bandwidth)),
        None => text.word("unlimited"),
    };
    text.word(tins)
        .word(isolation.map_or("", |(word, _)| *word))
        .key("rtt", print_time(cake.rtt))
        .key("overhead", cake.overhead_bytes)
        .some("memlimit", cake.memory_limit_bytes)
}
