//! Numbers with the units of `tc` (tc(8), "PARAMETERS").

use fairwind_units::{BitRate, Ratio, Span};
use std::fmt::Write as _;

/// Unit and how many of the base unit one of it is.
type Units = &'static [(&'static str, u64)];

/// In bits per second.
const RATES: Units = &[
    ("", 1),
    ("bit", 1),
    ("kbit", 1_000),
    ("mbit", 1_000_000),
    ("gbit", 1_000_000_000),
    ("tbit", 1_000_000_000_000),
    ("kibit", 1 << 10),
    ("mibit", 1 << 20),
    ("gibit", 1 << 30),
    ("bps", 8),
    ("kbps", 8_000),
    ("mbps", 8_000_000),
    ("gbps", 8_000_000_000),
    ("kibps", 8 << 10),
    ("mibps", 8 << 20),
];

/// In bytes; a `k` is 1024 here.
const SIZES: Units = &[
    ("", 1),
    ("b", 1),
    ("k", 1 << 10),
    ("kb", 1 << 10),
    ("m", 1 << 20),
    ("mb", 1 << 20),
    ("g", 1 << 30),
    ("gb", 1 << 30),
    ("kbit", 1 << 7),
    ("mbit", 1 << 17),
    ("gbit", 1 << 27),
];

/// In nanoseconds.
const TIMES: Units = &[
    ("", 1_000),
    ("s", 1_000_000_000),
    ("sec", 1_000_000_000),
    ("secs", 1_000_000_000),
    ("ms", 1_000_000),
    ("msec", 1_000_000),
    ("msecs", 1_000_000),
    ("us", 1_000),
    ("usec", 1_000),
    ("usecs", 1_000),
    ("ns", 1),
    ("nsec", 1),
    ("nsecs", 1),
];

/// In parts per billion.
const SHARES: Units = &[("", 1_000_000_000), ("%", 10_000_000)];

pub(super) fn rate(word: &str) -> Result<BitRate, String> {
    number(word, "rate", RATES).map(BitRate::from_bits_per_second)
}

/// Bytes; what stands behind a slash, the size of a cell, is of no meaning here.
pub(super) fn size(word: &str) -> Result<u64, String> {
    number(word.split('/').next().unwrap_or(word), "size", SIZES)
}

pub(super) fn time(word: &str) -> Result<Span, String> {
    number(word, "time", TIMES).map(Span::from_nanos)
}

pub(super) fn share(word: &str) -> Result<Ratio, String> {
    number(word, "probability", SHARES).map(Ratio::from_parts_per_billion)
}

/// A whole number; hexadecimal behind `0x`. A `p` for packets may follow.
pub(super) fn whole(word: &str) -> Result<u64, String> {
    let number = match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => word.strip_suffix('p').unwrap_or(word).parse(),
    };
    number.map_err(|_| format!("\"{word}\" is no whole number"))
}

/// An exact decimal and its unit, rounded down to a whole number of the base unit.
fn number(word: &str, quantity: &str, units: Units) -> Result<u64, String> {
    let split = word.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(word.len());
    let (digits, unit) = word.split_at(split);
    let lower = unit.to_ascii_lowercase();
    let Some((_, factor)) = units.iter().find(|(name, _)| *name == lower) else {
        let known: Vec<&str> = units.iter().map(|(name, _)| *name).skip(1).collect();
        return Err(format!(
            "\"{unit}\" is no unit of a {quantity}; known are {}",
            known.join(", ")
        ));
    };
    let (whole, decimals) = digits.split_once('.').unwrap_or((digits, ""));
    let malformed = || format!("\"{word}\" is no {quantity}");
    let all: u128 = format!("{whole}{decimals}").parse().map_err(|_| malformed())?;
    let divisor = u32::try_from(decimals.len()).ok().and_then(|d| 10_u128.checked_pow(d));
    let product = all.checked_mul(u128::from(*factor)).zip(divisor);
    let value =
        product.map(|(product, divisor)| product / divisor).and_then(|v| u64::try_from(v).ok());
    value.ok_or_else(|| format!("\"{word}\" is larger than any {quantity} kept"))
}

/// As `tc` reads it.
pub(super) fn print_rate(rate: BitRate) -> String {
    print(
        rate.as_bits_per_second(),
        &[("gbit", 1_000_000_000), ("mbit", 1_000_000), ("kbit", 1000)],
        "bit",
    )
}

/// As `tc` reads it.
pub(super) fn print_time(time: Span) -> String {
    print(time.as_nanos(), &[("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1000)], "ns")
}

/// As `tc` reads it.
pub(super) fn print_share(share: Ratio) -> String {
    let parts = share.as_parts_per_billion();
    let mut text = format!("{}", parts / 1_000_000_000);
    if !parts.is_multiple_of(1_000_000_000) {
        let _ = write!(text, ".{:09}", parts % 1_000_000_000);
    }
    if text.contains('.') { text.trim_end_matches('0').to_owned() } else { text }
}

fn print(value: u64, units: Units, least: &str) -> String {
    let unit = units.iter().find(|(_, factor)| value >= *factor && value.is_multiple_of(*factor));
    match unit {
        Some((name, factor)) => format!("{}{name}", value / factor),
        None => format!("{value}{least}"),
    }
}
