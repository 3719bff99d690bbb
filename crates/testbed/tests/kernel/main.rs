//! Against the running kernel: needs root and TUN. Where they are missing, every test says so and
//! does nothing.

#![expect(clippy::print_stdout, reason = "what was skipped or tried again is told")]

mod dialogues;
mod hosts;
mod kernel_router;
mod live;
mod processes;
mod runs;
mod samples;
mod scripts;
mod settings;
mod shell;
#[cfg(feature = "ebpf")]
mod traces;
mod windows;

use fairwind_testbed::{TestbedError, availability};

/// Whether the kernel can be used; says why, where it cannot.
fn is_available(test: &str) -> bool {
    let answer: Result<(), TestbedError> = availability();
    match answer {
        Ok(()) => true,
        Err(reason) => {
            println!("skipped: {test}: {reason}");
            false
        }
    }
}
