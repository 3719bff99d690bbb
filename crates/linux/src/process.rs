//! Threads and processes: priority, limits, signals, mounts, users, locks of files, and their ends.

use crate::clock::wait_readable;
use crate::{KernelError, Raw, checked};
use fairwind_units::Span;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, flock, fstatfs};
use rustix::io::{Errno, FdFlags, fcntl_dupfd_cloexec, fcntl_setfd};
use rustix::mount::{MountFlags, UnmountFlags, mount, mount_bind};
use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, WaitOptions, geteuid, getrlimit, pidfd_open,
    pidfd_send_signal, set_parent_process_death_signal, setpriority_process, setrlimit,
};
use rustix::thread::{UnshareFlags, gettid, set_current_timer_slack, unshare_unsafe};
use std::ffi::CString;
use std::fs::File;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Asks for this thread to run before others, as far as that is allowed; children do not inherit it.
pub fn prefer() {
    run_in_real_time(10);
}

/// Asks for this thread to run before others, though after a router, as far as that is allowed, and
/// for its timers to be as exact as the kernel can; children do not inherit it.
pub fn wake_in_time() {
    run_in_real_time(5);
}

fn run_in_real_time(sched_priority: i32) {
    let parameters = libc::sched_param { sched_priority };
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: `parameters` lives over the call; a refusal changes nothing and is no error.
    unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) };
    // The slack only matters where the first was refused; a refusal only makes waits less exact.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
}

/// Lowers the priority of this thread.
pub fn give_way() {
    const NICE: i32 = 10;
    // A refusal changes nothing and is no error.
    let _ = setpriority_process(Some(gettid()), NICE);
}

/// Whether this process may do everything.
pub fn is_root() -> bool {
    geteuid().is_root()
}

/// The kernel's number of this thread.
pub fn thread_id() -> i32 {
    gettid().as_raw_nonzero().get()
}

/// Whether a thread of this process waits in the kernel.
pub fn is_sleeping(thread: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat"));
    // The name, in parentheses, may hold anything; the state follows it.
    stat.is_ok_and(|stat| stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" S")))
}

/// What kind of file system a file is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileSystem {
    /// Control groups of version 2.
    ControlGroups,
    /// Names of eBPF programs and of what belongs to them.
    Programs,
    /// Any other, or unknown.
    Other,
}

/// The kind of the file system that `file` is in.
pub fn file_system(file: &File) -> FileSystem {
    match fstatfs(file).map(|about| about.f_type) {
        Ok(libc::CGROUP2_SUPER_MAGIC) => FileSystem::ControlGroups,
        Ok(libc::BPF_FS_MAGIC) => FileSystem::Programs,
        _ => FileSystem::Other,
    }
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
        Lock::Alone => FlockOperation::LockExclusive,
        Lock::AloneAtOnce => FlockOperation::NonBlockingLockExclusive,
        Lock::Shared => FlockOperation::LockShared,
    };
    checked("lock a file", flock(file, operation))
}

/// Moves this thread, and what it starts, into fresh namespaces.
pub(crate) fn enter_new(attempt: &str, namespaces: UnshareFlags) -> Result<(), KernelError> {
    // SAFETY: no caller unshares the table of descriptors, so no descriptor closes unseen.
    checked(attempt, unsafe { unshare_unsafe(namespaces) })
}

/// Creates a process namespace for the next child of this process. When that child ends, the kernel
/// ends all other processes in the namespace.
pub fn begin_process_namespace() -> Result<(), KernelError> {
    enter_new("make a process namespace", UnshareFlags::NEWPID)
}

