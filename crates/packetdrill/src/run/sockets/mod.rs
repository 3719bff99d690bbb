//! The application's side: descriptors as the script names them, and calls on them.
//!
//! A call is tried; where it has to wait ([`Attempt::Waits`]) it is tried again whenever something
//! has happened, as a blocking call does.

mod arguments;
mod constants;
mod options;
mod request;
mod transfer;
mod watch;

pub(crate) use constants::value;
pub(crate) use request::Request;

use super::commands::Scope;
use super::host::{Endpoint, Host};
use crate::outcome::{Step, Stop};
use fairwind_tcp::{Config, Profile, State};
use fairwind_units::{Instant, Span};
use std::collections::BTreeMap;

/// What a socket is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Nothing yet.
    Fresh,
    Listening,
    /// The connection with this index; `told` once a call has reported that it is open.
    Connected {
        endpoint: usize,
        told: bool,
    },
}

/// What one descriptor stands for.
#[derive(Debug, Clone)]
struct Socket {
    role: Role,
    nonblocking: bool,
    /// `SO_LINGER`: how long `close` waits; `None` where it does not.
    linger: Option<Span>,
    /// The application has shut down reading.
    deaf: bool,
    /// Behaviour of the connections that begin here.
    config: Config,
}

/// What a call returned.
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

/// The outcome of trying a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempt {
    Returns(Returned),
    /// It waits: for the peer, or at most until this instant.
    Waits {
        until: Instant,
    },
}

const SUCCESS: Attempt = Attempt::Returns(Returned::value(0));
const FOREVER: Attempt = Attempt::Waits { until: Instant::MAX };

fn fails(name: &'static str) -> Attempt {
    Attempt::Returns(Returned::error(name))
}

/// All descriptors.
#[derive(Debug)]
pub(crate) struct Sockets {
    open: BTreeMap<i64, Socket>,
    /// Behaviour of sockets made from now on.
    config: Config,
    profile: Profile,
}

impl Sockets {
    pub(crate) fn new(config: Config, profile: Profile) -> Self {
        Self { open: BTreeMap::new(), config, profile }
    }

    /// Changes the behaviour of sockets: of all of them, or of those that are made from now on.
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

    /// The listening socket that a SYN goes to, and the behaviour of the connection to come.
    pub(crate) fn listener(&self) -> Option<(i64, &Config)> {
        let found = self.open.iter().find(|(_, socket)| socket.role == Role::Listening);
        found.map(|(descriptor, socket)| (*descriptor, &socket.config))
    }

    fn get(&mut self, descriptor: i64) -> Step<&mut Socket> {
        self.open.get_mut(&descriptor).ok_or_else(|| {
            Stop::failed(format!("descriptor {descriptor} is not open; calls name open ones"))
        })
    }

    /// The connection of a socket that has one.
    fn endpoint(&mut self, descriptor: i64) -> Step<Option<usize>> {
        Ok(match self.get(descriptor)?.role {
            Role::Connected { endpoint, .. } => Some(endpoint),
            Role::Fresh | Role::Listening => None,
        })
    }

    /// Tries a call at the present instant.
    pub(crate) fn attempt(&mut self, request: &mut Request, host: &mut Host) -> Step<Attempt> {
        match request {
            Request::Socket { descriptor, nonblocking } => self.open(*descriptor, *nonblocking),
            Request::Bind { descriptor } => self.get(*descriptor).map(|_| SUCCESS),
            Request::Listen { descriptor } => self.listen(*descriptor),
            Request::Accept { descriptor, made, nonblocking } => {
                self.accept(*descriptor, *made, *nonblocking, host)
            }
            Request::Connect { descriptor } => self.connect(*descriptor, host),
            Request::Read(read) => self.read(*read, host),
            Request::Write(write) => self.write(write, host),
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
        }
    }

    fn insert(&mut self, descriptor: i64, socket: Socket) -> Step<()> {
        if self.open.insert(descriptor, socket).is_some() {
            return Err(Stop::failed(format!("descriptor {descriptor} is open already")));
        }
        Ok(())
    }

    fn open(&mut self, descriptor: i64, nonblocking: bool) -> Step<Attempt> {
        let config = self.config.clone();
        let socket = Socket { role: Role::Fresh, nonblocking, linger: None, deaf: false, config };
        self.insert(descriptor, socket)?;
        Ok(Attempt::Returns(Returned::value(descriptor)))
    }

    fn listen(&mut self, descriptor: i64) -> Step<Attempt> {
        let socket = self.get(descriptor)?;
        if matches!(socket.role, Role::Connected { .. }) {
            return Ok(fails("EINVAL"));
        }
        socket.role = Role::Listening;
        Ok(SUCCESS)
    }

