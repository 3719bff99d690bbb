//! Congestion controls that are loaded: which object has which name in the kernel, and which runs use it.
//!
//! Several runs may be under way at once, in processes that do not know of one another. Another object under a name
//! is not taken for the one that a run asks for.
//!
//! Each control that was loaded for runs has a note: a file that says what was loaded. Every run that uses the control
//! holds a lock on that file until it ends, however it ends. The last run removes the control. A control that was
//! loaded to stay is noted elsewhere, and no run removes it. No run uses a control without a note.

use super::loader::{install, remove, table_number};
use super::{ControlError, ControlObject, available, loader, obstacle};
use fairwind_linux::{Lock, lock_file};
use std::fs;
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

/// A folder that does not survive a reboot, like the loaded controls.
pub(super) const FOLDER: &str = "/run/fairwind/congestion";
/// What follows the names of those that were loaded to stay.
const STAYS: &str = ".stays";

/// Which program has a name in the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Note {
    /// Of its instructions and data.
    fingerprint: String,
    /// The number of its table of hooks: whoever is loaded under the same name later has another.
    table: Option<u32>,
}

impl Note {
    /// What `control`, which is in the kernel, is noted as.
    pub(super) fn of(control: &ControlObject) -> Result<Self, ControlError> {
        let table = loader::table_number(&control.kernel_name);
        Ok(Self { fingerprint: loader::fingerprint(control)?, table })
    }

    pub(super) fn read(path: &Path) -> Option<Self> {
        let text = fs::read_to_string(path).ok()?;
        let (fingerprint, table) = text.trim_end().split_once(' ')?;
        Some(Self { fingerprint: fingerprint.to_owned(), table: table.parse().ok() })
    }

    pub(super) fn write(&self, path: &Path) -> Result<(), ControlError> {
        let table = self.table.map_or_else(|| "?".to_owned(), |number| number.to_string());
        let text = format!("{} {table}\n", self.fingerprint);
        fs::write(path, text).map_err(|error| at(path, &error))
    }

    /// Whether it is of the same program; of the same table, where both are known.
    pub(super) fn is_of(&self, other: &Self) -> bool {
        self.fingerprint == other.fingerprint && self.may_be_of_the_table_of(other)
    }

    fn may_be_of_the_table_of(&self, other: &Self) -> bool {
        !self.is_of_another_table_than(other.table)
    }

    /// Whether its table is known, and so is `table`, and is another one.
    pub(super) fn is_of_another_table_than(&self, table: Option<u32>) -> bool {
        self.table.zip(table).is_some_and(|(own, other)| own != other)
    }
}

/// Where a control that was loaded to stay is noted.
pub(super) fn of_stayer(kernel_name: &str) -> PathBuf {
    Path::new(FOLDER).join(format!("{kernel_name}{STAYS}"))
}

/// Where a control that was loaded for runs is noted.
pub(super) fn of_runs(kernel_name: &str) -> PathBuf {
    Path::new(FOLDER).join(kernel_name)
}

/// The notes of all that was loaded for runs.
pub(super) fn all_of_runs() -> Vec<PathBuf> {
    let there = fs::read_dir(FOLDER).into_iter().flatten().flatten();
    let is_of_runs = |name: &str| !name.starts_with('.') && !name.ends_with(STAYS);
    let named = there.filter(|entry| entry.file_name().to_str().is_some_and(is_of_runs));
    let mut notes: Vec<PathBuf> = named.map(|entry| entry.path()).collect();
    notes.sort();
    notes
}

/// Notes that a control was loaded to stay.
pub(super) fn stays(control: &ControlObject) -> Result<(), ControlError> {
    let path = of_stayer(&control.kernel_name);
    fs::create_dir_all(FOLDER).map_err(|error| at(Path::new(FOLDER), &error))?;
    forget(&control.kernel_name);
    Note::of(control)?.write(&path)
}

/// Nothing of this name is in the kernel any more.
pub(super) fn forget(kernel_name: &str) {
    for path in [of_runs(kernel_name), of_stayer(kernel_name)] {
        let _ = fs::remove_file(path);
    }
}

