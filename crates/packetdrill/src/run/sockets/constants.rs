//! Names of the system's headers, with their values on Linux (`x86_64` and all that are numbered
//! alike).

use crate::outcome::{Step, Stop};
use crate::script::Expression;

/// Errors of calls.
const ERRORS: &[(&str, i64)] = &[
    ("EPERM", 1),
    ("ENOENT", 2),
    ("EINTR", 4),
    ("EIO", 5),
    ("ENXIO", 6),
    ("EBADF", 9),
    ("EAGAIN", 11),
    ("ENOMEM", 12),
    ("EACCES", 13),
    ("EFAULT", 14),
    ("EBUSY", 16),
    ("EEXIST", 17),
    ("ENODEV", 19),
    ("EINVAL", 22),
    ("ENFILE", 23),
    ("EMFILE", 24),
    ("ENOTTY", 25),
    ("ENOSPC", 28),
    ("ESPIPE", 29),
    ("EPIPE", 32),
    ("EDOM", 33),
    ("ERANGE", 34),
    ("ENOMSG", 42),
    ("EDEADLK", 35),
    ("ENOSYS", 38),
    ("EBADMSG", 74),
    ("EPROTO", 71),
    ("EOVERFLOW", 75),
    ("ENOTSOCK", 88),
    ("EDESTADDRREQ", 89),
    ("EMSGSIZE", 90),
    ("EPROTOTYPE", 91),
    ("ENOPROTOOPT", 92),
    ("EPROTONOSUPPORT", 93),
    ("ESOCKTNOSUPPORT", 94),
    ("EOPNOTSUPP", 95),
    ("EPFNOSUPPORT", 96),
    ("EAFNOSUPPORT", 97),
    ("EADDRINUSE", 98),
    ("EADDRNOTAVAIL", 99),
    ("ENETDOWN", 100),
    ("ENETUNREACH", 101),
    ("ENETRESET", 102),
    ("ECONNABORTED", 103),
    ("ECONNRESET", 104),
    ("ENOBUFS", 105),
    ("EISCONN", 106),
    ("ENOTCONN", 107),
    ("ESHUTDOWN", 108),
    ("ETIMEDOUT", 110),
    ("ECONNREFUSED", 111),
    ("EHOSTDOWN", 112),
    ("EHOSTUNREACH", 113),
    ("EALREADY", 114),
    ("EINPROGRESS", 115),
    ("ESTALE", 116),
    ("ECANCELED", 125),
    ("ENOKEY", 126),
];

