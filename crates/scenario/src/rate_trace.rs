//! Rates as recorded, as a scenario describes them.

use crate::queue::Fault;
use crate::recording::Recordings;
use fairwind_qdisc::{RateStep, RateTrace};
use fairwind_units::BitRate;
use serde::{Deserialize, Serialize};

/// When a link may send, instead of a rate that stays the same. At its end it begins again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "form", rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(transform = crate::shape::first_is_usual)]
pub enum RateTraceInput {
    /// As a file has it; `form` may then be left out.
    File {
        /// Name of a file in Mahimahi's packet-delivery format, seen from the scenario's folder: a whole number of
        /// milliseconds on each line, at which 1500 bytes may leave.
        file: String,
    },
    /// Instants at each of which 1500 bytes may leave, as Mahimahi records them (packet-delivery trace): several small
    /// packets share one, a larger packet needs several, and what nobody uses is lost.
    Opportunities {
        /// Milliseconds from the beginning, never decreasing, the last above zero; the last is the length of the trace.
        milliseconds: Vec<u64>,
    },
    /// Rates, each for some time.
    Steps {
        /// In order.
        steps: Vec<RateStep>,
    },
}

impl RateTraceInput {
    /// The trace, or what is wrong with it at `key`.
    pub(crate) fn resolve(&self, recordings: &Recordings, key: &str) -> Result<RateTrace, Fault> {
        let trace = match self {
            Self::File { file } => {
                return recordings.rate_trace(file).ok_or_else(|| unread(&format!("{key}.file")));
            }
            Self::Opportunities { milliseconds } => {
                RateTrace::Opportunities { milliseconds: milliseconds.clone() }
            }
            Self::Steps { steps } => RateTrace::Steps { steps: steps.clone() },
        };
        match trace.error() {
            Some(rule) => Err(Fault { key: key.to_owned(), rule: rule.to_owned(), hint: None }),
            None => Ok(trace),
        }
    }

    /// Its mean rate, where there is nothing wrong with it.
    pub(crate) fn mean_rate(&self, recordings: &Recordings) -> Option<BitRate> {
        self.resolve(recordings, "").ok().map(|trace| trace.mean_rate())
    }
}

/// What is said of a file that nobody provided.
pub(crate) fn unread(key: &str) -> Fault {
    Fault { key: key.to_owned(), rule: "nobody has read this file".to_owned(), hint: None }
}
