//! The same packets in other files: pcap, cut, and by another clock or with other addresses.

use fairwind_capture::{CaptureReader, EndOfFile, Input, Next};
use std::net::Ipv4Addr;

/// How packets are put into a file.
pub(crate) struct Container {
    pub(crate) name: &'static str,
    format: Format,
    /// How far its clock is ahead in nanoseconds, and how fast it gains, in millionths.
    ahead: (u64, u64),
    /// How many thousandths of the file are kept.
    kept: usize,
    packets: Packets,
    /// An address, and what stands in the file for it.
    pub(crate) translation: Option<(Ipv4Addr, Ipv4Addr)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    /// As the simulation wrote it: pcapng with nanoseconds.
    AsWritten,
    /// pcap with microseconds.
    Micros,
    /// pcap with nanoseconds in the other byte order, and Ethernet headers.
    NanosOfEthernet,
}

/// Which packets are in the file.
#[derive(Clone, Copy)]
enum Packets {
    All,
    /// All of them, and all of them again later, from the same ports.
    Twice,
    /// The clock steps ahead by more than a day, and back.
    Stepping,
    /// Some are missing, alone and in a row.
    Thinned,
    /// Some stand in another order, with their times.
    Swapped,
    /// Some have the flag RST, others URG.
    Reset,
}

pub(crate) const AS_WRITTEN: Container = Container {
    name: "pcapng",
    format: Format::AsWritten,
    ahead: (0, 0),
    kept: 1000,
    packets: Packets::All,
    translation: None,
};

pub(crate) const OTHERS: [Container; 11] = [
    Container { name: "pcap", format: Format::Micros, ..AS_WRITTEN },
    Container { name: "ethernet", format: Format::NanosOfEthernet, ..AS_WRITTEN },
    Container { name: "cut", kept: 613, ..AS_WRITTEN },
    Container { name: "twice", format: Format::Micros, packets: Packets::Twice, ..AS_WRITTEN },
    Container {
        name: "stepping",
        format: Format::Micros,
        packets: Packets::Stepping,
        ..AS_WRITTEN
    },
    Container { name: "thinned", format: Format::Micros, packets: Packets::Thinned, ..AS_WRITTEN },
    Container { name: "swapped", format: Format::Micros, packets: Packets::Swapped, ..AS_WRITTEN },
    Container { name: "reset", format: Format::Micros, packets: Packets::Reset, ..AS_WRITTEN },
    Container { name: "ahead", format: Format::Micros, ahead: (1_234_567_890, 0), ..AS_WRITTEN },
    Container {
        name: "drifting",
        format: Format::NanosOfEthernet,
        ahead: (987_654_321, 40),
        ..AS_WRITTEN
    },
    Container {
        name: "translated",
        format: Format::Micros,
        translation: Some((Ipv4Addr::new(10, 0, 0, 3), Ipv4Addr::new(192, 0, 2, 7))),
        ..AS_WRITTEN
    },
];

/// A capture of the simulation in another container.
pub(crate) fn packed(capture: &[u8], container: &Container) -> Vec<u8> {
    let mut file = match container.format {
        Format::AsWritten => capture.to_vec(),
        format => repacked(packets(capture, container), format == Format::Micros),
    };
    file.truncate(file.len() * container.kept / 1000);
    file
}

/// A packet as it is captured.
#[derive(Clone)]
struct Captured {
    nanos: u64,
    original_bytes: usize,
    bytes: Vec<u8>,
}

/// The packets of a capture, altered as the container wants it.
fn packets(capture: &[u8], container: &Container) -> Vec<Captured> {
    let bytes = Box::new(std::io::Cursor::new(capture.to_vec()));
    let input = Input::Source { name: "capture".to_owned(), bytes };
    let mut reader = CaptureReader::open(vec![input], EndOfFile::Final).expect("a capture");
    let mut packets = Vec::new();
    while let Next::Frame(frame) = reader.next() {
        let nanos = frame.at.as_nanos();
        packets.push(Captured {
            nanos: nanos + container.ahead.0 + nanos / 1_000_000 * container.ahead.1,
            original_bytes: frame.original_bytes as usize,
            bytes: translated(frame.bytes, container),
        });
    }
    alter(&mut packets, container.packets);
    packets
}

fn alter(packets: &mut Vec<Captured>, alteration: Packets) {
    match alteration {
        Packets::All => {}
        Packets::Twice => {
            let later = packets.last().map_or(0, |last| last.nanos) + 3_000_000_000;
            let again = packets.clone().into_iter();
            packets.extend(again.map(|it| Captured { nanos: it.nanos + later, ..it }));
        }
        Packets::Stepping => {
            let half = packets.len() / 2;
            packets[half..].iter_mut().for_each(|it| it.nanos += 90_000_000_000_000);
            packets[half * 3 / 2..].iter_mut().for_each(|it| it.nanos -= 89_990_000_000_000);
        }
        Packets::Thinned => {
            let mut number = 0;
            packets.retain(|_| {
                number += 1;
                number % 13 != 0 && number % 101 > 4
            });
        }
        Packets::Swapped => packets.chunks_exact_mut(7).for_each(|chunk| chunk.swap(2, 4)),
        Packets::Reset => {
            let tcp_flags = 33;
            for packet in packets.iter_mut().skip(400).step_by(97) {
                packet.bytes[tcp_flags] |= 0x04;
            }
            for packet in packets.iter_mut().skip(300).step_by(89) {
                packet.bytes[tcp_flags] |= 0x20;
            }
        }
    }
}

/// A pcap file: with microseconds and IP packets, or with nanoseconds, Ethernet headers and the other byte order.
fn repacked(packets: Vec<Captured>, is_micros: bool) -> Vec<u8> {
    let word = |number: u32| if is_micros { number.to_le_bytes() } else { number.to_be_bytes() };
    let (magic, link, second) =
        if is_micros { (0xa1b2_c3d4, 101, 1000) } else { (0xa1b2_3c4d, 1, 1) };
    let version = if is_micros { [2, 0, 4, 0] } else { [0, 2, 0, 4] };
    let mut file: Vec<u8> = Vec::new();
    file.extend(word(magic));
    file.extend(version);
    for number in [0, 0, 65_535, link] {
        file.extend(word(number));
    }
    for packet in packets {
        let header: &[u8] = if is_micros { &[] } else { ethernet(&packet.bytes) };
        let (seconds, nanos) = (packet.nanos / 1_000_000_000, packet.nanos % 1_000_000_000);
        let kept = header.len() + packet.bytes.len();
        let original = header.len() + packet.original_bytes;
        for number in [seconds, nanos / second, kept as u64, original as u64] {
            file.extend(word(u32::try_from(number).expect("a short capture")));
        }
        file.extend(header);
        file.extend(packet.bytes);
    }
    file
}

fn ethernet(packet: &[u8]) -> &'static [u8] {
    const V4: [u8; 14] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    const V6: [u8; 14] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x86, 0xdd];
    if packet[0] >> 4 == 6 { &V6 } else { &V4 }
}

/// The packet with another address in the place of one; its checksums are as they were.
fn translated(packet: &[u8], container: &Container) -> Vec<u8> {
    let mut packet = packet.to_vec();
    if let Some((from, to)) = container.translation {
        for place in [12, 16] {
            if packet[place..place + 4] == from.octets() {
                packet[place..place + 4].copy_from_slice(&to.octets());
            }
        }
    }
    packet
}
