//! Files that do not begin as a capture does, though one follows: a damaged header, or bytes in front.

use super::order::ByteOrder;
use super::pcap::{FILE_HEADER_BYTES, PcapReader};
use super::pcapng::PcapNgReader;
use super::window::{CAPACITY_BYTES, Window};

/// What a search for a beginning has found.
#[derive(Debug)]
pub(crate) enum Beginning {
    /// A pcap file; the window is behind its header.
    Pcap(PcapReader),
    /// A pcapng file; the window is at one of its first blocks.
    PcapNg(PcapNgReader),
}

/// Goes to the first place in the window's reach where a capture can be read, and tells it in words. Without
/// such a place the window stays where it is.
pub(crate) fn salvage(window: &mut Window) -> Option<(Beginning, String)> {
    window.fill(CAPACITY_BYTES);
    let rest = window.reach();
    if let Some(reader) = damaged_header(rest) {
        window.consume(FILE_HEADER_BYTES);
        let what = "a pcap header with another magic number".to_owned();
        return Some((Beginning::Pcap(reader), what));
    }
    for place in 0..rest.len() {
        let bytes = &rest[place..];
        if let Some(reader) = whole_pcap(bytes) {
            window.consume(place + FILE_HEADER_BYTES);
            return Some((Beginning::Pcap(reader), format!("a pcap header after {place} bytes")));
        }
        if let Some(reader) = blocks(bytes) {
            window.consume(place);
            let what = format!("a block of a pcapng file after {place} bytes");
            return Some((Beginning::PcapNg(reader), what));
        }
    }
    None
}

/// A pcap file of which only the magic number is wrong: its version tells the byte order, and fractions
/// above a million tell that they are nanoseconds.
fn damaged_header(bytes: &[u8]) -> Option<PcapReader> {
    let (header, records) = bytes.split_first_chunk()?;
    let orders = [ByteOrder::Little, ByteOrder::Big];
    let mut readers = orders.into_iter().flat_map(|order| {
        [1_000_000, 1_000_000_000].map(|parts| PcapReader::with_damaged_magic(header, order, parts))
    });
    readers.find_map(|reader| reader.filter(|reader| reader.begins_chain(records)))
}

/// A pcap file, header and records, that begins here.
fn whole_pcap(bytes: &[u8]) -> Option<PcapReader> {
    let (header, records) = bytes.split_first_chunk()?;
    PcapReader::from_header(header).filter(|reader| reader.begins_chain(records))
}

/// A section, or an interface of one whose header is damaged.
fn blocks(bytes: &[u8]) -> Option<PcapNgReader> {
    let orders = [ByteOrder::Little, ByteOrder::Big];
    orders.into_iter().map(PcapNgReader::in_order).find(|reader| reader.can_begin_file(bytes))
}
