//! Filters: matches, syntax errors, and agreement with tcpdump.

use crate::conversation::{v4, v6};
use crate::frames::{IPV4, TAG, decoded, frame, packet_of, segment};
use fairwind_capture::{Filter, Frame, LinkType};
use fairwind_wire::bytes::Addresses;
use fairwind_wire::{Flags, Segment};

fn filter(text: &str) -> Filter {
    Filter::parse(text).unwrap_or_else(|error| panic!("{error}"))
}

/// Whether the test's segment over these addresses matches, behind an Ethernet header.
fn matches(text: &str, addresses: Addresses, segment: &Segment) -> bool {
    let ethertype =
        if matches!(addresses, Addresses::V4 { .. }) { IPV4 } else { crate::frames::IPV6 };
    let bytes = [&[2; 12][..], &ethertype, &packet_of(addresses, segment)].concat();
    let frame = frame(LinkType::Ethernet, &bytes);
    filter(text).matches(&decoded(&frame).unwrap(), &frame)
}

/// The test's segment goes from 10.0.0.1, port 40000, to 10.0.1.2, port 5000, or from `fd00::1` to
/// `fd00:0:0:1::2`.
#[track_caller]
fn assert_v4(matching: &[&str], others: &[&str]) {
    for text in matching {
        assert!(matches(text, v4(), &segment()), "{text}");
    }
    for text in others {
        assert!(!matches(text, v4(), &segment()), "{text}");
    }
}

#[test]
fn hosts_match_by_side() {
    assert_v4(
        &[
            "host 10.0.0.1",
            "host 10.0.1.2",
            "src 10.0.0.1",
            "src host 10.0.0.1",
            "dst 10.0.1.2",
            "ip host 10.0.0.1",
            "src or dst host 10.0.1.2",
            "dst or src 10.0.1.2",
        ],
        &[
            "host 10.0.0.2",
            "src 10.0.1.2",
            "dst 10.0.0.1",
            "src and dst 10.0.0.1",
            "host fd00::1",
            "ip6 host fd00::1",
            "arp host 10.0.0.1",
        ],
    );
    for text in ["host fd00::1", "dst fd00:0:0:1::2", "ip6 src fd00::1"] {
        assert!(matches(text, v6(), &segment()), "{text}");
    }
    assert!(!matches("dst fd00::1", v6(), &segment()));
}

#[test]
fn networks_match_by_prefix_mask_or_octets() {
    assert_v4(
        &[
            "net 10.0.0.0/8",
            "net 10",
            "net 10.0",
            "src net 10.0.0.0/24",
            "net 10.0.0/24",
            "net 10.0.0.0 mask 255.255.255.0",
            "src and dst net 10.0.0.0/23",
            "net 0/0",
            // Every other address, which no prefix says.
            "dst net 10.0.0.0 mask 255.255.0.1",
        ],
        &[
            "net 10.0.0.0",
            "src and dst net 10.0.0.0/24",
            "net 11",
            "dst net 10.0.0",
            "src net 10.0.0.0 mask 255.255.0.1",
            "net ::/0",
        ],
    );
    assert!(matches("net fd00::/16", v6(), &segment()));
    assert!(matches("src and dst net fd00::/48", v6(), &segment()));
    assert!(!matches("src and dst net fd00::/64", v6(), &segment()));
    assert!(!matches("net 0/0", v6(), &segment()));
}

#[test]
fn ports_match_by_side_and_range() {
    assert_v4(
        &[
            "port 5000",
            "port 40000",
            "dst port 5000",
            "tcp dst port 5000",
            "port 0x1388",
            "port 011610",
            "portrange 4990-5010",
            "dst portrange 5000-5000",
            "portrange 5010-4990",
            "src and dst portrange 5000-40000",
            "portrange 5000",
        ],
        &[
            "port 80",
            "src port 5000",
            "udp port 5000",
            "sctp dst port 5000",
            "portrange 5001-5010",
            "src and dst portrange 5000-39999",
            "src and dst port 5000",
        ],
    );
}

