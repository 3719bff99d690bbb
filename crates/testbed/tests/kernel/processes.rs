//! Other processes: finding them, signalling them, and waiting for what they do.

use fairwind_linux::monotonic;
use fairwind_units::Span;
use std::fmt::{Debug, Write as _};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The processes with `mark` on their command line.
pub(crate) fn marked(mark: &str) -> Vec<i32> {
    let is_marked = |process: &i32| {
        let line = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        line.split(|&byte| byte == 0).any(|word| word == mark.as_bytes())
    };
    let entries = std::fs::read_dir("/proc").expect("there is a /proc");
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    numbers.filter(is_marked).collect()
}

/// What `/proc` calls the state of a process: `T` where it is stopped, `Z` where it has ended and
/// nobody has asked how; `None` if there is none.
pub(crate) fn state(process: i32) -> Option<char> {
    status(process, "State:")?.chars().next()
}

/// Whether a process runs, or could.
pub(crate) fn lives(process: i32) -> bool {
    state(process).is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

/// The parent of a process.
pub(crate) fn parent(process: i32) -> Option<u32> {
    status(process, "PPid:")?.parse().ok()
}

fn status(process: i32, field: &str) -> Option<String> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    status.lines().find_map(|line| Some(line.strip_prefix(field)?.trim().to_owned()))
}

/// Sends a signal, such as `KILL`, to a process.
pub(crate) fn send(signal: &str, process: i32) {
    let sent = Command::new("kill").args([&format!("-{signal}"), &process.to_string()]).status();
    assert!(sent.expect("kill is there").success(), "{signal} to {process}");
}

/// Stops a process where it is, and waits until it is.
pub(crate) fn stop(process: i32) {
    send("STOP", process);
    wait_for("the process is stopped", || state(process), |&state| state == Some('T'));
}

/// Looks until what is seen is as it should be, and gives it; says what was waited for, and what was
/// seen last, where it never is.
pub(crate) fn wait_for<T: Debug>(
    what: &str,
    mut look: impl FnMut() -> T,
    is_it: impl Fn(&T) -> bool,
) -> T {
    const PATIENCE: Span = Span::from_secs(20);
    let until = monotonic() + PATIENCE;
    loop {
        let seen = look();
        if is_it(&seen) {
            return seen;
        }
        assert!(monotonic() < until, "{what}: not within {PATIENCE}, but: {seen:?}");
        std::thread::park_timeout(Duration::from_millis(10));
    }
}

/// A command that executes the program and arguments added to it as user `nobody`.
///
/// In a new mount namespace the TUN device has mode `device`, and `files` are copied to `/mnt/0`, `/mnt/1` and so on:
/// other users may not enter the folder where they were compiled.
pub(crate) fn as_nobody(device: u32, files: &[&Path]) -> Command {
    let mut script = format!(
        "mount -t tmpfs -o mode=0755 none /mnt && mknod -m {device:04o} /mnt/tun c 10 200 && \
         mount --bind /mnt/tun /dev/net/tun && cd /mnt"
    );
    for (place, file) in files.iter().enumerate() {
        let _ = write!(script, " && install -m 0755 '{}' {place}", file.display());
    }
    script += " && exec setpriv --reuid 65534 --regid 65534 --clear-groups \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &script, "sh"]);
    command
}
