//! A shell from its beginning to its end.

use super::Role;
use super::ShellError;
use super::commands::problem;
use super::host_network::HostNetwork;
use super::outside::{Outside, Uplink};
use super::path::{Path, Ports, ShellPlan};
use super::protocol::{self, Answer, Inside, Link, Start};
use fairwind_assembly::CaptureFiles;
use fairwind_hosts::HostCommand;
use fairwind_linux::{self as linux, KernelError};
use fairwind_linux::{Reaper, RunName};
use fairwind_measure::{Lateness, Tables};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command};

/// What a person has to know to use a shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellAddresses {
    /// Addresses at which the inside reaches the outside.
    pub outside: Vec<std::net::IpAddr>,
    /// Addresses at which the outside reaches the inside.
    pub inside: Vec<std::net::IpAddr>,
    /// What works less well than one would think, and why.
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

/// Runs a program behind a path until it ends; `opened` is told beforehand where it is.
///
/// # Errors
/// Where the path cannot be set up or kept up, or a capture cannot be written.
pub fn run(
    plan: &ShellPlan,
    command: &HostCommand,
    captures: CaptureFiles,
    opened: impl FnOnce(&ShellAddresses),
) -> Result<Outcome, ShellError> {
    let path = Path::new(plan, captures)?;
    let network = HostNetwork::look()?;
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
    });
    session.last(plan, path, outside.device)
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
        protocol::say(&mut session.socket, &inside(plan, outside, uplink))?;
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
        protocol::hear(&mut self.socket)?.ok_or_else(gone)
    }

    /// Carries packets until the program has ended.
    fn last(
        mut self,
        plan: &ShellPlan,
        path: Path,
        outside: OwnedFd,
    ) -> Result<Outcome, ShellError> {
        let inside = self.device.take().ok_or_else(|| problem("the inside has no device"))?;
        let watcher = self.socket.try_clone().map_err(|error| problem(error.to_string()))?;
        let carrier = path.carry(plan, Ports { inside, outside }, watcher)?;
        protocol::say(&mut self.socket, &Start {})?;
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
        environment: environment(outside),
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
