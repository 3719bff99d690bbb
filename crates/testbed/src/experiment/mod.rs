//! An experiment on the running kernel: hosts in processes of their own, the network between them in this process.
//!
//! | thread or process | work |
//! |---|---|
//! | a process for each host | sockets and applications, in its network namespace |
//! | the router's thread | the network in real time, between the hosts' TUN devices |
//! | the recorder's thread | observations in order, measures, captures |
//! | the caller's thread | starts all of them, receives the hosts' messages, ends them |
//!
//! | module | concern |
//! |---|---|
//! | `check` | whether this machine supports an experiment, before anything runs |
//! | `plans` | plans of the hosts, and their table of results |
//! | `run` | from the first check until hosts and threads exist; our router, or the kernel's own |
//! | `running` | from the start to the tables |
//! | `programs` | BPF programs of a run |

mod check;
mod plans;
mod programs;
mod run;
mod running;

pub use check::{CheckReport, check};
pub use run::KernelRun;
pub use running::Outcome;

use fairwind_bpf::BpfError;
use fairwind_kernel_router::KernelRouterError;
use fairwind_kernel_settings::UnsupportedSettings;
use fairwind_kernel_settings::controls::ControlError;
use fairwind_linux::KernelError;
use fairwind_recorder::RecorderError;
use fairwind_router::RouterError;
use fairwind_windows::WindowsError;

fn no_thread(error: &std::io::Error) -> RunError {
    RunError::Thread { what: "starting a thread", reason: error.to_string() }
}

/// Why an experiment cannot be run on the kernel, or did not finish.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The experiment's description is inconsistent.
    #[error(transparent)]
    Assembly(#[from] fairwind_assembly::AssemblyError),
    /// This kernel cannot do what the experiment asks for.
    #[error(transparent)]
    Refused(#[from] UnsupportedSettings),
    /// A host or the machine cannot do what is asked for, or has stopped to.
    #[error(transparent)]
    Testbed(#[from] KernelError),
    /// A capture could not be written.
    #[error("the capture could not be written: {0}")]
    Capture(#[from] fairwind_capture::CaptureError),
    /// The kernel cannot carry the packets.
    #[error(transparent)]
    KernelRouter(#[from] KernelRouterError),
    /// The kernel's tracepoints do not report, or no longer.
    #[error(transparent)]
    Bpf(#[from] BpfError),
    /// A congestion control cannot be loaded.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// Windows cannot be remembered.
    #[error(transparent)]
    Windows(#[from] WindowsError),
    /// A key needs the kernel's tracepoints.
    #[error("{key}: only eBPF programs can report that: {error}")]
    NotObservable {
        /// The key of the scenario.
        key: &'static str,
        /// Why there are none.
        error: BpfError,
    },
    /// An internal failure.
    #[error("{what} has failed: {reason}")]
    Thread {
        /// Which part.
        what: &'static str,
        /// Its message.
        reason: String,
    },
    /// Somebody asked to stop.
    #[error("the run was cancelled")]
    Cancelled,
}

impl RunError {
    /// The system's error behind a capture that could not be written, if that is what happened.
    pub fn storage(&self) -> Option<&std::io::Error> {
        match self {
            Self::Capture(fairwind_capture::CaptureError::Write { source, .. }) => Some(source),
            _ => None,
        }
    }
}

impl From<RecorderError> for RunError {
    fn from(error: RecorderError) -> Self {
        match error {
            RecorderError::Capture(error) => Self::Capture(error),
            other => Self::Thread { what: "the thread that measures", reason: other.to_string() },
        }
    }
}

impl From<RouterError> for RunError {
    fn from(error: RouterError) -> Self {
        match error {
            RouterError::System(error) => Self::Testbed(error),
            RouterError::DeviceGone { host, errno } => Self::Testbed(KernelError::Host {
                host,
                reason: format!("its TUN device is gone (errno {errno})"),
            }),
            other => Self::Thread { what: "the router", reason: other.to_string() },
        }
    }
}
