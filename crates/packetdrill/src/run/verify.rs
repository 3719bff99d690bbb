//! Comparison of sent packets, times and returned structures with the expected ones.
//!
//! Compared are all control bits, sequence and acknowledgment numbers, payload length, urgent
//! pointer, and the options: kinds, order and values. The window and the ECN codepoint are compared
//! if the script gives them. Header lengths follow from the options, so equal options and payload
//! make equal IP lengths.

use super::settings::{EchoRule, Settings, Strictness};
use crate::outcome::{Step, Stop};
use crate::script::{EventTime, Expression, Field, Mark, Packet, TcpOption, decimal};
use fairwind_units::{Instant, Span};
use fairwind_wire::Flags;

/// The first difference between an expected packet and the one seen, if any.
///
/// `seen` has all fields, in the script's numbers.
pub(crate) fn difference(expected: &Packet, seen: &Packet, settings: &Settings) -> Option<String> {
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
        .or_else(|| options_difference(expected, seen, settings))
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

fn options_difference(expected: &Packet, seen: &Packet, settings: &Settings) -> Option<String> {
    let expected = expected.options.as_deref()?;
    let seen = seen.options.as_deref().unwrap_or_default();
    let equal = expected.len() == seen.len()
        && expected.iter().zip(seen).all(|(one, other)| is_met(one, other, settings));
    (!equal).then(|| unequal("the options", listed(expected), listed(seen)))
}

fn listed(options: &[TcpOption]) -> String {
    let names: Vec<String> = options.iter().map(TcpOption::to_string).collect();
    if names.is_empty() { "none".to_owned() } else { format!("<{}>", names.join(",")) }
}

fn is_met(expected: &TcpOption, seen: &TcpOption, settings: &Settings) -> bool {
    match (expected, seen) {
        (
            TcpOption::Timestamps { value, echo },
            TcpOption::Timestamps { value: seen_value, echo: seen_echo },
        ) => {
            (settings.echo == EchoRule::Ignored || echo == seen_echo)
                && is_near_enough(*value, *seen_value, settings)
        }
        _ => expected == seen,
    }
}

/// Timestamps may differ by the tolerance of times; without a known tick they are not compared.
fn is_near_enough(expected: u32, seen: u32, settings: &Settings) -> bool {
    let Some(tick) = settings.timestamp_tick else { return true };
    let ahead = expected.wrapping_sub(seen);
    let ticks = ahead.min(ahead.wrapping_neg());
    tick * u64::from(ticks) <= settings.tolerance
}

/// The expected fields of the segment `seen` at `offset` of an expected packet that several
/// segments make up: PSH and FIN belong to the last one, CWR to the first one. On the others these
/// are unset if segmentation divides one packet; where segments are merged, PSH and CWR are
/// optional.
pub(crate) fn piece(
    expected: &Packet,
    offset: u32,
    payload_bytes: u32,
    seen: &Packet,
    rule: Strictness,
) -> Packet {
    let free = match rule {
        Strictness::Tool => seen.flags.bits(),
        Strictness::Strict => 0,
    };
    let mut flags = expected.flags.bits();
    if offset > 0 {
        flags = flags & !Flags::CWR.bits() | free & Flags::CWR.bits();
    }
    if offset + payload_bytes < expected.payload_bytes {
        flags = flags & !(Flags::PSH | Flags::FIN).bits() | free & Flags::PSH.bits();
    }
    Packet {
        flags: Flags::from_bits(flags),
        sequence: expected.sequence.wrapping_add(offset),
        payload_bytes,
        ..expected.clone()
    }
}

/// Whether segmentation produces these payloads: all of one size, and a last one that is not
/// larger.
pub(crate) fn is_segmented_evenly(payloads: &[u32]) -> bool {
    let full = payloads.first().copied().unwrap_or(0);
    let Some((last, others)) = payloads.split_last() else { return true };
    others.iter().all(|&payload| payload == full) && *last <= full
}

/// A packet of the system without the mark that every packet has, as a script writes it.
pub(super) fn without_defaults(seen: Packet) -> Packet {
    Packet {
        mark: seen.mark.filter(|mark| *mark != Mark::NotCapable),
        // The octet is written where there is more in it than the mark.
        traffic_class: seen.traffic_class.filter(|octet| octet & !3 != 0),
        ..seen
    }
}

/// Whether an event is a packet that the script injects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Injection,
    Other,
}

/// The times of the script so far.
#[derive(Debug)]
pub(crate) struct Timeline {
    /// When the script began.
    origin: Instant,
    /// Scripted and actual time of the last event.
    scripted: Instant,
    actual: Instant,
    kind: Kind,
}

/// When an event is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) earliest: Instant,
    pub(crate) latest: Instant,
    tolerance: Span,
    /// Extra tolerance for the system's timers.
    lag: Span,
}

impl Due {
    /// The latest instant at which the event would still be on time.
    pub(crate) fn limit(&self) -> Instant {
        self.latest + self.tolerance + self.lag
    }

    /// The same for an event that a timer of the system triggers, with the extra tolerance `lag`.
    pub(crate) fn with_lag(self, lag: Span) -> Self {
        Self { lag, ..self }
    }
}

impl Timeline {
    pub(crate) fn new(origin: Instant) -> Self {
        Self { origin, scripted: origin, actual: origin, kind: Kind::Other }
    }

    /// Time since the script began.
    pub(crate) fn elapsed(&self, at: Instant) -> Span {
        at.saturating_since(self.origin)
    }