/// The reason why one run cannot have all `controls`: two have the same name, or the kernel has another program of a name.
/// A control that was compiled for the simulator only cannot be distinguished from the kernel's.
pub fn incompatibility(controls: &[ControlObject]) -> Option<ControlError> {
    let there = available();
    for (place, control) in controls.iter().enumerate() {
        let namesakes = controls[..place].iter();
        for other in namesakes.filter(|other| other.kernel_name == control.kernel_name) {
            if other.object != control.object {
                return Some(ControlError::OneNameTwice {
                    first: other.name.clone(),
                    second: control.name.clone(),
                    kernel_name: control.kernel_name.clone(),
                });
            }
        }
        if there.contains(&control.kernel_name) && !control.object.is_empty() {
            // What is gone by now was that of a run which has just ended.
            let is_still_there = |_: &ControlError| available().contains(&control.kernel_name);
            if let Some(incompatibility) = objection_to(control).filter(is_still_there) {
                return Some(incompatibility);
            }
        }
    }
    None
}

/// The reason why the kernel's control of that name is not `control`.
fn objection_to(control: &ControlObject) -> Option<ControlError> {
    let name = || control.kernel_name.clone();
    if of_runs(&control.kernel_name).exists() {
        // Runs settle that among themselves.
        return None;
    }
    let wanted = match Note::of(control) {
        Ok(wanted) => wanted,
        // A build without eBPF cannot look into it.
        Err(ControlError::Unavailable(_)) => return None,
        Err(error) => return Some(error),
    };
    match Note::read(&of_stayer(&control.kernel_name)) {
        Some(note) if note.is_of(&wanted) => None,
        Some(note) if note.may_be_of_the_table_of(&wanted) => {
            Some(ControlError::OtherStays(name()))
        }
        _ => Some(ControlError::Unknown(name())),
    }
}

pub(super) fn at(path: &Path, reason: &impl ToString) -> ControlError {
    ControlError::File { path: path.to_owned(), reason: reason.to_string() }
}

/// Its lock is held by whoever loads or removes.
const DECIDING: &str = ".deciding";

/// Congestion controls that a run has; those that no other run has are removed with this.
#[derive(Debug)]
pub struct LoadedForRun {
    claims: Vec<Claim>,
}

/// A lock that keeps a control loaded.
#[derive(Debug)]
struct Claim {
    kernel_name: String,
    file: File,
}

impl LoadedForRun {
    /// Loads those of `controls` that are not there, and holds them.
    pub fn load(controls: &[ControlObject]) -> Result<Self, ControlError> {
        let mut run = Self { claims: Vec::new() };
        if let Some(incompatibility) = incompatibility(controls) {
            return Err(incompatibility);
        }
        if let Some(obstacle) = obstacle() {
            // Whoever may not load still has what is there, and removes nothing.
            let there = available();
            let has_all = controls.iter().all(|control| there.contains(&control.kernel_name));
            return if has_all { Ok(run) } else { Err(obstacle) };
        }
        if controls.is_empty() {
            return Ok(run);
        }
        let _deciding = deciding()?;
        for control in controls {
            let is_held = run.claims.iter().any(|claim| claim.kernel_name == control.kernel_name);
            if !is_held && let Some(claim) = claim(control)? {
                run.claims.push(claim);
            }
        }
        Ok(run)
    }
}

impl Drop for LoadedForRun {
    fn drop(&mut self) {
        if self.claims.is_empty() {
            return;
        }
        // Without the lock what is there stays, and the next run that has it removes it.
        let Ok(_deciding) = deciding() else { return };
        for claim in self.claims.drain(..) {
            if lock_file(&claim.file, Lock::AloneAtOnce).is_ok() {
                // Nothing can be done about one that somebody else has removed already.
                let _ = remove(&claim.kernel_name);
                forget(&claim.kernel_name);
            }
        }
    }
}

/// Holds a control that runs have loaded, or loads it; nothing of one that was loaded to stay.
fn claim(control: &ControlObject) -> Result<Option<Claim>, ControlError> {
    let path = of_runs(&control.kernel_name);
    let is_there = available().contains(&control.kernel_name);
    if is_there && !path.exists() {
        return Ok(None);
    }
    let kernel_name = control.kernel_name.clone();
    let wanted = Note::of(control)?;
    let file = open(&path)?;
    let is_wanted = Note::read(&path).is_some_and(|found| found.is_of(&wanted));
    if is_there && !is_wanted {
        // That of a run that was killed, if nobody has it.
        lock_file(&file, Lock::AloneAtOnce)
            .map_err(|_| ControlError::OfAnotherRun(kernel_name.clone()))?;
        remove(&kernel_name)?;
    }
    if !is_there || !is_wanted {
        // Its table is known once it is there.
        let written = || Note::of(control)?.write(&path);
        install(control).and_then(|()| written()).inspect_err(|_| forget(&kernel_name))?;
    }
    lock_file(&file, Lock::Shared).map_err(|error| at(&path, &error))?;
    Ok(Some(Claim { kernel_name, file }))
}

