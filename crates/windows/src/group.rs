//! A control group of version 2: that it is one, and its number.

use super::WindowsError;
use fairwind_linux::CleanupPaths;
use fairwind_linux::{self as linux, FileSystem};
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// A control group of version 2.
#[derive(Debug)]
pub(super) struct ControlGroup {
    /// Its folder.
    pub(super) path: PathBuf,
    /// Its number: that of the folder.
    pub(super) number: u64,
    /// The folder, open.
    pub(super) folder: File,
}

impl ControlGroup {
    /// The control group whose folder is `path`.
    pub(super) fn open(path: &Path) -> Result<Self, WindowsError> {
        let path = path.to_owned();
        let opened = File::open(&path).and_then(|folder| {
            let about = folder.metadata()?;
            if about.is_dir() {
                Ok((folder, about.ino()))
            } else {
                Err(ErrorKind::NotADirectory.into())
            }
        });
        let root = CleanupPaths::usual().control_groups;
        match opened {
            Err(error) => Err(WindowsError::NoGroup { path, reason: error.to_string(), root }),
            Ok((folder, number)) => match linux::file_system(&folder) {
                FileSystem::ControlGroups => Ok(Self { path, number, folder }),
                _ => Err(WindowsError::NotVersionTwo { path, root }),
            },
        }
    }
}
