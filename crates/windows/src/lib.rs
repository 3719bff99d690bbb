//! Congestion windows remembered on the running kernel: a BPF program at a control group of version 2 stores the windows
//! of ended connections by the peer's address, and new connections begin with them.
//!
//! O. Hartmann and A. Bestavros, Aggregating Congestion Information Over Sequences of TCP Connections, BU-CS 1998-001;
//! its successors are RFC 9040 and Careful Resume, from which [`Trust::Safe`] has its bounds. It serves all
//! sockets that were created in the group, and no others.
//!
//! A program of [`start`] stays in the kernel after the process has ended, pinned by one file in the BPF file system. The
//! file is created last, so a killed start has done everything or leaves nothing. [`WindowsOfRun`] is not pinned and
//! ends with its process.
//!
//! | module | concern |
//! |---|---|
//! | `options` | options of the program, and its entries |
//! | `group` | control groups, names of programs, and rights |
//! | `program` | the program at a control group, and its maps |
//! | `error` | why windows cannot be remembered |

#![allow(
    clippy::missing_errors_doc,
    reason = "the variants of the error types say when they occur"
)]

mod error;
#[cfg_attr(not(feature = "ebpf"), allow(dead_code, reason = "only programs are put there"))]
mod group;
#[cfg_attr(not(feature = "ebpf"), allow(dead_code, reason = "only programs use them"))]
mod options;
#[cfg(feature = "ebpf")]
mod program;
#[cfg(not(feature = "ebpf"))]
#[path = "no_program.rs"]
mod program;

pub use error::WindowsError;
pub use fairwind_scenario::{Collection, SharedOpenings, Trust};
pub use options::{RememberedWindow, WindowCounts, WindowOptions};

use fairwind_bpf::BpfError;
use fairwind_linux as linux;
use group::ControlGroup;
use program::{Maps, Program};
use std::path::{Path, PathBuf};

/// Remembered windows of a control group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remembered {
    /// What was chosen at the start.
    pub options: WindowOptions,
    /// The windows, the youngest first.
    pub windows: Vec<RememberedWindow>,
    /// What has happened since the start.
    pub counts: WindowCounts,
}

/// Starts to remember windows in the control group at `path`, also beyond the end of this process. Returns the path of
/// the program in the file system of eBPF.
pub fn start(path: &Path, options: &WindowOptions) -> Result<PathBuf, WindowsError> {
    options.check()?;
    let group = ready(path)?;
    group::make_room()?;
    alone(&group)?;
    let name = group::name_of(&group);
    let already = || WindowsError::AlreadyStarted { path: group.path.clone() };
    let is_taken = name.exists();
    if Program::named(&name)?.is_some() {
        return Err(already());
    }
    if is_taken {
        // The name is of a removed group with the same number. A name that came since is another start's.
        let _ = std::fs::remove_file(&name);
    }
    Program::attach(&group, options)?.stay(&name).map_err(|error| match error {
        WindowsError::AlreadyStarted { .. } => already(),
        other => other,
    })?;
    Ok(name)
}

/// Stops to remember windows, and forgets them. Existing connections keep their windows.
///
/// # Errors
/// If windows are not remembered there, or nobody may ask.
pub fn stop(path: &Path) -> Result<(), WindowsError> {
    let group = existing(path)?;
    alone(&group)?;
    let (program, name) = named(&group)?;
    program.leave(&name)
}

/// The windows that are remembered in the control group at `path`.
///
/// # Errors
/// If windows are not remembered there, or nobody may ask.
pub fn show(path: &Path) -> Result<Remembered, WindowsError> {
    let (program, _) = started(path)?;
    remembered(&program.maps()?)
}

/// Forgets the windows, and goes on. Gives how many there were.
///
/// # Errors
/// If windows are not remembered there, or nobody may ask.
pub fn clear(path: &Path) -> Result<usize, WindowsError> {
    let (program, _) = started(path)?;
    let maps = program.maps()?;
    let windows = maps.windows()?;
    windows.iter().try_for_each(|(peer, _)| maps.forget(peer))?;
    Ok(windows.len())
}

