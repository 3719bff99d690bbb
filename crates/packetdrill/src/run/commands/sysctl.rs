//! Kernel parameters (`sysctl`) of our endpoint.
//!
//! The parameters of [`set`] change a switch or constant of the endpoint. Those of [`FIXED_PARAMETERS`] are
//! accepted only with the listed values: the kernel's default, which the profile implements anyway,
//! or the value that switches off a missing feature. Any other value or parameter makes a script
//! unsupported.
//!
//! Most parameters affect open connections too; those of [`NEW_SOCKETS_ONLY`] affect only later
//! sockets.

use super::{Scope, congestion_named, number, unknown};
use crate::outcome::{Step, Stop};
use fairwind_tcp::{
    AccurateEcnOption, AckCompression, Config, CookieKey, EarlyRetransmit, EcnFeedback,
    HyStartSigns, IdleRestart, MtuDiscovery, MtuProbing, Profile, RedundantBundling,
    ReorderingDetection, SendBufferRule, SmartFraming, TailLossProbe,
};
use fairwind_units::Span;

/// Parameters below `net.ipv4` that are accepted with these values; `*` is any. A name that ends
/// with a dot is a prefix.
const FIXED_PARAMETERS: &[(&str, &[&str])] = &[
    ("tcp_adv_win_scale", &["1"]),
    ("tcp_app_win", &["31"]),
    // Autocorking depends on the device queue, which is always empty.
    ("tcp_autocorking", &["*"]),
    ("tcp_fack", &["0"]),
    // Fast Open never pauses of itself by default.
    ("tcp_fastopen_blackhole_timeout_sec", &["0"]),
    ("tcp_fwmark_accept", &["0"]),
    // Limits of the device queue, which is always empty.
    ("tcp_limit_output_bytes", &["*"]),
    ("tcp_max_syn_backlog", &["*"]),
    // There is no metrics cache.
    ("tcp_no_metrics_save", &["*"]),
    ("tcp_no_ssthresh_metrics_save", &["*"]),
    ("tcp_reflect_tos", &["*"]),
    ("tcp_stdurg", &["0"]),
    ("tcp_tw_reuse", &["*"]),
    ("tcp_workaround_signed_windows", &["0"]),
    ("tcp_allowed_congestion_control", &["*"]),
    ("tcp_early_demux", &["*"]),
    ("tcp_low_latency", &["*"]),
    ("tcp_max_orphans", &["*"]),
    ("tcp_max_tw_buckets", &["*"]),
    ("tcp_mem", &["*"]),
    ("conf.", &["*"]),
    ("icmp_ratelimit", &["*"]),
    ("icmp_ratemask", &["*"]),
    ("icmp_msgs_per_sec", &["*"]),
    ("ip_forward", &["*"]),
    ("ip_local_port_range", &["*"]),
    ("ip_nonlocal_bind", &["*"]),
    ("route.", &["*"]),
    // The accept queue is unlimited.
    ("tcp_abort_on_overflow", &["*"]),
    ("tcp_available_congestion_control", &["*"]),
    ("tcp_available_ulp", &["*"]),
    ("tcp_backlog_ack_defer", &["*"]),
    ("tcp_child_ehash_entries", &["*"]),
    ("tcp_ehash_entries", &["*"]),
    ("tcp_l3mdev_accept", &["0"]),
    ("tcp_migrate_req", &["*"]),
    ("tcp_plb_enabled", &["0"]),
    ("tcp_plb_cong_thresh", &["*"]),
    ("tcp_plb_idle_rehash_rounds", &["*"]),
    ("tcp_plb_rehash_rounds", &["*"]),
    ("tcp_plb_suspend_rto_sec", &["*"]),
    ("tcp_tw_reuse_delay", &["*"]),
];

/// Prefixes of other parameters, which are accepted with any value and ignored.
const IGNORED_PREFIXES: &[&str] = &[
    "net.core.default_qdisc",
    "net.core.netdev_",
    "net.core.optmem_max",
    "net.core.rmem_default",
    "net.core.somaxconn",
    "net.ipv6.conf.",
    "net.ipv6.route.",
    "net.ipv6.auto_flowlabels",
    "net.ipv6.flowlabel_",
    "kernel.",
    "vm.",
];

