//! A tree as it was written, before it is known whether it fits together, and the filters in it.

use super::words::whole;
use super::words::{Place, TcError, Words};
use crate::{Filter, Qdisc, Tbf};
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

/// A discipline without what is below.
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
}

/// An htb without its classes.
#[derive(Debug, Clone, Copy)]
pub(super) struct HtbBody {
    /// Minor number of the default class, and where it was written.
    pub(super) default: Option<(u32, Place)>,
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
    Drr { quantum_bytes: Option<u32> },
    Htb(HtbClassBody),
}

/// The parameters of a class of an htb.
#[derive(Debug, Clone, Copy)]
pub(super) struct HtbClassBody {
    pub(super) rate: BitRate,
    pub(super) ceil: Option<BitRate>,
    pub(super) burst_bytes: Option<u64>,
    pub(super) ceil_burst_bytes: Option<u64>,
    pub(super) priority: u8,
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
    handle.ok_or_else(|| words.wrong(format!("\"{word}\" is no number such as 1:10")))
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
        return Err(words.wrong(format!("the whole field is asked for, so the mask is {mask:#x}")));
    }
    if value & !mask != 0 {
        return Err(place.error(format!("{value:#x} has bits outside of the mask {mask:#x}")));
    }
    T::try_from(value).map_err(|_| place.error(format!("{value} is too large")))
}

/// The words that [`read_matches`] reads; nothing where everything is taken.
pub(super) fn print_filter(filter: &Filter) -> String {
    let group = filter.group.as_ref().map(|name| format!(" match group {name}"));
    let field = |name: &str, value: Option<u64>, mask: u64| {
        value.map(|value| format!(" match ip {name} {value:#x} {mask:#x}"))
    };
    let fields = [
        group,
        field("sport", filter.source_port.map(u64::from), 0xffff),
        field("dport", filter.destination_port.map(u64::from), 0xffff),
        field("protocol", filter.protocol.map(u64::from), 0xff),
        field("dsfield", filter.dscp.map(|dscp| u64::from(dscp) << 2), 0xfc),
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
                        words.wrong(format!("\"{other}\" is no protocol such as tcp, udp or 6"))
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
