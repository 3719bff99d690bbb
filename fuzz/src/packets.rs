//! Packets and options: what can be read can be written, and is the same when it is read again.

use fairwind_wire::bytes::{Addresses, IpHeader, Payload, emit, parse};
use fairwind_wire::{Options, Segment};

/// Reads bytes as an IP packet.
///
/// # Panics
/// Where a packet that was read is another one when it is written and read again.
pub fn headers(bytes: &[u8]) {
    let Ok(parsed) = parse(bytes) else { return };
    let _ = (parsed.ip_checksum(), parsed.tcp_checksum());
    assert!(parsed.ip_header_bytes() + parsed.tcp_header_bytes() <= bytes.len());
    let whole = parsed.payload.len() == usize::try_from(parsed.segment.payload_bytes).unwrap_or(0);
    if whole {
        write_and_read(&parsed.ip, &parsed.segment, parsed.payload);
    }
}

/// Options may take more room as we write them, and a packet may become too long by that.
fn write_and_read(ip: &IpHeader, segment: &Segment, payload: &[u8]) {
    let mut packet = Vec::new();
    if emit(ip, segment, Payload::Bytes(payload), &mut packet).is_err() {
        return;
    }
    let again = parse(&packet).expect("what we write can be read");
    assert_eq!(again.segment, *segment);
    assert_eq!(again.payload, payload);
    assert_eq!(again.ip, *ip);
}

/// Reads bytes as the options of a TCP header.
///
/// # Panics
/// As [`headers`].
pub fn options(bytes: &[u8]) {
    let area = &bytes[..bytes.len().min(40)];
    let Some(options) = options_of(area) else { return };
    let ip = IpHeader::new(Addresses::V4 {
        source: [192, 0, 2, 1].into(),
        destination: [192, 0, 2, 2].into(),
    });
    write_and_read(&ip, &Segment { options, ..Segment::default() }, &[]);
}

/// The options that an area of at most 40 bytes holds.
pub(crate) fn options_of(area: &[u8]) -> Option<Options> {
    let mut packet = Vec::new();
    let ip = IpHeader::new(Addresses::V4 { source: [0; 4].into(), destination: [0; 4].into() });
    emit(&ip, &Segment::default(), Payload::Bytes(&[]), &mut packet).ok()?;
    packet.extend_from_slice(area);
    packet.resize(packet.len().next_multiple_of(4), 0);
    let length = u16::try_from(packet.len()).ok()?;
    packet[2..4].copy_from_slice(&length.to_be_bytes());
    let words = u8::try_from((packet.len() - 20) / 4).ok()?;
    packet[32] = words << 4;
    parse(&packet).ok().map(|parsed| parsed.segment.options)
}
