//! Why a text is not in the syntax of `tc`.

use std::fmt;

/// What is wrong with a text, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TcError {
    /// Line of the text, from 1.
    pub line: usize,
    /// Column of the line in characters, from 1.
    pub column: usize,
    /// What is wrong, and what to do about it.
    pub rule: String,
}

impl fmt::Display for TcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            1 => write!(f, "column {}: {}", self.column, self.rule),
            line => write!(f, "line {line}, column {}: {}", self.column, self.rule),
        }
    }
}

impl std::error::Error for TcError {}

/// "did you mean" with the one of `known` that is most like `word`, or else all of them.
pub(super) fn advice(word: &str, known: &[&str]) -> String {
    let likeness = |candidate: &&&str| strsim::jaro_winkler(word, candidate);
    let best = known.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    match best.filter(|best| likeness(best) > 0.75) {
        Some(best) => format!("did you mean \"{best}\"?"),
        None => format!("known are {}", known.join(", ")),
    }
}
