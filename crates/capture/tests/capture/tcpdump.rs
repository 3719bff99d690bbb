//! Agreement of filters with tcpdump; and filters that are printed and read again.

use crate::conversation::{v4, v6};
use crate::frames::{IPV4, IPV6, TAG, decoded, frame, packet_of, pcap_file, segment};
use fairwind_capture::{Filter, Frame, LinkType};
use fairwind_wire::bytes::Addresses;
use fairwind_wire::{Flags, Options, Segment};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::path::Path;
use std::process::Command;

/// Frames with the bytes that are kept of each.
type Frames = Vec<(Vec<u8>, usize)>;

/// TCP of both versions between some hosts and ports, with and without IPv4 options, some of it cut, and
/// other protocols; behind Ethernet headers that end in `tags` before their type.
fn traffic(tags: &[u8]) -> Frames {
    let other_v4 =
        Addresses::V4 { source: [10, 1, 2, 3].into(), destination: [192, 168, 1, 80].into() };
    let mut frames = Frames::new();
    let before = |is_v6: bool| [&[2; 12][..], tags, if is_v6 { &IPV6 } else { &IPV4 }].concat();
    for addresses in [v4(), v4().reversed(), other_v4, v6(), v6().reversed()] {
        let is_v6 = matches!(addresses, Addresses::V6 { .. });
        for (source_port, destination_port) in
            [(40_000, 80), (80, 40_000), (443, 443), (5000, 5009)]
        {
            for (flags, payload_bytes) in [
                (Flags::SYN, 0),
                (Flags::ACK | Flags::PSH, 100),
                (Flags::ACK | Flags::FIN, 7),
                (Flags::RST | Flags::CWR, 0),
            ] {
                let options = if flags == Flags::SYN { Options::NONE } else { segment().options };
                let one = Segment {
                    source_port,
                    destination_port,
                    flags,
                    payload_bytes,
                    options,
                    ..segment()
                };
                let mut packet = packet_of(addresses, &one);
                if !is_v6 && source_port == 5000 {
                    packet[0] = 0x46;
                    let length = u16::from_be_bytes([packet[2], packet[3]]) + 4;
                    packet[2..4].copy_from_slice(&length.to_be_bytes());
                    packet.splice(20..20, [1, 1, 1, 0]);
                }
                let bytes = [before(is_v6), packet].concat();
                let kept = if source_port == 443 { bytes.len().min(96) } else { bytes.len() };
                frames.push((bytes, kept));
            }
        }
    }
    let mut udp = packet_of(v4(), &segment());
    udp[9] = 17;
    let mut icmp = packet_of(v6(), &segment());
    icmp[6] = 58;
    for bytes in [[before(false), udp].concat(), [before(true), icmp].concat(), vec![8; 60]] {
        let kept = bytes.len();
        frames.push((bytes, kept));
    }
    frames
}

/// The numbers of the TCP frames that tcpdump lets pass; nothing where it is not installed.
fn passed_by_tcpdump(file: &Path, filter: &str) -> Option<Vec<usize>> {
    let arguments = ["-n", "-w", "-", "-r"];
    let output = match Command::new("tcpdump").args(arguments).arg(file).arg(filter).output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("skipped: tcpdump is not installed (Debian: apt-get install tcpdump)");
            return None;
        }
        other => other.unwrap(),
    };
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("expression rejects all packets") {
        return Some(Vec::new());
    }
    assert!(output.status.success(), "tcpdump refuses `{filter}`: {said}");
    // The time of each frame is its number, in microseconds.
    let mut numbers = Vec::new();
    let mut rest = output.stdout.get(24..).unwrap_or_default();
    while let Some((header, behind)) = rest.split_first_chunk::<16>() {
        let field = |at: usize| {
            let four = header[at..at + 4].try_into().unwrap();
            usize::try_from(u32::from_le_bytes(four)).unwrap()
        };
        numbers.push(field(4));
        rest = &behind[field(8)..];
    }
    Some(numbers)
}

/// The numbers of the frames with TCP packets that match.
fn matching(frames: &Frames, filter: &str) -> Vec<usize> {
    let parsed = Filter::parse(filter).unwrap_or_else(|error| panic!("{error}"));
    let is_match = |(bytes, kept): &(Vec<u8>, usize)| {
        let frame = Frame { bytes: &bytes[..*kept], ..frame(LinkType::Ethernet, bytes) };
        decoded(&frame).is_ok_and(|packet| parsed.matches(&packet, &frame))
    };
    let numbered = frames.iter().enumerate();
    numbered.filter(|(_, frame)| is_match(frame)).map(|(number, _)| number).collect()
}

