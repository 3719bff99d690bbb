//! What a kernel cannot have, and what comes nearest.

use serde::Serialize;
use std::fmt;

/// One setting that a kernel cannot have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnsupportedSetting {
    /// The group of flows that asks for it.
    pub group: String,
    /// Where in the scenario: `flows.thin.tcp.loss_detection`.
    pub key: String,
    /// What it is set to, as in the scenario.
    pub value: String,
    /// What the kernel would have to do, and why it does not.
    pub mechanism: String,
    /// The kernel's release.
    pub kernel: String,
    /// What comes nearest on this kernel.
    pub alternative: String,
}

impl fmt::Display for UnsupportedSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, value, mechanism, kernel, alternative, .. } = self;
        write!(f, "{key} = {value}: Linux {kernel}: {mechanism}\n  nearest: {alternative}")
    }
}

/// Everything of an experiment that a kernel cannot have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
pub struct UnsupportedSettings {
    /// One or more, in the order of the scenario's groups.
    pub refusals: Vec<UnsupportedSetting>,
}

impl fmt::Display for UnsupportedSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, refusal) in self.refusals.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{refusal}")?;
        }
        Ok(())
    }
}
