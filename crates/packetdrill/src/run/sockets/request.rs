//! System calls with parsed arguments.

use super::poll::{Epoll, EpollCtl, EpollWait, Poll};
use super::{
    MSG_DONTWAIT, MSG_EOR, MSG_ERRQUEUE, MSG_FASTOPEN, MSG_MORE, MSG_NOSIGNAL, MSG_OOB, MSG_PEEK,
    MSG_TRUNC, MSG_WAITALL, MSG_ZEROCOPY, O_NONBLOCK, Other,
};
use crate::outcome::{Step, Stop};
use crate::script::constants::{SPLICE_F_MORE, SPLICE_F_NONBLOCK};
use crate::script::{Call, Expression, option_name};
use fairwind_units::Instant;

/// Flags of `send` and `recv` that change nothing here.
const NO_EFFECT: i64 = MSG_TRUNC | MSG_EOR | MSG_NOSIGNAL;

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
    /// `ioctl` that returns a number.
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
    /// The scripted message of `recvmsg`.
    pub(super) message: Option<Expression>,
    /// Bytes that were read so far.
    pub(super) taken: u32,
    /// Deadline by the socket's timeout, once the call has begun.
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
    /// The send buffer was full.
    pub(super) wants_room: bool,
    /// Transmit timestamps that this call requests.
    pub(super) stamping: Option<i64>,
    /// Deadline by the socket's timeout, once the call has begun.
    pub(super) until: Option<Instant>,
    /// Bytes of a packet that holds no more pages of the application's (`MSG_ZEROCOPY`).
    pub(super) packet_bytes: Option<u32>,
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
            packet_bytes: None,
        }
    }

    /// Whether the call sends data with the SYN.
    pub(super) fn is_fast(&self) -> bool {
        self.flags & MSG_FASTOPEN != 0
    }

    pub(super) fn is_nonblocking(&self) -> bool {
        self.flags & MSG_DONTWAIT != 0
    }
}

/// `setsockopt` or `getsockopt`.
#[derive(Debug, Clone)]
pub(crate) struct SocketOption {
    pub(super) descriptor: i64,
    /// Name of the option as written: a number or a name.
    pub(super) name: String,
    pub(super) value: Expression,
    /// Scripted length of the value.
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

    pub(crate) fn of(call: &Call) -> Step<Self> {
        let function = call.function.as_str();
        match function {
            "socket" => socket(call),
            "bind" => Ok(Self::Bind { descriptor: call.number(0)? }),
            "listen" => {
                Ok(Self::Listen { descriptor: call.number(0)?, backlog: call.number_or(1, 0)? })
            }
            "accept" | "accept4" => Ok(Self::Accept {
                descriptor: call.number(0)?,
                made: call.returned_descriptor(),
                nonblocking: call.number_or(3, 0)? & O_NONBLOCK != 0,
                until: None,
            }),
            "connect" => connect(call),
            "write" | "send" | "sendto" | "read" | "recv" | "recvfrom"
                if call.arguments.get(1).is_some_and(is_null) && call.bytes(2)? > 0 =>
            {
                Ok(Self::Fault { descriptor: call.number(0)? })
            }
            "writev" | "sendmsg" | "readv" | "recvmsg" if faults_at_once(call)? => {
                Ok(Self::Fault { descriptor: call.number(0)? })
            }
            "read" | "recv" | "recvfrom" | "readv" | "recvmsg" => read(function, call),
            "write" | "send" | "sendto" | "writev" | "sendmsg" | "sendfile" => {
                write(function, call)
            }
            "shutdown" => Ok(Self::Shutdown { descriptor: call.number(0)?, how: call.number(1)? }),
            "close" => Ok(Self::Close { descriptor: call.number(0)?, until: None }),
            "setsockopt" => option(call).map(Self::SetOption),
            "getsockopt" => option(call).map(Self::GetOption),
            "fcntl" => Ok(Self::Control {
                descriptor: call.number(0)?,
                command: call.argument(1)?.to_string(),
                argument: call.number_or(2, 0)?,
            }),
            "ioctl" => query(call),
            "poll" => Poll::of(call).map(Self::Poll),
            "epoll_create" | "epoll_create1" => {
                let descriptor = call.returned_descriptor();
                Ok(Self::Make { descriptor, what: Other::Epoll(Epoll::default()) })
            }
            "epoll_ctl" => EpollCtl::of(call).map(Self::EpollCtl),
            "epoll_wait" => EpollWait::of(call).map(Self::EpollWait),
            "open" => Ok(Self::Make { descriptor: call.returned_descriptor(), what: Other::File }),
            "pipe" => Ok(Self::Pipe { ends: pipe_ends(call)? }),
            "splice" => Splice::of(call).map(Self::Splice),
            "getsockname" | "getpeername" => {
                let of_peer = function == "getpeername";
                Ok(Self::Name { descriptor: call.number(0)?, of_peer })
            }
            other => Err(Stop::unsupported(format!("the call {other} is not known here"))),
        }
    }
}

