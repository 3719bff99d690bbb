//! A segment as the bytes of one IP packet.

use super::ip::{IpHeader, TCP};
use super::options::append_options;
use super::payload::Payload;
use crate::{Segment, TCP_HEADER_BYTES};
use thiserror::Error;

/// Where the checksum stands in a TCP header.
const TCP_CHECKSUM: usize = 16;
/// The largest data offset of a TCP header, 15 words, less the header itself.
const LARGEST_OPTIONS_BYTES: u32 = 40;

/// Why a segment cannot be one packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EmitError {
    /// The bytes handed in are not as many as the segment says.
    #[error("the segment says {segment_bytes} bytes of payload, but {given_bytes} were given")]
    PayloadLength {
        /// What the segment says.
        segment_bytes: u32,
        /// What was handed in.
        given_bytes: usize,
    },
    /// The options do not fit into a TCP header.
    #[error(
        "options take {options_bytes} bytes, and a TCP header has room for 40; \
         send fewer SACK blocks beside the others"
    )]
    OptionsLength {
        /// What the options take.
        options_bytes: u32,
    },
    /// The packet is longer than an IP header can say.
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
/// Where the payload is not as long as the segment says, or the lengths do not fit their fields;
/// nothing is appended then.
pub fn emit(
    ip: &IpHeader,
    segment: &Segment,
    payload: Payload<'_>,
    out: &mut Vec<u8>,
) -> Result<u32, EmitError> {
    emit_prefix(ip, segment, payload, u32::MAX, out)
}

/// Like [`emit`], but appends at most the first `limit` bytes of the packet, as a capture with a
/// snap length does; length fields and checksums are those of the whole packet, and the returned
/// length is the whole packet's. No payload beyond the limit is generated or copied.
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
