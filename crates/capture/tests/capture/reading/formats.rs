//! Every variant of the two formats, without damage.

use super::files::{Options, Order, Pcap, PcapNg, Read, frames, read, source};
use fairwind_capture::{CaptureReader, EndOfFile, LinkType};

fn no_notes(bytes: &[u8]) -> Vec<Read> {
    let (frames, notes) = read(bytes);
    assert_eq!(notes, Vec::<String>::new());
    frames
}

fn times(frames: &[Read]) -> Vec<u64> {
    frames.iter().map(|frame| frame.nanos).collect()
}

#[test]
fn pcap_record_has_place_and_lengths() {
    let mut file = Pcap::new(Order::Little, Pcap::MICROSECONDS, 4);
    file.packet(10, 1, &[1, 2, 3]).record([10, 2, 4, 1514], &[4, 5, 6, 7]);
    let first = Read {
        nanos: 10_000_001_000,
        link: LinkType::Ethernet,
        interface: 0,
        original: 3,
        bytes: vec![1, 2, 3],
        number: 1,
        offset: 24,
    };
    let second = Read {
        nanos: 10_000_002_000,
        original: 1514,
        bytes: vec![4, 5, 6, 7],
        number: 2,
        offset: 24 + 16 + 3,
        ..first.clone()
    };
    assert_eq!(no_notes(&file.bytes), [first, second]);
}

#[test]
fn pcap_byte_orders_and_resolutions_are_read() {
    for order in Order::BOTH {
        for (magic, nanos) in [(Pcap::MICROSECONDS, 7_000), (Pcap::NANOSECONDS, 7)] {
            let mut file = Pcap::new(order, magic, 65_535);
            file.packet(3, 7, &[1]).packet(u32::MAX, 7, &[2; 60]);
            let second = u64::from(u32::MAX) * 1_000_000_000;
            let (read, _) = read(&file.bytes);
            assert_eq!(times(&read), [3_000_000_000 + nanos, second + nanos]);
        }
    }
}

#[test]
fn kuznetzov_records_have_8_more_bytes() {
    for order in Order::BOTH {
        let mut file = Pcap::new(order, Pcap::KUZNETZOV, 65_535);
        for packet in [[0xaa; 5], [0xbb; 5]] {
            file.record([1, 2, 5, 5], &[[0xff; 8].as_slice(), &packet].concat());
        }
        let frames = no_notes(&file.bytes);
        assert_eq!(frames.len(), 2);
        assert_eq!((&frames[0].bytes, frames[0].offset), (&vec![0xaa; 5], 24));
        assert_eq!((&frames[1].bytes, frames[1].offset), (&vec![0xbb; 5], 24 + 24 + 5));
    }
}

#[test]
fn old_files_may_swap_record_lengths() {
    let mut file = Pcap::new(Order::Big, Pcap::MICROSECONDS, 4);
    file.bytes[7] = 2;
    file.record([1, 0, 60, 4], &[1, 2, 3, 4]).record([2, 0, 4, 60], &[5, 6, 7, 8]);
    let frames = no_notes(&file.bytes);
    let lengths: Vec<_> = frames.iter().map(|frame| (frame.original, frame.bytes.len())).collect();
    assert_eq!(lengths, [(60, 4), (60, 4)]);
}

#[test]
fn fcs_length_is_not_part_of_link_type() {
    let mut file = Pcap::with_link(Order::Little, Pcap::MICROSECONDS, 0, 0x2400_0001);
    file.packet(1, 0, &[0; 64]);
    let mut reader = CaptureReader::open(vec![source(&file.bytes)], EndOfFile::Final).unwrap();
    assert_eq!(frames(&mut reader)[0].link, LinkType::Ethernet);
    let section = reader.sections().next().unwrap();
    assert_eq!(section.interfaces[0].check_sequence_bytes, Some(4));
    assert_eq!(section.interfaces[0].snap_length, None);
}

