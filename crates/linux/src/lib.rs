//! System calls, network namespaces, and the names that a run has outside its own processes.
//!
//! This crate has all unsafe code of system calls. Each function is a thin wrapper that takes slices and numbers, so
//! that no caller can hand the kernel a wrong pointer. Calls with fixed arguments go through `rustix`; calls with the
//! numbers of a script, and those that `rustix` lacks, go through `libc`.
//!
//! | module | concern |
//! |---|---|
//! | `clock` | clocks, and waiting to the nanosecond |
//! | `virtual_clock` | the clock of a kernel in virtual time, as a page in memory |
//! | `device_ring` | packets of several devices by one call (`io_uring`) |
//! | `process` | threads and processes: priority, limits, signals, mounts, users, ends |
//! | `namespace` | the network namespace of a host process, its name, and commands in it |
//! | `socket` | socket calls |
//! | `tun` | TUN and Ethernet devices, and packet sockets |
//! | `packet_ring` | packets of all interfaces of a namespace |
//! | `queue_discipline` | backlog of a queue discipline |
//! | `processor` | a processor for a process to stay on |
//! | `run_name` | the name of a run, and whether it still lives |
//! | `stale` | removal of leftovers of runs: by their reapers, and later those of dead runs |

#![allow(clippy::missing_errors_doc, reason = "every error is a refused system call")]

mod clock;
mod device_ring;
mod instance;
mod namespace;
mod packet_ring;
mod process;
mod processor;
mod queue_discipline;
mod run_name;
mod socket;
mod stale;
mod tun;
mod virtual_clock;

pub use clock::{
    Clock, MonotonicClock, Poll, Ready, clock_resolution, is_writable, monotonic, realtime, tick,
    wait_readable, wait_ready,
};
pub use device_ring::{DeviceEvent, DeviceRing};
pub use instance::{
    bind_to_thread, empty_folder, free_beginning, free_bytes, mount_system, power_off,
    redirect_standard_streams, seed_random_numbers,
};
pub use namespace::{
    HeldNamespace, NAMESPACE_DEFAULTS, NamespaceName, command_output, enter_host_namespace,
    enter_network, enter_new_network, enter_new_network_and_mounts, in_a_thread, parameter_path,
    read_text, remove_name, shell, shell_checked,
};
pub use packet_ring::{PacketRing, RingPacket};
pub use process::{
    End, FileSystem, Lock, await_child, become_user, begin_process_namespace, bind_file,
    die_with_parent, file_system, give_way, heed_signals, ignore_the_terminal, inheritable,
    inherited_socket, is_root, is_sleeping, lock_file, most_files, mount_proc, mount_programs,
    prefer, raise_file_limit, thread_id, wait_for_end, wake_in_time, watch_process,
};
pub use processor::Processor;
pub use queue_discipline::BacklogReader;
pub use run_name::{RunName, RunNameError};
pub use socket::{
    Buffer, Message, Raw, Transfer, accept, accept_connection, bind, close, connect, control,
    descriptors_wait, discard, epoll_control, epoll_create, epoll_wait, get_option,
    known_tcp_options, listen, local_port, name_of, open, pipe, query, read_plain, receive,
    receive_message, receive_with_descriptor, reset_at_close, send, send_message,
    send_with_descriptor, set_option, shutdown, socket, socket_address, splice, tcp_socket,
    transmit_file, write_plain,
};
pub use stale::{CleanupPaths, Reaper, StaleKind, StaleResource, find_stale, remove_stale};
pub use tun::{
    device_name, interface_index, offload_header, open_packet_socket, open_tun,
    open_tun_with_headers, set_queue_length, sniff, switch_offloads_off,
};

use std::io;
use thiserror::Error;

/// Why the kernel cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KernelError {
    /// A system call failed.
    #[error("{attempt}: {reason}{}", hint(.attempt, *.errno))]
    System {
        /// What was tried.
        attempt: String,
        /// What the system says.
        reason: String,
        /// Its number for it.
        errno: i32,
    },
    /// A command that sets up the namespace failed.
    #[error("{command}: {reason}")]
    Command {
        /// The command.
        command: String,
        /// What it printed.
        reason: String,
    },
    /// A host process could not be started, refused its part, or has ended.
    #[error("host {host}: {reason}")]
    Host {
        /// The host's name in the experiment.
        host: String,
        /// What happened, and what may be done about it.
        reason: String,
    },
    /// A program cannot be put behind a path.
    #[error("{reason}")]
    Shell {
        /// What is in the way, and what may be done about it.
        reason: String,
    },
    /// An option line of a script cannot be understood.
    #[error("--{name}={value}: expected {expected}")]
    Option {
        /// Name without hyphens.
        name: String,
        /// What stands there.
        value: String,
        /// What should.
        expected: &'static str,
    },
}

impl KernelError {
    /// That a command, or something else that was tried, failed for this reason.
    pub fn command(command: impl Into<String>, reason: &impl ToString) -> Self {
        Self::Command { command: command.into(), reason: reason.to_string() }
    }
}

fn hint(attempt: &str, errno: i32) -> &'static str {
    match errno {
        libc::EPERM | libc::EACCES => " (namespaces and TUN devices need root)",
        libc::ENOENT | libc::ENODEV if attempt.contains("/dev/net/tun") => {
            " (is /dev/net/tun there?)"
        }
        _ => "",
    }
}

/// Says what was tried where a system call was refused.
fn checked<T, E: Into<io::Error>>(attempt: &str, result: Result<T, E>) -> Result<T, KernelError> {
    result.map_err(|error| {
        let error = error.into();
        KernelError::System {
            attempt: attempt.to_owned(),
            reason: error.to_string(),
            errno: error.raw_os_error().unwrap_or(0),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::KernelError;

    #[test]
    fn only_device_errors_suggest_tun_advice() {
        let error = |attempt: &str| {
            let reason = "No such file or directory".to_owned();
            KernelError::System { attempt: attempt.to_owned(), reason, errno: libc::ENOENT }
                .to_string()
        };
        assert!(error("open /dev/net/tun").ends_with("(is /dev/net/tun there?)"));
        assert!(!error("mount /proc/self/ns/net on /run/netns/one").contains("tun"));
    }
}
