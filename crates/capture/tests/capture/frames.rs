//! Frames of every kind that is read, made by hand.

use fairwind_capture::{Frame, LinkType, Packet, SkipReason, decode};
use fairwind_units::Instant;
use fairwind_wire::bytes::{Addresses, IpHeader, Payload, emit};
use fairwind_wire::{Flags, Options, Segment, SequenceNumber, Timestamps, TrafficClass};
use std::path::{Path, PathBuf};

/// An 802.1Q tag for VLAN 5 with priority 3, without the type that follows.
pub(crate) const TAG: [u8; 4] = [0x81, 0x00, 0x60, 0x05];
pub(crate) const IPV4: [u8; 2] = [0x08, 0x00];
pub(crate) const IPV6: [u8; 2] = [0x86, 0xdd];

/// A data segment with timestamps.
pub(crate) fn segment() -> Segment {
    Segment {
        source_port: 40_000,
        destination_port: 5000,
        sequence: SequenceNumber::new(0xffff_ff00),
        acknowledgment: SequenceNumber::new(77),
        flags: Flags::ACK | Flags::PSH,
        window: 502,
        urgent: 3,
        traffic_class: TrafficClass::new(0x2a),
        payload_bytes: 300,
        options: Options {
            timestamps: Some(Timestamps { value: 0x0102_0304, echo: 0x0506_0708 }),
            ..Options::NONE
        },
    }
}

/// The IP packet of a segment, whole.
pub(crate) fn packet_of(addresses: Addresses, segment: &Segment) -> Vec<u8> {
    let mut bytes = Vec::new();
    let ip = IpHeader { identification: 0x1234, hop_limit: 61, ..IpHeader::new(addresses) };
    emit(&ip, segment, Payload::Pattern { stream_offset: 0 }, &mut bytes).unwrap();
    bytes
}

/// A frame of these bytes, all of them kept.
pub(crate) fn frame(link: LinkType, bytes: &[u8]) -> Frame<'_> {
    Frame {
        at: Instant::from_millis(7),
        link,
        interface: 0,
        original_bytes: u32::try_from(bytes.len()).unwrap(),
        bytes,
        number: 12,
        offset: 24,
    }
}

pub(crate) fn decoded(frame: &Frame<'_>) -> Result<Packet, SkipReason> {
    let mut packet = Packet::EMPTY;
    decode(frame, &mut packet).map(|()| packet)
}

/// A way to carry IP packets.
pub(crate) struct Carrier {
    pub(crate) name: &'static str,
    pub(crate) link: LinkType,
    /// What stands before an IPv4 packet, and before an IPv6 packet.
    pub(crate) before: [Vec<u8>; 2],
}

fn carrier(name: &'static str, link: LinkType, before: [&[&[u8]]; 2]) -> Carrier {
    Carrier { name, link, before: before.map(<[&[u8]]>::concat) }
}

/// Every way to carry IP that is read.
pub(crate) fn carriers() -> Vec<Carrier> {
    const ENDS: &[u8] = &[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    const SERVICE_TAG: &[u8] = &[0x88, 0xa8, 0x00, 0x64];
    /// Outgoing, Ethernet, an address of six bytes.
    const COOKED: &[u8] = &[0, 4, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0];
    /// Reserved, interface 2, Ethernet, outgoing, an address of six bytes.
    const COOKED_2: &[u8] = &[0, 0, 0, 0, 0, 2, 0, 1, 4, 6, 2, 0, 0, 0, 0, 1, 0, 0];
    /// Session 0x17 of PPP over Ethernet; the length is that of the test's segment and PPP's protocol.
    const PPPOE: &[u8] = &[0x88, 0x64, 0x11, 0, 0, 0x17];
    use LinkType::{Ethernet, LinuxCooked, LinuxCooked2, Loop, Null, Raw};
    vec![
        carrier("Ethernet", Ethernet, [&[ENDS, &IPV4], &[ENDS, &IPV6]]),
        carrier("VLAN", Ethernet, [&[ENDS, &TAG, &IPV4], &[ENDS, &TAG, &IPV6]]),
        carrier(
            "VLAN within VLAN",
            Ethernet,
            [&[ENDS, SERVICE_TAG, &TAG, &IPV4], &[ENDS, SERVICE_TAG, &TAG, &IPV6]],
        ),
        carrier(
            "PPP over Ethernet",
            Ethernet,
            [&[ENDS, PPPOE, &[1, 0x62, 0, 0x21]], &[ENDS, PPPOE, &[1, 0x76, 0, 0x57]]],
        ),
        carrier("raw IP", Raw, [&[], &[]]),
        carrier("cooked", LinuxCooked, [&[COOKED, &IPV4], &[COOKED, &IPV6]]),
        carrier("cooked, VLAN", LinuxCooked, [&[COOKED, &TAG, &IPV4], &[COOKED, &TAG, &IPV6]]),
        carrier("cooked 2", LinuxCooked2, [&[&IPV4, COOKED_2], &[&IPV6, COOKED_2]]),
        carrier("loopback of a little machine", Null, [&[&[2, 0, 0, 0]], &[&[30, 0, 0, 0]]]),
        carrier("loopback of a big machine", Null, [&[&[0, 0, 0, 2]], &[&[0, 0, 0, 24]]]),
        carrier("loopback of OpenBSD", Loop, [&[&[0, 0, 0, 2]], &[&[0, 0, 0, 24]]]),
    ]
}

/// Writes frames, and how many bytes of each are kept, into a pcap file of this name. The time of each
/// is its number, from 0, in microseconds.
pub(crate) fn pcap_file(name: &str, link: LinkType, frames: &[(Vec<u8>, usize)]) -> PathBuf {
    let number: u32 = match link {
        LinkType::Null => 0,
        LinkType::Ethernet => 1,
        LinkType::Raw => 101,
        LinkType::Loop => 108,
        LinkType::LinuxCooked => 113,
        LinkType::LinuxCooked2 => 276,
        LinkType::Other(number) => number,
    };
    let mut file = Vec::new();
    for field in [0xa1b2_c3d4, 0x0004_0002, 0, 0, 262_144, number] {
        file.extend_from_slice(&field.to_le_bytes());
    }
    for (at, (bytes, kept)) in (0_u32..).zip(frames) {
        let lengths = [*kept, bytes.len()].map(|length| u32::try_from(length).unwrap());
        for field in [0, at, lengths[0], lengths[1]] {
            file.extend_from_slice(&field.to_le_bytes());
        }
        file.extend_from_slice(&bytes[..*kept]);
    }
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, file).unwrap();
    path
}