    fn accept(
        &mut self,
        descriptor: i64,
        made: Option<i64>,
        nonblocking: bool,
        host: &mut Host,
    ) -> Step<Attempt> {
        let listener = self.get(descriptor)?.clone();
        if listener.role != Role::Listening {
            return Ok(fails("EINVAL"));
        }
        let is_ready = |endpoint: &Endpoint| {
            endpoint.awaits_acceptance_of == Some(descriptor) && endpoint.established
        };
        let Some(index) = host.endpoints.iter().position(is_ready) else {
            return Ok(if listener.nonblocking { fails("EAGAIN") } else { FOREVER });
        };
        let Some(made) = made else {
            return Err(Stop::failed("the call returned a descriptor; write which one"));
        };
        host.endpoints[index].awaits_acceptance_of = None;
        let role = Role::Connected { endpoint: index, told: true };
        self.insert(made, Socket { role, nonblocking, ..listener })?;
        Ok(Attempt::Returns(Returned::value(made)))
    }

    fn connect(&mut self, descriptor: i64, host: &mut Host) -> Step<Attempt> {
        let socket = self.get(descriptor)?;
        let nonblocking = socket.nonblocking;
        let (index, told, begins) = match socket.role {
            Role::Listening => return Ok(fails("EISCONN")),
            Role::Connected { endpoint, told } => (endpoint, told, false),
            Role::Fresh => (host.connect(&socket.config), false, true),
        };
        let endpoint = &mut host.endpoints[index];
        let opened = endpoint.established;
        socket.role = Role::Connected { endpoint: index, told: told || opened };
        if told {
            return Ok(fails("EISCONN"));
        }
        if let Some(error) = endpoint.error.take() {
            socket.role = Role::Fresh;
            return Ok(fails(error));
        }
        Ok(match (opened, nonblocking) {
            (true, _) => SUCCESS,
            (false, false) => FOREVER,
            (false, true) => fails(if begins { "EINPROGRESS" } else { "EALREADY" }),
        })
    }

    fn shutdown(&mut self, descriptor: i64, how: i64, host: &mut Host) -> Step<Attempt> {
        let Some(index) = self.endpoint(descriptor)? else { return Ok(fails("ENOTCONN")) };
        if host.endpoints[index].is_closed() {
            return Ok(fails("ENOTCONN"));
        }
        if how != constants::SHUT_WR {
            self.get(descriptor)?.deaf = true;
        }
        if how != constants::SHUT_RD {
            host.act(index, fairwind_tcp::Connection::close);
        }
        Ok(SUCCESS)
    }

    /// Closes; with `SO_LINGER` the call waits until everything is acknowledged.
    fn close(
        &mut self,
        descriptor: i64,
        until: &mut Option<Instant>,
        host: &mut Host,
    ) -> Step<Attempt> {
        let socket = self.get(descriptor)?.clone();
        let index = match socket.role {
            Role::Connected { endpoint, .. } => endpoint,
            Role::Fresh | Role::Listening => {
                self.open.remove(&descriptor);
                abort_unaccepted(descriptor, host);
                return Ok(SUCCESS);
            }
        };
        let waits_until = match *until {
            Some(instant) => instant,
            None => close_connection(index, &socket, host),
        };
        *until = Some(waits_until);
        let connection = &host.endpoints[index].connection;
        let done = connection.is_drained() || connection.state() == State::Closed;
        if done || host.now >= waits_until {
            self.open.remove(&descriptor);
            return Ok(SUCCESS);
        }
        Ok(Attempt::Waits { until: waits_until })
    }
}

/// Connections that nobody has accepted end with their listening socket.
fn abort_unaccepted(listener: i64, host: &mut Host) {
    for index in 0..host.endpoints.len() {
        if host.endpoints[index].awaits_acceptance_of == Some(listener) {
            host.endpoints[index].awaits_acceptance_of = None;
            host.act(index, fairwind_tcp::Connection::abort);
        }
    }
}

/// Closes a connection, or resets it: where received data was not read (RFC 2525 §2.17), or where
/// the application lingers for no time at all. Returns until when the call waits.
fn close_connection(index: usize, socket: &Socket, host: &mut Host) -> Instant {
    let unread = host.endpoints[index].connection.readable_bytes() > 0;
    if host.endpoints[index].is_closed() {
        return host.now;
    }
    if unread || socket.linger == Some(Span::ZERO) {
        host.act(index, fairwind_tcp::Connection::abort);
        return host.now;
    }
    host.act(index, fairwind_tcp::Connection::close);
    socket.linger.map_or(host.now, |linger| host.now + linger)
}