fn socket(call: &Call) -> Step<Request> {
    let nonblocking = call.number(1)? & O_NONBLOCK != 0;
    match call.returned_descriptor() {
        Some(descriptor) => Ok(Request::Socket { descriptor, nonblocking }),
        None => Err(Stop::failed("socket never fails here: write the descriptor that it returns")),
    }
}

fn connect(call: &Call) -> Step<Request> {
    let descriptor = call.number(0)?;
    let family = call.argument(1).ok().and_then(|address| match address {
        Expression::Record(_) => address.field("sa_family"),
        other => Some(other),
    });
    Ok(match family {
        Some(Expression::Name(name)) if name == "AF_UNSPEC" => Request::Disconnect { descriptor },
        _ => Request::Connect { descriptor, waits: None },
    })
}

fn read(function: &str, call: &Call) -> Step<Request> {
    let (bytes, flags) = match function {
        "readv" => (vector_bytes(call.argument(1)?)?, 0),
        "recvmsg" => (message_bytes(call.argument(1)?)?, call.number_or(2, 0)?),
        _ => (call.bytes(2)?, call.number_or(3, 0)?),
    };
    let known = MSG_PEEK | MSG_OOB | MSG_DONTWAIT | MSG_WAITALL | MSG_ERRQUEUE | NO_EFFECT;
    refuse_unknown(flags, known)?;
    let message = if function == "recvmsg" { Some(call.argument(1)?.clone()) } else { None };
    let descriptor = call.number(0)?;
    Ok(Request::Read(Read { message, ..Read::plain(descriptor, bytes, flags) }))
}

fn write(function: &str, call: &Call) -> Step<Request> {
    let (bytes, flags) = match function {
        "writev" => (vector_bytes(call.argument(1)?)?, 0),
        "sendfile" => (call.bytes(3)?, 0),
        "sendmsg" => (message_bytes(call.argument(1)?)?, call.number_or(2, 0)?),
        _ => (call.bytes(2)?, call.number_or(3, 0)?),
    };
    let known = MSG_MORE | MSG_OOB | MSG_ZEROCOPY | MSG_FASTOPEN | MSG_DONTWAIT | NO_EFFECT;
    refuse_unknown(flags, known)?;
    let stamping = if function == "sendmsg" { stamping_of(call.argument(1)?)? } else { None };
    let pinned = flags & MSG_ZEROCOPY != 0;
    let packet_bytes = if pinned { packet_bytes(call.argument(1)?)? } else { None };
    let plain = Write::plain(call.number(0)?, bytes, flags);
    Ok(Request::Write(Write { stamping, packet_bytes, ..plain }))
}

