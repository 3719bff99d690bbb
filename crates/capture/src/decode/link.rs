//! Link headers: where the IP header begins, and which one it is.

use crate::{LinkType, SkipReason};

/// Which IP header follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IpVersion {
    V4,
    V6,
}

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
const ETHERTYPE_PPPOE_SESSION: u16 = 0x8864;
/// PPP protocol numbers (RFC 1332, RFC 5072).
const PPP_IPV4: u16 = 0x0021;
const PPP_IPV6: u16 = 0x0057;
/// Where the type of an Ethernet frame stands: behind two addresses.
const ETHERNET_TYPE_AT: usize = 12;
/// Where the protocol stands in a Linux cooked header, version 1.
const COOKED_PROTOCOL_AT: usize = 14;
/// Length of a Linux cooked header, version 2, which begins with the protocol.
const COOKED_2_BYTES: usize = 20;

/// Finds the IP header behind the link header.
#[inline]
pub(super) fn locate_ip(link: LinkType, bytes: &[u8]) -> Result<(IpVersion, usize), SkipReason> {
    match link {
        LinkType::Ethernet => behind_type(bytes, ETHERNET_TYPE_AT),
        LinkType::Raw => Ok((version_of(bytes, 0)?, 0)),
        LinkType::LinuxCooked => behind_type(bytes, COOKED_PROTOCOL_AT),
        LinkType::LinuxCooked2 => behind_cooked_2(bytes),
        LinkType::Null => behind_family(bytes, Order::Either),
        LinkType::Loop => behind_family(bytes, Order::Network),
        LinkType::Other(number) => Err(SkipReason::UnknownLink(number)),
    }
}

/// A frame with a type of Ethernet at `at`, and what it is the type of behind that.
#[inline]
fn behind_type(bytes: &[u8], at: usize) -> Result<(IpVersion, usize), SkipReason> {
    let behind = at + 2;
    match two_bytes(bytes, at)? {
        ETHERTYPE_IPV4 => Ok((IpVersion::V4, behind)),
        ETHERTYPE_IPV6 => Ok((IpVersion::V6, behind)),
        other => behind_tags(bytes, other, behind),
    }
}

/// Any number of VLAN tags, each with the type of what follows at its end, then IP, or PPP with IP.
#[cold]
fn behind_tags(
    bytes: &[u8],
    first: u16,
    first_at: usize,
) -> Result<(IpVersion, usize), SkipReason> {
    let (mut ethertype, mut at) = (first, first_at);
    while is_vlan_tag(ethertype) {
        ethertype = two_bytes(bytes, at + 2)?;
        at += 4;
    }
    match ethertype {
        ETHERTYPE_IPV4 => Ok((IpVersion::V4, at)),
        ETHERTYPE_IPV6 => Ok((IpVersion::V6, at)),
        // Version, code, session and length: six bytes (RFC 2516 §4).
        ETHERTYPE_PPPOE_SESSION => match two_bytes(bytes, at + 6)? {
            PPP_IPV4 => Ok((IpVersion::V4, at + 8)),
            PPP_IPV6 => Ok((IpVersion::V6, at + 8)),
            _ => Err(SkipReason::NotIp),
        },
        _ => Err(SkipReason::NotIp),
    }
}

/// Whether a type is that of a VLAN tag: 802.1Q, 802.1ad, and the two of tags within tags before that.
const fn is_vlan_tag(ethertype: u16) -> bool {
    matches!(ethertype, 0x8100 | 0x88a8 | 0x9100 | 0x9200)
}

/// The VLANs of the tags behind a link header. A tag has three bits of priority and one more before them.
pub(super) fn vlan_tags(link: LinkType, bytes: &[u8]) -> impl Iterator<Item = u16> {
    let first = match link {
        LinkType::Ethernet => Some((ETHERNET_TYPE_AT, ETHERNET_TYPE_AT + 2)),
        LinkType::LinuxCooked => Some((COOKED_PROTOCOL_AT, COOKED_PROTOCOL_AT + 2)),
        LinkType::LinuxCooked2 => Some((0, COOKED_2_BYTES)),
        _ => None,
    };
    // Where the type stands, and where what it is the type of begins.
    let mut next = first;
    std::iter::from_fn(move || {
        let (type_at, tag_at) = next?;
        if !is_vlan_tag(two_bytes(bytes, type_at).ok()?) {
            return None;
        }
        next = Some((tag_at + 2, tag_at + 4));
        Some(two_bytes(bytes, tag_at).ok()? & 0x0fff)
    })
}

/// Protocol, reserved, interface, hardware type, kind of packet, address: 20 bytes. Tags, which the
/// protocol names, come behind them.
fn behind_cooked_2(bytes: &[u8]) -> Result<(IpVersion, usize), SkipReason> {
    match two_bytes(bytes, 0)? {
        ETHERTYPE_IPV4 => Ok((IpVersion::V4, COOKED_2_BYTES)),
        ETHERTYPE_IPV6 => Ok((IpVersion::V6, COOKED_2_BYTES)),
        other => behind_tags(bytes, other, COOKED_2_BYTES),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// That of the capturing machine, which is unknown.
    Either,
    Network,
}

/// The family of the address, four bytes, then the packet. IPv4 is 2 everywhere; IPv6 is 10 in Linux,
/// 23 in Windows, 24 in NetBSD and OpenBSD, 28 in FreeBSD, 30 in macOS.
fn behind_family(bytes: &[u8], order: Order) -> Result<(IpVersion, usize), SkipReason> {
    let family = *bytes.first_chunk::<4>().ok_or(SkipReason::CutShort)?;
    let mut number = u32::from_be_bytes(family);
    if order == Order::Either && number > 0xffff {
        number = u32::from_le_bytes(family);
    }
    match number {
        2 => Ok((IpVersion::V4, 4)),
        10 | 23 | 24 | 28 | 30 => Ok((IpVersion::V6, 4)),
        _ => Err(SkipReason::NotIp),
    }
}

/// The version that an IP header says of itself.
#[inline]
fn version_of(bytes: &[u8], at: usize) -> Result<IpVersion, SkipReason> {
    match bytes.get(at).ok_or(SkipReason::CutShort)? >> 4 {
        4 => Ok(IpVersion::V4),
        6 => Ok(IpVersion::V6),
        _ => Err(SkipReason::Malformed("an IP version that is neither 4 nor 6")),
    }
}

#[inline]
fn two_bytes(bytes: &[u8], at: usize) -> Result<u16, SkipReason> {
    let field = bytes.get(at..).and_then(<[u8]>::first_chunk::<2>).ok_or(SkipReason::CutShort)?;
    Ok(u16::from_be_bytes(*field))
}