#[test]
fn link_types_have_the_numbers_of_the_registry() {
    let numbers = [0, 1, 12, 14, 101, 108, 113, 228, 229, 276, 105];
    let links = numbers.map(|number| {
        let mut file = Pcap::with_link(Order::Little, Pcap::MICROSECONDS, 0, number);
        no_notes(&file.packet(1, 0, &[0; 4]).bytes)[0].link
    });
    assert_eq!(
        links,
        [
            LinkType::Null,
            LinkType::Ethernet,
            LinkType::Raw,
            LinkType::Raw,
            LinkType::Raw,
            LinkType::Loop,
            LinkType::LinuxCooked,
            LinkType::Raw,
            LinkType::Raw,
            LinkType::LinuxCooked2,
            LinkType::Other(105)
        ]
    );
}

#[test]
fn pcap_packets_may_be_below_snap_length() {
    let mut file = Pcap::new(Order::Little, Pcap::MICROSECONDS, 65_535);
    for packet in 0..4 {
        file.record([1, packet, 20, 1514], &[7; 20]);
    }
    let frames = no_notes(&file.bytes);
    assert_eq!(frames.len(), 4);
    assert!(frames.iter().all(|frame| frame.original == 1514 && frame.bytes == [7; 20]));
}

#[test]
fn a_record_may_keep_nothing_of_its_packet() {
    let mut file = Pcap::new(Order::Little, Pcap::MICROSECONDS, 65_535);
    file.record([1, 0, 0, 60], &[]).record([2, 0, 40, 60], &[7; 40]).record([3, 0, 0, 70], &[]);
    let kept: Vec<_> =
        no_notes(&file.bytes).iter().map(|frame| (frame.original, frame.bytes.len())).collect();
    assert_eq!(kept, [(60, 0), (60, 40), (70, 0)]);
}

#[test]
fn a_header_alone_is_a_capture_without_packets() {
    assert_eq!(no_notes(&Pcap::new(Order::Big, Pcap::NANOSECONDS, 96).bytes), []);
    assert_eq!(no_notes(&PcapNg::new(Order::Big).bytes), []);
}

#[test]
fn enhanced_packet_has_place_and_lengths() {
    for order in Order::BOTH {
        let mut file = PcapNg::new(order);
        file.interface(113, 0, &[]).packet(0, 1_500_000, &[1, 2, 3], 40, &[]);
        let expected = Read {
            nanos: 1_500_000_000,
            link: LinkType::LinuxCooked,
            interface: 0,
            original: 40,
            bytes: vec![1, 2, 3],
            number: 1,
            offset: 28 + 20,
        };
        assert_eq!(no_notes(&file.bytes), [expected]);
    }
}

