//! Processes: namespaces, limits, signals, mounts, users, and their ends.
//!
//! Ending what others have left.
//!
//! What a program behind a path needs of the system: namespaces of its own, a terminal that reaches
//! it, an end that is noticed, and descriptors that travel between processes.

use super::{checked, owned};
use crate::KernelError;
use std::ffi::CString;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::Path;

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

/// Takes a mount away, also while somebody uses it. What is no mount stays as it is.
pub fn unmount(path: &Path) {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return };
    // SAFETY: the text lives over the call and ends with a zero.
    unsafe { libc::umount2(path.as_ptr(), libc::MNT_DETACH) };
}

/// Ends the process whose folder below `/proc` this is, and waits for its end.
pub fn end_process(folder: &Path) -> std::io::Result<()> {
    let number = folder.file_name().and_then(|name| name.to_str()?.parse::<i32>().ok());
    let Some(number) = number.filter(|&number| number > 1) else {
        return Err(std::io::ErrorKind::InvalidInput.into());
    };
    // SAFETY: takes no pointers.
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, number, 0) };
    let Ok(descriptor) = i32::try_from(descriptor) else {
        return Err(std::io::ErrorKind::InvalidData.into());
    };
    if descriptor < 0 {
        let error = std::io::Error::last_os_error();
        let is_gone = error.raw_os_error() == Some(libc::ESRCH);
        return if is_gone { Ok(()) } else { Err(error) };
    }
    // SAFETY: nobody else knows the descriptor that was just made.
    let process = unsafe { OwnedFd::from_raw_fd(descriptor) };
    let nothing = std::ptr::null::<libc::siginfo_t>();
    // SAFETY: the descriptor is open, and no further information is given.
    let sent = unsafe {
        libc::syscall(libc::SYS_pidfd_send_signal, process.as_raw_fd(), libc::SIGKILL, nothing, 0)
    };
    if sent < 0 {
        return Err(std::io::Error::last_os_error());
    }
    super::wait_readable(&[&process], fairwind_units::Span::from_secs(2));
    Ok(())
}

/// Lets the next process that this one starts be the first of a process namespace of its own; when
/// that first process ends, the kernel ends all others in it.
pub fn begin_process_namespace() -> Result<(), KernelError> {
    // SAFETY: takes no pointers.
    let result = unsafe { libc::unshare(libc::CLONE_NEWPID) };
    checked("make a process namespace", i64::from(result)).map(|_| ())
}

/// Moves this process, which has one thread, into fresh network and mount namespaces. What is
/// mounted elsewhere later still shows in it, and nothing of what it mounts shows elsewhere.
pub fn enter_new_network_and_mounts() -> Result<(), KernelError> {
    // SAFETY: takes no pointers.
    let result = unsafe { libc::unshare(libc::CLONE_NEWNET | libc::CLONE_NEWNS) };
    checked("make network and mount namespaces", i64::from(result))?;
    mount(None, Path::new("/"), None, libc::MS_REC | libc::MS_SLAVE)
}

/// Mounts a view of this process namespace's processes.
pub fn mount_proc() -> Result<(), KernelError> {
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    mount(Some(Path::new("proc")), Path::new("/proc"), Some(c"proc"), flags)
}

/// Mounts the file system in which eBPF programs have names.
pub fn mount_programs(target: &Path) -> Result<(), KernelError> {
    mount(Some(Path::new("bpf")), target, Some(c"bpf"), 0)
}

/// Lets `file` stand in the place of `target`, in this mount namespace.
pub fn bind_file(file: &Path, target: &Path) -> Result<(), KernelError> {
    mount(Some(file), target, None, libc::MS_BIND)
}

