//! A text as words with their places, the numbers among them, and errors at a place.
//!
//! Numbers have the units of tc(8), "PARAMETERS".

use fairwind_units::{BitRate, Ratio, Span};
use std::fmt;
use std::fmt::Write as _;

/// An error of a text, and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TcError {
    /// Line of the text, from 1.
    pub line: usize,
    /// Column of the line in characters, from 1.
    pub column: usize,
    /// The error, and its remedy.
    pub rule: String,
}

impl fmt::Display for TcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            1 => write!(f, "column {}: {}", self.column, self.rule),
            line => write!(f, "line {line}, column {}: {}", self.column, self.rule),
        }
    }
}

impl std::error::Error for TcError {}

/// The one of `known` that is most like `word`, if one is like it at all; case matters little.
pub fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let word = word.to_lowercase();
    known
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(&word, &candidate.to_lowercase()), candidate))
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|left, right| left.0.total_cmp(&right.0))
        .map(|(_, candidate)| candidate)
}

/// A hint: the one of `known` that is most like `word`, or else all of them.
pub fn suggestion<'k>(word: &str, known: impl Iterator<Item = &'k str> + Clone) -> String {
    nearest_or(word, known, "there are")
}

/// The same for words of `tc`.
pub(crate) fn advice(word: &str, known: &[&str]) -> String {
    nearest_or(word, known.iter().copied(), "known are")
}

fn nearest_or<'k>(word: &str, known: impl Iterator<Item = &'k str> + Clone, all: &str) -> String {
    match nearest(word, known.clone()) {
        Some(nearest) => format!("did you mean \"{nearest}\"?"),
        None => format!("{all} {}", known.collect::<Vec<_>>().join(", ")),
    }
}

/// Where something stands in a text, both from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl Place {
    pub(crate) fn error(self, rule: impl Into<String>) -> TcError {
        TcError { line: self.line, column: self.column, rule: rule.into() }
    }
}

/// A word and where it begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Word<'t> {
    pub(crate) text: &'t str,
    pub(crate) place: Place,
}

/// The words of a line.
pub(crate) fn split(text: &str, line: usize) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut begin = None;
    for (column, (offset, c)) in (1..).zip(text.char_indices().chain([(text.len(), ' ')])) {
        match (c.is_whitespace(), begin) {
            (false, None) => begin = Some((offset, column)),
            (true, Some((start, column))) => {
                words.push(Word { text: &text[start..offset], place: Place { line, column } });
                begin = None;
            }
            _ => {}
        }
    }
    words
}

/// Words that are read one after the other.
#[derive(Debug, Clone)]
pub(crate) struct Words<'t> {
    rest: std::slice::Iter<'t, Word<'t>>,
    /// Where the last word stands.
    pub(crate) last: Place,
    /// What the parameters are of.
    pub(crate) subject: &'static str,
}

