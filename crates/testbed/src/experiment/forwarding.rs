//! Who carries the packets between the hosts: our router, or the kernel's own parts with somebody who
//! watches them.

use super::RunError;
use super::plans::PlannedHost;
use fairwind_kernel_router::{KernelPath, KernelPlan, PathObserver, PathObserverParts};
use fairwind_linux::{MonotonicClock, RunName};
use fairwind_measure::Lateness;
use fairwind_router::{FlowTable, Router, RouterControl, RouterParts};
use fairwind_scenario::{Experiment, RouterKind};
use std::thread::JoinHandle;

/// The thread that tells what packets do.
pub(super) type ForwardingThread = JoinHandle<Result<Lateness, RunError>>;

/// Who is to carry the packets.
pub(super) enum Forwarding {
    /// Our router.
    User,
    /// The kernel's parts.
    Kernel {
        plan: KernelPlan,
        /// Bytes that each packet costs beyond itself, by link.
        overhead_bytes: Vec<u32>,
    },
}

impl Forwarding {
    /// Whom `experiment` asks for, if the running kernel has what that takes.
    pub(super) fn new(experiment: &Experiment) -> Result<Self, RunError> {
        match experiment.network.router {
            RouterKind::User => Ok(Self::User),
            RouterKind::Kernel => {
                let links = &experiment.network.links;
                Ok(Self::Kernel {
                    plan: KernelPlan::new(experiment)?,
                    overhead_bytes: links.iter().map(|link| link.overhead_bytes).collect(),
                })
            }
        }
    }

    /// Makes what hosts need to set themselves up, and tells them.
    pub(super) fn lay(
        self,
        run: RunName,
        hosts: &mut [PlannedHost],
    ) -> Result<ReadyForwarding, RunError> {
        match self {
            Self::User => Ok(ReadyForwarding::User),
            Self::Kernel { plan, overhead_bytes } => {
                let path = plan.lay(run)?;
                for host in &mut *hosts {
                    host.plan.veth = path.host_veth(host.node);
                }
                let addresses = |host: &PlannedHost| (host.node, host.plan.addresses.clone());
                let addresses = hosts.iter().map(addresses).collect();
                Ok(ReadyForwarding::Kernel { path, overhead_bytes, addresses })
            }
        }
    }
}

/// Who is to carry the packets, when the hosts can set themselves up.
pub(super) enum ReadyForwarding {
    User,
    Kernel {
        path: KernelPath,
        overhead_bytes: Vec<u32>,
        addresses: Vec<(fairwind_network::NodeId, Vec<std::net::IpAddr>)>,
    },
}

impl ReadyForwarding {
    /// Begins to carry, when the hosts have set themselves up.
    pub(super) fn start(
        self,
        parts: RouterParts<FlowTable>,
        control: RouterControl,
    ) -> Result<ForwardingThread, RunError> {
        match self {
            Self::User => {
                let router = Router::new(parts, control, MonotonicClock)?;
                spawn("fairwind-router", move || router.run().map_err(Into::into))
            }
            Self::Kernel { path, overhead_bytes, addresses } => {
                path.bring_up(&addresses)?;
                let (watch, points) = path.watch()?;
                let parts = PathObserverParts {
                    watch,
                    points,
                    queues: parts.queues,
                    overhead_bytes,
                    flows: parts.classifier,
                    observations: parts.observations,
                    lateness: Lateness::new(parts.lateness_bound),
                    path,
                };
                let watcher = PathObserver::new(parts, control)?;
                spawn("fairwind-watch", move || watcher.run().map_err(Into::into))
            }
        }
    }
}

fn spawn(
    name: &str,
    work: impl FnOnce() -> Result<Lateness, RunError> + Send + 'static,
) -> Result<ForwardingThread, RunError> {
    let thread = std::thread::Builder::new().name(name.to_owned());
    thread.spawn(work).map_err(|error| super::no_thread(&error))
}
