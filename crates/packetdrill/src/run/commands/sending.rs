//! Kernel parameters of the sending half.

use super::{number, unknown};
use crate::outcome::Step;
use fairwind_tcp::{Bundling, Config, MtuDiscovery, MtuProbing};
use fairwind_units::Span;

/// Sets a parameter of the sending half; says whether it is one.
pub(super) fn set(short: &str, value: &str, config: &mut Config) -> Step<bool> {
    Ok(set_bundling(short, value, config)?
        || set_path(short, value, config)?
        || set_liveness(short, value, config)?)
}

fn set_bundling(short: &str, value: &str, config: &mut Config) -> Step<bool> {
    let Some(bundling) = &mut config.sending.bundling else {
        return Ok(matches!(short, "tcp_min_tso_segs" | "tcp_tso_rtt_log" | "tcp_tso_win_divisor"));
    };
    match short {
        "tcp_min_tso_segs" => bundling.least_segments = number(value)?,
        "tcp_tso_rtt_log" => {
            let log: u32 = number(value)?;
            bundling.rtt_log = (log > 0).then_some(log);
        }
        "tcp_tso_win_divisor" => {
            let divisor: u32 = number(value)?;
            bundling.window_divisor = (divisor > 0).then_some(divisor);
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn set_path(short: &str, value: &str, config: &mut Config) -> Step<bool> {
    let path = &mut config.path;
    match short {
        "tcp_base_mss" => path.probing_base = number(value)?,
        "tcp_mtu_probe_floor" => path.probing_floor = number(value)?,
        "tcp_probe_threshold" => path.probing_threshold = number(value)?,
        "tcp_min_snd_mss" => path.least_segment = number(value)?,
        "tcp_probe_interval" => path.probing_interval = Span::from_secs(number(value)?),
        "route.mtu_expires" => path.path_mtu_lifetime = Span::from_secs(number(value)?),
        "route.min_pmtu" => path.least_mtu = number(value)?,
        "tcp_mtu_probing" => {
            path.probing = match value {
                "0" => MtuProbing::Off,
                "1" => MtuProbing::AfterBlackHole,
                "2" => MtuProbing::Always,
                _ => return Err(unknown()),
            }
        }
        "ip_no_pmtu_disc" => {
            path.discovery = match value {
                "0" => MtuDiscovery::On,
                "1" => MtuDiscovery::Off,
                _ => return Err(unknown()),
            }
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn set_liveness(short: &str, value: &str, config: &mut Config) -> Step<bool> {
    let seconds = || number::<u32>(value).map(|seconds| Span::from_secs(u64::from(seconds)));
    match short {
        "tcp_pacing_ss_ratio" => {
            config.sending.pacing.slow_start_percent = number::<u16>(value)?.min(1000);
        }
        "tcp_pacing_ca_ratio" => {
            config.sending.pacing.avoidance_percent = number::<u16>(value)?.min(1000);
        }
        "tcp_keepalive_time" => config.liveness.keep_alive.idle = seconds()?,
        "tcp_keepalive_intvl" => config.liveness.keep_alive.interval = seconds()?,
        "tcp_keepalive_probes" => config.liveness.keep_alive.probes = number(value)?,
        "tcp_orphan_retries" => config.liveness.orphan_limit = Some(number(value)?),
        "tcp_retries1" => config.liveness.suspicion_limit = number(value)?,
        "tcp_notsent_lowat" => {
            let bytes: i64 = number(value)?;
            let bytes = u32::try_from(bytes).ok().filter(|&bytes| bytes != u32::MAX);
            config.sending.unsent_low_water = bytes;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// `ip link set ... gso_max_segs 1`: the host sends segment by segment.
pub(super) fn set_segmentation(enabled: bool, config: &mut Config) {
    if !enabled {
        config.sending.bundling = None;
    } else if config.sending.bundling.is_none() {
        config.sending.bundling = Some(Bundling::LINUX);
    }
}
