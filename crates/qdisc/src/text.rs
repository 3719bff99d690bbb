//! Queues and impairments written as one text: the name of a discipline, or the syntax of `tc`.

use crate::limit::{DEFAULT_BANDWIDTH, QueueLimit};
use crate::qdisc::Qdisc;
use crate::tc::words::advice;
use crate::tc::{self, Netem, parse_netem};
use fairwind_units::{BitRate, Span};
use std::fmt;
use std::str::FromStr;

/// A queue as one text: the name of a discipline, or the arguments of `tc`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueText(String);

/// Why a text describes no queue.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct QueueTextError(String);

/// Disciplines that need parameters.
const WITH_PARAMETERS: [&str; 6] = ["red", "choke", "drr", "tbf", "htb", "hfsc"];

/// Disciplines that need none.
fn by_name() -> impl Iterator<Item = &'static str> {
    tc::KINDS.into_iter().filter(|kind| !WITH_PARAMETERS.contains(kind))
}

impl QueueText {
    /// The description for a link of this rate.
    ///
    /// # Errors
    /// Where it describes nothing; a text that was read does.
    pub fn queue(&self, bandwidth: BitRate) -> Result<Qdisc, QueueTextError> {
        queue(&self.0, bandwidth)
    }
}

impl FromStr for QueueText {
    type Err = QueueTextError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        queue(text, DEFAULT_BANDWIDTH).map(|_| Self(text.to_owned()))
    }
}

fn queue(text: &str, bandwidth: BitRate) -> Result<Qdisc, QueueTextError> {
    let name = text.trim();
    let is_command = name.starts_with('#') || name.split_whitespace().any(|word| word == "tc");
    let in_syntax_of_tc = name.strip_prefix("tc:").or(is_command.then_some(name));
    if let Some(tc) = in_syntax_of_tc {
        // Places are counted from the beginning of the text.
        let before =
            &text[..text.len() - text.trim_start().len() + name.len() - tc.trim_end().len()];
        let blank = |c: char| if c == '\n' { c } else { ' ' };
        let padded = format!("{}{tc}", before.chars().map(blank).collect::<String>());
        return tc::parse(&padded, bandwidth).map_err(|error| QueueTextError(error.to_string()));
    }
    if !by_name().any(|known| known == name) {
        return Err(unknown(name));
    }
    tc::parse(name, bandwidth).map_err(|error| QueueTextError(error.to_string()))
}

/// The parameters without which a discipline is none.
fn needed(name: &str) -> &'static str {
    match name {
        "red" => "limit 60kb",
        "choke" => "limit 60",
        "drr" => "/ class 1:1 match group thin / pfifo / class 1:2 / pfifo",
        "tbf" => "rate 1mbit burst 2k latency 50ms",
        "hfsc" => "default 2 / class 1:1 sc rate 1mbit match group thin / class 1:2 ls rate 4mbit",
        _ => "rate 1mbit",
    }
}

fn unknown(name: &str) -> QueueTextError {
    let first = name.split_whitespace().next().unwrap_or_default();
    let known: Vec<_> = by_name().chain(WITH_PARAMETERS).collect();
    if WITH_PARAMETERS.contains(&name) {
        let example = needed(name);
        let rule = format!(
            "{name} needs parameters: write \"tc: {name} {example}\", or {{ discipline = \"{name}\", .. }} with them"
        );
        return QueueTextError(rule);
    }
    if let Some(advice) = tc::supported_alternative(first) {
        return QueueTextError(advice);
    }
    if first != name && known.contains(&first) {
        let rule = format!("write \"tc: {name}\" for the syntax of tc, or a table");
        return QueueTextError(rule);
    }
    if name.parse::<QueueLimit>().is_ok() {
        return QueueTextError(format!("this is a limit: write {{ limit = \"{name}\" }}"));
    }
    let advice = advice(name, &known);
    QueueTextError(format!("it names no queue discipline; {advice}"))
}

impl fmt::Display for QueueText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

text_value!(
    QueueText,
    "Queue",
    "The name of a discipline, with default parameters (\"fq_codel\"), or the arguments of tc: \
                \"tc: htb rate 5mbit burst 1520 / pfifo limit 63\", or its commands, one per line."
);

/// The arguments of netem: `tc: netem delay 50ms 5ms distribution normal loss gemodel 1% 10%`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetemText {
    text: String,
    netem: Box<Netem>,
}

/// Why a text is nothing for netem.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NetemTextError(String);

impl NetemText {
    /// Delay beyond the link's own.
    pub fn delay(&self) -> Span {
        self.netem.delay
    }

    /// What it says.
    pub fn netem(&self) -> Netem {
        (*self.netem).clone()
    }
}

impl FromStr for NetemText {
    type Err = NetemTextError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_command = text.split_whitespace().any(|word| word == "tc");
        let Some(tc) = text.trim_start().strip_prefix("tc:").or(is_command.then_some(text)) else {
            let rule = "write \"tc: netem delay 50ms 5ms loss 1%\", or a table";
            return Err(NetemTextError(rule.to_owned()));
        };
        // Places are counted from the beginning of the text.
        let padded = format!("{}{tc}", " ".repeat(text.len() - tc.len()));
        let netem = parse_netem(&padded).map_err(|error| NetemTextError(error.to_string()))?;
        Ok(Self { text: text.to_owned(), netem: Box::new(netem) })
    }
}

impl fmt::Display for NetemText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

text_value!(
    NetemText,
    "Netem",
    "The arguments of netem: \"tc: netem delay 50ms 5ms distribution normal loss gemodel 1% 10%\". \
                Its delay is added to the link's."
);