/// Asks both for TCP packets that match; `false` where tcpdump is not installed.
fn agree(file: &Path, frames: &Frames, filter: &str) -> bool {
    let Some(theirs) = passed_by_tcpdump(file, &format!("tcp and ({filter})")) else {
        return false;
    };
    assert_eq!(matching(frames, filter), theirs, "`{filter}`");
    true
}

const FILTERS: [&str; 57] = [
    "host 10.0.0.1",
    "src host 10.0.0.1",
    "dst 10.0.1.2",
    "src or dst host 10.1.2.3",
    "src and dst host 10.0.0.1",
    "ip host 10.0.0.1",
    "host fd00::1",
    "ip6 src host fd00::1",
    "dst host fd00:0:0:1::2",
    "net 10",
    "net 10.0/16",
    "net 10.0.0.0/23",
    "src net 192.168/16",
    "net 10.0.0.0 mask 255.255.0.0",
    "dst net 10.0.1",
    "net fd00::/64",
    "src and dst net 10.0.0.0/23",
    "port 80",
    "src port 80",
    "dst port 80",
    "tcp port 443",
    "src and dst port 443",
    "udp port 80",
    "portrange 5000-5005",
    "dst portrange 5001-5010",
    "tcp src portrange 1-1023",
    "port 0x1bb",
    "portrange 5005-5000",
    "port 80 or 443",
    "dst port (80 or 443)",
    "port 80 or not 443",
    "not host 10.0.0.1 and 10.0.1.2",
    "host not 10.0.0.1",
    "host 10.0.0.1 or 10.1.2.3 and port 80",
    "port 80 and host 10.0.0.1 or host 10.1.2.3 and port 443",
    "ip",
    "ip6",
    "tcp",
    "udp",
    "not udp",
    "ip proto 6",
    "proto 6",
    "ip6 proto 6",
    r"ip proto \tcp",
    "less 100",
    "greater 100",
    "len = 60",
    "len >= 80 and len < 90",
    "tcp[tcpflags] & (tcp-syn|tcp-fin) != 0 and ip",
    "tcp[13] = 2 and ip",
    "ip and tcp[tcpflags] & tcp-push != 0",
    "ip[2:2] > 60",
    "ip[8] < 64 && ip6",
    "ip6[7] = 61",
    "ip and tcp[0:2] = 80",
    "ip and (tcp[12] & 0xf0) >> 2 > 20",
    "ether[12:2] = 0x86dd",
];

/// Some packets do not have these bytes.
const BEYOND: [&str; 3] =
    ["ip and not tcp[60] = 0", "ip[40:4] > 0x10000", "ip and tcp[50 + 46:4] >= 0"];

#[test]
fn tcpdump_lets_the_same_packets_pass() {
    let frames = traffic(&[]);
    let file = pcap_file("traffic.pcap", LinkType::Ethernet, &frames);
    for filter in FILTERS.iter().chain(&BEYOND) {
        if !agree(&file, &frames, filter) {
            return;
        }
    }
    // The frames are such that filters differ.
    let counts: std::collections::BTreeSet<_> =
        FILTERS.iter().map(|filter| matching(&frames, filter).len()).collect();
    assert!(counts.len() > 10, "{counts:?}");
}

#[test]
fn tcpdump_finds_the_same_tags() {
    let frames = [traffic(&[]), traffic(&TAG), traffic(&[0x81, 0, 0, 9])].concat();
    let file = pcap_file("tagged.pcap", LinkType::Ethernet, &frames);
    for (theirs, ours) in [
        ("vlan and tcp", "vlan"),
        ("vlan 5 and tcp", "vlan 5"),
        ("vlan 9 and tcp port 80", "vlan 9 and port 80"),
        ("vlan 6 and tcp", "vlan 6"),
        ("vlan and ip and tcp[13] = 2", "vlan and ip and tcp[13] = 2"),
    ] {
        let Some(passed) = passed_by_tcpdump(&file, theirs) else { return };
        assert_eq!(matching(&frames, ours), passed, "{ours}");
    }
}

