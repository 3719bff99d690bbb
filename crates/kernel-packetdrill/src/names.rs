//! Numbers of the kernel by their names in scripts, and values of expressions.
//!
//! Values of a script as the numbers and bytes that the kernel takes.

use fairwind_linux::Buffer;
use fairwind_packetdrill::{Call, Expression, Step, Stop};

/// A table of names with the values that the C library's headers give them.
macro_rules! constants {
    ($($name:ident),* $(,)?) => {
        &[$((stringify!($name), i64_of(libc::$name as i128))),*]
    };
}

#[expect(clippy::cast_possible_truncation, reason = "checked against both ends")]
const fn i64_of(value: i128) -> i64 {
    assert!(value >= i64::MIN as i128 && value <= i64::MAX as i128);
    value as i64
}

const HEADERS: &[(&str, i64)] = constants![
    AF_INET,
    AF_INET6,
    AF_UNSPEC,
    AF_UNIX,
    PF_INET,
    PF_INET6,
    SOCK_STREAM,
    SOCK_DGRAM,
    SOCK_RAW,
    SOCK_NONBLOCK,
    SOCK_CLOEXEC,
    IPPROTO_IP,
    IPPROTO_IPV6,
    IPPROTO_TCP,
    IPPROTO_UDP,
    IPPROTO_ICMP,
    IPPROTO_MPTCP,
    SOL_SOCKET,
    SOL_TCP,
    SOL_IP,
    SOL_IPV6,
    SOMAXCONN,
    SHUT_RD,
    SHUT_WR,
    SHUT_RDWR,
    O_RDONLY,
    O_WRONLY,
    O_RDWR,
    O_NONBLOCK,
    O_CREAT,
    O_TRUNC,
    F_GETFL,
    F_SETFL,
    F_GETFD,
    F_SETFD,
    FD_CLOEXEC,
    FIONREAD,
    FIONBIO,
    TIOCOUTQ,
    MSG_OOB,
    MSG_PEEK,
    MSG_DONTROUTE,
    MSG_CTRUNC,
    MSG_TRUNC,
    MSG_DONTWAIT,
    MSG_EOR,
    MSG_WAITALL,
    MSG_CONFIRM,
    MSG_ERRQUEUE,
    MSG_NOSIGNAL,
    MSG_MORE,
    MSG_ZEROCOPY,
    MSG_FASTOPEN,
    MSG_CMSG_CLOEXEC,
    POLLIN,
    POLLPRI,
    POLLOUT,
    POLLERR,
    POLLHUP,
    POLLNVAL,
    POLLRDNORM,
    POLLRDBAND,
    POLLWRNORM,
    POLLWRBAND,
    POLLRDHUP,
    EPOLLIN,
    EPOLLPRI,
    EPOLLOUT,
    EPOLLERR,
    EPOLLHUP,
    EPOLLRDNORM,
    EPOLLRDBAND,
    EPOLLWRNORM,
    EPOLLWRBAND,
    EPOLLRDHUP,
    EPOLLET,
    EPOLLONESHOT,
    EPOLLEXCLUSIVE,
    EPOLL_CLOEXEC,
    EPOLL_CTL_ADD,
    EPOLL_CTL_DEL,
    EPOLL_CTL_MOD,
    SPLICE_F_MOVE,
    SPLICE_F_NONBLOCK,
    SPLICE_F_MORE,
    SO_DEBUG,
    SO_REUSEADDR,
    SO_TYPE,
    SO_ERROR,
    SO_DONTROUTE,
    SO_BROADCAST,
    SO_SNDBUF,
    SO_RCVBUF,
    SO_SNDBUFFORCE,
    SO_RCVBUFFORCE,
    SO_KEEPALIVE,
    SO_OOBINLINE,
    SO_PRIORITY,
    SO_LINGER,
    SO_REUSEPORT,
    SO_RCVLOWAT,
    SO_SNDLOWAT,
    SO_RCVTIMEO,
    SO_SNDTIMEO,
    SO_TIMESTAMP,
    SO_TIMESTAMPNS,
    SO_TIMESTAMPING,
    SO_ACCEPTCONN,
    SO_PROTOCOL,
    SO_DOMAIN,
    SO_MARK,
    SO_BUSY_POLL,
    SO_MAX_PACING_RATE,
    SO_INCOMING_CPU,
    SO_ZEROCOPY,
    SO_TXTIME,
    SCM_TIMESTAMPING,
    SCM_TIMESTAMPNS,
    IP_TOS,
    IP_TTL,
    IP_RECVERR,
    IP_MTU_DISCOVER,
    IP_MTU,
    IP_PMTUDISC_DONT,
    IP_PMTUDISC_WANT,
    IP_PMTUDISC_DO,
    IP_PMTUDISC_PROBE,
    IP_PMTUDISC_INTERFACE,
    IP_PMTUDISC_OMIT,
    IP_RECVTOS,
    IP_BIND_ADDRESS_NO_PORT,
    IP_TRANSPARENT,
    IP_FREEBIND,
    IP_PKTINFO,
    IPV6_TCLASS,
    IPV6_RECVTCLASS,
    IPV6_V6ONLY,
    IPV6_RECVERR,
    IPV6_MTU_DISCOVER,
    IPV6_MTU,
    IPV6_PMTUDISC_DONT,
    IPV6_PMTUDISC_WANT,
    IPV6_PMTUDISC_DO,
    IPV6_PMTUDISC_PROBE,
    IPV6_UNICAST_HOPS,
    IPV6_PKTINFO,
    IPV6_TRANSPARENT,
    IPV6_FREEBIND,
    TCP_NODELAY,
    TCP_MAXSEG,
    TCP_CORK,
    TCP_KEEPIDLE,
    TCP_KEEPINTVL,
    TCP_KEEPCNT,
    TCP_SYNCNT,
    TCP_LINGER2,
    TCP_DEFER_ACCEPT,
    TCP_WINDOW_CLAMP,
    TCP_INFO,
    TCP_QUICKACK,
    TCP_CONGESTION,
    TCP_MD5SIG,
    TCP_THIN_LINEAR_TIMEOUTS,
    TCP_THIN_DUPACK,
    TCP_USER_TIMEOUT,
    TCP_REPAIR,
    TCP_REPAIR_QUEUE,
    TCP_QUEUE_SEQ,
    TCP_REPAIR_OPTIONS,
    TCP_FASTOPEN,
    TCP_TIMESTAMP,
    TCP_NOTSENT_LOWAT,
    TCP_CC_INFO,
    TCP_SAVE_SYN,
    TCP_SAVED_SYN,
    TCP_REPAIR_WINDOW,
    TCP_FASTOPEN_CONNECT,
    TCP_ULP,
    TCP_MD5SIG_EXT,
    TCP_FASTOPEN_KEY,
    TCP_FASTOPEN_NO_COOKIE,
    TCP_ZEROCOPY_RECEIVE,
    TCP_INQ,
    EPERM,
    ENOENT,
    EINTR,
    EIO,
    ENXIO,
    EBADF,
    EAGAIN,
    ENOMEM,
    EACCES,
    EFAULT,
    EBUSY,
    EEXIST,
    ENODEV,
    EINVAL,
    ENFILE,
    EMFILE,
    ENOTTY,
    ENOSPC,
    ESPIPE,
    EPIPE,
    EDOM,
    ERANGE,
    ENOMSG,
    EDEADLK,
    ENOSYS,
    EBADMSG,
    EPROTO,
    EOVERFLOW,
    ENOTSOCK,
    EDESTADDRREQ,
    EMSGSIZE,
    EPROTOTYPE,
    ENOPROTOOPT,
    EPROTONOSUPPORT,
    ESOCKTNOSUPPORT,
    EOPNOTSUPP,
    EPFNOSUPPORT,
    EAFNOSUPPORT,
    EADDRINUSE,
    EADDRNOTAVAIL,
    ENETDOWN,
    ENETUNREACH,
    ENETRESET,
    ECONNABORTED,
    ECONNRESET,
    ENOBUFS,
    EISCONN,
    ENOTCONN,
    ESHUTDOWN,
    ETIMEDOUT,
    ECONNREFUSED,
    EHOSTDOWN,
    EHOSTUNREACH,
    EALREADY,
    EINPROGRESS,
    ESTALE,
    ECANCELED,
    ENOKEY,
];

