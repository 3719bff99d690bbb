//! Socket options.
//!
//! | option | effect |
//! |---|---|
//! | those of `network` | the IP header, and bounds of the time-out |
//! | those of `sending` | switches and constants of the sending half |
//! | those of `receiving` | see there |
//! | `SO_LINGER` | what `close` does |
//! | `SO_RCVLOWAT`, `SO_RCVTIMEO`, `SO_SNDTIMEO` | when reads, writes and polls wait, and how long |
//! | `SO_TIMESTAMPING`, `SO_TIMESTAMPNS`, `SO_TIMESTAMP` | see `stamping` |
//! | `TCP_NODELAY`, `TCP_CONGESTION`, `TCP_SYNCNT`, `TCP_THIN_LINEAR_TIMEOUTS`, `TCP_THIN_DUPACK` | a switch or constant of the endpoint |
//! | `TCP_INQ`, `SO_ZEROCOPY` | see `message` |
//! | `TCP_FASTOPEN`, `TCP_FASTOPEN_CONNECT`, `TCP_FASTOPEN_NO_COOKIE` | see `fast_open` |
//! | `SO_ERROR`, `SO_TYPE`, `SO_PROTOCOL`, `SO_ACCEPTCONN`, `TCP_INFO` | can be asked for |
//! | those of [`HELD`] | none: they are kept and returned, and there is one path, without routing and queues |
//!
//! A value that Linux refuses is refused with its error. Everything else makes a script unsupported.

use super::arguments::field;
use super::constants::{self, value};
use super::request::SocketOption;
use super::sending::{self, OptionSet};
use super::{CallProgress, Role, SUCCESS, Sockets, fails};
use crate::outcome::{Step, Stop};
use crate::run::commands::congestion_named;
use crate::run::host::Host;
use crate::run::tcp_info;
use crate::script::Expression;
use fairwind_tcp::{Config, CongestionAlgorithm, Connection, EarlyRetransmit, Nagle, Profile};
use fairwind_units::Span;
use fairwind_wire::TrafficClass;
use std::sync::Arc;

