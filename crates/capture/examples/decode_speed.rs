//! Cost of reading one frame, by kind of frame and for a mixture, and of a filter.
//!
//!     cargo run --release -p fairwind-capture --example decode_speed [ROUNDS]

#![expect(clippy::unwrap_used, reason = "an example stops where something is wrong")]
#![expect(clippy::print_stdout, reason = "it prints what it measures")]
#![expect(clippy::disallowed_methods, reason = "it measures real time")]

use fairwind_capture::{Filter, Frame, LinkType, Packet, decode};
use fairwind_units::Instant;
use fairwind_wire::bytes::{Addresses, IpHeader, Payload, emit_prefix};
use fairwind_wire::{Flags, Options, SackBlock, Segment, SequenceNumber, Timestamps};
use std::hint::black_box;

/// Frames in memory, as many as stay in the second-level cache.
const FRAMES: u32 = 4096;
const SNAP: u32 = 96;
/// A filter that looks into the packet.
const FLAGS: &str = "tcp[tcpflags] & (tcp-syn|tcp-fin) != 0";

fn v4() -> Addresses {
    Addresses::V4 { source: [10, 0, 0, 1].into(), destination: [10, 0, 1, 2].into() }
}

fn v6() -> Addresses {
    Addresses::V6 {
        source: [0xfd00, 0, 0, 0, 0, 0, 0, 1].into(),
        destination: [0xfd00, 0, 0, 1, 0, 0, 0, 2].into(),
    }
}

fn stamped() -> Options {
    Options { timestamps: Some(Timestamps { value: 7, echo: 9 }), ..Options::NONE }
}

fn sacked() -> Options {
    let block = |left| SackBlock {
        left: SequenceNumber::new(left),
        right: SequenceNumber::new(left + 1448),
    };
    Options { sack: [block(3000), block(9000)].into_iter().collect(), ..stamped() }
}

fn of_syn() -> Options {
    Options { mss: Some(1460), window_scale: Some(7), sack_permitted: true, ..stamped() }
}

/// A frame behind an Ethernet header (or none), cut at 96 bytes, and its length on the link.
fn frame(link: LinkType, addresses: Addresses, options: Options, number: u32) -> (Vec<u8>, u32) {
    let mut bytes = Vec::new();
    if link == LinkType::Ethernet {
        bytes.extend_from_slice(&[2; 12]);
        let is_v4 = matches!(addresses, Addresses::V4 { .. });
        bytes.extend_from_slice(if is_v4 { &[0x08, 0x00] } else { &[0x86, 0xdd] });
    }
    let before = u32::try_from(bytes.len()).unwrap();
    let segment = Segment {
        source_port: 40_000,
        destination_port: 5000,
        sequence: SequenceNumber::new(number * 1448),
        flags: Flags::ACK,
        payload_bytes: if options.sack.is_empty() { 1448 } else { 0 },
        options,
        ..Segment::default()
    };
    let payload = Payload::Pattern { stream_offset: 0 };
    let ip = IpHeader::new(addresses);
    let whole = emit_prefix(&ip, &segment, payload, SNAP - before, &mut bytes).unwrap();
    (bytes, whole + before)
}

/// Nanoseconds for each frame: the least of some rounds.
fn measure(link: LinkType, frames: &[(Vec<u8>, u32)], rounds: u32, filter: Option<&Filter>) -> f64 {
    let mut least = f64::MAX;
    let mut packet = Packet::EMPTY;
    for _ in 0..rounds {
        let begin = std::time::Instant::now();
        let mut payload = 0_u64;
        for (number, (bytes, original_bytes)) in (1..).zip(frames) {
            let frame = Frame {
                at: Instant::from_nanos(number),
                link,
                interface: 0,
                original_bytes: *original_bytes,
                bytes,
                number,
                offset: 0,
            };
            if decode(black_box(&frame), &mut packet).is_ok() {
                let packet = black_box(&packet);
                if filter.is_some_and(|filter| !filter.matches(packet, &frame)) {
                    continue;
                }
                payload += u64::from(packet.segment.payload_bytes);
            }
        }
        black_box(payload);
        least = least.min(begin.elapsed().as_secs_f64());
    }
    least * 1e9 / f64::from(FRAMES)
}

fn main() {
    let rounds = std::env::args().nth(1).map_or(2000, |text| text.parse().unwrap());
    let kinds: [(&str, LinkType, Addresses, Options); 7] = [
        ("Ethernet, IPv4, no options", LinkType::Ethernet, v4(), Options::NONE),
        ("Ethernet, IPv4, timestamps", LinkType::Ethernet, v4(), stamped()),
        ("raw IP, IPv4, timestamps", LinkType::Raw, v4(), stamped()),
        ("Ethernet, IPv4, timestamps and 2 SACK blocks", LinkType::Ethernet, v4(), sacked()),
        ("Ethernet, IPv4, options of a SYN", LinkType::Ethernet, v4(), of_syn()),
        ("Ethernet, IPv6, timestamps", LinkType::Ethernet, v6(), stamped()),
        ("raw IP, IPv6, no options", LinkType::Raw, v6(), Options::NONE),
    ];
    for (name, link, addresses, options) in kinds {
        let frames: Vec<_> =
            (0..FRAMES).map(|number| frame(link, addresses, options, number)).collect();
        println!("{:6.2} ns  {name}", measure(link, &frames, rounds, None));
    }
    let options = [stamped(), sacked(), stamped(), Options::NONE, stamped(), of_syn()];
    let mixed: Vec<_> = (0..FRAMES)
        .map(|number| {
            let chosen = usize::try_from(number.wrapping_mul(2_654_435_761) >> 16).unwrap();
            frame(LinkType::Ethernet, v4(), options[chosen % options.len()], number)
        })
        .collect();
    let mixture = |filter: Option<&Filter>| measure(LinkType::Ethernet, &mixed, rounds, filter);
    println!("{:6.2} ns  a mixture of these with IPv4", mixture(None));
    for text in ["port 80 or 5000", "net 10.0.0.0/8 and not host 10.0.0.9", FLAGS] {
        let filter = Filter::parse(text).unwrap();
        println!("{:6.2} ns  the same with the filter `{filter}`", mixture(Some(&filter)));
    }
}