#[test]
fn names_of_protocols_and_their_numbers_match() {
    assert_v4(
        &["tcp", "ip", "ip proto 6", "proto tcp", r"ip proto \tcp", "proto 6", "not udp"],
        &["ip6", "udp", "icmp", "arp", "ip6 proto 6", "proto 17", r"ip proto \udp", "igmp"],
    );
    assert!(matches("ip6 proto 6 and ip6 and tcp and not ip", v6(), &segment()));
}

#[test]
fn and_or_bind_left_to_right() {
    // Otherwise the first would be true, since it would be `tcp or (tcp and udp)`.
    assert_v4(
        &["udp and udp or tcp", "tcp or (tcp and udp)", "not udp and tcp", "! ! tcp", "!(udp)"],
        &["tcp or tcp and udp", "not (udp or tcp)", "not tcp or udp", "!tcp||udp", "tcp&&!tcp"],
    );
}

#[test]
fn missing_keywords_come_from_previous_test() {
    for (short, long) in [
        ("port 80 or 443", "port 80 or port 443"),
        ("dst port (80 or 443)", "dst port 80 or dst port 443"),
        ("src host 10.0.0.9 or 10.0.0.1", "src host 10.0.0.9 or src host 10.0.0.1"),
        ("not host 10.0.0.9 and 10.0.0.8", "not host 10.0.0.9 and host 10.0.0.8"),
        (
            "net 192.168/16 or 10/8 or fd00::/8",
            "net 192.168.0.0/16 or net 10.0.0.0/8 or net fd00::/8",
        ),
        ("tcp dst portrange 5-9 or 20-30", "tcp dst portrange 5-9 or tcp dst portrange 20-30"),
        ("port 80 or not 443", "port 80 or not port 443"),
        ("port not 80", "not port 80"),
        ("port 80 or (443 and 90)", "port 80 or (port 443 and port 90)"),
        ("port 80 or (443)", "port 80 or port 443"),
        ("port 80 or 5 > 3", "port 80 or 5 > 3"),
        ("port 80||443||8080&&5&4>3", "port 80 or port 443 or port 8080 and (5 & 4) > 3"),
        ("port 80 or len > 3 or 90", "port 80 or len > 3 or port 90"),
        ("net 10/8 or (5 / 2) > 3", "net 10.0.0.0/8 or (5 / 2) > 3"),
    ] {
        let printed = filter(short).to_string();
        assert_eq!(filter(short), filter(long), "{short}: {printed}");
    }
}

#[test]
fn lengths_and_bytes_of_the_packet_compare() {
    // 14 + 20 + 32 + 300 bytes; the header's flags are PSH and ACK.
    assert_v4(
        &[
            "len = 366",
            "len == 366",
            "less 366",
            "greater 366",
            "len != 365",
            "len-6=360",
            "ip[2:2] = 352",
            "ip[8] = 61",
            "tcp[13] = 0x18",
            "tcp[tcpflags] & tcp-push != 0",
            "tcp[tcpflags] & (tcp-syn|tcp-fin) == 0",
            "tcp[4:4] = 0xffffff00",
            "ip[16:4] = 0x0a000102",
            "ether[12:2] = 0x800",
            "(tcp[12] >> 4) * 4 = 32",
            "ip[2:2] - ((ip[0]&0xf)<<2) = 332",
            "tcp[tcp[12] >> 4:1] >= 0",
            "1 + 2 * 3 = 7",
            "2 * 3 + 1 = 7",
            "10 - 4 - 3 = 3",
            "-1 = 0xffffffff",
            "(3) > 2",
            "not (3) > 4",
            "1 << len = 0",
            "7 % 4 = 3",
            "6 ^ 3 = 5",
            "1 | 2 & 2 = 2",
            "link[0] = 2",
            "2 > 1 and tcp",
        ],
        &[
            "len > 366",
            "less 365",
            "greater 367",
            "tcp[13] & 2 != 0",
            "ip6[0] >= 0",
            "udp[0] >= 0",
            "icmp[icmptype] = 0",
            "tcp[13] = 24 and tcp[13] = 25",
        ],
    );
    assert!(matches("ip6[7] = 61 and tcp[13] = 0x18", v6(), &segment()));
    let syn = Segment { flags: Flags::SYN, ..segment() };
    assert!(matches("tcp[tcpflags] & (tcp-syn|tcp-fin) != 0", v4(), &syn));
}

