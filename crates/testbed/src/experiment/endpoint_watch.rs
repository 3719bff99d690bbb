//! What the kernel itself tells of its endpoints, where it can be asked to.
//!
//! Without it, hosts look for time-outs and recoveries by `TCP_INFO`, which tells how many there
//! were and only roughly when.

use super::RunError;
use fairwind_bpf::{self as ebpf, Connection, EndpointEvents, EndpointWatch};
use fairwind_hosts::{HostPlan, HostProcess, IncomingPlan, OutgoingPlan};
use fairwind_measure::FlowId;
use fairwind_recorder::ObservationWriter;
use fairwind_scenario::Experiment;
use fairwind_units::Instant;
use std::os::unix::fs::MetadataExt as _;
use std::time::Duration;

/// What is asked for; SYNs that are sent again are seen where they pass.
const FACTS: EndpointEvents =
    EndpointEvents { recovery: true, syn_retries: false, acknowledgments: false };

/// Whether the kernel can tell what `experiment` wants to know, and nobody else can.
pub(super) fn check(experiment: &Experiment) -> Result<(), RunError> {
    if experiment.measure.endpoint_every_ack {
        let missing = |error| RunError::NotObservable { key: "measure.endpoint_every_ack", error };
        ebpf::availability().map_err(missing)?;
    }
    Ok(())
}

/// Whether the kernel tells of its endpoints.
pub(super) fn is_available() -> bool {
    ebpf::availability().is_ok()
}

/// The kernel's tracepoints, and where what they tell is written down.
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
    pub(super) fn hear(&mut self) -> Result<(), RunError> {
        let told = self.watch.read(Duration::ZERO, &mut self.observations)?;
        self.observations.tell(told);
        Ok(())
    }

    /// Writes down the rest; how many events were missed because they came too fast.
    pub(super) fn end(mut self) -> Result<u64, RunError> {
        self.watch.finish(&mut self.observations)?;
        self.observations.finish();
        Ok(self.watch.missed())
    }
}

/// The number by which the kernel knows a host's network namespace.
fn namespace_of(process: &HostProcess) -> Result<u32, RunError> {
    let path = format!("/proc/{}/ns/net", process.process_id());
    let number = std::fs::metadata(&path).map(|namespace| namespace.ino());
    number.ok().and_then(|number| u32::try_from(number).ok()).ok_or_else(|| RunError::Thread {
        what: "watching the kernel's endpoints",
        reason: format!("{path} does not tell the namespace of host {}", process.name()),
    })
}
