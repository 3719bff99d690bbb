//! Parameters that no released kernel has: of redundant data bundling, with the names that its authors gave
//! them, and of smart framing.
//!
//! | parameter | changes |
//! |---|---|
//! | `tcp_rdb` | redundant data bundling, with its usual bounds: off at 0, on at 1 |
//! | `tcp_rdb_max_packets` | older segments of a bundle; 0 for as many as fit |
//! | `tcp_rdb_max_bytes` | payload of a bundle; 0 for a full segment |
//! | `tcp_thin_dpifl_itt_lower_bound` | least interval of writes that still bundle, in microseconds |
//! | `tcp_smart_framing` | off at 0, on at 1 |
//!
//! The bounds come after `tcp_rdb=1`.

use super::{number, sysctl::switch, unknown};
use crate::outcome::{Step, Stop};
use fairwind_tcp::{Config, RedundantBundling, SmartFraming};
use fairwind_units::Span;

/// Sets one parameter, named without `net.ipv4.`; `false` where it is none of these.
pub(super) fn set(short: &str, value: &str, config: &mut Config) -> Step<bool> {
    let sending = &mut config.sending;
    match short {
        "tcp_rdb" => sending.redundancy = switch(value)?.then_some(RedundantBundling::USUAL),
        "tcp_smart_framing" => sending.framing = switch(value)?.then_some(SmartFraming::USUAL),
        "tcp_rdb_max_packets" => rule(short, config)?.most_segments = bound(value)?,
        "tcp_rdb_max_bytes" => rule(short, config)?.most_bytes = bound(value)?,
        "tcp_thin_dpifl_itt_lower_bound" => {
            let micros = bound(value)?.ok_or_else(unknown)?;
            rule(short, config)?.least_interval = Span::from_micros(u64::from(micros));
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn rule<'c>(short: &str, config: &'c mut Config) -> Step<&'c mut RedundantBundling> {
    let missing =
        || Stop::unsupported(format!("{short} bounds bundles: set tcp_rdb = 1 before it"));
    config.sending.redundancy.as_mut().ok_or_else(missing)
}

/// A number, where 0 bounds nothing.
fn bound(value: &str) -> Step<Option<u32>> {
    let number: u32 = number(value)?;
    Ok((number > 0).then_some(number))
}
