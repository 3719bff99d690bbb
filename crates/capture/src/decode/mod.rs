//! Frames read as TCP packets: link header, IP header, TCP header, options.
//!
//! Source: the link types of <https://www.tcpdump.org/linktypes.html>, IEEE 802.1Q (tags), RFC 2516
//! (PPP over Ethernet), RFC 791 §3.1, RFC 8200 §3 and §4, RFC 4302 §2.2, RFC 2675, RFC 9293 §3.1.
//!
//! What differs from [`fairwind_wire::bytes::parse`], which reads what our own instruments write: a
//! frame has a link header, may have been cut by a snap length anywhere, may be longer than its packet
//! (padding of short Ethernet frames), and first fragments and wrong options are taken for what they
//! are worth, with a remark ([`Anomalies`](crate::Anomalies)).
//!
//! Cost per frame: one pass over the headers, nothing is allocated; about 10 ns for a packet with
//! timestamps or none (`examples/decode_speed.rs`).

mod headers;
mod link;

use crate::{Frame, Packet, SkipReason};

/// Reads the TCP packet in a frame, to a place that stays: packets are big, and copies of them cost more
/// than reading them.
///
/// # Errors
/// Where the frame carries no TCP packet, or none that can be read; what stands in `packet` then means
/// nothing. No bytes make it panic.
///
/// ```
/// use fairwind_capture::{Frame, LinkType, Packet, SkipReason, decode};
/// use fairwind_units::Instant;
/// let arp = [&[0xff; 12][..], &[0x08, 0x06], &[0; 28]].concat();
/// let frame = Frame {
///     at: Instant::ZERO,
///     link: LinkType::Ethernet,
///     interface: 0,
///     original_bytes: 42,
///     bytes: &arp,
///     number: 1,
///     offset: 24,
/// };
/// let mut packet = Packet::EMPTY;
/// assert_eq!(decode(&frame, &mut packet), Err(SkipReason::NotIp));
/// ```
#[expect(clippy::inline_always, reason = "what a frame is made of stays in registers")]
#[inline(always)]
pub fn decode(frame: &Frame<'_>, packet: &mut Packet) -> Result<(), SkipReason> {
    if headers::read_usual(frame, packet) {
        return Ok(());
    }
    // A separate copy, so that a usual frame need not stand in memory.
    let unusual = *frame;
    decode_any(&unusual, packet)
}

/// Reads frames of every layout.
fn decode_any(frame: &Frame<'_>, packet: &mut Packet) -> Result<(), SkipReason> {
    let (version, ip_at) = link::locate_ip(frame.link, frame.bytes)?;
    let kept = frame.bytes.get(ip_at..).unwrap_or_default();
    let on_link = length_on_link(frame, ip_at);
    packet.at = frame.at;
    packet.number = frame.number;
    packet.wire_bytes = frame.original_bytes;
    let ip = match version {
        link::IpVersion::V4 => headers::read_v4(kept, on_link, packet)?,
        link::IpVersion::V6 => headers::read_v6(kept, on_link, packet)?,
    };
    packet.ip_at = place(ip_at)?;
    packet.tcp_at = place(ip_at + ip.header_bytes)?;
    headers::read(kept.get(ip.header_bytes..).unwrap_or_default(), ip.tcp_bytes, packet)
}

/// The VLAN tags of a frame, from the outermost.
pub(crate) fn vlan_tags<'a>(frame: &Frame<'a>) -> impl Iterator<Item = u16> + use<'a> {
    link::vlan_tags(frame.link, frame.bytes)
}

/// Bytes of the frame on the link from the IP header on. A frame cannot have had fewer than were kept.
#[inline]
fn length_on_link(frame: &Frame<'_>, ip_at: usize) -> u32 {
    let kept = u32::try_from(frame.bytes.len()).unwrap_or(u32::MAX);
    let before = u32::try_from(ip_at).unwrap_or(u32::MAX);
    frame.original_bytes.max(kept).saturating_sub(before)
}

#[inline]
fn place(at: usize) -> Result<u16, SkipReason> {
    u16::try_from(at).map_err(|_| SkipReason::Malformed("headers of more than 64 KiB"))
}
