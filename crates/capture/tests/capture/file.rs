//! Contents of written files, and refused input.

use crate::conversation::{CLIENT, SERVER, conversation, v4, v6, write};
use fairwind_capture::{CaptureError, CaptureWriter, Interface, InterfaceId, Section};
use fairwind_units::Instant;
use fairwind_wire::bytes::{IpHeader, Payload, parse, pattern_mismatch};
use fairwind_wire::{Flags, Segment};
use pcap_file::pcapng::{Block, PcapNgReader};
use std::num::NonZeroU32;

fn interfaces() -> Vec<Interface> {
    vec![Interface::new("client"), Interface::new("server")]
}

fn capture_of(interfaces: Vec<Interface>) -> Vec<u8> {
    let mut capture = CaptureWriter::new(Vec::new(), &Section::default(), interfaces).unwrap();
    write(&mut capture, [v4(), v6()]);
    capture.finish().unwrap()
}

/// Interface, nanoseconds, original length and bytes of each packet.
fn packets(file: &[u8]) -> Vec<(u32, u128, u32, Vec<u8>)> {
    let mut reader = PcapNgReader::new(file).unwrap();
    let mut packets = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.unwrap() {
            let at = packet.timestamp.as_nanos();
            packets.push((packet.interface_id, at, packet.original_len, packet.data.into_owned()));
        }
    }
    packets
}

#[test]
fn the_same_packets_give_the_same_bytes() {
    let file = capture_of(interfaces());
    assert_eq!(file, capture_of(interfaces()));
    // Section header, its length, and the magic number in little-endian order.
    assert_eq!(file[..12], [10, 13, 13, 10, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a]);
    // An interface of link type 101 without a limit, with its name and a resolution of 10^-9 s.
    let mut interface = vec![1, 0, 0, 0, 44, 0, 0, 0, 101, 0, 0, 0, 0, 0, 0, 0];
    interface.extend_from_slice(b"\x02\0\x06\0client\0\0");
    interface.extend_from_slice(&[9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0, 44, 0, 0, 0]);
    assert_eq!(file[28..72], interface);
}

#[test]
fn written_packets_are_read_back() {
    let file = capture_of(interfaces());
    let expected: Vec<_> = [v4(), v6()].into_iter().flat_map(conversation).collect();
    let found = packets(&file);
    assert_eq!(found.len(), expected.len());
    for (exchange, (interface, at, original_length, bytes)) in expected.iter().zip(&found) {
        assert_eq!(
            (InterfaceId(*interface), *at),
            (exchange.interface, exchange.at.as_nanos().into())
        );
        let parsed = parse(bytes).unwrap();
        assert_eq!((parsed.segment, *original_length), (exchange.segment, parsed.packet_bytes));
        assert_eq!(parsed.ip.addresses, exchange.ip.addresses);
        assert_eq!(pattern_mismatch(exchange.stream_offset, parsed.payload), None);
    }
}

#[test]
fn each_interface_has_its_snap_length() {
    let mut interfaces = interfaces();
    interfaces[0].snap_length = NonZeroU32::new(60);
    let whole = packets(&capture_of(self::interfaces()));
    let cut = packets(&capture_of(interfaces));
    assert_eq!(whole.len(), cut.len());
    for (whole, cut) in whole.iter().zip(&cut) {
        assert_eq!((whole.0, whole.1, whole.2), (cut.0, cut.1, cut.2));
        let kept = if cut.0 == CLIENT.0 { whole.3.len().min(60) } else { whole.3.len() };
        assert_eq!(cut.3, whole.3[..kept]);
    }
}

