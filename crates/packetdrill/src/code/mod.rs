//! Embedded code: assertions over the `TCP_INFO` of the endpoint.
//!
//! The supported subset of Python:
//!
//! - `assert CONDITION[, MESSAGE]`, `NAME = VALUE` (also `+=` and similar), `print`, `pass`, and
//!   `if CONDITION: STATEMENT` in one line;
//! - integers of 64 bits, floats, strings, tuples and lists (which are the same here);
//! - arithmetic, comparisons (also chained), `in`, `and`, `or`, `not`, `A if CONDITION else B`,
//!   `TEXT % VALUES`;
//! - `abs`, `bool`, `float`, `int`, `len`, `max`, `min`, `repr`, `round`, `str`, `sum`.
//!
//! `/` is that of Python 3. Everything else, including `import`, makes a script unsupported.
//! Variables persist from one piece of code to the next.

mod parse;
mod value;

pub(crate) use value::Value;

use crate::outcome::{Step, Stop};
use parse::{Formula, Statement};
use std::collections::BTreeMap;
use value::{call, compare, inverted, negated, operate};

/// Runs code; its definitions stay in `environment`.
pub(crate) fn run(code: &str, environment: &mut Environment) -> Step<()> {
    for statement in parse::statements(code)? {
        environment.execute(&statement)?;
    }
    Ok(())
}

/// Variables of embedded code.
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

    /// The names as a program in Python that defines them.
    pub(crate) fn python(&self) -> String {
        let lines = self.names.iter().map(|(name, value)| format!("{name} = {}", value.python()));
        lines.collect::<Vec<_>>().join("\n") + "\n"
    }

    /// Forgets every name that begins so.
    pub(crate) fn forget(&mut self, beginning: &str) {
        self.names.retain(|name, _| !name.starts_with(beginning));
    }

    fn execute(&mut self, statement: &Statement) -> Step<()> {
        match statement {
            Statement::Assign { name, value } => {
                let value = self.value(value)?;
                self.define(name, value);
            }
            Statement::Evaluate(formula) => {
                self.value(formula)?;
            }
            Statement::If { condition, then } => {
                if self.value(condition)?.is_true() {
                    self.execute(then)?;
                }
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
            Formula::Real(number) => Ok(Value::Real(*number)),
            Formula::Text(text) => Ok(Value::Text(text.clone())),
            Formula::Name(name) => self.named(name),
            Formula::Tuple(members) => Ok(Value::Tuple(self.values(members)?)),
            Formula::Call(name, arguments) => call(name, &self.values(arguments)?),
            Formula::Negative(inner) => negated(&self.value(inner)?),
            Formula::Inverted(inner) => inverted(&self.value(inner)?),
            Formula::Choice { condition, yes, no } => {
                self.value(if self.value(condition)?.is_true() { yes } else { no })
            }
            Formula::Not(inner) => Ok(Value::truth(!self.value(inner)?.is_true())),
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
            (None, "True") => Ok(Value::truth(true)),
            (None, "False") => Ok(Value::truth(false)),
            (None, _) => {
                Err(Stop::unsupported(format!("code: the endpoint has no value `{name}`")))
            }
        }
    }

    /// Python's `and` and `or`: the first value with the deciding truth, else the last one.
    fn first_that(&self, members: &[Formula], decides: bool) -> Step<Value> {
        let mut last = Value::truth(!decides);
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
                return Ok(Value::truth(false));
            }
            left = right;
        }
        Ok(Value::truth(true))
    }
}

#[cfg(test)]
mod tests;
