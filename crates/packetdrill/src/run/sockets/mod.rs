//! System calls of a script on our endpoint, by file descriptor.
//!
//! A call that has to wait ([`CallProgress::Waits`]) is retried after every event, like a blocking
//! call.

mod cmsg;
mod config;
mod lifecycle;
mod options;
mod poll;
mod request;
mod transfer;

use super::commands::Scope;
use super::error_queue::TimestampingOptions;
use super::host::{Host, Listener};
use crate::outcome::{Step, Stop};
use crate::script::constants::{
    MSG_DONTWAIT, MSG_EOR, MSG_ERRQUEUE, MSG_FASTOPEN, MSG_MORE, MSG_NOSIGNAL, MSG_OOB, MSG_PEEK,
    MSG_TRUNC, MSG_WAITALL, MSG_ZEROCOPY, O_NONBLOCK,
};
use fairwind_tcp::{Config, Profile};
use fairwind_units::{Instant, Span};
use lifecycle::SocketFastOpen;
use poll::Epoll;
pub(crate) use request::Request;
use std::collections::BTreeMap;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Fresh,
    Listening,
    /// The connection with this index; `reported` once a call has reported that it is open.
    Connected {
        endpoint: usize,
        reported: bool,
    },
}

#[derive(Debug, Clone)]
struct Socket {
    role: Role,
    nonblocking: bool,
    /// `SO_LINGER`: how long `close` waits; `None` if it does not wait.
    linger: Option<Span>,
    /// The application has shut down reading.
    deaf: bool,
    /// Bytes that a read or a poll waits for (`SO_RCVLOWAT`).
    low_water: u32,
    /// Timeout of reads (`SO_RCVTIMEO`).
    read_timeout: Option<Span>,
    /// Timeout of writes and `connect` (`SO_SNDTIMEO`).
    write_timeout: Option<Span>,
    stamping: TimestampingOptions,
    fast_open: SocketFastOpen,
    /// Options without an effect here, as they were set.
    held: BTreeMap<String, i64>,
    /// Behaviour of the connections that begin here.
    config: Config,
}

