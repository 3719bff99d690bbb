//! The process that starts the program, the supervisor that ends it, and what they and the shell say to each other.
//!
//! The inside is the first process of a namespace: when it ends, all that the program has left behind ends as well. The
//! supervisor stands between the shell and the inside. It starts the inside, and ends it when the shell ends, however
//! that ends.
//!
//! | who | says | when |
//! |---|---|---|
//! | shell to inside | [`Inside`] | at once |
//! | inside to shell | [`Answer::Ready`], then the TUN device | when its namespaces are set up |
//! | shell to inside | [`Start`] | when packets are carried |
//! | inside to shell | [`Answer::Ended`] | when the program has ended |
//!
//! In the place of any answer there may be [`Answer::Failed`].

use super::host_network::{Ends, WAY_OUT};
use super::{Role, problem, run_command, set_parameter};
use fairwind_linux::{self as linux, KernelError};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};
use std::net::IpAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command};

/// Exit codes that shells use where a program is not found, or is none.
const NOT_FOUND: i32 = 127;
const NOT_A_PROGRAM: i32 = 126;

/// Is the inside of the shell at the other end of `socket`; gives its exit code.
pub(super) fn run_inside(mut socket: UnixStream) -> i32 {
    if linux::die_with_parent(&socket).is_err() {
        return super::FAILED;
    }
    linux::heed_signals();
    let Ok(Some(plan)) = receive::<Inside>(&mut socket) else { return super::FAILED };
    let answer = match set_up(&plan) {
        Ok(device) => match announce(&mut socket, &device) {
            Ok(()) => run_program(&plan, &socket),
            Err(error) => Answer::Failed(error.to_string()),
        },
        Err(error) => Answer::Failed(error.to_string()),
    };
    let _ = send(&mut socket, &answer);
    match answer {
        Answer::Ended(code) | Answer::NotStarted(code, _) => code,
        Answer::Ready | Answer::Failed(_) => super::FAILED,
    }
}

fn set_up(plan: &Inside) -> Result<OwnedFd, KernelError> {
    linux::enter_new_network_and_mounts()?;
    // Where the machine forbids it, the processes of the machine are seen instead; no harm done.
    let _ = linux::mount_proc();
    if let Some(resolver) = &plan.resolver {
        let file = std::fs::canonicalize(super::RESOLVER)
            .map_err(|error| problem(format!("{}: {error}", super::RESOLVER)))?;
        linux::bind_file(resolver, &file)?;
    }
    let device = linux::open_tun(WAY_OUT)?;
    connect(plan)?;
    Ok(device)
}

/// Addresses, routes, and what lets a shell within this one be reached.
fn connect(plan: &Inside) -> Result<(), KernelError> {
    quiet();
    run_command("ip link set lo up")?;
    run_command(&format!(
        "ip link set {WAY_OUT} mtu {} txqueuelen {} up",
        plan.mtu,
        super::DEVICE_QUEUE
    ))?;
    for link in &plan.links {
        let (version, alone) = if link.inside.is_ipv6() { ("-6", "nodad") } else { ("-4", "") };
        let (address, length) = (&link.inside, link.length);
        run_command(&format!(
            "ip {version} addr add {address}/{length} dev {WAY_OUT} noprefixroute {alone}"
        ))?;
        run_command(&format!("ip {version} route add default dev {WAY_OUT} src {address}"))?;
    }
    Ok(())
}

/// A namespace that forwards and sends nothing unsolicited. What a kernel does not have needs no
/// setting.
fn quiet() {
    for (name, value) in [
        ("net/ipv4/ip_forward", "1"),
        ("net/ipv6/conf/all/forwarding", "1"),
        ("net/ipv4/conf/all/rp_filter", "0"),
        ("net/ipv4/conf/default/rp_filter", "0"),
        ("net/ipv4/ping_group_range", "0 2147483647"),
        (&format!("net/ipv6/conf/{WAY_OUT}/addr_gen_mode"), "1"),
        (&format!("net/ipv6/conf/{WAY_OUT}/router_solicitations"), "0"),
    ] {
        set_parameter(name, value);
    }
}

fn announce(socket: &mut UnixStream, device: &OwnedFd) -> Result<(), KernelError> {
    send(socket, &Answer::Ready)?;
    linux::send_with_descriptor(&*socket, &[0], device)?;
    match receive::<Start>(socket)? {
        Some(Start {}) => Ok(()),
        None => Err(problem("the shell has ended")),
    }
}

