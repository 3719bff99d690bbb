//! Segments and ICMP messages as the bytes of one IP packet; payload as given bytes or a verifiable pattern.
//!
//! The pattern divides the stream into words of eight bytes, and each word is its stream offset, big-endian. So
//! the byte at any offset is known, a displaced or stale copy shows, and a hexadecimal dump shows the offset.
//! Because 2^16 is 1 modulo 65535, a word counts in the Internet checksum as the number that it is, so the sum
//! of a range is an arithmetic series.

use super::checksum::Sum;
use super::ip::{Addresses, IpHeader, TCP};
use super::options::append_options;
use crate::{Segment, TCP_HEADER_BYTES, TrafficClass};
use thiserror::Error;

/// Offset of the checksum in a TCP header.
const TCP_CHECKSUM: usize = 16;
/// The maximum data offset of a TCP header, 15 words, less the fixed header.
const LARGEST_OPTIONS_BYTES: u32 = 40;

/// Why a segment cannot be written as one packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EmitError {
    /// The given payload has another length than the segment.
    #[error("the segment says {segment_bytes} bytes of payload, but {given_bytes} were given")]
    PayloadLength {
        /// Payload length of the segment.
        segment_bytes: u32,
        /// Length of the given payload.
        given_bytes: usize,
    },
    /// The options do not fit into a TCP header.
    #[error(
        "options take {options_bytes} bytes, and a TCP header has room for 40; \
         send fewer SACK blocks beside the others"
    )]
    OptionsLength {
        /// Length of the options.
        options_bytes: u32,
    },
    /// The packet exceeds the length field of the IP header.
    #[error(
        "a segment of {tcp_bytes} bytes is longer than one IP packet can be; \
         lower the segment size"
    )]
    PacketLength {
        /// TCP header and payload.
        tcp_bytes: u64,
    },
}

/// Appends to `out` the packet that carries `segment`, and returns its length in bytes.
///
/// # Errors
/// If the payload length differs from that of the segment, or a length does not fit its field;
/// `out` is unchanged then.
pub fn emit(
    ip: &IpHeader,
    segment: &Segment,
    payload: Payload<'_>,
    out: &mut Vec<u8>,
) -> Result<u32, EmitError> {
    emit_prefix(ip, segment, payload, u32::MAX, out)
}

/// Like [`emit`], but appends at most the first `limit` bytes of the packet, like a capture with a
/// snap length. Length fields, checksums and the returned length are those of the whole packet. No
/// payload beyond the limit is generated or copied.
///
/// # Errors
/// As [`emit`].
pub fn emit_prefix(
    ip: &IpHeader,
    segment: &Segment,
    payload: Payload<'_>,
    limit: u32,
    out: &mut Vec<u8>,
) -> Result<u32, EmitError> {
    let (tcp_bytes, length_field) = checked_lengths(ip, segment, payload)?;
    let start = out.len();
    ip.append_to(TCP, segment.traffic_class, length_field, out);
    let tcp_start = out.len();
    append_tcp_header(segment, segment.options.wire_bytes(), out);
    append_options(&segment.options, out);

    let mut sum = ip.addresses.pseudo_header_sum(tcp_bytes);
    sum.add_bytes(&out[tcp_start..]);
    payload.add_to(&mut sum, segment.payload_bytes);
    let checksum = tcp_start + TCP_CHECKSUM;
    out[checksum..checksum + 2].copy_from_slice(&sum.finish().to_be_bytes());

    let header_bytes = ip.header_bytes() + segment.header_bytes();
    let kept_payload = limit.saturating_sub(header_bytes).min(segment.payload_bytes);
    payload.append_to(out, length(kept_payload));
    out.truncate(start + length(limit.min(header_bytes + kept_payload)));
    Ok(ip.header_bytes() + tcp_bytes)
}

