//! Errors of remembered windows.

use fairwind_bpf::BpfError;
use std::path::PathBuf;
use thiserror::Error;

/// Why windows cannot be remembered.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WindowsError {
    /// There is no eBPF here.
    #[error("windows cannot be remembered by the kernel: {0}")]
    Unavailable(BpfError),
    /// The kernel has no such programs.
    #[error(
        "this kernel takes no programs at control groups that see TCP connections: it needs Linux 5.7 or newer with \
         CONFIG_CGROUP_BPF"
    )]
    NoSlot,
    /// The caller is not root.
    #[error("loading programs into the kernel requires root; run with sudo")]
    NotRoot,
    /// An option is zero.
    #[error("{option} 0 remembers nothing: expected {remedy}")]
    Zero {
        /// The option.
        option: &'static str,
        /// What it should be.
        remedy: &'static str,
    },
    /// There is no such folder.
    #[error(
        "{path}: {reason}; --cgroup is the folder of a control group of version 2: make one by mkdir{}",
        below(.root.as_ref())
    )]
    NoGroup {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        reason: String,
        /// Where control groups are.
        root: Option<PathBuf>,
    },
    /// There is no such folder, or no more.
    #[error(
        "{path}: {reason}; the removal of a control group removes its remembered windows{}",
        remedy(.left)
    )]
    GroupGone {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        reason: String,
        /// Files that are left of groups that are gone.
        left: Vec<PathBuf>,
    },
    /// Root without the needed capabilities.
    #[error(
        "{attempt}: not permitted: this root lacks CAP_BPF, CAP_NET_ADMIN or CAP_PERFMON, as in a container or a user \
         namespace: run this outside, or give it these capabilities ({words})"
    )]
    NotCapable {
        /// What was tried.
        attempt: String,
        /// What the kernel and the library say.
        words: String,
    },
    /// The folder is no control group of version 2.
    #[error(
        "{path} is not a control group of version 2{}",
        .root.as_ref().map_or_else(
            || ", and none is mounted here: mkdir /run/cgroup2 && mount -t cgroup2 none /run/cgroup2".to_owned(),
            |root| format!("; these are in {}", root.display()),
        )
    )]
    NotVersionTwo {
        /// The folder.
        path: PathBuf,
        /// Where control groups of version 2 are.
        root: Option<PathBuf>,
    },
    /// No control groups of version 2 are there at all.
    #[error(
        "control groups of version 2 are mounted nowhere: mkdir /run/cgroup2 && mount -t cgroup2 none /run/cgroup2"
    )]
    NoVersionTwo,
    /// Windows are remembered in this group already.
    #[error(
        "{path} already remembers windows; `fairwind windows stop` ends that, and `clear` forgets them"
    )]
    AlreadyStarted {
        /// The control group.
        path: PathBuf,
    },
    /// Windows are not remembered in this group.
    #[error("{path} remembers no windows; start with `fairwind windows start`")]
    NotStarted {
        /// The control group.
        path: PathBuf,
    },
    /// The file system of eBPF is missing.
    #[error(
        "{path}: {reason}; programs that stay in the kernel need a name there: mount -t bpf bpf {path}"
    )]
    NoNames {
        /// Where the file system of eBPF should be.
        path: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// The kernel or the library refused.
    #[error("{attempt}: {words}")]
    Refused {
        /// What was tried.
        attempt: String,
        /// The messages.
        words: String,
    },
}

fn below(root: Option<&PathBuf>) -> String {
    root.map_or_else(String::new, |root| format!(" in {}", root.display()))
}

fn remedy(left: &[PathBuf]) -> String {
    let names: Vec<_> = left.iter().map(|path| path.display().to_string()).collect();
    match names.as_slice() {
        [] => String::new(),
        names => {
            format!(", and `fairwind doctor --clean` removes what is left: {}", names.join(", "))
        }
    }
}
