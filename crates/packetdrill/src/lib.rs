//! Packetdrill scripts run against our endpoint, in virtual time.

mod script;

pub use script::{
    Action, Call, Command, Direction, Event, EventTime, Expression, Field, Icmp, Mark, OptionLine,
    Packet, ParseError, Position, Script, TcpOption,
};
