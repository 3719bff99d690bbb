//! A real program behind an emulated path.
//!
//! The program runs in its own namespaces; their only device is a TUN device. Our network joins it in real time with a
//! second TUN device, in the namespace where the shell was started. Nested shells compose their paths, and all addresses
//! are reachable without translation.
//!
//! Three processes take part, so that nothing is left behind however one of them ends. The *shell* forwards the packets.
//! The *inside* is the first process of the program's namespaces, which end with it. The *supervisor* between them ends the
//! inside when the shell has ended. What was set up outside ends with the shell's device, or is undone by its
//! [`Reaper`](fairwind_linux::Reaper). The shell starts the supervisor by executing a
//! [`HostCommand`](fairwind_hosts::HostCommand) with two more arguments; that program calls [`serve`] with them.
//!
//! | module | concern |
//! |---|---|
//! | `session` | a shell from its start to its end: the network between the two devices, and its measures |
//! | `host_network` | networks of the namespace where a shell is started, and the addresses that it takes |
//! | `outside` | the device outside, the way beyond the machine, and address translation |
//! | `inside` | the process that starts the program, the supervisor that ends it, and the messages between them |
//! | `connections` | connection tracking |

mod connections;
mod host_network;
mod inside;
mod outside;
mod session;

pub use fairwind_recorder::REPORT_INTERVAL;
pub use inside::User;
pub use session::{Outcome, ShellAddresses, ShellPlan, run};

use fairwind_linux::{self as linux, KernelError};
use fairwind_recorder::RecorderError;
use fairwind_router::RouterError;

/// The configuration of resolvers.
const RESOLVER: &str = "/etc/resolv.conf";
/// Packets that may wait in a TUN device for our router, which takes them at once; so many that only
/// the emulated queues drop.
const DEVICE_QUEUE: u32 = 10_000;
/// The exit code of a shell that could not be set up or kept up, as `env` and others have it.
pub const FAILED: i32 = 125;

/// Ignores SIGINT in this process: the terminal sends it to all foreground processes when the user interrupts the
/// program.
pub fn ignore_the_terminal() {
    linux::ignore_the_terminal();
}

/// Role of a started process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Supervisor,
    Inside,
}

impl Role {
    fn name(self) -> &'static str {
        match self {
            Self::Supervisor => "shell-supervisor",
            Self::Inside => "shell-inside",
        }
    }
}

/// Is what the last two arguments of a process say, a role of a shell and its socket, and gives the
/// exit code; `None` if they say something else.
pub fn serve(arguments: &[String]) -> Option<i32> {
    let [.., role, descriptor] = arguments else { return None };
    let role = [Role::Supervisor, Role::Inside].into_iter().find(|one| one.name() == role)?;
    let socket = linux::inherited_socket(descriptor.parse().ok()?).ok()?;
    Some(match role {
        Role::Supervisor => inside::supervise(socket),
        Role::Inside => inside::run_inside(socket),
    })
}

/// Runs a command that has to succeed: words without blanks within.
fn run_command(words: &str) -> Result<(), KernelError> {
    let mut words = words.split_whitespace();
    let program = words.next().unwrap_or_default();
    linux::command_output(program, &words.collect::<Vec<_>>(), "").map(|_| ())
}

/// An obstacle to a shell, with its remedy.
fn problem(reason: impl Into<String>) -> KernelError {
    KernelError::Shell { reason: reason.into() }
}

/// Where a parameter of the network is found, as `net/ipv4/ip_forward`: the names of devices may have
/// dots in them, so dots divide nothing.
fn file_of(parameter: &str) -> String {
    format!("/proc/sys/{parameter}")
}

/// The value of a parameter of this namespace; none if the kernel does not have it.
fn parameter(name: &str) -> Option<String> {
    Some(std::fs::read_to_string(file_of(name)).ok()?.trim().to_owned())
}

/// Sets a parameter of this namespace; whether that was possible.
fn set_parameter(name: &str, value: &str) -> bool {
    std::fs::write(file_of(name), value).is_ok()
}

/// Why a program cannot be put behind a path, or the path could not be kept up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ShellError {
    /// The experiment's description is inconsistent.
    #[error(transparent)]
    Assembly(#[from] fairwind_assembly::AssemblyError),
    /// The machine cannot do what is asked for.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// A capture could not be written.
    #[error("the capture could not be written: {0}")]
    Capture(#[from] fairwind_capture::CaptureError),
    /// The network stopped.
    #[error(transparent)]
    Router(#[from] RouterError),
    /// A thread has failed.
    #[error("{what} has failed: {reason}")]
    Thread {
        /// Which part.
        what: &'static str,
        /// Its reason.
        reason: String,
    },
}

impl ShellError {
    /// The system's error behind a capture that could not be written, if that is what happened.
    pub fn storage(&self) -> Option<&std::io::Error> {
        match self {
            Self::Capture(fairwind_capture::CaptureError::Write { source, .. }) => Some(source),
            _ => None,
        }
    }
}

impl From<RecorderError> for ShellError {
    fn from(error: RecorderError) -> Self {
        match error {
            RecorderError::Capture(error) => Self::Capture(error),
            other => Self::Thread { what: "the thread that measures", reason: other.to_string() },
        }
    }
}
