//! Socket options, `fcntl`, `ioctl`, `getsockname` and `getpeername`.
//!
//! | option | effect |
//! |---|---|
//! | those of `config` | settings of the endpoint |
//! | `SO_LINGER` | what `close` does |
//! | `SO_RCVLOWAT`, `SO_RCVTIMEO`, `SO_SNDTIMEO` | when reads, writes and polls wait, and how long |
//! | `SO_TIMESTAMPING`, `SO_TIMESTAMPNS`, `SO_TIMESTAMP`, `TCP_INQ`, `SO_ZEROCOPY` | see `cmsg` |
//! | `TCP_QUICKACK` | whether acknowledgments wait |
//! | `TCP_FASTOPEN`, `TCP_FASTOPEN_CONNECT`, `TCP_FASTOPEN_NO_COOKIE`, `TCP_FASTOPEN_KEY` | see `lifecycle` |
//! | `SO_ERROR`, `SO_TYPE`, `SO_PROTOCOL`, `SO_ACCEPTCONN`, `TCP_INFO` | can be read |
//! | those of [`STORED_OPTIONS`] | none: they are stored and returned; there is one path without routing and queues |
//!
//! A value that Linux refuses is refused with its error. Everything else makes a script unsupported.

use super::request::SocketOption;
use super::{CallProgress, O_NONBLOCK, Role, SUCCESS, Sockets, config, fails, returns};
use crate::outcome::{Step, Stop};
use crate::run::host::Host;
use crate::run::tcp_info;
use crate::script::constants::O_RDWR;
use crate::script::{Expression, constant};
use fairwind_tcp::{Config, Connection, Nagle, State};
use fairwind_units::Span;
use std::sync::Arc;

/// Options that are stored and returned without effect, with their defaults.
const STORED_OPTIONS: &[(&str, i64)] = &[
    ("IPV6_FREEBIND", 0),
    ("IPV6_RECVTCLASS", 0),
    ("IPV6_TRANSPARENT", 0),
    ("IPV6_UNICAST_HOPS", 64),
    ("IPV6_V6ONLY", 0),
    ("IP_BIND_ADDRESS_NO_PORT", 0),
    ("IP_FREEBIND", 0),
    ("IP_PKTINFO", 0),
    ("IP_RECVTOS", 0),
    ("IP_TRANSPARENT", 0),
    ("IP_TTL", 64),
    ("SO_BROADCAST", 0),
    ("SO_BUSY_POLL", 0),
    ("SO_DEBUG", 0),
    ("SO_DONTROUTE", 0),
    ("SO_INCOMING_CPU", -1),
    ("SO_MARK", 0),
    ("SO_PRIORITY", 0),
    ("SO_REUSEADDR", 0),
    ("SO_REUSEPORT", 0),
    ("SO_ZEROCOPY", 0),
    ("TCP_INQ", 0),
    ("TCP_SAVE_SYN", 0),
];

impl Sockets {
    pub(super) fn set_option(
        &mut self,
        option: &SocketOption,
        host: &mut Host,
    ) -> Step<CallProgress> {
        if let Some(error) = refused_at_once(option)? {
            return Ok(fails(error));
        }
        let socket = self.get(option.descriptor)?;
        match option.name.as_str() {
            // There is one device.
            "SO_BINDTODEVICE" => {}
            "SO_LINGER" => socket.linger = linger(&option.value)?,
            "SO_RCVTIMEO" => socket.read_timeout = timeout(&option.value)?,
            "SO_RCVLOWAT" => {
                let bytes = option.value.number()?;
                // A negative number means everything (`sock_setsockopt`), which is half of the
                // maximum buffer (`tcp_set_rcvlowat`).
                let receiving = &socket.config.receiving;
                let max = if receiving.buffer_is_set {
                    socket.config.receive_buffer
                } else {
                    receiving.max_buffer / 2
                };
                socket.low_water = u32::try_from(bytes).unwrap_or(u32::MAX).min(max).max(1);
                return self.change(option, host);
            }
            "SO_SNDTIMEO" => socket.write_timeout = timeout(&option.value)?,
            name if STORED_OPTIONS.iter().any(|(held, _)| *held == name) => {
                socket.held.insert(name.to_owned(), option.value.number()?);
            }
            "TCP_QUICKACK" => return self.set_quick_acknowledgments(option, host),
            _ => {
                if let Some(attempt) = self.set_stamping(option, host)? {
                    return Ok(attempt);
                }
                return match self.set_fast_open(option)? {
                    Some(attempt) => Ok(attempt),
                    None => self.change(option, host),
                };
            }
        }
        Ok(SUCCESS)
    }

    /// Sets a switch of the endpoint.
    fn change(&mut self, option: &SocketOption, host: &mut Host) -> Step<CallProgress> {
        let mut config = self.config_of(option.descriptor, host)?;
        if let Some(error) = config::set(&mut config, option, self.profile)? {
            return Ok(fails(error));
        }
        if let Some(index) = self.endpoint(option.descriptor)? {
            let now = host.now;
            let pushes = option.name == "TCP_NODELAY" && config.nagle == Nagle::Off;
            host.act(index, |connection| {
                connection.reconfigure(now, Arc::new(config));
                if pushes {
                    connection.push_held();
                }
            });
        } else {
            self.get(option.descriptor)?.config = config;
        }
        Ok(SUCCESS)
    }