/// Options that are kept and returned, with what they are before they are set.
const HELD: &[(&str, i64)] = &[
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
                let bytes = value(&option.value)?;
                // Less than nothing is everything (`sock_setsockopt`), which is half of what the
                // buffer can be (`tcp_set_rcvlowat`).
                let receiving = &socket.config.receiving;
                let most = if receiving.buffer_is_set {
                    socket.config.receive_buffer
                } else {
                    receiving.greatest_buffer / 2
                };
                socket.low_water = u32::try_from(bytes).unwrap_or(u32::MAX).min(most).max(1);
                return self.change(option, host);
            }
            "SO_SNDTIMEO" => socket.write_timeout = timeout(&option.value)?,
            name if HELD.iter().any(|(held, _)| *held == name) => {
                let value = value(&option.value)?;
                socket.held.insert(name.to_owned(), value);
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
        if let Some(error) = change_config(&mut config, option, self.profile)? {
            return Ok(fails(error));
        }
        if let Some(index) = self.endpoint(option.descriptor)? {
            let now = host.now;
            host.act(index, |connection| connection.reconfigure(now, Arc::new(config)));
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
                self.judge_information(option, host)?;
                return Ok(SUCCESS);
            }
            "SO_ERROR" => {
                let index = self.endpoint(option.descriptor)?;
                let error = index.and_then(|index| host.endpoints[index].take_error());
                Expression::Integer(error.map_or(0, constants::error_number))
            }
            "SO_LINGER" => return self.judge_linger(option),
            _ => match self.socket_value(option)? {
                Some(number) => Expression::Integer(number),
                None => self.config_value(option, host)?,
            },
        };
        let met = match (&option.value, &seen) {
            (Expression::Any, _) => true,
            (Expression::Text(expected), Expression::Text(seen)) => expected == seen,
            (expected, Expression::Integer(seen)) => value(expected)? == *seen,
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
        let held = HELD.iter().find(|(name, _)| *name == option.name);
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

    fn config_value(&mut self, option: &SocketOption, host: &Host) -> Step<Expression> {
        let config = self.config_of(option.descriptor, host)?;
        let index = self.endpoint(option.descriptor)?;
        let connection = index.map(|index| &host.endpoints[index].connection);
        if let Some(number) = receiving_value(&option.name, &config, connection) {
            return Ok(Expression::Integer(number));
        }
        Ok(match option.name.as_str() {
            "TCP_NODELAY" => Expression::Integer(i64::from(config.nagle == Nagle::Off)),
            "TCP_MAXSEG" => {
                /// `TCP_MSS_DEFAULT`
                const UNKNOWN: u32 = 536;
                let agreed = connection.map(fairwind_tcp::Connection::segment_bytes);
                let asked = config.path.greatest_segment.map(u32::from);
                Expression::Integer(i64::from(agreed.or(asked).unwrap_or(UNKNOWN)))
            }
            "TCP_CONGESTION" => Expression::Text(congestion_name(&config.congestion)?.to_owned()),
            "TCP_SYNCNT" => Expression::Integer(i64::from(config.syn_retries)),
            "TCP_THIN_LINEAR_TIMEOUTS" => Expression::Integer(i64::from(config.linear_timeouts)),
            "IP_TOS" | "IPV6_TCLASS" => {
                let class = connection.map(fairwind_tcp::Connection::traffic_class);
                let class = class.unwrap_or(config.ecn.service);
                Expression::Integer(i64::from(class.octet()))
            }
            "SO_SNDBUF" => {
                let grown = connection.map(fairwind_tcp::Connection::send_buffer);
                Expression::Integer(i64::from(grown.unwrap_or(config.send_buffer)))
            }
            name => {
                let value =
                    sending::value_of(name, &config).or_else(|| network_value(name, &config));
                Expression::Integer(value.ok_or_else(|| {
                    Stop::unsupported(format!("getsockopt {name} is not known here"))
                })?)
            }
        })
    }

    fn judge_linger(&mut self, option: &SocketOption) -> Step<CallProgress> {
        let seen = self.get(option.descriptor)?.linger;
        let met = option.value == Expression::Any || linger(&option.value)? == seen;
        if met { Ok(SUCCESS) } else { Err(Stop::failed("SO_LINGER is otherwise")) }
    }

    /// `TCP_INFO` as a record of the fields that matter.
    fn judge_information(&mut self, option: &SocketOption, host: &Host) -> Step<()> {
        let Expression::Record(fields) = &option.value else { return Ok(()) };
        let Some(index) = self.endpoint(option.descriptor)? else {
            return Err(Stop::unsupported("TCP_INFO of a socket without a connection"));
        };
        let info = tcp_info::information(&host.endpoints[index].connection.information(host.now));
        for one in fields {
            let name = one.name.as_deref().unwrap_or_default();
            let Some((_, seen)) = info.iter().find(|(known, _)| *known == name) else {
                return Err(Stop::unsupported(format!("the endpoint does not report {name}")));
            };
            if one.value != Expression::Any && value(&one.value)? != *seen {
                return Err(Stop::failed(format!("{name}: expected {}, seen {seen}", one.value)));
            }
        }
        Ok(())
    }
}

/// What Linux refuses whatever the socket is: numbers of less than four bytes, and options that
/// there are none of or that cannot be set.
fn refused_at_once(option: &SocketOption) -> Step<Option<&'static str>> {
    const SHORTEST: i64 = 4;
    if option.name.parse::<i64>().is_ok() {
        return Ok(Some("ENOPROTOOPT"));
    }
    if matches!(option.name.as_str(), "SO_SNDLOWAT" | "SO_TYPE" | "SO_PROTOCOL" | "SO_ERROR")
        || matches!(option.name.as_str(), "SO_ACCEPTCONN" | "SO_DOMAIN" | "TCP_INFO")
    {
        return Ok(Some("ENOPROTOOPT"));
    }
    // No protocol lies above TCP here.
    if option.name == "TCP_ULP" {
        return Ok(Some("ENOENT"));
    }
    if option.name == "TCP_INQ" && !matches!(value(&option.value)?, 0 | 1) {
        return Ok(Some("EINVAL"));
    }
    if option.name == "IP_TTL" && !matches!(value(&option.value)?, -1 | 1..=255) {
        return Ok(Some("EINVAL"));
    }
    let of_tcp = option.name.starts_with("TCP_") || option.name.starts_with("SO_");
    let is_number = value(&option.value).is_ok();
    let short = option.length.is_some_and(|length| (0..SHORTEST).contains(&length));
    let refused = option.length.is_some_and(|length| length < 0) || short && of_tcp && is_number;
    Ok(refused.then_some("EINVAL"))
}

fn number_in(record: &Expression, name: &str) -> Step<i64> {
    match field(record, name) {
        Some(expression) => value(expression),
        None => Err(Stop::failed(format!("`{record}` has no field {name}"))),
    }
}

fn linger(record: &Expression) -> Step<Option<Span>> {
    let (on, seconds) = (number_in(record, "onoff")?, number_in(record, "linger")?);
    let seconds = u64::try_from(seconds).unwrap_or(0);
    Ok((on != 0).then(|| Span::from_secs(seconds)))
}

