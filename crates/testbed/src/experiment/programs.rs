//! BPF programs of a run: at the tracepoints of endpoints, and for remembered windows.
//!
//! Without the first, hosts poll `TCP_INFO` for time-outs and recoveries, which counts them and says only roughly when
//! they happened. For the second, each host has its own control group, which the run's reaper removes, and programs
//! that end with the run.

use super::RunError;
use super::plans::PlannedHost;
use fairwind_bpf as ebpf;
use fairwind_bpf::{Connection, EndpointEvents, EndpointWatch};
use fairwind_hosts::{HostPlan, HostProcess, IncomingPlan, OutgoingPlan};
use fairwind_linux::{CleanupPaths, RunName};
use fairwind_measure::{CachedWindow, FlowId, Tables, remembered_table};
use fairwind_recorder::ObservationWriter;
use fairwind_scenario::Experiment;
use fairwind_units::Instant;
use fairwind_windows::{WindowsError, WindowsOfRun};
use std::os::unix::fs::MetadataExt as _;
use std::time::Duration;

/// What is asked for; SYNs that are sent again are seen where they pass.
const FACTS: EndpointEvents =
    EndpointEvents { recovery: true, syn_retries: false, acknowledgments: false };

/// Checks whether tracepoints can measure what `experiment` needs from them.
pub(super) fn check(experiment: &Experiment) -> Result<(), RunError> {
    if experiment.measure.endpoint_every_ack {
        let missing = |error| RunError::NotObservable { key: "measure.endpoint_every_ack", error };
        ebpf::availability().map_err(missing)?;
    }
    Ok(())
}

/// The kernel's tracepoints, and the writer of their observations.
pub(super) struct KernelWatch {
    watch: EndpointWatch,
    observations: ObservationWriter,
}

impl KernelWatch {
    /// Watches all connections that these hosts will write on.
    pub(super) fn new<'a>(
        hosts: impl Iterator<Item = (&'a HostProcess, &'a HostPlan)>,
        every_ack: bool,
        observations: ObservationWriter,
    ) -> Result<Self, RunError> {
        let mut connections = Vec::new();
        for (process, plan) in hosts {
            let namespace = namespace_of(process)?;
            let connection = |flow: &OutgoingPlan| Connection {
                flow: FlowId(flow.flow),
                namespace,
                local: flow.local,
                remote: flow.remote,
            };
            connections.extend(plan.outgoing.iter().map(connection));
            let answering = |flow: &IncomingPlan| {
                let answer = flow.answer.as_ref()?;
                let (local, remote) = (flow.local, flow.remote);
                Some(Connection { flow: FlowId(answer.flow), namespace, local, remote })
            };
            connections.extend(plan.incoming.iter().filter_map(answering));
        }
        let facts = EndpointEvents { acknowledgments: every_ack, ..FACTS };
        let watch = EndpointWatch::new(&connections, facts)?;
        Ok(Self { watch, observations })
    }

    pub(super) fn begin(&mut self, origin: Instant) {
        self.watch.set_origin(origin);
    }

    /// Writes down what has happened.
    pub(super) fn receive(&mut self) -> Result<(), RunError> {
        let watermark = self.watch.read(Duration::ZERO, &mut self.observations)?;
        self.observations.advance(watermark);
        Ok(())
    }

    /// Writes down the rest; how many events were missed because they came too fast.
    pub(super) fn end(mut self) -> Result<u64, RunError> {
        self.watch.finish(&mut self.observations)?;
        self.observations.finish();
        Ok(self.watch.missed())
    }
}

/// The number (inode) of a host's network namespace.
fn namespace_of(process: &HostProcess) -> Result<u32, RunError> {
    let path = format!("/proc/{}/ns/net", process.process_id());
    let number = std::fs::metadata(&path).map(|namespace| namespace.ino());
    number.ok().and_then(|number| u32::try_from(number).ok()).ok_or_else(|| RunError::Thread {
        what: "watching the kernel's endpoints",
        reason: format!("{path} does not show the namespace of host {}", process.name()),
    })
}

/// Makes the control groups and puts the programs there, before the hosts are started, which enter them.
pub(super) fn begin(
    run: RunName,
    hosts: &mut [PlannedHost],
) -> Result<Vec<(String, WindowsOfRun)>, RunError> {
    let remembering = hosts.iter_mut().filter_map(|host| Some((host.windows?, &mut host.plan)));
    remembering
        .map(|(options, plan)| {
            let root = CleanupPaths::usual().control_groups.ok_or(WindowsError::NoVersionTwo)?;
            let path = root.join(run.of(&format!("{}-windows", plan.name)));
            std::fs::create_dir(&path).map_err(|error| WindowsError::Refused {
                attempt: format!("make the control group {}", path.display()),
                words: error.to_string(),
            })?;
            let begun = WindowsOfRun::begin(&path, &options)?;
            plan.control_group = Some(path);
            Ok((plan.name.clone(), begun))
        })
        .collect()
}

/// The windows that the hosts remember now.
pub(super) fn remembered(
    memories: &[(String, WindowsOfRun)],
) -> Result<Vec<CachedWindow>, WindowsError> {
    let mut peers = Vec::new();
    for (host, windows) in memories {
        peers.extend(windows.remembered()?.windows.into_iter().map(|window| CachedWindow {
            host: host.clone(),
            peer: window.peer,
            window_packets: window.packets,
            age: window.age,
        }));
    }
    Ok(peers)
}

/// Adds the table of what the hosts remember, where they remember anything. A run that is over keeps its other tables
/// where that cannot be read: a remark says so.
pub(super) fn add_remembered_table(
    tables: &mut Tables,
    remembered: Result<Vec<CachedWindow>, WindowsError>,
) -> Option<String> {
    match remembered {
        Ok(peers) if peers.is_empty() => None,
        Ok(peers) => {
            tables.tables.push(remembered_table(peers));
            None
        }
        Err(error) => Some(format!("there is no table `remembered`: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwind_units::Span;

    #[test]
    fn unreadable_windows_leave_other_tables() {
        let mut tables = Tables { tables: Vec::new() };
        let peer = CachedWindow {
            host: "server".to_owned(),
            peer: [10, 0, 0, 1].into(),
            window_packets: 32,
            age: Span::ZERO,
        };
        assert_eq!(add_remembered_table(&mut tables, Ok(vec![peer])), None);
        assert!(tables.get("remembered").is_some());
        let refused =
            WindowsError::Refused { attempt: "read".to_owned(), words: "gone".to_owned() };
        let remark = add_remembered_table(&mut tables, Err(refused)).expect("it could not be read");
        assert!(remark.contains("`remembered`") && remark.contains("gone"), "{remark}");
        assert_eq!(add_remembered_table(&mut tables, Ok(Vec::new())), None);
        assert_eq!(tables.tables.len(), 1);
    }
}