    /// Base of a relative time: the actual time of the event before, but the scripted time between
    /// two injections.
    fn base(&self, kind: Kind) -> Instant {
        if kind == Kind::Injection && self.kind == Kind::Injection {
            self.scripted
        } else {
            self.actual
        }
    }

    /// When an event of this time is due; `None` for any time.
    pub(crate) fn due(&self, time: EventTime, kind: Kind, settings: &Settings) -> Option<Due> {
        let base = self.base(kind);
        let (earliest, latest) = match time {
            EventTime::Any => return None,
            EventTime::Absolute(at) => (self.origin + at, self.origin + at),
            EventTime::Relative(after) => (base + after, base + after),
            EventTime::AbsoluteRange(from, to) => (self.origin + from, self.origin + to),
            EventTime::RelativeRange(from, to) => (base + from, base + to),
        };
        let tolerance = settings.tolerance_after(earliest.saturating_since(self.actual));
        Some(Due { earliest, latest, tolerance, lag: Span::ZERO })
    }

    /// When a blocking call that began with an event of this time is due to return.
    pub(crate) fn due_end(&self, time: EventTime, end: Span, settings: &Settings) -> Due {
        let (base, begin) = match time {
            EventTime::Absolute(at) | EventTime::AbsoluteRange(at, _) => (self.origin, at),
            EventTime::Relative(after) | EventTime::RelativeRange(after, _) => {
                (self.base(Kind::Other), after)
            }
            EventTime::Any => (self.actual, Span::ZERO),
        };
        let tolerance = settings.tolerance_after(end.saturating_sub(begin));
        Due { earliest: base + end, latest: base + end, tolerance, lag: Span::ZERO }
    }

    /// Notes that an event occurred.
    pub(crate) fn note(&mut self, due: Option<Due>, actual: Instant, kind: Kind) {
        self.scripted = due.map_or(actual, |due| due.earliest);
        self.actual = actual;
        self.kind = kind;
    }

    /// Verifies the time of an event.
    pub(crate) fn verify(&self, due: Due, actual: Instant) -> Step<()> {
        let early = actual + due.tolerance < due.earliest;
        if !early && actual <= due.limit() {
            return Ok(());
        }
        let at = |instant| decimal(self.elapsed(instant));
        let expected = if due.earliest == due.latest {
            at(due.earliest)
        } else {
            format!("{} to {}", at(due.earliest), at(due.latest))
        };
        Err(Stop::failed(format!(
            "the time: expected {expected} s, seen {} s (tolerance {} s)",
            at(actual),
            decimal(if early { due.tolerance } else { due.tolerance + due.lag })
        )))
    }
}

/// Verifies the events that `epoll_wait` returns: events and data of each.
///
/// # Errors
/// The first event that differs.
pub fn verify_epoll_events(expected: Option<&[(i64, i64)]>, seen: &[(i64, i64)]) -> Step<()> {
    for (one, (events, data)) in expected.unwrap_or_default().iter().zip(seen) {
        if *one != (*events, *data) {
            return Err(Stop::failed(format!(
                "the event: expected {:#x} of {}, seen {events:#x} of {data}",
                one.0, one.1
            )));
        }
    }
    Ok(())
}

/// Verifies control messages of `recvmsg` by level, type and content.
///
/// # Errors
/// The first difference from the script.
pub fn verify_control_messages<C>(
    expected: &[Expression],
    seen: &[(i64, i64, C)],
    verify_content: impl Fn(&Expression, &C) -> Step<()>,
) -> Step<()> {
    if expected.len() != seen.len() {
        return Err(Stop::failed(format!(
            "control messages: expected {}, seen {}",
            expected.len(),
            seen.len()
        )));
    }
    expected.iter().zip(seen).try_for_each(|(part, (level, kind, content))| {
        let written = |name| part.field(name).unwrap_or(&Expression::Any);
        written("cmsg_level").expect_number("cmsg_level", *level)?;
        written("cmsg_type").expect_number("cmsg_type", *kind)?;
        verify_content(written("cmsg_data"), content)
    })
}

/// Verifies the fields of a `struct sock_extended_err`.
///
/// # Errors
/// The first field that has another value or is missing.
pub fn verify_error_fields(fields: &[Field], seen: impl Fn(&str) -> Option<i64>) -> Step<()> {
    fields.iter().try_for_each(|field| {
        let name = field.name.as_deref().unwrap_or_default();
        match seen(name) {
            Some(seen) => field.value.expect_number(name, seen),
            None => Err(Stop::unsupported(format!("the field {name} is not supported"))),
        }
    })
}

/// Verifies a timestamp `{scm_sec=..., scm_nsec=...}`, which counts from the start of the script.
///
/// # Errors
/// If the two differ by more than `tolerance`.
pub fn verify_timestamp(expected: &Expression, seen_nanos: u64, tolerance: Span) -> Step<()> {
    let part = |name| Ok(u64::try_from(expected.required_field(name)?.number()?).unwrap_or(0));
    let wanted = Span::from_secs(part("scm_sec")?) + Span::from_nanos(part("scm_nsec")?);
    if wanted.as_nanos().abs_diff(seen_nanos) <= tolerance.as_nanos() {
        return Ok(());
    }
    Err(Stop::failed(format!("the stamp: expected {} ns, seen {seen_nanos} ns", wanted.as_nanos())))
}