/// Sets one parameter, named with dots.
pub(super) fn set(name: &str, value: &str, config: &mut Config, profile: Profile) -> Step<()> {
    set_known(name, value, config, profile).map_err(|stop| match stop {
        Stop::Unsupported(reason) if reason.is_empty() => unknown_parameter(name, value),
        other => other,
    })
}

fn set_known(name: &str, value: &str, config: &mut Config, profile: Profile) -> Step<()> {
    if set_receiving(name, value, config)? {
        return Ok(());
    }
    if let Some(parameter) = name.strip_prefix("tcp_cubic.") {
        return set_cubic(parameter, value, config);
    }
    let Some(short) = name.strip_prefix("net.ipv4.") else {
        return if IGNORED_PREFIXES.iter().any(|known| name.starts_with(known)) {
            Ok(())
        } else {
            Err(unknown_parameter(name, value))
        };
    };
    match short {
        "tcp_sack" => config.sack = switch(value)?,
        "tcp_timestamps" => config.timestamps = timestamps(value)?,
        "tcp_window_scaling" => config.window_scaling = switch(value)?,
        "tcp_congestion_control" => config.congestion = congestion_named(value, profile)?,
        "tcp_reordering" => config.duplicate_threshold = number(value)?,
        "tcp_slow_start_after_idle" => {
            config.idle_restart =
                if switch(value)? { profile.config().idle_restart } else { IdleRestart::Off };
        }
        "tcp_syn_retries" => config.syn_retries = number(value)?,
        "tcp_syn_linear_timeouts" => config.syn_linear_retries = number(value)?,
        "tcp_retries2" => config.retransmission_limit = number(value)?,
        "tcp_retrans_collapse" => config.collapse_retransmissions = switch(value)?,
        "tcp_thin_linear_timeouts" => config.linear_timeouts = switch(value)?,
        "tcp_thin_dupack" => config.modified_fast_retransmit = switch(value)?,
        "tcp_rto_max_ms" => config.maximum_rto = span(value, Span::from_millis)?,
        "tcp_ecn_option" => config.ecn.option = choice(value, ACCURATE_ECN_OPTIONS)?,
        "tcp_ecn_option_beacon" => config.ecn.option_beacon = number(value)?,
        "tcp_rto_min_us" => config.minimum_rto = span(value, Span::from_micros)?,
        "tcp_ecn" => (config.ecn.incoming, config.ecn.outgoing) = choice(value, ECN_MODES)?,
        "tcp_ecn_fallback" => config.ecn.fallback = switch(value)?,
        "tcp_fastopen" => config.fast_open = config.fast_open.with_bits(bits(value)?),
        "tcp_fastopen_key" => {
            (config.fast_open.key, config.fast_open.former_key) = cookie_keys(value)?;
        }
        "tcp_wmem" => set_send_buffer(value, config)?,
        _ if set_bundling(short, value, config)? => {}
        _ if set_sending(short, value, config)? => {}
        _ if set_loss_recovery(short, value, config, profile)? => {}
        _ => return settled(short, value),
    }
    Ok(())
}

/// Sets a parameter of the kernel's module of CUBIC.
fn set_cubic(parameter: &str, value: &str, config: &mut Config) -> Step<()> {
    let growth = &mut config.growth;
    match parameter {
        "hystart" => growth.hystart = switch(value)?,
        "hystart_detect" => growth.hystart_signs = choice(value, HYSTART_SIGNS)?,
        _ => return Err(unknown()),
    }
    Ok(())
}

/// Which segments carry the option of Accurate ECN (`tcp_ecn_option`).
const ACCURATE_ECN_OPTIONS: &[AccurateEcnOption] = {
    use AccurateEcnOption::{Always, Complete, Never, Required};
    &[Never, Required, Complete, Always]
};