    fn config_of(&mut self, descriptor: i64, host: &Host) -> Step<Config> {
        Ok(match self.endpoint(descriptor)? {
            Some(index) => host.endpoints[index].connection.config().as_ref().clone(),
            None => self.get(descriptor)?.config.clone(),
        })
    }

    pub(super) fn get_option(
        &mut self,
        option: &SocketOption,
        host: &mut Host,
    ) -> Step<CallProgress> {
        let seen = match option.name.as_str() {
            "TCP_INFO" => {
                self.verify_information(option, host)?;
                return Ok(SUCCESS);
            }
            "SO_ERROR" => {
                let index = self.endpoint(option.descriptor)?;
                let error = index.and_then(|index| host.endpoints[index].take_error());
                Expression::Integer(error.and_then(constant).unwrap_or(0))
            }
            "SO_LINGER" => return self.verify_linger(option),
            name => {
                if let Some(number) = self.socket_value(option)? {
                    Expression::Integer(number)
                } else {
                    let config = self.config_of(option.descriptor, host)?;
                    let index = self.endpoint(option.descriptor)?;
                    let connection = index.map(|index| &host.endpoints[index].connection);
                    config::value_of(name, &config, connection)?
                }
            }
        };
        let met = match (&option.value, &seen) {
            (Expression::Any, _) => true,
            (Expression::Text(expected), Expression::Text(seen)) => expected == seen,
            (expected, Expression::Integer(seen)) => expected.number()? == *seen,
            _ => false,
        };
        if met {
            return Ok(SUCCESS);
        }
        Err(Stop::failed(format!("{}: expected {}, seen {seen}", option.name, option.value)))
    }

    fn socket_value(&mut self, option: &SocketOption) -> Step<Option<i64>> {
        if let Some(value) = self.fast_open_value(option)? {
            return Ok(Some(value));
        }
        let socket = self.get(option.descriptor)?;
        let held = STORED_OPTIONS.iter().find(|(name, _)| *name == option.name);
        Ok(match (option.name.as_str(), held) {
            ("SO_RCVLOWAT", _) => Some(i64::from(socket.low_water)),
            ("SO_TIMESTAMPING", _) => Some(socket.stamping.flags()),
            ("SO_SNDLOWAT" | "SO_TYPE", _) => Some(1),
            ("SO_PROTOCOL", _) => Some(6),
            ("SO_ACCEPTCONN", _) => Some(i64::from(socket.role == Role::Listening)),
            (name, Some((_, default))) => Some(socket.held.get(name).copied().unwrap_or(*default)),
            _ => None,
        })
    }

    fn verify_linger(&mut self, option: &SocketOption) -> Step<CallProgress> {
        let seen = self.get(option.descriptor)?.linger;
        let met = option.value == Expression::Any || linger(&option.value)? == seen;
        if met { Ok(SUCCESS) } else { Err(Stop::failed("SO_LINGER is otherwise")) }
    }

    /// `TCP_INFO` as a record of the fields that matter.
    fn verify_information(&mut self, option: &SocketOption, host: &Host) -> Step<()> {
        let Expression::Record(fields) = &option.value else { return Ok(()) };
        let Some(index) = self.endpoint(option.descriptor)? else {
            return Err(Stop::unsupported("TCP_INFO of a socket without a connection"));
        };
        let info = tcp_info::information(&host.endpoints[index].connection.tcp_info(host.now));
        for one in fields {
            let name = one.name.as_deref().unwrap_or_default();
            let Some((_, seen)) = info.iter().find(|(known, _)| *known == name) else {
                return Err(Stop::unsupported(format!("the endpoint does not report {name}")));
            };
            one.value.expect_number(name, *seen)?;
        }
        Ok(())
    }
}

/// Errors that do not depend on the socket: numbers of less than four bytes, and options that do
/// not exist or cannot be set.
fn refused_at_once(option: &SocketOption) -> Step<Option<&'static str>> {
    const SHORTEST: i64 = 4;
    if option.name.parse::<i64>().is_ok()
        || matches!(option.name.as_str(), "SO_SNDLOWAT" | "SO_TYPE" | "SO_PROTOCOL" | "SO_ERROR")
        || matches!(option.name.as_str(), "SO_ACCEPTCONN" | "SO_DOMAIN" | "TCP_INFO")
    {
        return Ok(Some("ENOPROTOOPT"));
    }
    // There is no upper-layer protocol.
    if option.name == "TCP_ULP" {
        return Ok(Some("ENOENT"));
    }
    if option.name == "TCP_INQ" && !matches!(option.value.number()?, 0 | 1)
        || option.name == "IP_TTL" && !matches!(option.value.number()?, -1 | 1..=255)
    {
        return Ok(Some("EINVAL"));
    }
    let of_tcp = option.name.starts_with("TCP_") || option.name.starts_with("SO_");
    let is_number = option.value.number().is_ok();
    let short = option.length.is_some_and(|length| (0..SHORTEST).contains(&length));
    let refused = option.length.is_some_and(|length| length < 0) || short && of_tcp && is_number;
    Ok(refused.then_some("EINVAL"))
}

