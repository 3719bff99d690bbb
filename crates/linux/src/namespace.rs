//! Network namespaces: that of a host process, with its name, and one that is held by its descriptor.
//!
//! As root the process takes a network namespace; other users take a user namespace along, in
//! which they are root. The namespace ends with the process and with whoever holds its TUN device.

use crate::process::{bind_file, enter_new, unmount};
use crate::{KernelError, checked};
use rustix::mount::{MountPropagationFlags, mount_change};
use rustix::process::{getegid, geteuid};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Where `ip netns` looks for names.
const NAMES: &str = "/run/netns";

/// Moves this thread, and what it starts, into a fresh network namespace.
pub fn enter_new_network() -> Result<(), KernelError> {
    enter_new("enter a new network namespace", UnshareFlags::NEWNET)
}

/// Moves this process, which has one thread, into fresh network and mount namespaces. What is
/// mounted elsewhere later still shows in it, and nothing of what it mounts shows elsewhere.
pub fn enter_new_network_and_mounts() -> Result<(), KernelError> {
    let namespaces = UnshareFlags::NEWNET | UnshareFlags::NEWNS;
    enter_new("make network and mount namespaces", namespaces)?;
    let propagation = MountPropagationFlags::REC | MountPropagationFlags::DOWNSTREAM;
    checked("change the mount /", mount_change("/", propagation))
}

/// Moves this thread, and what it starts, into the network namespace of a descriptor.
pub fn enter_network(namespace: impl AsFd) -> Result<(), KernelError> {
    let moved = move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network));
    checked("enter a network namespace", moved)
}

/// A network namespace that lives as long as its descriptor is open.
#[derive(Debug)]
pub struct HeldNamespace {
    descriptor: OwnedFd,
    /// Its name for `ip netns exec`.
    _name: Option<NamespaceName>,
    /// Its inode, which identifies it in eBPF programs.
    pub inode: u32,
}

impl HeldNamespace {
    /// Makes one of this name, and runs `text` in it.
    pub fn make(name: &str, text: &str) -> Result<Self, KernelError> {
        in_a_thread(|| {
            enter_new_network()?;
            let unnamed =
                |reason: String| KernelError::command(format!("ip netns attach {name}"), &reason);
            let given = NamespaceName::give(name).map_err(unnamed)?;
            shell_checked(text)?;
            let file = checked("open a network namespace", File::open("/proc/thread-self/ns/net"))?;
            let inode = checked("look at a network namespace", file.metadata())?.ino();
            let inode = u32::try_from(inode).unwrap_or(0);
            Ok(Self { descriptor: file.into(), _name: given, inode })
        })
    }

    /// Where other processes find it.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.descriptor.as_raw_fd())
    }

    /// Lets something happen in it.
    pub fn inside<T: Send>(
        &self,
        happening: impl FnOnce() -> Result<T, KernelError> + Send,
    ) -> Result<T, KernelError> {
        in_a_thread(|| {
            enter_network(&self.descriptor)?;
            happening()
        })
    }
}

