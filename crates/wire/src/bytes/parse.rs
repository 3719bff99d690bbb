//! Parser of one IP packet with a TCP segment.

use super::checksum::Sum;
use super::ip::{Addresses, IpHeader, ReadIp, read_ip};
use super::options::read_options;
use super::reader::ParseError;
use super::reader::Reader;
use crate::{Flags, Segment, SequenceNumber, TCP_HEADER_BYTES, TrafficClass};

/// Where the options begin.
const TCP_FIXED: usize = 20;

/// Result of a checksum verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Checksum {
    /// It matches the bytes.
    Correct,
    /// It does not match: the bytes were changed, or the sender offloaded the checksum.
    Wrong,
    /// Some of the bytes are missing.
    Unverifiable,
    /// The header has no checksum (IPv6).
    Absent,
}

/// A parsed packet, which borrows its bytes.
#[derive(Debug, Clone, Copy)]
pub struct Parsed<'a> {
    /// The IP header.
    pub ip: IpHeader,
    /// The TCP header; its `payload_bytes` count those of the packet, even if they are missing.
    pub segment: Segment,
    /// The payload bytes that are present: all, unless a snap length cut them.
    pub payload: &'a [u8],
    /// Length of the packet in bytes, from the IP header.
    pub packet_bytes: u32,
    /// IP header, with options or extension headers.
    ip_header: &'a [u8],
    /// The bytes of the TCP segment that are present.
    tcp: &'a [u8],
}

impl Parsed<'_> {
    /// Length of the IP header in the packet, with options or extension headers.
    pub const fn ip_header_bytes(&self) -> usize {
        self.ip_header.len()
    }

    /// Length of the TCP header in the packet. Stacks pad differently, so it can differ from
    /// `segment.header_bytes()`.
    pub const fn tcp_header_bytes(&self) -> usize {
        self.tcp.len() - self.payload.len()
    }

    /// The option bytes of the TCP header, padding included.
    pub fn tcp_options(&self) -> &[u8] {
        self.tcp.get(TCP_FIXED..self.tcp_header_bytes()).unwrap_or_default()
    }

    /// Verifies the checksum of the IPv4 header.
    pub fn ip_checksum(&self) -> Checksum {
        match self.ip.addresses {
            Addresses::V6 { .. } => Checksum::Absent,
            Addresses::V4 { .. } => {
                let mut sum = Sum::default();
                sum.add_bytes(self.ip_header);
                verdict(sum)
            }
        }
    }

    /// Verifies the checksum of the segment: one pass over the payload.
    pub fn tcp_checksum(&self) -> Checksum {
        let missing = self.segment.payload_bytes > bytes_of(self.payload);
        if missing {
            return Checksum::Unverifiable;
        }
        let mut sum = self.ip.addresses.pseudo_header_sum(bytes_of(self.tcp));
        sum.add_bytes(self.tcp);
        verdict(sum)
    }
}

/// Reads the IP packet at the start of `bytes`.
///
/// Bytes after the packet (link padding) are ignored, and the payload may be cut short. The methods of
/// [`Parsed`] verify checksums on request. Option kinds that [`crate::Options`] does not have are skipped.
/// A length field of zero, as in captures with segmentation offload, means all of `bytes`.
///
/// # Errors
/// If the bytes are not a TCP segment with complete headers and consistent lengths. No input makes it
/// panic.
pub fn parse(bytes: &[u8]) -> Result<Parsed<'_>, ParseError> {
    let ReadIp { header: ip, class, header_bytes: tcp_start, packet_bytes } = read_ip(bytes)?;
    let present = usize::try_from(packet_bytes).unwrap_or(usize::MAX).min(bytes.len());
    let (ip_header, _) = bytes.split_at(tcp_start);
    let (mut segment, tcp_header_bytes) = read_tcp(&bytes[tcp_start..])?;

    let headers_bytes = tcp_start + tcp_header_bytes;
    let headers_bytes_u32 = u32::try_from(headers_bytes).unwrap_or(u32::MAX);
    segment.traffic_class = class;
    segment.payload_bytes = packet_bytes
        .checked_sub(headers_bytes_u32)
        .ok_or(ParseError::PacketLength { packet_bytes, headers_bytes: headers_bytes_u32 })?;
    Ok(Parsed {
        ip,
        segment,
        payload: &bytes[headers_bytes..present],
        packet_bytes,
        ip_header,
        tcp: &bytes[tcp_start..present],
    })
}

/// Reads a TCP header (RFC 9293 §3.1); returns its length too.
fn read_tcp(bytes: &[u8]) -> Result<(Segment, usize), ParseError> {
    let mut reader = Reader::new(bytes, "TCP header");
    let source_port = reader.take_u16()?;
    let destination_port = reader.take_u16()?;
    let sequence = SequenceNumber::new(reader.take_u32()?);
    let acknowledgment = SequenceNumber::new(reader.take_u32()?);
    let words_and_flags = reader.take_u16()?;
    let window = reader.take_u16()?;
    let _checksum: [u8; 2] = reader.take()?;
    let urgent = reader.take_u16()?;

    let header_bytes = u32::from(words_and_flags >> 12) * 4;
    let options_bytes = header_bytes
        .checked_sub(TCP_HEADER_BYTES)
        .ok_or(ParseError::HeaderLength { header: "TCP", header_bytes })?;
    let area = reader.take_slice(usize::try_from(options_bytes).unwrap_or(usize::MAX))?;
    let segment = Segment {
        source_port,
        destination_port,
        sequence,
        acknowledgment,
        flags: Flags::from_bits(words_and_flags),
        window,
        urgent,
        traffic_class: TrafficClass::default(),
        payload_bytes: 0,
        options: read_options(area)?,
    };
    Ok((segment, reader.position()))
}

fn verdict(sum: Sum) -> Checksum {
    if sum.is_complete() { Checksum::Correct } else { Checksum::Wrong }
}

fn bytes_of(slice: &[u8]) -> u32 {
    u32::try_from(slice.len()).unwrap_or(u32::MAX)
}
