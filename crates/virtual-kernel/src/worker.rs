//! The first process of an instance: mounts, seed, one task, power off.
//!
//! The instance's files are the machine's (`hostfs`), so the worker is the program that stands there, and the task and
//! its answer are files in a folder of the machine. The hosts of an experiment are further processes of this program.

use crate::program;
use crate::task::{
    ANSWER_FILE, Answer, ExperimentTask, FAILURE_MARK, FailureKind, PROGRESS_FILE, RunAnswer,
    ScriptAnswer, ScriptTask, TASK_FILE, TASK_VERSION, Task, TaskFailure, VersionedTask,
};
use crate::task::{
    FOLDER_VARIABLE, HOST_ARGUMENT, REPORT_INTERVAL, SEED_VARIABLE, capture_files, experiment,
    host_command,
};
use fairwind_assembly::Control;
use fairwind_hosts as hosts;
use fairwind_kernel_packetdrill::{self as packetdrill, KernelOptions};
use fairwind_kernel_settings::controls::{ControlObject, available};
use fairwind_linux as linux;
use fairwind_packetdrill::{OptionLine, RunOptions};
use fairwind_tcp::Profile;
use fairwind_testbed::{KernelRun, RunError};
use fairwind_units::Span;
use std::fs::{self, File};
use std::io::Write as _;
use std::panic::catch_unwind;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Where a kernel prints its own messages.
const CONSOLE: &str = "/dev/console";
/// How long the kernel is up before the task begins. Near the zero of its clocks a kernel does what nobody sees, such as
/// SYN cookies with options from before that (`cookie_init_timestamp`).
const SETTLING_TIME: Span = Span::from_secs(10);
/// Reports of progress per run.
const REPORTS: u32 = 100;

/// Parameters of the whole kernel, which depend on its memory otherwise: instances of all sizes behave alike.
///
/// Without memory an instance ends at once: a host that the kernel had chosen and killed would leave a run that waits.
const PARAMETERS: [(&str, &str); 4] = [
    ("vm.panic_on_oom", "1"),
    ("net.ipv4.tcp_mem", "1048576 1048576 1048576"),
    ("net.ipv4.udp_mem", "1048576 1048576 1048576"),
    ("net.ipv4.tcp_max_orphans", "65536"),
];

/// Where and why the worker panicked first.
static PANIC: Mutex<Option<String>> = Mutex::new(None);

/// Is the first process of an instance, one of its hosts, or a process of a shell.
pub fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|word| word == HOST_ARGUMENT) {
        let words: Vec<String> = std::env::args().collect();
        return match fairwind_shell::serve(&words) {
            Some(code) => ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX)),
            None => hosts::serve(),
        };
    }
    let (Some(folder), 1) = (std::env::var_os(FOLDER_VARIABLE), std::process::id()) else {
        eprintln!(
            "error: this program is the first process of a kernel in virtual time; \
             `fairwind run SCENARIO --on linux-VERSION` starts it"
        );
        return ExitCode::from(2);
    };
    std::panic::set_hook(Box::new(|panic| {
        PANIC.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(panic.to_string());
    }));
    let done = begin(Path::new(&folder)).and_then(|()| {
        let answer = catch_unwind(work).unwrap_or_else(|_| {
            let first = PANIC.lock().unwrap_or_else(PoisonError::into_inner).take();
            let what = first.unwrap_or_else(|| "the worker panicked".to_owned());
            Err(TaskFailure::experiment(format!("{what}; this is an error of fairwind-worker")))
        });
        store(&answer.unwrap_or_else(Answer::Failed))
    });
    if let Err(failure) = done {
        // No file could be written, so only the console is left.
        let line = serde_json::to_string(&failure).unwrap_or_default();
        let _ = fs::write(CONSOLE, format!("{FAILURE_MARK}{line}\n"));
    }
    linux::power_off();
    ExitCode::FAILURE
}

/// Makes a Linux system of the kernel, and enters the folder of the task, which mounts may hide.
fn begin(folder: &Path) -> Result<(), TaskFailure> {
    std::env::set_current_dir(folder)
        .map_err(|error| TaskFailure::storage(&error, &folder.display().to_string()))?;
    let refused = |error: linux::KernelError| TaskFailure::experiment(error.to_string());
    linux::mount_system().map_err(refused)?;
    linux::seed_random_numbers(seed()).map_err(refused)?;
    for (name, value) in PARAMETERS {
        // What this kernel does not have needs no value.
        let _ = fs::write(linux::parameter_path(name), value);
    }
    linux::wait_readable(&[], SETTLING_TIME);
    Ok(())
}

/// The seed of the kernel's random numbers, spread over all bytes that it takes.
fn seed() -> [u8; 32] {
    let seed = std::env::var_os(SEED_VARIABLE).and_then(|text| text.to_str()?.parse::<u64>().ok());
    let mut bytes = [0; 32];
    for (number, part) in (1..).zip(bytes.chunks_mut(8)) {
        part.copy_from_slice(&seed.unwrap_or(0).wrapping_mul(number).to_le_bytes());
    }
    bytes
}

