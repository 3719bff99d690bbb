//! A shell from its start to its end: its processes, the network in real time between the two devices, and what is
//! measured of it.

use super::connections::{ConnectionTracker, GROUPS};
use super::host_network::HostNetwork;
use super::inside::{Answer, Inside, Link, Start, User, receive, send};
use super::outside::{Outside, Uplink};
use super::{Role, ShellError, problem};
use fairwind_assembly::{Assembly, CaptureFiles, CaptureWriters, LiveView};
use fairwind_capture::Section;
use fairwind_hosts::HostCommand;
use fairwind_linux::{self as linux, KernelError, MonotonicClock, Reaper, RunName};
use fairwind_measure::{Lateness, Settings, Tables};
use fairwind_network::NodeId;
use fairwind_recorder::{Recorder, RecorderParts};
use fairwind_router::{
    Port, RoutedPacket, Router, RouterControl, RouterError, RouterParts, lateness_bound,
};
use fairwind_scenario::{Experiment, RouterKind};
use fairwind_units::{Instant, Span};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::Arc;
use std::thread::JoinHandle;

/// Addresses of a shell, and notes for its user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellAddresses {
    /// Addresses at which the inside reaches the outside.
    pub outside: Vec<std::net::IpAddr>,
    /// Addresses at which the outside reaches the inside.
    pub inside: Vec<std::net::IpAddr>,
    /// Limitations, and their reasons.
    pub remarks: Vec<String>,
}

/// How a shell ended.
#[derive(Debug)]
pub struct Outcome {
    /// The program's exit code; 128 and the signal's number where one ended it; 126 or 127 where it
    /// could not be started.
    pub code: i32,
    /// Why the program could not be started.
    pub not_started: Option<String>,
    /// The measures of the program's flows, empty unless they were asked for, and the table
    /// `lateness` behind them.
    pub tables: Tables,
    /// How well the path kept time.
    pub lateness: Lateness,
}

/// Runs a program behind a path until it ends; calls `opened` with its addresses before it starts.
///
/// # Errors
/// If the path cannot be set up or kept up, a capture cannot be written, or `opened` fails.
pub fn run(
    plan: &ShellPlan,
    command: &HostCommand,
    captures: CaptureFiles,
    opened: impl FnOnce(&ShellAddresses) -> Result<(), KernelError>,
) -> Result<Outcome, ShellError> {
    let path = Path::new(plan, captures)?;
    let network = HostNetwork::read()?;
    let mtu = plan.experiment.network.mtu.get();
    let outside = Outside::make(&network, mtu)?;
    let name = RunName::fresh();
    // Dropped last, when everything that it outlives has ended.
    let mut reaper = Reaper::start(name)?;
    let mut uplink = Uplink::plan(&network);
    uplink.begin(name, &mut reaper, &outside);
    let session = Session::start(plan, command, &outside, &uplink)?;
    opened(&ShellAddresses {
        outside: outside.ends.iter().map(|ends| ends.outside).collect(),
        inside: outside.ends.iter().map(|ends| ends.inside).collect(),
        remarks: uplink.remarks.clone(),
    })?;
    session.run_until_end(plan, path, outside.device)
}

/// The supervisor and the inside at work. Dropping it ends both.
struct Session {
    supervisor: Child,
    socket: UnixStream,
    /// The inside's TUN device.
    device: Option<OwnedFd>,
}

impl Session {
    fn start(
        plan: &ShellPlan,
        command: &HostCommand,
        outside: &Outside,
        uplink: &Uplink,
    ) -> Result<Self, KernelError> {
        let failed = |error: std::io::Error| {
            problem(format!("start {}: {error}", command.program.display()))
        };
        let (ours, theirs) = UnixStream::pair().map_err(failed)?;
        let handed = linux::inheritable(&theirs)?;
        let supervisor = Command::new(&command.program)
            .args(&command.arguments)
            .args([Role::Supervisor.name(), &handed.as_raw_fd().to_string()])
            .spawn()
            .map_err(failed)?;
        drop((handed, theirs));
        let mut session = Self { supervisor, socket: ours, device: None };
        send(&mut session.socket, &inside(plan, outside, uplink))?;
        session.device = session.await_device()?;
        Ok(session)
    }

    fn await_device(&mut self) -> Result<Option<OwnedFd>, KernelError> {
        match self.answer()? {
            Answer::Ready => linux::receive_with_descriptor(&self.socket, &mut [0])
                .map(|(_, device)| device)
                .map_err(|error| problem(format!("receive the TUN device: {error}"))),
            answer => Err(unexpected(answer)),
        }
    }

    fn answer(&mut self) -> Result<Answer, KernelError> {
        let gone = || problem("the inside of the path was killed");
        receive(&mut self.socket)?.ok_or_else(gone)
    }

