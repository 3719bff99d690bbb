//! What a process may ask for itself: namespaces, limits, names, and to end with its parent.

use super::checked;
use crate::KernelError;
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixStream;

/// A fresh network namespace for this process.
pub fn leave_network() -> Result<(), KernelError> {
    // SAFETY: takes no pointers.
    let result = unsafe { libc::unshare(libc::CLONE_NEWNET) };
    checked("make a network namespace", i64::from(result)).map(|_| ())
}

/// Fresh user and network namespaces for this process, which must have one thread only.
pub fn leave_user_and_network() -> Result<(), KernelError> {
    // SAFETY: takes no pointers.
    let result = unsafe { libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNET) };
    checked("make a user namespace", i64::from(result)).map(|_| ())
}

/// The effective user and group.
pub fn user_and_group() -> (u32, u32) {
    // SAFETY: takes no pointers and cannot fail.
    unsafe { (libc::geteuid(), libc::getegid()) }
}

/// Lets the kernel kill this process when the thread that started it ends, whose process alone holds
/// the other end of `socket`. That it has ended already is an error.
pub fn die_with_parent(socket: &UnixStream) -> Result<(), KernelError> {
    // SAFETY: takes no pointers.
    let result = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) };
    checked("ask to end with the parent", i64::from(result))?;
    // A process that ends closes what it has open before its children are told: whoever was not
    // told, because it asked too late, finds the socket closed.
    if is_abandoned(socket) {
        return Err(KernelError::System {
            attempt: "ask to end with the parent".to_owned(),
            reason: "it has ended already".to_owned(),
            errno: libc::ESRCH,
        });
    }
    Ok(())
}

/// Whether the other end of a socket has been closed, whatever is still to be read.
fn is_abandoned(socket: &UnixStream) -> bool {
    let mut watched = libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLRDHUP, revents: 0 };
    // SAFETY: the entry lives over the call and is the only one.
    unsafe { libc::poll(&raw mut watched, 1, 0) };
    watched.revents != 0
}

/// Asks for this thread to run before others, though after a router, as far as that is allowed, and
/// for its timers to be as exact as the kernel can; children do not inherit it.
pub fn wake_in_time() {
    let parameters = libc::sched_param { sched_priority: 5 };
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: `parameters` lives over the call; a refusal changes nothing and is no error.
    unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) };
    // SAFETY: takes no pointers. A refusal only makes waits less exact.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64, 0_u64, 0_u64, 0_u64) };
}

/// How many files a process may open that this one starts, once it has asked for them.
pub fn most_files() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` lives over the call.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    let of_the_machine = std::fs::read_to_string("/proc/sys/fs/nr_open");
    let of_the_machine = of_the_machine.ok().and_then(|number| number.trim().parse().ok());
    match of_the_machine {
        Some(most) if super::is_root() => limit.rlim_max.max(most),
        _ => limit.rlim_max,
    }
}

/// Lets this process open `wanted` files, and returns how many it may.
pub fn raise_file_limit(wanted: u64) -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` lives over the call.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    if limit.rlim_cur >= wanted {
        return limit.rlim_cur;
    }
    let hard = limit.rlim_max.max(wanted);
    for most in [hard, limit.rlim_max] {
        let raised = libc::rlimit { rlim_cur: wanted.min(most), rlim_max: most };
        // SAFETY: `raised` lives over the call.
        if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const raised) } == 0 {
            return raised.rlim_cur;
        }
    }
    limit.rlim_cur
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn a_socket_is_abandoned_when_its_other_end_is_closed_also_with_something_to_read() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(b"a plan").unwrap();
        assert!(!is_abandoned(&ours));
        drop(theirs);
        assert!(is_abandoned(&ours));
    }
}
