//! A tree as it was written, with its filters, and the tree of disciplines that is assembled from it.

use super::hfsc::HfscClassBody;
use super::words::{Place, TcError, Words, whole};
use crate::{
    DEFAULT_PACKETS, Drr, DrrClass, ETHERNET_FRAME, Filter, Hfsc, HfscClass, Htb, HtbClass, Prio,
    Qdisc, Tbf,
};
use fairwind_units::{BitRate, Span};

/// A class's or a discipline's number: major and minor, as `1:10`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Handle {
    pub(super) major: u32,
    /// Zero for a discipline.
    pub(super) minor: u32,
}

impl std::fmt::Display for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:x}:{:x}", self.major, self.minor)
    }
}

/// Disciplines, classes and filters as they were written.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) disciplines: Vec<DisciplineDraft>,
    pub(super) classes: Vec<ClassDraft>,
    pub(super) filters: Vec<FilterDraft>,
}

/// A discipline.
#[derive(Debug)]
pub(super) struct DisciplineDraft {
    pub(super) major: u32,
    /// The class that it is the discipline of; `None` at the root.
    pub(super) parent: Option<Handle>,
    pub(super) body: Body,
    pub(super) place: Place,
}

/// A discipline without its children.
#[derive(Debug, Clone)]
pub(super) enum Body {
    /// It has no classes; a red may have a child.
    Classless(Qdisc),
    Tbf(Tbf),
    Prio {
        bands: usize,
        priomap: [u8; 16],
    },
    Drr,
    Htb(HtbBody),
    Hfsc {
        default: DefaultClass,
    },
}

impl Body {
    /// What has classes of its own, by its name.
    pub(super) fn classful(&self) -> Option<&'static str> {
        match self {
            Self::Htb(_) => Some("htb"),
            Self::Drr => Some("drr"),
            Self::Hfsc { .. } => Some("hfsc"),
            _ => None,
        }
    }
}

/// Minor number of the default class, and where it was written.
type DefaultClass = Option<(u32, Place)>;

/// An htb without its classes.
#[derive(Debug, Clone, Copy)]
pub(super) struct HtbBody {
    pub(super) default: DefaultClass,
    pub(super) rate_to_quantum: u32,
    pub(super) direct_packets: u32,
    pub(super) granularity: Span,
}

/// A class.
#[derive(Debug)]
pub(super) struct ClassDraft {
    pub(super) handle: Handle,
    pub(super) parent: Option<Handle>,
    pub(super) body: ClassBody,
    pub(super) place: Place,
}

/// The parameters of a class.
#[derive(Debug, Clone, Copy)]
pub(super) enum ClassBody {
    Drr {
        quantum_bytes: Option<u32>,
    },
    /// With its rate.
    Htb(BitRate, HtbClassBody),
    Hfsc(HfscClassBody),
}

/// The parameters of a class of an htb, as far as they are written.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct HtbClassBody {
    pub(super) rate: Option<BitRate>,
    pub(super) ceil: Option<BitRate>,
    pub(super) burst_bytes: Option<u64>,
    pub(super) ceil_burst_bytes: Option<u64>,
    pub(super) priority: Option<u8>,
    pub(super) quantum_bytes: Option<u32>,
}

impl Draft {
    /// A number that no discipline has.
    pub(super) fn next_major(&self) -> u32 {
        self.disciplines.iter().map(|discipline| discipline.major).max().unwrap_or(0) + 1
    }
}

/// A filter as it was written.
#[derive(Debug)]
pub(super) struct FilterDraft {
    pub(super) target: Handle,
    pub(super) filter: Filter,
    /// Filters with a lower number are asked first.
    pub(super) priority: u32,
    pub(super) place: Place,
}

