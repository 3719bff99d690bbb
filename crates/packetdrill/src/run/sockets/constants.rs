//! Names of the system's headers, with their values on Linux.

use crate::outcome::{Step, Stop};
use crate::script::Expression;

/// `shutdown`: no more reading.
pub(super) const SHUT_RD: i64 = 0;
/// `shutdown`: no more writing.
pub(super) const SHUT_WR: i64 = 1;
/// `O_NONBLOCK`, and with it `SOCK_NONBLOCK`.
pub(super) const NONBLOCK: i64 = 0o4000;
/// `O_RDWR`.
pub(super) const READ_WRITE: i64 = 2;
/// `MSG_PEEK`
pub(super) const PEEK: i64 = 0x02;
/// `MSG_DONTWAIT`
pub(super) const DO_NOT_WAIT: i64 = 0x40;
/// Flags of `send` and `recv` that change nothing here: `MSG_TRUNC`, `MSG_EOR`, `MSG_NOSIGNAL`.
pub(super) const INDIFFERENT: i64 = 0x20 | 0x80 | 0x4000;
/// `POLLIN`
pub(super) const POLL_IN: i64 = 0x001;
/// `POLLOUT`
pub(super) const POLL_OUT: i64 = 0x004;
/// `POLLERR`
pub(super) const POLL_ERROR: i64 = 0x008;
/// `POLLHUP`
pub(super) const POLL_HANG_UP: i64 = 0x010;
/// `POLLRDHUP`
pub(super) const POLL_PEER_HANG_UP: i64 = 0x2000;

const VALUES: &[(&str, i64)] = &[
    ("AF_INET", 2),
    ("AF_INET6", 10),
    ("PF_INET", 2),
    ("PF_INET6", 10),
    ("SOCK_STREAM", 1),
    ("SOCK_NONBLOCK", NONBLOCK),
    ("SOCK_CLOEXEC", 0o2_000_000),
    ("IPPROTO_TCP", 6),
    ("SHUT_RD", SHUT_RD),
    ("SHUT_WR", SHUT_WR),
    ("SHUT_RDWR", 2),
    ("O_RDWR", READ_WRITE),
    ("O_NONBLOCK", NONBLOCK),
    ("MSG_PEEK", PEEK),
    ("MSG_DONTWAIT", DO_NOT_WAIT),
    ("MSG_TRUNC", 0x20),
    ("MSG_EOR", 0x80),
    ("MSG_NOSIGNAL", 0x4000),
    ("MSG_OOB", 0x01),
    ("MSG_WAITALL", 0x100),
    ("MSG_MORE", 0x8000),
    ("MSG_ZEROCOPY", 0x400_0000),
    ("MSG_FASTOPEN", 0x2000_0000),
    ("POLLIN", POLL_IN),
    ("POLLRDNORM", 0x040),
    ("POLLOUT", POLL_OUT),
    ("POLLWRNORM", 0x100),
    ("POLLERR", POLL_ERROR),
    ("POLLHUP", POLL_HANG_UP),
    ("POLLRDHUP", POLL_PEER_HANG_UP),
    ("EPIPE", 32),
    ("ECONNRESET", 104),
    ("ETIMEDOUT", 110),
    ("ECONNREFUSED", 111),
];

/// The number of an error that a connection can end with.
pub(super) fn error_number(name: &str) -> i64 {
    VALUES.iter().find(|(known, _)| *known == name).map_or(0, |(_, value)| *value)
}

/// The number that an expression stands for.
pub(crate) fn value(expression: &Expression) -> Step<i64> {
    match expression {
        Expression::Integer(number) => Ok(*number),
        Expression::Name(name) => VALUES
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| *value)
            .ok_or_else(|| Stop::unsupported(format!("the name {name} is not known here"))),
        Expression::Union(members) => {
            members.iter().try_fold(0, |union, member| Ok(union | value(member)?))
        }
        other => Err(Stop::failed(format!("`{other}` is no number"))),
    }
}