/// `{tv_sec=1, tv_usec=0}`; nothing at all is for ever.
fn timeout(record: &Expression) -> Step<Option<Span>> {
    let part = |name| Ok(u64::try_from(number_in(record, name)?).unwrap_or(0));
    let time = Span::from_secs(part("tv_sec")?) + Span::from_micros(part("tv_usec")?);
    Ok((time > Span::ZERO).then_some(time))
}

/// Changes a switch; returns the error where Linux refuses the value.
fn change_config(
    config: &mut Config,
    option: &SocketOption,
    profile: Profile,
) -> Step<Option<&'static str>> {
    if option.name == "TCP_CONGESTION" {
        let Expression::Text(name) = &option.value else {
            return Err(Stop::failed("TCP_CONGESTION needs a name in double quotes"));
        };
        config.congestion = match congestion_named(name, profile) {
            Ok(congestion) => congestion,
            Err(_) if !KNOWN_CONGESTION_CONTROLS.contains(&name.as_str()) => {
                return Ok(Some("ENOENT"));
            }
            Err(stop) => return Err(stop),
        };
        return Ok(None);
    }
    let number = value(&option.value)?;
    if change_receiving(config, &option.name, number, profile) {
        return Ok(None);
    }
    let within = |least: i64, most: i64| {
        u32::try_from(number).ok().filter(|_| (least..=most).contains(&number))
    };
    match sending::set(&option.name, number, config) {
        OptionSet::Done => return Ok(None),
        OptionSet::Refused(error) => return Ok(Some(error)),
        OptionSet::Unknown => {}
    }
    match set_network(&option.name, number, config) {
        OptionSet::Done => return Ok(None),
        OptionSet::Refused(error) => return Ok(Some(error)),
        OptionSet::Unknown => {}
    }
    match option.name.as_str() {
        "TCP_NODELAY" => config.nagle = if number != 0 { Nagle::Off } else { profile.nagle() },
        "TCP_SYNCNT" => {
            let Some(times) = within(1, 127) else { return Ok(Some("EINVAL")) };
            config.syn_retries = times;
        }
        "TCP_THIN_LINEAR_TIMEOUTS" => {
            let Some(on) = within(0, 1) else { return Ok(Some("EINVAL")) };
            config.linear_timeouts = on != 0;
        }
        "TCP_THIN_DUPACK" => {
            let Some(on) = within(0, 1) else { return Ok(Some("EINVAL")) };
            config.modified_fast_retransmit = on != 0;
            if on != 0 {
                // As Linux did: a socket that asks for the one does without the other.
                config.loss.early_retransmit = EarlyRetransmit::Off;
            }
        }
        other => {
            return Err(Stop::unsupported(format!("the endpoint has nothing for {other}")));
        }
    }
    Ok(None)
}

/// Congestion controls that a kernel may have; others do not exist there either.
const KNOWN_CONGESTION_CONTROLS: [&str; 16] = [
    "bbr",
    "bic",
    "cdg",
    "cubic",
    "dctcp",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "lp",
    "nv",
    "reno",
    "scalable",
    "vegas",
    "veno",
    "westwood",
];

fn congestion_name(algorithm: &CongestionAlgorithm) -> Step<&str> {
    match algorithm {
        CongestionAlgorithm::Reno => Ok("reno"),
        CongestionAlgorithm::Bic => Ok("bic"),
        CongestionAlgorithm::Plugged(algorithm) => Ok(algorithm.0.name()),
        CongestionAlgorithm::CubicLinux | CongestionAlgorithm::Cubic9438 => Ok("cubic"),
        _ => Err(Stop::unsupported("this congestion control has no name here")),
    }
}

/// Half of the least memory of a receive buffer (`SOCK_MIN_RCVBUF`).
const LEAST_BUFFER: u32 = 1152;
/// Longest time of `TCP_LINGER2` (`TCP_FIN_TIMEOUT_MAX`).
const LONGEST_LINGER_SECONDS: u64 = 120;

