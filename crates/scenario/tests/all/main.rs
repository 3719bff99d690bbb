//! Tests of the public interface.

mod carriers;
mod controls;
mod errors;
mod examples;
mod files;
mod grid;
mod queues;
mod resolution;
mod robustness;
mod settings;
mod sharing;
mod workloads;

use fairwind_scenario::{Document, Experiment, Plan};

/// The scenario of the first experiment, without a sweep.
pub(crate) const THIN_AGAINST_GREEDY: &str = r#"
name = "thin streams against greedy streams"
duration = "300 s"
[path]
rate = "1 Mbit/s"
rtt = "100 ms"
queue = { discipline = "pfifo", limit = "1 bdp" }
[[flows]]
name = "thin"
count = 8
workload = { kind = "thin", payload = "120 B", interval = "150 ms" }
tcp = { profile = "linux-3.16", congestion = "cubic", modified_fast_retransmit = true, linear_timeouts = true }
[[flows]]
name = "greedy"
count = 8
workload = { kind = "greedy" }
"#;

pub(crate) fn document(text: &str) -> Document {
    Document::parse("test.toml", text).expect("the text is TOML")
}

pub(crate) fn plan(text: &str) -> Plan {
    match document(text).plan() {
        Ok(plan) => plan,
        Err(errors) => panic!("{errors}"),
    }
}

/// The experiment of a scenario without a sweep.
pub(crate) fn experiment(text: &str) -> Experiment {
    let mut plan = plan(text);
    assert_eq!(plan.cells.len(), 1);
    plan.cells.remove(0).experiment
}

/// The first experiment with `old` replaced by `new`.
pub(crate) fn with(old: &str, new: &str) -> String {
    assert!(THIN_AGAINST_GREEDY.contains(old), "{old} is not in the scenario");
    THIN_AGAINST_GREEDY.replacen(old, new, 1)
}
