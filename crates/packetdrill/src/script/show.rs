//! Packets and calls as script text.

use super::syntax::{
    Action, Call, Direction, Event, EventTime, Expression, Field, Icmp, Mark, Packet, TcpOption,
};
use fairwind_units::Span;
use fairwind_wire::{CounterOrder, Flags};
use std::fmt::{Display, Formatter, Result};

impl Display for Packet {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{} ", self.direction)?;
        match (self.mark, self.traffic_class) {
            (Some(mark), None) => write!(f, "[{mark}] ")?,
            (None, Some(octet)) => write!(f, "[tos {octet:#04x}] ")?,
            (Some(mark), Some(octet)) => write!(f, "[{mark},tos {octet:#04x}] ")?,
            (None, None) => {}
        }
        let end = self.sequence.wrapping_add(self.payload_bytes);
        let flags =
            if self.flags == Flags::NONE { "-".into() } else { format!("{:?}", self.flags) };
        write!(f, "{flags} {}:{end}({})", self.sequence, self.payload_bytes)?;
        let fields = [
            ("ack", self.acknowledgment),
            ("win", self.window.map(u32::from)),
            ("urg", self.urgent.map(u32::from)),
        ];
        for (name, value) in fields {
            if let Some(value) = value {
                write!(f, " {name} {value}")?;
            }
        }
        match &self.options {
            None => f.write_str(" <...>"),
            Some(options) if options.is_empty() => Ok(()),
            Some(options) => write!(f, " <{}>", joined(options, ",")),
        }
    }
}

fn joined<T: Display>(members: &[T], between: &str) -> String {
    members.iter().map(T::to_string).collect::<Vec<_>>().join(between)
}

impl Display for Direction {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            Self::In => "<",
            Self::Out => ">",
        })
    }
}

impl Display for Mark {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            Self::NotCapable => "noecn",
            Self::Capable0 => "ect0",
            Self::Capable1 => "ect1",
            Self::Capable => "ect01",
            Self::CongestionExperienced => "ce",
        })
    }
}

impl Display for TcpOption {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::NoOperation => f.write_str("nop"),
            Self::End => f.write_str("eol"),
            Self::MaximumSegment(bytes) => write!(f, "mss {bytes}"),
            Self::WindowScale(shift) => write!(f, "wscale {shift}"),
            Self::SackPermitted => f.write_str("sackOK"),
            Self::Sack(blocks) => {
                f.write_str("sack")?;
                blocks.iter().try_for_each(|(left, right)| write!(f, " {left}:{right}"))
            }
            Self::Timestamps { value, echo } => write!(f, "TS val {value} ecr {echo}"),
            Self::FastOpen(cookie) if cookie.is_empty() => f.write_str("FO"),
            Self::FastOpen(cookie) => write!(f, "FO {cookie}"),
            Self::FastOpenExperimental(cookie) if cookie.is_empty() => f.write_str("FOEXP"),
            Self::FastOpenExperimental(cookie) => write!(f, "FOEXP {cookie}"),
            Self::AccurateEcn { order, counters } => {
                let names = match order {
                    CounterOrder::Zero => ["e0b", "ceb", "e1b"],
                    CounterOrder::One => ["e1b", "ceb", "e0b"],
                };
                f.write_str("ECN")?;
                names
                    .iter()
                    .zip(counters)
                    .try_for_each(|(name, count)| write!(f, " {name} {count}"))
            }
            Self::Other(text) => f.write_str(text),
        }
    }
}

impl Display for Icmp {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{} ", self.direction)?;
        if let Some((first, payload)) = self.quoted {
            write!(f, "[{first}:{}({payload})] ", first.wrapping_add(payload))?;
        }
        write!(f, "icmp {}", self.kind)?;
        self.mtu.map_or(Ok(()), |mtu| write!(f, " mtu {mtu}"))
    }
}

impl Display for Expression {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Any => f.write_str("..."),
            Self::Integer(number) => write!(f, "{number}"),
            Self::Name(name) => f.write_str(name),
            Self::Text(text) => write!(f, "\"{text}\""),
            Self::Union(members) => f.write_str(&joined(members, "|")),
            Self::List(members) => write!(f, "[{}]", joined(members, ", ")),
            Self::Record(fields) => write!(f, "{{{}}}", joined(fields, ", ")),
            Self::Function(name, arguments) => write!(f, "{name}({})", joined(arguments, ", ")),
        }
    }
}

impl Display for Field {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match &self.name {
            Some(name) => write!(f, "{name}={}", self.value),
            None => self.value.fmt(f),
        }
    }
}

impl Display for Call {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{}({}) = {}", self.function, joined(&self.arguments, ", "), self.result)?;
        self.error.as_ref().map_or(Ok(()), |error| write!(f, " {error}"))
    }
}

impl Display for Action {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Packet(packet) => packet.fmt(f),
            Self::Icmp(icmp) => icmp.fmt(f),
            Self::Call(call) => call.fmt(f),
            Self::Command(text) => write!(f, "`{text}`"),
            Self::Code(text) => write!(f, "%{{{text}}}%"),
            Self::Foreign(text) => write!(f, "< {text}"),
        }
    }
}

impl Display for EventTime {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match *self {
            Self::Absolute(at) => f.write_str(&decimal(at)),
            Self::Relative(after) => write!(f, "+{}", decimal(after)),
            Self::AbsoluteRange(from, to) => write!(f, "{}~{}", decimal(from), decimal(to)),
            Self::RelativeRange(from, to) => write!(f, "+{}~+{}", decimal(from), decimal(to)),
            Self::Any => f.write_str("*"),
        }
    }
}

/// Seconds with as many decimals as they need.
pub(crate) fn decimal(span: Span) -> String {
    let (whole, fraction) = (span.as_nanos() / 1_000_000_000, span.as_nanos() % 1_000_000_000);
    if fraction == 0 {
        return whole.to_string();
    }
    format!("{whole}.{}", format!("{fraction:09}").trim_end_matches('0'))
}

impl Display for Event {
    /// The event as a script writes it, blocking calls with their end.
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.time.fmt(f)?;
        if let Action::Call(Call { end: Some(end), .. }) = &self.action {
            write!(f, "...{}", decimal(*end))?;
        }
        write!(f, " {}", self.action)
    }
}
