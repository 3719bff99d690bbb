//! Addresses that something between two taps translates.

use fairwind_capture::Packet;
use fairwind_wire::bytes::Addresses;
use std::net::{IpAddr, SocketAddr};

/// An address, or an address with a port, that the first tap sees, and what the second one sees for it (as
/// behind a NAT).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressTranslation {
    /// As the first tap sees it.
    pub first: (IpAddr, Option<u16>),
    /// As the second tap sees it.
    pub second: (IpAddr, Option<u16>),
}

/// Puts what the first tap sees in the place of what the second one has seen.
pub(super) fn translate(packet: &mut Packet, translations: &[AddressTranslation]) {
    let (source, destination): (IpAddr, IpAddr) = match packet.addresses {
        Addresses::V4 { source, destination } => (source.into(), destination.into()),
        Addresses::V6 { source, destination } => (source.into(), destination.into()),
    };
    let source = translated((source, packet.segment.source_port).into(), translations);
    let destination =
        translated((destination, packet.segment.destination_port).into(), translations);
    packet.addresses = match (source.ip(), destination.ip()) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => Addresses::V4 { source, destination },
        (IpAddr::V6(source), IpAddr::V6(destination)) => Addresses::V6 { source, destination },
        // Half a translation between versions of IP leads nowhere.
        _ => return,
    };
    packet.segment.source_port = source.port();
    packet.segment.destination_port = destination.port();
}

fn translated(end: SocketAddr, translations: &[AddressTranslation]) -> SocketAddr {
    let is_meant = |rule: &&AddressTranslation| {
        let (address, port) = rule.second;
        address == end.ip() && port.is_none_or(|port| port == end.port())
    };
    translations.iter().find(is_meant).map_or(end, |rule| {
        let (address, port) = rule.first;
        (address, port.unwrap_or(end.port())).into()
    })
}
