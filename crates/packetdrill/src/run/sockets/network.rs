//! Socket options of the layers below and of the timers.
//!
//! | option | effect |
//! |---|---|
//! | `IP_TOS`, `IPV6_TCLASS` | the octet of the IP header, but for the congestion mark |
//! | `TCP_RTO_MAX_MS`, `TCP_RTO_MIN_US` | bounds of the retransmission time-out |

use fairwind_tcp::Config;
use fairwind_units::Span;
use fairwind_wire::TrafficClass;

/// What became of an option.
pub(super) enum Set {
    Done,
    Refused(&'static str),
    Unknown,
}

/// Changes a switch.
pub(super) fn set(name: &str, number: i64, config: &mut Config) -> Set {
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
        _ => return Set::Unknown,
    };
    done.map_or(Set::Refused("EINVAL"), |()| Set::Done)
}

/// What can be asked for.
pub(super) fn told(name: &str, config: &Config) -> Option<i64> {
    Some(match name {
        "TCP_RTO_MAX_MS" => i64::try_from(config.maximum_rto.as_millis()).unwrap_or(i64::MAX),
        "TCP_RTO_MIN_US" => i64::try_from(config.minimum_rto.as_micros()).unwrap_or(i64::MAX),
        _ => return None,
    })
}
