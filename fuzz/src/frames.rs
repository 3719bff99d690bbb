//! Frames of captures, and filters about them: whatever the bytes are, what is found lies within the frame,
//! agrees with the reader of whole packets, and a filter that was read is the same when it is printed.

use fairwind_capture::{Anomalies, Filter, Frame, LinkType, Packet, SkipReason, decode};
use fairwind_units::Instant;
use fairwind_wire::bytes::{ParseError, parse};
use fairwind_wire::{Options, Segment};

/// Reads bytes as a frame; the first one says of which link, four more its length on it.
///
/// # Panics
/// Where headers or payload leave the frame, and where a raw packet is another one to the reader of whole
/// packets.
pub fn frame(bytes: &[u8]) {
    let Some(frame) = frame_of(bytes) else { return };
    let mut packet = Packet::EMPTY;
    let decoded = decode(&frame, &mut packet).map(|()| packet);
    if let Ok(packet) = &decoded {
        stays_within(packet, &frame);
    }
    if frame.link == LinkType::Raw && !frame.bytes.is_empty() {
        let whole = Frame { original_bytes: length(frame.bytes), ..frame };
        let decoded = decode(&whole, &mut packet).map(|()| packet);
        let theirs = parse(frame.bytes).map(|parsed| parsed.segment);
        assert!(agrees(&theirs, &decoded), "{theirs:?}\n{decoded:?}");
    }
}

/// Reads text as a filter, up to the first line end, and asks it about the frame behind that.
///
/// # Panics
/// Where a filter is another one when it is printed and read again.
pub fn filter(bytes: &[u8]) {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let (text, behind) = bytes.split_at(end);
    let text = String::from_utf8_lossy(text);
    let Ok(filter) = Filter::parse(&text) else { return };
    let printed = filter.to_string();
    assert_eq!(Filter::parse(&printed).as_ref(), Ok(&filter), "{printed}");

    let Some(frame) = behind.get(1..).and_then(frame_of) else { return };
    let mut packet = Packet::EMPTY;
    if decode(&frame, &mut packet).is_err() {
        return;
    }
    let matches = filter.matches(&packet, &frame);
    let ports = (packet.segment.source_port, packet.segment.destination_port);
    let ends_match = filter.matches_endpoints(&packet.addresses, ports.0, ports.1);
    assert!(!filter.is_connection_filter() || matches == ends_match, "{printed}");
}

fn frame_of(bytes: &[u8]) -> Option<Frame<'_>> {
    use LinkType::{Ethernet, LinuxCooked, LinuxCooked2, Loop, Null, Other, Raw};
    let (&link, behind) = bytes.split_first()?;
    let (original_bytes, bytes) = behind.split_first_chunk()?;
    let links = [Raw, Ethernet, Null, Loop, LinuxCooked, LinuxCooked2, Other(105)];
    Some(Frame {
        at: Instant::ZERO,
        link: *links.get(usize::from(link) % links.len())?,
        interface: 0,
        original_bytes: u32::from_be_bytes(*original_bytes),
        bytes,
        number: 1,
        offset: 24,
    })
}

fn stays_within(packet: &Packet, frame: &Frame<'_>) {
    let (ip_at, tcp_at) = (usize::from(packet.ip_at), usize::from(packet.tcp_at));
    assert!(ip_at + 20 <= tcp_at && tcp_at + 20 <= frame.bytes.len());
    let on_link = frame.original_bytes.max(length(frame.bytes));
    let headers = u32::from(packet.tcp_at) + 20;
    assert!(packet.segment.payload_bytes <= on_link - headers);
}

/// Whether both readers say the same, or differ for a reason.
fn agrees(theirs: &Result<Segment, ParseError>, ours: &Result<Packet, SkipReason>) -> bool {
    match (theirs, ours) {
        (Ok(theirs), Ok(ours)) => {
            let beyond = ours.anomalies.contains(Anomalies::LENGTH_BEYOND_FRAME);
            let payload_bytes = ours.segment.payload_bytes;
            ours.segment == Segment { payload_bytes, ..*theirs }
                && (payload_bytes == theirs.payload_bytes || beyond)
        }
        (Err(error), Ok(ours)) => match error {
            ParseError::Fragment => ours.anomalies.contains(Anomalies::FIRST_FRAGMENT),
            ParseError::OptionLength { .. } => ours.segment.options == Options::NONE,
            ParseError::Truncated { .. } => ours.anomalies.contains(Anomalies::OPTIONS_CUT),
            // Authentication headers of IPv4 are looked behind.
            ParseError::NotTcp { protocol } => *protocol == 51,
            _ => false,
        },
        (Ok(_), Err(_)) => false,
        (Err(_), Err(_)) => true,
    }
}

fn length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX)
}
