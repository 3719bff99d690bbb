//! System calls with parsed arguments.

use super::Other;
use super::arguments::{Arguments, field, only_member};
use super::constants::{self, DO_NOT_WAIT, MORE, value};
use super::poll::{Epoll, EpollCtl, EpollWait, Poll};
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
        until: Option<Instant>,
    },
    Connect {
        descriptor: i64,
        /// Until when the call waits, and whether it began the connection itself.
        waits: Option<(Instant, bool)>,
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
    EpollCtl(EpollCtl),
    /// `epoll_wait`
    EpollWait(EpollWait),
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
    /// It has found the send buffer full.
    pub(super) wants_room: bool,
    /// Which times of sending this call alone asks for.
    pub(super) stamping: Option<u32>,
    /// When the socket's time runs out, once the call has begun.
    pub(super) until: Option<Instant>,
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
        Self {
            descriptor,
            bytes,
            flags,
            taken: 0,
            begun: false,
            wants_room: false,
            stamping: None,
            until: None,
        }
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
    /// How long the value is said to be.
    pub(super) length: Option<i64>,
}

impl Request {
    /// The descriptor that the call is about, if it is about one socket.
    pub(super) fn descriptor(&self) -> Option<i64> {
        Some(match self {
            Self::Bind { descriptor }
            | Self::Listen { descriptor, .. }
            | Self::Accept { descriptor, .. }
            | Self::Connect { descriptor, .. }
            | Self::Disconnect { descriptor }
            | Self::Shutdown { descriptor, .. }
            | Self::Close { descriptor, .. }
            | Self::Control { descriptor, .. }
            | Self::Query { descriptor, .. }
            | Self::Fault { descriptor }
            | Self::Name { descriptor, .. } => *descriptor,
            Self::SetOption(option) | Self::GetOption(option) => option.descriptor,
            Self::Read(read) => read.descriptor,
            Self::Write(write) => write.descriptor,
            Self::Socket { .. }
            | Self::Poll(_)
            | Self::Make { .. }
            | Self::Pipe { .. }
            | Self::Splice(_)
            | Self::EpollCtl(_)
            | Self::EpollWait(_) => return None,
        })
    }

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
                until: None,
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
                Ok(Self::Make { descriptor, what: Other::Epoll(Epoll::default()) })
            }
            "epoll_ctl" => EpollCtl::of(given).map(Self::EpollCtl),
            "epoll_wait" => EpollWait::of(given).map(Self::EpollWait),
            "open" => Ok(Self::Make { descriptor: given.returned_descriptor(), what: Other::File }),
            "pipe" => Ok(Self::Pipe { ends: pipe_ends(given)? }),
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
        _ => Request::Connect { descriptor, waits: None },
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
    let stamping = if function == "sendmsg" { stamping_of(given.get(1)?)? } else { None };
    Ok(Request::Write(Write { stamping, ..Write::plain(given.number(0)?, bytes, flags) }))
}

/// `SO_TIMESTAMPING` as a control message.
fn stamping_of(message: &Expression) -> Step<Option<u32>> {
    let Some(Expression::List(parts)) = field(message, "msg_control") else { return Ok(None) };
    let mut stamping = None;
    for part in parts {
        match field(part, "cmsg_type") {
            Some(Expression::Name(name)) if name == "SO_TIMESTAMPING" => {
                let flags = field(part, "cmsg_data").map_or(Ok(0), value)?;
                stamping = u32::try_from(flags).ok();
            }
            _ => return Err(Stop::unsupported(format!("`{part}` to send is not known here"))),
        }
    }
    Ok(stamping)
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
            let known = constants::option_name(given.number(1)?, *number);
            known.map_or_else(|| number.to_string(), str::to_owned)
        }
        other => other.to_string(),
    };
    let value = only_member(given.get(3)?).clone();
    let length = match given.get(4).map(only_member) {
        Ok(Expression::Any) | Err(_) => None,
        Ok(length) => Some(constants::value(length)?),
    };
    Ok(SocketOption { descriptor: given.number(0)?, name, value, length })
}

fn query(given: Arguments<'_>) -> Step<Request> {
    let expected = match given.get(2).map(only_member) {
        Ok(Expression::Any) | Err(_) => None,
        Ok(expression) => Some(value(expression)?),
    };
    Ok(Request::Query { descriptor: given.number(0)?, what: given.get(1)?.to_string(), expected })
}

/// `SPLICE_F_NONBLOCK`
const SPLICE_DO_NOT_WAIT: i64 = 2;
/// `SPLICE_F_MORE`
const SPLICE_MORE: i64 = 4;

/// `splice`
#[derive(Debug, Clone)]
pub(crate) struct Splice {
    pub(super) from: i64,
    pub(super) to: i64,
    pub(super) bytes: u32,
    pub(super) flags: i64,
}

impl Splice {
    /// `splice(6, ..., 4, ..., 1000, SPLICE_F_MORE)`
    pub(super) fn of(given: Arguments<'_>) -> Step<Self> {
        Ok(Self {
            from: given.number(0)?,
            to: given.number(2)?,
            bytes: given.bytes(4)?,
            flags: given.number_or(5, 0)?,
        })
    }

    pub(super) fn transfer_flags(&self) -> i64 {
        let more = if self.flags & SPLICE_MORE != 0 { MORE } else { 0 };
        let hasty = if self.flags & SPLICE_DO_NOT_WAIT != 0 { DO_NOT_WAIT } else { 0 };
        more | hasty
    }
}

/// The two descriptors of `pipe([6, 7])`: where it is read, and where it is written.
pub(super) fn pipe_ends(given: Arguments<'_>) -> Step<[i64; 2]> {
    match given.get(0)? {
        Expression::List(ends) if ends.len() == 2 => Ok([value(&ends[0])?, value(&ends[1])?]),
        other => Err(Stop::failed(format!("`{other}` is no list of two descriptors"))),
    }
}
