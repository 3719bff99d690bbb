//! `socket`, `bind`, `listen`, `connect`, `accept`, `shutdown` and `close`.

use super::request::{SocketOption, Write};
use super::transfer::limit;
use super::{CallProgress, FOREVER, Other, Role, SUCCESS, Socket, Sockets, fails, returns};
use crate::outcome::{Step, Stop};
use crate::run::error_queue::TimestampingOptions;
use crate::run::host::{Endpoint, Host};
use crate::script::constants::{SHUT_RD, SHUT_RDWR, SHUT_WR};
use crate::script::{Expression, text_bytes};
use fairwind_tcp::{CookieKey, FastOpenConfig, State};
use fairwind_units::{Instant, Span};
use std::collections::BTreeMap;

impl Sockets {
    /// Allocates the scripted descriptor. If the script still has it open, the new one hides the old
    /// one until it is closed.
    fn claim(&mut self, descriptor: Option<i64>) -> Step<i64> {
        let Some(descriptor) = descriptor else {
            return Err(Stop::failed("the call returned a descriptor; write which one"));
        };
        self.others.remove(&descriptor);
        if let Some(socket) = self.open.remove(&descriptor) {
            self.hidden.push((descriptor, socket));
        }
        Ok(descriptor)
    }

    pub(super) fn open(&mut self, descriptor: i64, nonblocking: bool) -> Step<CallProgress> {
        let socket = Socket {
            role: Role::Fresh,
            nonblocking,
            linger: None,
            deaf: false,
            low_water: 1,
            read_timeout: None,
            write_timeout: None,
            stamping: TimestampingOptions::default(),
            fast_open: SocketFastOpen::default(),
            held: BTreeMap::new(),
            config: self.config.clone(),
        };
        let descriptor = self.claim(Some(descriptor))?;
        self.open.insert(descriptor, socket);
        Ok(returns(descriptor))
    }

    /// Creates a descriptor that is not a socket.
    pub(super) fn make(&mut self, descriptor: Option<i64>, what: &Other) -> Step<CallProgress> {
        let descriptor = self.claim(descriptor)?;
        self.others.insert(descriptor, what.clone());
        Ok(returns(descriptor))
    }

    /// From now on a SYN begins a connection here.
    pub(super) fn listen(
        &mut self,
        descriptor: i64,
        backlog: i64,
        host: &mut Host,
    ) -> Step<CallProgress> {
        let socket = self.get(descriptor)?;
        if matches!(socket.role, Role::Connected { .. }) {
            return Ok(fails("EINVAL"));
        }
        socket.role = Role::Listening;
        let switches = socket.config.fast_open;
        if switches.server && switches.every_listener && socket.fast_open.max_early == 0 {
            socket.fast_open.max_early = usize::try_from(backlog).unwrap_or(0);
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
    ) -> Step<CallProgress> {
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
            return Ok(if waits { CallProgress::Waits { until } } else { fails("EAGAIN") });
        };
        let made = self.claim(made)?;
        host.endpoints[index].awaits_acceptance_of = None;
        host.endpoints[index].connection.note_accepted();
        host.endpoints[index].errors.timestamps_receive = listener.reports_timestamps();
        let role = Role::Connected { endpoint: index, reported: true };
        self.open.insert(made, Socket { role, nonblocking, ..listener });
        Ok(returns(made))
    }

    pub(super) fn connect(
        &mut self,
        descriptor: i64,
        waits: &mut Option<(Instant, bool)>,
        host: &mut Host,
    ) -> Step<CallProgress> {
        let socket = self.get(descriptor)?;
        let now = host.now;
        let begins = socket.role == Role::Fresh;
        let (until, begins) =
            *waits.get_or_insert_with(|| (limit(now, socket.write_timeout), begins));
        let nonblocking = socket.nonblocking || now >= until;
        let (index, reported) = match socket.role {
            Role::Listening => return Ok(fails("EISCONN")),
            Role::Connected { endpoint, reported } => (endpoint, reported),
            Role::Fresh => match self.connect_late(descriptor, host)? {
                Some(index) => (index, false),
                None => return Ok(SUCCESS),
            },
        };
        let endpoint = &mut host.endpoints[index];
        let opened = endpoint.established;
        let socket = self.get(descriptor)?;
        socket.role = Role::Connected { endpoint: index, reported: reported || opened };
        if reported {
            return Ok(fails("EISCONN"));
        }
        if let Some(error) = endpoint.error.take() {
            socket.role = Role::Fresh;
            return Ok(fails(error));
        }
        Ok(match (opened, nonblocking) {
            (true, _) => SUCCESS,
            (false, false) => CallProgress::Waits { until },
            (false, true) => fails(if begins { "EINPROGRESS" } else { "EALREADY" }),
        })
    }

