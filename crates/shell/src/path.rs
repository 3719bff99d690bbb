//! The path at work: the network in real time between the two devices, and what is measured of it.

use super::ShellError;
use super::commands::problem;
use super::connections::{ConnectionTracker, GROUPS};
use super::protocol::User;
use fairwind_assembly::{Assembly, CaptureFiles, CaptureWriters};
use fairwind_capture::Section;
use fairwind_linux::{self as linux, MonotonicClock};
use fairwind_measure::{Lateness, Settings, Tables};
use fairwind_network::NodeId;
use fairwind_recorder::{Recorder, RecorderParts};
use fairwind_router::{
    Port, RoutedPacket, Router, RouterControl, RouterError, RouterParts, lateness_bound,
};
use fairwind_scenario::{Experiment, RouterKind};
use fairwind_units::Instant;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;

/// A program and the path that it is put behind.
#[derive(Debug, Clone)]
pub struct ShellPlan {
    /// The network. The program stands where the first group of flows sends from, and the outside
    /// where it sends to.
    pub experiment: Experiment,
    /// What chance begins with.
    pub seed: u64,
    /// The program and its arguments.
    pub program: Vec<String>,
    /// Whom the program runs as; the caller where nobody is named.
    pub user: Option<User>,
    /// Whether the program's flows are measured, and captured where the experiment says so.
    pub is_measured: bool,
}

/// The two devices.
pub(super) struct Ports {
    pub(super) inside: OwnedFd,
    pub(super) outside: OwnedFd,
}

/// The network, ready to carry.
pub(super) struct Path {
    assembly: Assembly<RoutedPacket>,
    captures: CaptureWriters,
    /// Bytes of each packet that captures keep.
    snap: usize,
}

impl Path {
    /// Builds what `plan` describes, and begins the captures that it wants.
    ///
    /// # Errors
    /// Where the description is inconsistent or a capture cannot be begun.
    pub(super) fn new(plan: &ShellPlan, files: CaptureFiles) -> Result<Self, ShellError> {
        if plan.experiment.network.router != RouterKind::User {
            return Err(problem(
                "the path of a shell is ours, never the kernel's own queues: leave path.router out",
            )
            .into());
        }
        let assembly = Assembly::new(&plan.experiment, plan.seed, |_| true)?;
        let mut path = Self { assembly, captures: CaptureWriters::default(), snap: 0 };
        if let Some(capture) = &plan.experiment.capture {
            let section = Section {
                application: Some("fairwind shell".to_owned()),
                comment: Some(plan.program.join(" ")),
                ..Section::default()
            };
            path.captures = CaptureWriters::begin(files, capture, &section)?;
            let snap = capture.snap.and_then(|bytes| usize::try_from(bytes.get()).ok());
            path.snap = snap.unwrap_or(usize::MAX);
        }
        Ok(path)
    }

    /// Begins to carry packets. Where that fails later, `inside` is closed, so that whoever waits
    /// for the program learns of it.
    pub(super) fn carry(
        self,
        plan: &ShellPlan,
        devices: Ports,
        inside: UnixStream,
    ) -> Result<RunningPath, ShellError> {
        let ends = self.assembly.flows.first().map(|flow| [flow.sender_node, flow.receiver_node]);
        let nodes =
            ends.ok_or_else(|| problem("the scenario has no flows, so the program no place"))?;
        let settings = Settings {
            groups: GROUPS.map(str::to_owned).to_vec(),
            flows: Vec::new(),
            ..self.assembly.settings
        };
        let parts = RecorderParts { settings, captures: self.captures, snap: Vec::new() };
        let (recorder, mut observations, _) =
            Recorder::start(parts, &[]).map_err(|error| thread_failed(&error))?;
        let mut classifier = ConnectionTracker::new(nodes, plan.is_measured, self.snap);
        classifier.begin(&mut observations);
        let control = RouterControl::new();
        let parts = RouterParts {
            network: self.assembly.network,
            queues: self.assembly.queues,
            ports: named(devices, nodes),
            classifier,
            observations,
            mtu: usize::try_from(plan.experiment.network.mtu.get()).unwrap_or(usize::MAX),
            lateness_bound: lateness_bound(&plan.experiment),
        };
        let router = Router::new(parts, control.clone(), MonotonicClock)?;
        let origin = linux::monotonic();
        control.begin(origin);
        let thread = std::thread::Builder::new()
            .name("fairwind-router".to_owned())
            .spawn(move || {
                let result = router.run();
                if result.is_err() {
                    let _ = inside.shutdown(std::net::Shutdown::Both);
                }
                result
            })
            .map_err(|error| thread_failed(&error))?;
        Ok(RunningPath { thread, control, recorder, origin })
    }
}

fn named(ports: Ports, nodes: [NodeId; 2]) -> Vec<Port> {
    let [program, outside] = nodes;
    vec![
        Port { host: "program".to_owned(), node: program, device: ports.inside },
        Port { host: "outside".to_owned(), node: outside, device: ports.outside },
    ]
}

fn thread_failed(error: &std::io::Error) -> ShellError {
    ShellError::Thread { what: "starting a thread", reason: error.to_string() }
}

/// Threads at work.
pub(super) struct RunningPath {
    thread: JoinHandle<Result<Lateness, RouterError>>,
    control: RouterControl,
    recorder: Recorder,
    origin: Instant,
}

impl RunningPath {
    /// Carries no more, and tells what was measured.
    pub(super) fn stop(self) -> Result<(Tables, Lateness), ShellError> {
        let end = Instant::ZERO + linux::monotonic().saturating_since(self.origin);
        self.recorder.end_at(end);
        self.control.stop();
        let routed = self.thread.join().map_err(|_| ShellError::Thread {
            what: "the router",
            reason: "it panicked, as its message above says".to_owned(),
        })?;
        let lateness = routed?;
        let mut tables = self.recorder.finish()?.tables;
        tables.tables.push(lateness.table());
        Ok((tables, lateness))
    }
}