/// Accepted and requested ECN feedback (`tcp_ecn_mode`).
const ECN_MODES: &[(EcnFeedback, EcnFeedback)] = {
    use EcnFeedback::{Accurate, Classic, None};
    &[
        (None, None),
        (Classic, Classic),
        (Classic, None),
        (Accurate, Accurate),
        (Accurate, Classic),
        (Accurate, None),
    ]
};

/// Signs that end the slow start of CUBIC (`hystart_detect`).
const HYSTART_SIGNS: &[HyStartSigns] = {
    use HyStartSigns::{Delay, None, Trains, TrainsAndDelay};
    &[None, Trains, Delay, TrainsAndDelay]
};

/// A number, in hexadecimal where it begins so.
fn bits(value: &str) -> Step<u32> {
    match value.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).map_err(|_| unknown()),
        None => number(value),
    }
}

/// One or two secrets of four hexadecimal numbers, `a-b-c-d,e-f-g-h`.
fn cookie_keys(value: &str) -> Step<(CookieKey, Option<CookieKey>)> {
    let key = |text: &str| {
        let words = text.split('-').map(|word| u32::from_str_radix(word, 16));
        let words: Vec<u32> = words.collect::<Result<_, _>>().map_err(|_| unknown())?;
        words.try_into().map(CookieKey::from_words).map_err(|_| unknown())
    };
    match value.split_once(',') {
        Some((now, former)) => Ok((key(now)?, Some(key(former)?))),
        None => Ok((key(value)?, None)),
    }
}

/// Parameters that a socket takes when it is made (`tcp_init_sock`).
const NEW_SOCKETS_ONLY: [&str; 6] = [
    "tcp_congestion_control",
    "tcp_reordering",
    "tcp_rmem",
    "tcp_rto_max_ms",
    "tcp_rto_min_us",
    "tcp_wmem",
];

pub(super) fn scope(name: &str) -> Scope {
    let short = name.strip_prefix("net.ipv4.").unwrap_or(name);
    if NEW_SOCKETS_ONLY.contains(&short) { Scope::NewSockets } else { Scope::Everything }
}

fn settled(short: &str, value: &str) -> Step<()> {
    let is_named = |name: &str| name == short || name.ends_with('.') && short.starts_with(name);
    let known = FIXED_PARAMETERS.iter().find(|(name, _)| is_named(name));
    let accepted =
        known.is_some_and(|(_, values)| values.contains(&"*") || values.contains(&value));
    if accepted { Ok(()) } else { Err(unknown_parameter(&format!("net.ipv4.{short}"), value)) }
}

fn unknown_parameter(name: &str, value: &str) -> Stop {
    Stop::unsupported(format!("the endpoint has nothing for the kernel parameter {name} = {value}"))
}

/// What the number stands for.
fn choice<T: Copy>(value: &str, choices: &[T]) -> Step<T> {
    let found = choices.iter().zip(0..).find(|(_, number): &(_, u32)| number.to_string() == value);
    found.map(|(choice, _)| *choice).ok_or_else(unknown)
}

fn switch(value: &str) -> Step<bool> {
    choice(value, &[false, true])
}

/// A number of a unit of time.
fn span(value: &str, unit: fn(u64) -> Span) -> Step<Span> {
    Ok(unit(number::<u32>(value)?.into()))
}

/// 2 means timestamps without the random offset of 1; the offset is translated away.
fn timestamps(value: &str) -> Step<bool> {
    if value == "2" { Ok(true) } else { switch(value) }
}

/// Sets the send buffer from the second of three sizes (minimum, initial, maximum); the third limits
/// autotuning.
fn set_send_buffer(value: &str, config: &mut Config) -> Step<()> {
    let sizes: Vec<&str> = value.split_whitespace().collect();
    let [_, initial, maximum] = sizes.as_slice() else { return Err(unknown()) };
    config.send_buffer = number(initial)?;
    if let SendBufferRule::Memory { max, .. } = &mut config.sending.buffer_rule {
        *max = Some(number(maximum)?);
    }
    Ok(())
}