/// A descriptor that is not a socket.
#[derive(Debug, Clone)]
pub(crate) enum Other {
    /// It watches sockets (`epoll`).
    Epoll(Epoll),
    /// A file to send.
    File,
    /// One end of the pipe with this index.
    Pipe(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Returned {
    pub(crate) value: i64,
    pub(crate) error: Option<&'static str>,
}

impl Returned {
    const fn value(value: i64) -> Self {
        Self { value, error: None }
    }

    const fn error(name: &'static str) -> Self {
        Self { value: -1, error: Some(name) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallProgress {
    Returns(Returned),
    /// The call waits for the peer, or until this instant.
    Waits {
        until: Instant,
    },
}

const SUCCESS: CallProgress = CallProgress::Returns(Returned::value(0));
const FOREVER: CallProgress = CallProgress::Waits { until: Instant::MAX };

fn returns(value: impl Into<i64>) -> CallProgress {
    CallProgress::Returns(Returned::value(value.into()))
}

fn fails(name: &'static str) -> CallProgress {
    CallProgress::Returns(Returned::error(name))
}

#[derive(Debug)]
pub(crate) struct Sockets {
    open: BTreeMap<i64, Socket>,
    /// Sockets that are hidden by later ones with the same descriptor.
    hidden: Vec<(i64, Socket)>,
    others: BTreeMap<i64, Other>,
    pipes: Vec<u32>,
    /// The latest listening socket.
    listener: Option<i64>,
    /// Behaviour of sockets made from now on.
    config: Config,
    profile: Profile,
    of_v6: bool,
    /// Start of the script, and tolerance of timestamps.
    clock: (Instant, Span),
}

impl Sockets {
    pub(crate) fn new(config: Config, profile: Profile, of_v6: bool) -> Self {
        Self {
            of_v6,
            open: BTreeMap::new(),
            hidden: Vec::new(),
            others: BTreeMap::new(),
            pipes: Vec::new(),
            listener: None,
            config,
            profile,
            clock: (Instant::ZERO, Span::ZERO),
        }
    }

    /// Starts the script at `origin`; timestamps may be off by `tolerance`.
    pub(crate) fn begin(&mut self, origin: Instant, tolerance: Span) {
        self.clock = (origin, tolerance);
    }

    /// Changes the settings of all sockets, or of later ones.
    pub(crate) fn reconfigure(
        &mut self,
        scope: Scope,
        change: impl Fn(&mut Config) -> Step<()>,
    ) -> Step<()> {
        change(&mut self.config)?;
        if scope == Scope::NewSockets {
            return Ok(());
        }
        for socket in self.open.values_mut() {
            change(&mut socket.config)?;
        }
        Ok(())
    }

    /// The listening socket that receives a SYN, and the settings of its connections.
    pub(crate) fn listener(&self) -> Option<Listener<'_>> {
        let descriptor = self.listener?;
        let socket = self.open.get(&descriptor)?;
        (socket.role == Role::Listening).then(|| Listener {
            descriptor,
            config: &socket.config,
            fast_open: socket.fast_open.switches(&socket.config.fast_open),
            max_early: socket.fast_open.max_early,
        })
    }

    fn get(&mut self, descriptor: i64) -> Step<&mut Socket> {
        self.open.get_mut(&descriptor).ok_or_else(|| {
            Stop::failed(format!("descriptor {descriptor} is not open; calls name open ones"))
        })
    }

    /// Error of any call on this descriptor.
    fn refusal(&self, descriptor: i64, request: &Request) -> Option<&'static str> {
        let moves_bytes =
            matches!(request, Request::Read(_) | Request::Write(_) | Request::Close { .. });
        match (self.open.contains_key(&descriptor), self.others.contains_key(&descriptor)) {
            (true, _) => None,
            (false, true) if moves_bytes || matches!(request, Request::Control { .. }) => None,
            (false, true) => Some("ENOTSOCK"),
            (false, false) => Some("EBADF"),
        }
    }

    /// The connection of a socket that has one.
    fn endpoint(&mut self, descriptor: i64) -> Step<Option<usize>> {
        Ok(match self.get(descriptor)?.role {
            Role::Connected { endpoint, .. } => Some(endpoint),
            Role::Fresh | Role::Listening => None,
        })
    }

    pub(crate) fn attempt(&mut self, request: &mut Request, host: &mut Host) -> Step<CallProgress> {
        if let Some(error) = request.descriptor().and_then(|named| self.refusal(named, request)) {
            return Ok(fails(error));
        }
        match request {
            Request::Socket { descriptor, nonblocking } => self.open(*descriptor, *nonblocking),
            Request::Bind { descriptor } => self.get(*descriptor).map(|_| SUCCESS),
            Request::Listen { descriptor, backlog } => self.listen(*descriptor, *backlog, host),
            Request::Accept { descriptor, made, nonblocking, until } => {
                self.accept(*descriptor, *made, *nonblocking, until, host)
            }
            Request::Connect { descriptor, waits } => self.connect(*descriptor, waits, host),
            Request::Disconnect { descriptor } => self.disconnect(*descriptor, host),
            Request::Read(read) => self.read(read, host),
            Request::Write(write) => self.write_noted(write, host),
            Request::Shutdown { descriptor, how } => self.shutdown(*descriptor, *how, host),
            Request::Close { descriptor, until } => self.close(*descriptor, until, host),
            Request::SetOption(option) => self.set_option(option, host),
            Request::GetOption(option) => self.get_option(option, host),
            Request::Control { descriptor, command, argument } => {
                self.control(*descriptor, command, *argument)
            }
            Request::Query { descriptor, what, expected } => {
                self.query(*descriptor, what, *expected, host)
            }
            Request::Poll(poll) => self.poll(poll, host),
            Request::Make { descriptor, what } => self.make(*descriptor, what),
            Request::Pipe { ends } => self.make_pipe(*ends),
            Request::Splice(splice) => self.splice(splice, host),
            Request::EpollCtl(watch) => self.watch(watch),
            Request::EpollWait(wait) => self.await_events(wait, host),
            Request::Fault { descriptor } => self.fault(*descriptor, host),
            Request::Name { descriptor, of_peer } => self.name(*descriptor, *of_peer, host),
        }
    }
}