/// `SO_TIMESTAMPING` as a control message.
fn stamping_of(message: &Expression) -> Step<Option<i64>> {
    let Some(Expression::List(parts)) = message.field("msg_control") else { return Ok(None) };
    let mut stamping = None;
    for part in parts {
        match part.field("cmsg_type") {
            Some(Expression::Name(name)) if name == "SO_TIMESTAMPING" => {
                let flags = part.field("cmsg_data").map_or(Ok(0), Expression::number)?;
                stamping = u32::try_from(flags).ok().map(i64::from);
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

fn option(call: &Call) -> Step<SocketOption> {
    let name = match call.argument(2)? {
        Expression::Integer(number) => {
            let known = option_name(call.number(1)?, *number);
            known.map_or_else(|| number.to_string(), str::to_owned)
        }
        other => other.to_string(),
    };
    let value = call.argument(3)?.only_member().clone();
    let length = call.given_number(4)?;
    Ok(SocketOption { descriptor: call.number(0)?, name, value, length })
}

fn query(call: &Call) -> Step<Request> {
    let expected = call.given_number(2)?;
    let (descriptor, what) = (call.number(0)?, call.argument(1)?.to_string());
    Ok(Request::Query { descriptor, what, expected })
}

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
    pub(super) fn of(call: &Call) -> Step<Self> {
        Ok(Self {
            from: call.number(0)?,
            to: call.number(2)?,
            bytes: call.bytes(4)?,
            flags: call.number_or(5, 0)?,
        })
    }

    pub(super) fn transfer_flags(&self) -> i64 {
        let more = if self.flags & SPLICE_F_MORE != 0 { MSG_MORE } else { 0 };
        let hasty = if self.flags & SPLICE_F_NONBLOCK != 0 { MSG_DONTWAIT } else { 0 };
        more | hasty
    }
}

/// The two descriptors of `pipe([6, 7])`: where it is read, and where it is written.
pub(super) fn pipe_ends(call: &Call) -> Step<[i64; 2]> {
    match call.argument(0)? {
        Expression::List(ends) if ends.len() == 2 => Ok([ends[0].number()?, ends[1].number()?]),
        other => Err(Stop::failed(format!("`{other}` is no list of two descriptors"))),
    }
}

/// Unit of copying (Linux `skb_page_frag_refill`: fragments of 32 KiB).
const COPY_UNIT: u32 = 1 << 15;

/// Whether a buffer has an address that is no buffer's.
fn is_null(buffer: &Expression) -> bool {
    match buffer {
        Expression::Integer(_) => true,
        Expression::Name(name) => name == "NULL",
        _ => false,
    }
}

/// Whether a buffer is `NULL` early enough that nothing is transferred: the kernel copies units of
/// [`COPY_UNIT`], each completely or not at all.
fn faults_at_once(call: &Call) -> Step<bool> {
    let Some(argument) = call.arguments.get(1) else { return Ok(false) };
    let vector = argument.field("msg_iov").unwrap_or(argument);
    let Expression::List(buffers) = vector else { return Ok(false) };
    let faults = buffers.iter().any(|buffer| match buffer {
        Expression::Record(fields) => fields.first().is_some_and(|first| is_null(&first.value)),
        _ => false,
    });
    Ok(faults && vector_bytes(vector)? == 0)
}

/// Pages that one packet holds of an application's memory (`MAX_SKB_FRAGS`); each buffer takes one.
const MAX_PAGES: usize = 17;

/// Bytes in a packet that holds as many buffers of a message as possible, if there are more; assumes
/// buffers of one size.
fn packet_bytes(message: &Expression) -> Step<Option<u32>> {
    match message.field("msg_iov") {
        Some(Expression::List(buffers)) if buffers.len() > MAX_PAGES => {
            let first = Expression::List(buffers[..MAX_PAGES].to_vec());
            vector_bytes(&first).map(Some)
        }
        _ => Ok(None),
    }
}

/// The bytes of the buffers of `{..., msg_iov(1)=[...], ...}`.
fn message_bytes(message: &Expression) -> Step<u32> {
    match message.field("msg_iov") {
        Some(vector) => vector_bytes(vector),
        // The buffer carries no bytes, only control messages.
        None if matches!(message, Expression::Record(_) | Expression::Any) => Ok(0),
        None => Err(Stop::failed(format!("`{message}` has no msg_iov"))),
    }
}

/// The bytes of the buffers in `[{..., 100}, {..., 200}]`.
fn vector_bytes(vector: &Expression) -> Step<u32> {
    if *vector == Expression::Any {
        return Ok(0);
    }
    let Expression::List(buffers) = vector else {
        return Err(Stop::failed(format!("`{vector}` is no list of buffers")));
    };
    let mut sum = 0_u32;
    for buffer in buffers {
        match buffer {
            Expression::Any => {}
            // Buffers after a `NULL` are not reached.
            Expression::Record(fields) if fields.len() == 2 && is_null(&fields[0].value) => {
                return Ok(sum - sum % COPY_UNIT);
            }
            Expression::Record(fields) if fields.len() == 2 => {
                sum = sum.saturating_add(fields[1].value.bytes()?);
            }
            _ => return Err(Stop::failed(format!("`{buffer}` is no buffer {{..., bytes}}"))),
        }
    }
    Ok(sum)
}
