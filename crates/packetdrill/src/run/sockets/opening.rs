//! Opening and closing: from `socket` to `close`.

use super::fast_open::SocketFastOpen;
use super::transfer::limit;
use super::{Attempt, Other, Returned, Role, SUCCESS, Socket, Sockets, constants, fails};
use crate::outcome::{Step, Stop};
use crate::run::host::{Endpoint, Host};
use crate::run::stamps::Stamping;
use fairwind_tcp::State;
use fairwind_units::{Instant, Span};
use std::collections::BTreeMap;

impl Sockets {
    fn insert(&mut self, descriptor: i64, socket: Socket) -> Step<()> {
        let is_taken = self.others.contains_key(&descriptor);
        if self.open.insert(descriptor, socket).is_some() || is_taken {
            return Err(Stop::failed(format!("descriptor {descriptor} is open already")));
        }
        Ok(())
    }

    pub(super) fn open(&mut self, descriptor: i64, nonblocking: bool) -> Step<Attempt> {
        let socket = Socket {
            role: Role::Fresh,
            nonblocking,
            linger: None,
            deaf: false,
            low_water: 1,
            read_timeout: None,
            write_timeout: None,
            stamping: Stamping::default(),
            fast_open: SocketFastOpen::default(),
            held: BTreeMap::new(),
            config: self.config.clone(),
        };
        self.insert(descriptor, socket)?;
        Ok(Attempt::Returns(Returned::value(descriptor)))
    }

    /// Something that is no socket.
    pub(super) fn make(&mut self, descriptor: Option<i64>, what: &Other) -> Step<Attempt> {
        let Some(descriptor) = descriptor else {
            return Err(Stop::failed("the call returned a descriptor; write which one"));
        };
        let is_taken = self.open.contains_key(&descriptor);
        if self.others.insert(descriptor, what.clone()).is_some() || is_taken {
            return Err(Stop::failed(format!("descriptor {descriptor} is open already")));
        }
        Ok(Attempt::Returns(Returned::value(descriptor)))
    }

    /// From now on a SYN begins a connection here.
    pub(super) fn listen(
        &mut self,
        descriptor: i64,
        backlog: i64,
        host: &mut Host,
    ) -> Step<Attempt> {
        let socket = self.get(descriptor)?;
        if matches!(socket.role, Role::Connected { .. }) {
            return Ok(fails("EINVAL"));
        }
        socket.role = Role::Listening;
        let switches = socket.config.fast_open;
        if switches.server && switches.every_listener && socket.fast_open.most_early == 0 {
            socket.fast_open.most_early = usize::try_from(backlog).unwrap_or(0);
        }
        self.listener = Some(descriptor);
        host.current = None;
        Ok(SUCCESS)
    }

    pub(super) fn accept(
        &mut self,
        descriptor: i64,
        made: Option<i64>,
        nonblocking: bool,
        until: &mut Option<Instant>,
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
            let now = host.now;
            let until = *until.get_or_insert_with(|| limit(now, listener.read_timeout));
            let waits = !listener.nonblocking && now < until;
            return Ok(if waits { Attempt::Waits { until } } else { fails("EAGAIN") });
        };
        let Some(made) = made else {
            return Err(Stop::failed("the call returned a descriptor; write which one"));
        };
        host.endpoints[index].awaits_acceptance_of = None;
        host.endpoints[index].connection.note_accepted();
        host.endpoints[index].errors.stamps.of_receipts = listener.tells_receipts();
        let role = Role::Connected { endpoint: index, told: true };
        self.insert(made, Socket { role, nonblocking, ..listener })?;
        Ok(Attempt::Returns(Returned::value(made)))
    }

    pub(super) fn connect(
        &mut self,
        descriptor: i64,
        waits: &mut Option<(Instant, bool)>,
        host: &mut Host,
    ) -> Step<Attempt> {
        let socket = self.get(descriptor)?;
        let now = host.now;
        let begins = socket.role == Role::Fresh;
        let (until, begins) =
            *waits.get_or_insert_with(|| (limit(now, socket.write_timeout), begins));
        let nonblocking = socket.nonblocking || now >= until;
        let (index, told) = match socket.role {
            Role::Listening => return Ok(fails("EISCONN")),
            Role::Connected { endpoint, told } => (endpoint, told),
            Role::Fresh => match self.connect_late(descriptor, host)? {
                Some(index) => (index, false),
                None => return Ok(SUCCESS),
            },
        };
        let endpoint = &mut host.endpoints[index];
        let opened = endpoint.established;
        let socket = self.get(descriptor)?;
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
            (false, false) => Attempt::Waits { until },
            (false, true) => fails(if begins { "EINPROGRESS" } else { "EALREADY" }),
        })
    }

    pub(super) fn shutdown(&mut self, descriptor: i64, how: i64, host: &mut Host) -> Step<Attempt> {
        if !(constants::SHUT_RD..=constants::SHUT_RDWR).contains(&how) {
            return Ok(fails("EINVAL"));
        }
        let index = match self.get(descriptor)?.role {
            Role::Connected { endpoint, .. } => endpoint,
            Role::Fresh => return Ok(fails("ENOTCONN")),
            Role::Listening => {
                // Nothing arrives any more: it listens no longer (`inet_shutdown`).
                if how != constants::SHUT_WR {
                    self.get(descriptor)?.role = Role::Fresh;
                    abort_unaccepted(descriptor, host);
                }
                return Ok(SUCCESS);
            }
        };
        if host.endpoints[index].is_over() {
            return Ok(fails("ENOTCONN"));
        }
        // The attempt is given up (`inet_shutdown`, `tcp_disconnect`).
        if host.endpoints[index].connection.state() == State::SynSent {
            host.act(index, fairwind_tcp::Connection::abort);
            host.endpoints[index].error = Some("ECONNRESET");
            return Ok(SUCCESS);
        }
        if how != constants::SHUT_WR {
            self.get(descriptor)?.deaf = true;
            host.act(index, fairwind_tcp::Connection::shut_receiving);
        }
        if how != constants::SHUT_RD {
            host.act(index, fairwind_tcp::Connection::shut_down);
        }
        Ok(SUCCESS)
    }

    /// Gives a connection up; the socket is as new.
    pub(super) fn disconnect(&mut self, descriptor: i64, host: &mut Host) -> Step<Attempt> {
        if let Some(index) = self.endpoint(descriptor)? {
            host.act(index, fairwind_tcp::Connection::abort);
        }
        self.get(descriptor)?.role = Role::Fresh;
        Ok(SUCCESS)
    }

    /// Closes; with `SO_LINGER` the call waits until everything is acknowledged.
    pub(super) fn close(
        &mut self,
        descriptor: i64,
        until: &mut Option<Instant>,
        host: &mut Host,
    ) -> Step<Attempt> {
        if self.others.remove(&descriptor).is_some() {
            return Ok(SUCCESS);
        }
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
            let connection = &host.endpoints[index].connection;
            if connection.state() == State::SynReceived && !connection.is_early() {
                host.forget(index);
            } else {
                host.act(index, fairwind_tcp::Connection::abort);
            }
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
    let now = host.now;
    host.act(index, |connection| connection.release(now));
    socket.linger.map_or(host.now, |linger| host.now + linger)
}
