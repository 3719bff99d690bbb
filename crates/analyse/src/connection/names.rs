//! What ends of connections, and flows, are called: `ADDRESS:PORT`, and `FROM>TO`.
//!
//! IPv4 addresses are written by hand: with connections of some hundred packets the general way, which
//! allows for widths and fills, took an eighth of an analysis.

use std::fmt::Write;
use std::net::SocketAddr;

/// The name of the flow of data from one end to the other.
pub(crate) fn flow_name(from: SocketAddr, to: SocketAddr) -> String {
    let mut name = String::with_capacity(43);
    push_end(&mut name, from);
    name.push('>');
    push_end(&mut name, to);
    name
}

/// The name of an end.
pub(super) fn end_name(end: SocketAddr) -> String {
    let mut name = String::with_capacity(21);
    push_end(&mut name, end);
    name
}

fn push_end(name: &mut String, end: SocketAddr) {
    match end {
        SocketAddr::V4(end) => {
            let [first, others @ ..] = end.ip().octets();
            push_number(name, first.into());
            for octet in others {
                name.push('.');
                push_number(name, octet.into());
            }
            name.push(':');
            push_number(name, end.port());
        }
        SocketAddr::V6(end) => {
            let written = write!(name, "{end}");
            debug_assert!(written.is_ok(), "a string takes everything");
        }
    }
}

fn push_number(name: &mut String, number: u16) {
    let above = number / 10;
    if above > 0 {
        push_number(name, above);
    }
    name.extend(char::from_digit(u32::from(number % 10), 10));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

    proptest! {
        #[test]
        fn names_are_those_of_the_standard_library(from: [u8; 4], to: [u8; 16], ports: [u16; 2]) {
            let from = SocketAddr::new(IpAddr::V4(Ipv4Addr::from(from)), ports[0]);
            let to = SocketAddr::new(IpAddr::V6(Ipv6Addr::from(to)), ports[1]);
            prop_assert_eq!(end_name(from), from.to_string());
            prop_assert_eq!(end_name(to), to.to_string());
            prop_assert_eq!(flow_name(from, to), format!("{from}>{to}"));
        }
    }

    #[test]
    fn zeros_are_written_within_a_number_and_alone() {
        let end = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 100, 205)), 0);
        assert_eq!(end_name(end), "10.0.100.205:0");
    }
}
