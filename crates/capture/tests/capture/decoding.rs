//! Frames that become packets, frames that do not, and notes on those in between.

use crate::conversation::{v4, v6};
use crate::frames::{IPV4, TAG, carriers, decoded, frame, packet_of, segment};
use fairwind_capture::{Anomalies, Frame, LinkType, Packet, SkipReason};
use fairwind_units::Instant;
use fairwind_wire::{Flags, Options, Segment, SequenceNumber};

/// A raw IPv4 packet of the test's segment, changed.
fn changed(change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = packet_of(v4(), &segment());
    change(&mut bytes);
    bytes
}

/// As [`changed`], of IPv6.
fn changed_v6(change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = packet_of(v6(), &segment());
    change(&mut bytes);
    bytes
}

fn raw(bytes: &[u8]) -> Result<Packet, SkipReason> {
    decoded(&frame(LinkType::Raw, bytes))
}

/// Puts extension headers behind the fixed header of an IPv6 packet; the first is of kind `first`.
fn extended(first: u8, headers: &[u8]) -> Vec<u8> {
    changed_v6(|bytes| {
        bytes[6] = first;
        let length =
            u16::from_be_bytes([bytes[4], bytes[5]]) + u16::try_from(headers.len()).unwrap();
        bytes[4..6].copy_from_slice(&length.to_be_bytes());
        bytes.splice(40..40, headers.iter().copied());
    })
}

#[test]
fn every_carrier_gives_the_same_packet() {
    for carrier in carriers() {
        for (before, addresses) in carrier.before.iter().zip([v4(), v6()]) {
            let bytes = [&before[..], &packet_of(addresses, &segment())].concat();
            let packet = decoded(&frame(carrier.link, &bytes)).expect(carrier.name);
            let is_v4 = addresses == v4();
            let ip_at = u16::try_from(before.len()).unwrap();
            let expected = Packet {
                at: Instant::from_millis(7),
                number: 12,
                wire_bytes: u32::try_from(bytes.len()).unwrap(),
                addresses,
                identification: is_v4.then_some(0x1234),
                hop_limit: 61,
                anomalies: Anomalies::NONE,
                ip_at,
                tcp_at: ip_at + if is_v4 { 20 } else { 40 },
                segment: segment(),
            };
            assert_eq!(packet, expected, "{}", carrier.name);
        }
    }
}

#[test]
fn reused_packet_slot_keeps_no_old_fields() {
    let options = Options {
        mss: Some(1460),
        window_scale: Some(7),
        sack_permitted: true,
        ..segment().options
    };
    let syn = Segment { flags: Flags::SYN, payload_bytes: 0, options, ..segment() };
    let mut packet = decoded(&frame(LinkType::Raw, &packet_of(v6(), &syn))).unwrap();
    let bytes = packet_of(v4(), &Segment { options: Options::NONE, ..segment() });
    fairwind_capture::decode(&frame(LinkType::Raw, &bytes), &mut packet).unwrap();
    assert_eq!(packet, raw(&bytes).unwrap());
}

#[test]
fn ethernet_padding_is_not_payload() {
    let ack = Segment { payload_bytes: 0, options: Options::NONE, ..segment() };
    let mut bytes = [&[2; 12][..], &IPV4, &packet_of(v4(), &ack)].concat();
    bytes.resize(60, 0xaa);
    let packet = decoded(&frame(LinkType::Ethernet, &bytes)).unwrap();
    assert_eq!((packet.segment, packet.wire_bytes), (ack, 60));
    assert_eq!(packet.anomalies, Anomalies::NONE);
}

#[test]
fn ipv4_options_are_skipped() {
    let bytes = changed(|bytes| {
        bytes[0] = 0x47;
        bytes[2..4].copy_from_slice(&(20 + 8 + 32 + 300_u16).to_be_bytes());
        bytes.splice(20..20, [7, 7, 4, 0, 0, 0, 0, 0]);
    });
    let packet = raw(&bytes).unwrap();
    assert_eq!((packet.segment, packet.tcp_at), (segment(), 28));
}

#[test]
fn ip_length_zero_means_frame_length() {
    // 70000 bytes of payload behind 20 + 32 bytes of headers, of which 96 bytes were kept, behind an
    // Ethernet header; in IPv6 the headers have 20 bytes more.
    for (addresses, ethertype, length_at, headers) in
        [(v4(), IPV4, 16, 14 + 52), (v6(), crate::frames::IPV6, 18, 14 + 72)]
    {
        let mut bytes = [&[2; 12][..], &ethertype, &packet_of(addresses, &segment())].concat();
        bytes[length_at..length_at + 2].fill(0);
        bytes.truncate(96);
        let frame = Frame { original_bytes: headers + 70_000, ..frame(LinkType::Ethernet, &bytes) };
        let packet = decoded(&frame).unwrap();
        assert_eq!(packet.segment, Segment { payload_bytes: 70_000, ..segment() });
        assert_eq!(packet.anomalies, Anomalies::LENGTH_OF_FRAME);
        assert_eq!(packet.wire_bytes, headers + 70_000);
    }
}

