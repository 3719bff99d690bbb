//! Outcome of a script, and the packet exchange before it.

use crate::script::decimal;
use fairwind_units::Span;
use std::fmt::{Display, Formatter};

/// How a script ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Every event matched.
    Passed,
    /// Something happened otherwise, or the script cannot be read.
    Failed(Failure),
    /// The script needs something that the endpoint or this room does not have; nothing is said
    /// about what the endpoint does right.
    Unsupported(Unsupported),
}

/// What happened otherwise than it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Name of the script.
    pub script: String,
    /// The line that does not hold, from 1; `None` where it is not one line's fault.
    pub line: Option<u32>,
    /// What is wrong.
    pub message: String,
    /// What was expected and seen up to there, the failing line last.
    pub dialogue: Vec<Exchange>,
}

/// What a script needs that is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsupported {
    /// Name of the script.
    pub script: String,
    /// The line that needs it, from 1.
    pub line: Option<u32>,
    /// What is missing.
    pub reason: String,
}

/// One line of the script and the event that was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// Line in the script, from 1; `None` for what the script does not speak of.
    pub line: Option<u32>,
    /// The line of the script.
    pub expected: String,
    /// When it happened, from the beginning of the script.
    pub at: Span,
    /// What happened, where that is more than the line says.
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
    /// Where and what, without the dialogue.
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write_place(f, &self.script, self.line)?;
        f.write_str(&self.message)
    }
}

impl Failure {
    /// The dialogue up to the failing line, expected and seen: one line of text each.
    pub fn dialogue_text(&self) -> String {
        use std::fmt::Write as _;
        let mut text = String::from(" line  expected\n");
        for exchange in &self.dialogue {
            // Writing to a text cannot fail.
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

/// Why a run stops before its end; the place is added where it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// Something is otherwise than it is written.
    Failed(String),
    /// Something is needed that is not there.
    Unsupported(String),
}

impl Stop {
    /// What is otherwise; a first line for the message, further ones for the dialogue.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::Failed(message.into())
    }

    /// How the script `script` ends that stops so in this line.
    pub(crate) fn outcome(
        self,
        script: &str,
        line: Option<u32>,
        dialogue: Vec<Exchange>,
    ) -> Outcome {
        let script = script.to_owned();
        match self {
            Self::Failed(message) => {
                // The further lines say what was seen; they stand in the dialogue.
                let message = message.lines().next().unwrap_or_default().to_owned();
                Outcome::Failed(Failure { script, line, message, dialogue })
            }
            Self::Unsupported(reason) => Outcome::Unsupported(Unsupported { script, line, reason }),
        }
    }

    /// What is missing.
    pub fn unsupported(reason: impl Into<String>) -> Self {
        Self::Unsupported(reason.into())
    }
}

/// A step of a run, which may be its last.
pub type Step<T> = Result<T, Stop>;
