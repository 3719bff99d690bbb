//! Congestion controls by name, with parameters. This crate knows those of the repository; others are registered.

use arrayvec::ArrayString;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

include!(concat!(env!("OUT_DIR"), "/controls.rs"));

/// Longest name in bytes.
pub(crate) const LONGEST: usize = 31;
/// Most bytes of parameters, written as JSON.
const LONGEST_PARAMETERS: usize = 127;

/// Names and descriptions of the endpoint's own congestion controls.
const OWN: [(&str, &str); 5] = [
    ("reno", "`NewReno`, RFC 5681 and RFC 6582."),
    ("bic", "BIC, Linux 2.6.8 to 2.6.18 (INFOCOM 2004)."),
    ("cubic", "CUBIC, RFC 9438."),
    ("bbr", "BBR version 1, Linux 4.9 on."),
    ("bbr3", "BBR version 3, draft-ietf-ccwg-bbr-06, which few kernels have."),
];

/// Names and descriptions of all congestion controls that every scenario may use.
fn with_descriptions() -> impl Iterator<Item = (&'static str, &'static str)> {
    OWN.into_iter().chain(PLUGGED.iter().copied())
}

/// A congestion control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Congestion {
    /// `NewReno`, RFC 5681 and RFC 6582.
    Reno,
    /// BIC, Linux 2.6.8 to 2.6.18 (INFOCOM 2004).
    Bic,
    /// CUBIC, RFC 9438.
    Cubic,
    /// BBR version 1, Linux 4.9 on.
    Bbr,
    /// BBR version 3, draft-ietf-ccwg-bbr-06.
    Bbr3,
    /// One in C, of the repository or anybody's own, or a class of Python.
    Plugged(PluggedControl),
}

/// A congestion control that is not the endpoint's own: its name and the parameters that are set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PluggedControl {
    name: ArrayString<LONGEST>,
    /// A JSON object with sorted keys; empty where no parameter is set.
    parameters: ArrayString<LONGEST_PARAMETERS>,
}

impl PluggedControl {
    /// Its name.
    pub fn as_str(&self) -> &str {
        &self.name
    }

    /// The parameters that the scenario sets: integers, numbers, booleans and texts, by name.
    pub fn parameters(&self) -> BTreeMap<String, Value> {
        serde_json::from_str(&self.parameters).unwrap_or_default()
    }

    /// The name, followed by the parameters where some are set: `mine(beta=0.7)`.
    pub fn label(&self) -> String {
        let parameters = self.parameters();
        if parameters.is_empty() {
            return self.name.to_string();
        }
        let set: Vec<String> =
            parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
        format!("{}({})", self.name, set.join(", "))
    }
}

/// Why a text is no name of a congestion control.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a name is made of at most {LONGEST} letters, digits, - and _, and begins with a letter")]
pub struct NoControlName;

impl Congestion {
    /// Those that the endpoint has itself.
    pub const OWN: [Self; 5] = [Self::Reno, Self::Bic, Self::Cubic, Self::Bbr, Self::Bbr3];

    /// Of these, those that Linux has, too.
    pub const OF_LINUX: [Self; 4] = [Self::Reno, Self::Bic, Self::Cubic, Self::Bbr];

    /// Its name in scenarios; those of [`Congestion::OF_LINUX`] are Linux' own.
    pub fn name(&self) -> &str {
        match self {
            Self::Reno => "reno",
            Self::Bic => "bic",
            Self::Cubic => "cubic",
            Self::Bbr => "bbr",
            Self::Bbr3 => "bbr3",
            Self::Plugged(control) => control.as_str(),
        }
    }

    /// The same congestion control with these parameters; one of the endpoint's own has none.
    fn with_parameters(self, parameters: &BTreeMap<String, Value>) -> Result<Self, String> {
        let Self::Plugged(control) = self else { return Ok(self) };
        if parameters.is_empty() {
            return Ok(self);
        }
        let text = serde_json::to_string(parameters).map_err(|error| error.to_string())?;
        let parameters = ArrayString::from(&text).map_err(|_| {
            format!("the parameters of {} take more than {LONGEST_PARAMETERS} bytes", self.name())
        })?;
        Ok(Self::Plugged(PluggedControl { parameters, ..control }))
    }

    /// Whether receivers must have it, too: it lives by marks of congestion, which they echo in its way.
    pub(crate) fn is_of_both_ends(&self) -> bool {
        OF_BOTH_ENDS.contains(&self.name())
    }

    /// Names that every scenario may use, without anybody making them known: the endpoint's own first, then
    /// the C files of the repository by the alphabet.
    pub fn known() -> impl Iterator<Item = &'static str> {
        with_descriptions().map(|(name, _)| name)
    }
}

impl FromStr for Congestion {
    type Err = NoControlName;

    fn from_str(text: &str) -> Result<Self, NoControlName> {
        if let Some(own) = Self::OWN.into_iter().find(|own| own.name() == text) {
            return Ok(own);
        }
        let is_plain = text.starts_with(|letter: char| letter.is_ascii_alphabetic())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
        let name = ArrayString::from(text).ok().filter(|_| is_plain).ok_or(NoControlName)?;
        Ok(Self::Plugged(PluggedControl { name, parameters: ArrayString::new() }))
    }
}

impl fmt::Display for Congestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Congestion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let parameters = match self {
            Self::Plugged(control) => control.parameters(),
            _ => BTreeMap::new(),
        };
        if parameters.is_empty() {
            return serializer.serialize_str(self.name());
        }
        Table { name: self.name().into(), parameters }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Congestion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let table = match CongestionText::deserialize(deserializer)? {
            CongestionText::Name(name) => Table { name, parameters: BTreeMap::new() },
            CongestionText::Table(table) => table,
        };
        let control: Self = table.name.parse().map_err(de::Error::custom)?;
        control.with_parameters(&table.parameters).map_err(de::Error::custom)
    }
}

/// A congestion control as a scenario has it: its name, or a table with its name and parameters.
#[derive(Deserialize)]
#[serde(untagged)]
enum CongestionText {
    Name(String),
    Table(Table),
}

#[derive(Serialize, Deserialize)]
struct Table {
    name: String,
    #[serde(flatten)]
    parameters: BTreeMap<String, Value>,
}

impl schemars::JsonSchema for Congestion {
    fn schema_name() -> Cow<'static, str> {
        "Congestion".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut choices: Vec<_> = with_descriptions()
            .map(|(name, description)| json_schema!({ "const": name, "description": description }))
            .collect();
        choices.push(json_schema!({
            "type": "string",
            "format": "CongestionControl",
            "description": "Another one: a C file that `fairwind congestion build` has made known, or a \
                class of Python.",
        }));
        choices.push(json_schema!({
            "type": "object",
            "description": "One with parameters: `{ name = \"mine\", beta = 0.7 }`. They are the keyword arguments \
                of a class of Python, or what a C file declares by `FAIRWIND_PARAM`.",
            "properties": {
                "name": {
                    "type": "string",
                    "format": "CongestionControl",
                    "description": "Name of the congestion control.",
                },
            },
            "required": ["name"],
            "additionalProperties": { "type": ["integer", "number", "boolean", "string"] },
        }));
        json_schema!({ "description": "A congestion control.", "anyOf": choices })
    }
}
