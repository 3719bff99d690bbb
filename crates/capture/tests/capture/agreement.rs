//! Agreement with other readers of the same frames: our own of whole packets, etherparse, tshark.

use crate::conversation::{v4, v6};
use crate::foreign_reader::fields;
use crate::frames::{carriers, decoded, frame, packet_of, pcap_file, segment};
use crate::headers::{any_addresses, any_segment};
use etherparse::{
    IpAuthHeader, IpHeaders, IpNumber, Ipv4Extensions, Ipv4Header, Ipv4Options, Ipv6Extensions,
    Ipv6Header, Ipv6RawExtHeader, LinkExtSlice, NetSlice, PacketBuilder, SlicedPacket, TcpHeader,
    TcpOptionElement, TransportSlice, VlanId,
};
use fairwind_capture::{Anomalies, Frame, LinkType, Packet, SkipReason};
use fairwind_wire::bytes::{Addresses, ParseError, parse};
use fairwind_wire::{
    Flags, Options, SackBlock, SackBlocks, Segment, SequenceNumber, Timestamps, TrafficClass,
};
use proptest::prelude::*;

/// Whether what was decoded is what the reader of whole packets says, or differs for a reason.
fn agrees(theirs: Result<Segment, ParseError>, ours: Result<Packet, SkipReason>) -> bool {
    match (theirs, ours) {
        (Ok(theirs), Ok(ours)) => {
            let beyond = ours.anomalies.contains(Anomalies::LENGTH_BEYOND_FRAME);
            let payload_bytes =
                if beyond { ours.segment.payload_bytes } else { theirs.payload_bytes };
            ours.segment == Segment { payload_bytes, ..theirs }
                && payload_bytes <= theirs.payload_bytes
        }
        (Err(ParseError::Fragment), Ok(ours)) => ours.anomalies.contains(Anomalies::FIRST_FRAGMENT),
        (Err(ParseError::OptionLength { .. }), Ok(ours)) => {
            ours.anomalies.contains(Anomalies::OPTIONS_MALFORMED)
                && ours.segment.options == Options::NONE
        }
        (Err(ParseError::Truncated { .. }), Ok(ours)) => {
            ours.anomalies.contains(Anomalies::OPTIONS_CUT)
        }
        (Err(_), Err(_)) => true,
        (Ok(_), Err(_)) | (Err(_), Ok(_)) => false,
    }
}

