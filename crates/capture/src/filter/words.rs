//! The words of pcap-filter.

use super::expression::Protocol;

impl Protocol {
    /// The number of TCP in an IP header.
    pub(super) const TCP_NUMBER: u8 = 6;

    /// Names and protocols; the first name of each is the one that is printed.
    const NAMES: [(&'static str, Self); 16] = [
        ("ether", Self::Link),
        ("link", Self::Link),
        ("ip", Self::Ip),
        ("ip6", Self::Ip6),
        ("arp", Self::Arp),
        ("rarp", Self::Rarp),
        ("tcp", Self::Tcp),
        ("udp", Self::Udp),
        ("sctp", Self::Sctp),
        ("icmp", Self::Icmp),
        ("icmp6", Self::Icmp6),
        ("igmp", Self::Igmp),
        ("pim", Self::Pim),
        ("vrrp", Self::Vrrp),
        ("ah", Self::Ah),
        ("esp", Self::Esp),
    ];

    pub(super) fn named(word: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(name, _)| *name == word).map(|(_, protocol)| *protocol)
    }

    pub(super) fn name(self) -> &'static str {
        let of_it = Self::NAMES.iter().find(|(_, protocol)| *protocol == self);
        of_it.map_or("ip", |(name, _)| name)
    }

    /// Its number in an IP header, where IP carries it.
    pub(super) const fn number(self) -> Option<u8> {
        Some(match self {
            Self::Icmp => 1,
            Self::Igmp => 2,
            Self::Tcp => Self::TCP_NUMBER,
            Self::Udp => 17,
            Self::Esp => 50,
            Self::Ah => 51,
            Self::Icmp6 => 58,
            Self::Pim => 103,
            Self::Vrrp => 112,
            Self::Sctp => 132,
            Self::Link | Self::Ip | Self::Ip6 | Self::Arp | Self::Rarp => return None,
        })
    }
}

/// Numbers that have names: places and flags of the headers of TCP and ICMP.
const CONSTANTS: [(&str, u32); 13] = [
    ("tcpflags", 13),
    ("tcp-fin", 0x01),
    ("tcp-syn", 0x02),
    ("tcp-rst", 0x04),
    ("tcp-push", 0x08),
    ("tcp-ack", 0x10),
    ("tcp-urg", 0x20),
    ("tcp-ece", 0x40),
    ("tcp-cwr", 0x80),
    ("icmptype", 0),
    ("icmpcode", 1),
    ("icmp6type", 0),
    ("icmp6code", 1),
];

pub(super) fn constant(word: &str) -> Option<u32> {
    CONSTANTS.iter().find(|(name, _)| *name == word).map(|(_, number)| *number)
}

/// Words that join, qualify or begin a test.
const OTHERS: [&str; 14] = [
    "and",
    "or",
    "not",
    "src",
    "dst",
    "host",
    "net",
    "mask",
    "port",
    "portrange",
    "proto",
    "vlan",
    "less",
    "greater",
];

/// Words of the language that say nothing about TCP over IP, or nothing that a file tells.
const NOT_READ: [&str; 28] = [
    "gateway",
    "broadcast",
    "multicast",
    "protochain",
    "inbound",
    "outbound",
    "ifname",
    "on",
    "ifindex",
    "rnr",
    "rulenum",
    "reason",
    "rset",
    "ruleset",
    "srnr",
    "subrulenum",
    "action",
    "wlan",
    "fddi",
    "tr",
    "decnet",
    "iso",
    "mpls",
    "pppoed",
    "pppoes",
    "geneve",
    "llc",
    "atalk",
];

pub(super) fn not_read(word: &str) -> Option<&'static str> {
    NOT_READ.iter().find(|name| **name == word).copied()
}

/// The word that is most like this one, if any is.
pub(super) fn nearest(word: &str) -> Option<&'static str> {
    let word = word.to_ascii_lowercase();
    let protocols = Protocol::NAMES.iter().map(|(name, _)| *name);
    let constants = CONSTANTS.iter().map(|(name, _)| *name);
    protocols
        .chain(OTHERS)
        .chain(constants)
        .chain(["len"])
        .map(|candidate| (strsim::jaro_winkler(&word, candidate), candidate))
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}
