//! The host's side of its process: from the first message to the last.

use super::network;
use super::plan::HostPlan;
use super::protocol::{FromHost, PROTOCOL_VERSION, ParentSocket, ToHost, append_frame};
use super::worker::HostSockets;
use fairwind_linux as linux;
use fairwind_units::Instant;
use std::io::{Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// Descriptors that a host needs beyond those of its connections.
const FURTHER_FILES: u64 = 64;

/// Files that a host with so many connections has open.
pub fn files_for(connections: u64) -> u64 {
    connections.saturating_add(FURTHER_FILES)
}

/// Makes this process a host of an experiment. Its standard input is the socket to the parent; it
/// must have one thread only. It returns when the host has ended, with what the process is to exit
/// with.
pub fn serve() -> ExitCode {
    let socket = match std::io::stdin().as_fd().try_clone_to_owned() {
        Ok(input) => Arc::new(UnixStream::from(input)),
        Err(_) => return ExitCode::FAILURE,
    };
    match run_host(&socket) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            let mut bytes = Vec::new();
            append_frame(&FromHost::Failed(reason), &mut bytes);
            // An error does not matter: the parent no longer reads.
            let _ = socket.set_nonblocking(false);
            let _ = (&*socket).write_all(&bytes);
            ExitCode::FAILURE
        }
    }
}

fn run_host(socket: &Arc<UnixStream>) -> Result<(), String> {
    let mut parent = ParentSocket::new(socket.clone());
    let ToHost::SetUp(plan) = parent.expect()? else {
        return Err("the parent does not begin with a plan".to_owned());
    };
    if plan.version != PROTOCOL_VERSION {
        return Err(format!(
            "it speaks version {PROTOCOL_VERSION} of the protocol and its parent version {}: \
             install both from one build",
            plan.version
        ));
    }
    if let Some(group) = &plan.control_group {
        enter_group(group)?;
    }
    let name = plan.namespace.clone();
    linux::enter_host_namespace()?;
    linux::die_with_parent(socket).map_err(|error| error.to_string())?;
    let _name = match &name {
        Some(name) => linux::NamespaceName::give(name)?,
        None => None,
    };
    let prepared = set_up(*plan, socket)?;
    let origin = wait_for_start(&mut parent)?;
    // Applications write and read when it is time to, also where other programs are busy; they do
    // little each time. The router still goes before them.
    linux::wake_in_time();
    socket.set_nonblocking(true).map_err(|error| error.to_string())?;
    prepared.run(origin, socket.clone(), parent)?;
    wait_for_end(socket);
    Ok(())
}

/// Moves this process into a control group, to which its sockets belong from then on.
fn enter_group(folder: &Path) -> Result<(), String> {
    let list = folder.join("cgroup.procs");
    std::fs::write(&list, "0").map_err(|error| format!("write to {}: {error}", list.display()))
}

/// Makes everything that the host consists of, and hands the device over.
fn set_up(plan: HostPlan, socket: &UnixStream) -> Result<HostSockets, String> {
    let streams = plan.outgoing_datagrams.len() + plan.incoming_datagrams.len();
    let connections = plan.outgoing.len() + plan.incoming.len() + streams;
    let wanted = files_for(u64::try_from(connections).unwrap_or(u64::MAX));
    let most = linux::raise_file_limit(wanted);
    if most < wanted {
        return Err(format!(
            "it needs {wanted} open files for its connections and may have {most}: raise the hard \
             limit (ulimit -Hn), or run as root"
        ));
    }
    network::set_default_sysctls();
    let device = network::make_device(&plan)?;
    network::set_sysctls(&plan.sysctls)?;
    let prepared = HostSockets::new(plan)?;
    let mut ready = Vec::new();
    append_frame(&FromHost::Ready, &mut ready);
    linux::send_with_descriptor(socket, &ready, &device).map_err(|error| error.to_string())?;
    Ok(prepared)
}

fn wait_for_start(parent: &mut ParentSocket) -> Result<Instant, String> {
    match parent.expect()? {
        ToHost::Start(origin) => Ok(origin),
        ToHost::Stop => Err("it was stopped before it began".to_owned()),
        ToHost::SetUp(_) => Err("it was set up twice".to_owned()),
    }
}

/// The namespace and its name live on until the parent has heard the last message and closes the
/// socket.
fn wait_for_end(socket: &UnixStream) {
    let mut rest = [0; 64];
    while let Ok(1..) = { socket }.read(&mut rest) {}
}
