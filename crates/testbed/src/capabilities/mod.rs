//! What this machine has for experiments on the kernel, what is missing, and how to get it.
//!
//! Whatever can be tried is tried: it creates namespaces, sets up queue disciplines and waits for timers, in namespaces
//! that end with the trial.
//!
//! | module | concern |
//! |---|---|
//! | `rights` | root or user namespaces, TUN, control groups, files |
//! | `machine` | queue disciplines, address translation, clocks, processors, BPF programs |

mod machine;
mod rights;

use serde::Serialize;

/// Something that experiments on the kernel use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Capability {
    /// What it is.
    pub what: &'static str,
    /// Whether it is there.
    pub state: State,
    /// What was found.
    pub found: String,
    /// What it is for and how to get it; empty where all is well.
    pub remedy: String,
}

/// Whether something is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It is there.
    Ok,
    /// Not all of it is, or something else takes its place: experiments run.
    Limited,
    /// It is not, and something cannot be done without it; what, the remedy says.
    Missing,
    /// It is not, and no experiment runs on the kernel without it.
    Needed,
}

impl Capability {
    fn ok(what: &'static str, found: impl Into<String>) -> Self {
        Self { what, state: State::Ok, found: found.into(), remedy: String::new() }
    }

    fn lacking(
        what: &'static str,
        state: State,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { what, state, found: found.into(), remedy: remedy.into() }
    }
}

/// Looks at everything; this takes about a second.
pub fn probe() -> Vec<Capability> {
    [rights::probe(), machine::probe_clocks(), machine::probe_queues(), machine::probe_programs()]
        .concat()
}

/// Why no experiment at all can run on this kernel, and what to do about it; `None` where they can.
pub fn obstacle() -> Option<String> {
    rights::obstacle()
}

/// What a file says, without white space around it; empty where it cannot be read.
fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn everything_is_told_once_and_what_is_not_well_says_what_to_do() {
        let all = probe();
        let names: BTreeSet<_> = all.iter().map(|one| one.what).collect();
        assert_eq!(names.len(), all.len());
        for one in all {
            assert_eq!(one.remedy.is_empty(), one.state == State::Ok, "{one:?}");
            assert!(!one.found.is_empty(), "{one:?}");
        }
    }
}
