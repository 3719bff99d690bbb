//! Segments as bytes: written and read back, read by an independent parser, and read from garbage.

#![expect(clippy::unwrap_used, reason = "the helpers of a test fail it by panicking")]

mod headers;

use etherparse::{SlicedPacket, TcpOptionElement, TransportSlice};
use fairwind_wire::bytes::{
    Addresses, Checksum, EmitError, IpHeader, ParseError, Payload, emit, emit_prefix, parse,
    pattern_mismatch,
};
use fairwind_wire::{
    AccurateEcn, Cookie, CounterOrder, Counters, FastOpen, FastOpenKind, Flags, Options, SackBlock,
    SackBlocks, Segment, SequenceNumber, Timestamps,
};
use headers::{any_addresses, any_segment};
use proptest::prelude::*;

fn v4() -> Addresses {
    Addresses::V4 { source: [10, 0, 0, 1].into(), destination: [10, 0, 1, 2].into() }
}

fn v6() -> Addresses {
    Addresses::V6 {
        source: [0xfd00, 0, 0, 0, 0, 0, 0, 1].into(),
        destination: [0xfd00, 0, 0, 1, 0, 0, 0, 2].into(),
    }
}

fn emitted(ip: &IpHeader, segment: &Segment, payload: Payload<'_>) -> Vec<u8> {
    let mut packet = Vec::new();
    let length = emit(ip, segment, payload, &mut packet).unwrap();
    assert_eq!(packet.len(), usize::try_from(length).unwrap());
    packet
}

fn any_ip_header() -> impl Strategy<Value = IpHeader> {
    (any_addresses(), any::<u16>(), any::<bool>(), any::<u8>()).prop_map(
        |(addresses, identification, dont_fragment, hop_limit)| match addresses {
            Addresses::V4 { .. } => {
                IpHeader { addresses, identification, dont_fragment, hop_limit }
            }
            Addresses::V6 { .. } => IpHeader { hop_limit, ..IpHeader::new(addresses) },
        },
    )
}

