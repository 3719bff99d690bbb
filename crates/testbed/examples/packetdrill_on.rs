//! Runs packetdrill scripts against our endpoint or the running kernel, one after another.
//!
//! `packetdrill_on [--on sim|kernel] [--profile NAME] [--verbose] [-D NAME=VALUE] SCRIPT...` prints a line
//! per script and how many passed; the exit code is 1 where not all did.

#![expect(clippy::print_stdout, reason = "a program that prints what it found")]

#[allow(dead_code, reason = "each example uses a part")]
mod support;

use fairwind_packetdrill::{Files, Outcome, RunOptions};
use fairwind_tcp::Profile;
use std::path::Path;
use std::process::ExitCode;
use support::{Failure, kernel_options};

fn main() -> Result<ExitCode, Failure> {
    let mut options = RunOptions::new(Profile::Linux6_18);
    let (mut kernel, mut verbose) = (false, false);
    let mut files = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--profile" => {
                options.profile = arguments.next().ok_or("--profile needs a name")?.parse()?;
            }
            "--on" => {
                kernel = match arguments.next().as_deref() {
                    Some("sim") => false,
                    Some("kernel") => true,
                    _ => return Err("--on needs sim or kernel".into()),
                }
            }
            "-D" => {
                let definition = arguments.next().ok_or("-D needs NAME=VALUE")?;
                let (name, value) = definition.split_once('=').ok_or("-D needs NAME=VALUE")?;
                options.definitions.insert(name.to_owned(), value.to_owned());
            }
            "--verbose" => verbose = true,
            _ => files.push(argument),
        }
    }
    let (mut passed, mut failed, mut unsupported) = (0, 0, 0);
    for file in &files {
        let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
        let outcome = if kernel {
            let kernel = kernel_options(file);
            fairwind_kernel_packetdrill::run_script(file, &text, &options, &kernel)?
        } else {
            let folder = Path::new(file).parent().map(Path::to_owned).unwrap_or_default();
            let read = move |path: &str| std::fs::read_to_string(folder.join(path)).ok();
            options.files = Files::reading(read);
            fairwind_packetdrill::run_script(file, &text, &options)
        };
        match outcome {
            Outcome::Passed => {
                passed += 1;
                println!("passed       {file}");
            }
            Outcome::Failed(failure) => {
                failed += 1;
                println!("failed       {}", failure.to_string().replace('\n', "; "));
                if verbose {
                    println!("{}", failure.dialogue_text());
                }
            }
            Outcome::Unsupported(reason) => {
                unsupported += 1;
                println!("unsupported  {reason}");
            }
        }
    }
    println!("{passed} passed, {failed} failed, {unsupported} unsupported");
    let all = failed == 0 && unsupported == 0;
    Ok(if all { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
