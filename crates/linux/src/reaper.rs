//! The process that outlives a run and removes its names.

use crate::KernelError;
use crate::{CleanupPaths, RunName, stale};
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

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
    echo 1 > "$group/cgroup.kill"
    # Whoever is killed takes a moment to be gone.
    for attempt in 1 2 3 4 5 6 7 8 9 10; do rmdir "$group" && break; sleep 0.1; done
done
"#;

/// A process that removes what a run leaves when it ends, however it ends: it waits for the end of
/// a pipe whose other end only the run has. Dropping it lets it begin, and waits for it.
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
    /// Where there is no `/bin/sh`, or no further process may be started.
    pub fn start(run: RunName) -> Result<Self, KernelError> {
        Self::watching(run, CleanupPaths::usual())
    }

    pub(super) fn watching(run: RunName, paths: CleanupPaths) -> Result<Self, KernelError> {
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
            .map_err(|error| KernelError::Command {
                command: "/bin/sh (the reaper of a run)".to_owned(),
                reason: error.to_string(),
            })?;
        Ok(Self { run, paths, process })
    }

    /// Has a command of the shell done at the end of the run, before those that were asked for
    /// earlier: the opposite of what is about to be done. Whether it succeeds is nobody's concern.
    ///
    /// # Errors
    /// Where the reaper is gone, or the command is not a single line.
    pub fn undo(&mut self, command: &str) -> Result<(), KernelError> {
        let failed = |reason: String| KernelError::Command { command: command.to_owned(), reason };
        if command.contains('\n') {
            return Err(failed("a reaper takes single lines".to_owned()));
        }
        let pipe = self.process.stdin.as_mut();
        let pipe = pipe.ok_or_else(|| failed("the reaper is gone".to_owned()))?;
        writeln!(pipe, "{command}")
            .and_then(|()| pipe.flush())
            .map_err(|error| failed(format!("tell the reaper: {error}")))
    }
}

impl Drop for Reaper {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
        // Somebody may have ended the reaper; then its names are still there.
        for resource in stale::of_run(&self.paths, self.run) {
            let _ = stale::remove_stale(&resource);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::PathBuf;

    /// A folder of its own for each test, and a run with two names in it and one of somebody else.
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
    fn a_run_that_ends_well_leaves_only_what_is_not_its_own() {
        let (paths, run, folder) = scene("well");
        drop(Reaper::watching(run, paths).unwrap());
        assert_eq!(left(&folder), ["somebody-else"]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn the_end_of_the_pipe_is_enough_for_the_names_to_go() {
        let (paths, run, folder) = scene("pipe");
        let mut reaper = Reaper::watching(run, paths).unwrap();
        // What the death of the run does: nobody is there to drop anything.
        drop(reaper.process.stdin.take());
        reaper.process.wait().unwrap();
        assert_eq!(left(&folder), ["somebody-else"]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_guardian_that_was_killed_is_done_without() {
        let (paths, run, folder) = scene("killed");
        let mut reaper = Reaper::watching(run, paths).unwrap();
        reaper.process.kill().unwrap();
        drop(reaper);
        assert_eq!(left(&folder), ["somebody-else"]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_was_done_is_undone_in_reverse_whatever_fails() {
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
