//! Names of congestion controls. This room knows those of the repository; others are made known to it.

use arrayvec::ArrayString;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

include!(concat!(env!("OUT_DIR"), "/controls.rs"));

/// Longest name in bytes.
pub(crate) const LONGEST: usize = 31;

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
    Plugged(ControlName),
}

/// The name of a congestion control that is not the endpoint's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ControlName(ArrayString<LONGEST>);

impl ControlName {
    /// It as a text.
    pub fn as_str(&self) -> &str {
        &self.0
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
            Self::Plugged(name) => name.as_str(),
        }
    }

    /// Whether receivers must have it, too: it lives by marks of congestion, which they echo in its way.
    pub(crate) fn is_of_both_ends(&self) -> bool {
        OF_BOTH_ENDS.contains(&self.name())
    }

    /// Names that every scenario may use, without anybody making them known: the endpoint's own first, then
    /// the C files of the repository by the alphabet.
    pub fn known() -> impl Iterator<Item = &'static str> {
        ["reno", "bic", "cubic", "bbr", "bbr3"]
            .into_iter()
            .chain(PLUGGED.iter().map(|(name, _)| *name))
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
        Ok(Self::Plugged(ControlName(name)))
    }
}

impl fmt::Display for Congestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Congestion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Congestion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

impl schemars::JsonSchema for Congestion {
    fn schema_name() -> Cow<'static, str> {
        "Congestion".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let own = [
            ("reno", "`NewReno`, RFC 5681 and RFC 6582."),
            ("bic", "BIC, Linux 2.6.8 to 2.6.18 (INFOCOM 2004)."),
            ("cubic", "CUBIC, RFC 9438."),
            ("bbr", "BBR version 1, Linux 4.9 on."),
            ("bbr3", "BBR version 3, draft-ietf-ccwg-bbr-06, which few kernels have."),
        ];
        let known = own.into_iter().chain(PLUGGED.iter().copied());
        let mut choices: Vec<_> = known
            .map(|(name, description)| json_schema!({ "const": name, "description": description }))
            .collect();
        choices.push(json_schema!({
            "type": "string",
            "format": "CongestionControl",
            "description": "Another one: a C file that `fairwind congestion build` has made known, or a \
                class of Python.",
        }));
        json_schema!({ "description": "A congestion control.", "anyOf": choices })
    }
}
