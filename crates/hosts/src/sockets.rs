//! Sockets as planned: made, told what the plan says, and asked whether they heard.

use super::plan::{SocketOption, SocketSettings};
use fairwind_linux as linux;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};

/// Bytes of a congestion control's name (`TCP_CA_NAME_MAX`).
const NAME_BYTES: usize = 16;

/// A socket that is bound to `local`, and as `settings` say.
pub(super) fn bound(local: SocketAddr, settings: &SocketSettings) -> Result<OwnedFd, String> {
    let socket = linux::tcp_socket(local).map_err(|error| error.to_string())?;
    // Several connections may begin at one address and port, and end at different ones.
    set(&socket, "SO_REUSEADDR", libc::SOL_SOCKET, libc::SO_REUSEADDR, 1)?;
    for SocketOption { name, level, number, value } in &settings.options {
        set(&socket, name, *level, *number, *value)?;
    }
    if let Some(congestion) = &settings.congestion {
        choose_congestion(&socket, congestion)?;
    }
    let raw = linux::bind(socket.as_raw_fd(), &linux::socket_address(local));
    succeeded(raw, || format!("bind a socket to {local}"))?;
    Ok(socket)
}

/// A socket that listens, with room for as many connections as the kernel lets wait.
pub(super) fn listening(local: SocketAddr, settings: &SocketSettings) -> Result<OwnedFd, String> {
    let socket = bound(local, settings)?;
    succeeded(linux::listen(socket.as_raw_fd(), i32::MAX), || format!("listen on {local}"))?;
    Ok(socket)
}

/// Sets an option that takes a number.
pub(super) fn set(
    socket: &impl AsRawFd,
    name: &str,
    level: i32,
    number: i32,
    value: i32,
) -> Result<(), String> {
    let raw = linux::set_option(socket.as_raw_fd(), level, number, &value.to_ne_bytes());
    succeeded(raw, || format!("set {name} to {value}"))
}

/// Chooses a congestion control, and makes sure that the socket has it: a namespace may be refused
/// one that its machine restricts.
fn choose_congestion(socket: &OwnedFd, wanted: &str) -> Result<(), String> {
    let (level, option) = (libc::IPPROTO_TCP, libc::TCP_CONGESTION);
    let raw = linux::set_option(socket.as_raw_fd(), level, option, wanted.as_bytes());
    succeeded(raw, || format!("choose the congestion control {wanted}{}", available()))?;
    let mut name = [0; NAME_BYTES];
    let (raw, length) = linux::get_option(socket.as_raw_fd(), level, option, &mut name);
    succeeded(raw, || "ask for the congestion control".to_owned())?;
    let end = name[..length].iter().position(|&byte| byte == 0).unwrap_or(length);
    if &name[..end] == wanted.as_bytes() {
        return Ok(());
    }
    let got = String::from_utf8_lossy(&name[..end]);
    Err(format!("the congestion control is {got} although {wanted} was chosen{}", available()))
}

fn available() -> String {
    let path = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    std::fs::read_to_string(path)
        .map_or_else(|_| String::new(), |names| format!(" (this kernel has {})", names.trim()))
}

/// The error that waits at a socket, 0 for none.
pub(super) fn waiting_error(socket: &OwnedFd) -> i32 {
    let mut value = [0; 4];
    linux::get_option(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_ERROR, &mut value);
    i32::from_ne_bytes(value)
}

fn succeeded(raw: linux::Raw, attempt: impl FnOnce() -> String) -> Result<(), String> {
    if raw.value >= 0 {
        return Ok(());
    }
    let reason = std::io::Error::from_raw_os_error(raw.errno);
    Err(format!("{}: {reason}", attempt()))
}
