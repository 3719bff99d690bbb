//! What a call asks for, once its function and arguments are understood.

use super::Other;
use super::arguments::{Arguments, field, only_member};
use super::constants::{self, value};
use super::names;
use super::pipe::{self, Splice};
use super::watch::{Await, Poll, Watch, Watcher};
use crate::outcome::{Step, Stop};
use crate::script::{Call, Expression};
use fairwind_units::Instant;

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
        backlog: i64,
    },
    Accept {
        descriptor: i64,
        made: Option<i64>,
        nonblocking: bool,
    },
    Connect {
        descriptor: i64,
    },
    /// `connect` to no family: the connection is given up.
    Disconnect {
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
    /// `epoll_create`, or `open` of a file to be sent.
    Make {
        descriptor: Option<i64>,
        what: Other,
    },
    Pipe {
        ends: [i64; 2],
    },
    Splice(Splice),
    /// `epoll_ctl`
    Watch(Watch),
    /// `epoll_wait`
    Await(Await),
    /// A transfer to or from nowhere: it fails (`EFAULT`).
    Fault {
        descriptor: i64,
    },
    /// `getsockname`, `getpeername`
    Name {
        descriptor: i64,
        of_peer: bool,
    },
}

/// `read` and its relatives.
#[derive(Debug, Clone)]
pub(crate) struct Read {
    pub(super) descriptor: i64,
    pub(super) bytes: u32,
    pub(super) flags: i64,
    /// What `recvmsg` is expected to hand back besides.
    pub(super) message: Option<Expression>,
    /// Bytes that were read so far.
    pub(super) taken: u32,
    /// When the socket's time runs out, once the call has begun.
    pub(super) until: Option<Instant>,
}

/// `write` and its relatives.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Write {
    pub(super) descriptor: i64,
    pub(super) bytes: u32,
    pub(super) flags: i64,
    /// Bytes that the connection has taken so far.
    pub(super) taken: u32,
    /// The call has begun the connection itself.
    pub(super) begun: bool,
}

impl Read {
    /// As `recv` reads.
    pub(super) fn plain(descriptor: i64, bytes: u32, flags: i64) -> Self {
        Self { descriptor, bytes, flags, message: None, taken: 0, until: None }
    }
}

impl Write {
    /// As `send` writes.
    pub(super) fn plain(descriptor: i64, bytes: u32, flags: i64) -> Self {
        Self { descriptor, bytes, flags, taken: 0, begun: false }
    }

    /// Whether the call asks for data with the SYN.
    pub(super) fn is_fast(&self) -> bool {
        self.flags & constants::FAST_OPEN != 0
    }

    /// Whether the call asks not to wait.
    pub(super) fn is_impatient(&self) -> bool {
        self.flags & constants::DO_NOT_WAIT != 0
    }
}

/// `setsockopt` or `getsockopt`.
#[derive(Debug, Clone)]
pub(crate) struct SocketOption {
    pub(super) descriptor: i64,
    /// As it is written: a number or a name.
    pub(super) name: String,
    pub(super) value: Expression,
}

