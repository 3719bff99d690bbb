//! Filters in the syntax of pcap-filter(7), as far as it concerns TCP.
//!
//! Source: the manual page pcap-filter(7) of libpcap 1.10; equal precedence of `and` and `or` included,
//! and identifiers without a keyword, which take the one before (`port 80 or 443`).
//!
//! Supported: `host`, `net` (with a prefix length or a mask), `port`, `portrange`, with `src`, `dst`,
//! `src or dst`, `src and dst`, behind `ip`, `ip6`, `tcp` and others where they make sense; the names of
//! protocols; `proto`; `vlan`; `less`, `greater`; relations of numbers, `len` and bytes of the packet,
//! as in `tcp[tcpflags] & (tcp-syn | tcp-fin) != 0`.
//!
//! What differs, since a filter is asked about TCP packets that were found already:
//!
//! - Names of hosts, networks and ports are refused: nothing is looked up.
//! - Protocols other than TCP never match, and `tcp` always does: behind VLAN tags, behind extension
//!   headers of IPv6 and in IPv6 too, where libpcap's programs look at fixed places. So does `tcp[...]`.
//! - `vlan 5` asks whether one of the frame's tags is of VLAN 5, in any order and without consequence for
//!   the rest of the filter.
//! - What cannot concern TCP over IP (`ether host`, `wlan`, `gateway` and the like) is refused.
//!
//! As in libpcap, a packet too short for a byte that is asked for, and a division by zero, make the whole
//! filter not match.
//!
//! Cost per packet: about 4 ns for a test of addresses or ports, 20 ns for one that calculates with bytes of
//! the packet (`examples/decode_speed.rs`); nothing is allocated. A filter that asks for addresses and
//! ports only ([`Filter::is_connection_filter`]) can be asked once per connection and direction.

mod expression;
mod parse;
mod scanner;

use crate::{Frame, Packet};
use expression::{Expression, Subject};
use fairwind_wire::bytes::Addresses;
pub use scanner::{FilterError, FilterProblem};

/// A filter, ready to be asked.
///
/// ```
/// use fairwind_capture::Filter;
/// use fairwind_wire::bytes::Addresses;
/// let thin: Filter = "dst port 5000 and net 10.0.0.0/8".parse()?;
/// assert!(thin.is_connection_filter());
/// let ends = Addresses::V4 { source: [10, 0, 0, 1].into(), destination: [192, 0, 2, 1].into() };
/// assert!(thin.matches_endpoints(&ends, 40_000, 5000));
/// assert!(!thin.matches_endpoints(&ends.reversed(), 5000, 40_000));
///
/// let error = "dst prt 5000".parse::<Filter>().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "filter `dst prt 5000`, character 5: `prt` is not a word of pcap-filter; did you mean `port`?"
/// );
/// # Ok::<(), fairwind_capture::FilterError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// `None` is the empty filter, which everything matches.
    expression: Option<Expression>,
    of_connection: bool,
}

impl Filter {
    /// Reads a filter.
    ///
    /// # Errors
    /// Where the text is none: at which character, what was found there, and what could stand there.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        let expression = parse::parse(text)?;
        let of_connection = expression.as_ref().is_none_or(Expression::is_connection_filter);
        Ok(Self { expression, of_connection })
    }

    /// Whether it asks only for what all packets of a connection in one direction have in common:
    /// addresses, ports and protocols.
    pub const fn is_connection_filter(&self) -> bool {
        self.of_connection
    }

    /// Whether packets between these ends match, from `source_port` to `destination_port`. A filter that
    /// asks for more ([`Filter::is_connection_filter`]) matches none.
    pub fn matches_endpoints(
        &self,
        addresses: &Addresses,
        source_port: u16,
        destination_port: u16,
    ) -> bool {
        self.is_met_by(&Subject { addresses, ports: [source_port, destination_port], packet: None })
    }

    /// Whether a packet matches that was decoded from this frame.
    pub fn matches(&self, packet: &Packet, frame: &Frame<'_>) -> bool {
        self.is_met_by(&Subject {
            addresses: &packet.addresses,
            ports: [packet.segment.source_port, packet.segment.destination_port],
            packet: Some((packet, frame)),
        })
    }

    fn is_met_by(&self, subject: &Subject<'_>) -> bool {
        self.expression.as_ref().is_none_or(|expression| subject.meets(expression) == Some(true))
    }
}

impl std::str::FromStr for Filter {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        Self::parse(text)
    }
}

impl std::fmt::Display for Filter {
    /// The filter in full words; reading it gives the same filter.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.expression.as_ref().map_or(Ok(()), |expression| expression.fmt(f))
    }
}