impl<'t> Words<'t> {
    pub(crate) fn new(words: &'t [Word<'t>], before: Place) -> Self {
        Self { rest: words.iter(), last: before, subject: "tc" }
    }

    /// The next word, where there is one.
    pub(crate) fn next(&mut self) -> Option<&'t str> {
        let word = self.rest.next()?;
        self.last = word.place;
        Some(word.text)
    }

    /// The next word, left where it is.
    pub(crate) fn peek(&self) -> Option<&'t str> {
        self.rest.as_slice().first().map(|word| word.text)
    }

    /// Takes the next word where it is `word`.
    pub(crate) fn take(&mut self, word: &str) -> bool {
        let found = self.peek() == Some(word);
        if found {
            self.next();
        }
        found
    }

    /// The next word, which has to be there.
    pub(crate) fn value(&mut self, what: &str) -> Result<&'t str, TcError> {
        let before = self.last;
        self.next().ok_or_else(|| before.error(format!("after this word {what} is missing")))
    }

    /// The next word as one of `known`; `None` behind the last one.
    pub(crate) fn option(
        &mut self,
        known: &[&'static str],
    ) -> Result<Option<&'static str>, TcError> {
        let Some(word) = self.next() else { return Ok(None) };
        if let Some(name) = known.iter().find(|name| **name == word) {
            return Ok(Some(*name));
        }
        let rule =
            format!("\"{word}\" is not a parameter of {}; {}", self.subject, advice(word, known));
        Err(self.wrong(rule))
    }

    /// The words before the first `word`, and those from it on, where it is there. This takes none of them.
    pub(crate) fn split_at(&self, word: &str) -> (Self, Option<Self>) {
        let words = self.rest.as_slice();
        let Some(index) = words.iter().position(|other| other.text == word) else {
            return (self.clone(), None);
        };
        let (before, behind) = words.split_at(index);
        let part = |words: &'t [Word<'t>]| Self { rest: words.iter(), ..self.clone() };
        (part(before), Some(part(behind)))
    }

    /// An error about the last word.
    pub(crate) fn wrong(&self, rule: impl Into<String>) -> TcError {
        self.last.error(rule)
    }

    fn number<T>(
        &mut self,
        what: &str,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<T, TcError> {
        let word = self.value(what)?;
        read(word).map_err(|rule| self.wrong(rule))
    }

    pub(crate) fn rate(&mut self) -> Result<BitRate, TcError> {
        self.number("a rate such as 5mbit", rate)
    }

    pub(crate) fn bytes(&mut self) -> Result<u64, TcError> {
        self.number("a size such as 1520 or 64kb", size)
    }

    /// A size that fits in 32 bits.
    pub(crate) fn size(&mut self) -> Result<u32, TcError> {
        let bytes = self.bytes()?;
        u32::try_from(bytes).map_err(|_| self.wrong("it must be less than 4 GiB"))
    }

    pub(crate) fn time(&mut self) -> Result<Span, TcError> {
        self.number("a time such as 5ms", time)
    }

    pub(crate) fn share(&mut self) -> Result<Ratio, TcError> {
        self.number("a probability such as 0.02 or 2%", share)
    }

    /// A number of per cent, with or without its sign.
    pub(crate) fn per_cent(&mut self) -> Result<Ratio, TcError> {
        let is_bare = self.peek().is_some_and(|word| !word.ends_with('%'));
        let share = self.number("a share such as 2%", share)?;
        let hundredth = Ratio::from_parts_per_billion(share.as_parts_per_billion() / 100);
        Ok(if is_bare { hundredth } else { share })
    }

    /// A whole number, in any notation of C.
    pub(crate) fn count<T: TryFrom<u64>>(&mut self) -> Result<T, TcError> {
        self.number("a whole number", |word| {
            let number = whole(word)?;
            T::try_from(number).map_err(|_| format!("{number} is too large"))
        })
    }

    /// A time; a number without unit is in seconds.
    pub(crate) fn seconds(&mut self) -> Result<Span, TcError> {
        match self.peek().and_then(|word| word.parse::<u32>().ok()) {
            Some(seconds) => {
                self.next();
                Ok(Span::from_secs(seconds.into()))
            }
            None => self.time(),
        }
    }

    /// A whole number of bytes that may be negative.
    pub(crate) fn signed(&mut self) -> Result<i32, TcError> {
        let word = self.value("a number of bytes")?;
        word.parse().map_err(|_| self.wrong(format!("\"{word}\" is not a whole number")))
    }
}

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

pub(crate) fn rate(word: &str) -> Result<BitRate, String> {
    number(word, "rate", RATES).map(BitRate::from_bits_per_second)
}

/// Bytes; what stands behind a slash, the size of a cell, is of no meaning here.
pub(crate) fn size(word: &str) -> Result<u64, String> {
    number(word.split('/').next().unwrap_or(word), "size", SIZES)
}

pub(crate) fn time(word: &str) -> Result<Span, String> {
    number(word, "time", TIMES).map(Span::from_nanos)
}

pub(crate) fn share(word: &str) -> Result<Ratio, String> {
    number(word, "probability", SHARES).map(Ratio::from_parts_per_billion)
}

/// A whole number; hexadecimal behind `0x`. A `p` for packets may follow.
pub(crate) fn whole(word: &str) -> Result<u64, String> {
    let number = match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => word.strip_suffix('p').unwrap_or(word).parse(),
    };
    number.map_err(|_| format!("\"{word}\" is not a whole number"))
}

/// An exact decimal and its unit, rounded down to a whole number of the base unit.
fn number(word: &str, quantity: &str, units: Units) -> Result<u64, String> {
    let split = word.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(word.len());
    let (digits, unit) = word.split_at(split);
    let lower = unit.to_ascii_lowercase();
    let Some((_, factor)) = units.iter().find(|(name, _)| *name == lower) else {
        let known: Vec<&str> = units.iter().map(|(name, _)| *name).skip(1).collect();
        return Err(format!(
            "\"{unit}\" is not a unit of a {quantity}; known are {}",
            known.join(", ")
        ));
    };
    let (whole, decimals) = digits.split_once('.').unwrap_or((digits, ""));
    let malformed = || format!("\"{word}\" is not a {quantity}");
    let all: u128 = format!("{whole}{decimals}").parse().map_err(|_| malformed())?;
    let divisor = u32::try_from(decimals.len()).ok().and_then(|d| 10_u128.checked_pow(d));
    let product = all.checked_mul(u128::from(*factor)).zip(divisor);
    let value =
        product.map(|(product, divisor)| product / divisor).and_then(|v| u64::try_from(v).ok());
    value.ok_or_else(|| format!("\"{word}\" is too large for a {quantity}"))
}

/// As `tc` reads it.
pub(crate) fn print_rate(rate: BitRate) -> String {
    print(
        rate.as_bits_per_second(),
        &[("gbit", 1_000_000_000), ("mbit", 1_000_000), ("kbit", 1000)],
        "bit",
    )
}

/// As `tc` reads it.
pub(crate) fn print_time(time: Span) -> String {
    print(time.as_nanos(), &[("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1000)], "ns")
}

/// As `tc` reads it.
pub(crate) fn print_share(share: Ratio) -> String {
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