#[test]
fn missing_byte_or_division_by_zero_rejects() {
    assert_v4(
        &["tcp or tcp[2000] = 0", "not udp[2000] = 0", "not ip6[2000] = 0"],
        &[
            "tcp[2000] = 0",
            "not tcp[2000] = 0",
            "tcp[2000] = 0 or tcp",
            "ip[0xffffffff] = 0",
            "tcp[2000 - 1999:4] = 1 or ip[349:4] >= 0",
            "not 1 / (len - 366) = 0",
            "len % (len-len) = 0 or tcp",
        ],
    );
}

#[test]
fn tags_match_wherever_they_stand() {
    let packet = packet_of(v4(), &segment());
    let two = [&[2; 12][..], &[0x88, 0xa8, 0xe0, 0x64], &TAG, &IPV4, &packet].concat();
    let none = [&[2; 12][..], &IPV4, &packet].concat();
    let is_met = |text: &str, bytes: &[u8]| {
        let frame = frame(LinkType::Ethernet, bytes);
        filter(text).matches(&decoded(&frame).unwrap(), &frame)
    };
    for text in
        ["vlan", "vlan 5", "vlan 100", "vlan 5 and vlan 100", "vlan 7 or vlan 5", "not vlan 7"]
    {
        assert!(is_met(text, &two), "{text}");
    }
    assert!(is_met("vlan 5 and port 5000 and tcp[13] = 0x18", &two));
    assert!(!is_met("vlan 6", &two) && !is_met("vlan", &none) && is_met("not vlan", &none));
    let cooked = [&[0; 14][..], &TAG, &IPV4, &packet].concat();
    let cooked = frame(LinkType::LinuxCooked, &cooked);
    assert!(filter("vlan 5").matches(&decoded(&cooked).unwrap(), &cooked));
}

#[test]
fn only_endpoint_filters_match_endpoints() {
    for text in ["", "host 10.0.0.1 and not port 80", "tcp", "ip6 or proto 6", "1 = 1"] {
        let filter = filter(text);
        assert!(filter.is_connection_filter(), "{text}");
        assert!(filter.matches_endpoints(&v4(), 40_000, 5000), "{text}");
    }
    for text in
        ["vlan", "len > 0", "tcp[13] >= 0", "not tcp[13] = 0", "tcp and (host 10.0.0.1 and less 5)"]
    {
        let filter = filter(text);
        assert!(!filter.is_connection_filter(), "{text}");
        assert!(!filter.matches_endpoints(&v4(), 40_000, 5000), "{text}");
    }
}

