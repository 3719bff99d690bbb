//! Runs packetdrill scripts and prints a line for each, and how many passed.
//!
//! `packetdrill [--profile NAME] [--verbose] SCRIPT...`; the exit code is 1 where one failed.

#![expect(clippy::print_stdout, reason = "a program that prints what it found")]

use fairwind_packetdrill::{Files, Outcome, RunOptions, run_script};
use fairwind_tcp::Profile;
use std::path::Path;
use std::process::ExitCode;

type Problem = Box<dyn std::error::Error>;

fn main() -> Result<ExitCode, Problem> {
    let mut options = RunOptions::new(Profile::Linux6_18);
    let mut verbose = false;
    let mut files = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--profile" => {
                options.profile = arguments.next().ok_or("--profile needs a name")?.parse()?;
            }
            "--verbose" => verbose = true,
            _ => files.push(argument),
        }
    }
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for file in &files {
        let folder = Path::new(file).parent().map(Path::to_owned).unwrap_or_default();
        options.files = Files::reading(move |path| std::fs::read_to_string(folder.join(path)).ok());
        match run_script(file, &std::fs::read_to_string(file)?, &options) {
            Outcome::Passed => {
                passed += 1;
                println!("passed   {file}");
            }
            Outcome::Failed(failure) => {
                failed += 1;
                println!("failed   {}", failure.to_string().replace('\n', "; "));
                if verbose {
                    println!("{}", failure.dialogue_text());
                }
            }
            Outcome::Unsupported(unsupported) => {
                skipped += 1;
                println!("skipped  {unsupported}");
            }
        }
    }
    print!("{passed} passed, {failed} failed");
    println!("{}", if skipped > 0 { format!(", {skipped} skipped") } else { String::new() });
    Ok(if failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
