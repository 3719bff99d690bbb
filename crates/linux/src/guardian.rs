//! The process that outlives a run and removes its names.

use crate::TestbedError;
use crate::{Places, RunName, search};
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
pub struct Guardian {
    run: RunName,
    places: Places,
    process: Child,
}

impl Guardian {
    /// Starts a guardian for `run`.
    ///
    /// # Errors
    /// Where there is no `/bin/sh`, or no further process may be started.
    pub fn start(run: RunName) -> Result<Self, TestbedError> {
        Self::watching(run, Places::usual())
    }

    pub(super) fn watching(run: RunName, places: Places) -> Result<Self, TestbedError> {
        let none = std::path::Path::new("/nonexistent");
        let process = Command::new("/bin/sh")
            .args(["-c", PROGRAM, "fairwind-guardian", &run.to_string()])
            .arg(&places.namespaces)
            .arg(places.control_groups.as_deref().unwrap_or(none))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // What ends the run's process group does not end its guardian.
            .process_group(0)
            .spawn()
            .map_err(|error| TestbedError::Command {
                command: "/bin/sh (the guardian of a run)".to_owned(),
                reason: error.to_string(),
            })?;
        Ok(Self { run, places, process })
    }

    /// Has a command of the shell done at the end of the run, before those that were asked for
    /// earlier: the opposite of what is about to be done. Whether it succeeds is nobody's concern.
    ///
    /// # Errors
    /// Where the guardian is gone, or the command is not a single line.
    pub fn undo(&mut self, command: &str) -> Result<(), TestbedError> {
        let failed = |reason: String| TestbedError::Command { command: command.to_owned(), reason };
        if command.contains('\n') {
            return Err(failed("a guardian takes single lines".to_owned()));
        }
        let pipe = self.process.stdin.as_mut();
        let pipe = pipe.ok_or_else(|| failed("the guardian is gone".to_owned()))?;
        writeln!(pipe, "{command}")
            .and_then(|()| pipe.flush())
            .map_err(|error| failed(format!("tell the guardian: {error}")))
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
        // Somebody may have ended the guardian; then its names are still there.
        for leftover in search::of_run(&self.places, self.run) {
            let _ = search::remove_leftover(&leftover);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::PathBuf;

    /// A folder of its own for each test, and a run with two names in it and one of somebody else.
    fn scene(test: &str) -> (Places, RunName, PathBuf) {
        let run = RunName::fresh();
        let folder = std::env::temp_dir().join(run.of(test));
        fs::create_dir_all(&folder).unwrap();
        for name in [run.of("sender"), run.of("receiver"), "somebody-else".to_owned()] {
            fs::write(folder.join(name), "").unwrap();
        }
        let places = Places {
            namespaces: folder.clone(),
            control_groups: None,
            folders: Vec::new(),
            tables: false,
            programs: false,
        };
        (places, run, folder)
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
        let (places, run, folder) = scene("well");
        drop(Guardian::watching(run, places).unwrap());
        assert_eq!(left(&folder), ["somebody-else"]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn the_end_of_the_pipe_is_enough_for_the_names_to_go() {
        let (places, run, folder) = scene("pipe");
        let mut guardian = Guardian::watching(run, places).unwrap();
        // What the death of the run does: nobody is there to drop anything.
        drop(guardian.process.stdin.take());
        guardian.process.wait().unwrap();
        assert_eq!(left(&folder), ["somebody-else"]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_guardian_that_was_killed_is_done_without() {
        let (places, run, folder) = scene("killed");
        let mut guardian = Guardian::watching(run, places).unwrap();
        guardian.process.kill().unwrap();
        drop(guardian);
        assert_eq!(left(&folder), ["somebody-else"]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_was_done_is_undone_in_reverse_whatever_fails() {
        let (places, run, folder) = scene("undone");
        let mut guardian = Guardian::watching(run, places).unwrap();
        let notes = folder.join("notes");
        for word in ["first", "second"] {
            guardian.undo(&format!("echo {word} >> {}", notes.display())).unwrap();
            guardian.undo("false; ( not a command").unwrap();
        }
        assert!(guardian.undo("two\nlines").is_err());
        drop(guardian);
        assert_eq!(fs::read_to_string(notes).unwrap(), "second\nfirst\n");
        fs::remove_dir_all(folder).unwrap();
    }
}
