//! Asking about a socket: `poll`, `fcntl`, `ioctl`.

use super::constants::{
    NONBLOCK, POLL_ERROR, POLL_HANG_UP, POLL_IN, POLL_OUT, POLL_PEER_HANG_UP, READ_WRITE,
};
use super::request::Poll;
use super::{Attempt, Returned, Role, SUCCESS, Sockets, fails};
use crate::outcome::{Step, Stop};
use crate::run::host::{Endpoint, Host};
use fairwind_tcp::State;
use fairwind_units::Instant;

impl Sockets {
    pub(super) fn poll(&mut self, poll: &mut Poll, host: &mut Host) -> Step<Attempt> {
        let mut ready = 0;
        let mut found = Vec::new();
        for watched in &poll.watched {
            let always = POLL_ERROR | POLL_HANG_UP;
            let returned = self.readiness(watched.descriptor, host)? & (watched.events | always);
            ready += i64::from(returned != 0);
            found.push((watched, returned));
        }
        let now = host.now;
        let until = *poll
            .until
            .get_or_insert_with(|| poll.timeout.map_or(Instant::MAX, |timeout| now + timeout));
        if ready == 0 && now < until {
            return Ok(Attempt::Waits { until });
        }
        for (watched, returned) in found {
            if returned != watched.expected {
                return Err(Stop::failed(format!(
                    "revents of descriptor {}: expected {:#x}, seen {returned:#x}",
                    watched.descriptor, watched.expected
                )));
            }
        }
        Ok(Attempt::Returns(Returned::value(ready)))
    }

    /// What `poll` may report of a descriptor at present.
    fn readiness(&mut self, descriptor: i64, host: &Host) -> Step<i64> {
        let socket = self.get(descriptor)?;
        Ok(match socket.role {
            Role::Fresh => POLL_OUT | POLL_HANG_UP,
            Role::Listening => {
                let waiting = host.endpoints.iter().any(|endpoint| {
                    endpoint.awaits_acceptance_of == Some(descriptor) && endpoint.established
                });
                if waiting { POLL_IN } else { 0 }
            }
            Role::Connected { endpoint, .. } => {
                connection_readiness(&host.endpoints[endpoint], socket.deaf)
            }
        })
    }

    pub(super) fn control(
        &mut self,
        descriptor: i64,
        command: &str,
        argument: i64,
    ) -> Step<Attempt> {
        let socket = self.get(descriptor)?;
        match command {
            "F_GETFL" => {
                let flags = READ_WRITE | if socket.nonblocking { NONBLOCK } else { 0 };
                Ok(Attempt::Returns(Returned::value(flags)))
            }
            "F_SETFL" => {
                socket.nonblocking = argument & NONBLOCK != 0;
                Ok(SUCCESS)
            }
            other => Err(Stop::unsupported(format!("fcntl with {other} is not known here"))),
        }
    }

    pub(super) fn query(
        &mut self,
        descriptor: i64,
        what: &str,
        expected: Option<i64>,
        host: &Host,
    ) -> Step<Attempt> {
        let Some(index) = self.endpoint(descriptor)? else { return Ok(fails("EINVAL")) };
        let endpoint = &host.endpoints[index];
        let connection = &endpoint.connection;
        let buffered = || {
            let capacity = u64::from(endpoint.connection.config().send_buffer);
            capacity.saturating_sub(connection.send_room())
        };
        let bytes = match what {
            "SIOCINQ" | "FIONREAD" => u64::from(connection.readable_bytes()),
            "SIOCOUTQ" | "TIOCOUTQ" => buffered(),
            "SIOCOUTQNSD" => connection.unsent_bytes(),
            other => return Err(Stop::unsupported(format!("ioctl {other} is not known here"))),
        };
        let bytes = i64::try_from(bytes).expect("a buffer is smaller than 2^63 bytes");
        match expected {
            Some(expected) if expected != bytes => {
                Err(Stop::failed(format!("{what}: expected {expected}, seen {bytes}")))
            }
            _ => Ok(SUCCESS),
        }
    }
}

/// As Linux' `tcp_poll`; the socket is writable while a third of its buffer is free.
fn connection_readiness(endpoint: &Endpoint, deaf: bool) -> i64 {
    let state = endpoint.connection.state();
    let closing = !matches!(
        state,
        State::SynSent | State::SynReceived | State::Established | State::CloseWait
    );
    let no_more_input = endpoint.peer_finished || deaf || state == State::Closed;
    let mut ready = 0;
    if endpoint.is_readable() || deaf {
        ready |= POLL_IN;
    }
    if no_more_input {
        ready |= POLL_PEER_HANG_UP;
    }
    if closing && no_more_input {
        ready |= POLL_HANG_UP;
    }
    let free = endpoint.connection.send_room();
    let roomy = free * 3 >= u64::from(endpoint.connection.config().send_buffer);
    if closing || endpoint.established && roomy {
        ready |= POLL_OUT;
    }
    if endpoint.error.is_some() {
        ready |= POLL_ERROR;
    }
    ready
}
