//! Factors: how many times something is, written as a plain number.

use fairwind_units::Ratio;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// How many times something is, such as 1.5; kept to the nearest billionth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Factor(Ratio);

impl Factor {
    /// Twice.
    pub const TWO: Self = Self(Ratio::from_parts_per_billion(2_000_000_000));

    /// As a ratio.
    pub const fn ratio(self) -> Ratio {
        self.0
    }
}

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_f64().fmt(f)
    }
}

impl Serialize for Factor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0.as_f64())
    }
}

impl<'de> Deserialize<'de> for Factor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let times = f64::deserialize(deserializer)?;
        // A span of so many seconds has as many nanoseconds as the ratio has billionths.
        let parts = fairwind_units::Span::from_secs_f64(times).as_nanos();
        Ok(Self(Ratio::from_parts_per_billion(parts)))
    }
}

impl schemars::JsonSchema for Factor {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Factor".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "number" })
    }
}
