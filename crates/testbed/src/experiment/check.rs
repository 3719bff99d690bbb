//! Check of an experiment before anything runs: everything that this machine does not support, and what differs a
//! little.

use super::plans::LOSS_INTERVAL;
use super::run::controls_of;
use fairwind_bpf::{self as ebpf, BpfError};
use fairwind_hosts::files_for;
use fairwind_kernel_router::{self as kernel_router, KernelPlan, KernelRouterError};
use fairwind_kernel_settings::controls::{ControlObject, incompatibility};
use fairwind_kernel_settings::{self as settings, Kernel, Note, UnsupportedSetting};
use fairwind_linux as linux;
use fairwind_scenario::{Experiment, RouterKind};
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;

/// Result of the check of an experiment on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckReport {
    /// Unsupported keys; empty if the experiment can run.
    pub refusals: Vec<UnsupportedSetting>,
    /// Small differences from the scenario.
    pub remarks: Vec<Note>,
}

/// Whether eBPF programs can be used; found out once, since a plan has many experiments.
fn programs() -> &'static Result<(), BpfError> {
    static TRIED: OnceLock<Result<(), BpfError>> = OnceLock::new();
    TRIED.get_or_init(ebpf::availability)
}

/// Finds out what `experiment` would meet on this machine, without running any of it; `controls` are congestion
/// controls that are not the repository's.
pub fn check(experiment: &Experiment, controls: &[ControlObject]) -> CheckReport {
    let kernel = Kernel::running_with(controls);
    let (mut refusals, mut remarks) = match settings::of(experiment, &kernel) {
        Ok(settings) => (Vec::new(), settings.remarks),
        Err(refused) => (refused.refusals, Vec::new()),
    };
    let refuse =
        |key: &str, value: String, mechanism: String, alternative: String| UnsupportedSetting {
            group: String::new(),
            key: key.to_owned(),
            value,
            mechanism,
            kernel: kernel.release.clone(),
            alternative,
        };
    let asked = controls_of(experiment, controls);
    refusals.extend(incompatibility(&asked).map(|error| {
        let mechanism = error.to_string();
        let alternative = "or run it in the simulator (--on sim)".to_owned();
        refuse("tcp.congestion", named(&asked), mechanism, alternative)
    }));
    remarks.extend(not_compared(&asked, &kernel));
    if let Err(error) = programs() {
        if experiment.measure.endpoint_every_ack {
            refusals.push(refuse(
                "measure.endpoint_every_ack",
                "true".to_owned(),
                format!("only eBPF programs can report that: {error}"),
                "measure.endpoint_interval".to_owned(),
            ));
        }
        remarks.push(Note {
            key: "measure".to_owned(),
            text: format!(
                "time-outs and fast retransmits are counted but their instants are only known to \
                 {LOSS_INTERVAL}, because eBPF programs cannot report them: {error}"
            ),
        });
    }
    match router_notes(experiment) {
        Ok(notes) => remarks.extend(notes),
        Err(error) => {
            let (mechanism, alternative) = error.reason();
            refusals.push(refuse("path.router", "\"kernel\"".to_owned(), mechanism, alternative));
        }
    }
    for (key, mechanism) in unsupported_features(experiment) {
        let alternative = "leave out path.router, or the simulator".to_owned();
        refusals.push(refuse(key, "set".to_owned(), mechanism.to_owned(), alternative));
    }
    refusals.extend(too_many_files(experiment).into_iter().map(|(count, mechanism)| {
        let alternative =
            "fewer connections; or raise the hard limit (ulimit -Hn), or run as root".to_owned();
        refuse("flows.*.count", count.to_string(), mechanism, alternative)
    }));
    CheckReport { refusals, remarks }
}

/// What differs where the kernel carries the packets, or why it cannot; nothing behind our router.
fn router_notes(experiment: &Experiment) -> Result<Vec<Note>, KernelRouterError> {
    if experiment.network.router != RouterKind::Kernel {
        return Ok(Vec::new());
    }
    let plan = KernelPlan::new(experiment)?;
    Ok(kernel_router::differences(experiment).into_iter().chain(plan.watching()).collect())
}

