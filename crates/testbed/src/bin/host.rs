//! A host of an experiment, as a process; the testbed starts it.

use std::process::ExitCode;

fn main() -> ExitCode {
    fairwind_hosts::serve()
}
