//! Kernel parameters of loss recovery.
//!
//! | parameter | changes |
//! |---|---|
//! | `tcp_early_retrans` | tail loss probe: off at 0 to 2, on at 3 and 4; where the profile has early retransmit, that too: off at 0 and 4, at once at 1, delayed at 2 and 3 |
//! | `tcp_recovery` | 2: RACK does not adapt; 4: RACK waits whatever the number of duplicates |
//! | `tcp_frto` | forward RTO recovery: off at 0 |
//! | `tcp_max_reordering` | greatest threshold of duplicates |
//! | `tcp_min_rtt_wlen` | window of the least round-trip time in seconds |

use super::{number, unknown};
use crate::outcome::Step;
use fairwind_tcp::{Config, EarlyRetransmit, Profile, ReorderingDetection, TailLossProbe};
use fairwind_units::Span;

const STATIC_WINDOW: u32 = 2;
const NO_THRESHOLD: u32 = 4;

/// Sets one parameter, named without `net.ipv4.`; `false` where it is none of these.
pub(super) fn set(short: &str, value: &str, config: &mut Config, profile: Profile) -> Step<bool> {
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
            // Whoever has no early retransmit any more has forgotten what the numbers meant.
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
            loss.reordering = ReorderingDetection::Measured { greatest: number(value)? };
        }
        "tcp_min_rtt_wlen" => {
            let seconds: u32 = number(value)?;
            loss.least_rtt_window = Span::from_secs(u64::from(seconds));
        }
        _ => return Ok(false),
    }
    Ok(true)
}
