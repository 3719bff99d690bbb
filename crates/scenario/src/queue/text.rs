//! A queue as one text.

use crate::error::nearest;
use fairwind_qdisc::Qdisc;
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// A queue as one text: the name of a discipline.
#[derive(Debug, Clone, PartialEq)]
pub struct QueueText {
    text: String,
    queue: Qdisc,
}

/// Why a text describes no queue.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct QueueTextError(String);

/// A discipline's name, and how it is usually.
type Usual = (&'static str, fn() -> Qdisc);

/// Disciplines that need no parameters.
const BY_NAME: [Usual; 11] = [
    ("pfifo", || Qdisc::Pfifo { limit_packets: fairwind_qdisc::DEFAULT_PACKETS }),
    ("bfifo", || Qdisc::Bfifo { limit_bytes: super::resolve::USUAL_BYTES }),
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
    /// What it describes.
    pub fn queue(&self) -> &Qdisc {
        &self.queue
    }
}

impl FromStr for QueueText {
    type Err = QueueTextError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let name = text.trim();
        if let Some((_, queue)) = BY_NAME.iter().find(|(known, _)| *known == name) {
            return Ok(Self { text: text.to_owned(), queue: queue() });
        }
        if WITH_PARAMETERS.contains(&name) {
            let rule = format!("{name} needs parameters: write {{ discipline = \"{name}\", .. }}");
            return Err(QueueTextError(rule));
        }
        if name.parse::<crate::QueueLimit>().is_ok() {
            let rule = format!("this is a limit: write {{ limit = \"{name}\" }}");
            return Err(QueueTextError(rule));
        }
        let known = || BY_NAME.iter().map(|(known, _)| *known).chain(WITH_PARAMETERS);
        let advice = match nearest(name, known()) {
            Some(nearest) => format!("did you mean \"{nearest}\"?"),
            None => format!("known are {}", known().collect::<Vec<_>>().join(", ")),
        };
        Err(QueueTextError(format!("it names no queue discipline; {advice}")))
    }
}

impl fmt::Display for QueueText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl serde::Serialize for QueueText {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
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
            "description": "The name of a discipline, with what is usual: \"fq_codel\".",
        })
    }
}
