//! Outcome of a script, and the packet exchange before it.

use crate::script::decimal;
use fairwind_units::Span;
use std::fmt::{Display, Formatter};

/// Outcome of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Every event matched.
    Passed,
    /// The endpoint deviates from the script, or the script cannot be parsed.
    Failed(Failure),
    /// The script needs a feature that the endpoint or this crate does not have.
    Unsupported(Unsupported),
}

/// A deviation from the script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Name of the script.
    pub script: String,
    /// The line that does not hold, from 1; `None` where it is not one line's fault.
    pub line: Option<u32>,
    /// Message: the expected and the seen value.
    pub message: String,
    /// Events up to the failing line, expected and seen.
    pub dialogue: Vec<Exchange>,
}

/// A missing feature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsupported {
    /// Name of the script.
    pub script: String,
    /// The line that needs it, from 1.
    pub line: Option<u32>,
    /// The missing feature.
    pub reason: String,
}

/// A line of the script and the event that was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// Line in the script, from 1; `None` for an event that is not in the script.
    pub line: Option<u32>,
    /// The line of the script.
    pub expected: String,
    /// When it happened, from the beginning of the script.
    pub at: Span,
    /// Details of the event, if the line does not have them.
    pub seen: Vec<String>,
}

impl Display for Exchange {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let line = self.line.map_or_else(|| "-".to_owned(), |line| line.to_string());
        write!(f, "{line:>5}  {:<64} | {}", self.expected, decimal(self.at))?;
        for (place, seen) in self.seen.iter().enumerate() {
            if place == 0 {
                write!(f, "  {seen}")?;
            } else {
                write!(f, "\n{:>5}  {:<64} |   {seen}", "", "")?;
            }
        }
        Ok(())
    }
}

impl Display for Failure {
    /// Position and message, without the dialogue.
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write_place(f, &self.script, self.line)?;
        f.write_str(&self.message)
    }
}

impl Failure {
    /// The dialogue up to the failing line, one line of text per event.
    pub fn dialogue_text(&self) -> String {
        use std::fmt::Write as _;
        let mut text = String::from(" line  expected\n");
        for exchange in &self.dialogue {
            // Writing to a `String` cannot fail.
            let _ = writeln!(text, "{exchange}");
        }
        text
    }
}

impl Display for Unsupported {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write_place(f, &self.script, self.line)?;
        f.write_str(&self.reason)
    }
}

fn write_place(f: &mut Formatter<'_>, script: &str, line: Option<u32>) -> std::fmt::Result {
    match line {
        Some(line) => write!(f, "{script}:{line}: "),
        None => write!(f, "{script}: "),
    }
}

/// Reason to stop a run early; callers add the position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// A deviation from the script.
    Failed(String),
    /// A missing feature.
    Unsupported(String),
}

impl Stop {
    /// A deviation; the first line is the message, further lines go to the dialogue.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::Failed(message.into())
    }

    /// Outcome of a script that stops in this line.
    pub(crate) fn outcome(
        self,
        script: &str,
        line: Option<u32>,
        dialogue: Vec<Exchange>,
    ) -> Outcome {
        let script = script.to_owned();
        match self {
            Self::Failed(message) => {
                // Further lines are part of the dialogue.
                let message = message.lines().next().unwrap_or_default().to_owned();
                Outcome::Failed(Failure { script, line, message, dialogue })
            }
            Self::Unsupported(reason) => Outcome::Unsupported(Unsupported { script, line, reason }),
        }
    }

    /// A missing feature.
    pub fn unsupported(reason: impl Into<String>) -> Self {
        Self::Unsupported(reason.into())
    }
}

/// Result of a step, which may end the run.
pub type Step<T> = Result<T, Stop>;
