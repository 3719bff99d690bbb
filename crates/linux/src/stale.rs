//! Removal of leftovers: by a run's reaper at its end, and later those of dead runs.

use crate::process::{end_process, unmount};
use crate::{KernelError, RunName, checked, command_output, read_text};
use rustix::process::{Pid, Signal, kill_process};
use serde::Serialize;
use std::fmt;
use std::fs;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Paths of resources with names of runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CleanupPaths {
    /// Names of network namespaces.
    pub namespaces: PathBuf,
    /// The root of the control groups (version 2), where there is one.
    pub control_groups: Option<PathBuf>,
    /// Temporary folders.
    pub folders: Vec<PathBuf>,
    /// Whether this network namespace's tables of nftables are looked at.
    pub tables: bool,
    /// Whether programs in the kernel are looked at: names of those at control groups, and congestion controls.
    pub programs: bool,
}

impl CleanupPaths {
    /// The machine's own.
    pub fn usual() -> Self {
        Self {
            namespaces: PathBuf::from("/run/netns"),
            control_groups: control_groups(&read_text("/proc/self/mounts")),
            folders: vec![PathBuf::from("/tmp"), PathBuf::from("/run")],
            tables: true,
            programs: true,
        }
    }
}

/// What kind of thing was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StaleKind {
    /// A process in a namespace that has a run's name.
    Process,
    /// The name of a network namespace.
    Namespace,
    /// A control group.
    ControlGroup,
    /// A temporary folder.
    Folder,
    /// A table of nftables, in this network namespace.
    Table,
    /// The name of a program after the removal of its control group.
    Program,
    /// A congestion control that was loaded for runs.
    CongestionControl,
}

/// Something that a run has left which has ended.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct StaleResource {
    /// Its kind.
    pub kind: StaleKind,
    /// The run's name; of a program, that it was of a control group; of a congestion control, that it was of runs.
    pub run: String,
    /// Where it is; of a process its folder below `/proc`.
    pub path: PathBuf,
}

impl StaleResource {
    /// The result of a removal; that it is gone already is no error.
    ///
    /// # Errors
    /// The system's error, with what could not be removed.
    pub fn removed(&self, result: std::io::Result<()>) -> Result<(), KernelError> {
        match result {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            done => checked(&format!("remove the {self}"), done),
        }
    }
}

impl fmt::Display for StaleResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            StaleKind::Process => "process",
            StaleKind::Namespace => "namespace",
            StaleKind::ControlGroup => "control group",
            StaleKind::Folder => "folder",
            StaleKind::Table => "table of nftables",
            StaleKind::Program => "program",
            StaleKind::CongestionControl => "congestion control",
        };
        write!(f, "{what} {} of {}", self.path.display(), self.run)
    }
}

/// The names that dead runs have left, processes first. A name of a living run, or one that is not a run's, is not
/// found.
pub fn find_stale(paths: &CleanupPaths) -> Vec<StaleResource> {
    list(paths, |run| !run.is_alive())
}

/// What one run has left, alive or not.
fn of_run(paths: &CleanupPaths, run: RunName) -> Vec<StaleResource> {
    list(paths, |one| one == run)
}

fn list(paths: &CleanupPaths, wanted: impl Fn(RunName) -> bool) -> Vec<StaleResource> {
    let folders = paths.folders.iter().map(|folder| (StaleKind::Folder, folder));
    let groups = paths.control_groups.iter().map(|root| (StaleKind::ControlGroup, root));
    let names = [(StaleKind::Namespace, &paths.namespaces)];
    let all: Vec<_> = names.into_iter().chain(groups).chain(folders).collect();
    let tables = if paths.tables { tables() } else { Vec::new() };
    let mut found: Vec<StaleResource> = all
        .into_iter()
        .flat_map(|(kind, place)| entries(place).map(move |(name, path)| (kind, name, path)))
        .filter(|(kind, _, path)| *kind == StaleKind::Namespace || path.is_dir())
        .chain(tables.into_iter().map(|name| (StaleKind::Table, name.clone(), name.into())))
        .filter_map(|(kind, name, path)| Some((kind, name.parse().ok()?, path)))
        .filter(|(_, run, _)| wanted(*run))
        .map(|(kind, run, path): (_, RunName, _)| StaleResource {
            kind,
            run: run.to_string(),
            path,
        })
        .collect();
    let processes = processes_in(&found);
    found.extend(processes);
    found.sort();
    found
}

fn entries(place: &Path) -> impl Iterator<Item = (String, PathBuf)> {
    let all = fs::read_dir(place).into_iter().flatten().flatten();
    all.filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())))
}

/// The names of the tables of nftables; none if there is no `nft`, or no right to ask.
fn tables() -> Vec<String> {
    let listed = command_output("nft", &["list", "tables", "ip"], "").unwrap_or_default();
    listed.lines().filter_map(|line| line.split(' ').next_back()).map(str::to_owned).collect()
}

fn remove_table(name: &Path) -> std::io::Result<()> {
    let name = name.to_string_lossy();
    let done = command_output("nft", &["delete", "table", "ip", &name], "");
    done.map(|_| ()).map_err(std::io::Error::other)
}

