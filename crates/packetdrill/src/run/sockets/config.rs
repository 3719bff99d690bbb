//! Socket options that are settings of the endpoint.
//!
//! | option | values | effect |
//! |---|---|---|
//! | `SO_SNDBUF` | any | the send buffer is twice the value within Linux' bounds, and grows no more |
//! | `TCP_CORK`, `SO_KEEPALIVE`, `TCP_NODELAY`, `SO_OOBINLINE` | any | a switch of the endpoint |
//! | `SO_MAX_PACING_RATE` | any | bounds the rate of sending, and paces from then on |
//! | `TCP_CONGESTION` | a name | the congestion control |
//! | `TCP_MAXSEG` | 88 to 32767 | bounds segments both ways |
//! | `TCP_NOTSENT_LOWAT`, `TCP_USER_TIMEOUT` | any; at least 0 | a constant of the endpoint |
//! | `TCP_KEEPIDLE`, `TCP_KEEPINTVL`, `TCP_KEEPCNT` | from 1 to 32767, 32767, 127 | constants of the endpoint |
//! | `TCP_SYNCNT` | 1 to 127 | how often a SYN is sent again |
//! | `TCP_THIN_LINEAR_TIMEOUTS`, `TCP_THIN_DUPACK` | 0, 1 | a switch of the endpoint |
//! | `TCP_RTO_MIN_US`, `TCP_RTO_MAX_MS` | 1 to 200000, 1000 to 120000 | bounds of the time-out |
//! | `IP_RECVERR`, `IPV6_RECVERR` | any | ICMP errors are reported immediately |
//! | `IP_MTU_DISCOVER`, `IPV6_MTU_DISCOVER` | 0 to 5 | whether ICMP errors change the packet size |
//! | `IP_TOS`, `IPV6_TCLASS` | any | the octet of the IP header, without its ECN bits |
//! | `SO_RCVBUF`, `SO_RCVLOWAT`, `TCP_WINDOW_CLAMP` | any | the receive buffer, its low-water mark and its window |
//! | `TCP_LINGER2`, `TCP_DEFER_ACCEPT` | any | how long a connection waits for the FIN, or for data |

use super::request::SocketOption;
use crate::outcome::{Step, Stop};
use crate::run::commands::congestion_named;
use crate::script::Expression;
use fairwind_tcp::{
    Config, CongestionAlgorithm, Connection, EarlyRetransmit, MtuDiscovery, Nagle, Profile,
    SendBufferRule,
};
use fairwind_units::Span;
use fairwind_wire::TrafficClass;

/// Sets an option; returns the error where Linux refuses the value.
pub(super) fn set(
    config: &mut Config,
    option: &SocketOption,
    profile: Profile,
) -> Step<Option<&'static str>> {
    let name = option.name.as_str();
    if name == "TCP_CONGESTION" {
        return set_congestion(config, &option.value, profile);
    }
    let number = option.value.number()?;
    if set_unbounded(name, number, config, profile) {
        return Ok(None);
    }
    match set_bounded(name, number, config) {
        Some(true) => Ok(None),
        Some(false) => Ok(Some("EINVAL")),
        None => Err(Stop::unsupported(format!("the endpoint has nothing for {name}"))),
    }
}

fn set_congestion(
    config: &mut Config,
    value: &Expression,
    profile: Profile,
) -> Step<Option<&'static str>> {
    let Expression::Text(name) = value else {
        return Err(Stop::failed("TCP_CONGESTION needs a name in double quotes"));
    };
    config.congestion = match congestion_named(name, profile) {
        Ok(congestion) => congestion,
        Err(_) if !KNOWN_CONGESTION_CONTROLS.contains(&name.as_str()) => {
            return Ok(Some("ENOENT"));
        }
        Err(stop) => return Err(stop),
    };
    Ok(None)
}

/// Half of the minimum memory of a receive buffer (`SOCK_MIN_RCVBUF`).
const MIN_BUFFER: u32 = 1152;
/// Longest time of `TCP_LINGER2` (`TCP_FIN_TIMEOUT_MAX`).
const LONGEST_LINGER_SECONDS: u64 = 120;

