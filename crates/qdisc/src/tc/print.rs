//! Printing a tree of disciplines as the commands that build it.

use super::disciplines::print_cake;
use super::draft::{ALL, Handle, IP, IPV6, IpWords, print_filter};
use super::hfsc::print_curves;
use super::words::{print_rate, print_time};
use crate::parameters;
use crate::{
    Choke, Codel, Dualpi2, Filter, Fq, FqCodel, FqPie, HfscClass, HtbClass, PfifoFast, Pie, Qdisc,
    Red, Sfq, Tbf,
};
use fairwind_units::Span;

/// The commands that give `device` this queue, one by one, as [`parse`](super::parse) reads them. What `tc` has no word
/// for is printed with a word of ours, which a kernel refuses.
///
/// Classes get other names if theirs are not numbers of `tc` such as `1:10`.
pub fn commands(queue: &Qdisc, device: &str) -> Vec<String> {
    commands_below(queue, device, "root", 1, Reader::Ours)
}

/// The same for a kernel: `queue` is put below `parent` (`root`, `parent 1:1`) with this handle, those below it have
/// the handles above, and filters take packets of both versions of IP.
pub fn kernel_commands(queue: &Qdisc, device: &str, parent: &str, handle: u32) -> Vec<String> {
    commands_below(queue, device, parent, handle, Reader::Kernel)
}

fn commands_below(
    queue: &Qdisc,
    device: &str,
    parent: &str,
    handle: u32,
    reader: Reader,
) -> Vec<String> {
    let mut printer = Printer { device, reader, lines: Vec::new(), next_major: handle };
    printer.discipline(queue, parent);
    printer.lines
}

/// What reads the commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reader {
    /// This crate.
    Ours,
    /// `ip` and `tc` of a kernel.
    Kernel,
}

impl Reader {
    /// What filters take.
    fn versions(self) -> &'static [IpWords] {
        match self {
            Self::Ours => &[IP],
            Self::Kernel => &[IP, IPV6],
        }
    }
}

struct Printer<'d> {
    device: &'d str,
    reader: Reader,
    lines: Vec<String>,
    /// The number of the next discipline.
    next_major: u32,
}

impl Printer<'_> {
    fn discipline(&mut self, queue: &Qdisc, place: &str) {
        let major = self.next_major;
        self.next_major += 1;
        let device = self.device;
        let (name, mut parameters) = (queue.name(), parameters(queue, major));
        if let (Qdisc::PfifoFast(fast), Reader::Kernel) = (queue, self.reader) {
            // The kernel makes the bands as long as the device has it when the discipline is made.
            let limit = fast.limit_packets;
            self.lines.push(format!("ip link set dev {device} txqueuelen {limit}"));
            parameters.clear();
        }
        self.lines.push(format!(
            "tc qdisc replace dev {device} {place} handle {major:x}: {name}{parameters}"
        ));
        match queue {
            Qdisc::Red(Red { child: Some(child), .. })
            | Qdisc::Tbf(Tbf { child: Some(child), .. }) => {
                self.below(Handle { major, minor: 1 }, child);
            }
            Qdisc::Prio(prio) => {
                for (minor, band) in (1..).zip(&prio.bands) {
                    self.below(Handle { major, minor }, band);
                }
                let target = |band: u8| Handle { major, minor: u32::from(band) + 1 };
                self.filters(prio.filters.iter().map(|(filter, band)| (target(*band), filter)));
            }
            Qdisc::Drr(drr) => {
                let classes = || (1..).map(|minor| Handle { major, minor }).zip(&drr.classes);
                for (handle, class) in classes() {
                    let quantum = class.quantum_bytes;
                    self.lines.push(format!(
                        "tc class replace dev {device} parent {major:x}: classid {handle} drr quantum {quantum}"
                    ));
                    self.below(handle, &class.child);
                }
                self.filters(classes().flat_map(|(handle, class)| each(handle, &class.filters)));
            }
            Qdisc::Htb(htb) => self.tree(htb.classes.iter().map(PrintedClass::of_htb), major),
            Qdisc::Hfsc(hfsc) => self.tree(hfsc.classes.iter().map(PrintedClass::of_hfsc), major),
            _ => {}
        }
    }

    fn below(&mut self, parent: Handle, queue: &Qdisc) {
        self.discipline(queue, &format!("parent {parent}"));
    }

    /// Classes that have others below them: all before the first queue, which needs its class.
    fn tree<'q>(&mut self, classes: impl Iterator<Item = PrintedClass<'q>>, major: u32) {
        let classes: Vec<PrintedClass<'q>> = classes.collect();
        let handles = handles(classes.iter().map(|class| class.name), major);
        for (handle, class) in handles.iter().zip(&classes) {
            let parent = class.parent.and_then(|parent| handles.get(parent));
            let parent = parent.map_or_else(|| format!("{major:x}:"), Handle::to_string);
            let (device, parameters) = (self.device, &class.parameters);
            self.lines.push(format!(
                "tc class replace dev {device} parent {parent} classid {handle} {parameters}"
            ));
        }
        let classes = || handles.iter().copied().zip(&classes);
        for (handle, class) in classes() {
            if let Some(child) = class.child {
                self.below(handle, child);
            }
        }
        self.filters(classes().flat_map(|(handle, class)| each(handle, class.filters)));
    }

    /// Filters in the order in which they are asked, each with its class.
    fn filters<'f>(&mut self, filters: impl Iterator<Item = (Handle, &'f Filter)>) {
        let mut priority = 0;
        for (target, filter) in filters {
            let is_all = *filter == Filter::default();
            for words in if is_all { &[ALL] } else { self.reader.versions() } {
                priority += 1;
                let (device, major, protocol) = (self.device, target.major, words.protocol);
                let kind = if is_all { "matchall" } else { "u32" };
                let matches = print_filter(filter, words);
                self.lines.push(format!(
                    "tc filter add dev {device} parent {major:x}: protocol {protocol} prio {priority} {kind}{matches} \
                     flowid {target}"
                ));
            }
        }
    }
}

