//! Runs scenario files and prints data segments delivered per CPU second, and peak memory.
//!
//! `benchmark [--repeat N] FILE...`; memory is that of the whole process, so run one file at a time
//! to know its own.

#![expect(clippy::print_stdout, reason = "a program that prints a table")]

use fairwind_scenario::Document;
use fairwind_simulation::{Control, Simulation};
use std::fs::read_to_string;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let mut repeat = 3;
    let mut files = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--repeat" {
            repeat = arguments.next().ok_or("--repeat needs a number")?.parse()?;
        } else {
            files.push(argument);
        }
    }
    println!(
        "{:<24} {:>12} {:>10} {:>14} {:>10}",
        "scenario", "segments", "CPU s", "segments/s", "peak MiB"
    );
    for file in &files {
        let mut best = f64::MAX;
        let mut segments = 0;
        for _ in 0..repeat {
            let before = cpu_seconds()?;
            segments = run(file)?;
            best = best.min(cpu_seconds()? - before);
        }
        #[expect(clippy::cast_precision_loss, reason = "a count of segments")]
        let rate = segments as f64 / best;
        println!("{file:<24} {segments:>12} {best:>10.3} {rate:>14.0} {:>10.1}", peak_mebibytes()?);
    }
    Ok(())
}

fn run(file: &str) -> Result<u64, Failure> {
    let document = Document::parse(file, &read_to_string(file)?)?;
    let experiment = document.experiment(&document.grid()?[0])?;
    let outcome = Simulation::new(&experiment, 1)?.run(&Control::default())?;
    Ok(outcome.data_segments_delivered)
}

/// CPU time of this thread so far, from the scheduler's own account.
fn cpu_seconds() -> Result<f64, Failure> {
    let text = read_to_string("/proc/thread-self/schedstat")?;
    let nanos: f64 = text.split_whitespace().next().ok_or("an empty schedstat")?.parse()?;
    Ok(nanos / 1e9)
}

fn peak_mebibytes() -> Result<f64, Failure> {
    let text = read_to_string("/proc/self/status")?;
    let line = text.lines().find(|line| line.starts_with("VmHWM:")).ok_or("no VmHWM")?;
    let kibibytes: f64 = line.split_whitespace().nth(1).ok_or("an empty VmHWM")?.parse()?;
    Ok(kibibytes / 1024.0)
}