proptest! {
    #[test]
    fn whole_packets_decode_equally_on_every_link(
        addresses in any_addresses(),
        segment in any_segment(),
        carrier in any::<prop::sample::Index>(),
        padding in 0_usize..20,
    ) {
        let carriers = carriers();
        let carrier = carrier.get(&carriers);
        let packet = packet_of(addresses, &segment);
        let before = &carrier.before[usize::from(matches!(addresses, Addresses::V6 { .. }))];
        let bytes = [&before[..], &packet, &vec![0xee; padding]].concat();
        let ours = decoded(&frame(carrier.link, &bytes)).unwrap();
        let theirs = parse(&packet).unwrap();
        prop_assert_eq!(ours.segment, theirs.segment);
        prop_assert_eq!(ours.segment, segment);
        prop_assert_eq!(ours.addresses, addresses);
        prop_assert_eq!((ours.hop_limit, ours.anomalies), (61, Anomalies::NONE));
        prop_assert_eq!(usize::from(ours.ip_at), before.len());
    }

    #[test]
    fn damaged_packets_decode_equally_or_with_reason(
        addresses in any_addresses(),
        segment in any_segment(),
        changes in proptest::collection::vec(any::<(prop::sample::Index, u8)>(), 1..4),
        in_headers in any::<bool>(),
        cut in 0_usize..200,
    ) {
        let segment = Segment { payload_bytes: segment.payload_bytes % 64, ..segment };
        let mut packet = packet_of(addresses, &segment);
        packet.truncate(packet.len().min(cut).max(1));
        for (place, value) in changes {
            let most = if in_headers { packet.len().min(12) } else { packet.len() };
            packet[place.index(most)] = value;
        }
        let theirs = parse(&packet).map(|parsed| parsed.segment);
        let ours = decoded(&frame(LinkType::Raw, &packet));
        prop_assert!(agrees(theirs, ours), "{theirs:?}\n{ours:?}\n{packet:x?}");
    }

    #[test]
    fn arbitrary_bytes_decode_without_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        link in 0_usize..7,
        original_bytes in any::<u32>(),
    ) {
        use LinkType::{Ethernet, LinuxCooked, LinuxCooked2, Loop, Null, Other, Raw};
        let links = [Null, Ethernet, Raw, Loop, LinuxCooked, LinuxCooked2, Other(9)];
        let frame = Frame { original_bytes, ..frame(links[link], &bytes) };
        if let Ok(packet) = decoded(&frame) {
            prop_assert!(usize::from(packet.tcp_at) + 20 <= bytes.len());
        }
    }

    #[test]
    fn etherparse_agrees_on_tags_and_extension_headers(
        carrier in 0_u8..4,
        tags in (0_u16..4096, 0_u16..4096),
        ip in any_foreign_ip(),
        tcp in any_foreign_tcp(),
        payload in proptest::collection::vec(any::<u8>(), 0..100),
        padding in 0_usize..20,
    ) {
        let (link, mut bytes) = foreign_frame(carrier, tags, ip, tcp, &payload);
        bytes.resize(bytes.len() + padding, 0xdd);
        let ours = decoded(&frame(link, &bytes)).unwrap();
        let sliced = match link {
            LinkType::Ethernet => SlicedPacket::from_ethernet(&bytes),
            _ => SlicedPacket::from_linux_sll(&bytes),
        }
        .unwrap();
        let expected_tags = sliced.link_exts.iter().filter(|one| matches!(one, LinkExtSlice::Vlan(_)));
        prop_assert_eq!(expected_tags.count(), usize::from(if carrier < 3 { carrier } else { 0 }));
        let Some(TransportSlice::Tcp(tcp)) = &sliced.transport else { panic!("no TCP: {sliced:?}") };
        let flags = u16::from(tcp.slice()[12] & 1) << 8 | u16::from(tcp.slice()[13]);
        let (addresses, identification, hop_limit, class) = foreign_network(&sliced);
        let segment = Segment {
            source_port: tcp.source_port(),
            destination_port: tcp.destination_port(),
            sequence: SequenceNumber::new(tcp.sequence_number()),
            acknowledgment: SequenceNumber::new(tcp.acknowledgment_number()),
            flags: Flags::from_bits(flags),
            window: tcp.window_size(),
            urgent: tcp.urgent_pointer(),
            traffic_class: TrafficClass::new(class),
            payload_bytes: u32::try_from(tcp.payload().len()).unwrap(),
            options: foreign_options(tcp.options_iterator()),
        };
        prop_assert_eq!(ours.segment, segment);
        prop_assert_eq!((ours.addresses, ours.identification), (addresses, identification));
        prop_assert_eq!((ours.hop_limit, ours.anomalies), (hop_limit, Anomalies::NONE));
    }
}

