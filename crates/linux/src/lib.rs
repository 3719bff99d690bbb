//! System calls, network namespaces, and the names that a run has outside its own processes.
//!
//! This crate has all unsafe code of system calls. Each function is a thin wrapper that takes slices and numbers, so
//! that no caller can hand the kernel a wrong pointer.

#![allow(clippy::missing_errors_doc, reason = "every error is a refused system call")]

mod error;
mod instance;
mod namespace;
mod poll;
mod process;
mod reaper;
mod run_name;
mod socket;
mod stale;
mod thread;
mod tun;

pub use error::KernelError;
pub use instance::{
    bind_to_thread, free_bytes, mount_system, power_off, seed_random_numbers, stop_waiting,
};
pub use namespace::{
    NAMESPACE_DEFAULTS, NamespaceName, enter_host_namespace, parameter_path, remove_name, shell,
    shell_checked,
};
pub use poll::{Clock, MonotonicClock, Poll, Ready};
pub use process::{
    End, await_child, become_user, begin_process_namespace, bind_file, device_name,
    enter_new_network_and_mounts, heed_signals, ignore_the_terminal, inheritable, inherited_socket,
    mount_proc, mount_programs, send_descriptor, wait_for_end, watch_process,
};
pub use process::{
    die_with_parent, leave_network, leave_user_and_network, most_files, raise_file_limit,
    user_and_group, wake_in_time,
};
pub use process::{end_process, unmount};
pub use reaper::Reaper;
pub use run_name::{RunName, RunNameError};
pub use socket::name_of;
pub use socket::{
    Buffer, Message, Raw, Transfer, accept, bind, close, connect, control, descriptors_wait,
    epoll_control, epoll_create, epoll_wait, get_option, listen, local_port, open, pipe, query,
    receive, receive_message, send, send_message, set_option, shutdown, socket, splice,
    transmit_file,
};
pub use socket::{accept_connection, discard, reset_at_close, socket_address, tcp_socket};
pub use socket::{read_plain, write_plain};
pub use socket::{receive_with_descriptor, send_with_descriptor};
pub use stale::{CleanupPaths, StaleKind, StaleResource, find_stale, remove_stale};
pub use thread::{FileSystem, clock_resolution, file_system, known_tcp_options, tick};
pub use thread::{Lock, lock_file};
pub use thread::{
    enter_new_network, give_way, is_root, is_sleeping, monotonic, prefer, realtime, thread_id,
    wait_readable,
};
pub use tun::{enter_network, interface_index, set_queue_length, switch_offloads_off};
pub use tun::{open_packet_socket, open_tun, sniff};

use std::os::fd::{FromRawFd, OwnedFd};

/// The result of a call that must not fail.
fn checked(attempt: &str, result: i64) -> Result<i64, KernelError> {
    if result >= 0 {
        return Ok(result);
    }
    let error = std::io::Error::last_os_error();
    Err(KernelError::System {
        attempt: attempt.to_owned(),
        reason: error.to_string(),
        errno: error.raw_os_error().unwrap_or(0),
    })
}

/// The descriptor that a call has just opened.
fn owned(attempt: &str, descriptor: i32) -> Result<OwnedFd, KernelError> {
    checked(attempt, i64::from(descriptor))?;
    // SAFETY: the call before has just opened it, and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}