fn linger(record: &Expression) -> Step<Option<Span>> {
    let (on, seconds) =
        (record.required_field("onoff")?.number()?, record.required_field("linger")?.number()?);
    let seconds = u64::try_from(seconds).unwrap_or(0);
    Ok((on != 0).then(|| Span::from_secs(seconds)))
}

/// `{tv_sec=1, tv_usec=0}`; zero means no timeout.
fn timeout(record: &Expression) -> Step<Option<Span>> {
    let part = |name| Ok(u64::try_from(record.required_field(name)?.number()?).unwrap_or(0));
    let time = Span::from_secs(part("tv_sec")?) + Span::from_micros(part("tv_usec")?);
    Ok((time > Span::ZERO).then_some(time))
}

impl Sockets {
    fn set_quick_acknowledgments(
        &mut self,
        option: &SocketOption,
        host: &mut Host,
    ) -> Step<CallProgress> {
        let number = option.value.number()?;
        let number = u32::try_from(number).unwrap_or(1);
        if let Some(index) = self.endpoint(option.descriptor)? {
            host.act(index, |connection| connection.set_quick_acknowledgments(number));
        } else {
            let config = &mut self.get(option.descriptor)?.config;
            config.receiving.starts_interactive = number == 0;
        }
        Ok(SUCCESS)
    }

    pub(super) fn control(
        &mut self,
        descriptor: i64,
        command: &str,
        argument: i64,
    ) -> Step<CallProgress> {
        let socket = self.get(descriptor)?;
        match command {
            "F_GETFL" => {
                let flags = O_RDWR | if socket.nonblocking { O_NONBLOCK } else { 0 };
                Ok(returns(flags))
            }
            "F_SETFL" => {
                socket.nonblocking = argument & O_NONBLOCK != 0;
                Ok(SUCCESS)
            }
            "F_GETFD" | "F_SETFD" => Ok(SUCCESS),
            other => Err(Stop::unsupported(format!("fcntl with {other} is not known here"))),
        }
    }

    pub(super) fn query(
        &mut self,
        descriptor: i64,
        what: &str,
        argument: Option<i64>,
        host: &Host,
    ) -> Step<CallProgress> {
        if what == "FIONBIO" {
            self.get(descriptor)?.nonblocking = argument.unwrap_or(0) != 0;
            return Ok(SUCCESS);
        }
        let connection = match self.get(descriptor)?.role {
            Role::Listening => return Ok(fails("EINVAL")),
            Role::Fresh => None,
            Role::Connected { endpoint, .. } => Some(&host.endpoints[endpoint].connection),
        };
        let bytes = connection.map_or(Ok(0), |connection| waiting(what, connection))?;
        let bytes = i64::try_from(bytes).expect("a buffer is smaller than 2^63 bytes");
        match argument {
            Some(expected) if expected != bytes => {
                Err(Stop::failed(format!("{what}: expected {expected}, seen {bytes}")))
            }
            _ => Ok(SUCCESS),
        }
    }

    /// A transfer to or from nowhere fails where it would touch the bytes; a socket without a
    /// connection has none.
    pub(super) fn fault(&mut self, descriptor: i64, host: &Host) -> Step<CallProgress> {
        let connected = match self.get(descriptor)?.role {
            Role::Connected { endpoint, .. } => !host.endpoints[endpoint].is_over(),
            Role::Fresh | Role::Listening => false,
        };
        Ok(fails(if connected { "EFAULT" } else { "EPIPE" }))
    }

    /// Addresses are not compared; whether there is a peer is.
    pub(super) fn name(
        &mut self,
        descriptor: i64,
        of_peer: bool,
        host: &Host,
    ) -> Step<CallProgress> {
        let has_peer = match self.get(descriptor)?.role {
            Role::Connected { endpoint, .. } => {
                let state = host.endpoints[endpoint].connection.state();
                !matches!(state, State::Closed | State::TimeWait | State::SynSent)
            }
            Role::Fresh | Role::Listening => false,
        };
        Ok(if of_peer && !has_peer { fails("ENOTCONN") } else { SUCCESS })
    }
}

/// Bytes waiting in a connection, of the requested kind.
fn waiting(what: &str, connection: &Connection) -> Step<u64> {
    Ok(match what {
        "SIOCINQ" | "FIONREAD" => u64::from(connection.inquired_bytes()),
        "SIOCATMARK" => u64::from(connection.is_at_mark()),
        "SIOCOUTQ" | "TIOCOUTQ" => connection.unacked_bytes(),
        "SIOCOUTQNSD" => connection.unsent_bytes(),
        other => return Err(Stop::unsupported(format!("ioctl {other} is not known here"))),
    })
}