/// Names that the C library's bindings lack, with the kernel's values.
const KERNEL: &[(&str, i64)] = &[
    ("SIOCINQ", 0x541b),
    ("SIOCOUTQ", 0x5411),
    ("SIOCOUTQNSD", 0x894b),
    ("SIOCATMARK", 0x8905),
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
    ("SOF_TIMESTAMPING_TX_SOFTWARE", 1 << 1),
    ("SOF_TIMESTAMPING_RX_HARDWARE", 1 << 2),
    ("SOF_TIMESTAMPING_RX_SOFTWARE", 1 << 3),
    ("SOF_TIMESTAMPING_SOFTWARE", 1 << 4),
    ("SOF_TIMESTAMPING_OPT_ID", 1 << 7),
    ("SOF_TIMESTAMPING_TX_SCHED", 1 << 8),
    ("SOF_TIMESTAMPING_TX_ACK", 1 << 9),
    ("SOF_TIMESTAMPING_OPT_CMSG", 1 << 10),
    ("SOF_TIMESTAMPING_OPT_TSONLY", 1 << 11),
    ("SOF_TIMESTAMPING_OPT_STATS", 1 << 12),
    ("SOF_TIMESTAMPING_SYS_HARDWARE", 1 << 5),
    ("SOF_TIMESTAMPING_RAW_HARDWARE", 1 << 6),
    ("SOF_TIMESTAMPING_OPT_PKTINFO", 1 << 13),
    ("SOF_TIMESTAMPING_OPT_TX_SWHW", 1 << 14),
    ("SOF_TIMESTAMPING_BIND_PHC", 1 << 15),
    ("SOF_TIMESTAMPING_OPT_ID_TCP", 1 << 16),
    ("SCM_TIMESTAMP", 29),
    ("SO_BINDTODEVICE", 25),
    ("SCM_TSTAMP_SND", 0),
    ("SCM_TSTAMP_SCHED", 1),
    ("SCM_TSTAMP_ACK", 2),
    ("ICMP_UNREACH", 3),
    ("ICMP_DEST_UNREACH", 3),
    ("ICMP_FRAG_NEEDED", 4),
    ("ICMP_PORT_UNREACH", 3),
    ("ICMPV6_PKT_TOOBIG", 2),
];

