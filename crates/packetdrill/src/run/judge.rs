//! Comparison of a sent packet with the expected one.
//!
//! Compared are all control bits, sequence and acknowledgment numbers, the payload's length, the
//! urgent pointer, and the options: kinds, order and values. The window is compared where the
//! script writes it, so is the mark. Since header lengths follow from the options, equal options
//! and payload make equal IP lengths.

use super::settings::Settings;
use crate::script::{Mark, Packet, TcpOption};
use fairwind_wire::Flags;

/// Whether echoed timestamps (`TSecr`) of the endpoint are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EchoRule {
    /// They must be what is written.
    #[default]
    Compared,
    /// Any will do.
    Ignored,
}

/// The first difference between an expected packet and the one seen, if there is any.
///
/// `seen` has every field written, in the script's numbers.
pub(crate) fn difference(
    expected: &Packet,
    seen: &Packet,
    settings: &Settings,
    echo: EchoRule,
) -> Option<String> {
    let end = |packet: &Packet| packet.sequence.wrapping_add(packet.payload_bytes);
    (expected.flags != seen.flags)
        .then(|| unequal("flags", flags(expected), flags(seen)))
        .or_else(|| differ("the sequence number", expected.sequence, seen.sequence))
        .or_else(|| differ("the payload's bytes", expected.payload_bytes, seen.payload_bytes))
        .or_else(|| differ("the end of the payload", end(expected), end(seen)))
        .or_else(|| {
            let number = |packet: &Packet| packet.acknowledgment.unwrap_or(0);
            differ("the acknowledgment number", number(expected), number(seen))
        })
        .or_else(|| {
            let pointer = |packet: &Packet| packet.urgent.unwrap_or(0);
            differ("the urgent pointer", pointer(expected), pointer(seen))
        })
        .or_else(|| {
            let window = expected.window?;
            differ("the window", window, seen.window.unwrap_or(0))
        })
        .or_else(|| mark_difference(expected.mark?, seen.mark.unwrap_or(Mark::NotCapable)))
        .or_else(|| {
            let expected = expected.traffic_class?;
            let seen = seen.traffic_class.unwrap_or(0);
            let text = |octet| format!("{octet:#04x}");
            (expected != seen).then(|| unequal("the traffic class", text(expected), text(seen)))
        })
        .or_else(|| options_difference(expected, seen, settings, echo))
}

fn flags(packet: &Packet) -> String {
    if packet.flags == Flags::NONE { "none".to_owned() } else { format!("{:?}", packet.flags) }
}

fn unequal(what: &str, expected: impl std::fmt::Display, seen: impl std::fmt::Display) -> String {
    format!("{what}: expected {expected}, seen {seen}")
}

fn differ<T: PartialEq + std::fmt::Display>(what: &str, expected: T, seen: T) -> Option<String> {
    (expected != seen).then(|| unequal(what, expected, seen))
}

fn mark_difference(expected: Mark, seen: Mark) -> Option<String> {
    let met = match expected {
        Mark::Capable => matches!(seen, Mark::Capable0 | Mark::Capable1),
        _ => expected == seen,
    };
    (!met).then(|| unequal("the mark", expected, seen))
}

fn options_difference(
    expected: &Packet,
    seen: &Packet,
    settings: &Settings,
    echo: EchoRule,
) -> Option<String> {
    let expected = expected.options.as_deref()?;
    let seen = seen.options.as_deref().unwrap_or_default();
    let equal = expected.len() == seen.len()
        && expected.iter().zip(seen).all(|(one, other)| is_met(one, other, settings, echo));
    (!equal).then(|| unequal("the options", listed(expected), listed(seen)))
}

fn listed(options: &[TcpOption]) -> String {
    let names: Vec<String> = options.iter().map(TcpOption::to_string).collect();
    if names.is_empty() { "none".to_owned() } else { format!("<{}>", names.join(",")) }
}

fn is_met(expected: &TcpOption, seen: &TcpOption, settings: &Settings, rule: EchoRule) -> bool {
    match (expected, seen) {
        (
            TcpOption::Timestamps { value, echo },
            TcpOption::Timestamps { value: seen_value, echo: seen_echo },
        ) => {
            (rule == EchoRule::Ignored || echo == seen_echo)
                && is_near_enough(*value, *seen_value, settings)
        }
        _ => expected == seen,
    }
}

/// The timestamp clock may be as far off as times may; without a known tick nothing can be said.
fn is_near_enough(expected: u32, seen: u32, settings: &Settings) -> bool {
    let Some(tick) = settings.timestamp_tick else { return true };
    let ahead = expected.wrapping_sub(seen);
    let ticks = ahead.min(ahead.wrapping_neg());
    tick * u64::from(ticks) <= settings.tolerance
}

/// What the segment at `offset` of an expected packet should be, where it is met by several: as
/// segmentation makes it, with PSH and FIN on the last alone and CWR on the first alone.
pub(crate) fn piece(expected: &Packet, offset: u32, payload_bytes: u32) -> Packet {
    let mut flags = expected.flags.bits();
    if offset > 0 {
        flags &= !Flags::CWR.bits();
    }
    if offset + payload_bytes < expected.payload_bytes {
        flags &= !(Flags::PSH | Flags::FIN).bits();
    }
    Packet {
        flags: Flags::from_bits(flags),
        sequence: expected.sequence.wrapping_add(offset),
        payload_bytes,
        ..expected.clone()
    }
}

/// Whether segments of these payloads are what segmentation makes: all of one size but the last,
/// which is not greater.
pub(crate) fn is_segmented_evenly(payloads: &[u32]) -> bool {
    let full = payloads.first().copied().unwrap_or(0);
    let Some((last, others)) = payloads.split_last() else { return true };
    others.iter().all(|&payload| payload == full) && *last <= full
}

/// A packet of the endpoint as a script writes it: without the mark that every packet has.
pub(super) fn shown(seen: Packet) -> String {
    let mark = seen.mark.filter(|mark| *mark != Mark::NotCapable);
    // The octet is shown where there is more in it than the mark.
    let traffic_class = seen.traffic_class.filter(|octet| octet & !3 != 0);
    Packet { mark, traffic_class, ..seen }.to_string()
}
