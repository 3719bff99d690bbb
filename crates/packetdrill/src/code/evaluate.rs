//! What formulas are worth.

use super::parse::{Formula, Statement};
use crate::outcome::{Step, Stop};
use std::collections::BTreeMap;

/// A value of code.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Value {
    Number(i64),
    Text(String),
    Tuple(Vec<Value>),
}

impl Value {
    fn is_true(&self) -> bool {
        match self {
            Self::Number(number) => *number != 0,
            Self::Text(text) => !text.is_empty(),
            Self::Tuple(members) => !members.is_empty(),
        }
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => f.write_str(text),
            Self::Tuple(members) => {
                let members: Vec<String> = members.iter().map(Self::to_string).collect();
                write!(f, "({})", members.join(", "))
            }
        }
    }
}

/// The names that code knows.
#[derive(Debug, Default)]
pub(crate) struct Environment {
    names: BTreeMap<String, Value>,
}

impl Environment {
    pub(crate) fn define(&mut self, name: &str, value: Value) {
        self.names.insert(name.to_owned(), value);
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.names.get(name)
    }

    /// Forgets every name that begins so.
    pub(crate) fn forget(&mut self, beginning: &str) {
        self.names.retain(|name, _| !name.starts_with(beginning));
    }

    pub(super) fn execute(&mut self, statement: &Statement) -> Step<()> {
        match statement {
            Statement::Assign { name, value } => {
                let value = self.value(value)?;
                self.define(name, value);
            }
            Statement::Evaluate(formula) => {
                self.value(formula)?;
            }
            Statement::Assert { condition, message, text } => {
                if !self.value(condition)?.is_true() {
                    return Err(Stop::Failed(self.complaint(text, message.as_ref())?));
                }
            }
        }
        Ok(())
    }

    fn complaint(&self, text: &str, message: Option<&Formula>) -> Step<String> {
        Ok(match message {
            Some(message) => format!("{text} does not hold: {}", self.value(message)?),
            None => format!("{text} does not hold"),
        })
    }

    fn value(&self, formula: &Formula) -> Step<Value> {
        match formula {
            Formula::Number(number) => Ok(Value::Number(*number)),
            Formula::Text(text) => Ok(Value::Text(text.clone())),
            Formula::Name(name) => self.named(name),
            Formula::Tuple(members) => Ok(Value::Tuple(self.values(members)?)),
            Formula::Call(name, arguments) => call(name, &self.values(arguments)?),
            Formula::Negative(inner) => {
                let number = number(&self.value(inner)?)?;
                number.checked_neg().map(Value::Number).ok_or_else(overflow)
            }
            Formula::Not(inner) => Ok(truth(!self.value(inner)?.is_true())),
            Formula::And(members) => self.first_that(members, false),
            Formula::Or(members) => self.first_that(members, true),
            Formula::Comparison(first, others) => self.comparison(first, others),
            Formula::Chain(first, others) => {
                let first = self.value(first)?;
                others.iter().try_fold(first, |left, (sign, right)| {
                    operate(sign, &left, &self.value(right)?)
                })
            }
        }
    }

    fn values(&self, formulas: &[Formula]) -> Step<Vec<Value>> {
        formulas.iter().map(|formula| self.value(formula)).collect()
    }

    fn named(&self, name: &str) -> Step<Value> {
        match (self.names.get(name), name) {
            (Some(value), _) => Ok(value.clone()),
            (None, "True") => Ok(truth(true)),
            (None, "False") => Ok(truth(false)),
            (None, _) => {
                Err(Stop::unsupported(format!("code: the endpoint does not tell `{name}`")))
            }
        }
    }

    /// As Python's `and` and `or`: the first value of that truth, else the last one.
    fn first_that(&self, members: &[Formula], decides: bool) -> Step<Value> {
        let mut last = truth(!decides);
        for member in members {
            last = self.value(member)?;
            if last.is_true() == decides {
                break;
            }
        }
        Ok(last)
    }

    fn comparison(&self, first: &Formula, others: &[(&'static str, Formula)]) -> Step<Value> {
        let mut left = self.value(first)?;
        for (sign, right) in others {
            let right = self.value(right)?;
            if !compare(sign, &left, &right)? {
                return Ok(truth(false));
            }
            left = right;
        }
        Ok(truth(true))
    }
}

fn truth(holds: bool) -> Value {
    Value::Number(i64::from(holds))
}

fn number(value: &Value) -> Step<i64> {
    match value {
        Value::Number(number) => Ok(*number),
        other => Err(Stop::failed(format!("code: `{other}` is no number"))),
    }
}

fn overflow() -> Stop {
    Stop::failed("code: a number leaves 64 bits, or something is divided by zero")
}

fn compare(sign: &str, left: &Value, right: &Value) -> Step<bool> {
    if std::mem::discriminant(left) != std::mem::discriminant(right) {
        return match sign {
            "==" => Ok(false),
            "!=" => Ok(true),
            _ => Err(Stop::failed(format!("code: `{left}` and `{right}` have no order"))),
        };
    }
    Ok(match sign {
        "==" => left == right,
        "!=" => left != right,
        "<" => left < right,
        "<=" => left <= right,
        ">" => left > right,
        _ => left >= right,
    })
}

fn operate(sign: &str, left: &Value, right: &Value) -> Step<Value> {
    let (left, right) = (number(left)?, number(right)?);
    let shift = || u32::try_from(right).ok().filter(|bits| *bits < 64);
    let outcome = match sign {
        "+" => left.checked_add(right),
        "-" => left.checked_sub(right),
        "*" => left.checked_mul(right),
        "//" => divided(left, right),
        "/" => match left.checked_rem(right) {
            Some(0) => left.checked_div(right),
            Some(_) => return Err(Stop::unsupported("code: a division leaves a remainder")),
            None => None,
        },
        "%" => divided(left, right)
            .and_then(|quotient| quotient.checked_mul(right))
            .and_then(|whole| left.checked_sub(whole)),
        "&" => Some(left & right),
        "|" => Some(left | right),
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

fn call(name: &str, arguments: &[Value]) -> Step<Value> {
    let found = match (name, arguments) {
        ("abs", [value]) => Some(Value::Number(number(value)?.checked_abs().ok_or_else(overflow)?)),
        ("min", members) => members.iter().min().cloned(),
        ("max", members) => members.iter().max().cloned(),
        _ => None,
    };
    found.ok_or_else(|| Stop::unsupported(format!("code: the function {name} is not known")))
}