/// Reads a handle, `1:10` or `1:`; without a major number that of `major`.
pub(super) fn read_handle(words: &mut Words<'_>, major: Option<u32>) -> Result<Handle, TcError> {
    let word = words.value("a number such as 1:10")?;
    let number = |digits: &str| match digits {
        "" => Some(0),
        digits => u32::from_str_radix(digits, 16).ok().filter(|number| *number <= 0xffff),
    };
    let parts = match word.split_once(':') {
        Some(("", minor)) => major.zip(number(minor)),
        Some((major, minor)) => number(major).zip(number(minor)),
        None => major.zip(number(word)),
    };
    let handle = parts.map(|(major, minor)| Handle { major, minor });
    handle.ok_or_else(|| words.wrong(format!("\"{word}\" is not a number such as 1:10")))
}

/// What may be matched on, one after the other: `match ip dport 443 0xffff match group thin`.
pub(super) fn read_matches(words: &mut Words<'_>) -> Result<Filter, TcError> {
    let mut filter = Filter::default();
    while words.take("match") {
        one(&mut filter, words)?;
    }
    Ok(filter)
}

fn one(filter: &mut Filter, words: &mut Words<'_>) -> Result<(), TcError> {
    let what = words.value("ip, ip6 or group")?;
    match what {
        "group" => {
            filter.group = Some(words.value("the name of a group")?.to_owned());
            Ok(())
        }
        "ip" | "ip6" => field(filter, words),
        _ => {
            let rule = format!("\"{what}\" cannot be matched on; known are ip, ip6, group");
            Err(words.wrong(rule))
        }
    }
}

fn field(filter: &mut Filter, words: &mut Words<'_>) -> Result<(), TcError> {
    let name = words.value("a field of the header")?;
    match name {
        "sport" => filter.source_port = Some(masked(words, 0xffff)?),
        "dport" => filter.destination_port = Some(masked(words, 0xffff)?),
        "protocol" => filter.protocol = Some(masked(words, 0xff)?),
        "dsfield" | "tos" | "priority" => {
            let octet: u8 = masked(words, 0xfc)?;
            filter.dscp = Some(octet >> 2);
        }
        _ => {
            let known = "known are sport, dport, protocol, dsfield";
            return Err(words.wrong(format!("\"{name}\" cannot be matched on; {known}")));
        }
    }
    Ok(())
}

/// A value and its mask, which has to be `mask`: parts of a field cannot be asked for.
fn masked<T: TryFrom<u64>>(words: &mut Words<'_>, mask: u64) -> Result<T, TcError> {
    let value: u64 = words.count()?;
    let place = words.last;
    if words.count::<u64>()? != mask {
        return Err(words.wrong(format!("the whole field must match, so the mask is {mask:#x}")));
    }
    if value & !mask != 0 {
        return Err(place.error(format!("{value:#x} has bits outside of the mask {mask:#x}")));
    }
    T::try_from(value).map_err(|_| place.error(format!("{value} is too large")))
}

/// What `tc` calls a version of IP, in filters, and its type of service.
pub(super) struct IpWords {
    pub(super) protocol: &'static str,
    name: &'static str,
    service: &'static str,
}

pub(super) const IP: IpWords = IpWords { protocol: "ip", name: "ip", service: "dsfield" };
pub(super) const IPV6: IpWords = IpWords { protocol: "ipv6", name: "ip6", service: "priority" };
/// Whatever it is.
pub(super) const ALL: IpWords = IpWords { protocol: "all", ..IP };

/// The words that [`read_matches`] reads; nothing where everything is taken.
pub(super) fn print_filter(filter: &Filter, words: &IpWords) -> String {
    let group = filter.group.as_ref().map(|name| format!(" match group {name}"));
    let field = |name: &str, value: Option<u64>, mask: u64| {
        value.map(|value| format!(" match {} {name} {value:#x} {mask:#x}", words.name))
    };
    let fields = [
        group,
        field("sport", filter.source_port.map(u64::from), 0xffff),
        field("dport", filter.destination_port.map(u64::from), 0xffff),
        field("protocol", filter.protocol.map(u64::from), 0xff),
        field(words.service, filter.dscp.map(|dscp| u64::from(dscp) << 2), 0xfc),
    ];
    fields.into_iter().flatten().collect()
}

