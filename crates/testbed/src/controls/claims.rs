//! Which congestion controls runs have loaded, and how many runs have each: several may be under way at once, in
//! processes that do not know of one another.
//!
//! Each control that was loaded for runs has a file, which tells what was loaded; every run that has it holds a lock
//! of that file, which ends with the run, however that ends. Whoever lets go of it last removes the control. One without
//! a file was loaded to stay, and no run removes it.

use super::loader::{fingerprint, install, remove};
use super::{ControlError, ControlObject, available, obstacle};
use crate::sys::{Lock, lock_file};
use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};

/// Gone when the machine starts anew, as what was loaded is.
const FOLDER: &str = "/run/fairwind/congestion";
/// Its lock is held by whoever loads or removes.
const DECIDING: &str = ".deciding";

/// Congestion controls that a run has; those that no other run has are removed with this.
#[derive(Debug)]
pub(crate) struct LoadedForRun {
    folder: PathBuf,
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
    pub(crate) fn load(controls: &[ControlObject]) -> Result<Self, ControlError> {
        let mut run = Self { folder: FOLDER.into(), claims: Vec::new() };
        if let Some(obstacle) = obstacle() {
            // Whoever may not load still has what is there, and removes nothing.
            let there = available();
            let has_all = controls.iter().all(|control| there.contains(&control.kernel_name));
            return if has_all { Ok(run) } else { Err(obstacle) };
        }
        if controls.is_empty() {
            return Ok(run);
        }
        let _deciding = deciding(&run.folder)?;
        for control in controls {
            let is_held = run.claims.iter().any(|claim| claim.kernel_name == control.kernel_name);
            if !is_held && let Some(claim) = claim(&run.folder, control)? {
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
        let Ok(_deciding) = deciding(&self.folder) else { return };
        for claim in self.claims.drain(..) {
            if lock_file(&claim.file, Lock::AloneAtOnce).is_ok() {
                // Nothing can be done about one that somebody else has removed already.
                let _ = remove(&claim.kernel_name);
                forget_in(&self.folder, &claim.kernel_name);
            }
        }
    }
}

/// Holds a control that runs have loaded, or loads it; nothing of one that was loaded to stay.
fn claim(folder: &Path, control: &ControlObject) -> Result<Option<Claim>, ControlError> {
    let path = folder.join(&control.kernel_name);
    let is_there = available().contains(&control.kernel_name);
    if is_there && !path.exists() {
        return Ok(None);
    }
    let kernel_name = control.kernel_name.clone();
    let wanted = fingerprint(control)?;
    let file = open(&path)?;
    let is_wanted = fs::read_to_string(&path).is_ok_and(|found| found == wanted);
    if is_there && !is_wanted {
        // That of a run that was killed, if nobody has it.
        lock_file(&file, Lock::AloneAtOnce)
            .map_err(|_| ControlError::OfAnotherRun(kernel_name.clone()))?;
        remove(&kernel_name)?;
    }
    if !is_there || !is_wanted {
        let written = || fs::write(&path, &wanted).map_err(|error| at(&path, &error));
        install(control)
            .and_then(|()| written())
            .inspect_err(|_| forget_in(folder, &kernel_name))?;
    }
    lock_file(&file, Lock::Shared).map_err(|error| at(&path, &error))?;
    Ok(Some(Claim { kernel_name, file }))
}

/// Nobody knows any more that a control was loaded for runs: it was removed, or is to stay.
pub(super) fn forget(kernel_name: &str) {
    forget_in(Path::new(FOLDER), kernel_name);
}

fn forget_in(folder: &Path, kernel_name: &str) {
    let _ = fs::remove_file(folder.join(kernel_name));
}

/// While this is held, nobody else loads or removes for a run.
fn deciding(folder: &Path) -> Result<File, ControlError> {
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

fn at(path: &Path, reason: &impl ToString) -> ControlError {
    ControlError::File { path: path.to_owned(), reason: reason.to_string() }
}