/// A class of an htb or hfsc.
struct PrintedClass<'q> {
    name: &'q String,
    parent: Option<usize>,
    /// With the kind before them.
    parameters: String,
    filters: &'q [Filter],
    child: Option<&'q Qdisc>,
}

impl<'q> PrintedClass<'q> {
    fn of_htb(class: &'q HtbClass) -> Self {
        let HtbClass { name, parent, filters, child, .. } = class;
        let parameters = format!("htb{}", class_parameters(class));
        Self { name, parent: *parent, parameters, filters, child: child.as_ref() }
    }

    fn of_hfsc(class: &'q HfscClass) -> Self {
        let HfscClass { name, parent, filters, child, .. } = class;
        let parameters = format!("hfsc{}", print_curves(class));
        Self { name, parent: *parent, parameters, filters, child: child.as_ref() }
    }
}

fn each(target: Handle, filters: &[Filter]) -> impl Iterator<Item = (Handle, &Filter)> {
    filters.iter().map(move |filter| (target, filter))
}

/// The numbers of the classes: those in their names where all are numbers of this discipline.
fn handles<'n>(names: impl Iterator<Item = &'n String> + Clone, major: u32) -> Vec<Handle> {
    let number = |name: &String| {
        let (owner, minor) = name.split_once(':')?;
        let minor =
            u32::from_str_radix(minor, 16).ok().filter(|minor| (1..=0xffff).contains(minor))?;
        (u32::from_str_radix(owner, 16).ok()? == major).then_some(Handle { major, minor })
    };
    let numbered: Option<Vec<Handle>> = names.clone().map(number).collect();
    numbered
        .unwrap_or_else(|| (1..).take(names.count()).map(|minor| Handle { major, minor }).collect())
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
        Qdisc::PfifoFast(fast) => parameters::print(PfifoFast::PARAMETERS, fast),
        Qdisc::Fq(fq) => parameters::print(Fq::PARAMETERS, fq),
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
                default_class(htb.classes.iter().map(|c| &c.name), htb.default_class, major);
            let (r2q, direct) = (htb.rate_to_quantum, htb.direct_packets);
            format!("{default} r2q {r2q} direct_qlen {direct}{}", granularity(htb.granularity))
        }
        Qdisc::Hfsc(hfsc) => {
            default_class(hfsc.classes.iter().map(|c| &c.name), hfsc.default_class, major)
        }
    }
}

fn default_class<'n>(
    names: impl Iterator<Item = &'n String> + Clone,
    default: Option<usize>,
    major: u32,
) -> String {
    let handle = default.and_then(|index| handles(names, major).get(index).copied());
    handle.map_or_else(String::new, |handle| format!(" default {:x}", handle.minor))
}

fn granularity(granularity: Span) -> String {
    if granularity.is_zero() {
        return String::new();
    }
    format!(" granularity {}", print_time(granularity))
}
