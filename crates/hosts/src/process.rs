//! The parent's side of a host process: starting it, speaking with it, ending it.

use super::plan::HostPlan;
use super::protocol::{FromHost, ToHost, append_frame, take_frame};
use fairwind_linux::{self as linux, KernelError};
use fairwind_units::{Instant, Span};
use std::ffi::OsString;
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Path of the host program, which only calls the host's part of this module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostCommand {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

/// A host process. Dropping it ends it.
#[derive(Debug)]
pub struct HostProcess {
    name: String,
    child: Child,
    socket: UnixStream,
    /// Bytes received and not yet understood.
    pending: Vec<u8>,
    /// Number of processed ones.
    taken: usize,
    device: Option<OwnedFd>,
    planned_namespace: Option<String>,
    /// The name that its namespace has, once it has one.
    namespace: Option<String>,
    ended: bool,
}

/// How long a host may take to accept a message.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes per read.
const CHUNK: usize = 1 << 16;
/// How much of what a host has complained about is quoted.
const QUOTED: usize = 2_000;

impl HostProcess {
    /// Starts a host and sends it its plan, without waiting for what it makes of it.
    ///
    /// The thread that calls this must outlive the host: the kernel ends the host with it.
    ///
    /// # Errors
    /// If the program cannot be executed, or ends at once.
    pub fn start(command: &HostCommand, plan: &HostPlan) -> Result<Self, KernelError> {
        let failed = |reason: String| KernelError::Host { host: plan.name.clone(), reason };
        let (ours, theirs) =
            UnixStream::pair().map_err(|error| failed(format!("make a socket pair: {error}")))?;
        let child = Command::new(&command.program)
            .args(&command.arguments)
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            // Only the parent receives Ctrl-C; it ends its hosts in order.
            .process_group(0)
            .spawn()
            .map_err(|error| failed(format!("start {}: {error}", command.program.display())))?;
        let mut host = Self {
            name: plan.name.clone(),
            child,
            socket: ours,
            pending: Vec::new(),
            taken: 0,
            device: None,
            planned_namespace: plan.namespace.clone(),
            namespace: None,
            ended: false,
        };
        host.say(&ToHost::SetUp(Box::new(plan.clone())))?;
        Ok(host)
    }

    /// The host's name in the experiment.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number of its process.
    pub fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until the host is set up, and returns its TUN device: what is read from it are the
    /// packets that the host sends, and what is written to it the host receives. From a host with a
    /// veth comes its network namespace instead.
    ///
    /// # Errors
    /// What the host could not do; or that it has ended, or takes longer than `limit`.
    pub fn wait_ready(&mut self, limit: Span) -> Result<OwnedFd, KernelError> {
        let until = linux::monotonic() + limit;
        loop {
            match self.receive()? {
                Some(FromHost::Ready) => {
                    self.namespace = self.planned_namespace.take();
                    let device = self.device.take();
                    return device.ok_or_else(|| self.failed("no device came along"));
                }
                Some(_) => return Err(self.failed("it does not keep to the protocol")),
                None => {
                    let left = until.saturating_since(linux::monotonic());
                    if left.is_zero() {
                        return Err(self.failed(&format!("it is not set up after {limit}")));
                    }
                    linux::wait_readable(&[&self.socket], left);
                }
            }
        }
    }

    /// Starts the host; `origin` is what `CLOCK_MONOTONIC` shows at the run's instant zero.
    ///
    /// # Errors
    /// If the host has ended.
    pub fn go(&mut self, origin: Instant) -> Result<(), KernelError> {
        self.say(&ToHost::Start(origin))
    }

    /// Asks the host to end. Its remaining messages still come, [`FromHost::Done`] last.
    ///
    /// # Errors
    /// If the host has ended.
    pub fn stop(&mut self) -> Result<(), KernelError> {
        self.say(&ToHost::Stop)
    }

    /// The next message, if one has come; it never waits. Wait for the descriptor
    /// ([`AsFd`]) to be readable, and then ask until there is none.
    ///
    /// # Errors
    /// A [`FromHost::Failed`] comes back as the error; so does the end of a host that has not said
    /// [`FromHost::Done`].
    pub fn receive(&mut self) -> Result<Option<FromHost>, KernelError> {
        loop {
            let taken = take_frame::<FromHost>(&self.pending[self.taken..]);
            match taken.map_err(|reason| self.failed(&reason))? {
                Some((FromHost::Failed(reason), _)) => return Err(self.failed(&reason)),
                Some((message, length)) => {
                    self.taken += length;
                    self.ended |= matches!(message, FromHost::Done(_));
                    return Ok(Some(message));
                }
                None if self.ended => return Ok(None),
                None if self.read_more()? => {}
                None => return Ok(None),
            }
        }
    }

    /// Reads what has come; `false` where nothing has.
    fn read_more(&mut self) -> Result<bool, KernelError> {
        self.pending.drain(..self.taken);
        self.taken = 0;
        let kept = self.pending.len();
        self.pending.resize(kept + CHUNK, 0);
        let received = linux::receive_with_descriptor(&self.socket, &mut self.pending[kept..]);
        self.pending.truncate(kept + received.as_ref().map_or(0, |(bytes, _)| *bytes));
        match received {
            Ok((0, _)) => Err(self.exit_error()),
            Ok((_, device)) => {
                self.device = device.or(self.device.take());
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(true),
            Err(_) => Err(self.exit_error()),
        }
    }

    fn say(&mut self, message: &ToHost) -> Result<(), KernelError> {
        let mut bytes = Vec::new();
        append_frame(&message, &mut bytes);
        let written = self
            .socket
            .set_nonblocking(false)
            .and_then(|()| self.socket.set_write_timeout(Some(WRITE_TIMEOUT)))
            .and_then(|()| self.socket.write_all(&bytes))
            .and_then(|()| self.socket.set_nonblocking(true));
        match written {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(self.final_error()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Err(self.failed(&format!(
                "it does not listen for {} s: is the machine too busy for so many hosts?",
                WRITE_TIMEOUT.as_secs()
            ))),
            Err(error) => Err(self.failed(&format!("send it a command: {error}"))),
        }
    }

    /// A host that does not listen any more may have said why.
    fn final_error(&mut self) -> KernelError {
        let _ = self.socket.set_nonblocking(true);
        loop {
            match self.receive() {
                Ok(Some(_)) => {}
                Ok(None) => return self.exit_error(),
                Err(error) => return error,
            }
        }
    }

    fn failed(&self, reason: &str) -> KernelError {
        KernelError::Host { host: self.name.clone(), reason: reason.to_owned() }
    }

    /// The error of a process that has ended without a word, with what it printed.
    fn exit_error(&mut self) -> KernelError {
        let _ = self.child.kill();
        let status =
            self.child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
        let mut printed = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            let _ = stderr.read_to_string(&mut printed);
        }
        let printed = printed.trim();
        let quoted =
            printed.char_indices().rev().nth(QUOTED).map_or(printed, |(at, _)| &printed[at..]);
        let colon = if quoted.is_empty() { "" } else { ": " };
        self.failed(&format!("its process has ended unexpectedly ({status}){colon}{quoted}"))
    }
}

impl AsFd for HostProcess {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for HostProcess {
    fn drop(&mut self) {
        // A host that has said all ends by itself; any other is not worth waiting for.
        if !self.ended {
            let _ = self.child.kill();
        }
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
        let _ = self.child.wait();
        // A host that was killed could not take its name back.
        if let Some(name) = &self.namespace {
            linux::remove_name(name);
        }
    }
}
