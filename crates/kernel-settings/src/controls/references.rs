//! Which congestion controls runs have loaded, and how many runs have each: several may be under way at once, in
//! processes that do not know of one another.
//!
//! Each control that was loaded for runs has a note, which tells what was loaded; every run that has it holds a lock
//! of that file, which ends with the run, however that ends. Whoever lets go of it last removes the control. One that
//! was loaded to stay is noted elsewhere, and no run removes it; no run takes one of which nothing is noted.

use super::loader::{install, remove, table_number};
use super::registry::{self, FOLDER, Note, at, of_runs};
use super::{ControlError, ControlObject, available, obstacle};
use fairwind_linux::{Lock, lock_file};
use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};

/// Its lock is held by whoever loads or removes.
const DECIDING: &str = ".deciding";

/// Congestion controls that a run has; those that no other run has are removed with this.
#[derive(Debug)]
pub struct LoadedForRun {
    claims: Vec<Claim>,
}

/// A control that is not to be removed before this lets go of it.
#[derive(Debug)]
struct Claim {
    kernel_name: String,
    file: File,
}

impl LoadedForRun {
    /// Loads those of `controls` that are not there, and holds them.
    pub fn load(controls: &[ControlObject]) -> Result<Self, ControlError> {
        let mut run = Self { claims: Vec::new() };
        if let Some(incompatibility) = registry::incompatibility(controls) {
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
                registry::forget(&claim.kernel_name);
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
        install(control)
            .and_then(|()| written())
            .inspect_err(|_| registry::forget(&kernel_name))?;
    }
    lock_file(&file, Lock::Shared).map_err(|error| at(&path, &error))?;
    Ok(Some(Claim { kernel_name, file }))
}

/// The notes of what was loaded for runs that live no more; none where nobody may look.
pub fn orphaned() -> Vec<PathBuf> {
    if !Path::new(FOLDER).is_dir() {
        return Vec::new();
    }
    // Who is loading has written its note, and not yet locked it.
    let Ok(_deciding) = deciding() else { return Vec::new() };
    registry::all_of_runs().into_iter().filter(|note| nobody_has(note).is_ok()).collect()
}

/// Removes what was loaded for runs that live no more, by its note; of another one that has come under its name since,
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
    registry::forget(&kernel_name);
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