/// The reason why windows cannot be remembered here, apart from the control group.
pub fn obstacle() -> Option<WindowsError> {
    if !cfg!(feature = "ebpf") {
        return Some(WindowsError::Unavailable(BpfError::NotBuilt));
    }
    (!linux::is_root()).then_some(WindowsError::NotRoot)
}

/// The reason why windows cannot be remembered for runs.
pub fn obstacle_to_runs() -> Option<WindowsError> {
    let groups = fairwind_linux::CleanupPaths::usual().control_groups;
    obstacle().or_else(|| groups.is_none().then_some(WindowsError::NoVersionTwo))
}

/// Numbers (inodes of the folders) of the control groups that remember windows now, to stay or for a run. Empty if this
/// user may not ask.
pub fn groups() -> Vec<u64> {
    if obstacle().is_some() { Vec::new() } else { program::groups() }
}

/// Names of programs without a control group, which serve nobody.
pub fn orphaned() -> Vec<PathBuf> {
    if obstacle().is_some() {
        return Vec::new();
    }
    let all = group::names().into_iter();
    all.filter(|name| matches!(Program::named(name), Ok(None))).collect()
}

fn ready(path: &Path) -> Result<ControlGroup, WindowsError> {
    let group = ControlGroup::open(path)?;
    obstacle().map_or(Ok(group), Err)
}

/// Waits until nobody else begins or ends it there, and keeps others waiting as long as the group is open: of two that
/// find a name the second would remove what the first has put there.
fn alone(group: &ControlGroup) -> Result<(), WindowsError> {
    linux::lock_file(&group.folder, linux::Lock::Alone).map_err(|error| WindowsError::Refused {
        attempt: format!("wait for others who begin or end it at {}", group.path.display()),
        words: error.to_string(),
    })
}

fn existing(path: &Path) -> Result<ControlGroup, WindowsError> {
    ready(path).map_err(|error| match error {
        WindowsError::NoGroup { path, reason, .. } => {
            WindowsError::GroupGone { path, reason, left: orphaned() }
        }
        other => other,
    })
}

fn named(group: &ControlGroup) -> Result<(Program, PathBuf), WindowsError> {
    let name = group::name_of(group);
    match Program::named(&name)? {
        Some(program) => Ok((program, name)),
        None => Err(WindowsError::NotStarted { path: group.path.clone() }),
    }
}

fn started(path: &Path) -> Result<(Program, PathBuf), WindowsError> {
    named(&existing(path)?)
}

fn remembered(maps: &Maps) -> Result<Remembered, WindowsError> {
    let entries = maps.windows()?;
    let now = linux::monotonic();
    let read = |entry| RememberedWindow::read(entry, now);
    let mut windows: Vec<RememberedWindow> = entries.into_iter().map(read).collect();
    windows.sort_by_key(|window| (window.age, window.peer));
    Ok(Remembered { options: maps.options()?, windows, counts: maps.counts()? })
}

/// Windows remembered in a control group for as long as this lives, without a name.
#[derive(Debug)]
pub struct WindowsOfRun {
    program: Program,
    maps: Maps,
}

impl WindowsOfRun {
    /// Starts to remember windows in the control group at `path`.
    pub fn begin(path: &Path, options: &WindowOptions) -> Result<Self, WindowsError> {
        options.check()?;
        let program = Program::attach(&ready(path)?, options)?;
        let maps = program.maps()?;
        Ok(Self { program, maps })
    }

    /// What is remembered now.
    pub fn remembered(&self) -> Result<Remembered, WindowsError> {
        remembered(&self.maps)
    }

    /// Writes a window down as if a connection had ended with it.
    pub fn remember(&self, window: RememberedWindow) -> Result<(), WindowsError> {
        let (peer, value) = window.to_bytes(linux::monotonic());
        self.maps.remember(&peer, &value)
    }

    /// How often the kernel has run the program, and for how many nanoseconds in all, as far as it counts that
    /// (`kernel.bpf_stats_enabled`).
    pub fn runs(&self) -> (u64, u64) {
        self.program.runs()
    }
}