/// Everything else.
const CONSTANTS: &[(&str, i64)] = &[
    ("AF_INET", 2),
    ("AF_INET6", 10),
    ("AF_UNSPEC", 0),
    ("AF_UNIX", 1),
    ("PF_INET", 2),
    ("PF_INET6", 10),
    ("SOCK_STREAM", 1),
    ("SOCK_DGRAM", 2),
    ("SOCK_RAW", 3),
    ("SOCK_NONBLOCK", 2048),
    ("SOCK_CLOEXEC", 524_288),
    ("IPPROTO_IP", 0),
    ("IPPROTO_IPV6", 41),
    ("IPPROTO_TCP", 6),
    ("IPPROTO_UDP", 17),
    ("IPPROTO_ICMP", 1),
    ("IPPROTO_MPTCP", 262),
    ("SOL_SOCKET", 1),
    ("SOL_TCP", 6),
    ("SOL_IP", 0),
    ("SOL_IPV6", 41),
    ("SOMAXCONN", 4096),
    ("SHUT_RD", 0),
    ("SHUT_WR", 1),
    ("SHUT_RDWR", 2),
    ("O_RDONLY", 0),
    ("O_WRONLY", 1),
    ("O_RDWR", 2),
    ("O_NONBLOCK", 2048),
    ("O_CREAT", 64),
    ("O_TRUNC", 512),
    ("F_GETFL", 3),
    ("F_SETFL", 4),
    ("F_GETFD", 1),
    ("F_SETFD", 2),
    ("FD_CLOEXEC", 1),
    ("FIONREAD", 21_531),
    ("FIONBIO", 21_537),
    ("TIOCOUTQ", 21_521),
    ("MSG_OOB", 1),
    ("MSG_PEEK", 2),
    ("MSG_DONTROUTE", 4),
    ("MSG_CTRUNC", 8),
    ("MSG_TRUNC", 32),
    ("MSG_DONTWAIT", 64),
    ("MSG_EOR", 128),
    ("MSG_WAITALL", 256),
    ("MSG_CONFIRM", 2048),
    ("MSG_ERRQUEUE", 8192),
    ("MSG_NOSIGNAL", 16_384),
    ("MSG_MORE", 32_768),
    ("MSG_ZEROCOPY", 67_108_864),
    ("MSG_FASTOPEN", 536_870_912),
    ("MSG_CMSG_CLOEXEC", 1_073_741_824),
    ("POLLIN", 1),
    ("POLLPRI", 2),
    ("POLLOUT", 4),
    ("POLLERR", 8),
    ("POLLHUP", 16),
    ("POLLNVAL", 32),
    ("POLLRDNORM", 64),
    ("POLLRDBAND", 128),
    ("POLLWRNORM", 256),
    ("POLLWRBAND", 512),
    ("POLLRDHUP", 8192),
    ("EPOLLIN", 1),
    ("EPOLLPRI", 2),
    ("EPOLLOUT", 4),
    ("EPOLLERR", 8),
    ("EPOLLHUP", 16),
    ("EPOLLRDNORM", 64),
    ("EPOLLRDBAND", 128),
    ("EPOLLWRNORM", 256),
    ("EPOLLWRBAND", 512),
    ("EPOLLRDHUP", 8192),
    ("EPOLLET", 2_147_483_648),
    ("EPOLLONESHOT", 1_073_741_824),
    ("EPOLLEXCLUSIVE", 268_435_456),
    ("EPOLL_CLOEXEC", 524_288),
    ("EPOLL_CTL_ADD", 1),
    ("EPOLL_CTL_DEL", 2),
    ("EPOLL_CTL_MOD", 3),
    ("SPLICE_F_MOVE", 1),
    ("SPLICE_F_NONBLOCK", 2),
    ("SPLICE_F_MORE", 4),
    ("SO_DEBUG", 1),
    ("SO_REUSEADDR", 2),
    ("SO_TYPE", 3),
    ("SO_ERROR", 4),
    ("SO_DONTROUTE", 5),
    ("SO_BROADCAST", 6),
    ("SO_SNDBUF", 7),
    ("SO_RCVBUF", 8),
    ("SO_SNDBUFFORCE", 32),
    ("SO_RCVBUFFORCE", 33),
    ("SO_KEEPALIVE", 9),
    ("SO_OOBINLINE", 10),
    ("SO_PRIORITY", 12),
    ("SO_LINGER", 13),
    ("SO_REUSEPORT", 15),
    ("SO_RCVLOWAT", 18),
    ("SO_SNDLOWAT", 19),
    ("SO_RCVTIMEO", 20),
    ("SO_SNDTIMEO", 21),
    ("SO_TIMESTAMP", 29),
    ("SO_TIMESTAMPNS", 35),
    ("SCM_TIMESTAMP", 29),
    ("SO_TIMESTAMPING", 37),
    ("SO_ACCEPTCONN", 30),
    ("SO_PROTOCOL", 38),
    ("SO_DOMAIN", 39),
    ("SO_MARK", 36),
    ("SO_BUSY_POLL", 46),
    ("SO_MAX_PACING_RATE", 47),
    ("SO_INCOMING_CPU", 49),
    ("SO_ZEROCOPY", 60),
    ("SO_TXTIME", 61),
    ("SCM_TIMESTAMPING", 37),
    ("SCM_TIMESTAMPNS", 35),
    ("IP_TOS", 1),
    ("IP_TTL", 2),
    ("IP_RECVERR", 11),
    ("IP_MTU_DISCOVER", 10),
    ("IP_MTU", 14),
    ("IP_PMTUDISC_DONT", 0),
    ("IP_PMTUDISC_WANT", 1),
    ("IP_PMTUDISC_DO", 2),
    ("IP_PMTUDISC_PROBE", 3),
    ("IP_PMTUDISC_INTERFACE", 4),
    ("IP_PMTUDISC_OMIT", 5),
    ("IP_RECVTOS", 13),
    ("IP_BIND_ADDRESS_NO_PORT", 24),
    ("IP_TRANSPARENT", 19),
    ("IP_FREEBIND", 15),
    ("IP_PKTINFO", 8),
    ("IPV6_TCLASS", 67),
    ("IPV6_RECVTCLASS", 66),
    ("IPV6_V6ONLY", 26),
    ("IPV6_RECVERR", 25),
    ("IPV6_MTU_DISCOVER", 23),
    ("IPV6_MTU", 24),
    ("IPV6_PMTUDISC_DONT", 0),
    ("IPV6_PMTUDISC_WANT", 1),
    ("IPV6_PMTUDISC_DO", 2),
    ("IPV6_PMTUDISC_PROBE", 3),
    ("IPV6_UNICAST_HOPS", 16),
    ("IPV6_PKTINFO", 50),
    ("IPV6_TRANSPARENT", 75),
    ("IPV6_FREEBIND", 78),
    ("TCP_NODELAY", 1),
    ("TCP_MAXSEG", 2),
    ("TCP_CORK", 3),
    ("TCP_KEEPIDLE", 4),
    ("TCP_KEEPINTVL", 5),
    ("TCP_KEEPCNT", 6),
    ("TCP_SYNCNT", 7),
    ("TCP_LINGER2", 8),
    ("TCP_DEFER_ACCEPT", 9),
    ("TCP_WINDOW_CLAMP", 10),
    ("TCP_INFO", 11),
    ("TCP_QUICKACK", 12),
    ("TCP_CONGESTION", 13),
    ("TCP_MD5SIG", 14),
    ("TCP_THIN_LINEAR_TIMEOUTS", 16),
    ("TCP_THIN_DUPACK", 17),
    ("TCP_USER_TIMEOUT", 18),
    ("TCP_REPAIR", 19),
    ("TCP_REPAIR_QUEUE", 20),
    ("TCP_QUEUE_SEQ", 21),
    ("TCP_REPAIR_OPTIONS", 22),
    ("TCP_FASTOPEN", 23),
    ("TCP_TIMESTAMP", 24),
    ("TCP_NOTSENT_LOWAT", 25),
    ("TCP_CC_INFO", 26),
    ("TCP_SAVE_SYN", 27),
    ("TCP_SAVED_SYN", 28),
    ("TCP_REPAIR_WINDOW", 29),
    ("TCP_FASTOPEN_CONNECT", 30),
    ("TCP_ULP", 31),
    ("TCP_MD5SIG_EXT", 32),
    ("TCP_FASTOPEN_KEY", 33),
    ("TCP_FASTOPEN_NO_COOKIE", 34),
    ("TCP_ZEROCOPY_RECEIVE", 35),
    ("TCP_INQ", 36),
    ("SIOCINQ", 21_531),
    ("SIOCOUTQ", 21_521),
    ("SIOCOUTQNSD", 35_147),
    ("SIOCATMARK", 35_077),
    ("INVALID_SOCKET", -1),
    ("TCP_CM_INQ", 36),
    ("TCP_TX_DELAY", 37),
    ("TCP_AO_ADD_KEY", 38),
    ("TCP_IS_MPTCP", 43),
    ("TCP_RTO_MAX_MS", 44),
    ("TCP_RTO_MIN_US", 45),
    ("TCP_DELACK_MAX_US", 46),
    ("SO_EE_ORIGIN_NONE", 0),
    ("SO_EE_ORIGIN_LOCAL", 1),
    ("SO_EE_ORIGIN_ICMP", 2),
    ("SO_EE_ORIGIN_ICMP6", 3),
    ("SO_EE_ORIGIN_TIMESTAMPING", 4),
    ("SO_EE_ORIGIN_ZEROCOPY", 5),
    ("SO_EE_CODE_ZEROCOPY_COPIED", 1),
    ("SOF_TIMESTAMPING_TX_HARDWARE", 1),
    ("SOF_TIMESTAMPING_TX_SOFTWARE", 2),
    ("SOF_TIMESTAMPING_RX_HARDWARE", 4),
    ("SOF_TIMESTAMPING_RX_SOFTWARE", 8),
    ("SOF_TIMESTAMPING_SOFTWARE", 16),
    ("SOF_TIMESTAMPING_OPT_ID", 128),
    ("SOF_TIMESTAMPING_TX_SCHED", 256),
    ("SOF_TIMESTAMPING_TX_ACK", 512),
    ("SOF_TIMESTAMPING_OPT_CMSG", 1024),
    ("SOF_TIMESTAMPING_OPT_TSONLY", 2048),
    ("SOF_TIMESTAMPING_RAW_HARDWARE", 64),
    ("SOF_TIMESTAMPING_SYS_HARDWARE", 32),
    ("SOF_TIMESTAMPING_OPT_STATS", 4096),
    ("SOF_TIMESTAMPING_OPT_PKTINFO", 8192),
    ("SOF_TIMESTAMPING_OPT_TX_SWHW", 16_384),
    ("SOF_TIMESTAMPING_BIND_PHC", 32_768),
    ("SOF_TIMESTAMPING_OPT_ID_TCP", 65_536),
    ("SCM_TSTAMP_SND", 0),
    ("SCM_TSTAMP_SCHED", 1),
    ("SCM_TSTAMP_ACK", 2),
    ("ICMP_UNREACH", 3),
    ("ICMP_DEST_UNREACH", 3),
    ("ICMP_FRAG_NEEDED", 4),
    ("ICMP_PORT_UNREACH", 3),
    ("ICMPV6_PKT_TOOBIG", 2),
    ("SO_ATTACH_FILTER", 26),
    ("SO_BINDTODEVICE", 25),
    ("SO_PEEK_OFF", 42),
    ("SO_PREFER_BUSY_POLL", 69),
    ("TCP_REPAIR_ON", 1),
    ("TCP_MIN_MSS", 88),
    ("INADDR_ANY", 0),
];

