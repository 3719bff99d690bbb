//! The supervisor: the process between the shell and the inside. It starts the inside as the first
//! process of a namespace, so that all that runs there ends with it; and it ends the inside when the
//! shell ends, however that ends.

use super::protocol::{self, Answer};
use super::{Role, commands::problem};
use fairwind_linux::{self as linux, KernelError};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};

/// Is the supervisor of the shell at the other end of `socket`; gives its exit code.
pub(super) fn keep(mut socket: UnixStream) -> i32 {
    linux::ignore_the_terminal();
    match start_inside(&socket).and_then(|inside| tend(inside, &socket)) {
        Ok(code) => code,
        Err(error) => {
            let _ = protocol::say(&mut socket, &Answer::Failed(error.to_string()));
            super::FAILED
        }
    }
}

/// Executes the program that this process is again, in the other role.
fn start_inside(socket: &UnixStream) -> Result<Child, KernelError> {
    let failed = |error: std::io::Error| problem(format!("start the inside: {error}"));
    linux::begin_process_namespace()?;
    let line = std::fs::read("/proc/self/cmdline").map_err(failed)?;
    let words: Vec<_> = line.split(|byte| *byte == 0).filter(|word| !word.is_empty()).collect();
    let [name, given @ .., _role, _descriptor] = words.as_slice() else {
        return Err(problem("the supervisor does not know what it was started as"));
    };
    let handed = linux::inheritable(socket)?;
    let text = |word: &[u8]| std::ffi::OsString::from(String::from_utf8_lossy(word).into_owned());
    Command::new("/proc/self/exe")
        .arg0(text(name))
        .args(given.iter().map(|word| text(word)))
        .args([Role::Inside.name(), &handed.as_raw_fd().to_string()])
        .spawn()
        .map_err(failed)
}

fn tend(mut inside: Child, socket: &UnixStream) -> Result<i32, KernelError> {
    let watched = linux::watch_process(inside.id())?;
    if linux::wait_for_end(&watched, socket) == linux::End::Socket {
        let _ = inside.kill();
    }
    let status = inside.wait().map_err(|error| problem(error.to_string()))?;
    Ok(status.code().unwrap_or(super::FAILED))
}
