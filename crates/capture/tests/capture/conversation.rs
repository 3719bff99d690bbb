//! A TCP conversation made by hand: handshake, data, a loss reported by SACK, marks, both FINs.

use fairwind_capture::{CaptureWriter, InterfaceId};
use fairwind_units::Instant;
use fairwind_wire::bytes::{Addresses, IpHeader, Payload};
use fairwind_wire::{
    Ecn, Flags, Options, SackBlock, SackBlocks, Segment, SequenceNumber, Timestamps, TrafficClass,
};

pub(crate) const CLIENT: InterfaceId = InterfaceId(0);
pub(crate) const SERVER: InterfaceId = InterfaceId(1);
const CLIENT_PORT: u16 = 40_000;
const SERVER_PORT: u16 = 50_000;
/// Initial sequence number of the client, so chosen that the stream wraps.
const CLIENT_START: u32 = 0xffff_fff0;
const SERVER_START: u32 = 1_000_000;

pub(crate) fn v4() -> Addresses {
    Addresses::V4 { source: [10, 0, 0, 1].into(), destination: [10, 0, 1, 2].into() }
}

pub(crate) fn v6() -> Addresses {
    Addresses::V6 {
        source: [0xfd00, 0, 0, 0, 0, 0, 0, 1].into(),
        destination: [0xfd00, 0, 0, 1, 0, 0, 0, 2].into(),
    }
}

/// One packet of the conversation.
pub(crate) struct Exchange {
    pub(crate) at: Instant,
    pub(crate) interface: InterfaceId,
    pub(crate) ip: IpHeader,
    pub(crate) segment: Segment,
    pub(crate) stream_offset: u64,
}

/// The conversation between the two ends of `addresses`.
pub(crate) fn conversation(addresses: Addresses) -> Vec<Exchange> {
    let mut exchanges: Vec<_> = segments()
        .into_iter()
        .map(|(milliseconds, segment)| exchange(addresses, milliseconds, segment))
        .collect();
    exchanges[3].segment.traffic_class = Ecn::Ce.into();
    exchanges[4].segment.traffic_class = Ecn::Ect0.into();
    exchanges[5].segment.traffic_class = Ecn::Ect1.into();
    exchanges
}

/// When, in milliseconds, which segment is seen at its sender.
fn segments() -> [(u64, Segment); 12] {
    const SYN: Flags = Flags::SYN;
    const ACK: Flags = Flags::ACK;
    const FIN: Flags = Flags::FIN;
    const NONE: Options = Options::NONE;
    let push = ACK | Flags::PSH;
    let lost = [(1474, 1475), (1460, 1470)];
    [
        (0, from_client(SYN, 0, 0, of_syn(100, 0))),
        (10, from_server(SYN | ACK, 1, of_syn(900, 100))),
        (20, from_client(ACK, 1, 0, stamped(101, 900))),
        (21, from_client(push, 1, 1447, stamped(102, 900))),
        // 1448 to 1459 and 1470 to 1473 are lost.
        (22, from_client(push, 1460, 10, stamped(102, 900))),
        (23, from_client(push, 1474, 1, stamped(102, 900))),
        (31, from_server(ACK | Flags::ECE, 1448, stamped(902, 102))),
        (33, from_server(ACK, 1448, Options { sack: sack(&lost), ..stamped(903, 102) })),
        (40, from_client(push | Flags::CWR, 1448, 26, NONE)),
        (41, from_client(ACK | FIN, 1475, 0, NONE)),
        (50, from_server(ACK | FIN, 1476, NONE)),
        (60, from_client(ACK | Flags::AE, 1476, 0, NONE)),
    ]
}

fn of_syn(value: u32, echo: u32) -> Options {
    Options { mss: Some(1460), window_scale: Some(7), sack_permitted: true, ..stamped(value, echo) }
}

fn stamped(value: u32, echo: u32) -> Options {
    Options { timestamps: Some(Timestamps { value, echo }), ..Options::NONE }
}

/// Blocks between places relative to the client's initial sequence number.
fn sack(blocks: &[(u32, u32)]) -> SackBlocks {
    let place = |place| SequenceNumber::new(CLIENT_START) + place;
    let block = |&(left, right): &_| SackBlock { left: place(left), right: place(right) };
    blocks.iter().map(block).collect()
}

/// A segment of the client, `place` after its initial sequence number.
fn from_client(flags: Flags, place: u32, payload_bytes: u32, options: Options) -> Segment {
    let acknowledgment = match (flags.contains(Flags::ACK), place) {
        (false, _) => 0,
        // The last one acknowledges the server's FIN.
        (true, 1476) => SERVER_START + 2,
        (true, _) => SERVER_START + 1,
    };
    Segment {
        source_port: CLIENT_PORT,
        destination_port: SERVER_PORT,
        sequence: SequenceNumber::new(CLIENT_START) + place,
        acknowledgment: SequenceNumber::new(acknowledgment),
        flags,
        window: 502,
        urgent: 0,
        traffic_class: TrafficClass::default(),
        payload_bytes,
        options,
    }
}

/// A segment of the server, which sends no data.
fn from_server(flags: Flags, acknowledged: u32, options: Options) -> Segment {
    let behind_syn = u32::from(!flags.contains(Flags::SYN));
    Segment {
        source_port: SERVER_PORT,
        destination_port: CLIENT_PORT,
        sequence: SequenceNumber::new(SERVER_START) + behind_syn,
        acknowledgment: SequenceNumber::new(CLIENT_START) + acknowledged,
        flags,
        window: 65_535,
        urgent: 0,
        traffic_class: TrafficClass::default(),
        payload_bytes: 0,
        options,
    }
}

fn exchange(addresses: Addresses, milliseconds: u64, segment: Segment) -> Exchange {
    let from_client = segment.source_port == CLIENT_PORT;
    let (interface, ip) = if from_client {
        (CLIENT, IpHeader { identification: 7, ..IpHeader::new(addresses) })
    } else {
        (SERVER, IpHeader { dont_fragment: false, ..IpHeader::new(addresses.reversed()) })
    };
    let at = Instant::from_nanos(milliseconds * 1_000_000 + 1);
    let first_byte = SequenceNumber::new(CLIENT_START) + 1;
    let has_payload = segment.payload_bytes > 0;
    let stream_offset =
        if has_payload { u64::from(segment.sequence.distance_from(first_byte)) } else { 0 };
    Exchange { at, interface, ip, segment, stream_offset }
}

/// Writes conversations one after the other.
pub(crate) fn write<W: std::io::Write>(
    capture: &mut CaptureWriter<W>,
    addresses: impl IntoIterator<Item = Addresses>,
) {
    for exchange in addresses.into_iter().flat_map(conversation) {
        let Exchange { at, interface, ip, segment, stream_offset } = exchange;
        let payload = Payload::Pattern { stream_offset };
        capture.write_segment(at, interface, &ip, &segment, payload).unwrap();
    }
}