/// Asks the kernel to kill this process when its parent thread ends. Only the parent process holds the
/// other end of `socket`. Fails if the parent has already ended.
pub fn die_with_parent(socket: &UnixStream) -> Result<(), KernelError> {
    const ATTEMPT: &str = "ask to end with the parent";
    checked(ATTEMPT, set_parent_process_death_signal(Some(Signal::KILL)))?;
    // A process closes its descriptors before its children get the signal. A child that asked too late
    // for the signal therefore finds the socket closed.
    if is_abandoned(socket) {
        return Err(KernelError::System {
            attempt: ATTEMPT.to_owned(),
            reason: "it has ended already".to_owned(),
            errno: libc::ESRCH,
        });
    }
    Ok(())
}

/// Whether the other end of a socket has been closed, whatever is still to be read.
fn is_abandoned(socket: &UnixStream) -> bool {
    let mut watched = [PollFd::new(socket, PollFlags::RDHUP)];
    let _ = poll(&mut watched, Some(&Timespec::default()));
    !watched[0].revents().is_empty()
}

/// How many files a process may open that this one starts, once it has asked for them.
pub fn most_files() -> u64 {
    let hard = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    let of_the_machine = std::fs::read_to_string("/proc/sys/fs/nr_open");
    match of_the_machine.ok().and_then(|number| number.trim().parse().ok()) {
        Some(most) if is_root() => hard.max(most),
        _ => hard,
    }
}

/// Lets this process open `wanted` files, and returns how many it may.
pub fn raise_file_limit(wanted: u64) -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let [soft, hard] = [limit.current, limit.maximum].map(|limit| limit.unwrap_or(u64::MAX));
    if soft >= wanted {
        return soft;
    }
    for most in [hard.max(wanted), hard] {
        let raised = wanted.min(most);
        let limit = Rlimit { current: Some(raised), maximum: Some(most) };
        if setrlimit(Resource::Nofile, limit).is_ok() {
            return raised;
        }
    }
    soft
}

/// Unmounts `path`, also while it is in use. Does nothing if it is not a mount.
pub(crate) fn unmount(path: &Path) {
    let _ = rustix::mount::unmount(path, UnmountFlags::DETACH);
}

/// Mounts a view of this process namespace's processes.
pub fn mount_proc() -> Result<(), KernelError> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    checked("mount proc on /proc", mount("proc", "/proc", "proc", flags, None))
}

/// Mounts the file system in which eBPF programs have names.
pub fn mount_programs(target: &Path) -> Result<(), KernelError> {
    let mounted = mount("bpf", target, "bpf", MountFlags::empty(), None);
    checked(&format!("mount bpf on {}", target.display()), mounted)
}

/// Bind-mounts `file` over `target`, in this mount namespace.
pub fn bind_file(file: &Path, target: &Path) -> Result<(), KernelError> {
    let attempt = format!("mount {} on {}", file.display(), target.display());
    checked(&attempt, mount_bind(file, target))
}

/// The signals that a terminal sends to everyone in its foreground.
const OF_THE_TERMINAL: [i32; 2] = [libc::SIGINT, libc::SIGQUIT];

