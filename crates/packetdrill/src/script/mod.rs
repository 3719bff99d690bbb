//! The script language of packetdrill.
//!
//! | module | concern |
//! |---|---|
//! | `ast` | syntax tree, and its text form |
//! | `lexer` | tokens, cursor, parse errors |
//! | `parse` | parser of options, events, times and system calls |
//! | `packets` | parser of packets |
//! | `values`, `constants` | values of names |

mod ast;
pub(crate) mod constants;
mod lexer;
mod packets;
mod parse;
mod values;

pub(crate) use ast::decimal;
pub use ast::{
    Action, Call, Command, Direction, Event, EventTime, Expression, Field, Icmp, Mark, OptionLine,
    Packet, Script, TcpOption,
};
pub use lexer::{ParseError, Position};
pub(crate) use parse::define_usual;
pub(crate) use values::{constant, option_name};
pub use values::{errno_name, text_bytes};