/// The notes of what was loaded for runs that have ended; none if nobody may look.
pub fn orphaned() -> Vec<PathBuf> {
    if !Path::new(FOLDER).is_dir() {
        return Vec::new();
    }
    // Who is loading has written its note, and not yet locked it.
    let Ok(_deciding) = deciding() else { return Vec::new() };
    all_of_runs().into_iter().filter(|note| nobody_has(note).is_ok()).collect()
}

/// Removes what was loaded for runs that have ended, by its note; of another one that has come under its name since,
/// only the note.
///
/// # Errors
/// If somebody has it by now, or the kernel keeps it.
pub fn remove_orphaned(note: &Path) -> std::io::Result<()> {
    let _deciding = deciding().map_err(std::io::Error::other)?;
    let _alone = nobody_has(note)?;
    let kernel_name = note.file_name().unwrap_or_default().to_string_lossy();
    let there = table_number(&kernel_name);
    if Note::read(note).is_some_and(|noted| noted.is_of_another_table_than(there)) {
        return fs::remove_file(note);
    }
    if available().iter().any(|name| *name == kernel_name) {
        remove(&kernel_name).map_err(std::io::Error::other)?;
    }
    forget(&kernel_name);
    Ok(())
}

/// Holds a note that no run holds.
fn nobody_has(note: &Path) -> std::io::Result<File> {
    let file = File::open(note)?;
    lock_file(&file, Lock::AloneAtOnce).map_err(std::io::Error::other)?;
    Ok(file)
}

/// While this is held, nobody else loads or removes for a run.
fn deciding() -> Result<File, ControlError> {
    let folder = Path::new(FOLDER);
    fs::create_dir_all(folder).map_err(|error| at(folder, &error))?;
    let path = folder.join(DECIDING);
    let file = open(&path)?;
    lock_file(&file, Lock::Alone).map_err(|error| at(&path, &error))?;
    Ok(file)
}

fn open(path: &Path) -> Result<File, ControlError> {
    let mut options = OpenOptions::new();
    let options = options.read(true).write(true).create(true).truncate(false);
    options.open(path).map_err(|error| at(path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(fingerprint: &str, table: Option<u32>) -> Note {
        Note { fingerprint: fingerprint.to_owned(), table }
    }

    #[test]
    fn note_round_trips() {
        let folder = std::env::temp_dir().join(format!("fairwind-note-{}", std::process::id()));
        for written in [note("0011", Some(7)), note("0011", None)] {
            written.write(&folder).expect("a file");
            assert_eq!(Note::read(&folder), Some(written));
        }
        std::fs::remove_file(&folder).expect("it was there");
        assert_eq!(Note::read(&folder), None);
    }

    #[test]
    fn same_program_loaded_later_is_another() {
        assert!(note("0011", Some(7)).is_of(&note("0011", Some(7))));
        assert!(
            note("0011", Some(7)).is_of(&note("0011", None)),
            "an ordinary user sees no tables"
        );
        assert!(!note("0011", Some(7)).is_of(&note("0011", Some(8))));
        assert!(!note("0011", Some(7)).is_of(&note("0012", Some(7))));
    }

    #[test]
    fn unknown_table_is_not_another() {
        assert!(note("0011", Some(7)).is_of_another_table_than(Some(8)));
        assert!(!note("0011", Some(7)).is_of_another_table_than(Some(7)));
        assert!(!note("0011", Some(7)).is_of_another_table_than(None));
        assert!(!note("0011", None).is_of_another_table_than(Some(8)));
    }

    #[test]
    fn two_sources_with_one_kernel_name_conflict() {
        let control = |name: &str, object: &[u8]| ControlObject {
            name: name.to_owned(),
            kernel_name: "fwt_namesakes".to_owned(),
            object: object.to_vec(),
        };
        let error = incompatibility(&[control("mine", b"1"), control("yours", b"2")]);
        let words = error.expect("they are two").to_string();
        assert!(words.contains("\"mine\" and \"yours\"") && words.contains("fwt_namesakes"));
        assert_eq!(incompatibility(&[control("mine", b"1"), control("again", b"1")]), None);
    }
}
