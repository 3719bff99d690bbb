//! Impairments as netem would be told of them.

use fairwind_qdisc::tc::{Netem, parse_netem};
use fairwind_units::Span;
use std::borrow::Cow;
use std::str::FromStr;

/// What netem would be told: `tc: netem delay 50ms 5ms distribution normal loss gemodel 1% 10%`.
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
    pub(super) fn delay(&self) -> Span {
        self.netem.delay
    }

    /// What it says.
    pub(super) fn netem(&self) -> Netem {
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

impl serde::Serialize for NetemText {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> serde::Deserialize<'de> for NetemText {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <Cow<'de, str> as serde::Deserialize>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl schemars::JsonSchema for NetemText {
    fn schema_name() -> Cow<'static, str> {
        "NetemText".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "format": "Netem",
            "description": "What netem would be told: \"tc: netem delay 50ms 5ms distribution normal loss gemodel 1% 10%\". \
                Its delay is added to the link's.",
        })
    }
}
