//! One kernel in virtual time: a process of User-Mode Linux, from its command line to its end.

use crate::console::Console;
use crate::program_output::ProgramOutput;
use crate::task::{
    ANSWER_FILE, Answer, ExperimentTask, PROGRESS_FILE, TASK_FILE, TASK_VERSION, Task, TaskFailure,
    VersionedTask,
};
use crate::task::{FOLDER_VARIABLE, PATH, SEED_VARIABLE};
use fairwind_assembly::Control;
use fairwind_linux::{self as linux, KernelError, Processor, Reaper, RunName};
use fairwind_scenario::Experiment;
use fairwind_units::Span;
use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// What an instance has of memory for itself, and for each connection of its experiment.
const MEMORY_BYTES: u64 = 512 << 20;
const MEMORY_BYTES_PER_CONNECTION: u64 = 3 << 19;
/// Memory of an instance that runs a program.
const MEMORY_BYTES_OF_PROGRAMS: u64 = 2 << 30;
/// The wall clock at which every instance begins, in nanoseconds since 1970.
const FIRST_WALL_CLOCK: u64 = 1_750_000_000_000_000_000;
/// The longest time without a look at progress and cancellation.
const GLANCE: Span = Span::from_millis(100);
/// The folder of an instance, as its first process finds it before it mounts anything: the working directory of the
/// kernel's process. The kernel stirs its command line into its random numbers, so that no name may stand there that
/// changes from run to run.
const OWN_FOLDER: &str = "/proc/self/cwd";
/// Where a kernel's memory is, if there is room; it is an unlinked file.
const SHARED_MEMORY: &str = "/dev/shm";

/// A kernel that was built for virtual time, and the worker for its instances.
#[derive(Debug, Clone)]
pub struct VirtualKernel {
    /// The kernel.
    pub program: PathBuf,
    /// The program `fairwind-worker`.
    pub worker: PathBuf,
    /// Memory of each instance; `None`: what its task needs.
    pub memory_bytes: Option<u64>,
}

/// Why an instance gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum InstanceError {
    /// Somebody asked to stop.
    #[error("the run was cancelled")]
    Cancelled,
    /// Files of an instance could not be written or read.
    #[error("{what}: {error}")]
    Storage {
        /// Which file or folder.
        what: String,
        /// What the system says.
        error: std::io::Error,
    },
    /// The kernel could not be started.
    #[error("starting the kernel {program}: {reason}")]
    Start {
        /// The kernel.
        program: String,
        /// What the system says.
        reason: String,
    },
    /// The kernel gave up.
    #[error("the kernel {program} panicked: {reason}{hint}")]
    Panic {
        /// The kernel.
        program: String,
        /// Its own words.
        reason: String,
        /// What to do about it.
        hint: &'static str,
    },
    /// The instance ended without an answer.
    #[error("the kernel {program} ended without a result ({status}); it printed last:\n{printed}")]
    Ended {
        /// The kernel.
        program: String,
        /// How its process ended.
        status: String,
        /// The end of its console.
        printed: String,
    },
    /// The worker could not do what it was asked to.
    #[error("{}", .0.message)]
    Task(TaskFailure),
}

impl InstanceError {
    /// The system's error behind files that could not be written.
    pub fn storage(&self) -> Option<std::io::Error> {
        match self {
            Self::Storage { error, .. } => {
                error.raw_os_error().map(std::io::Error::from_raw_os_error)
            }
            Self::Task(TaskFailure { kind: crate::FailureKind::Storage(number), .. }) => {
                Some(std::io::Error::from_raw_os_error(*number))
            }
            _ => None,
        }
    }
}

/// An instance at work. Dropping it ends all its processes.
#[derive(Debug)]
pub struct Instance {
    program: String,
    child: Child,
    ended: OwnedFd,
    console: Console,
    /// What a program in it prints, if the task has one.
    printed: Option<ProgramOutput>,
    folder: PathBuf,
    /// Ends processes of the instance that a killed kernel leaves, also when this command is killed.
    reaper: Option<Reaper>,
    /// Where its processes run. They take turns, which is many times slower between processors.
    _processor: Processor,
}

impl VirtualKernel {
    /// Has an instance do `task`, with files in `folder`, which is made and removed. The kernel draws its random
    /// numbers from `seed`.
    ///
    /// # Errors
    /// Why there is no answer.
    pub fn perform(
        &self,
        task: Task,
        seed: u64,
        folder: &Path,
        control: &Control,
    ) -> Result<Answer, InstanceError> {
        let removed = RemovedFolder::make(folder)?;
        let memory = self.memory_bytes.unwrap_or_else(|| memory_bytes(&task));
        let printed = match &task {
            Task::Program(_) => Some(ProgramOutput::create(folder).map_err(at(folder))?),
            Task::Check(_) | Task::Run { .. } | Task::Scripts(_) => None,
        };
        let asked = VersionedTask { version: TASK_VERSION, task };
        let text = serde_json::to_vec(&asked).map_err(|error| at(folder)(error.into()))?;
        let file = folder.join(TASK_FILE);
        fs::write(&file, text).map_err(at(&file))?;
        let answer = Instance::start(self, folder, seed, memory, printed)?.follow(control);
        drop(removed);
        match answer? {
            Answer::Failed(failure) => Err(InstanceError::Task(failure)),
            answer => Ok(answer),
        }
    }

