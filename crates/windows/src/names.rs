//! Where what stays in the kernel has its name: a file in the file system of eBPF for each control group.

use super::WindowsError;
use super::group::ControlGroup;
use fairwind_linux::{self as linux, FileSystem};
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Where the file system of eBPF is by custom.
const PLACE: &str = "/sys/fs/bpf";
/// What our names begin with; behind it stands the number of the control group.
const PREFIX: &str = "fairwind-windows-";

/// The name for a control group's program.
pub(super) fn name_of(group: &ControlGroup) -> PathBuf {
    Path::new(PLACE).join(format!("{PREFIX}{}", group.number))
}

/// All names that there are.
pub(super) fn names() -> Vec<PathBuf> {
    let all = fs::read_dir(PLACE).into_iter().flatten().flatten();
    let ours = all.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    let mut names: Vec<PathBuf> = ours.map(|entry| entry.path()).collect();
    names.sort();
    names
}

/// Mounts the file system of eBPF where it is missing, as every tool for eBPF does.
pub(super) fn make_room() -> Result<(), WindowsError> {
    let path = Path::new(PLACE);
    let refused = |reason: String| WindowsError::NoNames { path: path.to_owned(), reason };
    let folder = File::open(path).map_err(|error| refused(error.to_string()))?;
    if linux::file_system(&folder) == FileSystem::Programs {
        return Ok(());
    }
    linux::mount_programs(path).map_err(|error| refused(error.to_string()))?;
    // It begins as a folder in which everybody may write.
    let _ = fs::set_permissions(path, Permissions::from_mode(0o700));
    Ok(())
}