/// Congestion controls that the kernel has by name, and of which there is nothing to compare with what it has.
fn not_compared(controls: &[ControlObject], kernel: &Kernel) -> Vec<Note> {
    let is_there = |it: &&ControlObject| kernel.congestion_controls.contains(&it.kernel_name);
    let remark = |it: &ControlObject| Note {
        key: "tcp.congestion".to_owned(),
        text: format!(
            "\"{}\" is the kernel's own \"{}\" in this run, which is not compared with the simulator's",
            it.name, it.kernel_name
        ),
    };
    let without = controls.iter().filter(|it| it.object.is_empty());
    without.filter(is_there).map(remark).collect()
}

/// The names of congestion controls, as a scenario has them.
fn named(controls: &[ControlObject]) -> String {
    let names: Vec<String> =
        controls.iter().map(|control| format!("\"{}\"", control.name)).collect();
    names.join(", ")
}

/// Numbers of connections for which a host may not open files enough, and why.
fn too_many_files(experiment: &Experiment) -> Vec<(u64, String)> {
    let most = linux::most_files();
    let all = connections(experiment);
    all.filter_map(|(host, connections)| {
        let wanted = files_for(connections);
        let reason = || {
            format!(
                "the process of host {host} needs {wanted} open files for its connections, and the \
                 limit is {most}"
            )
        };
        (wanted > most).then(|| (connections, reason()))
    })
    .collect()
}

/// Features of our router that the kernel path does not have.
fn unsupported_features(experiment: &Experiment) -> Vec<(&'static str, &'static str)> {
    if experiment.network.router != RouterKind::Kernel {
        return Vec::new();
    }
    let links = &experiment.network.links;
    let mut found = Vec::new();
    if links.iter().any(|link| !link.impairments.is_none()) {
        found.push(("impairments", "the kernel path does not set them in netem"));
    }
    if links.iter().any(|link| link.rate_trace.is_some()) {
        found.push(("rate_trace", "the kernel's shapers have one rate"));
    }
    if links.iter().any(|link| link.assigned.is_some()) {
        found.push(("carrier", "the kernel assigns no slots on demand"));
    }
    if experiment.flows.iter().any(|group| !group.workload.ack_delay().is_zero()) {
        found.push(("ack_delay", "the kernel cannot delay acknowledgments by a given time"));
    }
    found
}

/// Hosts with the number of connections that end there.
fn connections(experiment: &Experiment) -> impl Iterator<Item = (&str, u64)> {
    let at = |host: &str| {
        let groups = experiment.flows.iter();
        let ends = groups.flat_map(|group| [&group.from, &group.to].map(|end| (end, group)));
        ends.filter(|(end, _)| *end == host).map(|(_, group)| group.connections()).sum()
    };
    let nodes = experiment.network.nodes.iter();
    nodes.map(move |node| (node.name.as_str(), at(&node.name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwind_scenario::Document;

    #[test]
    fn kernel_path_refuses_router_only_features() {
        let unsupported = |path: &str, workload: &str| {
            let text = format!(
                "name = \"x\"\nduration = \"5 s\"\n[path]\nrate = \"1 Mbit/s\"\nrtt = \"20 ms\"\n{path}\n[[flows]]\n\
                 name = \"web\"\nworkload = {{ kind = \"transfers\", volume = \"1 kB\", transfers = 1{workload} }}"
            );
            let document = Document::parse("x.toml", &text).expect("a scenario");
            let experiment = document.experiment(&document.grid().expect("a grid")[0]);
            let found = unsupported_features(&experiment.expect("an experiment"));
            found.into_iter().map(|(key, _)| key).collect::<Vec<_>>()
        };
        let kernel = "router = \"kernel\"";
        assert!(unsupported(kernel, "").is_empty());
        assert_eq!(unsupported(kernel, ", ack_delay = \"10 ms\""), ["ack_delay"]);
        assert!(unsupported("", ", ack_delay = \"10 ms\"").is_empty());
        let impaired = format!("{kernel}\nimpairments = \"tc: netem duplicate 1%\"");
        assert_eq!(unsupported(&impaired, ""), ["impairments"]);
    }
}