fn run_program(plan: &Inside, socket: &UnixStream) -> Answer {
    if let Some(user) = &plan.user {
        if let Err(error) = linux::become_user(&user.name, user.user, user.group) {
            return Answer::Failed(error.to_string());
        }
        // The kernel forgets this with a change of rights.
        if let Err(error) = linux::die_with_parent(socket) {
            return Answer::Failed(error.to_string());
        }
    }
    let [program, arguments @ ..] = plan.program.as_slice() else {
        return Answer::Failed("no program was named".to_owned());
    };
    let environment = plan.environment.iter().map(|(name, value)| (name, value));
    let mut command = Command::new(program);
    if !plan.is_environment_inherited {
        command.env_clear();
    }
    command.args(arguments).envs(environment);
    if let Some(directory) = &plan.directory {
        command.current_dir(directory);
    }
    let child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            let missing = error.kind() == std::io::ErrorKind::NotFound;
            let code = if missing { NOT_FOUND } else { NOT_A_PROGRAM };
            return Answer::NotStarted(code, format!("{program}: {error}"));
        }
    };
    match wait(child.id()) {
        Ok(code) => Answer::Ended(code),
        Err(error) => Answer::Failed(error.to_string()),
    }
}

/// Waits for the program, and reaps orphaned processes.
fn wait(program: u32) -> Result<i32, KernelError> {
    loop {
        let ended = linux::await_child()?;
        if ended.process == program {
            return Ok(ended.code);
        }
    }
}

/// Is the supervisor of the shell at the other end of `socket`; gives its exit code.
pub(super) fn supervise(mut socket: UnixStream) -> i32 {
    linux::ignore_the_terminal();
    match start_inside(&socket).and_then(|inside| tend(inside, &socket)) {
        Ok(code) => code,
        Err(error) => {
            let _ = send(&mut socket, &Answer::Failed(error.to_string()));
            super::FAILED
        }
    }
}

/// Executes the program that this process is again, in the other role.
fn start_inside(socket: &UnixStream) -> Result<Child, KernelError> {
    let failed = |error: std::io::Error| problem(format!("start the inside: {error}"));
    linux::begin_process_namespace()?;
    let line = std::fs::read("/proc/self/cmdline").map_err(failed)?;
    let words: Vec<_> = line.split(|byte| *byte == 0).filter(|word| !word.is_empty()).collect();
    let [name, given @ .., _role, _descriptor] = words.as_slice() else {
        return Err(problem("the supervisor does not know what it was started as"));
    };
    let handed = linux::inheritable(socket)?;
    let text = |word: &[u8]| std::ffi::OsString::from(String::from_utf8_lossy(word).into_owned());
    Command::new("/proc/self/exe")
        .arg0(text(name))
        .args(given.iter().map(|word| text(word)))
        .args([Role::Inside.name(), &handed.as_raw_fd().to_string()])
        .spawn()
        .map_err(failed)
}

fn tend(mut inside: Child, socket: &UnixStream) -> Result<i32, KernelError> {
    let watched = linux::watch_process(inside.id())?;
    if linux::wait_for_end(&watched, socket) == linux::End::Socket {
        let _ = inside.kill();
    }
    let status = inside.wait().map_err(|error| problem(error.to_string()))?;
    Ok(status.code().unwrap_or(super::FAILED))
}

/// Setup of the inside.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Inside {
    pub(super) mtu: u64,
    pub(super) links: Vec<Link>,
    /// A file that replaces `/etc/resolv.conf`.
    pub(super) resolver: Option<PathBuf>,
    pub(super) program: Vec<String>,
    /// The folder in which the program starts.
    pub(super) directory: Option<PathBuf>,
    /// Whether the program finds all variables that the shell found.
    pub(super) is_environment_inherited: bool,
    /// Further variables of the program.
    pub(super) environment: Vec<(String, String)>,
    pub(super) user: Option<User>,
}

/// One of the inside's addresses.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Link {
    pub(super) inside: IpAddr,
    /// The block's prefix length.
    pub(super) length: u8,
}

impl From<&Ends> for Link {
    fn from(ends: &Ends) -> Self {
        Self { inside: ends.inside, length: ends.block.length() }
    }
}

/// A user of the system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// Login name.
    pub name: String,
    /// Number.
    pub user: u32,
    /// Number of the first group.
    pub group: u32,
}

/// The program may begin.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Start {}

/// Answers from the inside.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    /// All is set up; the TUN device follows.
    Ready,
    /// The program has ended with this code.
    Ended(i32),
    /// The program could not be started: exit code and reason.
    NotStarted(i32, String),
    /// The inside could not be set up.
    Failed(String),
}

/// Sends a message.
pub(super) fn send(socket: &mut UnixStream, what: &impl Serialize) -> Result<(), KernelError> {
    let lost = |error: std::io::Error| problem(format!("speak with the inside: {error}"));
    let text = postcard::to_allocvec(what).map_err(|error| problem(error.to_string()))?;
    let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
    socket.write_all(&length.to_le_bytes()).map_err(lost)?;
    socket.write_all(&text).map_err(lost)
}

/// Waits for a message; none if the other end has closed.
pub(super) fn receive<T: DeserializeOwned>(
    socket: &mut UnixStream,
) -> Result<Option<T>, KernelError> {
    let mut length = [0; 4];
    if socket.read_exact(&mut length).is_err() {
        return Ok(None);
    }
    let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(0);
    let mut text = vec![0; length];
    if socket.read_exact(&mut text).is_err() {
        return Ok(None);
    }
    let heard = postcard::from_bytes(&text);
    heard.map(Some).map_err(|error| problem(format!("not what was expected: {error}")))
}