    fn command(&self, folder: &Path, seed: u64, memory: u64) -> Result<Command, InstanceError> {
        let home = std::path::absolute(folder).map_err(at(folder))?;
        let worker = quoted(&self.worker)?;
        let program = std::path::absolute(&self.program).map_err(at(&self.program))?;
        let mut command = Command::new(program);
        command
            .current_dir(&home)
            .arg(format!("mem={}M", memory >> 20))
            .args(["root=/dev/root", "rootfstype=hostfs", "rootflags=/", "rw"])
            .args(["con=null", "con0=null,fd:1", "quiet", "panic=-1"])
            .args(["time-travel=inf-cpu", "seccomp=auto"])
            .arg(format!("time-travel-start={FIRST_WALL_CLOCK}"))
            .arg(format!("init={worker}"))
            .arg(format!("PATH={PATH}"))
            .arg(format!("{FOLDER_VARIABLE}={OWN_FOLDER}"))
            .arg(format!("{SEED_VARIABLE}={seed}"))
            .env_clear()
            .env("PATH", PATH)
            // The kernel makes a folder there for its own use.
            .env("HOME", home)
            .env("TMPDIR", memory_folder(memory))
            .env(SEED_VARIABLE, seed.to_string())
            .stdin(Stdio::null())
            // Before it has a console, the kernel complains here.
            .stderr(Console::input(folder).map_err(at(folder))?);
        linux::bind_to_thread(&mut command);
        Ok(command)
    }
}

impl Instance {
    fn start(
        kernel: &VirtualKernel,
        folder: &Path,
        seed: u64,
        memory: u64,
        printed: Option<ProgramOutput>,
    ) -> Result<Self, InstanceError> {
        let program = kernel.program.display().to_string();
        let failed = |reason: String| InstanceError::Start { program: program.clone(), reason };
        let refused = |error: KernelError| failed(error.to_string());
        let mut reaper = Reaper::start(RunName::fresh()).map_err(refused)?;
        let processor = Processor::lease();
        let console = Console::create(folder).map_err(at(folder))?;
        let lines = printed.as_ref().map(ProgramOutput::arguments).transpose().map_err(refused)?;
        let lines = lines.unwrap_or_default();
        let child = processor
            .pin(
                kernel
                    .command(folder, seed, memory)?
                    .args(lines.iter().map(|(line, _)| line))
                    .stdout(Console::input(folder).map_err(at(folder))?),
            )
            .spawn()
            .map_err(|error| failed(error.to_string()))?;
        drop(lines);
        reaper.undo(&format!("kill -9 -- -{}", child.id())).map_err(refused)?;
        let ended = linux::watch_process(child.id()).map_err(refused)?;
        let folder = folder.to_path_buf();
        Ok(Self {
            program,
            child,
            ended,
            console,
            printed,
            folder,
            reaper: Some(reaper),
            _processor: processor,
        })
    }

    /// Waits for the answer.
    fn follow(mut self, control: &Control) -> Result<Answer, InstanceError> {
        loop {
            let stalled = self.printed.as_ref().map(ProgramOutput::stalled).unwrap_or_default();
            let stalled: Vec<&dyn AsFd> = stalled.iter().map(AsRef::as_ref).collect();
            linux::wait_ready(&[&self.ended], &stalled, GLANCE);
            let ended = self.child.try_wait();
            if let Some(printed) = &mut self.printed {
                printed.forward();
            }
            if let Ok(Some(status)) = ended {
                self.print_rest(control)?;
                self.console.read().map_err(at(&self.folder))?;
                return self.answer(&status.to_string());
            }
            if control.is_cancelled() {
                return Err(InstanceError::Cancelled);
            }
            self.report(control);
        }
    }

    /// Waits until somebody has read what was printed.
    fn print_rest(&mut self, control: &Control) -> Result<(), InstanceError> {
        let Some(printed) = &mut self.printed else { return Ok(()) };
        loop {
            printed.forward();
            let stalled = printed.stalled();
            let Some(target) = stalled.first() else { return Ok(()) };
            if control.is_cancelled() {
                return Err(InstanceError::Cancelled);
            }
            linux::wait_ready(&[], &[target], GLANCE);
        }
    }

    fn report(&self, control: &Control) {
        let text = fs::read_to_string(self.folder.join(PROGRESS_FILE)).unwrap_or_default();
        let Some((billionths, counts)) = progress_in(&text) else { return };
        if let Some(billionths) = billionths {
            control.report(billionths, 1_000_000_000);
        }
        if control.live().is_wanted() && !counts.is_empty() {
            control.live().put(counts.to_owned());
        }
    }