/// Filters that `tc flower` has: `src_port 443 ip_proto tcp`.
pub(super) fn read_flower(words: &mut Words<'_>) -> Result<Filter, TcError> {
    let mut filter = Filter::default();
    while let Some(key) = words.peek() {
        match key {
            "src_port" | "dst_port" => {
                words.next();
                let port = Some(words.count()?);
                if key == "src_port" {
                    filter.source_port = port;
                } else {
                    filter.destination_port = port;
                }
            }
            "ip_proto" => {
                words.next();
                let word = words.value("a protocol")?;
                filter.protocol = Some(match word {
                    "tcp" => 6,
                    "udp" => 17,
                    other => protocol(other).ok_or_else(|| {
                        words.wrong(format!("\"{other}\" is not a protocol such as tcp, udp or 6"))
                    })?,
                });
            }
            _ => break,
        }
    }
    Ok(filter)
}

fn protocol(word: &str) -> Option<u8> {
    whole(word).ok().and_then(|number| u8::try_from(number).ok())
}

/// A tree deeper than anybody builds, so that recursion has a bound.
const DEEPEST: usize = 32;

/// The tree of a draft.
pub(super) fn assemble(draft: &Draft) -> Result<Qdisc, TcError> {
    let mut roots = draft.disciplines.iter().filter(|discipline| discipline.parent.is_none());
    let root =
        roots.next().ok_or(Place { line: 1, column: 1 }.error("the root has no discipline"))?;
    if let Some(other) = roots.next() {
        return Err(other.place.error("the root has a discipline already"));
    }
    samples_are_conserved(draft)?;
    Tree { draft }.discipline(root, 0)
}

/// Every class, filter and discipline has something to be attached to.
fn samples_are_conserved(draft: &Draft) -> Result<(), TcError> {
    for class in &draft.classes {
        let owner = draft.disciplines.iter().find(|owner| owner.major == class.handle.major);
        if !owner.is_some_and(|owner| has_classes(&owner.body, class.body)) {
            let rule = format!("no discipline {:x}: has classes of this kind", class.handle.major);
            return Err(class.place.error(rule));
        }
        let of_parent = |other: &ClassDraft| Some(other.handle) == class.parent;
        if class.parent.is_some() && !draft.classes.iter().any(of_parent) {
            let parent = class.parent.map(|parent| parent.to_string()).unwrap_or_default();
            return Err(class.place.error(format!("its parent {parent} is not a class")));
        }
        if draft.classes.iter().filter(|other| other.handle == class.handle).count() > 1 {
            return Err(class.place.error(format!("there are two classes {}", class.handle)));
        }
    }
    for discipline in &draft.disciplines {
        let Some(parent) = discipline.parent else { continue };
        if !has_room(draft, parent) {
            return Err(discipline.place.error(no_room(draft, parent)));
        }
        let same = |other: &&DisciplineDraft| other.parent == Some(parent);
        if draft.disciplines.iter().filter(same).count() > 1 {
            return Err(discipline.place.error(format!("there are two disciplines in {parent}")));
        }
    }
    match draft.filters.iter().find(|filter| !has_room(draft, filter.target)) {
        Some(filter) => {
            let rule =
                format!("the filter leads to {}: {}", filter.target, no_room(draft, filter.target));
            Err(filter.place.error(rule))
        }
        None => Ok(()),
    }
}

/// Whether there is a class `handle` that holds a queue.
fn has_room(draft: &Draft, handle: Handle) -> bool {
    let owner = draft.disciplines.iter().find(|owner| owner.major == handle.major);
    match owner.map(|owner| &owner.body) {
        Some(Body::Htb(_) | Body::Drr | Body::Hfsc { .. }) => {
            draft.classes.iter().any(|class| class.handle == handle)
                && !draft.classes.iter().any(|class| class.parent == Some(handle))
        }
        Some(Body::Prio { bands, .. }) => {
            usize::try_from(handle.minor).is_ok_and(|minor| (1..=*bands).contains(&minor))
        }
        Some(Body::Tbf(_) | Body::Classless(Qdisc::Red(_))) => handle.minor <= 1,
        _ => false,
    }
}

