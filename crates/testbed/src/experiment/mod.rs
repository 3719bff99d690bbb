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
//! | `run` | from the first check until hosts and threads exist |
//! | `running` | from the start to the tables |
//! | `programs` | BPF programs of a run |
//! | `forwarding` | our router, or the kernel's own |
//! | `error` | why a run fails |

mod check;
mod error;
mod forwarding;
mod plans;
mod programs;
mod run;
mod running;

pub use check::{CheckReport, check};
pub use error::RunError;
pub use run::{KernelRun, Outcome};

fn no_thread(error: &std::io::Error) -> RunError {
    RunError::Thread { what: "starting a thread", reason: error.to_string() }
}
