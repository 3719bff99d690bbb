//! Control groups, the names of their programs in the file system of eBPF, and the right to load programs: not every
//! root has it.

use super::WindowsError;
use fairwind_linux::{self as linux, CleanupPaths, FileSystem};
use std::fs::{self, File, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
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
    /// The control group at `path`.
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

/// Where the file system of eBPF is by custom.
const PLACE: &str = "/sys/fs/bpf";
/// What our names begin with; behind it stands the number of the control group.
const PREFIX: &str = "fairwind-windows-";

/// The name for a control group's program.
pub(super) fn name_of(group: &ControlGroup) -> PathBuf {
    Path::new(PLACE).join(format!("{PREFIX}{}", group.number))
}

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

/// Bits of capabilities: of networks, of everything, of measurements, and of programs.
const NET_ADMIN: u64 = 1 << 12;
const SYS_ADMIN: u64 = 1 << 21;
const PERFMON: u64 = 1 << 38;
const BPF: u64 = 1 << 39;
/// The initial user namespace; its number never changes.
const FIRST_NAMESPACE: &str = "user:[4026531837]";

/// Whether it has what the kernel asks for; yes as well where that cannot be found out.
pub(super) fn may_load() -> bool {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let namespace = fs::read_link("/proc/self/ns/user");
    may(&status, namespace.as_deref().unwrap_or(Path::new(FIRST_NAMESPACE)))
}

/// The same, by what `status` says in a user namespace: capabilities in another one than the first do not count.
fn may(status: &str, namespace: &Path) -> bool {
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
    let has_all = effective.is_none_or(|bits| {
        let has = |bit: u64| bits & bit != 0;
        has(NET_ADMIN) && (has(SYS_ADMIN) || has(BPF) && has(PERFMON))
    });
    has_all && namespace == Path::new(FIRST_NAMESPACE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_count_in_initial_namespace_only() {
        let with =
            |bits: u64| format!("Name:\tone\nCapPrm:\t0\nCapEff:\t{bits:016x}\nCapBnd:\t0\n");
        let first = Path::new(FIRST_NAMESPACE);
        for (bits, expected) in [
            (0x1ff_ffff_ffff, true),
            (NET_ADMIN | SYS_ADMIN, true),
            (NET_ADMIN | BPF | PERFMON, true),
            (NET_ADMIN | BPF, false),
            (SYS_ADMIN | BPF | PERFMON, false),
            (0, false),
        ] {
            assert_eq!(may(&with(bits), first), expected, "{bits:x}");
        }
        assert!(!may(&with(0x1ff_ffff_ffff), Path::new("user:[4026532000]")));
        assert!(may("", first), "nobody knows");
    }
}
