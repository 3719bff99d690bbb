//! Threads, namespaces, clocks, waiting.

use super::checked;
use crate::KernelError;
use fairwind_units::{Instant, Span};
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