/// Sets a parameter of the receiving half; `false` where it is none of these.
fn set_receiving(name: &str, value: &str, config: &mut Config) -> Step<bool> {
    let receiving = &mut config.receiving;
    match name {
        "net.ipv4.tcp_rmem" => set_receive_buffer(value, config)?,
        "net.core.rmem_max" => receiving.max_request = number(value)?,
        "net.ipv4.tcp_moderate_rcvbuf" => receiving.tuning = number::<u32>(value)? != 0,
        "net.ipv4.tcp_rfc1337" => receiving.waits_through_resets = number::<u32>(value)? != 0,
        "net.ipv4.tcp_shrink_window" => receiving.shrinks = number::<u32>(value)? != 0,
        "net.ipv4.tcp_dsack" => receiving.duplicate_sack = number::<u32>(value)? != 0,
        "net.ipv4.tcp_comp_sack_delay_ns" => {
            compression(config).delay = Span::from_nanos(number(value)?);
        }
        "net.ipv4.tcp_comp_sack_slack_ns" => {
            compression(config).slack = Span::from_nanos(number(value)?);
        }
        "net.ipv4.tcp_comp_sack_nr" => compression(config).max_acks = number(value)?,
        "net.ipv4.tcp_invalid_ratelimit" => {
            receiving.rejection_interval = Span::from_millis(number(value)?);
        }
        "net.ipv4.tcp_challenge_ack_limit" => {
            let limit: u32 = number(value)?;
            receiving.challenge_limit = (limit < i32::MAX.unsigned_abs()).then_some(limit);
        }
        "net.ipv4.tcp_fin_timeout" => {
            receiving.finish_timeout = Some(Span::from_secs(number(value)?));
        }
        "net.ipv4.tcp_synack_retries" => receiving.syn_ack_retries = number(value)?,
        // Without a flood of SYNs, 1 is as good as 0.
        "net.ipv4.tcp_syncookies" => receiving.syn_cookies = number::<u32>(value)? == 2,
        "net.ipv4.tcp_pingpong_thresh" => receiving.interactive_threshold = number(value)?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// Sets the receive buffer from three sizes in bytes of memory (minimum, initial, maximum). The
/// buffer is configured by its initial window, half of the memory.
fn set_receive_buffer(value: &str, config: &mut Config) -> Step<()> {
    let sizes: Vec<&str> = value.split_whitespace().collect();
    let [_, initial, max] = sizes.as_slice() else { return Err(unknown()) };
    config.receive_buffer = number::<u32>(initial)? / 2;
    config.receiving.max_buffer = number(max)?;
    Ok(())
}

fn compression(config: &mut Config) -> &mut AckCompression {
    let none = AckCompression { delay: Span::ZERO, slack: Span::ZERO, max_acks: 0 };
    config.receiving.compression.get_or_insert(none)
}

fn rule<'c>(short: &str, config: &'c mut Config) -> Step<&'c mut RedundantBundling> {
    let missing =
        || Stop::unsupported(format!("{short} bounds bundles: set tcp_rdb = 1 before it"));
    config.sending.redundancy.as_mut().ok_or_else(missing)
}

/// A number; 0 means no limit.
fn bound(value: &str) -> Step<Option<u32>> {
    let number: u32 = number(value)?;
    Ok((number > 0).then_some(number))
}

const STATIC_WINDOW: u32 = 2;
const NO_THRESHOLD: u32 = 4;

