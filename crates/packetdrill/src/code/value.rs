//! Values of embedded code, and operations on them.

use crate::outcome::{Step, Stop};
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

    /// The value as Python writes it.
    pub(super) fn python(&self) -> String {
        match self {
            Self::Text(text) => format!("{text:?}"),
            Self::Tuple(members) => {
                let members: Vec<String> = members.iter().map(Self::python).collect();
                format!("({},)", members.join(", "))
            }
            number => number.to_string(),
        }
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

    /// Order of two values; `None` if they are not comparable.
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

fn whole(value: &Value) -> Step<i64> {
    match value {
        Value::Number(number) => Ok(*number),
        other => Err(Stop::unsupported(format!("code: `{other}` is not a whole number"))),
    }
}

fn real(value: &Value) -> Step<f64> {
    value.as_real().ok_or_else(|| Stop::unsupported(format!("code: `{value}` is not a number")))
}

fn overflow() -> Stop {
    Stop::failed("code: a number leaves 64 bits, or is divided by zero")
}

pub(super) fn negated(value: &Value) -> Step<Value> {
    match value {
        Value::Real(number) => Ok(Value::Real(-number)),
        other => whole(other)?.checked_neg().map(Value::Number).ok_or_else(overflow),
    }
}

pub(super) fn inverted(value: &Value) -> Step<Value> {
    whole(value).map(|number| Value::Number(!number))
}

pub(super) fn compare(sign: &str, left: &Value, right: &Value) -> Step<bool> {
    if let "in" | "not in" = sign {
        return contains(right, left).map(|found| found == (sign == "in"));
    }
    let order = left.order(right);
    match (sign, order) {
        ("==", _) => Ok(order == Some(Ordering::Equal)),
        ("!=", _) => Ok(order != Some(Ordering::Equal)),
        (_, None) => Err(Stop::unsupported(format!("code: `{left}` and `{right}` have no order"))),
        ("<", Some(order)) => Ok(order.is_lt()),
        ("<=", Some(order)) => Ok(order.is_le()),
        (">", Some(order)) => Ok(order.is_gt()),
        (_, Some(order)) => Ok(order.is_ge()),
    }
}

fn contains(whole: &Value, part: &Value) -> Step<bool> {
    match (whole, part) {
        (Value::Tuple(members), _) => {
            Ok(members.iter().any(|member| member.order(part) == Some(Ordering::Equal)))
        }
        (Value::Text(text), Value::Text(part)) => Ok(text.contains(part)),
        _ => Err(Stop::unsupported(format!("code: nothing is in `{whole}`"))),
    }
}

pub(super) fn operate(sign: &str, left: &Value, right: &Value) -> Step<Value> {
    match (sign, left, right) {
        ("%", Value::Text(format), _) => Ok(Value::Text(formatted(format, right))),
        ("+", Value::Text(one), Value::Text(other)) => Ok(Value::Text(format!("{one}{other}"))),
        ("+", Value::Tuple(one), Value::Tuple(other)) => {
            Ok(Value::Tuple(one.iter().chain(other).cloned().collect()))
        }
        (_, Value::Real(_), _) | (_, _, Value::Real(_)) => {
            operate_real(sign, real(left)?, real(right)?)
        }
        _ => operate_whole(sign, whole(left)?, whole(right)?),
    }
}

fn operate_real(sign: &str, left: f64, right: f64) -> Step<Value> {
    let outcome = match sign {
        "+" => left + right,
        "-" => left - right,
        "*" => left * right,
        "/" => left / right,
        "//" => (left / right).floor(),
        "%" => left - right * (left / right).floor(),
        "**" => left.powf(right),
        _ => return Err(Stop::unsupported(format!("code: `{sign}` needs whole numbers"))),
    };
    if outcome.is_finite() { Ok(Value::Real(outcome)) } else { Err(overflow()) }
}

fn operate_whole(sign: &str, left: i64, right: i64) -> Step<Value> {
    let shift = || u32::try_from(right).ok().filter(|bits| *bits < 64);
    let outcome = match sign {
        "+" => left.checked_add(right),
        "-" => left.checked_sub(right),
        "*" => left.checked_mul(right),
        "**" => u32::try_from(right).ok().and_then(|power| left.checked_pow(power)),
        "//" => divided(left, right),
        "/" => match left.checked_rem(right) {
            Some(0) => left.checked_div(right),
            Some(_) => {
                return operate_real(
                    sign,
                    real(&Value::Number(left))?,
                    real(&Value::Number(right))?,
                );
            }
            None => None,
        },
        "%" => divided(left, right)
            .and_then(|quotient| quotient.checked_mul(right))
            .and_then(|whole| left.checked_sub(whole)),
        "&" => Some(left & right),
        "|" => Some(left | right),
        "^" => Some(left ^ right),
        "<<" => shift().and_then(|bits| left.checked_mul(1_i64.checked_shl(bits)?)),
        _ => shift().map(|bits| left >> bits),
    };
    outcome.map(Value::Number).ok_or_else(overflow)
}

/// Rounded down, as Python rounds.
fn divided(left: i64, right: i64) -> Option<i64> {
    let quotient = left.checked_div(right)?;
    let inexact = left.checked_rem(right)? != 0;
    Some(if inexact && (left < 0) != (right < 0) { quotient - 1 } else { quotient })
}

/// Fills the placeholders of a text (`%d`, `%s`, ...) in order; width and precision are ignored.
fn formatted(format: &str, values: &Value) -> String {
    let mut values = match values {
        Value::Tuple(members) => members.iter(),
        one => std::slice::from_ref(one).iter(),
    };
    let mut text = String::new();
    let mut rest = format;
    while let Some(place) = rest.find('%') {
        text.push_str(&rest[..place]);
        rest = &rest[place + 1..];
        let length = rest.find(|c: char| c.is_ascii_alphabetic() || c == '%').unwrap_or(rest.len());
        match rest[length..].chars().next() {
            Some('%') => text.push('%'),
            Some(_) => text.push_str(&values.next().map_or_else(String::new, Value::to_string)),
            None => {}
        }
        rest = rest.get(length + 1..).unwrap_or_default();
    }
    text + rest
}

pub(super) fn call(name: &str, arguments: &[Value]) -> Step<Value> {
    let members = match arguments {
        [Value::Tuple(members)] => members,
        members => members,
    };
    let extreme =
        |wanted: Ordering| {
            let mut members = members.iter();
            let first = members.next()?;
            Some(members.fold(
                first,
                |best, next| if next.order(best) == Some(wanted) { next } else { best },
            ))
        };
    match (name, arguments) {
        ("abs", [Value::Real(number)]) => Some(Value::Real(number.abs())),
        ("abs", [value]) => whole(value)?.checked_abs().map(Value::Number),
        ("min", _) => extreme(Ordering::Less).cloned(),
        ("max", _) => extreme(Ordering::Greater).cloned(),
        ("sum", [Value::Tuple(members)]) => Some(
            members.iter().try_fold(Value::Number(0), |sum, member| operate("+", &sum, member))?,
        ),
        ("len", [Value::Tuple(members)]) => count(members.len()),
        ("len", [Value::Text(text)]) => count(text.chars().count()),
        ("str" | "repr", [value]) => Some(Value::Text(value.to_string())),
        ("float", [value]) => Some(Value::Real(real(value)?)),
        ("int", [value]) => rounded(real(value)?.trunc()),
        ("round", [value]) => rounded(real(value)?.round_ties_even()),
        ("bool", [value]) => Some(Value::truth(value.is_true())),
        _ => None,
    }
    .ok_or_else(|| Stop::unsupported(format!("code: the function {name} is not known so")))
}

fn count(number: usize) -> Option<Value> {
    i64::try_from(number).ok().map(Value::Number)
}

fn rounded(number: f64) -> Option<Value> {
    // A whole number of Python is written so, too.
    format!("{number:.0}").parse().ok().map(Value::Number)
}
