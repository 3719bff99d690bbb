//! Socket options of the receiving half.
//!
//! | option | effect |
//! |---|---|
//! | `SO_RCVBUF`, `SO_RCVBUFFORCE` | the receive buffer has twice the value of memory, and does not grow |
//! | `TCP_WINDOW_CLAMP` | largest window offered |
//! | `TCP_QUICKACK` | whether acknowledgments wait for answers |
//! | `TCP_LINGER2` | how long an orphan waits for the peer's FIN |
//! | `TCP_DEFER_ACCEPT` | a bare ACK does not end the handshake for so long |
//! | `SO_OOBINLINE` | urgent data stays in line |

use super::constants::value;
use super::request::SocketOption;
use super::{Attempt, SUCCESS, Sockets};
use crate::outcome::Step;
use crate::run::host::Host;
use fairwind_tcp::{Config, Connection, Profile};
use fairwind_units::Span;

/// Half of the least memory of a receive buffer (`SOCK_MIN_RCVBUF`).
const LEAST_BUFFER: u32 = 1152;
/// Longest time of `TCP_LINGER2` (`TCP_FIN_TIMEOUT_MAX`).
const LONGEST_LINGER_SECONDS: u64 = 120;

/// Changes a switch of the receiving half; says whether the option is one of its.
pub(super) fn change(config: &mut Config, name: &str, number: i64, profile: Profile) -> bool {
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

/// What can be asked for.
pub(super) fn told(name: &str, config: &Config, connection: Option<&Connection>) -> Option<i64> {
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
    ) -> Step<Attempt> {
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
