//! Packetdrill scripts run against our endpoint, in virtual time.

mod code;
mod outcome;
mod run;
mod script;

pub use outcome::{Exchange, Failure, Outcome, Unsupported};
pub use run::{EchoRule, RunOptions, TrailingPackets, run, run_script};
pub use script::{
    Action, Call, Command, Direction, Event, EventTime, Expression, Field, Icmp, Mark, OptionLine,
    Packet, ParseError, Position, Script, TcpOption,
};