#[test]
fn jumbogram_has_frame_length() {
    // Hop-by-hop options: next header 6, eight bytes, jumbo payload (RFC 2675 §2) of 8 + 32 + 300.
    let bytes = {
        let mut bytes = extended(0, &[6, 0, 0xc2, 4, 0, 0, 1, 0x54]);
        bytes[4..6].fill(0);
        bytes
    };
    let packet = raw(&bytes).unwrap();
    assert_eq!((packet.segment, packet.tcp_at), (segment(), 48));
    assert_eq!(packet.anomalies, Anomalies::LENGTH_OF_FRAME);
}

#[test]
fn ip_length_is_limited_to_frame() {
    let bytes = changed(|bytes| bytes[2..4].copy_from_slice(&9000_u16.to_be_bytes()));
    let packet = raw(&bytes).unwrap();
    assert_eq!(packet.segment, segment());
    assert_eq!(packet.anomalies, Anomalies::LENGTH_BEYOND_FRAME);
}

#[test]
fn snap_length_within_payload_changes_nothing() {
    let bytes = packet_of(v4(), &segment());
    let frame = Frame { bytes: &bytes[..60], ..frame(LinkType::Raw, &bytes) };
    let packet = decoded(&frame).unwrap();
    assert_eq!((packet.segment, packet.anomalies), (segment(), Anomalies::NONE));
}

#[test]
fn complete_options_before_snap_length_are_read() {
    // MSS (4), SACK permitted and timestamps (12), NOP and window scale (4): 20 bytes of options.
    let options = Options {
        mss: Some(1460),
        window_scale: Some(7),
        sack_permitted: true,
        ..segment().options
    };
    let syn = Segment { flags: Flags::SYN, payload_bytes: 0, options, ..segment() };
    let bytes = packet_of(v4(), &syn);
    let with = |kept: usize| {
        decoded(&Frame { bytes: &bytes[..kept], ..frame(LinkType::Raw, &bytes) }).unwrap()
    };
    let none = Options::NONE;
    let mss = Options { mss: Some(1460), ..none };
    let sack = Options { sack_permitted: true, ..mss };
    let stamped = Options { timestamps: options.timestamps, ..sack };
    for (kept, options) in [
        (40, none),
        (41, none),
        (43, none),
        (44, mss),
        (45, mss),
        (46, sack),
        (55, sack),
        (56, stamped),
        (57, stamped),
        (59, stamped),
    ] {
        let packet = with(kept);
        assert_eq!(packet.segment, Segment { options, ..syn }, "{kept} bytes kept");
        assert_eq!(packet.anomalies, Anomalies::OPTIONS_CUT);
    }
    assert_eq!((with(60).segment, with(60).anomalies), (syn, Anomalies::NONE));
}

#[test]
fn packet_cut_within_fixed_headers_is_skipped() {
    for carrier in carriers() {
        for (before, addresses) in carrier.before.iter().zip([v4(), v6()]) {
            let bytes = [&before[..], &packet_of(addresses, &segment())].concat();
            let headers = before.len() + if addresses == v4() { 40 } else { 60 };
            for kept in 0..headers {
                let frame = Frame { bytes: &bytes[..kept], ..frame(carrier.link, &bytes) };
                assert_eq!(decoded(&frame), Err(SkipReason::CutShort), "{} {kept}", carrier.name);
            }
        }
    }
}

#[test]
fn impossible_option_lengths_are_noted() {
    // Timestamps of 9 bytes; a length of zero; a length behind the end; SACK blocks of 7 bytes.
    for wrong in [[1, 1, 8, 9], [8, 0, 0, 0], [1, 1, 1, 99], [1, 5, 9, 0]] {
        let bytes = changed(|bytes| bytes[40..44].copy_from_slice(&wrong));
        let packet = raw(&bytes).unwrap();
        assert_eq!(packet.segment, Segment { options: Options::NONE, ..segment() }, "{wrong:?}");
        assert_eq!(packet.anomalies, Anomalies::OPTIONS_MALFORMED);
    }
}

#[test]
fn unknown_options_are_skipped() {
    // Kind 253 of 4 bytes, NOP, kind 69 of 3 bytes, MSS 536.
    let options = [253, 4, 0, 0, 1, 69, 3, 0, 2, 4, 2, 24];
    let bytes = changed(|bytes| bytes[40..52].copy_from_slice(&options));
    let packet = raw(&bytes).unwrap();
    assert_eq!(packet.segment.options, Options { mss: Some(536), ..Options::NONE });
    assert_eq!(packet.anomalies, Anomalies::NONE);
}