/// Changes a switch of the receiving half; says whether the option is one of its.
fn change_receiving(config: &mut Config, name: &str, number: i64, profile: Profile) -> bool {
    let bytes = u32::try_from(number.clamp(0, 1 << 30)).unwrap_or(u32::MAX);
    let receiving = &mut config.receiving;
    match name {
        "SO_RCVBUF" | "SO_RCVBUFFORCE" => {
            let forced = name == "SO_RCVBUFFORCE" || receiving.greatest_request == 0;
            let most = if forced { u32::MAX } else { receiving.greatest_request };
            config.receive_buffer = bytes.min(most).max(LEAST_BUFFER);
            receiving.buffer_is_set = true;
        }
        "SO_RCVLOWAT" => receiving.low_water = bytes.max(1),
        "TCP_WINDOW_CLAMP" => {
            receiving.window_clamp = (bytes > 0).then(|| bytes.max(LEAST_BUFFER));
        }
        "TCP_LINGER2" => {
            receiving.finish_timeout = match u64::try_from(number) {
                Ok(0) => profile.config().receiving.finish_timeout,
                Ok(seconds) => Some(Span::from_secs(seconds.min(LONGEST_LINGER_SECONDS))),
                Err(_) => None,
            };
        }
        "TCP_DEFER_ACCEPT" => receiving.deferred_timeouts = timeouts_within(number),
        "SO_OOBINLINE" => receiving.urgent_in_line = number != 0,
        _ => return false,
    }
    true
}

/// How many time-outs of 1, 2, 4... seconds fill so many seconds (`secs_to_retrans`).
fn timeouts_within(seconds: i64) -> u32 {
    let (mut timeouts, mut filled, mut next) = (0, 0, 1);
    while filled < seconds {
        filled += next;
        next = (next * 2).min(120);
        timeouts += 1;
    }
    timeouts
}

/// How many seconds so many time-outs fill (`retrans_to_secs`).
fn seconds_of(timeouts: u32) -> i64 {
    (0..timeouts).scan(1, |next, _| Some(std::mem::replace(next, (*next * 2).min(120)))).sum()
}

/// The value of an option of the receiving half.
fn receiving_value(name: &str, config: &Config, connection: Option<&Connection>) -> Option<i64> {
    let receiving = &config.receiving;
    Some(match name {
        "SO_RCVBUF" => i64::from(
            connection.map_or(config.receive_buffer.saturating_mul(2), Connection::receive_memory),
        ),
        "TCP_WINDOW_CLAMP" => i64::from(
            connection.map(Connection::window_clamp).or(receiving.window_clamp).unwrap_or(0),
        ),
        "TCP_QUICKACK" => {
            let waits = connection.map_or(receiving.starts_interactive, Connection::is_interactive);
            i64::from(!waits)
        }
        "TCP_LINGER2" => receiving
            .finish_timeout
            .map_or(-1, |wait| i64::try_from(wait.as_millis() / 1000).unwrap_or(i64::MAX)),
        "SO_OOBINLINE" => i64::from(receiving.urgent_in_line),
        "TCP_DEFER_ACCEPT" => seconds_of(receiving.deferred_timeouts),
        _ => return None,
    })
}

impl Sockets {
    pub(super) fn set_quick_acknowledgments(
        &mut self,
        option: &SocketOption,
        host: &mut Host,
    ) -> Step<CallProgress> {
        let number = value(&option.value)?;
        let number = u32::try_from(number).unwrap_or(1);
        if let Some(index) = self.endpoint(option.descriptor)? {
            host.act(index, |connection| connection.set_quick_acknowledgments(number));
        } else {
            let config = &mut self.get(option.descriptor)?.config;
            config.receiving.starts_interactive = number == 0;
        }
        Ok(SUCCESS)
    }
}

/// Changes a timer or a field of the IP header.
fn set_network(name: &str, number: i64, config: &mut Config) -> OptionSet {
    let within = |least: u64, most: u64| {
        u64::try_from(number).ok().filter(|number| (least..=most).contains(number))
    };
    let done = match name {
        "IP_TOS" | "IPV6_TCLASS" => {
            // One octet of it counts, and of that not the two lowest bits (`__ip_sock_set_tos`).
            let octet = u8::try_from(number.cast_unsigned() & 0xfc).ok();
            octet.map(|octet| config.ecn.service = TrafficClass::new(octet))
        }
        "TCP_RTO_MAX_MS" => within(1000, 120_000).map(|millis| {
            config.maximum_rto = Span::from_millis(millis);
        }),
        "TCP_RTO_MIN_US" => within(1, 200_000).map(|micros| {
            config.minimum_rto = Span::from_micros(micros);
        }),
        _ => return OptionSet::Unknown,
    };
    done.map_or(OptionSet::Refused("EINVAL"), |()| OptionSet::Done)
}

/// The value of a timer.
fn network_value(name: &str, config: &Config) -> Option<i64> {
    Some(match name {
        "TCP_RTO_MAX_MS" => i64::try_from(config.maximum_rto.as_millis()).unwrap_or(i64::MAX),
        "TCP_RTO_MIN_US" => i64::try_from(config.minimum_rto.as_micros()).unwrap_or(i64::MAX),
        _ => return None,
    })
}
