//! Runs packetdrill scripts and prints a line for each, and how many passed.
//!
//! `packetdrill [--profile NAME] [--verbose] [-D NAME=VALUE] [--OPTION[=VALUE]] SCRIPT...`; the exit
//! code is 1 where one failed. An option of another name counts as if it stood in every script
//! (`--ip_version=ipv6`, `--strict`).

#![expect(clippy::print_stdout, reason = "a program that prints what it found")]

use fairwind_packetdrill::{Files, OptionLine, Outcome, RunOptions, run_script};
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
            "-D" => {
                let definition = arguments.next().ok_or("-D needs NAME=VALUE")?;
                let (name, value) = definition.split_once('=').ok_or("-D needs NAME=VALUE")?;
                options.definitions.insert(name.to_owned(), value.to_owned());
            }
            _ => match argument.strip_prefix("--") {
                Some(line) => {
                    let (name, value) = line.split_once('=').unwrap_or((line, ""));
                    let value = Some(value.to_owned()).filter(|value| !value.is_empty());
                    let name = name.to_owned();
                    options.option_lines.push(OptionLine { line: 0, name, value });
                }
                None => files.push(argument),
            },
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