#[test]
fn four_sack_blocks_are_read_in_their_order() {
    // Two NOPs, kind 5 of 34 bytes, then eight numbers; two words more than the timestamps had.
    let mut options = vec![1, 1, 5, 34];
    options.extend((1..=8_u32).flat_map(|number| (number * 1000).to_be_bytes()));
    let bytes = changed(|bytes| {
        bytes[32] = 0xe0;
        bytes[2..4].copy_from_slice(&(20 + 56 + 300_u16).to_be_bytes());
        bytes.splice(40..52, options);
    });
    let packet = raw(&bytes).unwrap();
    let places = packet.segment.options.sack.as_slice().iter();
    let places: Vec<_> = places.map(|block| (block.left.get(), block.right.get())).collect();
    assert_eq!(places, [(1000, 2000), (3000, 4000), (5000, 6000), (7000, 8000)]);
    assert_eq!((packet.segment.payload_bytes, packet.anomalies), (300, Anomalies::NONE));
}

#[test]
fn first_fragment_is_read_and_others_counted() {
    // More fragments follow.
    let first = raw(&changed(|bytes| bytes[6] |= 0x20)).unwrap();
    assert_eq!((first.segment, first.anomalies), (segment(), Anomalies::FIRST_FRAGMENT));
    // The second one, 332 bytes behind its header, at 41 times 8 bytes; the last one likewise.
    for place in [0x2029_u16, 0x0029] {
        let second = changed(|bytes| bytes[6..8].copy_from_slice(&place.to_be_bytes()));
        assert_eq!(raw(&second), Err(SkipReason::Fragment { bytes: 332 }));
    }
    // A first fragment of 16 or 24 bytes does not have the whole header (RFC 1858).
    for bytes_there in [16_u16, 24] {
        let tiny = changed(|bytes| {
            bytes[6] |= 0x20;
            bytes[2..4].copy_from_slice(&(20 + bytes_there).to_be_bytes());
        });
        assert_eq!(raw(&tiny), Err(SkipReason::Fragment { bytes: bytes_there.into() }));
    }
    let of_udp = changed(|bytes| {
        bytes[9] = 17;
        bytes[7] = 1;
    });
    assert_eq!(raw(&of_udp), Err(SkipReason::OtherProtocol(17)));
}

#[test]
fn ipv6_fragments_are_distinguished() {
    // Next header, reserved, offset and whether more follow, identification.
    let with = |high, low, next| raw(&extended(44, &[next, 0, high, low, 0, 0, 0, 9]));
    let alone = with(0, 0, 6).unwrap();
    assert_eq!((alone.segment, alone.anomalies, alone.tcp_at), (segment(), Anomalies::NONE, 48));
    let first = with(0, 1, 6).unwrap();
    assert_eq!((first.segment, first.anomalies), (segment(), Anomalies::FIRST_FRAGMENT));
    assert_eq!(with(5, 1, 6), Err(SkipReason::Fragment { bytes: 332 }));
    assert_eq!(with(5, 0, 60), Err(SkipReason::Fragment { bytes: 332 }));
    assert_eq!(with(5, 0, 17), Err(SkipReason::OtherProtocol(17)));
}

#[test]
fn extension_headers_are_skipped() {
    let headers = [
        // Hop-by-hop options of 16 bytes, then routing of 8, destination options of 8.
        &[43, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0][..],
        &[60, 0, 4, 0, 0, 0, 0, 0],
        // Authentication: 4 + 2 words of 4 bytes.
        &[51, 0, 1, 4, 0, 0, 0, 0],
        &[6, 4, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9],
    ];
    let packet = raw(&extended(0, &headers.concat())).unwrap();
    assert_eq!((packet.segment, packet.tcp_at), (segment(), 40 + 16 + 8 + 8 + 24));
    assert_eq!(packet.anomalies, Anomalies::NONE);
}

#[test]
fn an_authentication_header_of_ipv4_is_skipped() {
    let header = [6, 4, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9];
    let bytes = changed(|bytes| {
        bytes[9] = 51;
        bytes[2..4].copy_from_slice(&(20 + 24 + 32 + 300_u16).to_be_bytes());
        bytes.splice(20..20, header);
    });
    let packet = raw(&bytes).unwrap();
    assert_eq!((packet.segment, packet.tcp_at), (segment(), 44));
    let fragment = changed(|bytes| {
        bytes[9] = 51;
        bytes[7] = 1;
    });
    assert_eq!(raw(&fragment), Err(SkipReason::Fragment { bytes: 332 }));
}