proptest! {
    #[test]
    fn emitted_packets_parse_back(
        ip in any_ip_header(), segment in any_segment(), stream_offset in 0_u64..1 << 62,
    ) {
        let packet = emitted(&ip, &segment, Payload::Pattern { stream_offset });
        let parsed = parse(&packet).unwrap();
        prop_assert_eq!(parsed.ip, ip);
        prop_assert_eq!(parsed.segment, segment);
        prop_assert_eq!(parsed.payload.len(), usize::try_from(segment.payload_bytes).unwrap());
        prop_assert_eq!(pattern_mismatch(stream_offset, parsed.payload), None);
        prop_assert_eq!(parsed.packet_bytes, u32::try_from(packet.len()).unwrap());
        prop_assert_eq!(parsed.tcp_checksum(), Checksum::Correct);
        let absent = matches!(ip.addresses, Addresses::V6 { .. });
        let expected = if absent { Checksum::Absent } else { Checksum::Correct };
        prop_assert_eq!(parsed.ip_checksum(), expected);
    }

    #[test]
    fn header_sizes_match_segment(
        ip in any_ip_header(), segment in any_segment(),
    ) {
        let packet = emitted(&ip, &segment, Payload::Pattern { stream_offset: 0 });
        let whole = ip.header_bytes() + segment.header_bytes() + segment.payload_bytes;
        prop_assert_eq!(packet.len(), usize::try_from(whole).unwrap());
        let parsed = parse(&packet).unwrap();
        prop_assert_eq!(parsed.ip_header_bytes(), usize::try_from(ip.header_bytes()).unwrap());
        let header_bytes = usize::try_from(segment.header_bytes()).unwrap();
        prop_assert_eq!(parsed.tcp_header_bytes(), header_bytes);
    }

    #[test]
    fn independent_parser_agrees(
        ip in any_ip_header(),
        segment in any_segment(),
        bytes in proptest::collection::vec(any::<u8>(), 0..2000),
    ) {
        // It supports neither Fast Open nor Accurate ECN.
        let options = Options { accurate_ecn: None, ..segment.options };
        let options = match options.fast_open() {
            Some(_) => Options { sack: SackBlocks::EMPTY, ..options },
            None => options,
        };
        let payload_bytes = u32::try_from(bytes.len()).unwrap();
        let segment = Segment { payload_bytes, options, ..segment };
        let packet = emitted(&ip, &segment, Payload::Bytes(&bytes));
        let sliced = SlicedPacket::from_ip(&packet).unwrap();
        let Some(TransportSlice::Tcp(tcp)) = sliced.transport else { panic!("no TCP") };

        match (sliced.net.unwrap(), ip.addresses) {
            (etherparse::NetSlice::Ipv4(net), Addresses::V4 { source, destination }) => {
                let header = net.header();
                prop_assert_eq!(header.source_addr(), source);
                prop_assert_eq!(header.destination_addr(), destination);
                prop_assert_eq!(usize::from(header.total_len()), packet.len());
                prop_assert_eq!(header.identification(), ip.identification);
                prop_assert_eq!(header.dont_fragment(), ip.dont_fragment);
                prop_assert_eq!(header.ttl(), ip.hop_limit);
                prop_assert_eq!(header.ecn().value(), segment.traffic_class.ecn().bits());
                prop_assert_eq!(
                    header.header_checksum(), header.to_header().calc_header_checksum());
                let expected = tcp.calc_checksum_ipv4(source.octets(), destination.octets());
                prop_assert_eq!(tcp.checksum(), expected.unwrap());
            }
            (etherparse::NetSlice::Ipv6(net), Addresses::V6 { source, destination }) => {
                let header = net.header();
                prop_assert_eq!(header.source_addr(), source);
                prop_assert_eq!(header.destination_addr(), destination);
                prop_assert_eq!(usize::from(header.payload_length()) + 40, packet.len());
                prop_assert_eq!(header.hop_limit(), ip.hop_limit);
                prop_assert_eq!(header.traffic_class(), segment.traffic_class.octet());
                let expected = tcp.calc_checksum_ipv6(source.octets(), destination.octets());
                prop_assert_eq!(tcp.checksum(), expected.unwrap());
            }
            (net, _) => panic!("another IP version: {net:?}"),
        }

        prop_assert_eq!(tcp.source_port(), segment.source_port);
        prop_assert_eq!(tcp.destination_port(), segment.destination_port);
        prop_assert_eq!(tcp.sequence_number(), segment.sequence.get());
        prop_assert_eq!(tcp.acknowledgment_number(), segment.acknowledgment.get());
        prop_assert_eq!(tcp.window_size(), segment.window);
        prop_assert_eq!(tcp.urgent_pointer(), segment.urgent);
        prop_assert_eq!(tcp.payload(), &bytes[..]);
        let flags = [
            (tcp.fin(), Flags::FIN), (tcp.syn(), Flags::SYN), (tcp.rst(), Flags::RST),
            (tcp.psh(), Flags::PSH), (tcp.ack(), Flags::ACK), (tcp.urg(), Flags::URG),
            (tcp.ece(), Flags::ECE), (tcp.cwr(), Flags::CWR), (tcp.ns(), Flags::AE),
        ];
        for (is_set, flag) in flags {
            prop_assert_eq!(is_set, segment.flags.contains(flag), "{:?}", flag);
        }
        prop_assert_eq!(foreign_options(tcp.options_iterator()), segment.options);
    }

    #[test]
    fn arbitrary_bytes_never_panic(
        mut bytes in proptest::collection::vec(any::<u8>(), 0..200),
        version in prop_oneof![Just(None), Just(Some(0x45_u8)), Just(Some(0x60)), Just(Some(0x4f))],
    ) {
        // Half of the inputs get far enough to be interesting.
        if let (Some(version), Some(first)) = (version, bytes.first_mut()) {
            *first = version;
        }
        for (place, value) in [(6, 6), (9, 6)] {
            if version.is_some() && let Some(byte) = bytes.get_mut(place) {
                *byte = value;
            }
        }
        if let Ok(parsed) = parse(&bytes) {
            prop_assert!(parsed.payload.len() <= bytes.len());
            let _ = (parsed.tcp_checksum(), parsed.ip_checksum());
        }
    }

    #[test]
    fn changed_packets_never_panic(
        ip in any_ip_header(),
        segment in any_segment(),
        changes in proptest::collection::vec(any::<(u16, u8)>(), 1..8),
        cut in 0_usize..200,
    ) {
        let segment = Segment { payload_bytes: segment.payload_bytes % 64, ..segment };
        let mut packet = emitted(&ip, &segment, Payload::Pattern { stream_offset: 3 });
        packet.truncate(packet.len().min(cut));
        for (place, value) in changes {
            let count = packet.len().max(1);
            if let Some(byte) = packet.get_mut(usize::from(place) % count) {
                *byte = value;
            }
        }
        if let Ok(parsed) = parse(&packet) {
            let _ = (parsed.tcp_checksum(), parsed.ip_checksum());
        }
    }

    #[test]
    fn one_flipped_bit_makes_a_checksum_wrong(
        addresses in any_addresses(), segment in any_segment(), place in any::<usize>(), bit in 0_u32..8,
    ) {
        let ip = IpHeader::new(addresses);
        let mut packet = emitted(&ip, &segment, Payload::Pattern { stream_offset: 9 });
        // Changes ports, numbers and payload, so that the packet stays valid.
        let tcp = usize::try_from(ip.header_bytes()).unwrap();
        let header = usize::try_from(segment.header_bytes()).unwrap();
        let payload = packet.len() - tcp - header;
        let place = place % (12 + payload);
        let place = if place < 12 { tcp + place } else { tcp + header + place - 12 };
        packet[place] ^= 1_u8 << bit;
        prop_assert_eq!(parse(&packet).unwrap().tcp_checksum(), Checksum::Wrong);
    }

    #[test]
    fn prefix_is_start_of_packet(
        ip in any_ip_header(), segment in any_segment(), limit in 0_u32..200,
    ) {
        let payload = Payload::Pattern { stream_offset: 77 };
        let whole = emitted(&ip, &segment, payload);
        let mut prefix = vec![0xee];
        let length = emit_prefix(&ip, &segment, payload, limit, &mut prefix).unwrap();
        prop_assert_eq!(usize::try_from(length).unwrap(), whole.len());
        let kept = whole.len().min(usize::try_from(limit).unwrap());
        prop_assert_eq!(&prefix[1..], &whole[..kept]);
    }
}

