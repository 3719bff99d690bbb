//! A run from the first check until hosts and threads exist. Packets between the hosts are carried by our router, or by
//! the kernel's own parts with an observer.

use super::plans::{self, PlannedHost};
use super::programs::{self, KernelWatch};
use super::running::{ActiveRun, ForwardingThread, GLANCES, Hosts, Outcome};
use super::{RunError, no_thread};
use fairwind_assembly::{Assembly, CaptureFiles, CaptureWriters, Control, FlowPlan};
use fairwind_capture::Section;
use fairwind_hosts::{HostCommand, HostProcess};
use fairwind_kernel_router::{KernelPath, KernelPlan, PathObserver, PathObserverParts};
use fairwind_kernel_settings::controls::{ControlObject, LoadedForRun};
use fairwind_kernel_settings::{self as settings, Kernel};
use fairwind_linux::{self as linux, KernelError, MonotonicClock, Reaper, RunName};
use fairwind_measure::Lateness;
use fairwind_network::NodeId;
use fairwind_recorder::{REPORT_INTERVAL, Recorder, RecorderParts};
use fairwind_router::{
    FlowTable, Port, RoutedPacket, Router, RouterControl, RouterParts, StopOnDrop, lateness_bound,
};
use fairwind_scenario::{Congestion, Experiment, FlowGroup, PluggedControl, RouterKind};
use fairwind_units::Span;
use std::net::IpAddr;
use std::os::fd::OwnedFd;

/// How long the hosts may take to set themselves up, all together.
const SET_UP_LIMIT: Span = Span::from_secs(60);

/// Default limit of queue events, which stay in memory until the run is over.
const MOST_EVENTS: usize = 1_000_000;

/// An experiment about to be run on the kernel.
pub struct KernelRun {
    assembly: Assembly<RoutedPacket>,
    hosts: Vec<PlannedHost>,
    forwarding: Forwarding,
    command: HostCommand,
    captures: CaptureWriters,
    /// Bytes to keep of each captured packet, by flow; empty if nothing is captured.
    snap: Vec<usize>,
    mtu: usize,
    lateness_bound: Span,
    /// Whether senders are sampled at every acknowledgment.
    every_ack: bool,
    duration: Span,
    /// Congestion controls in C that its sockets are given.
    controls: Vec<ControlObject>,
    /// How often the router reports.
    report_interval: Span,
    /// Whether the clock stands still while anything computes.
    is_time_virtual: bool,
}

impl KernelRun {
    /// Checks that this kernel can do what `experiment` describes, and prepares it with every random
    /// choice of ours drawn from `seed`. Nothing runs yet.
    ///
    /// # Errors
    /// If the description is inconsistent, this kernel lacks something, or a capture cannot be
    /// begun.
    pub fn new(
        experiment: &Experiment,
        seed: u64,
        files: CaptureFiles,
        command: HostCommand,
    ) -> Result<Self, RunError> {
        Self::with_controls(experiment, seed, files, command, &[])
    }

    /// The same, with congestion controls that are not the repository's.
    ///
    /// # Errors
    /// As [`KernelRun::new`].
    pub fn with_controls(
        experiment: &Experiment,
        seed: u64,
        files: CaptureFiles,
        command: HostCommand,
        controls: &[ControlObject],
    ) -> Result<Self, RunError> {
        programs::check(experiment)?;
        let kernel = Kernel::running_with(controls);
        let settings = settings::of(experiment, &kernel)?;
        let mut assembly = Assembly::new(experiment, seed, has_timestamps)?;
        if let Some(events) = &mut assembly.settings.queue_events {
            let is_said =
                experiment.measure.queue_events.as_ref().is_some_and(|it| it.most.is_some());
            events.most = if is_said { events.most } else { MOST_EVENTS };
        }
        let hosts = plans::hosts(experiment, &settings, &assembly.flows, &assembly.datagrams);
        let mut run = Self {
            assembly,
            hosts,
            forwarding: Forwarding::new(experiment)?,
            command,
            captures: CaptureWriters::default(),
            snap: Vec::new(),
            mtu: usize::try_from(experiment.network.mtu.get()).unwrap_or(usize::MAX),
            lateness_bound: lateness_bound(experiment),
            every_ack: experiment.measure.endpoint_every_ack,
            duration: experiment.duration,
            controls: controls_of(experiment, controls),
            report_interval: REPORT_INTERVAL,
            is_time_virtual: false,
        };
        run.begin_captures(experiment, files, kernel.release)?;
        Ok(run)
    }

