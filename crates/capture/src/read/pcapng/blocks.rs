//! What the blocks of a pcapng file say, and the options that end them.

use super::super::clock::Clock;
use super::super::order::ByteOrder;
use crate::{LinkType, Section};

pub(super) const SECTION_HEADER: u32 = 0x0a0d_0d0a;
pub(super) const INTERFACE_DESCRIPTION: u32 = 1;
pub(super) const OBSOLETE_PACKET: u32 = 2;
pub(super) const SIMPLE_PACKET: u32 = 3;
pub(super) const INTERFACE_STATISTICS: u32 = 5;
pub(super) const ENHANCED_PACKET: u32 = 6;

/// Bytes before the body of a block (type and length), and behind it (length).
pub(super) const HEAD_BYTES: usize = 8;
pub(super) const FOOT_BYTES: usize = 4;

/// Bytes of a packet that are kept, at most (libpcap's largest snap length).
pub(super) const LARGEST_CAPTURED_BYTES: u32 = 1 << 18;

/// Bytes that a packet can have had on a link, at most; offload makes packets of half a mebibyte.
pub(super) const LARGEST_PACKET_BYTES: u32 = 1 << 24;

/// Bytes that are kept of a text: more than people write, and less than would hurt where there are many.
const LONGEST_TEXT_BYTES: usize = 4096;

/// Types that the search behind damage takes for the beginning of a block: those of the draft that are
/// in use.
pub(super) fn is_known(kind: u32) -> bool {
    // 4: names, 7 and 8: process and rate blocks of old programs, 9: journal, 10: secrets,
    // 0xbad and 0x40000bad: custom blocks.
    matches!(kind, 1..=10 | SECTION_HEADER | 0x0000_0bad | 0x4000_0bad)
}

/// What a section's magic says about its byte order.
pub(super) fn order_of(magic: [u8; 4]) -> Option<ByteOrder> {
    match u32::from_be_bytes(magic) {
        0x1a2b_3c4d => Some(ByteOrder::Big),
        0x4d3c_2b1a => Some(ByteOrder::Little),
        _ => None,
    }
}

/// One option: its code and its value.
pub(super) type FileOption<'a> = (u16, &'a [u8]);

/// The options at the end of a block. `Err` stands for the first that cannot be read, and ends them.
pub(super) struct Options<'a> {
    bytes: &'a [u8],
    order: ByteOrder,
}

impl<'a> Options<'a> {
    pub(super) fn new(bytes: &'a [u8], order: ByteOrder) -> Self {
        Self { bytes, order }
    }

    /// The next option.
    fn read(&mut self) -> Result<Read<'a>, Unreadable> {
        let code = self.order.u16_at(self.bytes, 0).ok_or(Unreadable)?;
        let length = usize::from(self.order.u16_at(self.bytes, 2).ok_or(Unreadable)?);
        if code == 0 {
            return Ok(Read::End);
        }
        let value = self.bytes.get(4..4 + length).ok_or(Unreadable)?;
        self.bytes = self.bytes.get(4 + length.next_multiple_of(4)..).unwrap_or_default();
        Ok(Read::Option((code, value)))
    }
}

/// What stands where an option may.
enum Read<'a> {
    Option(FileOption<'a>),
    /// The mark behind the last one.
    End,
}

/// Options that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unreadable;

impl<'a> Iterator for Options<'a> {
    type Item = Result<FileOption<'a>, Unreadable>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.bytes.is_empty() {
            return None;
        }
        match self.read() {
            Ok(Read::Option(option)) => return Some(Ok(option)),
            Ok(Read::End) => self.bytes = &[],
            Err(unreadable) => {
                self.bytes = &[];
                return Some(Err(unreadable));
            }
        }
        None
    }
}

