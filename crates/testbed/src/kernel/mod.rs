//! The running kernel as the system under test.

mod addresses;
mod application;
mod calls;
mod information;
mod messages;
mod names;
mod options;
mod packets;
mod system;
mod transfer;
mod values;
mod watch;

use crate::TestbedError;
use crate::path::Path;
use fairwind_packetdrill::{Outcome, RunOptions, Script, run_on, unreadable};
use std::path::PathBuf;
use system::Kernel;

/// What a run on the kernel needs to know besides how it is judged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KernelOptions {
    /// The folder that commands are run in: that of the script.
    pub folder: Option<PathBuf>,
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
) -> Result<Outcome, TestbedError> {
    let script = match Script::parse(name, text, &options.definitions) {
        Ok(script) => script,
        Err(error) => return Ok(unreadable(name, &error)),
    };
    let path = Path::new(&script.options)?;
    // The namespace belongs to a thread, and ends with it.
    std::thread::scope(|scope| {
        let run = scope.spawn(|| {
            let mut system = Kernel::start(&path, kernel)?;
            Ok(run_on(&script, options, &mut system))
        });
        run.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