/// Bytes of TCP, and the length field of the IP header.
fn checked_lengths(
    ip: &IpHeader,
    segment: &Segment,
    payload: Payload<'_>,
) -> Result<(u32, u16), EmitError> {
    let options_bytes = segment.options.wire_bytes();
    if options_bytes > LARGEST_OPTIONS_BYTES {
        return Err(EmitError::OptionsLength { options_bytes });
    }
    let segment_bytes = segment.payload_bytes;
    if let Payload::Bytes(bytes) = payload
        && bytes.len() != length(segment_bytes)
    {
        return Err(EmitError::PayloadLength { segment_bytes, given_bytes: bytes.len() });
    }
    field_for(ip, u64::from(segment.header_bytes()) + u64::from(segment_bytes))
}

fn field_for(ip: &IpHeader, tcp_bytes: u64) -> Result<(u32, u16), EmitError> {
    u32::try_from(tcp_bytes)
        .ok()
        .and_then(|bytes| Some((bytes, ip.length_field(bytes)?)))
        .ok_or(EmitError::PacketLength { tcp_bytes })
}

/// Appends to `out` the packet that carries `segment` with these bytes as its options, in place of
/// `segment.options`: in any order, of any kind, also wrong ones. They are padded with zeros to
/// whole words. Returns the packet's length in bytes.
///
/// # Errors
/// As [`emit`].
pub fn emit_with_options(
    ip: &IpHeader,
    segment: &Segment,
    options: &[u8],
    payload: &[u8],
    out: &mut Vec<u8>,
) -> Result<u32, EmitError> {
    let padded = options.len().next_multiple_of(4);
    let options_bytes = u32::try_from(padded).unwrap_or(u32::MAX);
    if options_bytes > LARGEST_OPTIONS_BYTES {
        return Err(EmitError::OptionsLength { options_bytes });
    }
    let segment_bytes = segment.payload_bytes;
    if payload.len() != length(segment_bytes) {
        return Err(EmitError::PayloadLength { segment_bytes, given_bytes: payload.len() });
    }
    let tcp_bytes = u64::from(TCP_HEADER_BYTES + options_bytes) + u64::from(segment_bytes);
    let (tcp_bytes, length_field) = field_for(ip, tcp_bytes)?;
    ip.append_to(TCP, segment.traffic_class, length_field, out);
    let tcp_start = out.len();
    append_tcp_header(segment, options_bytes, out);
    out.extend_from_slice(options);
    out.resize(out.len() + padded - options.len(), 0);
    out.extend_from_slice(payload);
    let mut sum = ip.addresses.pseudo_header_sum(tcp_bytes);
    sum.add_bytes(&out[tcp_start..]);
    let checksum = tcp_start + TCP_CHECKSUM;
    out[checksum..checksum + 2].copy_from_slice(&sum.finish().to_be_bytes());
    Ok(ip.header_bytes() + tcp_bytes)
}

/// Appends the TCP header without options, its checksum still zero (RFC 9293 §3.1).
fn append_tcp_header(segment: &Segment, options_bytes: u32, out: &mut Vec<u8>) {
    let words = u16::try_from((TCP_HEADER_BYTES + options_bytes) / 4)
        .expect("options are at most 40 bytes");
    out.extend_from_slice(&segment.source_port.to_be_bytes());
    out.extend_from_slice(&segment.destination_port.to_be_bytes());
    out.extend_from_slice(&segment.sequence.get().to_be_bytes());
    out.extend_from_slice(&segment.acknowledgment.get().to_be_bytes());
    out.extend_from_slice(&(words << 12 | segment.flags.bits()).to_be_bytes());
    out.extend_from_slice(&segment.window.to_be_bytes());
    out.extend_from_slice(&[0, 0]);
    out.extend_from_slice(&segment.urgent.to_be_bytes());
}

fn length(bytes: u32) -> usize {
    usize::try_from(bytes).expect("a packet fits into memory")
}

const WORD_BYTES: u64 = 8;
/// Modulus of the ones' complement sum of 16-bit words.
const SUM_MODULUS: u128 = 0xffff;

/// The payload of a segment; its length is the segment's `payload_bytes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload<'a> {
    /// These bytes.
    Bytes(&'a [u8]),
    /// Bytes that follow from their place in the stream; [`pattern_mismatch`] verifies them.
    Pattern {
        /// Place of the first payload byte in the stream, in bytes from 0, below 2^63.
        stream_offset: u64,
    },
}

