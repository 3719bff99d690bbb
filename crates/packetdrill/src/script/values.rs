//! Values in calls: constants of the Linux headers, numbers, records and arguments.
//!
//! Constants have their values on Linux (`x86_64` and all that are numbered alike).
#![expect(clippy::missing_errors_doc, reason = "an error says what the script should have there")]

use super::syntax::{Call, Expression};
use crate::outcome::{Step, Stop};

/// Errors of calls.
const ERRNOS: &[(&str, i64)] = &[
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

/// Socket options, flags, and what else calls name.
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

/// Defines constants of the headers by their names.
macro_rules! header_constants {
    ($($name:ident),* $(,)?) => {
        $(const $name: i64 = crate::script::header_constant(stringify!($name));)*
    };
}
pub(crate) use header_constants;

/// The number of a name that is known at compile time.
pub(crate) const fn header_constant(name: &str) -> i64 {
    constant(name).expect("the headers have this constant")
}

/// The number of this name.
pub(crate) const fn constant(name: &str) -> Option<i64> {
    match find(CONSTANTS, name.as_bytes()) {
        None => find(ERRNOS, name.as_bytes()),
        found => found,
    }
}

const fn find(table: &[(&str, i64)], name: &[u8]) -> Option<i64> {
    let mut place = 0;
    while place < table.len() {
        if is_same(table[place].0.as_bytes(), name) {
            return Some(table[place].1);
        }
        place += 1;
    }
    None
}

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    let mut place = 0;
    while place < one.len() && place < other.len() && one[place] == other[place] {
        place += 1;
    }
    place == one.len() && place == other.len()
}

/// The name of an error of a call.
pub fn errno_name(errno: i32) -> String {
    let named = ERRNOS.iter().find(|(_, value)| *value == i64::from(errno));
    named.map_or_else(|| format!("errno {errno}"), |(name, _)| (*name).to_owned())
}

/// The name of a socket option of this level, which scripts may also write as a number.
pub(crate) fn option_name(level: i64, number: i64) -> Option<&'static str> {
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

/// The bytes of a text in which `\\xHH` stands for one byte.
pub fn text_bytes(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let hexadecimal = rest.strip_prefix("\\x").and_then(|digits| digits.get(..2));
        if let Some(Ok(byte)) = hexadecimal.map(|digits| u8::from_str_radix(digits, 16)) {
            bytes.push(byte);
            rest = &rest[4..];
        } else {
            let (character, behind) = rest.split_at(first.len_utf8());
            bytes.extend_from_slice(character.as_bytes());
            rest = behind;
        }
    }
    bytes
}

/// More bytes than this in one call is no script.
const MOST_BYTES: u32 = 1 << 30;

impl Expression {
    /// The number that this stands for.
    pub fn number(&self) -> Step<i64> {
        match self {
            Self::Integer(number) => Ok(*number),
            Self::Name(name) => constant(name)
                .ok_or_else(|| Stop::unsupported(format!("the name {name} is not known here"))),
            Self::Union(members) => {
                members.iter().try_fold(0, |union, member| Ok(union | member.number()?))
            }
            Self::List(members) if members.len() == 1 => members[0].number(),
            // Ports are kept as they are read; they are turned where an address is made.
            Self::Function(name, arguments)
                if matches!(name.as_str(), "htons" | "htonl" | "ntohs" | "ntohl")
                    && arguments.len() == 1 =>
            {
                arguments[0].number()
            }
            other => Err(Stop::failed(format!("`{other}` is no number"))),
        }
    }

    /// The number as a C `int`; bits beyond are an error.
    pub fn int(&self) -> Step<i32> {
        let value = self.number()?;
        i32::try_from(value)
            .or_else(|_| u32::try_from(value).map(u32::cast_signed))
            .map_err(|_| Stop::failed(format!("`{self}` is no 32-bit number")))
    }

    /// A count of bytes.
    pub fn bytes(&self) -> Step<u32> {
        u32::try_from(self.number()?)
            .ok()
            .filter(|&bytes| bytes <= MOST_BYTES)
            .ok_or_else(|| Stop::failed(format!("`{self}` is no count of bytes up to 1 GiB")))
    }

    /// The field of this name of a record.
    pub fn field(&self, name: &str) -> Option<&Self> {
        let Self::Record(fields) = self else { return None };
        fields.iter().find(|field| field.name.as_deref() == Some(name)).map(|field| &field.value)
    }

    /// The field of this name, which has to be there.
    pub fn required_field(&self, name: &str) -> Step<&Self> {
        self.field(name).ok_or_else(|| Stop::failed(format!("`{self}` has no field {name}")))
    }

    /// The members of a list; a single record stands for a list of one.
    pub fn members(&self) -> Step<&[Self]> {
        match self {
            Self::List(members) => Ok(members),
            Self::Record(_) => Ok(std::slice::from_ref(self)),
            other => Err(Stop::failed(format!("`{other}` is no list"))),
        }
    }

    /// The only member of `[value]`, or the value itself.
    pub fn only_member(&self) -> &Self {
        match self {
            Self::List(members) if members.len() == 1 => &members[0],
            other => other,
        }
    }

    /// An error where what was handed back is not what is written; `...` is anything.
    pub fn expect_number(&self, what: &str, seen: i64) -> Step<()> {
        if *self == Self::Any || self.number()? == seen {
            return Ok(());
        }
        Err(Stop::failed(format!("{what}: expected {self}, seen {seen}")))
    }

    /// The events and the data of a `struct epoll_event`; data is whatever the script writes.
    pub fn epoll_event(&self) -> Step<(i64, i64)> {
        let data = ["fd", "u32", "u64", "ptr"].iter().find_map(|name| self.field(name));
        Ok((self.required_field("events")?.number()?, data.map_or(Ok(0), Self::number)?))
    }
}

impl Call {
    /// The argument at this place.
    pub fn argument(&self, place: usize) -> Step<&Expression> {
        self.arguments
            .get(place)
            .ok_or_else(|| Stop::failed(format!("{} needs more arguments: {self}", self.function)))
    }

    /// The argument at this place as a number.
    pub fn number(&self, place: usize) -> Step<i64> {
        self.argument(place)?.number()
    }

    /// A number where there is one; flags of a call that were left out are none.
    pub(crate) fn number_or(&self, place: usize, otherwise: i64) -> Step<i64> {
        self.arguments.get(place).map_or(Ok(otherwise), Expression::number)
    }

    /// The argument at this place as a C `int`.
    pub fn int(&self, place: usize) -> Step<i32> {
        self.argument(place)?.int()
    }

    /// A C `int` where there is one that means something.
    pub fn int_or(&self, place: usize, otherwise: i32) -> Step<i32> {
        match self.arguments.get(place) {
            None | Some(Expression::Any) => Ok(otherwise),
            Some(argument) => argument.int(),
        }
    }

    /// The argument at this place as a count of bytes.
    pub fn bytes(&self, place: usize) -> Step<u32> {
        self.argument(place)?.bytes()
    }

    /// The descriptor that the call returns, where it returns one.
    pub fn returned_descriptor(&self) -> Option<i64> {
        match self.result {
            Expression::Integer(number) if number >= 0 => Some(number),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_stands_once() {
        let mut names: Vec<&str> = CONSTANTS.iter().chain(ERRNOS).map(|(name, _)| *name).collect();
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
