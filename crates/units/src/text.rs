//! The one decimal parser and printer behind every quantity: an exact decimal times a unit's factor.

/// One unit of a quantity: its canonical spelling first, then others that are understood.
pub(crate) struct Unit {
    /// Accepted spellings; the first one is printed.
    pub(crate) spellings: &'static [&'static str],
    /// Printed only for whole multiples: `64 KiB`, but not `62.5 KiB` for `64 kB`.
    pub(crate) whole: bool,
    /// How many base units (nanoseconds, bytes, bits per second, parts per billion) one of it is.
    pub(crate) factor: u64,
}

/// Why a text is not a quantity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnitError {
    /// There was no text at all.
    #[error("an empty text is not a {quantity}; write for example \"{example}\"")]
    Empty {
        /// What was expected (`time`, `rate`, ...).
        quantity: &'static str,
        /// A text that would be understood.
        example: &'static str,
    },
    /// The number is missing or malformed.
    #[error("\"{text}\" does not begin with a decimal number; write for example \"{example}\"")]
    Number {
        /// The text as given.
        text: String,
        /// A text that would be understood.
        example: &'static str,
    },
    /// A number without a unit.
    #[error("\"{text}\" has no unit; a {quantity} needs one, for example \"{example}\"")]
    MissingUnit {
        /// The text as given.
        text: String,
        /// What was expected.
        quantity: &'static str,
        /// A text that would be understood.
        example: &'static str,
    },
    /// The unit is not one of this quantity's.
    #[error("\"{unit}\" is not a unit of {quantity}; known are {known}")]
    UnknownUnit {
        /// The unit as given.
        unit: String,
        /// What was expected.
        quantity: &'static str,
        /// All accepted spellings, separated by commas.
        known: String,
    },
    /// A negative quantity.
    #[error("\"{text}\" is negative; a {quantity} must be zero or more")]
    Negative {
        /// The text as given.
        text: String,
        /// What was expected.
        quantity: &'static str,
    },
    /// Finer than the base unit.
    #[error("\"{text}\" is finer than the resolution of a {quantity}, {base}")]
    TooFine {
        /// The text as given.
        text: String,
        /// What was expected.
        quantity: &'static str,
        /// The base unit in words.
        base: &'static str,
    },
    /// Larger than the integer holds.
    #[error("\"{text}\" is too large for a {quantity}")]
    TooLarge {
        /// The text as given.
        text: String,
        /// What was expected.
        quantity: &'static str,
    },
}

/// What a quantity's texts look like.
pub(crate) struct Grammar {
    pub(crate) quantity: &'static str,
    pub(crate) example: &'static str,
    pub(crate) base: &'static str,
    pub(crate) units: &'static [Unit],
    /// Whether a number without unit is understood, and its factor.
    pub(crate) bare: Option<u64>,
    /// Prefixes in either case: no unit of this quantity differs by case.
    pub(crate) prefixes: &'static str,
    /// Index of the largest unit that is printed.
    pub(crate) largest_printed: usize,
}