impl Request {
    /// Understands a call.
    pub(crate) fn of(call: &Call) -> Step<Self> {
        let given = Arguments::of(call);
        let function = call.function.as_str();
        match function {
            "socket" => socket(given),
            "bind" => Ok(Self::Bind { descriptor: given.number(0)? }),
            "listen" => {
                Ok(Self::Listen { descriptor: given.number(0)?, backlog: given.number_or(1, 0)? })
            }
            "accept" | "accept4" => Ok(Self::Accept {
                descriptor: given.number(0)?,
                made: given.returned_descriptor(),
                nonblocking: given.number_or(3, 0)? & constants::NONBLOCK != 0,
            }),
            "connect" => connect(given),
            "write" | "send" | "sendto" | "read" | "recv" | "recvfrom"
                if given.is_nowhere(1) && given.bytes(2)? > 0 =>
            {
                Ok(Self::Fault { descriptor: given.number(0)? })
            }
            "writev" | "sendmsg" | "readv" | "recvmsg" if given.faults_at_once(1)? => {
                Ok(Self::Fault { descriptor: given.number(0)? })
            }
            "read" | "recv" | "recvfrom" | "readv" | "recvmsg" => read(function, given),
            "write" | "send" | "sendto" | "writev" | "sendmsg" | "sendfile" => {
                write(function, given)
            }
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
            "poll" => Poll::of(given).map(Self::Poll),
            "epoll_create" | "epoll_create1" => {
                let descriptor = given.returned_descriptor();
                Ok(Self::Make { descriptor, what: Other::Watcher(Watcher::default()) })
            }
            "epoll_ctl" => Watch::of(given).map(Self::Watch),
            "epoll_wait" => Await::of(given).map(Self::Await),
            "open" => Ok(Self::Make { descriptor: given.returned_descriptor(), what: Other::File }),
            "pipe" => Ok(Self::Pipe { ends: pipe::ends(given)? }),
            "splice" => Splice::of(given).map(Self::Splice),
            "getsockname" | "getpeername" => {
                let of_peer = function == "getpeername";
                Ok(Self::Name { descriptor: given.number(0)?, of_peer })
            }
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

fn connect(given: Arguments<'_>) -> Step<Request> {
    let descriptor = given.number(0)?;
    let family = given.get(1).ok().and_then(|address| match address {
        Expression::Record(_) => field(address, "sa_family"),
        other => Some(other),
    });
    Ok(match family {
        Some(Expression::Name(name)) if name == "AF_UNSPEC" => Request::Disconnect { descriptor },
        _ => Request::Connect { descriptor },
    })
}

fn read(function: &str, given: Arguments<'_>) -> Step<Request> {
    let (bytes, flags) = match function {
        "readv" => (given.vector_bytes(1)?, 0),
        "recvmsg" => (given.message_bytes(1)?, given.number_or(2, 0)?),
        _ => (given.bytes(2)?, given.number_or(3, 0)?),
    };
    let known = constants::PEEK
        | constants::OUT_OF_BAND
        | constants::DO_NOT_WAIT
        | constants::WAIT_FOR_ALL
        | constants::ERROR_QUEUE
        | constants::INDIFFERENT;
    refuse_unknown(flags, known)?;
    let message = if function == "recvmsg" { Some(given.get(1)?.clone()) } else { None };
    let descriptor = given.number(0)?;
    Ok(Request::Read(Read { descriptor, bytes, flags, message, taken: 0, until: None }))
}

fn write(function: &str, given: Arguments<'_>) -> Step<Request> {
    let (bytes, flags) = match function {
        "writev" => (given.vector_bytes(1)?, 0),
        "sendfile" => (given.bytes(3)?, 0),
        "sendmsg" => (given.message_bytes(1)?, given.number_or(2, 0)?),
        _ => (given.bytes(2)?, given.number_or(3, 0)?),
    };
    let known = constants::MORE
        | constants::OUT_OF_BAND
        | constants::ZEROCOPY
        | constants::FAST_OPEN
        | constants::DO_NOT_WAIT
        | constants::INDIFFERENT;
    refuse_unknown(flags, known)?;
    Ok(Request::Write(Write { descriptor: given.number(0)?, bytes, flags, taken: 0, begun: false }))
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
    let name = match given.get(2)? {
        Expression::Integer(number) => {
            let known = names::option_name(given.number(1)?, *number);
            known.map_or_else(|| number.to_string(), str::to_owned)
        }
        other => other.to_string(),
    };
    let value = only_member(given.get(3)?).clone();
    Ok(SocketOption { descriptor: given.number(0)?, name, value })
}

fn query(given: Arguments<'_>) -> Step<Request> {
    let expected = match given.get(2).map(only_member) {
        Ok(Expression::Any) | Err(_) => None,
        Ok(expression) => Some(value(expression)?),
    };
    Ok(Request::Query { descriptor: given.number(0)?, what: given.get(1)?.to_string(), expected })
}
