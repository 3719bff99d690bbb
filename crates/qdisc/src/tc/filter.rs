//! Filters: which packets go to which class.

use super::draft::Handle;
use super::error::TcError;
use super::number;
use super::words::{Place, Words};
use crate::Filter;

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
pub(super) fn handle(words: &mut Words<'_>, major: Option<u32>) -> Result<Handle, TcError> {
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
pub(super) fn matches(words: &mut Words<'_>) -> Result<Filter, TcError> {
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

/// The words that [`matches`] reads; nothing where everything is taken.
pub(super) fn print(filter: &Filter) -> String {
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
pub(super) fn flower(words: &mut Words<'_>) -> Result<Filter, TcError> {
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
    number::whole(word).ok().and_then(|number| u8::try_from(number).ok())
}
