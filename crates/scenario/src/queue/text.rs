//! A queue as one text.

use crate::error::nearest;
use fairwind_qdisc::{DEFAULT_BANDWIDTH, Qdisc, tc};
use fairwind_units::BitRate;
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// A queue as one text: the name of a discipline, or what `tc` would be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueText(String);

/// Why a text describes no queue.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct QueueTextError(String);

/// A discipline's name, and how it is usually.
type Usual = (&'static str, fn() -> Qdisc);

/// Disciplines that need no parameters.
const BY_NAME: [Usual; 11] = [
    ("pfifo", || Qdisc::Pfifo { limit_packets: fairwind_qdisc::DEFAULT_PACKETS }),
    ("bfifo", || Qdisc::Bfifo { limit_bytes: fairwind_qdisc::DEFAULT_BYTES }),
    ("codel", || Qdisc::Codel(fairwind_qdisc::Codel::default())),
    ("pie", || Qdisc::Pie(fairwind_qdisc::Pie::default())),
    ("dualpi2", || Qdisc::Dualpi2(fairwind_qdisc::Dualpi2::default())),
    ("sfq", || Qdisc::Sfq(fairwind_qdisc::Sfq::default())),
    ("fq_codel", || Qdisc::FqCodel(fairwind_qdisc::FqCodel::default())),
    ("fq_pie", || Qdisc::FqPie(fairwind_qdisc::FqPie::default())),
    ("cake", || Qdisc::Cake(fairwind_qdisc::Cake::default())),
    ("prio", || Qdisc::Prio(fairwind_qdisc::Prio::default())),
    ("unlimited", || Qdisc::Unlimited {}),
];

/// Disciplines that do.
const WITH_PARAMETERS: [&str; 5] = ["red", "choke", "drr", "tbf", "htb"];

impl QueueText {
    /// What it describes before a link of this rate.
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
    match BY_NAME.iter().find(|(known, _)| *known == name) {
        Some((_, queue)) => Ok(queue()),
        None => Err(unknown(name)),
    }
}

/// The parameters without which a discipline is none.
fn needed(name: &str) -> &'static str {
    match name {
        "red" => "limit 60kb",
        "choke" => "limit 60",
        "drr" => "/ class 1:1 match group thin / pfifo / class 1:2 / pfifo",
        "tbf" => "rate 1mbit burst 2k latency 50ms",
        _ => "rate 1mbit",
    }
}

fn unknown(name: &str) -> QueueTextError {
    let first = name.split_whitespace().next().unwrap_or_default();
    let known = || BY_NAME.iter().map(|(known, _)| *known).chain(WITH_PARAMETERS);
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
    if first != name && known().any(|known| known == first) {
        let rule = format!("write \"tc: {name}\" for the syntax of tc, or a table");
        return QueueTextError(rule);
    }
    if name.parse::<crate::QueueLimit>().is_ok() {
        return QueueTextError(format!("this is a limit: write {{ limit = \"{name}\" }}"));
    }
    let advice = match nearest(name, known()) {
        Some(nearest) => format!("did you mean \"{nearest}\"?"),
        None => format!("known are {}", known().collect::<Vec<_>>().join(", ")),
    };
    QueueTextError(format!("it names no queue discipline; {advice}"))
}

impl fmt::Display for QueueText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl serde::Serialize for QueueText {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> serde::Deserialize<'de> for QueueText {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <Cow<'de, str> as serde::Deserialize>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl schemars::JsonSchema for QueueText {
    fn schema_name() -> Cow<'static, str> {
        "QueueText".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "format": "Queue",
            "description": "The name of a discipline, with what is usual (\"fq_codel\"), or what tc would be told: \
                \"tc: htb rate 5mbit burst 1520 / pfifo limit 63\", or its commands, one per line.",
        })
    }
}