/// An IPv4 header with options, or an IPv6 header with extension headers, both perhaps with authentication.
fn any_foreign_ip() -> impl Strategy<Value = IpHeaders> {
    let words = 0_usize..=10;
    let v4 = (any::<([u8; 4], [u8; 4], u8, u16, u8)>(), words, any::<Option<[u8; 8]>>()).prop_map(
        |((source, destination, hop_limit, identification, class), words, auth)| {
            let mut header =
                Ipv4Header::new(0, hop_limit, IpNumber::TCP, source, destination).unwrap();
            header.identification = identification;
            header.dscp = (class >> 2).try_into().unwrap();
            header.ecn = (class & 3).try_into().unwrap();
            header.options = Ipv4Options::try_from(&vec![1; words * 4][..]).unwrap();
            let auth = auth.map(|icv| IpAuthHeader::new(IpNumber::TCP, 7, 9, &icv).unwrap());
            IpHeaders::Ipv4(header, Ipv4Extensions { auth })
        },
    );
    let v6 = (any::<([u8; 16], [u8; 16], u8, u8)>(), any::<[bool; 3]>(), 0_usize..3).prop_map(
        |((source, destination, hop_limit, traffic_class), present, more)| {
            let header = Ipv6Header {
                traffic_class,
                hop_limit,
                source,
                destination,
                ..Ipv6Header::default()
            };
            // Padding options, as long as they are.
            let raw = |present: bool| {
                let length = 6 + more * 8;
                let mut payload = vec![0; length];
                payload[..2].copy_from_slice(&[1, u8::try_from(length - 2).unwrap()]);
                present.then(|| Ipv6RawExtHeader::new_raw(IpNumber::TCP, &payload).unwrap())
            };
            let [hop_by_hop, destination_options, auth] = present;
            let extensions = Ipv6Extensions {
                hop_by_hop_options: raw(hop_by_hop),
                destination_options: raw(destination_options),
                auth: auth.then(|| IpAuthHeader::new(IpNumber::TCP, 7, 9, &[3; 12]).unwrap()),
                ..Ipv6Extensions::default()
            };
            IpHeaders::Ipv6(header, extensions)
        },
    );
    prop_oneof![v4, v6]
}

/// A TCP header with options in any order.
fn any_foreign_tcp() -> impl Strategy<Value = TcpHeader> {
    use TcpOptionElement::{
        MaximumSegmentSize, Noop, SelectiveAcknowledgement, SelectiveAcknowledgementPermitted,
        Timestamp, WindowScale,
    };
    let element = prop_oneof![
        Just(Noop),
        any::<u16>().prop_map(MaximumSegmentSize),
        any::<u8>().prop_map(WindowScale),
        Just(SelectiveAcknowledgementPermitted),
        any::<(u32, u32)>().prop_map(|(value, echo)| Timestamp(value, echo)),
    ];
    let sack = any::<[(u32, u32); 4]>().prop_flat_map(|[first, others @ ..]| {
        (0_usize..=3).prop_map(move |count| {
            let mut more = [None; 3];
            for (place, other) in more.iter_mut().zip(others).take(count) {
                *place = Some(other);
            }
            SelectiveAcknowledgement(first, more)
        })
    });
    let elements = (proptest::collection::vec(element, 0..5), proptest::option::of(sack));
    (any::<(u16, u16, u32, u32, u16, u16)>(), any::<u16>(), elements).prop_map(
        |(
            (source, destination, sequence, acknowledgment, window, urgent),
            flags,
            (mut all, sack),
        )| {
            let mut header = TcpHeader::new(source, destination, sequence, window);
            header.acknowledgment_number = acknowledgment;
            header.urgent_pointer = urgent;
            let is_set = |bit: u16| flags & bit != 0;
            (header.fin, header.syn, header.rst) = (is_set(1), is_set(2), is_set(4));
            (header.psh, header.ack, header.urg) = (is_set(8), is_set(16), is_set(32));
            (header.ece, header.cwr, header.ns) = (is_set(64), is_set(128), is_set(256));
            all.extend(sack);
            while header.set_options(&all).is_err() {
                all.pop();
            }
            header
        },
    )
}

