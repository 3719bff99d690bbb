//! Runs packetdrill scripts against our endpoint or the running kernel, one after another.
//!
//! `packetdrill_on [--on sim|kernel] [--profile NAME] [--verbose] [-D NAME=VALUE] [--OPTION[=VALUE]]
//! SCRIPT...` prints a line per script and how many passed; the exit code is 1 where not all did. An
//! option of another name counts as if it stood in every script (`--ip_version=ipv6`, `--strict`).

#![expect(clippy::print_stdout, reason = "a program that prints what it found")]

use fairwind_kernel_packetdrill::KernelOptions;
use fairwind_packetdrill::{Files, OptionLine, Outcome, RunOptions};
use fairwind_tcp::Profile;
use std::path::Path;
use std::process::ExitCode;

type Problem = Box<dyn std::error::Error>;

fn main() -> Result<ExitCode, Problem> {
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
            _ => match argument.strip_prefix("--") {
                Some(line) => options.option_lines.push(option_line(line)),
                None => files.push(argument),
            },
        }
    }
    let (mut passed, mut failed, mut unsupported) = (0, 0, 0);
    for file in &files {
        match follow(file, kernel, &mut options)? {
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

fn option_line(text: &str) -> OptionLine {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (text, None),
    };
    OptionLine { line: 0, name: name.to_owned(), value }
}

/// Runs one script, whose own files stand beside it.
fn follow(file: &str, kernel: bool, options: &mut RunOptions) -> Result<Outcome, Problem> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let folder = Path::new(file).parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new(".")).to_path_buf();
    if kernel {
        let kernel = KernelOptions { folder: Some(folder), ..KernelOptions::default() };
        return Ok(fairwind_kernel_packetdrill::run_script(file, &text, options, &kernel)?);
    }
    options.files = Files::reading(move |path| std::fs::read_to_string(folder.join(path)).ok());
    Ok(fairwind_packetdrill::run_script(file, &text, options))
}
