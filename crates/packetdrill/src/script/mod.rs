//! The language: from text to a [`Script`], and packets back to text.

mod calls;
mod cursor;
mod error;
mod lexer;
mod packets;
mod parser;
mod show;
mod syntax;
mod token;

pub use error::ParseError;
pub(crate) use show::decimal;
pub use syntax::{
    Action, Call, Command, Direction, Event, EventTime, Expression, Field, Icmp, Mark, OptionLine,
    Packet, Script, TcpOption,
};
pub use token::Position;