/// A frame as etherparse writes it: with no, one or two tags, or cooked.
fn foreign_frame(
    carrier: u8,
    (outer, inner): (u16, u16),
    ip: IpHeaders,
    tcp: TcpHeader,
    payload: &[u8],
) -> (LinkType, Vec<u8>) {
    let (outer, inner) = (VlanId::try_new(outer).unwrap(), VlanId::try_new(inner).unwrap());
    let ethernet = PacketBuilder::ethernet2([2; 6], [4; 6]);
    let (link, step) = match carrier {
        0 => (LinkType::Ethernet, ethernet.ip(ip)),
        1 => (LinkType::Ethernet, ethernet.single_vlan(outer).ip(ip)),
        2 => (LinkType::Ethernet, ethernet.double_vlan(outer, inner).ip(ip)),
        _ => {
            let outgoing = etherparse::LinuxSllPacketType::OUTGOING;
            let cooked = PacketBuilder::linux_sll(outgoing, 6, [2, 0, 0, 0, 0, 1, 0, 0]);
            (LinkType::LinuxCooked, cooked.ip(ip))
        }
    };
    let mut bytes = Vec::new();
    step.tcp_header(tcp).write(&mut bytes, payload).unwrap();
    (link, bytes)
}

fn foreign_network(sliced: &SlicedPacket<'_>) -> (Addresses, Option<u16>, u8, u8) {
    match sliced.net.as_ref().unwrap() {
        NetSlice::Ipv4(net) => {
            let header = net.header();
            let class = header.dcp().value() << 2 | header.ecn().value();
            let (source, destination) = (header.source_addr(), header.destination_addr());
            let addresses = Addresses::V4 { source, destination };
            (addresses, Some(header.identification()), header.ttl(), class)
        }
        NetSlice::Ipv6(net) => {
            let header = net.header();
            let (source, destination) = (header.source_addr(), header.destination_addr());
            let addresses = Addresses::V6 { source, destination };
            (addresses, None, header.hop_limit(), header.traffic_class())
        }
        NetSlice::Arp(arp) => panic!("{arp:?} is no IP"),
    }
}

/// Options as etherparse found them.
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
                options.sack = blocks.map(block).collect::<SackBlocks>();
            }
            TcpOptionElement::Timestamp(value, echo) => {
                options.timestamps = Some(Timestamps { value, echo });
            }
        }
    }
    options
}

/// Packets of many kinds, as raw IP, with how many bytes of each are kept.
fn varieties() -> Vec<(Vec<u8>, usize)> {
    let all = usize::MAX;
    let options = Options {
        mss: Some(1460),
        window_scale: Some(7),
        sack_permitted: true,
        ..segment().options
    };
    let syn = Segment { flags: Flags::SYN, payload_bytes: 0, options, ..segment() };
    let blocks = [(1000, 2000), (5000, 6000), (0xffff_fff0, 16)];
    let block = |(left, right)| SackBlock {
        left: SequenceNumber::new(left),
        right: SequenceNumber::new(right),
    };
    let sack = blocks.into_iter().map(block).collect();
    let sacked = Segment {
        payload_bytes: 0,
        options: Options { sack, ..segment().options },
        flags: Flags::ACK | Flags::ECE | Flags::AE,
        ..segment()
    };
    let bare = Segment { payload_bytes: 0, options: Options::NONE, ..segment() };
    let mut all_kinds = Vec::new();
    for addresses in [v4(), v6()] {
        for kind in [segment(), syn, sacked, bare] {
            all_kinds.push((packet_of(addresses, &kind), all));
        }
        all_kinds.push((packet_of(addresses, &segment()), 80));
    }
    // IPv4 options; a first fragment; a length of zero; of IPv6, destination options and authentication.
    let change = |bytes: Vec<u8>, change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = bytes;
        change(&mut bytes);
        (bytes, all)
    };
    let of_v4 = || packet_of(v4(), &segment());
    all_kinds.push(change(of_v4(), &|bytes| {
        bytes[0] = 0x46;
        bytes[2..4].copy_from_slice(&(24 + 32 + 300_u16).to_be_bytes());
        bytes.splice(20..20, [1, 1, 1, 0]);
    }));
    all_kinds.push(change(of_v4(), &|bytes| bytes[6] |= 0x20));
    all_kinds.push(change(of_v4(), &|bytes| bytes[2..4].fill(0)));
    all_kinds.push(change(packet_of(v6(), &segment()), &|bytes| {
        bytes[6] = 60;
        bytes[4..6].copy_from_slice(&(32 + 32 + 300_u16).to_be_bytes());
        bytes.splice(
            40..40,
            [51, 0, 1, 4, 0, 0, 0, 0]
                .into_iter()
                .chain([6, 4, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9]),
        );
    }));
    all_kinds
}

