//! What the kernel tells about itself by calls.

use fairwind_units::Span;
use std::collections::BTreeSet;
use std::fs::File;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;

/// The step of the kernel's timers: its coarse clock advances by it.
pub fn tick() -> Span {
    resolution(libc::CLOCK_MONOTONIC_COARSE)
}

/// The step of the clock that everything is timed by.
pub fn clock_resolution() -> Span {
    resolution(libc::CLOCK_MONOTONIC)
}

fn resolution(clock: libc::clockid_t) -> Span {
    let mut step = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `step` lives over the call; these clocks exist.
    unsafe { libc::clock_getres(clock, &raw mut step) };
    Span::from_nanos(super::thread::nanos(step.tv_sec, step.tv_nsec))
}

/// What kind of file system a file is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileSystem {
    /// Control groups of version 2.
    ControlGroups,
    /// Names of eBPF programs and of what belongs to them.
    Programs,
    /// Any other, or one that does not tell.
    Other,
}

/// The kind of the file system that `file` is in.
pub fn file_system(file: &File) -> FileSystem {
    let mut about = MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: the descriptor is open, and `about` lives over the call.
    if unsafe { libc::fstatfs(file.as_raw_fd(), about.as_mut_ptr()) } != 0 {
        return FileSystem::Other;
    }
    // SAFETY: the call has succeeded, so it is filled.
    match unsafe { about.assume_init() }.f_type {
        libc::CGROUP2_SUPER_MAGIC => FileSystem::ControlGroups,
        libc::BPF_FS_MAGIC => FileSystem::Programs,
        _ => FileSystem::Other,
    }
}

/// Those of `options` at the level of TCP that a socket of this kernel knows.
pub fn known_tcp_options(options: &[i32]) -> BTreeSet<i32> {
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
    // SAFETY: takes no pointers.
    let descriptor = unsafe { libc::socket(libc::AF_INET, kind, 0) };
    let Ok(socket) = super::owned("open a socket", descriptor) else { return BTreeSet::new() };
    let known = |option: &&i32| {
        let mut value = [0; 4];
        let level = libc::IPPROTO_TCP;
        super::get_option(socket.as_raw_fd(), level, **option, &mut value).0.value >= 0
    };
    options.iter().filter(known).copied().collect()
}
