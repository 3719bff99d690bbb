//! The language: from text to a [`Script`], and packets back to text.

mod calls;
mod lexer;
mod packets;
mod parser;
mod show;
mod syntax;

pub use lexer::{ParseError, Position};
pub(crate) use show::decimal;
pub use syntax::{
    Action, Call, Command, Direction, Event, EventTime, Expression, Field, Icmp, Mark, OptionLine,
    Packet, Script, TcpOption,
};