/// Sets one parameter, named without `net.ipv4.`; `false` where it is none of these.
fn set_loss_recovery(
    short: &str,
    value: &str,
    config: &mut Config,
    profile: Profile,
) -> Step<bool> {
    let loss = &mut config.loss;
    match short {
        "tcp_early_retrans" => {
            let usual = profile.config().loss.tail_loss_probe;
            let mode = number::<u32>(value)?;
            loss.tail_loss_probe = match mode {
                0..=2 => TailLossProbe::Off,
                3 | 4 => usual,
                _ => return Err(unknown()),
            };
            // Profiles without early retransmit have lost the meaning of these numbers.
            if profile.config().loss.early_retransmit != EarlyRetransmit::Off {
                loss.early_retransmit = match mode {
                    1 => EarlyRetransmit::Immediate,
                    2 | 3 => EarlyRetransmit::Delayed,
                    _ => EarlyRetransmit::Off,
                };
            }
        }
        "tcp_recovery" => {
            let bits: u32 = number(value)?;
            loss.rack_adapts = bits & STATIC_WINDOW == 0;
            loss.rack_duplicate_threshold = bits & NO_THRESHOLD == 0;
        }
        "tcp_frto" => loss.forward_rto = number::<u32>(value)? != 0,
        "tcp_max_reordering" => {
            loss.reordering = ReorderingDetection::Measured { max: number(value)? };
        }
        "tcp_min_rtt_wlen" => {
            loss.min_rtt_window = span(value, Span::from_secs)?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn set_bundling(short: &str, value: &str, config: &mut Config) -> Step<bool> {
    let Some(bundling) = &mut config.sending.bundling else {
        return Ok(matches!(short, "tcp_min_tso_segs" | "tcp_tso_rtt_log" | "tcp_tso_win_divisor"));
    };
    match short {
        "tcp_min_tso_segs" => bundling.min_segments = number(value)?,
        "tcp_tso_rtt_log" => bundling.rtt_log = bound(value)?,
        "tcp_tso_win_divisor" => bundling.window_divisor = bound(value)?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn set_sending(short: &str, value: &str, config: &mut Config) -> Step<bool> {
    let (path, sending, liveness) = (&mut config.path, &mut config.sending, &mut config.liveness);
    match short {
        "tcp_base_mss" => path.probing_base = number(value)?,
        "tcp_mtu_probe_floor" => path.probing_floor = number(value)?,
        "tcp_probe_threshold" => path.probing_threshold = number(value)?,
        "tcp_min_snd_mss" => path.min_segment = number(value)?,
        "tcp_probe_interval" => path.probing_interval = Span::from_secs(number(value)?),
        "route.mtu_expires" => path.path_mtu_lifetime = Span::from_secs(number(value)?),
        "route.min_pmtu" => path.min_mtu = number(value)?,
        "tcp_mtu_probing" => {
            use MtuProbing::{AfterBlackHole, Always, Off};
            path.probing = choice(value, &[Off, AfterBlackHole, Always])?;
        }
        "ip_no_pmtu_disc" => {
            path.discovery = choice(value, &[MtuDiscovery::On, MtuDiscovery::Off])?;
        }
        "tcp_pacing_ss_ratio" => {
            sending.pacing.slow_start_percent = number::<u16>(value)?.min(1000);
        }
        "tcp_pacing_ca_ratio" => {
            sending.pacing.avoidance_percent = number::<u16>(value)?.min(1000);
        }
        "tcp_notsent_lowat" => {
            let bytes: i64 = number(value)?;
            let bytes = u32::try_from(bytes).ok().filter(|&bytes| bytes != u32::MAX);
            sending.unsent_low_water = bytes;
        }
        "tcp_rdb" => sending.redundancy = switch(value)?.then_some(RedundantBundling::USUAL),
        "tcp_smart_framing" => sending.framing = switch(value)?.then_some(SmartFraming::USUAL),
        "tcp_rdb_max_packets" => rule(short, config)?.max_segments = bound(value)?,
        "tcp_rdb_max_bytes" => rule(short, config)?.max_bytes = bound(value)?,
        "tcp_thin_dpifl_itt_lower_bound" => {
            let micros = bound(value)?.ok_or_else(unknown)?;
            rule(short, config)?.min_interval = Span::from_micros(u64::from(micros));
        }
        "tcp_keepalive_time" => liveness.keep_alive.idle = span(value, Span::from_secs)?,
        "tcp_keepalive_intvl" => liveness.keep_alive.interval = span(value, Span::from_secs)?,
        "tcp_keepalive_probes" => liveness.keep_alive.probes = number(value)?,
        "tcp_orphan_retries" => liveness.orphan_limit = Some(number(value)?),
        "tcp_retries1" => liveness.suspicion_limit = number(value)?,
        _ => return Ok(false),
    }
    Ok(true)
}