/// Options as the independent parser found them.
fn foreign_options(elements: etherparse::TcpOptionsIterator<'_>) -> Options {
    let mut options = Options::NONE;
    let block = |(left, right)| SackBlock {
        left: SequenceNumber::new(left),
        right: SequenceNumber::new(right),
    };
    for element in elements {
        match element.unwrap() {
            TcpOptionElement::Noop => {}
            TcpOptionElement::MaximumSegmentSize(mss) => options.mss = Some(mss),
            TcpOptionElement::WindowScale(shift) => options.window_scale = Some(shift),
            TcpOptionElement::SelectiveAcknowledgementPermitted => options.sack_permitted = true,
            TcpOptionElement::SelectiveAcknowledgement(first, others) => {
                let blocks = std::iter::once(first).chain(others.into_iter().flatten());
                options.sack = blocks.map(block).collect();
            }
            TcpOptionElement::Timestamp(value, echo) => {
                options.timestamps = Some(Timestamps { value, echo });
            }
        }
    }
    options
}

/// An IPv4 packet with this options area and no payload.
fn with_options_area(area: &[u8]) -> Vec<u8> {
    assert!(area.len().is_multiple_of(4));
    let mut packet = emitted(&IpHeader::new(v4()), &Segment::default(), Payload::Bytes(b""));
    packet.extend_from_slice(area);
    packet[3] = u8::try_from(packet.len()).unwrap();
    packet[32] = u8::try_from((20 + area.len()) / 4 * 16).unwrap();
    packet
}

#[test]
fn syn_options_have_linux_layout() {
    let options = Options {
        mss: Some(1460),
        window_scale: Some(7),
        sack_permitted: true,
        timestamps: Some(Timestamps { value: 0x0102_0304, echo: 0 }),
        ..Options::NONE
    };
    let segment = Segment { flags: Flags::SYN, options, ..Segment::default() };
    let packet = emitted(&IpHeader::new(v4()), &segment, Payload::Bytes(b""));
    let area = [2, 4, 5, 180, 4, 2, 8, 10, 1, 2, 3, 4, 0, 0, 0, 0, 1, 3, 3, 7];
    assert_eq!(packet[40..], area);
}

#[test]
fn options_parse_in_any_order() {
    let area = [3, 3, 9, 30, 4, 0, 0, 1, 4, 2, 36, 2, 2, 4, 2, 24, 0, 2, 99, 99];
    let expected =
        Options { mss: Some(536), window_scale: Some(9), sack_permitted: true, ..Options::NONE };
    assert_eq!(parse(&with_options_area(&area)).unwrap().segment.options, expected);
}

