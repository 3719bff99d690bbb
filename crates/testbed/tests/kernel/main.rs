//! Tests on the running kernel: they need root and TUN, and are skipped where these are missing.

#![expect(clippy::print_stdout, reason = "repeated attempts are reported")]

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

use fairwind_kernel_packetdrill::availability;

/// Whether the kernel can be used.
fn is_available(test: &str) -> bool {
    fairwind_kernel_testing::can_run(test, availability().err())
}