/// Numbers from bytes that every packet has: where one is not there, libpcap decides by whether it needs it.
fn any_number() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        (0_u32..300).prop_map(|number| number.to_string()),
        any::<u32>().prop_map(|number| format!("0x{number:x}")),
        Just("len".to_owned()),
        (0_u8..17, prop_oneof![Just(1), Just(2), Just(4)])
            .prop_map(|(at, size)| format!("ip[{at}:{size}]")),
        (0_u8..20).prop_map(|at| format!("tcp[{at}]")),
        Just("tcp[tcpflags]".to_owned()),
    ];
    leaf.prop_recursive(3, 8, 2, |inner| {
        let operator = proptest::sample::select(vec!["+", "-", "*", "&", "|"]);
        prop_oneof![
            (inner.clone(), operator, inner.clone())
                .prop_map(|(left, operator, right)| format!("{left} {operator} {right}")),
            (inner.clone(), inner.clone()).prop_map(|(left, right)| format!("({left} + {right})")),
            (inner.clone(), 0_u8..32).prop_map(|(one, by)| format!("({one}) << {by}")),
            (inner.clone(), 0_u8..32).prop_map(|(one, by)| format!("({one}) >> {by}")),
            (inner.clone(), 1_u32..300).prop_map(|(one, by)| format!("(({one}) / {by})")),
            (inner.clone(), 1_u32..300).prop_map(|(one, by)| format!("(({one}) % {by})")),
            inner.prop_map(|one| format!("tcp[({one}) & 7]")),
        ]
    })
}

fn any_filter() -> impl Strategy<Value = String> {
    let comparison = proptest::sample::select(vec!["=", "!=", "<", "<=", ">", ">=", "=="]);
    let relation = (any_number(), comparison, any_number())
        .prop_map(|(left, comparison, right)| format!("(ip and {left} {comparison} {right})"));
    let leaf = prop_oneof![
        3 => proptest::sample::select(FILTERS.to_vec()).prop_map(|filter| {
            // `tcp[...]` is of IPv4 only to tcpdump, so what says that must stay beside it.
            if filter.contains("tcp[") { format!("({filter})") } else { filter.to_owned() }
        }),
        1 => relation,
    ];
    leaf.prop_recursive(4, 12, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 2..4).prop_map(|all| all.join(" and ")),
            proptest::collection::vec(inner.clone(), 2..4).prop_map(|all| all.join(" || ")),
            (inner.clone(), inner.clone()).prop_map(|(one, other)| format!("{one} or {other}")),
            inner.clone().prop_map(|one| format!("({one})")),
            inner.clone().prop_map(|one| format!("not ({one})")),
            inner.prop_map(|one| format!("! {one}")),
        ]
    })
}

#[test]
fn tcpdump_agrees_on_random_filters() {
    let frames = traffic(&[]);
    let file = pcap_file("arbitrary.pcap", LinkType::Ethernet, &frames);
    let seed = [7; 32];
    println!("seed {seed:?}");
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut runner = TestRunner::new_with_rng(
        Config { cases: 150, failure_persistence: None, ..Config::default() },
        random,
    );
    let outcome = runner.run(&any_filter(), |filter| {
        agree(&file, &frames, &filter);
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}

proptest! {
    #[test]
    fn printed_filter_parses_to_itself(text in any_filter()) {
        let filter = Filter::parse(&text).unwrap();
        let printed = filter.to_string();
        let again = Filter::parse(&printed);
        prop_assert_eq!(again.as_ref(), Ok(&filter), "{}", printed);
        prop_assert_eq!(again.unwrap().to_string(), printed);
    }

    #[test]
    fn no_text_does_harm(text in "[a-z0-9 ()!&|.:/\\[\\]<>=+*%^\\\\-]{0,60}|\\PC{0,30}") {
        if let Ok(filter) = Filter::parse(&text) {
            prop_assert_eq!(Filter::parse(&filter.to_string()), Ok(filter));
        }
    }

    #[test]
    fn no_row_of_words_does_harm(words in proptest::collection::vec(
        proptest::sample::select(vec![
            "tcp", "ip", "src", "dst", "host", "net", "port", "portrange", "10.0.0.1", "10/8", "80",
            "80-90", "and", "or", "not", "(", ")", "[", "]", ":", "len", "=", "!", "vlan", "fd00::1",
            "-", "+", "<", "mask", "255.0.0.0", "proto", "less", "tcp-syn", "tcpflags", "/", "&",
        ]), 0..12,
    )) {
        if let Ok(filter) = Filter::parse(&words.join(" ")) {
            prop_assert_eq!(Filter::parse(&filter.to_string()), Ok(filter));
        }
    }
}