    /// Has it run by a clock that stands still while anything computes. The router reports every `interval`, and the
    /// hosts half as often, in place of every 5 ms: reports cost time, and in virtual time nobody waits for them.
    #[must_use]
    pub fn in_virtual_time(mut self, interval: Span) -> Self {
        self.is_time_virtual = true;
        self.report_interval = interval;
        for host in &mut self.hosts {
            host.plan.is_time_virtual = true;
            host.plan.report_interval = interval * plans::HOST_REPORTS;
        }
        self
    }

    fn begin_captures(
        &mut self,
        experiment: &Experiment,
        files: CaptureFiles,
        release: String,
    ) -> Result<(), RunError> {
        let Some(capture) = &experiment.capture else { return Ok(()) };
        let section = Section {
            application: Some("fairwind testbed".to_owned()),
            operating_system: Some(release),
            comment: Some(experiment.name.clone()),
            ..Section::default()
        };
        self.captures = CaptureWriters::begin(files, capture, &section)?;
        let snap = capture.snap.and_then(|bytes| usize::try_from(bytes.get()).ok());
        let kept = |is_captured| if is_captured { snap.unwrap_or(usize::MAX) } else { 0 };
        let captured = |flow: &FlowPlan| kept(flow.is_captured);
        self.snap = self.assembly.flows.iter().map(captured).collect();
        let described = self.assembly.settings.flows.iter().filter_map(|flow| flow.answers);
        let answers: Vec<usize> = described.map(|flow| self.snap[flow.index()]).collect();
        self.snap.extend(answers);
        Ok(())
    }

    /// Runs the experiment, in real time, and tabulates.
    ///
    /// # Errors
    /// [`RunError::Cancelled`] where `control` asked for it; whatever a host could not do; a capture
    /// that could not be written. Nothing of the run is left then.
    pub fn run(mut self, control: &Control) -> Result<Outcome, RunError> {
        let run = RunName::fresh();
        // It goes last, however this ends: what hosts leave is there until they are gone.
        let _guardian = Reaper::start(run)?;
        let _loaded = LoadedForRun::load(&self.controls)?;
        let is_watched = fairwind_bpf::availability().is_ok();
        for host in &mut self.hosts {
            host.prepare(run, is_watched);
        }
        let memories = programs::begin(run, &mut self.hosts)?;
        let forwarding = self.forwarding.create(run, &mut self.hosts)?;
        let (hosts, devices) = set_up(&self.hosts, &self.command)?;
        let to_record = RecorderParts {
            settings: self.assembly.settings,
            captures: self.captures,
            snap: self.snap,
            interval: self.report_interval,
            live: control.live().clone(),
        };
        let named = self.hosts.iter().map(|host| format!("host {}", host.plan.name));
        let others: Vec<String> =
            named.chain(is_watched.then(|| "the watch on the kernel".to_owned())).collect();
        let (recorder, observations, mut journals) =
            Recorder::start(to_record, &others).map_err(|error| no_thread(&error))?;
        let watch = match journals.pop() {
            Some(last) if is_watched => {
                let planned = self.hosts.iter().map(|host| &host.plan);
                Some(KernelWatch::new(hosts.iter().zip(planned), self.every_ack, last)?)
            }
            other => {
                journals.extend(other);
                None
            }
        };
        let router_control = RouterControl::new();
        let clock = MonotonicClock::of(self.is_time_virtual);
        let _stops = StopOnDrop(router_control.clone());
        let to_route = RouterParts {
            network: self.assembly.network,
            queues: self.assembly.queues,
            ports: devices,
            classifier: FlowTable::new(&self.assembly.flows, &self.assembly.datagrams),
            observations,
            mtu: self.mtu,
            lateness_bound: self.lateness_bound,
        };
        let router = forwarding.start(to_route, router_control.clone(), clock)?;
        let hosts = Hosts::new(hosts, journals)?;
        let glance = self.report_interval * GLANCES;
        let running = ActiveRun { hosts, watch, router, router_control, recorder, control, glance };
        let mut outcome = running.run(self.duration)?;
        let remembered = programs::remembered(&memories);
        outcome.remarks.extend(programs::add_remembered_table(&mut outcome.tables, remembered));
        Ok(outcome)
    }
}