#[test]
fn non_tcp_packet_reports_its_protocol() {
    assert_eq!(raw(&changed(|bytes| bytes[9] = 17)), Err(SkipReason::OtherProtocol(17)));
    assert_eq!(raw(&changed_v6(|bytes| bytes[6] = 58)), Err(SkipReason::OtherProtocol(58)));
    // Hop-by-hop options before ICMPv6, as multicast listeners send.
    let report = extended(0, &[58, 0, 5, 2, 0, 0, 1, 0]);
    assert_eq!(raw(&report), Err(SkipReason::OtherProtocol(58)));
    let arp = [&[0xff; 12][..], &[0x08, 0x06], &[0; 46]].concat();
    assert_eq!(decoded(&frame(LinkType::Ethernet, &arp)), Err(SkipReason::NotIp));
    let tagged_arp = [&[0xff; 12][..], &TAG, &[0x08, 0x06], &[0; 46]].concat();
    assert_eq!(decoded(&frame(LinkType::Ethernet, &tagged_arp)), Err(SkipReason::NotIp));
    assert_eq!(decoded(&frame(LinkType::Null, &[7, 0, 0, 0, 1])), Err(SkipReason::NotIp));
    let wireless = frame(LinkType::Other(105), &arp);
    assert_eq!(decoded(&wireless), Err(SkipReason::UnknownLink(105)));
}

#[test]
fn lengths_and_versions_that_cannot_be_are_named() {
    let cases: [(Vec<u8>, &str); 8] = [
        (changed(|bytes| bytes[0] = 0x55), "an IP version that is neither 4 nor 6"),
        (changed(|bytes| bytes[0] = 0x44), "an IPv4 header shorter than its fixed fields"),
        (
            changed(|bytes| bytes[2..4].copy_from_slice(&[0, 19])),
            "an IPv4 length that ends within the header",
        ),
        (
            changed(|bytes| bytes[2..4].copy_from_slice(&[0, 39])),
            "an IP length that ends within the TCP header",
        ),
        (
            changed(|bytes| bytes[2..4].copy_from_slice(&[0, 51])),
            "a TCP header that ends behind its packet",
        ),
        (changed(|bytes| bytes[32] = 0x40), "a TCP header shorter than its fixed fields"),
        (
            changed_v6(|bytes| bytes[4..6].copy_from_slice(&[0, 19])),
            "an IP length that ends within the TCP header",
        ),
        (
            {
                let mut bytes = extended(0, &[6, 0, 1, 4, 0, 0, 0, 0]);
                bytes[4..6].copy_from_slice(&[0, 7]);
                bytes
            },
            "an IP length that ends within the headers",
        ),
    ];
    for (bytes, what) in cases {
        assert_eq!(raw(&bytes), Err(SkipReason::Malformed(what)));
    }
    let six_as_four = [&[2; 12][..], &IPV4, &packet_of(v6(), &segment())].concat();
    assert_eq!(
        decoded(&frame(LinkType::Ethernet, &six_as_four)),
        Err(SkipReason::Malformed("an IP version that differs from the link header"))
    );
}

#[test]
fn overlong_extension_header_chain_is_refused() {
    // Forty times destination options of 2048 bytes.
    let mut header = vec![0; 2048];
    header[..2].copy_from_slice(&[60, 255]);
    let mut bytes = packet_of(v6(), &segment())[..40].to_vec();
    bytes[4..7].copy_from_slice(&[0, 0, 60]);
    for _ in 0..40 {
        bytes.extend_from_slice(&header);
    }
    let last = bytes.len() - 2048;
    bytes[last] = 6;
    bytes.extend_from_slice(&packet_of(v6(), &segment())[40..]);
    assert_eq!(raw(&bytes), Err(SkipReason::Malformed("headers of more than 64 KiB")));
}

#[test]
fn frame_length_is_at_least_kept_bytes() {
    let bytes = packet_of(v4(), &segment());
    let frame = Frame { original_bytes: 10, ..frame(LinkType::Raw, &bytes) };
    let packet = decoded(&frame).unwrap();
    assert_eq!((packet.segment, packet.wire_bytes), (segment(), 10));
}

#[test]
fn the_oddities_of_a_packet_add_up() {
    let bytes = changed(|bytes| {
        bytes[6] |= 0x20;
        bytes[2..4].fill(0);
    });
    let packet = decoded(&Frame { bytes: &bytes[..44], ..frame(LinkType::Raw, &bytes) }).unwrap();
    let expected =
        Anomalies::FIRST_FRAGMENT.with(Anomalies::LENGTH_OF_FRAME).with(Anomalies::OPTIONS_CUT);
    assert_eq!(packet.anomalies, expected);
    let named =
        Anomalies::ALL.iter().filter(|(anomaly, _)| packet.anomalies.contains(*anomaly)).count();
    assert_eq!(named, 3);
    assert_eq!(packet.segment.sequence, SequenceNumber::new(0xffff_ff00));
}