#[test]
fn given_packet_is_cut_at_snap_length() {
    let client = Interface::new("client").with_snap_length(NonZeroU32::new(4).unwrap());
    let mut capture = CaptureWriter::new(Vec::new(), &Section::default(), vec![client]).unwrap();
    let late = Instant::from_nanos(u64::MAX);
    capture.write_packet(late, CLIENT, &[1, 2, 3, 4, 5, 6], 1500).unwrap();
    capture.write_packet(late, CLIENT, &[7, 8, 9], 3).unwrap();
    assert_eq!(capture.packets(), 2);
    let expected =
        [(0, u64::MAX.into(), 1500, vec![1, 2, 3, 4]), (0, u64::MAX.into(), 3, vec![7, 8, 9])];
    assert_eq!(packets(&capture.finish().unwrap()), expected);
}

#[test]
fn packet_of_unknown_interface_is_refused() {
    let mut capture = CaptureWriter::new(Vec::new(), &Section::default(), interfaces()).unwrap();
    let at = Instant::from_millis(1500);
    capture.write_packet(at, SERVER, &[0x45], 40).unwrap();
    let error = capture.write_packet(at, InterfaceId(2), &[0x45], 40).unwrap_err();
    let expected = "write packet 2 at 1.5 s on interface 2 to the capture: \
                    there is no such interface; the capture has 2, numbered from 0";
    assert_eq!(error.to_string(), expected);
    capture.write_packet(at, CLIENT, &[0x45], 40).unwrap();
    assert_eq!(packets(&capture.finish().unwrap()).len(), 2);
}

#[test]
fn packet_longer_than_original_is_refused() {
    let mut capture = CaptureWriter::new(Vec::new(), &Section::default(), interfaces()).unwrap();
    let error = capture.write_packet(Instant::ZERO, CLIENT, &[0; 41], 40).unwrap_err();
    assert!(matches!(
        error,
        CaptureError::PacketLength { given_bytes: 41, original_length: 40, .. }
    ));
}

#[test]
fn oversized_segment_names_packet_and_reason() {
    let mut capture = CaptureWriter::new(Vec::new(), &Section::default(), interfaces()).unwrap();
    let segment = Segment { flags: Flags::ACK, payload_bytes: 70_000, ..Segment::default() };
    let payload = Payload::Pattern { stream_offset: 0 };
    let error = capture
        .write_segment(Instant::from_millis(3), CLIENT, &IpHeader::new(v4()), &segment, payload)
        .unwrap_err();
    let expected = "write packet 1 at 3 ms on interface `client` to the capture: \
                    a segment of 70020 bytes is longer than one IP packet can be; \
                    lower the segment size";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn text_too_long_for_option_is_refused() {
    let section = Section { comment: Some("x".repeat(65_536)), ..Section::default() };
    let error = CaptureWriter::new(Vec::new(), &section, interfaces()).err().unwrap();
    let expected = "write the comment of the section to the capture: \
                    65536 bytes of text are too long; shorten it to 65535";
    assert_eq!(error.to_string(), expected);
}

/// Takes this many bytes, then fails as a full disk does.
struct FullDisk(usize);

impl std::io::Write for FullDisk {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let taken = bytes.len().min(self.0);
        if taken == 0 {
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        self.0 -= taken;
        Ok(taken)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn full_disk_fails_at_end_of_short_capture() {
    let mut capture = CaptureWriter::new(FullDisk(100), &Section::default(), interfaces()).unwrap();
    write(&mut capture, [v4()]);
    let error = capture.finish().err().unwrap();
    let expected = "write the last of 12 packets to the capture: no storage space";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn full_disk_names_packet_in_long_capture() {
    let mut capture = CaptureWriter::new(FullDisk(100), &Section::default(), interfaces()).unwrap();
    let failure = (0..100).find_map(|millis| {
        capture.write_packet(Instant::from_millis(millis), SERVER, &[0x45; 1500], 1500).err()
    });
    let error = failure.unwrap();
    assert!(matches!(error, CaptureError::Write { .. }));
    let expected =
        "write packet 43 at 42 ms on interface `server` to the capture: no storage space";
    assert_eq!(error.to_string(), expected);
}
