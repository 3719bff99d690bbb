//! Socket options.
//!
//! | option | effect |
//! |---|---|
//! | `SO_SNDBUF` | the send buffer is twice the value, as Linux doubles it |
//! | `SO_RCVBUF` | the receive buffer is the value: half of what Linux doubles it to is for payload |
//! | `SO_LINGER` | what `close` does |
//! | `TCP_NODELAY`, `TCP_MAXSEG`, `TCP_CONGESTION`, `TCP_SYNCNT`, `TCP_THIN_LINEAR_TIMEOUTS`, `TCP_THIN_DUPACK` | a switch or constant of the endpoint |
//! | `SO_REUSEADDR`, `SO_REUSEPORT`, `SO_MARK`, `SO_PRIORITY`, `IP_TOS`, `IPV6_TCLASS`, `IP_MTU_DISCOVER`, `IPV6_MTU_DISCOVER`, `IPV6_V6ONLY`, `IP_BIND_ADDRESS_NO_PORT` | none: there is one path, without routing and queues |
//! | `TCP_CORK`, `SO_KEEPALIVE` with 0 | none: the endpoint does not do it anyway |
//!
//! Everything else makes a script unsupported.

use super::arguments::field;
use super::constants::{self, value};
use super::request::SocketOption;
use super::{Attempt, SUCCESS, Sockets};
use crate::outcome::{Step, Stop};
use crate::run::commands::congestion_named;
use crate::run::host::Host;
use crate::script::Expression;
use fairwind_tcp::{Config, CongestionAlgorithm, Nagle, Profile};
use fairwind_units::Span;
use std::sync::Arc;

impl Sockets {
    pub(super) fn set_option(&mut self, option: &SocketOption, host: &mut Host) -> Step<Attempt> {
        match option.name.as_str() {
            "SO_LINGER" => {
                self.get(option.descriptor)?.linger = linger(&option.value)?;
                Ok(SUCCESS)
            }
            "SO_REUSEADDR"
            | "SO_REUSEPORT"
            | "SO_MARK"
            | "SO_PRIORITY"
            | "IP_TOS"
            | "IPV6_TCLASS"
            | "IP_MTU_DISCOVER"
            | "IPV6_MTU_DISCOVER"
            | "IPV6_V6ONLY"
            | "IP_BIND_ADDRESS_NO_PORT" => self.get(option.descriptor).map(|_| SUCCESS),
            "TCP_CORK" | "SO_KEEPALIVE" if value(&option.value)? == 0 => {
                self.get(option.descriptor).map(|_| SUCCESS)
            }
            _ => self.change(option, host),
        }
    }

    /// Sets a switch of the endpoint.
    fn change(&mut self, option: &SocketOption, host: &mut Host) -> Step<Attempt> {
        let mut config = self.config_of(option.descriptor, host)?;
        change_config(&mut config, option, self.profile)?;
        if let Some(index) = self.endpoint(option.descriptor)? {
            host.act(index, |connection| connection.reconfigure(Arc::new(config)));
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

    pub(super) fn get_option(&mut self, option: &SocketOption, host: &mut Host) -> Step<Attempt> {
        let config = self.config_of(option.descriptor, host)?;
        let index = self.endpoint(option.descriptor)?;
        let seen = match option.name.as_str() {
            "SO_ERROR" => {
                let error = index.and_then(|index| host.endpoints[index].error.take());
                Expression::Integer(error.map_or(0, constants::error_number))
            }
            "TCP_NODELAY" => Expression::Integer(i64::from(config.nagle == Nagle::Off)),
            "TCP_MAXSEG" => {
                let agreed = index.map(|index| host.endpoints[index].connection.segment_bytes());
                Expression::Integer(i64::from(agreed.unwrap_or_else(|| u32::from(config.mss))))
            }
            "TCP_CONGESTION" => Expression::Text(congestion_name(config.congestion)?.to_owned()),
            "SO_SNDBUF" => Expression::Integer(i64::from(config.send_buffer)),
            other => {
                return Err(Stop::unsupported(format!("getsockopt {other} is not known here")));
            }
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
}

fn linger(record: &Expression) -> Step<Option<Span>> {
    let number = |name| match field(record, name) {
        Some(expression) => value(expression),
        None => Err(Stop::failed(format!("`{record}` has no field {name}"))),
    };
    let (on, seconds) = (number("onoff")?, number("linger")?);
    let seconds = u64::try_from(seconds).unwrap_or(0);
    Ok((on != 0).then(|| Span::from_secs(seconds)))
}

fn change_config(config: &mut Config, option: &SocketOption, profile: Profile) -> Step<()> {
    let number = || value(&option.value);
    let small = |least: i64, most: i64| -> Step<u32> {
        let number = number()?;
        u32::try_from(number).ok().filter(|_| (least..=most).contains(&number)).ok_or_else(|| {
            Stop::unsupported(format!("{} = {number} is not from {least} to {most}", option.name))
        })
    };
    match option.name.as_str() {
        "SO_SNDBUF" => config.send_buffer = small(1, 1 << 29)? * 2,
        "SO_RCVBUF" => config.receive_buffer = small(1, 1 << 30)?,
        "TCP_NODELAY" => config.nagle = if number()? != 0 { Nagle::Off } else { profile.nagle() },
        "TCP_MAXSEG" => {
            let bytes = small(88, 32_767)?;
            config.mss = config.mss.min(u16::try_from(bytes).expect("at most 32767"));
        }
        "TCP_SYNCNT" => config.syn_retries = small(1, 127)?,
        "TCP_THIN_LINEAR_TIMEOUTS" => config.linear_timeouts = number()? != 0,
        "TCP_THIN_DUPACK" => config.modified_fast_retransmit = number()? != 0,
        "TCP_CONGESTION" => {
            let Expression::Text(name) = &option.value else {
                return Err(Stop::failed("TCP_CONGESTION needs a name in double quotes"));
            };
            config.congestion = congestion_named(name, profile)?;
        }
        other => {
            return Err(Stop::unsupported(format!("the endpoint has nothing for {other}")));
        }
    }
    Ok(())
}

fn congestion_name(algorithm: CongestionAlgorithm) -> Step<&'static str> {
    match algorithm {
        CongestionAlgorithm::Reno => Ok("reno"),
        CongestionAlgorithm::Bic => Ok("bic"),
        CongestionAlgorithm::CubicLinux | CongestionAlgorithm::Cubic9438 => Ok("cubic"),
        _ => Err(Stop::unsupported("this congestion control has no name here")),
    }
}
