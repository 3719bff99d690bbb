//! Packetdrill scripts on the running kernel.
//!
//! [`run_script`] follows a script with the kernel in the place of our endpoint, with the same reader and the same judge:
//! calls are system calls, commands are run by the shell, packets are bytes on a TUN device, and time is the machine's.
//! Each run has its own network namespace, which ends with it. Scripts need root (`CAP_NET_ADMIN` and `/dev/net/tun`).
//!
//! | module | concern |
//! |---|---|
//! | `namespace` | the network namespace of a script: device, addresses, routes, packets |
//! | `system` | the kernel as a [`System`](fairwind_packetdrill::System) |
//! | `calls` | system calls |
//! | `call` | a call that is ready to be made, and its result |
//! | `options` | socket options, control messages and `TCP_INFO` |
//! | `application` | the thread that makes the calls, and calls that wait |

#![allow(
    clippy::missing_errors_doc,
    reason = "the variants of the error types say when they occur"
)]

mod application;
mod call;
mod calls;
pub mod namespace;
mod options;
mod system;

use crate::namespace::{Path, in_namespace};
use fairwind_linux::KernelError;
use fairwind_packetdrill::{Outcome, Recording, RunOptions, Script, record_on, run_on, unreadable};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use system::Kernel;

/// What a run on the kernel needs to know besides how it is judged.
#[derive(Debug, Clone, Default)]
pub struct KernelOptions {
    /// The folder that commands are run in: that of the script.
    pub folder: Option<PathBuf>,
    /// Once it is true, the run fails soon and is cleaned up.
    pub stop: Arc<AtomicBool>,
}

/// Whether the kernel can be used here.
///
/// # Errors
/// Why it cannot: no rights, no TUN device.
pub fn availability() -> Result<(), KernelError> {
    in_namespace(&Path::new(&[])?, |_| Ok(()))
}

/// Reads a script and follows it with the running kernel, in real time. `name` is for messages.
///
/// A script that cannot be read has failed.
///
/// # Errors
/// Where the kernel cannot be used: no rights, no TUN device.
pub fn run_script(
    name: &str,
    text: &str,
    options: &RunOptions,
    kernel: &KernelOptions,
) -> Result<Outcome, KernelError> {
    let script = match Script::parse(name, text, &options.meanings()) {
        Ok(script) => script,
        Err(error) => return Ok(unreadable(name, &error)),
    };
    on_kernel(&script, options, kernel, |system| run_on(&script, options, system))
}

/// Records what the running kernel does about the stimuli of a script, as a script: see
/// [`record`](fairwind_packetdrill::record).
///
/// # Errors
/// Where the kernel cannot be used. The inner error tells how a recording ended that could not be
/// made.
pub fn record_script(
    name: &str,
    text: &str,
    options: &RunOptions,
    recording: &Recording,
    kernel: &KernelOptions,
) -> Result<Result<String, Outcome>, KernelError> {
    let script = match Script::parse(name, text, &options.meanings()) {
        Ok(script) => script,
        Err(error) => return Ok(Err(unreadable(name, &error))),
    };
    on_kernel(&script, options, kernel, |system| record_on(&script, text, recording, system))
}

/// Gives the kernel in a fresh namespace to `follow`.
fn on_kernel<T: Send>(
    script: &Script,
    options: &RunOptions,
    kernel: &KernelOptions,
    follow: impl FnOnce(&mut Kernel) -> T + Send,
) -> Result<T, KernelError> {
    let lines: Vec<_> = script.options.iter().chain(&options.option_lines).cloned().collect();
    let path = Path::new(&lines)?;
    in_namespace(&path, |namespace| Ok(follow(&mut Kernel::start(namespace, &path, kernel)?)))
}
