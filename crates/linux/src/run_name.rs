//! The name of a run, and whether it still lives.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU32, Ordering};

/// Prefix of all names that a run creates outside its processes.
const PREFIX: &str = "fairwind-";

/// The name of a run: no other run has it, on this machine since it was started.
///
/// It holds the number of the process, its start time, and a count of its runs. The name alone shows
/// whether the run may still live: `fairwind-4711.1f3a.1`.
///
/// ```
/// use fairwind_linux::RunName;
/// let run = RunName::fresh();
/// assert!(run.is_alive());
/// assert_eq!(run.of("sender").parse(), Ok(run));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunName {
    /// Number of the process.
    process: u32,
    /// When it was started, in the kernel's ticks since it was.
    started: u64,
    /// Which of its runs.
    count: u32,
}

/// A name that is not of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not the name of a run: expected fairwind-PROCESS.STARTED.COUNT and what it belongs to")]
pub struct RunNameError;

impl RunName {
    /// A name for a run of this process.
    pub fn fresh() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(1);
        let process = std::process::id();
        Self {
            process,
            started: started(process).unwrap_or(0),
            count: COUNT.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// The name of something of the run's: `fairwind-4711.1f3a.1-sender`. Letters that have a meaning
    /// in paths, or for the shell, become hyphens.
    pub fn of(&self, what: &str) -> String {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
        let what: String =
            what.chars().map(|letter| if plain(letter) { letter } else { '-' }).collect();
        format!("{self}-{what}")
    }

    /// Whether the process that made it is still there.
    pub fn is_alive(&self) -> bool {
        started(self.process) == Some(self.started)
    }
}

impl fmt::Display for RunName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}.{:x}.{}", self.process, self.started, self.count)
    }
}

impl FromStr for RunName {
    type Err = RunNameError;

    /// Reads the run from its own name, or from that of something of its.
    fn from_str(name: &str) -> Result<Self, RunNameError> {
        let rest = name.strip_prefix(PREFIX).ok_or(RunNameError)?;
        let run = rest.split('-').next().unwrap_or(rest);
        let mut parts = run.split('.');
        let mut part = || parts.next().ok_or(RunNameError);
        let process = part()?.parse().map_err(|_| RunNameError)?;
        let started = u64::from_str_radix(part()?, 16).map_err(|_| RunNameError)?;
        let count = part()?.parse().map_err(|_| RunNameError)?;
        if parts.next().is_some() {
            return Err(RunNameError);
        }
        Ok(Self { process, started, count })
    }
}

/// When a process was started, in ticks; `None` if there is none, or only what is left of one.
fn started(process: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name, in parentheses, may hold anything; the state follows it, and 19 fields later this.
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?;
    let is_gone = matches!(state, "Z" | "X");
    fields.nth(18)?.parse().ok().filter(|_| !is_gone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_names_are_unique_and_alive() {
        let (one, other) = (RunName::fresh(), RunName::fresh());
        assert_ne!(one, other);
        assert!(one.is_alive() && other.is_alive());
    }

    #[test]
    fn reused_process_number_is_another_run() {
        let here = RunName::fresh();
        assert!(!RunName { started: here.started + 1, ..here }.is_alive());
    }

    #[test]
    fn run_name_is_parsed_from_names() {
        let run = RunName::fresh();
        assert_eq!(run.to_string().parse(), Ok(run));
        assert_eq!(run.of("thin-sender").parse(), Ok(run));
        assert_eq!(run.of("a/b c"), format!("{run}-a-b-c"));
        for foreign in ["default", "fairwind-lab", "fairwind-1.2", "fairwind-1.2.3.4-x"] {
            assert_eq!(foreign.parse::<RunName>(), Err(RunNameError), "{foreign}");
        }
    }
}