impl Payload<'_> {
    /// Adds the checksum of the first `length` bytes.
    fn add_to(self, sum: &mut Sum, length: u32) {
        match self {
            Self::Bytes(bytes) => sum.add_bytes(bytes),
            Self::Pattern { stream_offset } => sum.add(pattern_sum(stream_offset, length)),
        }
    }

    /// Appends the first `length` bytes to `out`.
    fn append_to(self, out: &mut Vec<u8>, length: usize) {
        match self {
            Self::Bytes(bytes) => out.extend_from_slice(&bytes[..length]),
            Self::Pattern { stream_offset } => append_pattern(stream_offset, length, out),
        }
    }
}

/// Index of the first byte that differs from the pattern of [`Payload::Pattern`], or `None`;
/// `bytes` begin at `stream_offset`.
pub fn pattern_mismatch(stream_offset: u64, bytes: &[u8]) -> Option<usize> {
    (stream_offset..)
        .zip(bytes)
        .position(|(offset, byte)| pattern_word(offset)[place_in_word(offset)] != *byte)
}

/// The word that the byte at `offset` is part of.
fn pattern_word(offset: u64) -> [u8; 8] {
    (offset / WORD_BYTES * WORD_BYTES).to_be_bytes()
}

fn place_in_word(offset: u64) -> usize {
    usize::try_from(offset % WORD_BYTES).expect("less than eight")
}

fn append_pattern(stream_offset: u64, length: usize, out: &mut Vec<u8>) {
    let end = out.len() + length;
    out.reserve(length + 8);
    let mut offset = stream_offset;
    while out.len() < end {
        let part = &pattern_word(offset)[place_in_word(offset)..];
        out.extend_from_slice(part);
        offset += WORD_BYTES - offset % WORD_BYTES;
    }
    out.truncate(end);
}

/// A number congruent to the ones' complement sum of `length` bytes of the pattern.
fn pattern_sum(stream_offset: u64, length: u32) -> u64 {
    if length == 0 {
        return 0;
    }
    let end = u128::from(stream_offset) + u128::from(length);
    let first = u128::from(stream_offset / WORD_BYTES * WORD_BYTES);
    let last = (end - 1) / 8 * 8;
    let words = (last - first) / 8 + 1;
    // Even, because either the number of words is even, or the first and last differ by a multiple
    // of 16.
    let whole = (first + last) * words / 2;
    let before = kept_bits(first, u128::from(stream_offset) - first);
    let behind = last & (u128::from(u64::MAX) >> (8 * (end - last)));
    let sum = (whole - before - behind) % SUM_MODULUS;
    // At an odd offset the pairs of the packet are those of the stream, shifted by a byte.
    let aligned = if stream_offset.is_multiple_of(2) { sum } else { sum * 0x100 % SUM_MODULUS };
    u64::try_from(aligned).expect("below 65535")
}

/// The word `word` with all but its first `bytes` bytes zero.
fn kept_bits(word: u128, bytes: u128) -> u128 {
    word & !(u128::from(u64::MAX) >> (8 * bytes))
}

// Messages of the path about a packet: ICMP (RFC 792) and `ICMPv6` (RFC 4443), written only.

const ICMP: u8 = 1;
const ICMP_V6: u8 = 58;

/// A message, of ICMP or `ICMPv6` as its addresses are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IcmpMessage<'a> {
    /// Type.
    pub kind: u8,
    /// Code.
    pub code: u8,
    /// The four bytes after the checksum: an MTU in the lower half (`fragmentation needed`) or in
    /// all of it (`packet too big`).
    pub rest: u32,
    /// The beginning of the packet that the message is about, IP header first.
    pub quoted: &'a [u8],
}

