//! A network namespace in the middle of a path, which lives as long as its descriptor is open.

use fairwind_linux as linux;
use fairwind_linux::KernelError;
use std::fs::File;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;

/// A network namespace.
#[derive(Debug)]
pub(super) struct Namespace {
    descriptor: OwnedFd,
    /// Its name for `ip netns exec`.
    _name: Option<linux::NamespaceName>,
    /// Its inode, which identifies it in eBPF programs.
    pub(super) inode: u32,
}

impl Namespace {
    /// Makes one of this name, and runs `text` in it.
    pub(super) fn make(name: &str, text: &str) -> Result<Self, KernelError> {
        in_a_thread(|| {
            linux::enter_new_network()?;
            let unnamed = |reason| KernelError::Command {
                command: format!("ip netns attach {name}"),
                reason,
            };
            let given = linux::NamespaceName::give(name).map_err(unnamed)?;
            linux::shell_checked(text)?;
            let failed = |error: std::io::Error| KernelError::Command {
                command: "open /proc/thread-self/ns/net".to_owned(),
                reason: error.to_string(),
            };
            let file = File::open("/proc/thread-self/ns/net").map_err(failed)?;
            let inode = file.metadata().map_err(failed)?.ino();
            let inode = u32::try_from(inode).unwrap_or(0);
            Ok(Self { descriptor: file.into(), _name: given, inode })
        })
    }

    /// Where other processes find it.
    pub(super) fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.descriptor.as_raw_fd())
    }

    /// Lets something happen in it.
    pub(super) fn inside<T: Send>(
        &self,
        happening: impl FnOnce() -> Result<T, KernelError> + Send,
    ) -> Result<T, KernelError> {
        in_a_thread(|| {
            linux::enter_network(&self.descriptor)?;
            happening()
        })
    }
}

/// A thread's namespace changes for good, so it is one for the purpose.
pub(super) fn in_a_thread<T: Send>(happening: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(happening);
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
