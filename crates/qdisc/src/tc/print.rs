//! Printing a tree of disciplines as the commands that build it.

use super::disciplines::print_cake;
use super::draft::{Handle, print_filter};
use super::words::{print_rate, print_time};
use crate::parameters;
use crate::{
    Choke, Codel, Dualpi2, Filter, FqCodel, FqPie, Htb, HtbClass, Pie, Prio, Qdisc, Red, Sfq, Tbf,
};
use fairwind_units::Span;

/// The commands that give `device` this queue, one by one, as [`parse`](super::parse) reads them. What `tc` has no word
/// for is printed with a word of ours, which a kernel refuses.
///
/// Classes get other names if theirs are not numbers of `tc` such as `1:10`.
pub fn commands(queue: &Qdisc, device: &str) -> Vec<String> {
    let mut printer = Printer { device, lines: Vec::new(), majors: 0 };
    printer.discipline(queue, None);
    printer.lines
}

/// A discipline and its parameters, without what it holds, in the words of `tc`.
pub fn discipline(queue: &Qdisc) -> String {
    format!("{}{}", queue.name(), parameters(queue, 1))
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
        let matches = print_filter(filter);
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

fn parameters(queue: &Qdisc, major: u32) -> String {
    match queue {
        Qdisc::Unlimited {} | Qdisc::Drr(_) => String::new(),
        Qdisc::Pfifo { limit_packets } => format!(" limit {limit_packets}"),
        Qdisc::Bfifo { limit_bytes } => format!(" limit {limit_bytes}"),
        Qdisc::Red(red) => parameters::print(Red::PARAMETERS, red),
        Qdisc::Choke(choke) => parameters::print(Choke::PARAMETERS, choke),
        Qdisc::Codel(codel) => parameters::print(Codel::PARAMETERS, codel),
        Qdisc::Pie(pie) => parameters::print(Pie::PARAMETERS, pie),
        Qdisc::Dualpi2(dualpi2) => parameters::print(Dualpi2::PARAMETERS, dualpi2),
        Qdisc::Sfq(sfq) => parameters::print(Sfq::PARAMETERS, sfq),
        Qdisc::FqCodel(fq) => parameters::print(FqCodel::PARAMETERS, fq),
        Qdisc::FqPie(fq) => parameters::print(FqPie::PARAMETERS, fq),
        Qdisc::Cake(cake) => print_cake(cake),
        Qdisc::Prio(prio) => {
            let map: Vec<String> = prio.priomap.iter().map(u8::to_string).collect();
            format!(" bands {} priomap {}", prio.bands.len(), map.join(" "))
        }
        Qdisc::Tbf(tbf) => {
            let (rate, burst, limit) = (print_rate(tbf.rate), tbf.burst_bytes, tbf.limit_bytes);
            let peak = tbf.peak_rate.map(|rate| format!(" peakrate {}", print_rate(rate)));
            let mtu = tbf.mtu_bytes.map(|bytes| format!(" mtu {bytes}"));
            let (peak, mtu) = (peak.unwrap_or_default(), mtu.unwrap_or_default());
            format!(
                " rate {rate} burst {burst} limit {limit}{peak}{mtu}{}",
                granularity(tbf.granularity)
            )
        }
        Qdisc::Htb(htb) => {
            let default =
                htb.default_class.and_then(|index| handles(htb, major).get(index).copied());
            let default = default.map(|handle| format!(" default {:x}", handle.minor));
            let (r2q, direct) = (htb.rate_to_quantum, htb.direct_packets);
            format!(
                "{} r2q {r2q} direct_qlen {direct}{}",
                default.unwrap_or_default(),
                granularity(htb.granularity)
            )
        }
    }
}

fn granularity(granularity: Span) -> String {
    if granularity.is_zero() {
        return String::new();
    }
    format!(" granularity {}", print_time(granularity))
}
