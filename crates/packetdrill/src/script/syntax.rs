//! Syntax tree of a script.

use fairwind_units::Span;
use fairwind_wire::{CounterOrder, Flags};

/// A whole script.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Script {
    /// The script's name, for messages.
    pub name: String,
    /// The lines `--name=value` at the beginning, and the definitions among them.
    pub options: Vec<OptionLine>,
    /// The command in back quotes before the first event.
    pub preparation: Option<Command>,
    /// What happens, in order.
    pub events: Vec<Event>,
    /// The command in back quotes behind the last event.
    pub cleanup: Option<Command>,
}

/// One line `--name=value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionLine {
    /// Line in the script, from 1.
    pub line: u32,
    /// Name without hyphens.
    pub name: String,
    /// What stands behind `=`, if anything does.
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
    /// What.
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

/// What happens in an event.
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
    /// Code looks at the endpoint.
    Code(String),
    /// A packet of another protocol, or in another one, as it is written.
    Foreign(String),
}

/// Which way a packet goes.
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
    /// Which way.
    pub direction: Direction,
    /// The mark in the IP header, where one is written.
    pub mark: Option<Mark>,
    /// The whole octet of the IP header in which the mark stands (`tos`), where it is written.
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
    /// Options; `None` for `<...>`, which stands for any.
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

/// One TCP option, in the place where it stands in the header.
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
    /// `FO` and the hexadecimal digits of the cookie, which may be none (RFC 7413).
    FastOpen(String),
    /// `FOEXP` and the digits: the same as an experimental option, as it was before it got a kind of
    /// its own.
    FastOpenExperimental(String),
    /// `ECN e1b 1 ceb 2 e0b 3`: the counters of accurate ECN (RFC 9768 §3.2.3) in their order.
    AccurateEcn {
        /// Which of them comes first.
        order: CounterOrder,
        /// None to three counters of 24 bits.
        counters: Vec<u32>,
    },
    /// An option that the language has and that no endpoint of ours knows, as it is written.
    Other(String),
}

/// An ICMP message to the endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Icmp {
    /// Which way.
    pub direction: Direction,
    /// Type and code, as they are written (`unreachable frag_needed`).
    pub kind: String,
    /// The next hop's MTU in bytes, where one is written.
    pub mtu: Option<u32>,
    /// The quoted sequence range: first number and payload bytes.
    pub quoted: Option<(u32, u32)>,
}

/// A call of the system with what it is expected to return.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// When a blocking call returns: on the same scale as the time of its event.
    pub end: Option<Span>,
    /// The function.
    pub function: String,
    /// Its arguments.
    pub arguments: Vec<Expression>,
    /// What it returns; `...` for anything.
    pub result: Expression,
    /// The name of the error, where it fails.
    pub error: Option<String>,
}

/// A value in a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expression {
    /// `...`: anything, or nothing worth naming.
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