    /// Carries packets until the program has ended.
    fn run_until_end(
        mut self,
        plan: &ShellPlan,
        path: Path,
        outside: OwnedFd,
    ) -> Result<Outcome, ShellError> {
        let inside = self.device.take().ok_or_else(|| problem("the inside has no device"))?;
        let watcher = self.socket.try_clone().map_err(|error| problem(error.to_string()))?;
        let carrier = path.carry(plan, Ports { inside, outside }, watcher)?;
        send(&mut self.socket, &Start {})?;
        let answer = self.answer();
        // A carrier that has failed has closed the socket, and is the reason of what followed.
        let (tables, lateness) = carrier.stop()?;
        let (code, not_started) = match answer? {
            Answer::Ended(code) => (code, None),
            Answer::NotStarted(code, reason) => (code, Some(reason)),
            answer => return Err(unexpected(answer).into()),
        };
        Ok(Outcome { code, not_started, tables, lateness })
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
        let _ = self.supervisor.wait();
    }
}

fn unexpected(answer: Answer) -> KernelError {
    match answer {
        Answer::Failed(reason) => problem(reason),
        _ => problem("the inside does not keep to the protocol"),
    }
}

fn inside(plan: &ShellPlan, outside: &Outside, uplink: &Uplink) -> Inside {
    Inside {
        mtu: plan.experiment.network.mtu.get(),
        links: outside.ends.iter().map(Link::from).collect(),
        resolver: uplink.resolver.clone(),
        program: plan.program.clone(),
        directory: plan.directory.clone(),
        is_environment_inherited: plan.is_environment_inherited,
        environment: plan.environment.iter().cloned().chain(environment(outside)).collect(),
        user: plan.user.clone(),
    }
}

/// Where the program is, in words that it can use.
fn environment(outside: &Outside) -> Vec<(String, String)> {
    let mut variables = Vec::new();
    for ends in &outside.ends {
        let version = if ends.outside.is_ipv6() { "_IPV6" } else { "" };
        for (name, value) in [
            ("FAIRWIND_SHELL", ends.block.to_string()),
            ("FAIRWIND_OUTSIDE", ends.outside.to_string()),
            ("FAIRWIND_INSIDE", ends.inside.to_string()),
            ("FAIRWIND_OUTERMOST", ends.block.outermost().address(1).to_string()),
        ] {
            variables.push((format!("{name}{version}"), value));
        }
    }
    variables
}

/// A program and the path that it is put behind.
#[derive(Debug, Clone)]
pub struct ShellPlan {
    /// The network. The program stands where the first group of flows sends from, and the outside
    /// where it sends to.
    pub experiment: Experiment,
    /// The random seed.
    pub seed: u64,
    /// The program and its arguments.
    pub program: Vec<String>,
    /// The folder in which the program starts; the caller's if none is named.
    pub directory: Option<PathBuf>,
    /// Whether the program finds the caller's variables.
    pub is_environment_inherited: bool,
    /// Further variables of the program.
    pub environment: Vec<(String, String)>,
    /// The user that the program runs as; the caller if none is named.
    pub user: Option<User>,
    /// Whether the program's flows are measured, and captured where the experiment says so.
    pub is_measured: bool,
    /// Where counts of the program's flows go while somebody watches.
    pub live: Arc<LiveView>,
    /// How often the router reports what it has seen;
    /// [`REPORT_INTERVAL`](crate::REPORT_INTERVAL) in real time.
    pub report_interval: Span,
    /// Whether the clock stands still while anything computes.
    pub is_time_virtual: bool,
}

/// The two devices.
struct Ports {
    inside: OwnedFd,
    outside: OwnedFd,
}

/// The network, ready to carry.
struct Path {
    assembly: Assembly<RoutedPacket>,
    captures: CaptureWriters,
    /// Bytes of each packet that captures keep.
    snap: usize,
}

impl Path {
    /// Builds what `plan` describes, and begins the captures that it wants.
    ///
    /// # Errors
    /// If the description is inconsistent or a capture cannot be begun.
    fn new(plan: &ShellPlan, files: CaptureFiles) -> Result<Self, ShellError> {
        if plan.experiment.network.router != RouterKind::User {
            return Err(problem(
                "`fairwind shell` cannot use the kernel's own queues: leave path.router out",
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
    fn carry(
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
        let parts = RecorderParts {
            settings,
            captures: self.captures,
            snap: Vec::new(),
            interval: plan.report_interval,
            live: plan.live.clone(),
        };
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
        let router = Router::new(parts, control.clone(), MonotonicClock::of(plan.is_time_virtual))?;
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
struct RunningPath {
    thread: JoinHandle<Result<Lateness, RouterError>>,
    control: RouterControl,
    recorder: Recorder,
    origin: Instant,
}

impl RunningPath {
    /// Stops forwarding, and returns the measurements.
    fn stop(self) -> Result<(Tables, Lateness), ShellError> {
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