/// The number that a name stands for.
pub(super) fn number(name: &str) -> Option<i64> {
    let known = CONSTANTS.iter().chain(ERRORS).find(|(known, _)| *known == name);
    known.map(|(_, value)| *value)
}

/// The name of a socket option of this level, which scripts may also write as a number.
pub(super) fn option_name(level: i64, number: i64) -> Option<&'static str> {
    let beginning = match level {
        0 => "IP_",
        1 => "SO_",
        6 => "TCP_",
        41 => "IPV6_",
        _ => return None,
    };
    // Values of options, which have names that begin alike.
    let is_option = |name: &str| !name.contains("PMTUDISC") && !name.contains("_EE_");
    let known = CONSTANTS
        .iter()
        .find(|(name, value)| *value == number && name.starts_with(beginning) && is_option(name));
    known.map(|(name, _)| *name)
}

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
    number(name).unwrap_or(0)
}

/// The number that an expression stands for.
pub(crate) fn value(expression: &Expression) -> Step<i64> {
    match expression {
        Expression::Integer(number) => Ok(*number),
        Expression::Name(name) => number(name)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_stands_once() {
        let mut names: Vec<&str> = CONSTANTS.iter().chain(ERRORS).map(|(name, _)| *name).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn options_are_found_by_level_and_number() {
        assert_eq!(option_name(6, 1), Some("TCP_NODELAY"));
        assert_eq!(option_name(1, 13), Some("SO_LINGER"));
        assert_eq!(option_name(0, 10), Some("IP_MTU_DISCOVER"));
        assert_eq!(option_name(6, 9999), None);
    }
}
