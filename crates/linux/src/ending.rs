//! Ending what others have left.

use std::ffi::CString;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

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