/// The number that a name stands for.
pub(super) fn value(name: &str) -> Option<i64> {
    let known = HEADERS.iter().chain(KERNEL).find(|(known, _)| *known == name);
    known.map(|(_, value)| *value)
}

/// The name of an error.
pub(super) fn error_name(errno: i32) -> String {
    let named = HEADERS.iter().find(|(name, value)| {
        name.starts_with('E') && !name.starts_with("EPOLL") && *value == i64::from(errno)
    });
    named.map_or_else(|| format!("errno {errno}"), |(name, _)| (*name).to_owned())
}

/// The number that an expression stands for.
pub(super) fn number(expression: &Expression) -> Step<i64> {
    match expression {
        Expression::Integer(number) => Ok(*number),
        Expression::Name(name) => value(name)
            .ok_or_else(|| Stop::unsupported(format!("the name {name} is not known here"))),
        Expression::Union(members) => {
            members.iter().try_fold(0, |union, member| Ok(union | number(member)?))
        }
        Expression::List(members) if members.len() == 1 => number(&members[0]),
        Expression::Function(name, arguments) => function(name, arguments),
        other => Err(Stop::failed(format!("`{other}` is no number"))),
    }
}

fn function(name: &str, arguments: &[Expression]) -> Step<i64> {
    match (name, arguments) {
        // Ports are kept as they are read; they are turned where an address is made.
        ("htons" | "htonl" | "ntohs" | "ntohl", [argument]) => number(argument),
        _ => Err(Stop::unsupported(format!("the function {name} is not known here"))),
    }
}