/// What a file says of one of its interfaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterfaceDescription {
    /// Its name (option `if_name`).
    pub name: Option<String>,
    /// What it is, in words (option `if_description`).
    pub description: Option<String>,
    /// Anything else that a reader should know (option `opt_comment`).
    pub comment: Option<String>,
    /// What its packets begin with.
    pub link: LinkType,
    /// Bytes of each packet that are kept, from its start; `None`: all, or unknown.
    pub snap_length: Option<std::num::NonZeroU32>,
    /// Bytes of the frame check sequence that packets end with, where the file says.
    pub check_sequence_bytes: Option<u8>,
}

/// An interface as its packets need it, and as it is described.
pub(super) struct Described {
    pub(super) clock: Clock,
    pub(super) interface: InterfaceDescription,
    pub(super) are_options_readable: bool,
}

/// What the body of an interface description says; `None` where it is too short.
pub(super) fn interface(body: &[u8], order: ByteOrder) -> Option<Described> {
    let link = order.u16_at(body, 0)?;
    let snap_length = order.u32_at(body, 4)?;
    let mut described = Described {
        clock: Clock::default(),
        interface: InterfaceDescription {
            name: None,
            description: None,
            comment: None,
            link: LinkType::from_number(u32::from(link)),
            snap_length: std::num::NonZeroU32::new(snap_length),
            check_sequence_bytes: None,
        },
        are_options_readable: true,
    };
    for option in Options::new(&body[8..], order) {
        let interface = &mut described.interface;
        match option {
            Ok((1, text)) => interface.comment = Some(words(text)),
            Ok((2, text)) => interface.name = Some(words(text)),
            Ok((3, text)) => interface.description = Some(words(text)),
            Ok((9, &[resolution, ..])) => {
                described.clock = described.clock.with_resolution(resolution);
            }
            Ok((13, &[bytes, ..])) => interface.check_sequence_bytes = Some(bytes),
            Ok((14, value)) => {
                let offset = order.u64_at(value, 0).unwrap_or_default();
                described.clock = described.clock.with_offset(offset.cast_signed());
            }
            Ok(_) => {}
            Err(Unreadable) => described.are_options_readable = false,
        }
    }
    Some(described)
}

/// What the body of a section header says of its origin, and whether all of it could be read.
pub(super) fn section(body: &[u8], order: ByteOrder) -> (Section, bool) {
    let mut section = Section::default();
    let mut are_options_readable = true;
    for option in Options::new(body.get(16..).unwrap_or_default(), order) {
        match option {
            Ok((1, text)) => section.comment = Some(words(text)),
            Ok((2, text)) => section.hardware = Some(words(text)),
            Ok((3, text)) => section.operating_system = Some(words(text)),
            Ok((4, text)) => section.application = Some(words(text)),
            Ok(_) => {}
            Err(Unreadable) => are_options_readable = false,
        }
    }
    (section, are_options_readable)
}

/// Packets that an interface says to have missed: by the machine (`isb_ifdrop`) and by the operating
/// system (`isb_osdrop`), since the capture began.
pub(super) fn missed(body: &[u8], order: ByteOrder) -> u64 {
    let number = |value: &[u8]| order.u64_at(value, 0).unwrap_or_default();
    let options = Options::new(body.get(12..).unwrap_or_default(), order).flatten();
    let drops = options.filter(|(code, _)| matches!(code, 5 | 7)).map(|(_, value)| number(value));
    drops.fold(0, u64::saturating_add)
}

/// Packets that were missed before this one, by its own word (option `epb_dropcount`).
#[cold]
pub(super) fn missed_before(options: &[u8], order: ByteOrder) -> u64 {
    let mut options = Options::new(options, order).flatten();
    let drops = options.find(|(code, _)| *code == 4);
    drops.and_then(|(_, value)| order.u64_at(value, 0)).unwrap_or_default()
}

/// Text of an option, or its beginning; some programs end it with a zero.
fn words(text: &[u8]) -> String {
    String::from_utf8_lossy(&text[..text.len().min(LONGEST_TEXT_BYTES)])
        .trim_end_matches('\0')
        .to_owned()
}
