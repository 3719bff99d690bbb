//! Threads, clocks, file locks, and facts about the running system.
//!
//! What the kernel tells about itself by calls.
//!
//! Locks of files, which end with their holder however that ends.

use super::checked;
use crate::KernelError;
use fairwind_units::{Instant, Span};
use std::collections::BTreeSet;
use std::fs::File;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;

/// Moves this thread, and what it starts, into a fresh network namespace.
pub fn enter_new_network() -> Result<(), KernelError> {
    // SAFETY: takes no pointers; it changes this thread's namespace alone.
    let result = unsafe { libc::unshare(libc::CLONE_NEWNET) };
    checked("enter a new network namespace", i64::from(result)).map(|_| ())
}

/// Asks for this thread to run before others, as far as that is allowed; children do not inherit it.
pub fn prefer() {
    let parameters = libc::sched_param { sched_priority: 10 };
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: `parameters` lives over the call; a refusal changes nothing and is no error.
    unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) };
    // SAFETY: takes no pointers. The slack only matters where the first was refused.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64, 0_u64, 0_u64, 0_u64) };
}

/// Whether this process may do everything.
pub fn is_root() -> bool {
    // SAFETY: takes no pointers and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// Lets other threads run before this one, where there is not enough of the machine for all.
pub fn give_way() {
    const NICE: i32 = 10;
    let thread = libc::id_t::try_from(thread_id()).unwrap_or(0);
    // SAFETY: takes no pointers; a refusal changes nothing and is no error.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, thread, NICE) };
}

fn clock(id: libc::clockid_t) -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` lives over the call; these clocks exist.
    unsafe { libc::clock_gettime(id, &raw mut now) };
    nanos(now.tv_sec, now.tv_nsec)
}

/// Seconds and nanoseconds as the kernel hands them over, which are never negative.
pub(super) fn nanos(seconds: i64, rest: i64) -> u64 {
    let seconds = u64::try_from(seconds).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(rest).unwrap_or(0)
}

/// The clock that scripts are followed by.
pub fn monotonic() -> Instant {
    Instant::from_nanos(clock(libc::CLOCK_MONOTONIC))
}

/// The clock that packets are stamped by, in nanoseconds.
pub fn realtime() -> u64 {
    clock(libc::CLOCK_REALTIME)
}

/// The kernel's number of this thread.
pub fn thread_id() -> i32 {
    // SAFETY: takes no pointers and cannot fail.
    unsafe { libc::gettid() }
}

/// Whether a thread of this process waits in the kernel.
pub fn is_sleeping(thread: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat"));
    // The name, in parentheses, may hold anything; the state follows it.
    stat.is_ok_and(|stat| stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" S")))
}

/// Waits until one of the descriptors can be read, at most for `limit`.
pub fn wait_readable(descriptors: &[&dyn AsRawFd], limit: Span) {
    let mut watched: Vec<libc::pollfd> = descriptors
        .iter()
        .map(|one| libc::pollfd { fd: one.as_raw_fd(), events: libc::POLLIN, revents: 0 })
        .collect();
    let timeout = libc::timespec {
        tv_sec: i64::try_from(limit.as_nanos() / 1_000_000_000).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(limit.as_nanos() % 1_000_000_000).unwrap_or(0),
    };
    let count = libc::nfds_t::try_from(watched.len()).unwrap_or(0);
    // SAFETY: the array and the time live over the call, and `count` is the array's length.
    // A failure or a signal is as good as time running out: the caller looks itself.
    let _ =
        unsafe { libc::ppoll(watched.as_mut_ptr(), count, &raw const timeout, std::ptr::null()) };
}

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

/// How a file is locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lock {
    /// By one alone; waits for the others.
    Alone,
    /// By one alone, unless there are others.
    AloneAtOnce,
    /// By several.
    Shared,
}

/// Locks a file until it is closed. That there are others is an error of [`Lock::AloneAtOnce`].
pub fn lock_file(file: &File, lock: Lock) -> Result<(), KernelError> {
    let operation = match lock {
        Lock::Alone => libc::LOCK_EX,
        Lock::AloneAtOnce => libc::LOCK_EX | libc::LOCK_NB,
        Lock::Shared => libc::LOCK_SH,
    };
    // SAFETY: takes no pointers; the descriptor is open.
    let result = unsafe { libc::flock(file.as_raw_fd(), operation) };
    checked("lock a file", i64::from(result)).map(|_| ())
}
