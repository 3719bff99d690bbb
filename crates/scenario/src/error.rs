//! Errors of a scenario: all of them, each with file, line, key, value and rule.

use std::fmt;

/// Everything that is wrong with one scenario file.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ScenarioErrors {
    /// The file as its author calls it.
    pub file: String,
    /// One or more errors, in the order of the file where lines are known.
    pub errors: Vec<ScenarioError>,
}

/// One thing that is wrong with a scenario.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ScenarioError {
    /// Where in the scenario: `flows[0].workload.interval`; empty for the file as a whole.
    pub key: String,
    /// Line in the file, from 1; `None` for settings from outside the file.
    pub line: Option<usize>,
    /// The offending value as text, where there is one.
    pub value: Option<String>,
    /// The rule that it breaks.
    pub rule: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl ScenarioErrors {
    /// Errors of `file`, ordered by line.
    pub(crate) fn new(file: &str, mut errors: Vec<ScenarioError>) -> Self {
        errors.sort_by_key(|error| error.line.unwrap_or(usize::MAX));
        Self { file: file.to_owned(), errors }
    }
}

impl fmt::Display for ScenarioErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.errors.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            match error.line {
                Some(line) => write!(f, "{}:{line}: {error}", self.file)?,
                None => write!(f, "{}: {error}", self.file)?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.key.as_str(), &self.value) {
            ("", _) => write!(f, "{}", self.rule)?,
            (key, Some(value)) => write!(f, "{key} = {value}: {}", self.rule)?,
            (key, None) => write!(f, "{key}: {}", self.rule)?,
        }
        match &self.hint {
            Some(hint) => write!(f, "\n  hint: {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ScenarioErrors {}
