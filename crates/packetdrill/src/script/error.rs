//! What is wrong with a script's text.

use super::token::Position;

/// A script cannot be read: where, what was expected there, and what stands there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}:{}:{}: expected {expected}, found {found}", at.line, at.column)]
pub struct ParseError {
    /// Name of the script, as its reader gave it.
    pub name: String,
    /// Where.
    pub at: Position,
    /// What could have stood there.
    pub expected: String,
    /// What stands there.
    pub found: String,
}

/// The same before the script's name is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unexpected {
    pub(crate) at: Position,
    pub(crate) expected: String,
    pub(crate) found: String,
}

impl Unexpected {
    pub(crate) fn named(self, name: &str) -> ParseError {
        let Self { at, expected, found } = self;
        ParseError { name: name.to_owned(), at, expected, found }
    }
}