/// The congestion controls in C that `experiment` asks for: of `others`, or the repository's.
pub(super) fn controls_of(experiment: &Experiment, others: &[ControlObject]) -> Vec<ControlObject> {
    let ends = experiment.flows.iter().flat_map(|group| [&group.tcp, &group.receiver_tcp]);
    let mut names: Vec<PluggedControl> = ends
        .filter_map(|tcp| match tcp.congestion {
            Some(Congestion::Plugged(name)) => Some(name),
            _ => None,
        })
        .collect();
    names.sort();
    names.dedup();
    let found = |name: &PluggedControl| {
        let other = others.iter().find(|control| control.name == name.as_str()).cloned();
        other.or_else(|| ControlObject::built_in(name.as_str()))
    };
    names.iter().filter_map(found).collect()
}

/// Whether packets of a group carry timestamps: both ends have to want them.
fn has_timestamps(group: &FlowGroup) -> bool {
    group.tcp.timestamps.unwrap_or(true) && group.receiver_tcp.timestamps.unwrap_or(true)
}

/// Starts all hosts, which set themselves up side by side, and waits for their devices.
fn set_up(
    planned: &[PlannedHost],
    command: &HostCommand,
) -> Result<(Vec<HostProcess>, Vec<Port>), RunError> {
    let started: Result<Vec<HostProcess>, KernelError> =
        planned.iter().map(|host| HostProcess::start(command, &host.plan)).collect();
    let mut hosts = started?;
    let until = linux::monotonic() + SET_UP_LIMIT;
    let mut ports = Vec::with_capacity(hosts.len());
    for (host, planned) in hosts.iter_mut().zip(planned) {
        let device: OwnedFd = host.wait_ready(until.saturating_since(linux::monotonic()))?;
        ports.push(Port { host: planned.plan.name.clone(), node: planned.node, device });
    }
    Ok((hosts, ports))
}

/// Forwarding that an experiment asks for.
enum Forwarding {
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
    fn new(experiment: &Experiment) -> Result<Self, RunError> {
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

    /// Creates what hosts need for their setup, and adds it to their plans.
    fn create(self, run: RunName, hosts: &mut [PlannedHost]) -> Result<ReadyForwarding, RunError> {
        match self {
            Self::User => Ok(ReadyForwarding::User),
            Self::Kernel { plan, overhead_bytes } => {
                let path = plan.create(run)?;
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

/// Forwarding when the hosts can set themselves up.
enum ReadyForwarding {
    User,
    Kernel { path: KernelPath, overhead_bytes: Vec<u32>, addresses: Vec<(NodeId, Vec<IpAddr>)> },
}

impl ReadyForwarding {
    /// Begins to carry, when the hosts have set themselves up.
    fn start(
        self,
        parts: RouterParts<FlowTable>,
        control: RouterControl,
        clock: MonotonicClock,
    ) -> Result<ForwardingThread, RunError> {
        match self {
            Self::User => {
                let router = Router::new(parts, control, clock)?;
                spawn("fairwind-router", move || router.run().map_err(Into::into))
            }
            Self::Kernel { path, overhead_bytes, addresses } => {
                path.bring_up(&addresses)?;
                let watch = path.watch(&addresses)?;
                let parts = PathObserverParts {
                    watch,
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
    thread.spawn(work).map_err(|error| no_thread(&error))
}