fn mount(
    source: Option<&Path>,
    target: &Path,
    kind: Option<&std::ffi::CStr>,
    flags: libc::c_ulong,
) -> Result<(), KernelError> {
    let text = |path: &Path| {
        use std::os::unix::ffi::OsStrExt;
        CString::new(path.as_os_str().as_bytes()).unwrap_or_default()
    };
    let (source, target_text) = (source.map(text), text(target));
    let pointer =
        |text: Option<&std::ffi::CStr>| text.map_or(std::ptr::null(), std::ffi::CStr::as_ptr);
    // SAFETY: all texts are C strings that live over the call, or null where that is allowed.
    let result = unsafe {
        let source = pointer(source.as_deref());
        libc::mount(source, target_text.as_ptr(), pointer(kind), flags, std::ptr::null())
    };
    let attempt = match &source {
        Some(source) => format!("mount {} on {}", source.to_string_lossy(), target.display()),
        None => format!("change the mount {}", target.display()),
    };
    checked(&attempt, i64::from(result)).map(|_| ())
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

/// The user that a program runs as.
pub fn become_user(name: &str, user: u32, group: u32) -> Result<(), KernelError> {
    let name_text = CString::new(name).unwrap_or_default();
    // SAFETY: the name is a C string that lives over the call.
    let groups = unsafe { libc::initgroups(name_text.as_ptr(), group) };
    checked(&format!("take the groups of {name}"), i64::from(groups))?;
    // SAFETY: takes no pointers.
    let result = unsafe { libc::setgid(group) };
    checked(&format!("take the group {group}"), i64::from(result))?;
    // SAFETY: takes no pointers.
    let result = unsafe { libc::setuid(user) };
    checked(&format!("become {name}"), i64::from(result)).map(|_| ())
}

/// A process that ended: its number, and how as a shell tells it: the exit code, or 128 and the
/// number of the signal that ended it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// Its number.
    pub process: u32,
    /// Exit code, or 128 and the number of the signal.
    pub code: i32,
}

/// Waits until a child ends.
pub fn await_child() -> Result<Ended, KernelError> {
    loop {
        let mut status = 0;
        // SAFETY: the status lives over the call.
        let process = unsafe { libc::waitpid(-1, &raw mut status, 0) };
        if process < 0 && std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted
        {
            continue;
        }
        let process = checked("wait for the program", i64::from(process))?;
        let code = if libc::WIFEXITED(status) {
            libc::WEXITSTATUS(status)
        } else {
            128 + libc::WTERMSIG(status)
        };
        return Ok(Ended { process: u32::try_from(process).unwrap_or(0), code });
    }
}

/// A descriptor that becomes readable when a process ends.
pub fn watch_process(process: u32) -> Result<OwnedFd, KernelError> {
    // SAFETY: takes no pointers.
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, process, 0) };
    owned(&format!("watch process {process}"), RawFd::try_from(descriptor).unwrap_or(-1))
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
        let mut watched = [
            libc::pollfd { fd: process.as_raw_fd(), events: libc::POLLIN, revents: 0 },
            libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLRDHUP, revents: 0 },
        ];
        // SAFETY: the array lives over the call and has two entries.
        unsafe { libc::poll(watched.as_mut_ptr(), 2, -1) };
        if watched[0].revents != 0 {
            return End::Process;
        }
        if watched[1].revents != 0 {
            return End::Socket;
        }
    }
}

/// The socket that a process was handed as a descriptor; children do not inherit it.
pub fn inherited_socket(descriptor: RawFd) -> Result<UnixStream, KernelError> {
    // SAFETY: takes no pointers.
    let flags = unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
    checked("take the socket of the process that started this one", i64::from(flags))?;
    // SAFETY: the starter has left this descriptor to us, and we ask for it once.
    Ok(unsafe { UnixStream::from_raw_fd(descriptor) })
}

/// A copy of a descriptor that children inherit.
pub fn inheritable(descriptor: &impl AsRawFd) -> Result<OwnedFd, KernelError> {
    // SAFETY: takes no pointers.
    let copy = unsafe { libc::fcntl(descriptor.as_raw_fd(), libc::F_DUPFD, 3) };
    owned("hand a descriptor to a child", copy)
}

/// Sends one byte with a descriptor.
pub fn send_descriptor(socket: &UnixStream, descriptor: &OwnedFd) -> Result<(), KernelError> {
    super::send_with_descriptor(socket, &[0], descriptor)
}

/// What the kernel calls a TUN device.
pub fn device_name(device: &OwnedFd) -> Result<String, KernelError> {
    // SAFETY: all zero is a valid `ifreq`.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // SAFETY: `TUNGETIFF` fills in an `ifreq`, which lives over the call.
    let result = unsafe { libc::ioctl(device.as_raw_fd(), libc::TUNGETIFF, &raw mut request) };
    checked("ask for the name of the TUN device", i64::from(result))?;
    let bytes = request.ifr_name.iter().flat_map(|byte| byte.to_ne_bytes());
    let name: Vec<u8> = bytes.take_while(|byte| *byte != 0).collect();
    Ok(String::from_utf8_lossy(&name).into_owned())
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
