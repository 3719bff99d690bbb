//! Syntax tree of a script, and its text form.

use fairwind_units::Span;
use fairwind_wire::{CounterOrder, Flags};
use std::fmt::{Display, Formatter, Result};

/// A whole script.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Script {
    /// The script's name, for messages.
    pub name: String,
    /// The lines `--name=value` at the beginning, and the definitions among them.
    pub options: Vec<OptionLine>,
    /// The command in back quotes before the first event.
    pub preparation: Option<Command>,
    /// Events in order.
    pub events: Vec<Event>,
    /// The command in back quotes after the last event.
    pub cleanup: Option<Command>,
}

/// One line `--name=value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionLine {
    /// Line in the script, from 1.
    pub line: u32,
    /// Name without hyphens.
    pub name: String,
    /// The text after `=`, if any.
    pub value: Option<String>,
}

/// A command of the shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// Line in the script, from 1.
    pub line: u32,
    /// The text between the back quotes.
    pub text: String,
}

/// One thing that happens, or is expected to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Line in the script, from 1.
    pub line: u32,
    /// When.
    pub time: EventTime,
    /// Action of the event.
    pub action: Action,
}

/// When an event happens. Absolute times count from the beginning of the script, relative ones
/// from the event before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventTime {
    /// `0.5`
    Absolute(Span),
    /// `+0.5`
    Relative(Span),
    /// `0.5~0.6`
    AbsoluteRange(Span, Span),
    /// `+0.5~+0.6`
    RelativeRange(Span, Span),
    /// `*`
    Any,
}

/// Action of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// A TCP packet is injected, or expected.
    Packet(Packet),
    /// An ICMP message is injected.
    Icmp(Icmp),
    /// The application calls the system.
    Call(Call),
    /// The shell runs a command.
    Command(String),
    /// Code that inspects the endpoint.
    Code(String),
    /// A packet of another protocol, or an encapsulated one, as written.
    Foreign(String),
}

/// Direction of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// `<`: to the endpoint; the script injects it.
    In,
    /// `>`: from the endpoint; the script expects it.
    Out,
}

/// A TCP packet as a script writes it, in the script's own sequence numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// Direction.
    pub direction: Direction,
    /// The mark in the IP header, where one is written.
    pub mark: Option<Mark>,
    /// The whole `tos` octet of the IP header, if written.
    pub traffic_class: Option<u8>,
    /// Control bits.
    pub flags: Flags,
    /// Sequence number of the first payload byte.
    pub sequence: u32,
    /// Payload bytes.
    pub payload_bytes: u32,
    /// Acknowledgment number, where one is written.
    pub acknowledgment: Option<u32>,
    /// Window field, where one is written.
    pub window: Option<u16>,
    /// Urgent pointer, where one is written.
    pub urgent: Option<u16>,
    /// Options; `None` for `<...>`, which matches any.
    pub options: Option<Vec<TcpOption>>,
}

/// The congestion mark of an IP header (RFC 3168 §5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// `[noecn]`
    NotCapable,
    /// `[ect0]`
    Capable0,
    /// `[ect1]`
    Capable1,
    /// `[ect01]`: either of the two.
    Capable,
    /// `[ce]`
    CongestionExperienced,
}

/// One TCP option, at its position in the header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TcpOption {
    /// `nop`
    NoOperation,
    /// `eol`
    End,
    /// `mss 1460`
    MaximumSegment(u16),
    /// `wscale 7`
    WindowScale(u8),
    /// `sackOK`
    SackPermitted,
    /// `sack 1:1001 2001:3001`: left and right edges.
    Sack(Vec<(u32, u32)>),
    /// `TS val 100 ecr 200`
    Timestamps {
        /// The sender's clock.
        value: u32,
        /// The receiver's clock, echoed.
        echo: u32,
    },
    /// `FO` and the hexadecimal digits of the cookie, possibly none (RFC 7413).
    FastOpen(String),
    /// `FOEXP` and the digits: the experimental form of Fast Open.
    FastOpenExperimental(String),
    /// `ECN e1b 1 ceb 2 e0b 3`: the counters of accurate ECN (RFC 9768 §3.2.3) in their order.
    AccurateEcn {
        /// Order of the counters.
        order: CounterOrder,
        /// None to three counters of 24 bits.
        counters: Vec<u32>,
    },
    /// An option of the language that our endpoint does not have, as written.
    Other(String),
}

/// An ICMP message to the endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Icmp {
    /// Direction.
    pub direction: Direction,
    /// Type and code, as they are written (`unreachable frag_needed`).
    pub kind: String,
    /// The next hop's MTU in bytes, where one is written.
    pub mtu: Option<u32>,
    /// The quoted sequence range: first number and payload bytes.
    pub quoted: Option<(u32, u32)>,
}

/// A system call with its expected result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// When a blocking call returns, on the same scale as the time of its event.
    pub end: Option<Span>,
    /// The function.
    pub function: String,
    /// Its arguments.
    pub arguments: Vec<Expression>,
    /// Expected result; `...` for any.
    pub result: Expression,
    /// The name of the error, where it fails.
    pub error: Option<String>,
}

/// A value in a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expression {
    /// `...`: any value.
    Any,
    /// A number.
    Integer(i64),
    /// A name of the system's headers.
    Name(String),
    /// A text.
    Text(String),
    /// `a | b`: two or more.
    Union(Vec<Expression>),
    /// `[a, b]`
    List(Vec<Expression>),
    /// `{a = 1, b = 2}`
    Record(Vec<Field>),
    /// `htons(80)`
    Function(String, Vec<Expression>),
}

/// One entry of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The name, where there is one.
    pub name: Option<String>,
    /// The value.
    pub value: Expression,
}

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
        let name = MARKS.iter().find(|(_, mark)| mark == self).map_or("", |(name, _)| name);
        f.write_str(name)
    }
}

/// Marks by their names in scripts.
pub(super) const MARKS: [(&str, Mark); 5] = [
    ("noecn", Mark::NotCapable),
    ("ect0", Mark::Capable0),
    ("ect1", Mark::Capable1),
    ("ect01", Mark::Capable),
    ("ce", Mark::CongestionExperienced),
];

/// The counters of accurate ECN in their order.
pub(super) fn counter_names(order: CounterOrder) -> [&'static str; 3] {
    match order {
        CounterOrder::Ect0First => ["e0b", "ceb", "e1b"],
        CounterOrder::Ect1First => ["e1b", "ceb", "e0b"],
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
                f.write_str("ECN")?;
                counter_names(*order)
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

/// Seconds with the required number of decimals.
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