/// Why nothing can wait in `handle`.
fn no_room(draft: &Draft, handle: Handle) -> String {
    match draft.classes.iter().find(|class| class.parent == Some(handle)) {
        Some(child) => format!(
            "the class {handle} has children, so it holds no packets: name one without children, such as {}",
            child.handle
        ),
        None => format!("there is no class {handle}"),
    }
}

struct Tree<'d> {
    draft: &'d Draft,
}

impl Tree<'_> {
    fn discipline(&self, discipline: &DisciplineDraft, depth: usize) -> Result<Qdisc, TcError> {
        if depth > DEEPEST {
            return Err(discipline.place.error("the tree has a cycle, or is too deep"));
        }
        let major = discipline.major;
        let child = || {
            self.child(only_class(major), depth)?.map(Box::new).map_or(Ok(None), |c| Ok(Some(c)))
        };
        Ok(match &discipline.body {
            Body::Classless(Qdisc::Red(red)) => {
                Qdisc::Red(crate::Red { child: child()?, ..red.clone() })
            }
            Body::Classless(queue) => queue.clone(),
            Body::Tbf(tbf) => Qdisc::Tbf(crate::Tbf { child: child()?, ..tbf.clone() }),
            Body::Prio { bands, priomap } => {
                Qdisc::Prio(self.prio(major, *bands, *priomap, depth)?)
            }
            Body::Drr => Qdisc::Drr(self.drr(major, depth)?),
            Body::Htb(htb) => Qdisc::Htb(self.htb(major, htb, depth)?),
            Body::Hfsc { default } => Qdisc::Hfsc(self.hfsc(major, *default, depth)?),
        })
    }

    /// The discipline in a class. `tc` calls the only class of a tbf or red by the number 1 or none.
    fn child(&self, class: Handle, depth: usize) -> Result<Option<Qdisc>, TcError> {
        let is_child = |other: &&DisciplineDraft| {
            other.parent.is_some_and(|parent| {
                let whole = Handle { minor: 0, ..class };
                parent == class || (class.minor == 1 && parent == whole)
            })
        };
        let child = self.draft.disciplines.iter().find(is_child);
        child.map(|child| self.discipline(child, depth + 1)).transpose()
    }

    fn child_or_pfifo(&self, class: Handle, depth: usize) -> Result<Qdisc, TcError> {
        let usual = Qdisc::Pfifo { limit_packets: DEFAULT_PACKETS };
        Ok(self.child(class, depth)?.unwrap_or(usual))
    }

    fn prio(
        &self,
        major: u32,
        bands: usize,
        priomap: [u8; 16],
        depth: usize,
    ) -> Result<Prio, TcError> {
        let bands =
            (1..).take(bands).map(|minor| self.child_or_pfifo(Handle { major, minor }, depth));
        let bands = bands.collect::<Result<_, _>>()?;
        let mut filters: Vec<_> =
            self.draft.filters.iter().filter(|filter| filter.target.major == major).collect();
        filters.sort_by_key(|filter| filter.priority);
        let band = |minor: u32| u8::try_from(minor.saturating_sub(1)).unwrap_or(u8::MAX);
        let filters = filters.iter().map(|f| (f.filter.clone(), band(f.target.minor))).collect();
        Ok(Prio { bands, priomap, filters })
    }

    fn drr(&self, major: u32, depth: usize) -> Result<Drr, TcError> {
        let class = |class: &ClassDraft| {
            let quantum = match class.body {
                ClassBody::Drr { quantum_bytes } => quantum_bytes,
                _ => None,
            };
            Ok(DrrClass {
                quantum_bytes: quantum.unwrap_or(ETHERNET_FRAME),
                filters: self.filters(class.handle),
                child: self.child_or_pfifo(class.handle, depth)?,
            })
        };
        Ok(Drr { classes: self.classes(major).map(class).collect::<Result<_, _>>()? })
    }

    fn htb(&self, major: u32, body: &HtbBody, depth: usize) -> Result<Htb, TcError> {
        let HtbBody { default, rate_to_quantum, direct_packets, granularity } = *body;
        let default_class = self.default_class(major, default)?;
        let mut classes = Vec::new();
        for class in self.classes(major) {
            let ClassBody::Htb(rate, body) = class.body else { continue };
            let ceil = body.ceil.unwrap_or(rate);
            let usual = HtbClass::new(class.handle.to_string(), rate, rate_to_quantum);
            classes.push(HtbClass {
                parent: class.parent.and_then(|parent| self.index(parent)),
                ceil,
                burst_bytes: body.burst_bytes.unwrap_or(usual.burst_bytes),
                ceil_burst_bytes: body.ceil_burst_bytes.unwrap_or(HtbClass::default_burst(ceil)),
                priority: body.priority.unwrap_or_default(),
                quantum_bytes: body.quantum_bytes.unwrap_or(usual.quantum_bytes),
                filters: self.filters(class.handle),
                child: self.child_of_leaf(class.handle, depth)?,
                ..usual
            });
        }
        Ok(Htb { classes, default_class, rate_to_quantum, direct_packets, granularity })
    }

    fn hfsc(&self, major: u32, default: DefaultClass, depth: usize) -> Result<Hfsc, TcError> {
        let mut classes = Vec::new();
        for class in self.classes(major) {
            let ClassBody::Hfsc(body) = class.body else { continue };
            classes.push(HfscClass {
                name: class.handle.to_string(),
                parent: class.parent.and_then(|parent| self.index(parent)),
                real_time: body.real_time,
                link_sharing: body.link_sharing,
                upper_limit: body.upper_limit,
                filters: self.filters(class.handle),
                child: self.child_of_leaf(class.handle, depth)?,
            });
        }
        Ok(Hfsc { classes, default_class: self.default_class(major, default)? })
    }

    /// The queue of a class, unless it has classes below.
    fn child_of_leaf(&self, class: Handle, depth: usize) -> Result<Option<Qdisc>, TcError> {
        let is_leaf = !self.classes(class.major).any(|other| other.parent == Some(class));
        is_leaf.then(|| self.child_or_pfifo(class, depth)).transpose()
    }

    /// The place of a class among those of its discipline.
    fn index(&self, class: Handle) -> Option<usize> {
        self.classes(class.major).position(|known| known.handle == class)
    }

    fn default_class(&self, major: u32, default: DefaultClass) -> Result<Option<usize>, TcError> {
        let Some((minor, place)) = default.filter(|(minor, _)| *minor != 0) else {
            return Ok(None);
        };
        let handle = Handle { major, minor };
        let missing = || place.error(format!("the default class {handle} does not exist"));
        self.index(handle).ok_or_else(missing).map(Some)
    }

    fn classes(&self, major: u32) -> impl Iterator<Item = &ClassDraft> {
        self.draft.classes.iter().filter(move |class| class.handle.major == major)
    }

    fn filters(&self, target: Handle) -> Vec<Filter> {
        let mut filters: Vec<_> =
            self.draft.filters.iter().filter(|filter| filter.target == target).collect();
        filters.sort_by_key(|filter| filter.priority);
        filters.into_iter().map(|filter| filter.filter.clone()).collect()
    }
}

/// Whether a body is a discipline with classes of this kind.
fn has_classes(body: &Body, class: ClassBody) -> bool {
    matches!(
        (body, class),
        (Body::Htb(_), ClassBody::Htb(..))
            | (Body::Drr, ClassBody::Drr { .. })
            | (Body::Hfsc { .. }, ClassBody::Hfsc(_))
    )
}

/// The number of the class of a discipline without own classes.
fn only_class(major: u32) -> Handle {
    Handle { major, minor: 1 }
}
