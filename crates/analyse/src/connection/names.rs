//! What ends of connections, and flows, are called: `ADDRESS:PORT`, and `FROM>TO`.
//!
//! IPv4 addresses are written by hand: with connections of some hundred packets the general way, which
//! allows for widths and fills, took an eighth of an analysis.

use fairwind_wire::Flags;
use std::fmt::{Arguments, Write};
use std::net::SocketAddr;

/// The name of the flow of data from one end to the other.
pub(crate) fn flow_name(from: SocketAddr, to: SocketAddr) -> String {
    let mut name = String::with_capacity(43);
    push_flow(&mut name, from, to);
    name
}

/// Appends the name of the flow of data from one end to the other.
pub(super) fn push_flow(name: &mut String, from: SocketAddr, to: SocketAddr) {
    push_end(name, from);
    name.push('>');
    push_end(name, to);
}

/// Appends the names of flags that are set.
pub(super) fn push_flags(name: &mut String, flags: Flags) {
    push_written(name, format_args!("{flags:?}"));
}

/// Appends the name of an end.
pub(super) fn push_end(name: &mut String, end: SocketAddr) {
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
        SocketAddr::V6(end) => push_written(name, format_args!("{end}")),
    }
}

fn push_written(name: &mut String, arguments: Arguments<'_>) {
    let written = name.write_fmt(arguments);
    debug_assert!(written.is_ok(), "a string takes everything");
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
            prop_assert_eq!(flow_name(from, to), format!("{from}>{to}"));
        }
    }

    #[test]
    fn zeros_are_written_within_a_number_and_alone() {
        let end = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 100, 205)), 0);
        let mut name = String::new();
        push_end(&mut name, end);
        assert_eq!(name, "10.0.100.205:0");
    }
}
