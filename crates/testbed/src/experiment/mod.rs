//! An experiment on the running kernel: hosts in processes of their own, the network between them in
//! this one, and what both saw in tables.
//!
//! | thread or process | does |
//! |---|---|
//! | a process for each host | sockets and applications, in a network namespace of its own |
//! | the router's thread | the network in real time, between the hosts' TUN devices |
//! | the record's thread | observations in order, measures, captures |
//! | the caller's thread | starts all of them, hears the hosts, ends them |
//!
//! | module | concern |
//! |---|---|
//! | `check` | what this machine makes of an experiment, told before anything runs |
//! | `plans` | what each host is told |
//! | `run` | everything from the first check until hosts and threads are there |
//! | `running` | from "go" to the tables |
//! | `punctuality` | how it went at the hosts, as a table |
//! | `watch` | what the kernel itself tells of its endpoints |
//! | `forwarding` | who carries the packets: our router, or the kernel's own parts |
//! | `error` | what can go wrong |

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
