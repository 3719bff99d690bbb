//! Data with the SYN, as applications ask for it: `MSG_FASTOPEN` and the socket options.
//!
//! | option | effect |
//! |---|---|
//! | `TCP_FASTOPEN` | how many connections may be in use before their handshake is over; on any socket |
//! | `TCP_FASTOPEN_CONNECT` | `connect` waits for the first `write`, where a cookie is at hand |
//! | `TCP_FASTOPEN_NO_COOKIE` | no cookie is needed |
//! | `TCP_FASTOPEN_KEY` | the secret that cookies are made with, and the one before |

use super::constants::value;
use super::request::{SocketOption, Write};
use super::{Attempt, FOREVER, Returned, Role, SUCCESS, Sockets, fails};
use crate::outcome::Step;
use crate::run::host::Host;
use crate::script::Expression;
use fairwind_tcp::{CookieKey, FastOpenConfig};

/// What a socket was told about Fast Open.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SocketFastOpen {
    /// Connections that may be in use before their handshake is over (`TCP_FASTOPEN`).
    pub(super) most_early: usize,
    /// `TCP_FASTOPEN_CONNECT`
    connects_late: bool,
    /// `TCP_FASTOPEN_NO_COOKIE`
    without_cookie: bool,
    /// `connect` was called, and waits for data.
    pub(super) deferred: bool,
}

impl SocketFastOpen {
    /// The switches, with what this socket was told.
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
    pub(super) fn set_fast_open(&mut self, option: &SocketOption) -> Step<Option<Attempt>> {
        if !option.name.starts_with("TCP_FASTOPEN") {
            return Ok(None);
        }
        if let (Expression::Text(text), "TCP_FASTOPEN_KEY") = (&option.value, option.name.as_str())
        {
            let config = &mut self.get(option.descriptor)?.config.fast_open;
            let Some((key, former)) = keys(&unescaped(text)) else {
                return Ok(Some(fails("EINVAL")));
            };
            (config.key, config.former_key) = (key, former);
            return Ok(Some(SUCCESS));
        }
        let number = value(&option.value)?;
        let socket = self.get(option.descriptor)?;
        let begun = matches!(socket.role, Role::Connected { .. });
        let fresh = socket.role == Role::Fresh;
        let is_switch = number == 0 || number == 1;
        Ok(Some(match option.name.as_str() {
            "TCP_FASTOPEN" if number >= 0 && !begun => {
                socket.fast_open.most_early = usize::try_from(number).unwrap_or(usize::MAX);
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

    /// What one of the options is; `None` where it is another one.
    pub(super) fn told_by_fast_open(&mut self, option: &SocketOption) -> Step<Option<i64>> {
        let fast_open = self.get(option.descriptor)?.fast_open;
        Ok(match option.name.as_str() {
            "TCP_FASTOPEN" => i64::try_from(fast_open.most_early).ok(),
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
    pub(super) fn write_fast(&mut self, write: &mut Write, host: &mut Host) -> Step<Attempt> {
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
        socket.role = Role::Connected { endpoint: index, told: false };
        socket.fast_open.deferred = false;
        write.begun = true;
        write.taken = host.endpoints[index].connection.syn_data_bytes();
        let nonblocking = socket.nonblocking || write.is_impatient();
        if !nonblocking && write.taken < write.bytes {
            host.act(index, fairwind_tcp::Connection::expect_data);
        }
        Ok(match (nonblocking, write.taken) {
            (false, _) => FOREVER,
            (true, 0) => fails("EINPROGRESS"),
            (true, taken) => Attempt::Returns(Returned::value(i64::from(taken))),
        })
    }
}

/// The bytes of a text in which `\\xHH` stands for one byte.
fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let hexadecimal = rest.strip_prefix("\\x").and_then(|digits| digits.get(..2));
        if let Some(Ok(byte)) = hexadecimal.map(|digits| u8::from_str_radix(digits, 16)) {
            bytes.push(byte);
            rest = &rest[4..];
        } else {
            let (character, behind) = rest.split_at(first.len_utf8());
            bytes.extend_from_slice(character.as_bytes());
            rest = behind;
        }
    }
    bytes
}

/// One secret of 16 bytes, or two.
fn keys(bytes: &[u8]) -> Option<(CookieKey, Option<CookieKey>)> {
    let (key, former) = bytes.split_first_chunk::<16>()?;
    match former {
        [] => Some((CookieKey::new(*key), None)),
        _ => Some((CookieKey::new(*key), Some(CookieKey::new(former.try_into().ok()?)))),
    }
}
