//! Socket options of the sending half.
//!
//! | option | values | effect |
//! |---|---|---|
//! | `SO_SNDBUF` | any | the send buffer is twice the value within Linux' bounds, and grows no more |
//! | `TCP_CORK`, `SO_KEEPALIVE` | any | a switch of the endpoint |
//! | `SO_MAX_PACING_RATE` | any | bounds the rate of sending, and paces from then on |
//! | `TCP_MAXSEG` | 88 to 32767 | bounds segments both ways |
//! | `TCP_NOTSENT_LOWAT`, `TCP_USER_TIMEOUT` | any; at least 0 | a constant of the endpoint |
//! | `TCP_KEEPIDLE`, `TCP_KEEPINTVL`, `TCP_KEEPCNT` | from 1 to 32767, 32767, 127 | constants of the endpoint |
//! | `IP_RECVERR`, `IPV6_RECVERR` | any | complaints of the path are errors at once |
//! | `IP_MTU_DISCOVER`, `IPV6_MTU_DISCOVER` | 0 to 5 | whether complaints of the path count |

use fairwind_tcp::{Config, MtuDiscovery, SendBufferRule};
use fairwind_units::Span;

/// What became of an option.
pub(super) enum OptionSet {
    Done,
    /// Linux refuses the value with this error.
    Refused(&'static str),
    /// The option is none of these.
    Unknown,
}

/// Sets an option of the sending half.
pub(super) fn set(name: &str, number: i64, config: &mut Config) -> OptionSet {
    let within = |least: i64, most: i64| {
        u32::try_from(number).ok().filter(|_| (least..=most).contains(&number))
    };
    let done = match name {
        "SO_SNDBUF" | "SO_SNDBUFFORCE" => {
            set_send_buffer(config, number);
            Some(())
        }
        "SO_MAX_PACING_RATE" => {
            set_greatest_rate(config, number);
            Some(())
        }
        "TCP_CORK" => {
            config.sending.cork = number != 0;
            Some(())
        }
        "TCP_NOTSENT_LOWAT" => {
            config.sending.unsent_low_water =
                u32::try_from(number).ok().filter(|&bytes| bytes != 0 && bytes != u32::MAX);
            Some(())
        }
        "SO_KEEPALIVE" => {
            config.liveness.keep_alive.enabled = number != 0;
            Some(())
        }
        "TCP_MAXSEG" if number == 0 => {
            config.path.greatest_segment = None;
            Some(())
        }
        "TCP_MAXSEG" => within(88, 32_767).map(|bytes| {
            let bytes = u16::try_from(bytes).unwrap_or(u16::MAX);
            config.mss = config.mss.min(bytes);
            config.path.greatest_segment = Some(bytes);
        }),
        "TCP_USER_TIMEOUT" => within(0, i64::from(i32::MAX)).map(|millis| {
            let limit = Span::from_millis(u64::from(millis));
            config.liveness.user_timeout = (!limit.is_zero()).then_some(limit);
        }),
        "TCP_KEEPIDLE" => within(1, 32_767).map(|seconds| {
            config.liveness.keep_alive.idle = Span::from_secs(u64::from(seconds));
        }),
        "TCP_KEEPINTVL" => within(1, 32_767).map(|seconds| {
            config.liveness.keep_alive.interval = Span::from_secs(u64::from(seconds));
        }),
        "TCP_KEEPCNT" => within(1, 127).map(|probes| config.liveness.keep_alive.probes = probes),
        "IP_RECVERR" | "IPV6_RECVERR" => {
            config.path.reports_icmp_errors = number != 0;
            Some(())
        }
        "IP_MTU_DISCOVER" | "IPV6_MTU_DISCOVER" => {
            within(0, 5).map(|mode| config.path.discovery = discovery(mode))
        }
        _ => return OptionSet::Unknown,
    };
    done.map_or(OptionSet::Refused("EINVAL"), |()| OptionSet::Done)
}

/// What an option of the sending half is at present.
pub(super) fn value_of(name: &str, config: &Config) -> Option<i64> {
    let seconds = |span: Span| i64::try_from(span.as_millis() / 1000).unwrap_or(i64::MAX);
    Some(match name {
        // -1 where there is no bound.
        "SO_MAX_PACING_RATE" => {
            let greatest = config.sending.pacing.greatest_bytes_per_second;
            greatest.and_then(|rate| i64::try_from(rate).ok()).unwrap_or(-1)
        }
        "TCP_CORK" => i64::from(config.sending.cork),
        "TCP_NOTSENT_LOWAT" => i64::from(config.sending.unsent_low_water.unwrap_or(0)),
        "IP_RECVERR" | "IPV6_RECVERR" => i64::from(config.path.reports_icmp_errors),
        "SO_KEEPALIVE" => i64::from(config.liveness.keep_alive.enabled),
        "TCP_KEEPIDLE" => seconds(config.liveness.keep_alive.idle),
        "TCP_KEEPINTVL" => seconds(config.liveness.keep_alive.interval),
        "TCP_KEEPCNT" => i64::from(config.liveness.keep_alive.probes),
        "TCP_USER_TIMEOUT" => {
            let limit = config.liveness.user_timeout.map_or(0, Span::as_millis);
            i64::try_from(limit).unwrap_or(i64::MAX)
        }
        _ => return None,
    })
}

/// A bound makes the socket pace, for good.
fn set_greatest_rate(config: &mut Config, bytes_per_second: i64) {
    let rate = u32::try_from(bytes_per_second & i64::from(u32::MAX)).unwrap_or(u32::MAX);
    let pacing = &mut config.sending.pacing;
    pacing.greatest_bytes_per_second = (rate != u32::MAX).then_some(u64::from(rate));
    pacing.enabled |= rate != u32::MAX;
}

/// Linux doubles what is asked for, within bounds, and does not let the buffer grow any more.
fn set_send_buffer(config: &mut Config, bytes: i64) {
    /// `net.core.wmem_max`
    const GREATEST: i64 = 4_194_304;
    /// `SOCK_MIN_SNDBUF`
    const LEAST: u32 = 4608;
    let bounded = u32::try_from(bytes.clamp(0, GREATEST)).unwrap_or(0) * 2;
    match &mut config.sending.buffer_rule {
        SendBufferRule::Memory { greatest, .. } => {
            *greatest = None;
            config.send_buffer = bounded.max(LEAST);
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
