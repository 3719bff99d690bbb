//! Locks of files, which end with their holder however that ends.

use super::checked;
use crate::KernelError;
use std::fs::File;
use std::os::fd::AsRawFd as _;

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