    pub(super) fn shutdown(
        &mut self,
        descriptor: i64,
        how: i64,
        host: &mut Host,
    ) -> Step<CallProgress> {
        if !(SHUT_RD..=SHUT_RDWR).contains(&how) {
            return Ok(fails("EINVAL"));
        }
        let index = match self.get(descriptor)?.role {
            Role::Connected { endpoint, .. } => endpoint,
            Role::Fresh => return Ok(fails("ENOTCONN")),
            Role::Listening => {
                // Reading ends, so a listening socket no longer listens (`inet_shutdown`).
                if how != SHUT_WR {
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
        if how != SHUT_WR {
            self.get(descriptor)?.deaf = true;
            host.act(index, fairwind_tcp::Connection::shut_receiving);
        }
        if how != SHUT_RD {
            host.act(index, fairwind_tcp::Connection::shut_down);
        }
        Ok(SUCCESS)
    }

    /// Disconnects; the socket is like a new one.
    pub(super) fn disconnect(&mut self, descriptor: i64, host: &mut Host) -> Step<CallProgress> {
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
    ) -> Step<CallProgress> {
        if self.others.remove(&descriptor).is_some() {
            return Ok(SUCCESS);
        }
        let socket = self.get(descriptor)?.clone();
        let index = match socket.role {
            Role::Connected { endpoint, .. } => endpoint,
            Role::Fresh | Role::Listening => {
                self.remove(descriptor);
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
            self.remove(descriptor);
            return Ok(SUCCESS);
        }
        Ok(CallProgress::Waits { until: waits_until })
    }

    /// Closes a descriptor; a hidden one with the same number is visible again.
    fn remove(&mut self, descriptor: i64) {
        self.open.remove(&descriptor);
        if let Some(place) = self.hidden.iter().rposition(|(number, _)| *number == descriptor) {
            let (_, socket) = self.hidden.remove(place);
            self.open.insert(descriptor, socket);
        }
    }
}

/// Connections that are not accepted end with their listening socket.
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

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SocketFastOpen {
    /// Maximum number of Fast Open connections with a pending handshake (`TCP_FASTOPEN`).
    pub(super) max_early: usize,
    /// `TCP_FASTOPEN_CONNECT`
    connects_late: bool,
    /// `TCP_FASTOPEN_NO_COOKIE`
    without_cookie: bool,
    /// `connect` was called, and waits for data.
    pub(super) deferred: bool,
}

impl SocketFastOpen {
    /// The switches, with the options of this socket.
    pub(super) fn switches(&self, config: &FastOpenConfig) -> FastOpenConfig {
        FastOpenConfig {
            client_without_cookie: config.client_without_cookie || self.without_cookie,
            server_without_cookie: config.server_without_cookie || self.without_cookie,
            ..*config
        }
    }
}

impl Sockets {
    /// Sets one of the options; `None` where it is another one.
    pub(super) fn set_fast_open(&mut self, option: &SocketOption) -> Step<Option<CallProgress>> {
        if !option.name.starts_with("TCP_FASTOPEN") {
            return Ok(None);
        }
        if let (Expression::Text(text), "TCP_FASTOPEN_KEY") = (&option.value, option.name.as_str())
        {
            let config = &mut self.get(option.descriptor)?.config.fast_open;
            let Some((key, former)) = keys(&text_bytes(text)) else {
                return Ok(Some(fails("EINVAL")));
            };
            (config.key, config.former_key) = (key, former);
            return Ok(Some(SUCCESS));
        }
        let number = option.value.number()?;
        let socket = self.get(option.descriptor)?;
        let begun = matches!(socket.role, Role::Connected { .. });
        let fresh = socket.role == Role::Fresh;
        let is_switch = number == 0 || number == 1;
        Ok(Some(match option.name.as_str() {
            "TCP_FASTOPEN" if number >= 0 && !begun => {
                socket.fast_open.max_early = usize::try_from(number).unwrap_or(usize::MAX);
                SUCCESS
            }
            "TCP_FASTOPEN_CONNECT" if is_switch && !socket.config.fast_open.client => {
                fails("EOPNOTSUPP")
            }
            "TCP_FASTOPEN_CONNECT" if is_switch && fresh => {
                socket.fast_open.connects_late = number == 1;
                SUCCESS
            }
            "TCP_FASTOPEN_NO_COOKIE" if is_switch && !begun => {
                socket.fast_open.without_cookie = number == 1;
                SUCCESS
            }
            _ => fails("EINVAL"),
        }))
    }

    /// Value of a Fast Open option; `None` for another option.
    pub(super) fn fast_open_value(&mut self, option: &SocketOption) -> Step<Option<i64>> {
        let fast_open = self.get(option.descriptor)?.fast_open;
        Ok(match option.name.as_str() {
            "TCP_FASTOPEN" => i64::try_from(fast_open.max_early).ok(),
            "TCP_FASTOPEN_CONNECT" => Some(i64::from(fast_open.connects_late)),
            "TCP_FASTOPEN_NO_COOKIE" => Some(i64::from(fast_open.without_cookie)),
            _ => None,
        })
    }

    /// `connect` of a socket that may wait for data (Linux `tcp_fastopen_defer_connect`): the index of
    /// the connection, or `None` where it waits.
    pub(super) fn connect_late(&mut self, descriptor: i64, host: &mut Host) -> Step<Option<usize>> {
        let socket = self.get(descriptor)?;
        if !socket.fast_open.connects_late {
            return Ok(Some(host.connect(&socket.config)));
        }
        let switches = socket.fast_open.switches(&socket.config.fast_open);
        if host.remembered.allows_data(&switches) {
            socket.fast_open.deferred = true;
            return Ok(None);
        }
        Ok(Some(host.connect_fast(&socket.config, host.remembered.syn(&switches, 0))))
    }

    /// Begins a connection with data (Linux `tcp_sendmsg_fastopen`).
    pub(super) fn write_fast(&mut self, write: &mut Write, host: &mut Host) -> Step<CallProgress> {
        let socket = self.get(write.descriptor)?;
        if !socket.config.fast_open.client {
            return Ok(fails("EOPNOTSUPP"));
        }
        if let Role::Connected { endpoint, .. } = socket.role {
            let open = host.endpoints[endpoint].established;
            return Ok(fails(if open { "EISCONN" } else { "EALREADY" }));
        }
        let switches = socket.fast_open.switches(&socket.config.fast_open);
        let syn = host.remembered.syn(&switches, write.bytes);
        let index = host.connect_fast(&socket.config, syn);
        socket.role = Role::Connected { endpoint: index, reported: false };
        socket.fast_open.deferred = false;
        write.begun = true;
        write.taken = host.endpoints[index].connection.syn_data_bytes();
        let nonblocking = socket.nonblocking || write.is_nonblocking();
        if !nonblocking && write.taken < write.bytes {
            host.act(index, fairwind_tcp::Connection::expect_data);
        }
        Ok(match (nonblocking, write.taken) {
            (false, _) => FOREVER,
            (true, 0) => fails("EINPROGRESS"),
            (true, taken) => returns(taken),
        })
    }
}

/// One secret of 16 bytes, or two.
fn keys(bytes: &[u8]) -> Option<(CookieKey, Option<CookieKey>)> {
    let (key, former) = bytes.split_first_chunk::<16>()?;
    match former {
        [] => Some((CookieKey::new(*key), None)),
        _ => Some((CookieKey::new(*key), Some(CookieKey::new(former.try_into().ok()?)))),
    }
}