/// Ends everybody in a control group, and removes it when they are gone, which takes them a moment.
fn remove_group(path: &Path) -> std::io::Result<()> {
    const PATIENCE: Duration = Duration::from_secs(2);
    const GLANCE: Duration = Duration::from_millis(10);
    let mut waited = Duration::ZERO;
    loop {
        kill_members(path);
        match fs::remove_dir(path) {
            Err(error) if error.kind() == ErrorKind::ResourceBusy && waited < PATIENCE => {
                std::thread::park_timeout(GLANCE);
                waited += GLANCE;
            }
            done => return done,
        }
    }
}

/// Kills everybody in a control group: by its own file, which Linux has from 5.14 on, or one by one.
fn kill_members(group: &Path) {
    if fs::write(group.join("cgroup.kill"), "1").is_ok() {
        return;
    }
    let members = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
    let members = members.lines().filter_map(|line| line.parse().ok().and_then(Pid::from_raw));
    for member in members {
        // It may have ended meanwhile.
        let _ = kill_process(member, Signal::KILL);
    }
}

/// The processes that live in namespaces of `found`.
fn processes_in(found: &[StaleResource]) -> Vec<StaleResource> {
    let namespaces: Vec<(u64, &str)> = found
        .iter()
        .filter(|one| one.kind == StaleKind::Namespace)
        .filter_map(|one| Some((namespace_number(&one.path)?, one.run.as_str())))
        .collect();
    if namespaces.is_empty() {
        return Vec::new();
    }
    entries(Path::new("/proc"))
        .filter(|(name, _)| name.bytes().all(|letter| letter.is_ascii_digit()))
        .filter_map(|(_, path)| {
            let number = fs::metadata(path.join("ns/net")).ok()?.ino();
            let (_, run) = namespaces.iter().find(|(one, _)| *one == number)?;
            Some(StaleResource { kind: StaleKind::Process, run: (*run).to_owned(), path })
        })
        .collect()
}

/// The number of the namespace that a name stands for; none if its mount has gone.
fn namespace_number(name: &Path) -> Option<u64> {
    let there = fs::metadata(name).ok()?;
    let own = fs::metadata("/proc/self/ns/net").ok()?;
    (there.dev() == own.dev()).then(|| there.ino())
}

/// Removes what was found.
///
/// # Errors
/// If the system refuses, mostly for want of rights.
pub fn remove_stale(resource: &StaleResource) -> Result<(), KernelError> {
    let path = &resource.path;
    let done = match resource.kind {
        StaleKind::Process => end_process(path),
        StaleKind::Namespace => {
            unmount(path);
            fs::remove_file(path)
        }
        StaleKind::ControlGroup => remove_group(path),
        StaleKind::Folder => fs::remove_dir_all(path),
        StaleKind::Table => remove_table(path),
        StaleKind::Program => fs::remove_file(path),
        StaleKind::CongestionControl => Err(ErrorKind::Unsupported.into()),
    };
    resource.removed(done)
}

/// Where control groups of version 2 are mounted, by the list of mounts.
fn control_groups(mounts: &str) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let mut words = line.split(' ').skip(1);
        let (place, kind) = (words.next()?, words.next()?);
        (kind == "cgroup2").then(|| PathBuf::from(place))
    })
}

/// Reads what else is to be done until the run closes the pipe, by ending if not otherwise, and
/// then does it, the last first, and removes the names. It does not listen to Ctrl-C.
const PROGRAM: &str = r#"
trap '' INT TERM HUP QUIT PIPE
cd /
all=
while IFS= read -r line; do all="$line
$all"; done
printf '%s' "$all" | while IFS= read -r line; do /bin/sh -c "$line" < /dev/null; done
for name in "$2/$1"-*; do
    if [ -e "$name" ]; then umount -l "$name"; rm -f "$name"; fi
done
for group in "$3/$1"-*; do
    [ -d "$group" ] || continue
    # Whoever is killed takes a moment to be gone.
    for attempt in 1 2 3 4 5 6 7 8 9 10; do
        if [ -e "$group/cgroup.kill" ]; then echo 1 > "$group/cgroup.kill"
        else # Linux before 5.14; processes of other namespaces are 0.
            while read -r member; do [ "$member" = 0 ] || kill -9 "$member"; done < "$group/cgroup.procs"
        fi
        rmdir "$group" && break
        sleep 0.1
    done
done
"#;

/// A process that removes the leftovers of a run, however the run ends. It waits for the end of a pipe;
/// only the run holds the other end. Dropping the reaper starts the removal and waits for it.
#[derive(Debug)]
pub struct Reaper {
    run: RunName,
    paths: CleanupPaths,
    process: Child,
}

impl Reaper {
    /// Starts a reaper for `run`.
    ///
    /// # Errors
    /// If there is no `/bin/sh`, or no further process may be started.
    pub fn start(run: RunName) -> Result<Self, KernelError> {
        Self::watching(run, CleanupPaths::usual())
    }