/// The layouts of Linux, seen on a SYN and on ACKs of Linux 6.18 and computed by hand.
#[test]
fn accurate_ecn_takes_the_place_of_padding() {
    let counters = Counters { ect0: 1, ce: 2, ect1: 3 };
    let option = |fields| Some(AccurateEcn::new(CounterOrder::Ect1First, fields, counters));
    let none = Options::NONE;
    for (options, area) in [
        (Options { accurate_ecn: option(0), ..none }, &[174, 2, 1, 1][..]),
        (Options { accurate_ecn: option(0), sack_permitted: true, ..none }, &[174, 2, 4, 2]),
        (
            Options { accurate_ecn: option(1), window_scale: Some(7), ..none },
            &[174, 5, 0, 0, 3, 3, 3, 7],
        ),
        (Options { accurate_ecn: option(2), ..none }, &[174, 8, 0, 0, 3, 0, 0, 2]),
        (Options { accurate_ecn: option(3), ..none }, &[174, 11, 0, 0, 3, 0, 0, 2, 0, 0, 1, 1]),
    ] {
        let segment = Segment { options, ..Segment::default() };
        let packet = emitted(&IpHeader::new(v4()), &segment, Payload::Bytes(b""));
        assert_eq!(&packet[40..], area, "{options:?}");
        assert_eq!(segment.header_bytes(), 20 + u32::try_from(area.len()).unwrap());
    }
}

#[test]
fn fast_open_cookie_is_padded() {
    let cookie = Cookie::new(&[1, 2, 3, 4, 5, 6]).unwrap();
    for (kind, area) in [
        (FastOpenKind::Assigned, &[34, 8, 1, 2, 3, 4, 5, 6][..]),
        (FastOpenKind::Experimental, &[254, 10, 0xf9, 0x89, 1, 2, 3, 4, 5, 6, 1, 1]),
    ] {
        let options = Options::NONE.with_fast_open(&FastOpen { kind, cookie });
        let segment = Segment { options, ..Segment::default() };
        let packet = emitted(&IpHeader::new(v4()), &segment, Payload::Bytes(b""));
        assert_eq!(&packet[40..], area);
        assert_eq!(parse(&packet).unwrap().segment.options.fast_open().unwrap().cookie, cookie);
    }
}

#[test]
fn option_lengths_that_cannot_be_are_errors() {
    for (area, kind, length) in [
        ([30, 0, 0, 0], 30, 0),
        ([30, 1, 0, 0], 30, 1),
        ([30, 5, 0, 0], 30, 5),
        ([1, 1, 1, 30], 30, 0),
        ([2, 3, 0, 0], 2, 3),
        ([4, 3, 0, 0], 4, 3),
        ([5, 2, 0, 0], 5, 2),
        ([8, 4, 0, 0], 8, 4),
    ] {
        let error = parse(&with_options_area(&area)).unwrap_err();
        assert_eq!(error, ParseError::OptionLength { kind, length }, "{area:?}");
    }
}

#[test]
fn truncated_payload_keeps_ip_length() {
    for addresses in [v4(), v6()] {
        let ip = IpHeader::new(addresses);
        let segment = Segment { payload_bytes: 1448, ..Segment::default() };
        let packet = emitted(&ip, &segment, Payload::Pattern { stream_offset: 0 });
        let parsed = parse(&packet[..96]).unwrap();
        assert_eq!(parsed.segment, segment);
        assert_eq!(parsed.payload.len(), 96 - parsed.ip_header_bytes() - 20);
        assert_eq!(parsed.tcp_checksum(), Checksum::Unverifiable);
    }
}

#[test]
fn truncated_header_reports_missing_bytes() {
    let packet = emitted(&IpHeader::new(v4()), &Segment::default(), Payload::Bytes(b""));
    let error = parse(&packet[..30]).unwrap_err();
    let expected =
        ParseError::Truncated { header: "TCP header", needed_bytes: 12, present_bytes: 10 };
    assert_eq!(error, expected);
    assert_eq!(error.to_string(), "TCP header needs 12 bytes, but 10 are there");
}

#[test]
fn link_padding_is_no_payload() {
    let segment = Segment { payload_bytes: 3, ..Segment::default() };
    let mut packet = emitted(&IpHeader::new(v4()), &segment, Payload::Bytes(b"abc"));
    packet.extend_from_slice(&[0xff; 20]);
    let parsed = parse(&packet).unwrap();
    assert_eq!((parsed.payload, parsed.tcp_checksum()), (&b"abc"[..], Checksum::Correct));
}