    fn answer(&self, status: &str) -> Result<Answer, InstanceError> {
        let program = self.program.clone();
        let ended = |status| {
            let (program, printed) = (self.program.clone(), self.console.quote());
            InstanceError::Ended { program, status, printed }
        };
        if let Ok(bytes) = fs::read(self.folder.join(ANSWER_FILE)) {
            let read = postcard::from_bytes(&bytes);
            return read.map_err(|error| ended(format!("its answer cannot be read: {error}")));
        }
        if let Some(failure) = self.console.failure() {
            return Err(InstanceError::Task(failure));
        }
        match self.console.panic() {
            Some(reason) => Err(InstanceError::Panic { program, hint: hint(&reason), reason }),
            None => Err(ended(status.to_owned())),
        }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        let _ = self.child.kill();
        // Processes of the instance may remain behind a kernel that was killed.
        drop(self.reaper.take());
        let _ = self.child.wait();
    }
}

/// Billionths of the experiment that have passed, if they are a number, and counts; `None` for a file that is being
/// written.
fn progress_in(text: &str) -> Option<(Option<u64>, &str)> {
    // A file that is being written lacks its end, and is left for the next time.
    let (fraction, counts) = text.strip_suffix('\n')?.split_once('\n')?;
    // Digits of a fraction below 1 behind the point, nine of them.
    let billionths = match fraction.split_once('.') {
        Some(("0", digits)) => digits.parse().ok(),
        Some(_) => Some(1_000_000_000),
        None => None,
    };
    Some((billionths, counts))
}

/// The folder of an instance, removed when dropped.
struct RemovedFolder(PathBuf);

impl RemovedFolder {
    fn make(folder: &Path) -> Result<Self, InstanceError> {
        fs::create_dir(folder).map_err(at(folder))?;
        Ok(Self(folder.to_path_buf()))
    }
}

impl Drop for RemovedFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn at(place: &Path) -> impl FnOnce(std::io::Error) -> InstanceError {
    let what = place.display().to_string();
    move |error| InstanceError::Storage { what, error }
}

/// A path as a kernel's command line takes it, with blanks in it if need be.
fn quoted(path: &Path) -> Result<String, InstanceError> {
    let path = std::path::absolute(path).map_err(at(path))?;
    match path.to_str() {
        Some(text) if !text.contains(['"', '\n']) => Ok(format!("\"{text}\"")),
        _ => Err(at(&path)(std::io::Error::new(
            std::io::ErrorKind::InvalidInput,
            "a kernel's command line takes no such path; choose another folder",
        ))),
    }
}

/// The folder of the file that is a kernel's memory: in memory, unless there is too little room.
fn memory_folder(memory: u64) -> PathBuf {
    let shared = Path::new(SHARED_MEMORY);
    match linux::free_bytes(shared) {
        Some(free) if free > memory => shared.to_path_buf(),
        _ => std::env::temp_dir(),
    }
}

/// Memory of the instance for a task. What it does not use costs the machine nothing but its page tables.
fn memory_bytes(task: &Task) -> u64 {
    let connections = |task: &ExperimentTask| -> u64 {
        let experiment = serde_json::from_str::<Experiment>(&task.experiment_json);
        experiment
            .map_or(0, |it| it.flows.iter().map(fairwind_scenario::FlowGroup::connections).sum())
    };
    match task {
        Task::Run { experiment, .. } => {
            MEMORY_BYTES + connections(experiment).saturating_mul(MEMORY_BYTES_PER_CONNECTION)
        }
        Task::Check(_) | Task::Scripts(_) => MEMORY_BYTES,
        Task::Program(_) => MEMORY_BYTES_OF_PROGRAMS,
    }
}

fn hint(panic: &str) -> &'static str {
    if panic.contains("memory") {
        "; its instance has too little memory: use fewer connections or a shorter queue, or smaller programs"
    } else if panic.contains("init") || panic.contains("root fs") {
        "; is the worker of this installation there? build it again with `make build`"
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_has_a_fraction_and_counts() {
        assert_eq!(progress_in("0.250000000\n{}\n"), Some((Some(250_000_000), "{}")));
        assert_eq!(progress_in("0.000000001\n\n"), Some((Some(1), "")));
        assert_eq!(progress_in("1.000000000\n\n"), Some((Some(1_000_000_000), "")));
    }

    #[test]
    fn unfinished_progress_is_left_for_later() {
        for text in ["", "0.25", "0.250000000\n", "0.250000000\n{\"groups\":["] {
            assert_eq!(progress_in(text), None, "{text:?}");
        }
        assert_eq!(progress_in("soon\n{}\n"), Some((None, "{}")));
        assert_eq!(progress_in("0.soon\n{}\n"), Some((None, "{}")));
    }

    #[test]
    fn panics_without_memory_name_the_remedy() {
        assert!(
            hint("Out of memory: system-wide panic_on_oom is enabled")
                .contains("fewer connections")
        );
        assert!(hint("Attempted to kill init! exitcode=0x0").contains("make build"));
        assert_eq!(hint("stack is corrupted"), "");
    }
}
