//! Code in a script: assertions over what the endpoint tells of itself.
//!
//! The language is the part of Python that such code uses: `assert CONDITION[, MESSAGE]`,
//! `NAME = VALUE`, `print(...)`, numbers, texts, names, arithmetic, comparisons (also chained),
//! `and`, `or`, `not`, tuples, and `abs`, `min`, `max`. Integers are of 64 bits; a division rounds
//! down as Python's `//`, which is also what `/` does where nothing is left over.

mod evaluate;
mod parse;
mod words;

pub(crate) use evaluate::{Environment, Value};

use crate::outcome::Step;

/// Runs code; what it defines stays in `environment`.
pub(crate) fn run(code: &str, environment: &mut Environment) -> Step<()> {
    for statement in parse::statements(code)? {
        environment.execute(&statement)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
