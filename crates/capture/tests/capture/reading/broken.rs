//! Damage of every kind: the note with its place, and the frames that are still read.

use super::files::{Order, Pcap, PcapNg, Read, read, try_read};
use fairwind_capture::LinkType;

/// Ten packets of 60 bytes, of which 40 are kept: each record has 56 bytes.
fn pcap() -> Pcap {
    let mut file = Pcap::new(Order::Little, Pcap::MICROSECONDS, 40);
    for packet in 0..10 {
        file.record([1_000, packet, 40, 60], &[0xee; 40]);
    }
    file
}

/// Ten packets of 60 bytes, of which 40 are kept: each block has 72 bytes, the first begins at byte 48.
fn pcapng() -> PcapNg {
    let mut file = PcapNg::new(Order::Little);
    file.interface(1, 40, &[]);
    for packet in 0..10 {
        file.packet(0, 1_000_000_000 + packet, &[0xee; 40], 60, &[]);
    }
    file
}

/// The file with the 32-bit number at a place replaced.
fn with_number(mut bytes: Vec<u8>, at: usize, number: u32) -> Vec<u8> {
    bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
    bytes
}

/// Microseconds after the first second, which number the packets of both files.
fn packets(frames: &[Read]) -> Vec<u64> {
    frames.iter().map(|frame| frame.nanos / 1_000 % 1_000).collect()
}

#[test]
fn file_ending_within_packet_is_read() {
    let (frames, notes) = read(&pcap().bytes[..24 + 3 * 56 + 20]);
    assert_eq!(packets(&frames), [0, 1, 2]);
    assert_eq!(
        notes,
        [
            "the file ends within a record, perhaps because its writer was stopped: 1 record, at byte 192 \
          of test (packet 4): 20 of at least 56 bytes are there"
        ]
    );
    let (frames, notes) = read(&pcapng().bytes[..48 + 3 * 72 + 71]);
    assert_eq!(packets(&frames), [0, 1, 2]);
    assert_eq!(
        notes,
        [
            "the file ends within a record, perhaps because its writer was stopped: 1 record, at byte 264 \
          of test (packet 4): 71 of at least 72 bytes are there"
        ]
    );
}

#[test]
fn file_ending_within_record_header_is_read() {
    let (frames, notes) = read(&pcap().bytes[..24 + 56 + 5]);
    assert_eq!(packets(&frames), [0]);
    assert!(notes[0].ends_with("at byte 80 of test (packet 2): 5 of at least 16 bytes are there"));
    let (frames, notes) = read(&pcapng().bytes[..48 + 72 + 11]);
    assert_eq!(packets(&frames), [0]);
    assert!(notes[0].ends_with("byte 120 of test (packet 2): 11 of at least 12 bytes are there"));
}

#[test]
fn reading_resumes_after_impossible_record_length() {
    for length in [u32::MAX, 300_000, 0, 41, 4_000] {
        let (frames, notes) = read(&with_number(pcap().bytes, 24 + 2 * 56 + 8, length));
        assert_eq!(packets(&frames), [0, 1, 3, 4, 5, 6, 7, 8, 9], "length {length}");
        assert_eq!(frames[2].offset, 24 + 3 * 56);
        assert_eq!(frames[2].number, 3);
        let damage = format!(
            "record headers are impossible; reading went on at the next plausible one: 1 place, \
             at byte 136 of test (packet 3): a record header says {length} kept of 60 bytes \
             at 1000 s and 2 parts"
        );
        let passed_over =
            "bytes after damage were not read: 56 bytes, the first at byte 136 of test (packet 3)";
        assert_eq!(notes, [damage.as_str(), passed_over]);
    }
}