/// A packet as tshark's fields say it.
fn as_fields(packet: &Packet) -> String {
    let segment = &packet.segment;
    let (four, six) = match packet.addresses {
        Addresses::V4 { source, destination } => {
            (format!("{source} {destination}"), "- -".to_owned())
        }
        Addresses::V6 { source, destination } => {
            ("- -".to_owned(), format!("{source} {destination}"))
        }
    };
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let edges = |edge: fn(&SackBlock) -> u32| {
        let blocks = segment.options.sack.as_slice().iter();
        let listed: Vec<_> = blocks.map(|block| edge(block).to_string()).collect();
        or_none((!listed.is_empty()).then(|| listed.join(",")))
    };
    let text = [
        packet.wire_bytes.to_string(),
        four,
        six,
        or_none(packet.identification.map(|id| format!("0x{id:04x}"))),
        segment.source_port.to_string(),
        segment.destination_port.to_string(),
        segment.sequence.to_string(),
        segment.acknowledgment.to_string(),
        format!("0x{:04x}", segment.flags.bits()),
        segment.window.to_string(),
        segment.urgent.to_string(),
        // It does not say what it would have to put together first.
        or_none(
            (!packet.anomalies.contains(Anomalies::FIRST_FRAGMENT))
                .then(|| segment.payload_bytes.to_string()),
        ),
        or_none(segment.options.mss.map(|mss| mss.to_string())),
        or_none(segment.options.window_scale.map(|shift| shift.to_string())),
        or_none(segment.options.timestamps.map(|stamps| stamps.value.to_string())),
        or_none(segment.options.timestamps.map(|stamps| stamps.echo.to_string())),
        edges(|block| block.left.get()),
        edges(|block| block.right.get()),
    ];
    text.join(" ")
}

const FIELDS: [&str; 20] = [
    "frame.len",
    "ip.src",
    "ip.dst",
    "ipv6.src",
    "ipv6.dst",
    "ip.id",
    "tcp.srcport",
    "tcp.dstport",
    "tcp.seq_raw",
    "tcp.ack_raw",
    "tcp.flags",
    "tcp.window_size_value",
    "tcp.urgent_pointer",
    "tcp.len",
    "tcp.options.mss_val",
    "tcp.options.wscale.shift",
    "tcp.options.timestamp.tsval",
    "tcp.options.timestamp.tsecr",
    "tcp.options.sack_le",
    "tcp.options.sack_re",
];

#[test]
fn tshark_agrees_on_every_packet_and_link() {
    for (number, carrier) in carriers().into_iter().enumerate() {
        let frames: Vec<_> = varieties()
            .into_iter()
            // The length of PPP would have to be that of each packet.
            .filter(|_| carrier.name != "PPP over Ethernet")
            .map(|(packet, kept)| {
                let is_v6 = packet[0] >> 4 == 6;
                let whole = [&carrier.before[usize::from(is_v6)][..], &packet].concat();
                let kept = kept.saturating_add(carrier.before[0].len()).min(whole.len());
                (whole, kept)
            })
            .collect();
        let file = pcap_file(&format!("carrier-{number}.pcap"), carrier.link, &frames);
        let Some(rows) = fields(&file, &FIELDS) else { return };
        let ours: Vec<_> = frames
            .iter()
            .map(|(whole, kept)| {
                let cut = Frame { bytes: &whole[..*kept], ..frame(carrier.link, whole) };
                as_fields(&decoded(&cut).unwrap())
            })
            .collect();
        for (ours, theirs) in ours.iter().zip(&rows) {
            assert_eq!(ours, theirs, "{}", carrier.name);
        }
        assert_eq!(ours.len(), rows.len(), "{}", carrier.name);
    }
}