/// Sets an option that takes any number; `false` where it is another one.
fn set_unbounded(name: &str, number: i64, config: &mut Config, profile: Profile) -> bool {
    let bytes = u32::try_from(number.clamp(0, 1 << 30)).unwrap_or(u32::MAX);
    let receiving = &mut config.receiving;
    match name {
        "SO_SNDBUF" | "SO_SNDBUFFORCE" => set_send_buffer(config, number),
        "SO_MAX_PACING_RATE" => set_max_pacing_rate(config, number),
        "SO_KEEPALIVE" => config.liveness.keep_alive.enabled = number != 0,
        "TCP_CORK" => config.sending.cork = number != 0,
        "TCP_NODELAY" => config.nagle = if number != 0 { Nagle::Off } else { profile.nagle() },
        "TCP_NOTSENT_LOWAT" => {
            config.sending.unsent_low_water =
                u32::try_from(number).ok().filter(|&bytes| bytes != 0 && bytes != u32::MAX);
        }
        "TCP_MAXSEG" if number == 0 => config.path.max_segment = None,
        "IP_RECVERR" | "IPV6_RECVERR" => config.path.reports_icmp_errors = number != 0,
        "IP_TOS" | "IPV6_TCLASS" => {
            // One octet of it counts, and of that not the two lowest bits (`__ip_sock_set_tos`).
            let octet = u8::try_from(number.cast_unsigned() & 0xfc).unwrap_or(0);
            config.ecn.service = TrafficClass::new(octet);
        }
        "SO_RCVBUF" | "SO_RCVBUFFORCE" => {
            let forced = name == "SO_RCVBUFFORCE" || receiving.max_request == 0;
            let max = if forced { u32::MAX } else { receiving.max_request };
            config.receive_buffer = bytes.min(max).max(MIN_BUFFER);
            receiving.buffer_is_set = true;
        }
        "SO_RCVLOWAT" => receiving.low_water = bytes.max(1),
        "SO_OOBINLINE" => receiving.urgent_in_line = number != 0,
        "TCP_WINDOW_CLAMP" => {
            receiving.window_clamp = (bytes > 0).then(|| bytes.max(MIN_BUFFER));
        }
        "TCP_LINGER2" => {
            receiving.finish_timeout = match u64::try_from(number) {
                Ok(0) => profile.config().receiving.finish_timeout,
                Ok(seconds) => Some(Span::from_secs(seconds.min(LONGEST_LINGER_SECONDS))),
                Err(_) => None,
            };
        }
        "TCP_DEFER_ACCEPT" => receiving.deferred_timeouts = timeouts_within(number),
        _ => return false,
    }
    true
}

/// Sets an option with a bounded number; returns whether the value is within bounds, or `None` for
/// another option.
fn set_bounded(name: &str, number: i64, config: &mut Config) -> Option<bool> {
    let within =
        |min: i64, max: i64| u32::try_from(number).ok().filter(|_| (min..=max).contains(&number));
    let seconds_within = |max| within(1, max).map(|seconds| Span::from_secs(seconds.into()));
    let set = match name {
        "TCP_MAXSEG" => within(88, 32_767).map(|bytes| {
            let bytes = u16::try_from(bytes).unwrap_or(u16::MAX);
            config.mss = config.mss.min(bytes);
            config.path.max_segment = Some(bytes);
        }),
        "TCP_USER_TIMEOUT" => within(0, i64::from(i32::MAX)).map(|millis| {
            let limit = Span::from_millis(u64::from(millis));
            config.liveness.user_timeout = (!limit.is_zero()).then_some(limit);
        }),
        "TCP_KEEPIDLE" => seconds_within(32_767).map(|idle| config.liveness.keep_alive.idle = idle),
        "TCP_KEEPINTVL" => {
            seconds_within(32_767).map(|interval| config.liveness.keep_alive.interval = interval)
        }
        "TCP_KEEPCNT" => within(1, 127).map(|probes| config.liveness.keep_alive.probes = probes),
        "IP_MTU_DISCOVER" | "IPV6_MTU_DISCOVER" => {
            within(0, 5).map(|mode| config.path.discovery = discovery(mode))
        }
        "TCP_RTO_MAX_MS" => within(1000, 120_000)
            .map(|millis| config.maximum_rto = Span::from_millis(millis.into())),
        "TCP_RTO_MIN_US" => {
            within(1, 200_000).map(|micros| config.minimum_rto = Span::from_micros(micros.into()))
        }
        "TCP_SYNCNT" => within(1, 127).map(|times| config.syn_retries = times),
        "TCP_THIN_LINEAR_TIMEOUTS" => within(0, 1).map(|on| config.linear_timeouts = on != 0),
        "TCP_THIN_DUPACK" => within(0, 1).map(|on| {
            config.modified_fast_retransmit = on != 0;
            if on != 0 {
                // As in Linux, a socket that switches one on does without the other.
                config.loss.early_retransmit = EarlyRetransmit::Off;
            }
        }),
        _ => return None,
    };
    Some(set.is_some())
}

/// A bound makes the socket pace, for good.
fn set_max_pacing_rate(config: &mut Config, bytes_per_second: i64) {
    let rate = u32::try_from(bytes_per_second & i64::from(u32::MAX)).unwrap_or(u32::MAX);
    let pacing = &mut config.sending.pacing;
    pacing.max_bytes_per_second = (rate != u32::MAX).then_some(u64::from(rate));
    pacing.enabled |= rate != u32::MAX;
}