#[test]
fn bytes_between_records_are_passed_over() {
    for garbage in [vec![0; 1_000], vec![0xff; 1_000_003], b"not a packet".repeat(7)] {
        let mut bytes = pcap().bytes;
        bytes.splice(24 + 4 * 56..24 + 4 * 56, garbage.iter().copied());
        let (frames, notes) = read(&bytes);
        assert_eq!(packets(&frames), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert!(notes[0].contains("1 place, at byte 248 of test (packet 5)"), "{}", notes[0]);
        assert!(notes[1].contains(&format!("{} bytes", garbage.len())), "{}", notes[1]);
    }
}

#[test]
fn the_last_record_behind_damage_is_found() {
    for last in [9, 8] {
        let (frames, notes) = read(&with_number(pcap().bytes, 24 + (last - 1) * 56 + 8, 0));
        assert_eq!(frames.len(), 9, "{notes:?}");
    }
}

#[test]
fn all_damage_is_counted_and_first_reported() {
    let bytes = with_number(pcap().bytes, 24 + 56 + 8, u32::MAX);
    let (frames, notes) = read(&with_number(bytes, 24 + 6 * 56 + 8, u32::MAX));
    assert_eq!(packets(&frames), [0, 2, 3, 4, 5, 7, 8, 9]);
    assert!(notes[0].contains("2 places, the first at byte 80 of test (packet 2)"), "{}", notes[0]);
}

#[test]
fn odd_record_is_accepted_if_chain_continues() {
    let mut file = Pcap::new(Order::Big, Pcap::MICROSECONDS, 40);
    file.record([1, 0, 44, 60], &[1; 44]);
    file.record([1, 1, 40, 20], &[2; 40]);
    file.record([1, 2_000_000, 40, 60], &[3; 40]);
    file.record([4, 0, 40, 0x0200_0000], &[4; 40]).record([4, 1, 40, 60], &[5; 40]);
    let (frames, notes) = read(&file.bytes);
    let seen: Vec<_> = frames.iter().map(|it| (it.bytes.len(), it.original, it.nanos)).collect();
    assert_eq!(
        seen,
        [
            (44, 60, 1_000_000_000),
            (40, 40, 1_000_001_000),
            (40, 60, 3_000_000_000),
            (40, 40, 4_000_000_000),
            (40, 60, 4_000_001_000)
        ]
    );
    let expected = [
        "records keep more bytes than the file's snap length; they were read completely: 1 record, \
         at byte 24 of test (packet 1): 44 bytes, but the snap length is 40",
        "records keep more bytes than their packet had; the kept bytes count: \
         1 record, at byte 84 of test (packet 2): 40 bytes of a packet of 20",
        "timestamps have a fraction of more than a second, which was added: 1 record, \
         at byte 140 of test (packet 3): 2000000 parts, and a second has 1000000",
        "records have an impossible length on the link; the kept bytes count: 1 record, \
         at byte 196 of test (packet 4): 33554432 bytes",
    ];
    assert_eq!(notes, expected);
}

#[test]
fn impossible_block_length_loses_one_block() {
    for length in [0, 3, 68, 76, 4_000, u32::MAX, 0x7fff_fff0, 1_048_576] {
        let (frames, notes) = read(&with_number(pcapng().bytes, 48 + 2 * 72 + 4, length));
        assert_eq!(packets(&frames), [0, 1, 3, 4, 5, 6, 7, 8, 9], "length {length}");
        let damage = format!(
            "record headers are impossible; reading went on at the next plausible one: 1 place, at byte \
             192 of test (packet 3): a block of type 0x6 has a length of {length} bytes"
        );
        assert_eq!(notes[0], damage);
        assert!(notes[1].starts_with("bytes after damage were not read: 72 bytes"), "{}", notes[1]);
        assert_eq!(notes.len(), 2);
    }
}

#[test]
fn block_with_unequal_lengths_is_accepted_if_continued() {
    let (frames, notes) = read(&with_number(pcapng().bytes, 48 + 3 * 72 - 4, 73));
    assert_eq!(packets(&frames), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(
        notes,
        ["blocks have different lengths at their begin and end; the first one was used: 1 block, \
          at byte 192 of test (packet 3): a block of type 0x6 has a length of 72 bytes, \
          and 73 at its end"]
    );
}

#[test]
fn a_block_without_padding_is_read() {
    let mut file = pcapng();
    let mut body: Vec<u8> = [0, 0, 1_000_000_010, 3, 3].map(u32::to_le_bytes).concat();
    body.extend([1, 2, 3]);
    file.bytes.extend([6_u32, 35].map(u32::to_le_bytes).concat());
    file.bytes.extend(&body);
    file.bytes.extend(35_u32.to_le_bytes());
    let at = file.bytes.len() - 35;
    file.packet(0, 1_000_000_011, &[9; 40], 40, &[]);
    let (frames, notes) = read(&file.bytes);
    assert_eq!(packets(&frames), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    assert_eq!(frames[10].bytes, [1, 2, 3]);
    assert_eq!(
        notes,
        [format!(
            "blocks have a length that is not a multiple of four: 1 block, at byte {at} of test \
             (packet 11): a block of type 0x6 has a length of 35 bytes"
        )]
    );
}

#[test]
fn packet_longer_than_block_is_skipped() {
    let (frames, notes) = read(&with_number(pcapng().bytes, 48 + 2 * 72 + 20, 44));
    assert_eq!(packets(&frames), [0, 1, 3, 4, 5, 6, 7, 8, 9]);
    assert!(
        notes[0].ends_with(
            "at byte 192 of test (packet 3): a packet keeps 44 bytes, but its block has room for 40"
        ),
        "{}",
        notes[0]
    );
}

#[test]
fn packets_of_an_unknown_interface_are_left_out() {
    let (frames, notes) = read(&with_number(pcapng().bytes, 48 + 2 * 72 + 8, 7));
    assert_eq!(packets(&frames), [0, 1, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(
        notes,
        ["packets of an interface that the section does not describe were not read: 1 packet, \
          at byte 192 of test (packet 3): interface 7"]
    );
}

#[test]
fn unknown_block_is_skipped_and_noted() {
    let (frames, notes) = read(&with_number(pcapng().bytes, 48 + 2 * 72, 0x77));
    assert_eq!(packets(&frames), [0, 1, 3, 4, 5, 6, 7, 8, 9]);
    assert!(notes[0].starts_with("blocks of an unknown kind were skipped: 1 block"));
}

#[test]
fn truncated_interface_description_counts_as_interface() {
    let mut file = PcapNg::new(Order::Little);
    file.block(1, &[]).interface(101, 0, &[(2, b"whole")]);
    file.packet(0, 1, &[0; 20], 20, &[]).packet(1, 1, &[0; 20], 20, &[]);
    let (frames, notes) = read(&file.bytes);
    assert_eq!(frames.len(), 1);
    assert_eq!((frames[0].interface, frames[0].link), (1, LinkType::Raw));
    assert!(notes[0].contains("at byte 28 of test (packet 1)"), "{}", notes[0]);
    assert!(notes[1].ends_with("(packet 1): interface 0"), "{}", notes[1]);
}

#[test]
fn unreadable_options_are_noted() {
    let mut file = PcapNg::new(Order::Little);
    // A link type, a snap length, and a name that is longer than the block.
    file.block(1, &[1, 0, 0, 0, 40, 0, 0, 0, 2, 0, 200, 0, b'a', b'b']);
    file.packet(0, 1, &[0; 20], 20, &[]);
    let (frames, notes) = read(&file.bytes);
    assert_eq!(frames.len(), 1);
    assert_eq!(
        notes,
        ["options of blocks cannot be read and were skipped: 1 block, \
          at byte 28 of test (packet 1): of an interface"]
    );
}

#[test]
fn backward_timestamps_and_long_silence_are_noted() {
    let mut file = Pcap::new(Order::Little, Pcap::MICROSECONDS, 40);
    file.packet(10_000, 0, &[1; 20]).packet(9_999, 500_000, &[2; 20]);
    file.packet(13_600, 0, &[3; 20]).packet(20_000, 0, &[4; 20]);
    let (frames, notes) = read(&file.bytes);
    assert_eq!(frames.len(), 4);
    assert_eq!(
        notes,
        [
            "timestamps are earlier than the previous packet: 1 packet, \
             at byte 60 of test (packet 2): by 500 ms",
            "an hour or more lies between two packets: 2 times, \
             the first at byte 96 of test (packet 3): 3600.5 s"
        ]
    );
}

#[test]
fn pcap_with_wrong_magic_is_read() {
    for order in Order::BOTH {
        for (parts, nanos) in [(999_999, 999_999_000), (1_000_000, 1_000_000)] {
            let mut file = Pcap::new(order, 0x1234_5678, 40);
            for second in 1..6 {
                file.record([second, parts, 40, 60], &[0xee; 40]);
            }
            let (frames, notes) = read(&file.bytes);
            assert_eq!(frames.len(), 5);
            assert_eq!(frames[0].nanos, 1_000_000_000 + nanos);
            assert_eq!(
                notes,
                ["the file does not begin like a capture; the rest was read: 1 file, \
                  at byte 0 of test (packet 1): a pcap header with another magic number"]
            );
        }
    }
}

#[test]
fn a_capture_behind_other_bytes_is_read() {
    for capture in [pcap().bytes, pcapng().bytes] {
        let bytes = [b"preface\n".repeat(100), capture].concat();
        let (frames, notes) = read(&bytes);
        assert_eq!(packets(&frames), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(notes.len(), 1);
        assert!(notes[0].ends_with("after 800 bytes"), "{}", notes[0]);
    }
}

#[test]
fn pcapng_with_damaged_section_header_is_read() {
    let (frames, notes) = read(&with_number(pcapng().bytes, 8, 0));
    assert_eq!(packets(&frames), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert!(notes[0].ends_with("a block of a pcapng file after 28 bytes"), "{}", notes[0]);
}

#[test]
fn foreign_file_is_refused_with_its_format() {
    let mut erf = Vec::new();
    for second in 1..4_u64 {
        erf.extend((second << 32).to_le_bytes());
        erf.extend([2, 4, 0, 40, 0, 0, 0, 22]);
        erf.extend([0xab; 24]);
    }
    let cases: [(&[u8], &str, &str); 9] = [
        (b"snoop\0\0\0\0\0\0\x02\0\0\0\x04", "is a capture of Solaris snoop", "editcap"),
        (&erf, "seems to be an ERF trace", "editcap"),
        (b"12:00:01 IP 10.0.0.1.80 > 10.0.0.2.90: tcp 0\n", "is text, not a capture", "-w FILE"),
        (b"{\"packets\": []}", "is text (JSON)", "pcap or pcapng"),
        (b"<html></html>", "is text with markup", "pcap or pcapng"),
        (b"\xfd7zXZ\0\0\x04", "is compressed with xz", "unpack it"),
        (b"PK\x03\x04\x14\0\0\0", "is a zip archive", "unpack it"),
        (&[0xd4, 0xc3, 0xb2, 0xa1, 2, 0], "ends within the header of a pcap file", "again"),
        (&[0x93; 5_000], "begins like no known capture", "pcap or pcapng"),
    ];
    for (bytes, seems, advice) in cases {
        let error = try_read(bytes).unwrap_err().to_string();
        assert!(error.starts_with("read the capture test: it "), "{error}");
        assert!(error.contains(seems) && error.contains(advice), "{error}");
    }
}

#[test]
fn an_empty_file_is_refused() {
    let error = try_read(&[]).unwrap_err().to_string();
    assert_eq!(
        error,
        "read the capture test: it is empty; a capture has at least a header of 24 bytes"
    );
}
