//! What a call asks for, once its function and arguments are understood.

use super::arguments::{Arguments, field, only_member};
use super::constants::{self, value};
use crate::outcome::{Step, Stop};
use crate::script::{Call, Expression};
use fairwind_units::{Instant, Span};

/// A call of the system.
#[derive(Debug, Clone)]
pub(crate) enum Request {
    Socket {
        descriptor: i64,
        nonblocking: bool,
    },
    Bind {
        descriptor: i64,
    },
    Listen {
        descriptor: i64,
    },
    Accept {
        descriptor: i64,
        made: Option<i64>,
        nonblocking: bool,
    },
    Connect {
        descriptor: i64,
    },
    Read(Read),
    Write(Write),
    Shutdown {
        descriptor: i64,
        how: i64,
    },
    Close {
        descriptor: i64,
        until: Option<Instant>,
    },
    SetOption(SocketOption),
    GetOption(SocketOption),
    /// `fcntl`
    Control {
        descriptor: i64,
        command: String,
        argument: i64,
    },
    /// `ioctl` that asks for a number.
    Query {
        descriptor: i64,
        what: String,
        expected: Option<i64>,
    },
    Poll(Poll),
}

/// `read` and its relatives.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Read {
    pub(super) descriptor: i64,
    pub(super) bytes: u32,
    pub(super) flags: i64,
}

/// `write` and its relatives.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Write {
    pub(super) descriptor: i64,
    pub(super) bytes: u32,
    pub(super) flags: i64,
    /// Bytes that the connection has taken so far.
    pub(super) taken: u32,
}

/// `setsockopt` or `getsockopt`.
#[derive(Debug, Clone)]
pub(crate) struct SocketOption {
    pub(super) descriptor: i64,
    /// As it is written: a number or a name.
    pub(super) name: String,
    pub(super) value: Expression,
}

/// `poll`: what is watched, and how long.
#[derive(Debug, Clone)]
pub(crate) struct Poll {
    pub(super) watched: Vec<Watched>,
    /// `None` is for ever.
    pub(super) timeout: Option<Span>,
    /// When it runs out, once the call has begun.
    pub(super) until: Option<Instant>,
}

/// One entry of `poll`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Watched {
    pub(super) descriptor: i64,
    pub(super) events: i64,
    /// What the script expects to be returned.
    pub(super) expected: i64,
}

impl Request {
    /// Understands a call.
    pub(crate) fn of(call: &Call) -> Step<Self> {
        let given = Arguments::of(call);
        let function = call.function.as_str();
        match function {
            "socket" => socket(given),
            "bind" => Ok(Self::Bind { descriptor: given.number(0)? }),
            "listen" => Ok(Self::Listen { descriptor: given.number(0)? }),
            "accept" | "accept4" => Ok(Self::Accept {
                descriptor: given.number(0)?,
                made: given.returned_descriptor(),
                nonblocking: given.number_or(3, 0)? & constants::NONBLOCK != 0,
            }),
            "connect" => Ok(Self::Connect { descriptor: given.number(0)? }),
            "read" | "recv" | "recvfrom" | "readv" | "recvmsg" => read(function, given),
            "write" | "send" | "sendto" | "writev" | "sendmsg" => write(function, given),
            "shutdown" => {
                Ok(Self::Shutdown { descriptor: given.number(0)?, how: given.number(1)? })
            }
            "close" => Ok(Self::Close { descriptor: given.number(0)?, until: None }),
            "setsockopt" => option(given).map(Self::SetOption),
            "getsockopt" => option(given).map(Self::GetOption),
            "fcntl" => Ok(Self::Control {
                descriptor: given.number(0)?,
                command: given.get(1)?.to_string(),
                argument: given.number_or(2, 0)?,
            }),
            "ioctl" => query(given),
            "poll" => poll(given).map(Self::Poll),
            other => Err(Stop::unsupported(format!("the call {other} is not known here"))),
        }
    }
}

fn socket(given: Arguments<'_>) -> Step<Request> {
    let nonblocking = given.number(1)? & constants::NONBLOCK != 0;
    match given.returned_descriptor() {
        Some(descriptor) => Ok(Request::Socket { descriptor, nonblocking }),
        None => Err(Stop::failed("socket never fails here: write the descriptor that it returns")),
    }
}

fn read(function: &str, given: Arguments<'_>) -> Step<Request> {
    let (bytes, flags) = match function {
        "readv" => (given.vector_bytes(1)?, 0),
        "recvmsg" => (given.message_bytes(1)?, given.number_or(2, 0)?),
        _ => (given.bytes(2)?, given.number_or(3, 0)?),
    };
    let known = constants::PEEK | constants::DO_NOT_WAIT | constants::INDIFFERENT;
    refuse_unknown(flags, known)?;
    Ok(Request::Read(Read { descriptor: given.number(0)?, bytes, flags }))
}

fn write(function: &str, given: Arguments<'_>) -> Step<Request> {
    let (bytes, flags) = match function {
        "writev" => (given.vector_bytes(1)?, 0),
        "sendmsg" => (given.message_bytes(1)?, given.number_or(2, 0)?),
        _ => (given.bytes(2)?, given.number_or(3, 0)?),
    };
    refuse_unknown(flags, constants::DO_NOT_WAIT | constants::INDIFFERENT)?;
    Ok(Request::Write(Write { descriptor: given.number(0)?, bytes, flags, taken: 0 }))
}

fn refuse_unknown(flags: i64, known: i64) -> Step<()> {
    match flags & !known {
        0 => Ok(()),
        unknown => Err(Stop::unsupported(format!(
            "the endpoint has nothing for the flags {unknown:#x} of send or recv"
        ))),
    }
}

fn option(given: Arguments<'_>) -> Step<SocketOption> {
    Ok(SocketOption {
        descriptor: given.number(0)?,
        name: given.get(2)?.to_string(),
        value: only_member(given.get(3)?).clone(),
    })
}

fn query(given: Arguments<'_>) -> Step<Request> {
    let expected = match given.get(2).map(only_member) {
        Ok(Expression::Any) | Err(_) => None,
        Ok(expression) => Some(value(expression)?),
    };
    Ok(Request::Query { descriptor: given.number(0)?, what: given.get(1)?.to_string(), expected })
}

fn poll(given: Arguments<'_>) -> Step<Poll> {
    let entries = given.get(0)?;
    let Expression::List(entries) = entries else {
        return Err(Stop::failed(format!("`{entries}` is no list [{{fd=..}}, ...]")));
    };
    let watched = entries.iter().map(watched).collect::<Step<Vec<_>>>()?;
    let timeout = u64::try_from(given.number(2)?).ok().map(Span::from_millis);
    Ok(Poll { watched, timeout, until: None })
}

fn watched(entry: &Expression) -> Step<Watched> {
    let number = |name: &str| match field(entry, name) {
        Some(expression) => value(expression),
        None => Err(Stop::failed(format!("`{entry}` has no field {name}"))),
    };
    Ok(Watched {
        descriptor: number("fd")?,
        events: number("events")?,
        expected: number("revents")?,
    })
}