/// Lets this process go on when the person at the terminal interrupts the program.
pub fn ignore_the_terminal() {
    for signal in OF_THE_TERMINAL {
        // SAFETY: ignoring a signal runs no code.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// Undoes [`ignore_the_terminal`], and what an interpreter around this code may have ignored: what is
/// ignored stays so in programs that are started.
pub fn heed_signals() {
    for signal in OF_THE_TERMINAL.into_iter().chain([libc::SIGPIPE, libc::SIGXFSZ]) {
        // SAFETY: the default disposition runs no code of ours.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Makes this process run as another user.
pub fn become_user(name: &str, user: u32, group: u32) -> Result<(), KernelError> {
    let name_text = CString::new(name).unwrap_or_default();
    let succeeded = |attempt: String, returned: i32| {
        checked(&attempt, Raw::of(i64::from(returned)).result()).map(|_| ())
    };
    // SAFETY: the name is a C string that lives over the call.
    succeeded(format!("take the groups of {name}"), unsafe {
        libc::initgroups(name_text.as_ptr(), group)
    })?;
    // SAFETY: takes no pointers. The C library changes all threads of the process, which `rustix` does not.
    succeeded(format!("take the group {group}"), unsafe { libc::setgid(group) })?;
    // SAFETY: takes no pointers.
    succeeded(format!("become {name}"), unsafe { libc::setuid(user) })
}

/// An ended process: its number and its exit code as in a shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// Its number.
    pub process: u32,
    /// Exit code, or 128 and the number of the signal that ended it.
    pub code: i32,
}

/// Waits until a child ends.
pub fn await_child() -> Result<Ended, KernelError> {
    loop {
        let (process, status) = match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some(ended)) => ended,
            Ok(None) | Err(Errno::INTR) => continue,
            Err(error) => return checked("wait for the program", Err(error)),
        };
        let signal = status.terminating_signal().unwrap_or(0);
        let code = status.exit_status().unwrap_or(128 + signal);
        return Ok(Ended { process: process.as_raw_nonzero().get().unsigned_abs(), code });
    }
}

/// Ends the process with this folder below `/proc`, and waits for its end.
pub(crate) fn end_process(folder: &Path) -> std::io::Result<()> {
    let number = folder.file_name().and_then(|name| name.to_str()?.parse::<i32>().ok());
    let Some(process) = number.filter(|&number| number > 1).and_then(Pid::from_raw) else {
        return Err(std::io::ErrorKind::InvalidInput.into());
    };
    let process = match pidfd_open(process, PidfdFlags::empty()) {
        Err(Errno::SRCH) => return Ok(()),
        opened => opened?,
    };
    pidfd_send_signal(&process, Signal::KILL)?;
    wait_readable(&[&process], Span::from_secs(2));
    Ok(())
}

/// A descriptor that becomes readable when a process ends.
pub fn watch_process(process: u32) -> Result<OwnedFd, KernelError> {
    let number = i32::try_from(process).ok().and_then(Pid::from_raw).ok_or(Errno::SRCH);
    let opened = number.and_then(|number| pidfd_open(number, PidfdFlags::empty()));
    checked(&format!("watch process {process}"), opened)
}

/// What [`wait_for_end`] has waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The process has ended.
    Process,
    /// The other end of the socket is closed.
    Socket,
}

/// Waits until the watched process ends or the other end of `socket` closes.
pub fn wait_for_end(process: &OwnedFd, socket: &UnixStream) -> End {
    loop {
        let mut watched =
            [PollFd::new(process, PollFlags::IN), PollFd::new(socket, PollFlags::RDHUP)];
        let _ = poll(&mut watched, None);
        let [process, socket] = watched.map(|one| !one.revents().is_empty());
        if process {
            return End::Process;
        }
        if socket {
            return End::Socket;
        }
    }
}

/// The socket that a process was handed as a descriptor; children do not inherit it.
pub fn inherited_socket(descriptor: RawFd) -> Result<UnixStream, KernelError> {
    // SAFETY: takes no pointers.
    let flags = unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
    let attempt = "take the socket of the process that started this one";
    checked(attempt, Raw::of(i64::from(flags)).result())?;
    // SAFETY: the starter has left this descriptor to us, and we ask for it once.
    Ok(unsafe { UnixStream::from_raw_fd(descriptor) })
}

/// A copy of a descriptor that children inherit.
pub fn inheritable(descriptor: &impl AsFd) -> Result<OwnedFd, KernelError> {
    let copy = fcntl_dupfd_cloexec(descriptor, 3);
    let copy = copy.and_then(|copy| fcntl_setfd(&copy, FdFlags::empty()).map(|()| copy));
    checked("hand a descriptor to a child", copy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn closed_peer_marks_socket_abandoned() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(b"a plan").unwrap();
        assert!(!is_abandoned(&ours));
        drop(theirs);
        assert!(is_abandoned(&ours));
    }
}
