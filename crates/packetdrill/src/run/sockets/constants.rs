//! Names of the system's headers, with their values on Linux.

use super::names;
use crate::outcome::{Step, Stop};
use crate::script::Expression;

/// `shutdown`: no more reading.
pub(super) const SHUT_RD: i64 = 0;
/// `shutdown`: no more writing.
pub(super) const SHUT_WR: i64 = 1;
/// `shutdown`: neither.
pub(super) const SHUT_RDWR: i64 = 2;
/// `O_NONBLOCK`, and with it `SOCK_NONBLOCK`.
pub(super) const NONBLOCK: i64 = 0o4000;
/// `O_RDWR`.
pub(super) const READ_WRITE: i64 = 2;
/// `MSG_PEEK`
pub(super) const PEEK: i64 = 0x02;
/// `MSG_OOB`
pub(super) const OUT_OF_BAND: i64 = 0x01;
/// `MSG_EOR`
pub(super) const END_OF_RECORD: i64 = 0x80;
/// `MSG_MORE`
pub(super) const MORE: i64 = 0x8000;
/// `MSG_FASTOPEN`
pub(super) const FAST_OPEN: i64 = 0x2000_0000;
/// `MSG_DONTWAIT`
pub(super) const DO_NOT_WAIT: i64 = 0x40;
/// `MSG_WAITALL`
pub(super) const WAIT_FOR_ALL: i64 = 0x100;
/// `MSG_ZEROCOPY`
pub(super) const ZEROCOPY: i64 = 0x400_0000;
/// `MSG_ERRQUEUE`
pub(super) const ERROR_QUEUE: i64 = 0x2000;
/// Flags of `send` and `recv` that change nothing here: `MSG_TRUNC`, `MSG_EOR`, `MSG_NOSIGNAL`.
pub(super) const INDIFFERENT: i64 = 0x20 | 0x80 | 0x4000;
/// `POLLIN | POLLRDNORM`
pub(super) const POLL_READ: i64 = 0x041;
/// `POLLOUT | POLLWRNORM`
pub(super) const POLL_WRITE: i64 = 0x104;
/// `POLLERR`
pub(super) const POLL_ERROR: i64 = 0x008;
/// `POLLHUP`
pub(super) const POLL_HANG_UP: i64 = 0x010;
/// `POLLRDHUP`
pub(super) const POLL_PEER_HANG_UP: i64 = 0x2000;

/// The number of an error that a connection can end with.
pub(super) fn error_number(name: &str) -> i64 {
    names::number(name).unwrap_or(0)
}

/// The number that an expression stands for.
pub(crate) fn value(expression: &Expression) -> Step<i64> {
    match expression {
        Expression::Integer(number) => Ok(*number),
        Expression::Name(name) => names::number(name)
            .ok_or_else(|| Stop::unsupported(format!("the name {name} is not known here"))),
        Expression::Union(members) => {
            members.iter().try_fold(0, |union, member| Ok(union | value(member)?))
        }
        Expression::List(members) if members.len() == 1 => value(&members[0]),
        // Ports are kept as they are read.
        Expression::Function(name, arguments)
            if matches!(name.as_str(), "htons" | "htonl" | "ntohs" | "ntohl")
                && arguments.len() == 1 =>
        {
            value(&arguments[0])
        }
        other => Err(Stop::failed(format!("`{other}` is no number"))),
    }
}
