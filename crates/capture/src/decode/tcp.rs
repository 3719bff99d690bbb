//! The TCP header (RFC 9293 §3.1).

use crate::{Anomalies, Packet, SkipReason};
use fairwind_wire::bytes::read_options_into;
use fairwind_wire::{Flags, Options, SequenceNumber, TCP_HEADER_BYTES};

/// Bytes of the header without options.
const FIXED: usize = 20;

/// Reads the TCP header at the start of `kept`, which is what was kept of the `tcp_bytes` behind the IP header.
#[inline]
pub(super) fn read(kept: &[u8], tcp_bytes: u32, packet: &mut Packet) -> Result<(), SkipReason> {
    let Some(fixed) = kept.first_chunk::<FIXED>().filter(|_| tcp_bytes >= TCP_HEADER_BYTES) else {
        return Err(without_header(tcp_bytes, packet.anomalies));
    };
    let [p1, p2, q1, q2, s1, s2, s3, s4, a1, a2, a3, a4, words, flags, w1, w2, _, _, u1, u2] =
        *fixed;
    let header_bytes = u32::from(words >> 4) * 4;
    if header_bytes < TCP_HEADER_BYTES {
        return Err(SkipReason::Malformed("a TCP header shorter than its fixed fields"));
    }
    let Some(payload_bytes) = tcp_bytes.checked_sub(header_bytes) else {
        return Err(beyond_packet(tcp_bytes, packet.anomalies));
    };
    let segment = &mut packet.segment;
    segment.source_port = u16::from_be_bytes([p1, p2]);
    segment.destination_port = u16::from_be_bytes([q1, q2]);
    segment.sequence = SequenceNumber::new(u32::from_be_bytes([s1, s2, s3, s4]));
    segment.acknowledgment = SequenceNumber::new(u32::from_be_bytes([a1, a2, a3, a4]));
    segment.flags = Flags::from_bits(u16::from_be_bytes([words, flags]));
    segment.window = u16::from_be_bytes([w1, w2]);
    segment.urgent = u16::from_be_bytes([u1, u2]);
    segment.payload_bytes = payload_bytes;
    match kept.get(FIXED..usize::from(words >> 4) * 4) {
        Some(area) => whole_options(area, packet),
        None => cut_options(kept.get(FIXED..).unwrap_or_default(), packet),
    }
    Ok(())
}

/// The packet, or what was kept of it, ends before the fixed fields do.
#[cold]
fn without_header(tcp_bytes: u32, anomalies: Anomalies) -> SkipReason {
    if tcp_bytes >= TCP_HEADER_BYTES {
        SkipReason::CutShort
    } else if anomalies.contains(Anomalies::FIRST_FRAGMENT) {
        SkipReason::Fragment { bytes: tcp_bytes }
    } else {
        SkipReason::Malformed("an IP length that ends within the TCP header")
    }
}

/// The options go on behind the end of the packet.
#[cold]
fn beyond_packet(tcp_bytes: u32, anomalies: Anomalies) -> SkipReason {
    if anomalies.contains(Anomalies::FIRST_FRAGMENT) {
        SkipReason::Fragment { bytes: tcp_bytes }
    } else {
        SkipReason::Malformed("a TCP header that ends behind its packet")
    }
}

#[inline]
pub(super) fn whole_options(area: &[u8], packet: &mut Packet) {
    if read_options_into(area, &mut packet.segment.options).is_err() {
        packet.segment.options = Options::NONE;
        packet.anomalies = packet.anomalies.with(Anomalies::OPTIONS_MALFORMED);
    }
}

/// Options of which a snap length has left the beginning: those that are whole count.
#[cold]
fn cut_options(area: &[u8], packet: &mut Packet) {
    let mut end = 0;
    while let Some(length) = option_bytes(area.get(end..).unwrap_or_default()) {
        end += length;
    }
    packet.anomalies = packet.anomalies.with(Anomalies::OPTIONS_CUT);
    whole_options(area.get(..end).unwrap_or_default(), packet);
}

/// Bytes of the option at the start of `area`, where it is all there and not the end of the list. Where the
/// length is less than kind and length take, those two, for the reader of options to complain of.
fn option_bytes(area: &[u8]) -> Option<usize> {
    match *area {
        [1, ..] => Some(1),
        [] | [0, ..] | [_] => None,
        [_, length, ..] => Some(usize::from(length).max(2)).filter(|length| *length <= area.len()),
    }
}