/// Sets the send buffer to twice the value, within bounds, and stops autotuning.
fn set_send_buffer(config: &mut Config, bytes: i64) {
    /// `net.core.wmem_max`
    const MAX: i64 = 4_194_304;
    /// `SOCK_MIN_SNDBUF`
    const MIN: u32 = 4608;
    let bounded = u32::try_from(bytes.clamp(0, MAX)).unwrap_or(0) * 2;
    match &mut config.sending.buffer_rule {
        SendBufferRule::Memory { max, .. } => {
            *max = None;
            config.send_buffer = bounded.max(MIN);
        }
        _ => config.send_buffer = bounded.max(2),
    }
}

/// `IP_PMTUDISC_DONT`, `_WANT`, `_DO`, `_PROBE`, `_INTERFACE`, `_OMIT`.
fn discovery(mode: u32) -> MtuDiscovery {
    match mode {
        0 => MtuDiscovery::Off,
        1 | 2 => MtuDiscovery::On,
        _ => MtuDiscovery::Ignored,
    }
}

/// How many time-outs of 1, 2, 4... seconds fit in `seconds` (`secs_to_retrans`).
fn timeouts_within(seconds: i64) -> u32 {
    let (mut timeouts, mut filled, mut next) = (0, 0, 1);
    while filled < seconds {
        filled += next;
        next = (next * 2).min(120);
        timeouts += 1;
    }
    timeouts
}

/// Duration of `timeouts` time-outs in seconds (`retrans_to_secs`).
fn seconds_of(timeouts: u32) -> i64 {
    (0..timeouts).scan(1, |next, _| Some(std::mem::replace(next, (*next * 2).min(120)))).sum()
}

pub(super) fn value_of(
    name: &str,
    config: &Config,
    connection: Option<&Connection>,
) -> Step<Expression> {
    if name == "TCP_CONGESTION" {
        return Ok(Expression::Text(congestion_name(&config.congestion)?.to_owned()));
    }
    let number = sending_value(name, config, connection)
        .or_else(|| receiving_value(name, config, connection))
        .ok_or_else(|| Stop::unsupported(format!("getsockopt {name} is not known here")))?;
    Ok(Expression::Integer(number))
}

fn sending_value(name: &str, config: &Config, connection: Option<&Connection>) -> Option<i64> {
    /// `TCP_MSS_DEFAULT`
    const UNKNOWN_MSS: u32 = 536;
    let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let seconds = |span: Span| whole(span.as_millis() / 1000);
    Some(match name {
        // -1 where there is no bound.
        "SO_MAX_PACING_RATE" => {
            let max = config.sending.pacing.max_bytes_per_second;
            max.and_then(|rate| i64::try_from(rate).ok()).unwrap_or(-1)
        }
        "SO_SNDBUF" => connection.map_or(config.send_buffer, Connection::send_buffer).into(),
        "SO_KEEPALIVE" => i64::from(config.liveness.keep_alive.enabled),
        "TCP_NODELAY" => i64::from(config.nagle == Nagle::Off),
        "TCP_CORK" => i64::from(config.sending.cork),
        "TCP_NOTSENT_LOWAT" => i64::from(config.sending.unsent_low_water.unwrap_or(0)),
        "TCP_MAXSEG" => {
            let agreed = connection.map(Connection::segment_bytes);
            let asked = config.path.max_segment.map(u32::from);
            i64::from(agreed.or(asked).unwrap_or(UNKNOWN_MSS))
        }
        "TCP_SYNCNT" => i64::from(config.syn_retries),
        "TCP_THIN_LINEAR_TIMEOUTS" => i64::from(config.linear_timeouts),
        "TCP_KEEPIDLE" => seconds(config.liveness.keep_alive.idle),
        "TCP_KEEPINTVL" => seconds(config.liveness.keep_alive.interval),
        "TCP_KEEPCNT" => i64::from(config.liveness.keep_alive.probes),
        "TCP_USER_TIMEOUT" => whole(config.liveness.user_timeout.map_or(0, Span::as_millis)),
        "TCP_RTO_MAX_MS" => whole(config.maximum_rto.as_millis()),
        "TCP_RTO_MIN_US" => whole(config.minimum_rto.as_micros()),
        "IP_RECVERR" | "IPV6_RECVERR" => i64::from(config.path.reports_icmp_errors),
        "IP_TOS" | "IPV6_TCLASS" => {
            let class = connection.map_or(config.ecn.service, Connection::traffic_class);
            i64::from(class.octet())
        }
        _ => return None,
    })
}

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

/// Congestion controls that a kernel may have; other names do not exist there either.
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