/// Appends to `out` the packet that carries `message`.
///
/// # Errors
/// If it is longer than an IP packet can be; `out` is unchanged then.
pub fn emit_icmp(
    ip: &IpHeader,
    message: &IcmpMessage<'_>,
    out: &mut Vec<u8>,
) -> Result<(), EmitError> {
    let mut body = vec![message.kind, message.code, 0, 0];
    body.extend_from_slice(&message.rest.to_be_bytes());
    body.extend_from_slice(message.quoted);
    let bytes = u32::try_from(body.len()).ok();
    let (Some(bytes), Some(length_field)) = (bytes, bytes.and_then(|b| ip.length_field(b))) else {
        let tcp_bytes = u64::try_from(body.len()).unwrap_or(u64::MAX);
        return Err(EmitError::PacketLength { tcp_bytes });
    };
    let (protocol, mut sum) = match ip.addresses {
        Addresses::V4 { .. } => (ICMP, Sum::default()),
        Addresses::V6 { .. } => (ICMP_V6, ip.addresses.pseudo_header_sum_of(ICMP_V6, bytes)),
    };
    sum.add_bytes(&body);
    body[2..4].copy_from_slice(&sum.finish().to_be_bytes());
    ip.append_to(protocol, TrafficClass::default(), length_field, out);
    out.extend_from_slice(&body);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{IcmpMessage, Payload, Sum, emit_icmp, pattern_mismatch};
    use crate::bytes::{Addresses, IpHeader};
    use proptest::prelude::*;

    fn pattern(stream_offset: u64, length: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        Payload::Pattern { stream_offset }.append_to(&mut bytes, length);
        bytes
    }

    #[test]
    fn pattern_word_is_its_offset() {
        assert_eq!(pattern(0x0102_0304_0506_0708, 8), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(pattern(0x0102_0304_0506_070e, 4), [0x07, 0x08, 0x01, 0x02]);
    }

    #[test]
    fn pattern_reveals_flips_and_displacement() {
        let mut bytes = pattern(1_000_003, 1448);
        assert_eq!(pattern_mismatch(1_000_003, &bytes), None);
        bytes[700] ^= 0x10;
        assert_eq!(pattern_mismatch(1_000_003, &bytes), Some(700));
        assert!(pattern_mismatch(1_000_003, &pattern(1_001_451, 1448)).is_some());
    }

    proptest! {
        #[test]
        fn pattern_sum_needs_no_bytes(
            offset in prop_oneof![0_u64..100, any::<u64>().prop_map(|o| o >> 1)],
            length in prop_oneof![0_u32..40, 0_u32..65_536],
        ) {
            // The sum of a packet is never zero, because its header is not.
            let (mut known, mut added) = (Sum::default(), Sum::default());
            known.add(6);
            added.add(6);
            let payload = Payload::Pattern { stream_offset: offset };
            payload.add_to(&mut known, length);
            added.add_bytes(&pattern(offset, usize::try_from(length).unwrap()));
            prop_assert_eq!(known.finish(), added.finish());
        }

        #[test]
        fn pattern_depends_only_on_offset(
            offset in 0_u64..1 << 40, cut in 0_usize..100,
        ) {
            let whole = pattern(offset, 200);
            prop_assert_eq!(&whole[cut..], &pattern(offset + u64::try_from(cut).unwrap(), 200 - cut));
        }
    }

    #[test]
    fn a_message_sums_up_and_quotes() {
        let ip = IpHeader::new(Addresses::V4 {
            source: [192, 0, 2, 1].into(),
            destination: [192, 168, 0, 1].into(),
        });
        let message = IcmpMessage { kind: 3, code: 4, rest: 1200, quoted: &[0x45, 1, 2] };
        let mut packet = Vec::new();
        emit_icmp(&ip, &message, &mut packet).unwrap();
        assert_eq!(packet.len(), 20 + 8 + 3);
        assert_eq!((packet[9], packet[20], packet[21]), (1, 3, 4));
        assert_eq!(packet[26..28], 1200_u16.to_be_bytes());
        for part in [&packet[..20], &packet[20..]] {
            let mut sum = Sum::default();
            sum.add_bytes(part);
            assert!(sum.is_complete());
        }
    }
}