/// The same as a C `int`; bits beyond are an error.
pub(super) fn int(expression: &Expression) -> Step<i32> {
    let value = number(expression)?;
    i32::try_from(value)
        .or_else(|_| u32::try_from(value).map(u32::cast_signed))
        .map_err(|_| Stop::failed(format!("`{expression}` is no 32-bit number")))
}

/// The arguments of a call by their places.
#[derive(Clone, Copy)]
pub(super) struct Arguments<'a>(pub(super) &'a Call);

impl<'a> Arguments<'a> {
    pub(super) fn get(self, place: usize) -> Step<&'a Expression> {
        self.0.arguments.get(place).ok_or_else(|| {
            Stop::failed(format!("{} needs more arguments: {}", self.0.function, self.0))
        })
    }

    pub(super) fn int(self, place: usize) -> Step<i32> {
        int(self.get(place)?)
    }

    /// A number where there is one that means something.
    pub(super) fn int_or(self, place: usize, otherwise: i32) -> Step<i32> {
        match self.0.arguments.get(place) {
            None | Some(Expression::Any) => Ok(otherwise),
            Some(expression) => int(expression),
        }
    }

    pub(super) fn bytes(self, place: usize) -> Step<usize> {
        bytes(self.get(place)?)
    }
}

/// A count of bytes, up to 1 GiB.
pub(super) fn bytes(expression: &Expression) -> Step<usize> {
    usize::try_from(number(expression)?)
        .ok()
        .filter(|&bytes| bytes <= 1 << 30)
        .ok_or_else(|| Stop::failed(format!("`{expression}` is no count of bytes up to 1 GiB")))
}

/// A named field of a record.
pub(super) fn field<'a>(record: &'a Expression, name: &str) -> Option<&'a Expression> {
    let Expression::Record(fields) = record else { return None };
    fields.iter().find(|field| field.name.as_deref() == Some(name)).map(|field| &field.value)
}

/// A named field of a record that has to be there.
pub(super) fn needed_field<'a>(record: &'a Expression, name: &str) -> Step<&'a Expression> {
    field(record, name).ok_or_else(|| Stop::failed(format!("`{record}` has no field {name}")))
}

/// The members of a list; a single record stands for a list of one.
pub(super) fn members(expression: &Expression) -> Step<&[Expression]> {
    match expression {
        Expression::List(members) => Ok(members),
        Expression::Record(_) => Ok(std::slice::from_ref(expression)),
        other => Err(Stop::failed(format!("`{other}` is no list"))),
    }
}

/// A buffer: a text where one is written, else zeros; `length` bytes. `NULL` is none.
pub(super) fn buffer(expression: &Expression, length: usize) -> Buffer {
    let mut bytes = match expression {
        Expression::Text(text) => text.as_bytes().to_vec(),
        Expression::Name(name) if name == "NULL" => return Buffer::Nowhere(length),
        _ => Vec::new(),
    };
    bytes.resize(length, 0);
    Buffer::Bytes(bytes)
}

/// An error where what was handed back is not what is written; `...` is anything.
pub(super) fn expect_number(what: &str, expected: &Expression, seen: i64) -> Step<()> {
    if *expected == Expression::Any || number(expected)? == seen {
        return Ok(());
    }
    Err(Stop::failed(format!("{what}: expected {expected}, seen {seen}")))
}
