//! Values of code.

use std::cmp::Ordering;

/// A number, a text, or several values.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Number(i64),
    Real(f64),
    Text(String),
    Tuple(Vec<Value>),
}

impl Value {
    /// Truth is 1 and 0, as in Python.
    pub(super) fn truth(holds: bool) -> Self {
        Self::Number(i64::from(holds))
    }

    pub(super) fn is_true(&self) -> bool {
        match self {
            Self::Number(number) => *number != 0,
            Self::Real(number) => *number != 0.0,
            Self::Text(text) => !text.is_empty(),
            Self::Tuple(members) => !members.is_empty(),
        }
    }

    /// The number as a real one, where this is a number.
    pub(super) fn as_real(&self) -> Option<f64> {
        match self {
            #[expect(
                clippy::cast_precision_loss,
                clippy::as_conversions,
                reason = "as Python does"
            )]
            Self::Number(number) => Some(*number as f64),
            Self::Real(number) => Some(*number),
            _ => None,
        }
    }

    /// Which comes first; `None` where the two have no order.
    pub(super) fn order(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Number(left), Self::Number(right)) => Some(left.cmp(right)),
            (Self::Text(left), Self::Text(right)) => Some(left.cmp(right)),
            (Self::Tuple(left), Self::Tuple(right)) => {
                for (one, two) in left.iter().zip(right) {
                    match one.order(two)? {
                        Ordering::Equal => {}
                        decided => return Some(decided),
                    }
                }
                Some(left.len().cmp(&right.len()))
            }
            _ => self.as_real()?.partial_cmp(&other.as_real()?),
        }
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Real(number) => write!(f, "{number:?}"),
            Self::Text(text) => f.write_str(text),
            Self::Tuple(members) => {
                let members: Vec<String> = members.iter().map(Self::to_string).collect();
                write!(f, "({})", members.join(", "))
            }
        }
    }
}