impl Grammar {
    /// Reads `text` as an exact multiple of the base unit.
    pub(crate) fn parse(&self, text: &str) -> Result<u64, UnitError> {
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return Err(UnitError::Empty { quantity: self.quantity, example: self.example });
        }
        let unsigned = trimmed.strip_prefix('-');
        let split = unsigned
            .unwrap_or(trimmed)
            .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'))
            .unwrap_or(unsigned.unwrap_or(trimmed).len());
        let (number, unit) = unsigned.unwrap_or(trimmed).split_at(split);
        let (digits, decimals) = decimal(number)
            .ok_or(UnitError::Number { text: text.to_owned(), example: self.example })?;
        let factor = self.factor(text, unit.trim())?;
        if unsigned.is_some() {
            return Err(UnitError::Negative { text: text.to_owned(), quantity: self.quantity });
        }
        self.scale(text, digits, decimals, factor)
    }

    fn factor(&self, text: &str, unit: &str) -> Result<u64, UnitError> {
        if unit.is_empty() {
            return self.bare.ok_or(UnitError::MissingUnit {
                text: text.to_owned(),
                quantity: self.quantity,
                example: self.example,
            });
        }
        self.units
            .iter()
            .find(|known| known.spellings.iter().any(|spelling| self.is_spelt(unit, spelling)))
            .map(|known| known.factor)
            .ok_or_else(|| UnitError::UnknownUnit {
                unit: unit.to_owned(),
                quantity: self.quantity,
                known: self.known(),
            })
    }

    /// Whether `unit` is this spelling; the case of a prefix may differ where no other unit is meant then.
    fn is_spelt(&self, unit: &str, spelling: &str) -> bool {
        let Some(prefix) = spelling.chars().next().filter(|first| self.prefixes.contains(*first))
        else {
            return unit == spelling;
        };
        let rest = unit.strip_prefix([prefix.to_ascii_lowercase(), prefix.to_ascii_uppercase()]);
        rest == Some(&spelling[1..])
    }

    /// All spellings, and which letters may be of either case.
    fn known(&self) -> String {
        let spellings: Vec<&str> =
            self.units.iter().flat_map(|unit| unit.spellings).copied().collect();
        let known = spellings.join(", ");
        if self.prefixes.is_empty() {
            return known;
        }
        format!("{known} (prefixes in upper or lower case)")
    }

    fn scale(
        &self,
        text: &str,
        digits: u128,
        decimals: u32,
        factor: u64,
    ) -> Result<u64, UnitError> {
        let too_large = || UnitError::TooLarge { text: text.to_owned(), quantity: self.quantity };
        let product = digits.checked_mul(u128::from(factor)).ok_or_else(too_large)?;
        let divisor = 10_u128.checked_pow(decimals).ok_or_else(too_large)?;
        if product % divisor != 0 {
            return Err(UnitError::TooFine {
                text: text.to_owned(),
                quantity: self.quantity,
                base: self.base,
            });
        }
        u64::try_from(product / divisor).map_err(|_| too_large())
    }

    /// Prints `value` in the largest unit that needs at most three decimals, exactly.
    pub(crate) fn print(&self, value: u64, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let printed = &self.units[self.largest_printed..];
        let unit = printed
            .iter()
            .find(|unit| {
                let parts = if unit.whole { 1 } else { 1000 };
                value >= unit.factor && (u128::from(value) * parts) % u128::from(unit.factor) == 0
            })
            .or(printed.last());
        let Some(unit) = unit else { return write!(f, "{value}") };
        let thousandths = u128::from(value) * 1000 / u128::from(unit.factor);
        let (whole, rest) = (thousandths / 1000, thousandths % 1000);
        let text = if rest == 0 {
            format!("{whole} {}", unit.spellings[0])
        } else {
            format!("{} {}", format!("{whole}.{rest:03}").trim_end_matches('0'), unit.spellings[0])
        };
        f.pad(&text)
    }
}

/// The digits of a decimal without its point, and how many stood behind the point.
fn decimal(number: &str) -> Option<(u128, u32)> {
    let mut digits: u128 = 0;
    let mut decimals = 0;
    let (mut seen_point, mut seen_digit) = (false, false);
    for c in number.chars() {
        match c {
            '_' => {}
            '.' if !seen_point => seen_point = true,
            _ => {
                digits = digits.checked_mul(10)?.checked_add(u128::from(c.to_digit(10)?))?;
                seen_digit = true;
                decimals += u32::from(seen_point);
            }
        }
    }
    seen_digit.then_some((digits, decimals))
}

/// Text conversions, ordering of units and schema shared by every quantity.
macro_rules! quantity_text {
    ($type:ident, $grammar:expr, $pattern:literal) => {
        impl std::str::FromStr for $type {
            type Err = $crate::UnitError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                $grammar.parse(text).map(Self)
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                $grammar.print(self.0, f)
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                if serializer.is_human_readable() {
                    serializer.collect_str(self)
                } else {
                    serializer.serialize_u64(self.0)
                }
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                if !deserializer.is_human_readable() {
                    return <u64 as serde::Deserialize>::deserialize(deserializer).map(Self);
                }
                let text = <std::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }

        #[cfg(feature = "schema")]
        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "type": "string",
                    "format": stringify!($type),
                    "pattern": $pattern,
                    "description": format!("a {} with its unit, for example \"{}\"", $grammar.quantity, $grammar.example),
                })
            }
        }
    };
}
pub(crate) use quantity_text;
