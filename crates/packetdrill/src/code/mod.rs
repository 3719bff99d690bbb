//! Embedded code: assertions over the endpoint's `TCP_INFO`.
//!
//! The language is the part of Python that such code uses:
//!
//! - `assert CONDITION[, MESSAGE]`, `NAME = VALUE` (also `+=` and its like), `print`, `pass`, and
//!   `if CONDITION: STATEMENT` in one line;
//! - whole numbers of 64 bits, decimal ones, texts, tuples and lists (which are the same here);
//! - arithmetic, comparisons (also chained), `in`, `and`, `or`, `not`, `A if CONDITION else B`,
//!   `TEXT % VALUES`;
//! - `abs`, `bool`, `float`, `int`, `len`, `max`, `min`, `repr`, `round`, `str`, `sum`.
//!
//! `/` is Python 3's. Everything else, `import` too, makes a script unsupported. Names stay from
//! one piece of code to the next.

mod evaluate;
mod parse;
mod value;

pub(crate) use evaluate::Environment;
pub(crate) use value::Value;

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