/// Lets something happen in a thread of its own: the namespace of a thread changes for good.
pub fn in_a_thread<T: Send>(happening: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(happening);
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Moves this single-threaded process into a new network namespace.
pub fn enter_host_namespace() -> Result<(), String> {
    let refused = match enter_new("make a network namespace", UnshareFlags::NEWNET) {
        Ok(()) => return Ok(()),
        Err(KernelError::System { errno: libc::EPERM, .. }) => {
            let (user, group) = (geteuid().as_raw(), getegid().as_raw());
            let namespaces = UnshareFlags::NEWUSER | UnshareFlags::NEWNET;
            match enter_new("make a user namespace", namespaces) {
                Ok(()) => return become_root(user, group),
                Err(error) => error,
            }
        }
        Err(error) => error,
    };
    Err(format!("{refused}{}", forbidden_by()))
}

/// Maps the one who started the process to root of the new user namespace.
fn become_root(user: u32, group: u32) -> Result<(), String> {
    let write = |path: &str, text: String| {
        fs::write(path, text).map_err(|error| {
            format!("become root of a user namespace ({path}): {error}{}", forbidden_by())
        })
    };
    write("/proc/self/setgroups", "deny".to_owned())?;
    write("/proc/self/uid_map", format!("0 {user} 1"))?;
    write("/proc/self/gid_map", format!("0 {group} 1"))
}

/// The machine's settings that forbid user namespaces, as far as any does.
fn forbidden_by() -> String {
    const SWITCHES: [(&str, &str, &str); 3] = [
        ("kernel.unprivileged_userns_clone", "0", "1"),
        ("user.max_user_namespaces", "0", "15000"),
        ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
    ];
    let forbids = |(name, forbidding, allowing): &(&str, &str, &str)| {
        let value = fs::read_to_string(parameter_path(name)).ok()?;
        (value.trim() == *forbidding)
            .then(|| format!("; user namespaces are forbidden here: sysctl -w {name}={allowing}"))
    };
    let found: String = SWITCHES.iter().filter_map(forbids).collect();
    if found.is_empty() {
        "; run as root, or where user namespaces are allowed".to_owned()
    } else {
        found + ", or run as root"
    }
}

/// The file of a kernel parameter.
pub fn parameter_path(name: &str) -> PathBuf {
    Path::new("/proc/sys").join(name.replace('.', "/"))
}

/// The text of a file, such as the value of a parameter, without white space around it; empty if it cannot be read.
pub fn read_text(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

/// A name of this thread's network namespace, removed when dropped.
#[derive(Debug)]
pub struct NamespaceName(PathBuf);

impl NamespaceName {
    /// Gives the namespace a name, so that `ip netns exec NAME` finds it; `None` if the process
    /// may not: nothing depends on it.
    pub fn give(name: &str) -> Result<Option<Self>, String> {
        let path = Path::new(NAMES).join(name);
        if let Err(error) = fs::create_dir_all(NAMES) {
            return not_allowed(&error, || format!("make {NAMES}: {error}"));
        }
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                return Err(format!(
                    "the name {} exists already: another run has it, or has left it behind \
                     (`fairwind doctor --clean` removes what dead runs left)",
                    path.display()
                ));
            }
            Err(error) => {
                return not_allowed(&error, || format!("make {}: {error}", path.display()));
            }
        }
        match bind_file(Path::new("/proc/thread-self/ns/net"), &path) {
            Ok(()) => Ok(Some(Self(path))),
            Err(error) => {
                let _ = fs::remove_file(&path);
                Err(error.to_string())
            }
        }
    }
}

fn not_allowed(
    error: &std::io::Error,
    reason: impl FnOnce() -> String,
) -> Result<Option<NamespaceName>, String> {
    match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Ok(None),
        _ => Err(reason()),
    }
}

impl Drop for NamespaceName {
    fn drop(&mut self) {
        remove(&self.0);
    }
}

fn remove(path: &Path) {
    unmount(path);
    let _ = fs::remove_file(path);
}

/// Removes a name that a host gave its namespace and could not take back, where there is one.
pub fn remove_name(name: &str) {
    let path = Path::new(NAMES).join(name);
    if path.exists() {
        remove(&path);
    }
}

/// What a command prints that has to succeed, with `input` as its standard input.
pub fn command_output(
    program: &str,
    arguments: &[&str],
    input: &str,
) -> Result<String, KernelError> {
    let package = match program {
        "ip" | "tc" => "iproute2",
        "nft" => "nftables",
        other => other,
    };
    let failed = |reason: String| {
        let command = format!("{program} {}", arguments.join(" "));
        KernelError::Command { command, reason }
    };
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failed(format!("{error} (is {package} installed?)")))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A command that ends early says why below.
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}

/// Runs a command of `/bin/sh` in this thread's namespace.
pub fn shell(text: &str, folder: Option<&Path>) -> std::io::Result<Output> {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(text).stdin(Stdio::null());
    if let Some(folder) = folder {
        command.current_dir(folder);
    }
    command.output()
}

/// Commands of `/bin/sh` in this thread's namespace, up to the first that fails.
pub fn shell_checked(text: &str) -> Result<(), KernelError> {
    let failed = |reason: String| KernelError::Command { command: text.to_owned(), reason };
    let output =
        shell(&format!("set -e\n{text}"), None).map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}

/// Parameters that a namespace may inherit from the machine, with the kernel's own values.
pub const NAMESPACE_DEFAULTS: &[(&str, &str)] = &[
    ("net.ipv4.conf.all.rp_filter", "0"),
    ("net.ipv4.conf.default.rp_filter", "0"),
    ("net.ipv4.ip_forward", "0"),
];
