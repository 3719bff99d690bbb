//! The first process of an instance, and its hosts.

use std::process::ExitCode;

fn main() -> ExitCode {
    fairwind_virtual_kernel::worker::main()
}
