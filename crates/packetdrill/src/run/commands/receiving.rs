//! Kernel parameters of the receiving half.
//!
//! | parameter | meaning here |
//! |---|---|
//! | `tcp_rmem` | second number: receive buffer of new sockets; third: how far it grows, and the window shift |
//! | `net.core.rmem_max` | how much `SO_RCVBUF` gives, and the window shift |
//! | `tcp_moderate_rcvbuf` | whether the buffer grows |
//! | `tcp_shrink_window`, `tcp_dsack`, `tcp_rfc1337` | a switch |
//! | `tcp_comp_sack_delay_ns`, `_slack_ns`, `_nr` | merging of acknowledgments of disorder |
//! | `tcp_invalid_ratelimit`, `tcp_challenge_ack_limit` | how often unacceptable segments are answered |
//! | `tcp_fin_timeout`, `tcp_synack_retries`, `tcp_pingpong_thresh` | a constant |

use super::number;
use crate::outcome::Step;
use fairwind_tcp::{AckCompression, Config};
use fairwind_units::Span;

/// Sets a parameter of the receiving half; `None` where it is none.
pub(super) fn set(name: &str, value: &str, config: &mut Config) -> Option<Step<()>> {
    let known = matches!(
        name,
        "net.ipv4.tcp_rmem"
            | "net.core.rmem_max"
            | "net.ipv4.tcp_moderate_rcvbuf"
            | "net.ipv4.tcp_shrink_window"
            | "net.ipv4.tcp_dsack"
            | "net.ipv4.tcp_comp_sack_delay_ns"
            | "net.ipv4.tcp_comp_sack_slack_ns"
            | "net.ipv4.tcp_comp_sack_nr"
            | "net.ipv4.tcp_invalid_ratelimit"
            | "net.ipv4.tcp_challenge_ack_limit"
            | "net.ipv4.tcp_rfc1337"
            | "net.ipv4.tcp_fin_timeout"
            | "net.ipv4.tcp_synack_retries"
            | "net.ipv4.tcp_pingpong_thresh"
    );
    known.then(|| set_known(name, value, config))
}

fn set_known(name: &str, value: &str, config: &mut Config) -> Step<()> {
    let receiving = &mut config.receiving;
    match name {
        "net.ipv4.tcp_rmem" => return set_buffer(value, config),
        "net.core.rmem_max" => receiving.greatest_request = number(value)?,
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
        "net.ipv4.tcp_comp_sack_nr" => compression(config).most = number(value)?,
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
        _ => receiving.interactive_threshold = number(value)?,
    }
    Ok(())
}

/// Least, initial and greatest size in bytes of memory. The buffer is configured by what of it is
/// window at first, half.
fn set_buffer(value: &str, config: &mut Config) -> Step<()> {
    let sizes: Vec<&str> = value.split_whitespace().collect();
    let [_, initial, greatest] = sizes.as_slice() else { return Err(super::unknown()) };
    config.receive_buffer = number::<u32>(initial)? / 2;
    config.receiving.greatest_buffer = number(greatest)?;
    Ok(())
}

fn compression(config: &mut Config) -> &mut AckCompression {
    let none = AckCompression { delay: Span::ZERO, slack: Span::ZERO, most: 0 };
    config.receiving.compression.get_or_insert(none)
}