#[test]
fn zero_length_means_all_bytes() {
    let segment = Segment { payload_bytes: 3, ..Segment::default() };
    for (addresses, length_field) in [(v4(), 2), (v6(), 4)] {
        let mut packet = emitted(&IpHeader::new(addresses), &segment, Payload::Bytes(b"abc"));
        packet[length_field..length_field + 2].fill(0);
        assert_eq!(parse(&packet).unwrap().segment.payload_bytes, 3);
    }
}

#[test]
fn fragments_and_other_protocols_are_refused() {
    let mut packet = emitted(&IpHeader::new(v4()), &Segment::default(), Payload::Bytes(b""));
    packet[9] = 17;
    assert_eq!(parse(&packet).unwrap_err(), ParseError::NotTcp { protocol: 17 });
    packet[9] = 6;
    packet[6] = 0x20;
    assert_eq!(parse(&packet).unwrap_err(), ParseError::Fragment);
    packet[0] = 0x70;
    assert_eq!(parse(&packet).unwrap_err(), ParseError::Version { version: 7 });
}

#[test]
fn ip_options_and_extension_headers_are_skipped() {
    let segment = Segment { payload_bytes: 2, ..Segment::default() };
    let mut four = emitted(&IpHeader::new(v4()), &segment, Payload::Bytes(b"hi"));
    four.splice(20..20, [1, 1, 1, 0]);
    four[0] = 0x46;
    four[3] += 4;
    let parsed = parse(&four).unwrap();
    assert_eq!((parsed.payload, parsed.ip_header_bytes()), (&b"hi"[..], 24));
    assert_eq!(parsed.tcp_checksum(), Checksum::Correct);

    // Hop-by-hop options, then a fragment header of a datagram in one piece.
    let mut six = emitted(&IpHeader::new(v6()), &segment, Payload::Bytes(b"hi"));
    six.splice(40..40, [44, 0, 1, 4, 0, 0, 0, 0, 6, 0, 0, 0, 1, 2, 3, 4]);
    six[6] = 0;
    six[5] += 16;
    let parsed = parse(&six).unwrap();
    assert_eq!((parsed.payload, parsed.ip_header_bytes()), (&b"hi"[..], 56));
    assert_eq!(parsed.tcp_checksum(), Checksum::Correct);
    six[51] = 1;
    assert_eq!(parse(&six).unwrap_err(), ParseError::Fragment);
}

#[test]
fn oversized_packet_is_refused() {
    let mut out = vec![1, 2, 3];
    let ip = IpHeader::new(v4());
    let three = Segment { payload_bytes: 3, ..Segment::default() };
    let error = emit(&ip, &three, Payload::Bytes(b"ab"), &mut out).unwrap_err();
    assert_eq!(error, EmitError::PayloadLength { segment_bytes: 3, given_bytes: 2 });

    let pattern = Payload::Pattern { stream_offset: 0 };
    let long = Segment { payload_bytes: 65_536 - 40, ..Segment::default() };
    let error = emit(&ip, &long, pattern, &mut out).unwrap_err();
    assert_eq!(error, EmitError::PacketLength { tcp_bytes: 65_516 });
    // The length of IPv6 does not count its header.
    emit(&IpHeader::new(v6()), &long, pattern, &mut Vec::new()).unwrap();

    let blocks = [SackBlock::default(); 4];
    let options = Options {
        timestamps: Some(Timestamps::default()),
        sack: blocks.into_iter().collect(),
        ..Options::NONE
    };
    let crowded = Segment { options, ..Segment::default() };
    let error = emit(&ip, &crowded, pattern, &mut out).unwrap_err();
    assert_eq!(error, EmitError::OptionsLength { options_bytes: 48 });
    assert_eq!(out, [1, 2, 3]);
}

#[test]
fn an_answer_goes_the_other_way() {
    let Addresses::V4 { source, destination } = v4() else { panic!("IPv4 was asked for") };
    let reversed = Addresses::V4 { source: destination, destination: source };
    assert_eq!(v4().reversed(), reversed);
    assert_eq!(v6().reversed().reversed(), v6());
}

/// RFC 9293 §3.1: the three reserved control bits are sent as zero and ignored.
#[test]
fn reserved_control_bits_are_ignored() {
    let segment = Segment { flags: Flags::ACK | Flags::PSH, window: 77, ..Segment::default() };
    let mut packet = emitted(&IpHeader::new(v4()), &segment, Payload::Pattern { stream_offset: 0 });
    let place = 20 + 12;
    assert_eq!(packet[place] & 0x0e, 0);
    packet[place] |= 0x0e;
    assert_eq!(parse(&packet).unwrap().segment.flags, segment.flags);
}