#[test]
fn invalid_filter_names_position_and_expectation() {
    for (text, character, problem) in [
        ("prot 80", 1, "`prot` is not a word of pcap-filter; did you mean `proto`?"),
        ("tcp AND port 80", 5, "`AND`, where `and`, `or` or the end is expected"),
        ("tcp and Port 80", 9, "`Port` is not a word of pcap-filter; did you mean `port`?"),
        ("xyzzy", 1, "`xyzzy` is not a word of pcap-filter"),
        ("tcp port", 9, "the end, where a port is expected"),
        ("tcp and", 8, "the end, where a test such as `port 80` is expected"),
        ("(tcp", 5, "the end, where `and`, `or` or `)` is expected"),
        ("tcp)", 4, "`)`, where `and`, `or` or the end is expected"),
        ("port (80 or 443", 16, "the end, where `and`, `or` or `)` is expected"),
        (
            "10.0.0.1",
            1,
            "`10.0.0.1`, where a keyword such as `host`, `net` or `port` before it is expected",
        ),
        (
            "tcp or 80",
            8,
            "`80`, where a keyword such as `host`, `net` or `port` before it is expected",
        ),
        ("len", 4, "the end, where a comparison such as `=` is expected"),
        ("tcp and len", 12, "the end, where a comparison such as `=` is expected"),
        (
            "len = ",
            7,
            "the end, where a number, `len`, or bytes of the packet such as `tcp[13]` is expected",
        ),
        ("tcp[13 = 2", 8, "`=`, where `:` and a size, or `]` is expected"),
        ("tcp[0:3] = 2", 7, "`3`, where 1, 2 or 4 bytes is expected"),
        ("len / 0 = 1", 7, "a division by zero"),
        ("len >> 32 = 1", 8, "a shift of 32 is more than 31"),
        (
            "host example.org",
            6,
            "`example.org` is no address; names are not resolved, so write 10.0.0.1 or fd00::1",
        ),
        (
            "host 10.1",
            6,
            "`10.1` is no address; names are not resolved, so write 10.0.0.1 or fd00::1",
        ),
        ("port http", 6, "`http` is no port number; names are not resolved, so write 80"),
        (
            "port 80-90",
            6,
            "`80-90` is no port number; names are not resolved, so write `portrange 5000-5009`",
        ),
        ("port 65536", 6, "a port of 65536 is more than 65535"),
        ("vlan 4096", 6, "a VLAN of 4096 is more than 4095"),
        ("less 4294967296", 6, "a length of 4294967296 is more than 4294967295"),
        ("net 10.0.0.0/33", 14, "an IPv4 prefix length of 33 is more than 32"),
        (
            "net 10.0.0.1/8",
            5,
            "the address of network 10.0.0.1 with mask 255.0.0.0 has bits beyond its mask; the network's address is 10.0.0.0",
        ),
        (
            "net fd00::1/8",
            5,
            "the address of network fd00::1/8 has bits beyond its mask; the network's address is fd00::",
        ),
        ("tcp host 10.0.0.1", 1, "`tcp` cannot be combined with `host`; join the two with `and`"),
        ("ip port 80", 1, "`ip` cannot be combined with `port`; join the two with `and`"),
        ("src proto 6", 1, "`src` cannot be combined with `proto`; a packet has one protocol"),
        ("ip host fd00::1", 9, "`ip` cannot be combined with an IPv6 address; write `ip6`"),
        ("ip6 net 10/8", 9, "`ip6` cannot be combined with an IPv4 address; write `ip`"),
        (
            "ether host 2:0:0:0:0:1",
            1,
            "`ether` is not supported, because it cannot distinguish TCP packets",
        ),
        (
            "tcp and gateway 10.0.0.1",
            9,
            "`gateway` is not supported, because it cannot distinguish TCP packets",
        ),
        ("proto quic", 7, "`quic` is no protocol over IP; names are not resolved, so write 6"),
    ] {
        let error = Filter::parse(text).unwrap_err();
        assert_eq!((error.character, error.problem.to_string().as_str()), (character, problem));
        let expected = format!("filter `{text}`, character {character}: {problem}");
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn filters_without_measure_are_refused() {
    let deep = format!("{}tcp{}", "(".repeat(101), ")".repeat(101));
    assert!(Filter::parse(&deep[1..deep.len() - 1]).is_ok());
    for (text, problem) in [
        (deep, "parentheses are nested more than 100 deep"),
        ("not ".repeat(200) + "tcp", "parentheses are nested more than 100 deep"),
        (
            format!("len{} = 0", " + 1".repeat(1001)),
            "the filter has more than 1000 operators between numbers",
        ),
        (
            format!("len = {}1", "-".repeat(1001)),
            "the filter has more than 1000 operators between numbers",
        ),
        ("tcp or ".repeat(10_000), "the filter has 70000 bytes, which is more than 65536"),
    ] {
        assert_eq!(Filter::parse(&text).unwrap_err().problem.to_string(), problem);
    }
    let hosts: Vec<_> = (0..4000).map(|one| format!("10.1.{}.{}", one / 256, one % 256)).collect();
    let many = filter(&format!("host {}", hosts.join(" or ")));
    let last = Addresses::V4 { source: [10, 1, 15, 159].into(), destination: [1; 4].into() };
    assert!(many.matches_endpoints(&last, 1, 2) && !many.matches_endpoints(&v4(), 1, 2));
}

#[test]
fn byte_tests_work_on_cut_frames() {
    let bytes = packet_of(v4(), &segment());
    let cut = Frame { bytes: &bytes[..60], ..frame(LinkType::Raw, &bytes) };
    let packet = decoded(&cut).unwrap();
    assert!(filter("tcp[36:4] >= 0").matches(&packet, &cut));
    assert!(!filter("tcp[37:4] >= 0 or tcp").matches(&packet, &cut));
    // No frame of Ethernet, so its header has no bytes.
    assert!(filter("not ether[0] >= 0").matches(&packet, &cut));
}
