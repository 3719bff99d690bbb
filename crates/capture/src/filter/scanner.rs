//! Scanner of filter expressions, their vocabulary, and errors.

use super::expression::Protocol;
use thiserror::Error;

/// Takes symbols and words from the front of a text.
#[derive(Clone, Copy)]
pub(super) struct Scanner<'a> {
    text: &'a str,
    /// Bytes taken so far; what follows begins with no blank.
    at: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let mut scanner = Self { text, at: 0 };
        scanner.skip_blanks();
        scanner
    }

    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.rest().is_empty()
    }

    /// Takes this many bytes, and blanks behind them.
    pub(super) fn take(&mut self, bytes: usize) {
        self.at += bytes;
        self.skip_blanks();
    }

    fn skip_blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Takes a symbol if it is next.
    pub(super) fn take_symbol(&mut self, symbol: &str) -> bool {
        let is_next = self.rest().starts_with(symbol);
        if is_next {
            self.take(symbol.len());
        }
        is_next
    }

    /// What stands next of letters, digits and what addresses, ranges and names have between them.
    pub(super) fn run(&self) -> &'a str {
        self.run_of(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':' | '-' | '\\'))
    }

    /// What stands next of letters, digits and, as names of constants have them, hyphens.
    pub(super) fn name(&self) -> &'a str {
        self.run_of(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
    }

    /// What stands next of letters and digits.
    pub(super) fn letters_and_digits(&self) -> &'a str {
        self.run_of(|c| c.is_ascii_alphanumeric())
    }

    fn run_of(&self, belongs: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        rest.get(..end).unwrap_or_default()
    }

    /// Takes a word if it is all of the next run.
    pub(super) fn take_word(&mut self, word: &str) -> bool {
        let is_next = self.run() == word;
        if is_next {
            self.take(word.len());
        }
        is_next
    }

    /// What stands next, for people.
    pub(super) fn found(&self) -> String {
        let run = self.run();
        match (run.is_empty(), self.rest().chars().next()) {
            (false, _) => format!("`{}`", shortened(run)),
            (true, Some(symbol)) => format!("`{symbol}`"),
            (true, None) => "the end".to_owned(),
        }
    }

    /// An error at what stands next.
    pub(super) fn error(&self, problem: FilterProblem) -> FilterError {
        let before = self.text.get(..self.at).unwrap_or_default();
        let character = before.chars().count() + 1;
        FilterError { filter: shortened(self.text), character, problem }
    }

    pub(super) fn expected(&self, expected: &'static str) -> FilterError {
        self.error(FilterProblem::Expected { found: self.found(), expected })
    }
}

/// A text that fits into a message.
pub(super) fn shortened(text: &str) -> String {
    const MOST: usize = 200;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

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

/// Words of the language that do not concern TCP over IP, or need more than a file contains.
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

/// Why a text is no filter, and where.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("filter `{filter}`, character {character}: {problem}")]
pub struct FilterError {
    /// The whole text.
    pub filter: String,
    /// The character at which it does not go on, counted from 1.
    pub character: usize,
    /// The problem.
    pub problem: FilterProblem,
}

/// Problem of a filter.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FilterProblem {
    /// Not a word of the language.
    #[error("`{word}` is not a word of pcap-filter{}", hint(*.nearest))]
    UnknownWord {
        /// What stands there.
        word: String,
        /// The word that is most like it.
        nearest: Option<&'static str>,
    },
    /// Something else has to stand there.
    #[error("{found}, where {expected} is expected")]
    Expected {
        /// What stands there.
        found: String,
        /// What can stand there.
        expected: &'static str,
    },
    /// A word of the language that says nothing about TCP over IP.
    #[error("`{word}` is not supported, because it cannot distinguish TCP packets")]
    NotRead {
        /// The word.
        word: &'static str,
    },
    /// A name in the place of an address or a number.
    #[error("`{name}` is no {what}; names are not resolved, so write {example}")]
    Name {
        /// What stands there.
        name: String,
        /// What it should be.
        what: &'static str,
        /// Such as this.
        example: &'static str,
    },
    /// Words that do not go together.
    #[error("{first} cannot be combined with {second}; {advice}")]
    Mixed {
        /// What stands there.
        first: String,
        /// And what it should qualify.
        second: &'static str,
        /// What to write.
        advice: &'static str,
    },
    /// A number above its maximum.
    #[error("{what} of {number} is more than {most}")]
    TooGreat {
        /// What it counts.
        what: &'static str,
        /// What stands there.
        number: String,
        /// The greatest that there is.
        most: u32,
    },
    /// An address that says more than the network that it should name.
    #[error(
        "the address of network {network} has bits beyond its mask; the network's address is {address}"
    )]
    HostBits {
        /// What stands there.
        network: String,
        /// The address without those bits.
        address: String,
    },
    /// Division by the constant zero.
    #[error("a division by zero")]
    DivisionByZero,
    /// More operators between numbers than a filter may have.
    #[error("the filter has more than {most} operators between numbers")]
    TooManyOperators {
        /// How many it may have.
        most: u32,
    },
    /// Parentheses within parentheses within parentheses.
    #[error("parentheses are nested more than {most} deep")]
    TooDeep {
        /// How deep they may be.
        most: u32,
    },
    /// Longer than filters may be.
    #[error("the filter has {bytes} bytes, which is more than {most}")]
    TooLong {
        /// Its length.
        bytes: usize,
        /// How long it may be.
        most: usize,
    },
}

fn hint(nearest: Option<&'static str>) -> String {
    nearest.map_or_else(String::new, |word| format!("; did you mean `{word}`?"))
}
