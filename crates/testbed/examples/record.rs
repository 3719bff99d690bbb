//! Records the reactions of our endpoint or the running kernel to the stimuli of packetdrill scripts.
//!
//! `record [--on sim|kernel] [--absolute] [--windows] [--fields A,B,...] [--watch SECONDS]
//! [--jobs N] [--out DIRECTORY] SCRIPT...` prints the scripts that were recorded, or writes them to a
//! directory under the same names. `--watch` is how long the system is watched after the last event.
//! The exit code is 1 where a script could not be recorded, 2 where the command line or a file is wrong.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program that prints what it found"
)]

#[allow(dead_code, reason = "each example uses a part")]
mod support;

use fairwind_kernel_packetdrill::record_script;
use fairwind_packetdrill::{
    Outcome, RecordedTimes, Recording, RunOptions, Script, Windows, record, unreadable,
};
use fairwind_tcp::Profile;
use fairwind_units::Span;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

type Problem = Box<dyn std::error::Error + Send + Sync>;

/// Arguments of the command line.
struct Asked {
    options: RunOptions,
    recording: Recording,
    kernel: bool,
    jobs: usize,
    out: Option<PathBuf>,
    files: Vec<String>,
}

fn main() -> ExitCode {
    recorded().unwrap_or_else(|problem| {
        eprintln!("error: {problem}");
        ExitCode::from(2)
    })
}

fn recorded() -> Result<ExitCode, Problem> {
    let asked = asked(std::env::args().skip(1))?;
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let printing = Mutex::new(());
    std::thread::scope(|scope| {
        let work = || -> Result<(), Problem> {
            while let Some(file) = asked.files.get(next.fetch_add(1, Ordering::Relaxed)) {
                let recorded = one(file, &asked)?;
                let _alone = printing.lock();
                match recorded {
                    Ok(text) => write(file, &text, &asked)?,
                    Err(outcome) => {
                        failed.store(true, Ordering::Relaxed);
                        println!("{}", report_line(&outcome));
                    }
                }
            }
            Ok(())
        };
        let workers: Vec<_> = (0..asked.jobs).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| match worker.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })?;
    Ok(if failed.into_inner() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn asked(mut arguments: impl Iterator<Item = String>) -> Result<Asked, Problem> {
    let mut asked = Asked {
        options: RunOptions::new(Profile::Linux6_18),
        recording: Recording::default(),
        kernel: false,
        jobs: 1,
        out: None,
        files: Vec::new(),
    };
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
        match argument.as_str() {
            "--on" => {
                asked.kernel = match value()?.as_str() {
                    "sim" => false,
                    "kernel" => true,
                    other => return Err(format!("\"{other}\" is neither sim nor kernel").into()),
                }
            }
            "--absolute" => asked.recording.times = RecordedTimes::Absolute,
            "--windows" => asked.recording.windows = Windows::Written,
            "--fields" => {
                asked.recording.fields = value()?.split(',').map(str::to_owned).collect();
            }
            "--watch" => {
                let seconds: f64 = value()?.parse()?;
                asked.recording.watch = std::time::Duration::try_from_secs_f64(seconds)?
                    .as_micros()
                    .try_into()
                    .map(Span::from_micros)?;
            }
            "--jobs" => asked.jobs = value()?.parse()?,
            "--out" => asked.out = Some(value()?.into()),
            option if option.starts_with('-') => {
                return Err(format!("{option} is not known").into());
            }
            _ => asked.files.push(argument),
        }
    }
    if asked.files.is_empty() || asked.jobs == 0 {
        return Err("nothing to do: give a SCRIPT, and at least one job".into());
    }
    Ok(asked)
}

fn one(file: &str, asked: &Asked) -> Result<Result<String, Outcome>, Problem> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    if asked.kernel {
        let (options, kernel) = (&asked.options, support::kernel_options(file));
        return Ok(record_script(file, &text, options, &asked.recording, &kernel)?);
    }
    Ok(match Script::parse(file, &text, &asked.options.meanings()) {
        Ok(script) => record(&script, &text, &asked.options, &asked.recording),
        Err(error) => Err(unreadable(file, &error)),
    })
}

fn write(file: &str, text: &str, asked: &Asked) -> Result<(), Problem> {
    match (&asked.out, Path::new(file).file_name()) {
        (Some(directory), Some(name)) => {
            let path = directory.join(name);
            std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        _ => print!("{text}"),
    }
    Ok(())
}

fn report_line(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Passed => String::new(),
        Outcome::Failed(failure) => format!("failed       {failure}"),
        Outcome::Unsupported(reason) => format!("unsupported  {reason}"),
    }
}