fn work() -> Result<Answer, TaskFailure> {
    let read = |error: std::io::Error| TaskFailure::storage(&error, TASK_FILE);
    let text = fs::read_to_string(TASK_FILE).map_err(read)?;
    let another_build = |detail: String| TaskFailure {
        kind: FailureKind::Version,
        message: format!("the worker is of another build than the command: {detail}"),
    };
    let asked: VersionedTask =
        serde_json::from_str(&text).map_err(|error| another_build(error.to_string()))?;
    if asked.version != TASK_VERSION {
        return Err(another_build(format!("tasks {TASK_VERSION} and {}", asked.version)));
    }
    match asked.task {
        Task::Check(experiments) => {
            let checked = experiments.iter().map(|one| {
                let experiment = experiment(&one.experiment_json)?;
                Ok(fairwind_testbed::check(&experiment, &controls(one)))
            });
            checked.collect::<Result<_, _>>().map(Answer::Checked)
        }
        Task::Run { experiment, seed, captures } => {
            run(&experiment, seed, Path::new(&captures)).map(Answer::Ran)
        }
        Task::Scripts(scripts) => {
            hide_temporary_files(&scripts)?;
            scripts.iter().map(follow).collect::<Result<_, _>>().map(Answer::Followed)
        }
        Task::Program(task) => program::run(&task).map(Answer::Ended),
    }
}

/// Congestion controls by name: no program can be loaded into a User-Mode Linux kernel. In the place of the
/// repository's algorithms in C stand the kernel's own of the same names.
fn controls(task: &ExperimentTask) -> Vec<ControlObject> {
    let without_object = |name: &str, kernel_name: &str| ControlObject {
        name: name.to_owned(),
        kernel_name: kernel_name.to_owned(),
        object: Vec::new(),
    };
    let there = available();
    let names = fairwind_congestion::names();
    let in_kernel = names.iter().filter(|name| there.iter().any(|own| own == *name));
    let others = task.controls.iter();
    others
        .map(|control| without_object(&control.name, &control.kernel_name))
        .chain(in_kernel.map(|name| without_object(name, name)))
        .collect()
}

fn run(task: &ExperimentTask, seed: u64, captures: &Path) -> Result<RunAnswer, TaskFailure> {
    let experiment = experiment(&task.experiment_json)?;
    let command = host_command();
    let failed = |error: RunError| match error.storage() {
        Some(storage) => TaskFailure::storage(storage, &captures.display().to_string()),
        None => TaskFailure::experiment(error.to_string()),
    };
    let files = capture_files(&experiment, captures)?;
    let run = KernelRun::with_controls(&experiment, seed, files, command, &controls(task))
        .map_err(failed)?
        .in_virtual_time(REPORT_INTERVAL);
    let control = Arc::new(Control::default());
    let watch = Progress::watch(control.clone(), experiment.duration.as_nanos());
    let outcome = run.run(&control).map_err(failed);
    drop(watch);
    let outcome = outcome?;
    Ok(RunAnswer {
        tables: outcome.tables.tables.into_iter().map(Into::into).collect(),
        remarks: outcome.remarks,
    })
}

/// The folder in which commands of scripts leave files by names that are the same in every instance.
const TEMPORARY: &str = "/tmp";

/// Gives the instance temporary files of its own, beside which the folders of its scripts stay. Where a script lies
/// directly among the machine's temporary files, all of them stay.
fn hide_temporary_files(scripts: &[ScriptTask]) -> Result<(), TaskFailure> {
    let temporary = Path::new(TEMPORARY);
    let mut kept = Vec::new();
    for script in scripts {
        let Ok(inside) = Path::new(&script.file).strip_prefix(temporary) else { continue };
        let mut parts = inside.components();
        match (parts.next(), parts.next()) {
            (Some(first), Some(_)) => kept.push(temporary.join(first)),
            _ => return Ok(()),
        }
    }
    kept.sort();
    kept.dedup();
    linux::empty_folder(temporary, &kept)
        .map_err(|error| TaskFailure::experiment(error.to_string()))
}

fn follow(task: &ScriptTask) -> Result<ScriptAnswer, TaskFailure> {
    let mut options = RunOptions::new(Profile::Linux6_18);
    options.definitions = task.definitions.iter().cloned().collect();
    let line = |(name, value): &(String, Option<String>)| OptionLine {
        line: 0,
        name: name.clone(),
        value: value.clone(),
    };
    options.option_lines = task.options.iter().map(line).collect();
    let folder = Path::new(&task.file).parent().map(Path::to_path_buf);
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
    let kernel = KernelOptions { folder, ..KernelOptions::default() };
    packetdrill::run_script(&task.file, &task.text, &options, &kernel)
        .map(Into::into)
        .map_err(|error| TaskFailure::experiment(error.to_string()))
}

/// Writes the answer under its name when it is complete.
fn store(answer: &Answer) -> Result<(), TaskFailure> {
    let bytes = postcard::to_allocvec(answer)
        .map_err(|error| TaskFailure::experiment(format!("the answer: {error}")))?;
    let part = format!("{ANSWER_FILE}.part");
    let write = || -> std::io::Result<()> {
        let mut file = File::create(&part)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        fs::rename(&part, ANSWER_FILE)
    };
    write().map_err(|error| TaskFailure::storage(&error, "the tables of a run"))
}

/// A thread that writes down how far a run is.
struct Progress {
    is_over: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Progress {
    fn watch(control: Arc<Control>, duration_nanos: u64) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = is_over.clone();
        let pause = Duration::from_nanos(duration_nanos) / REPORTS;
        let report = move || {
            let mut counts = String::new();
            while !ends.load(Ordering::Relaxed) {
                std::thread::park_timeout(pause);
                counts = control.live().take().unwrap_or(counts);
                // Progress is for the eye: where it cannot be written, the run fails when it ends.
                let _ = fs::write(PROGRESS_FILE, format!("{:.9}\n{counts}\n", control.fraction()));
            }
        };
        let thread = std::thread::Builder::new().spawn(report).ok();
        Self { is_over, thread }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}