#[test]
fn timestamps_count_what_their_interface_says() {
    let cases: [(Options<'_>, u64, u64); 6] = [
        (&[], 1_500_000, 1_500_000_000),
        (&[(9, &[9])], (1 << 40) + 1, (1 << 40) + 1),
        (&[(9, &[3])], 1_500, 1_500_000_000),
        (&[(9, &[12])], 1_500_000_001_999, 1_500_000_001),
        (&[(9, &[0x8a])], 1_024 + 512, 1_500_000_000),
        (&[(14, &(-1_i64).to_le_bytes())], 1_500_000, 500_000_000),
    ];
    let mut file = PcapNg::new(Order::Little);
    for (options, ..) in cases {
        file.interface(1, 0, options);
    }
    for (interface, (_, timestamp, _)) in (0..).zip(cases) {
        file.packet(interface, timestamp, &[0; 14], 14, &[]);
    }
    let (frames, _) = read(&file.bytes);
    assert_eq!(times(&frames), cases.map(|(.., nanos)| nanos));
}

#[test]
fn sections_have_separate_byte_order_and_interfaces() {
    let mut file = PcapNg::new(Order::Little);
    file.interface(1, 0, &[(9, &[6])]).interface(101, 0, &[]).packet(1, 7, &[1], 1, &[]);
    file.section(Order::Big, &[]).interface(0, 0, &[(9, &[9])]).packet(0, 8_000, &[2], 1, &[]);
    let frames = no_notes(&file.bytes);
    let seen: Vec<_> = frames.iter().map(|frame| (frame.link, frame.nanos)).collect();
    assert_eq!(seen, [(LinkType::Raw, 7_000), (LinkType::Null, 8_000)]);
}

#[test]
fn obsolete_and_simple_packets_are_frames() {
    let mut file = PcapNg::new(Order::Big);
    file.interface(1, 6, &[]);
    let obsolete = [[0, 0, 0, 0], [0; 4], 9_u32.to_be_bytes(), 3_u32.to_be_bytes(), [0, 0, 0, 60]];
    file.block(2, &[obsolete.concat().as_slice(), &[1, 2, 3]].concat());
    file.block(3, &[60_u32.to_be_bytes().as_slice(), &[1, 2, 3, 4, 5, 6]].concat());
    let (frames, notes) = read(&file.bytes);
    let seen: Vec<_> =
        frames.iter().map(|frame| (frame.nanos, frame.original, frame.bytes.as_slice())).collect();
    assert_eq!(seen, [(9_000, 60, [1, 2, 3].as_slice()), (9_000, 60, &[1, 2, 3, 4, 5, 6])]);
    assert_eq!(
        notes,
        ["packets without timestamp have the time of the previous packet: 1 packet, \
          at byte 84 of test (packet 2)"]
    );
}

#[test]
fn non_packet_blocks_are_skipped() {
    let mut file = PcapNg::new(Order::Little);
    file.interface(1, 0, &[]).block(4, &[0; 40]).block(10, &[1; 33]).block(0xbad, &[0; 8]);
    // Secrets may be larger than any packet.
    file.block(10, &vec![1; 3_000_000]);
    file.packet(0, 1_000, &[9; 100], 100, &[(1, b"a comment")]);
    let frames = no_notes(&file.bytes);
    assert_eq!((frames.len(), &frames[0].bytes), (1, &vec![9; 100]));
}

#[test]
fn section_describes_origin_and_interfaces() {
    let mut file = PcapNg::new(Order::Little);
    file.bytes.clear();
    file.section(
        Order::Little,
        &[(2, b"virtual"), (3, b"none"), (4, b"fairwind simulation"), (1, b"seed 7\0")],
    );
    file.interface(101, 96, &[(2, b"sender"), (3, b"its side"), (1, b"a point"), (13, &[4])]);
    file.packet(0, 1, &[0; 20], 20, &[]);
    let mut reader = CaptureReader::open(vec![source(&file.bytes)], EndOfFile::Final).unwrap();
    assert!(reader.is_own_capture(), "what stands before the first packet is known at once");
    assert_eq!(frames(&mut reader).len(), 1);
    let section = reader.sections().next().unwrap();
    let origin = &section.section;
    assert_eq!(origin.hardware.as_deref(), Some("virtual"));
    assert_eq!(origin.operating_system.as_deref(), Some("none"));
    assert_eq!(origin.application.as_deref(), Some("fairwind simulation"));
    assert_eq!(origin.comment.as_deref(), Some("seed 7"));
    let interface = &section.interfaces[0];
    assert_eq!(interface.name.as_deref(), Some("sender"));
    assert_eq!(interface.description.as_deref(), Some("its side"));
    assert_eq!(interface.comment.as_deref(), Some("a point"));
    assert_eq!(interface.snap_length.map(std::num::NonZeroU32::get), Some(96));
    assert_eq!((interface.link, interface.check_sequence_bytes), (LinkType::Raw, Some(4)));
}

#[test]
fn capture_of_other_program_is_foreign() {
    let mut file = PcapNg::new(Order::Little);
    file.section(Order::Little, &[(4, b"Dumpcap")]).interface(1, 0, &[]);
    let mut reader = CaptureReader::open(vec![source(&file.bytes)], EndOfFile::Final).unwrap();
    assert_eq!(frames(&mut reader), []);
    assert!(!reader.is_own_capture());
}

#[test]
fn missed_packets_are_noted_once() {
    let mut file = PcapNg::new(Order::Little);
    file.interface(1, 0, &[]);
    let statistics = |drops: u64| {
        let options = PcapNg::new(Order::Little).options(&[(5, &drops.to_le_bytes())]);
        [[0; 12].as_slice(), &options].concat()
    };
    file.block(5, &statistics(3)).packet(0, 1, &[0; 20], 20, &[(4, &2_u64.to_le_bytes())]);
    file.block(5, &statistics(10));
    let (frames, notes) = read(&file.bytes);
    assert_eq!(frames.len(), 1);
    assert_eq!(
        notes,
        ["according to the file, the capture missed packets: 12 packets, \
          the first at byte 48 of test (packet 1): on interface 0"]
    );
}