    fn watching(run: RunName, paths: CleanupPaths) -> Result<Self, KernelError> {
        let none = std::path::Path::new("/nonexistent");
        let process = Command::new("/bin/sh")
            .args(["-c", PROGRAM, "fairwind-reaper", &run.to_string()])
            .arg(&paths.namespaces)
            .arg(paths.control_groups.as_deref().unwrap_or(none))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // What ends the run's process group does not end its reaper.
            .process_group(0)
            .spawn()
            .map_err(|error| KernelError::command("/bin/sh (the reaper of a run)", &error))?;
        Ok(Self { run, paths, process })
    }

    /// Has a command of the shell done at the end of the run, before those that were asked for
    /// earlier: the opposite of what is about to be done. Errors of the command are ignored.
    ///
    /// # Errors
    /// If the reaper is gone, or the command is not a single line.
    pub fn undo(&mut self, command: &str) -> Result<(), KernelError> {
        let failed = |reason: String| KernelError::Command { command: command.to_owned(), reason };
        if command.contains('\n') {
            return Err(failed("a reaper takes single lines".to_owned()));
        }
        let pipe = self.process.stdin.as_mut();
        let pipe = pipe.ok_or_else(|| failed("the reaper is gone".to_owned()))?;
        writeln!(pipe, "{command}")
            .and_then(|()| pipe.flush())
            .map_err(|error| failed(format!("send a command to the reaper: {error}")))
    }
}

impl Drop for Reaper {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
        // Somebody may have ended the reaper; then its names are still there.
        for resource in of_run(&self.paths, self.run) {
            let _ = remove_stale(&resource);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_dead_runs_resources_are_removed() {
        let run = RunName::fresh();
        let folder = std::env::temp_dir().join(run.of("stale"));
        // Process 1 was not started at that instant, nor will it be.
        let dead: RunName = "fairwind-1.ffffffff.1".parse().unwrap();
        for name in [run.of("alive"), dead.of("dead"), "fairwind-lab".to_owned()] {
            fs::create_dir_all(folder.join(name)).unwrap();
        }
        let paths = CleanupPaths {
            namespaces: folder.join("none"),
            control_groups: None,
            folders: vec![folder.clone()],
            tables: false,
            programs: false,
        };
        let found = find_stale(&paths);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].to_string().split(' ').next(), Some("folder"));
        assert_eq!(found[0].run, dead.to_string());
        remove_stale(&found[0]).unwrap();
        assert_eq!(find_stale(&paths), []);
        assert!(folder.join(run.of("alive")).is_dir());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn control_groups_are_found_in_hybrid_mounts() {
        let mounts = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\n\
                      cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n\
                      cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        assert_eq!(control_groups(mounts), Some(PathBuf::from("/sys/fs/cgroup/unified")));
        assert_eq!(control_groups("proc /proc proc rw 0 0\n"), None);
    }

    /// A new folder for each test, with two names of a run and one foreign name.
    fn scene(test: &str) -> (CleanupPaths, RunName, PathBuf) {
        let run = RunName::fresh();
        let folder = std::env::temp_dir().join(run.of(test));
        fs::create_dir_all(&folder).unwrap();
        for name in [run.of("sender"), run.of("receiver"), "somebody-else".to_owned()] {
            fs::write(folder.join(name), "").unwrap();
        }
        let paths = CleanupPaths {
            namespaces: folder.clone(),
            control_groups: None,
            folders: Vec::new(),
            tables: false,
            programs: false,
        };
        (paths, run, folder)
    }

    fn left(folder: &PathBuf) -> Vec<String> {
        let all = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> =
            all.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn finished_run_leaves_only_foreign_resources() {
        let (paths, run, folder) = scene("well");
        drop(Reaper::watching(run, paths).unwrap());
        assert_eq!(left(&folder), ["somebody-else"]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn reaper_cleans_up_at_pipe_end() {
        let (paths, run, folder) = scene("pipe");
        let mut reaper = Reaper::watching(run, paths).unwrap();
        // What the death of the run does: nobody is there to drop anything.
        drop(reaper.process.stdin.take());
        reaper.process.wait().unwrap();
        assert_eq!(left(&folder), ["somebody-else"]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn dropping_a_killed_reaper_cleans_up() {
        let (paths, run, folder) = scene("killed");
        let mut reaper = Reaper::watching(run, paths).unwrap();
        reaper.process.kill().unwrap();
        drop(reaper);
        assert_eq!(left(&folder), ["somebody-else"]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn undo_runs_in_reverse_despite_failures() {
        let (paths, run, folder) = scene("undone");
        let mut reaper = Reaper::watching(run, paths).unwrap();
        let notes = folder.join("notes");
        for word in ["first", "second"] {
            reaper.undo(&format!("echo {word} >> {}", notes.display())).unwrap();
            reaper.undo("false; ( not a command").unwrap();
        }
        assert!(reaper.undo("two\nlines").is_err());
        drop(reaper);
        assert_eq!(fs::read_to_string(notes).unwrap(), "second\nfirst\n");
        fs::remove_dir_all(folder).unwrap();
    }
}
