//! What the shell and the inside of the path say to each other, over one Unix socket.
//!
//! | who | says | when |
//! |---|---|---|
//! | shell to inside | [`Inside`] | at once |
//! | inside to shell | [`Answer::Ready`], then the TUN device | when its namespaces are set up |
//! | shell to inside | [`Start`] | when packets are carried |
//! | inside to shell | [`Answer::Ended`] | when the program has ended |
//!
//! In the place of any answer there may be [`Answer::Failed`].

use super::commands::problem;
use super::host_network::Ends;
use fairwind_linux::KernelError;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

/// What the inside is to be like.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Inside {
    pub(super) mtu: u64,
    pub(super) links: Vec<Link>,
    /// A file to stand in the place of `/etc/resolv.conf`.
    pub(super) resolver: Option<PathBuf>,
    pub(super) program: Vec<String>,
    /// What the program finds in its environment, beside all that the shell found.
    pub(super) environment: Vec<(String, String)>,
    pub(super) user: Option<User>,
}

/// The inside's addresses, as text.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Link {
    pub(super) is_ipv6: bool,
    pub(super) inside: String,
    /// The block's prefix length.
    pub(super) length: u8,
}

impl From<&Ends> for Link {
    fn from(ends: &Ends) -> Self {
        let length = ends.block.length();
        Self { is_ipv6: ends.inside.is_ipv6(), inside: ends.inside.to_string(), length }
    }
}

/// A user of the system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// Login name.
    pub name: String,
    /// Number.
    pub user: u32,
    /// Number of the first group.
    pub group: u32,
}

/// The program may begin.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Start {}

/// What the inside tells.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    /// All is set up; the TUN device follows.
    Ready,
    /// The program has ended with this code.
    Ended(i32),
    /// The program could not be started; with the code that tells so.
    NotStarted(i32, String),
    /// The inside could not be set up.
    Failed(String),
}

/// Says one thing.
pub(super) fn say(socket: &mut UnixStream, what: &impl Serialize) -> Result<(), KernelError> {
    let lost = |error: std::io::Error| problem(format!("speak with the inside: {error}"));
    let text = postcard::to_allocvec(what).map_err(|error| problem(error.to_string()))?;
    let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
    socket.write_all(&length.to_le_bytes()).map_err(lost)?;
    socket.write_all(&text).map_err(lost)
}

/// Waits for one thing; none where the other end has closed.
pub(super) fn hear<T: DeserializeOwned>(socket: &mut UnixStream) -> Result<Option<T>, KernelError> {
    let mut length = [0; 4];
    if socket.read_exact(&mut length).is_err() {
        return Ok(None);
    }
    let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(0);
    let mut text = vec![0; length];
    if socket.read_exact(&mut text).is_err() {
        return Ok(None);
    }
    let heard = postcard::from_bytes(&text);
    heard.map(Some).map_err(|error| problem(format!("not what was expected: {error}")))
}
