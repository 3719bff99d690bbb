//! Blocks of pcapng files, and the section they belong to.

use crate::read::fields::{ByteOrder, Clock};
use crate::read::journal::{Found, Journal, kinds};
use crate::read::window::{narrowed, widened};
use crate::{LinkType, Section};
use fairwind_units::Instant;
use std::num::NonZeroU32;

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
    fn read(&mut self) -> Result<Read<'a>, UnreadableOption> {
        let code = self.order.u16_at(self.bytes, 0).ok_or(UnreadableOption)?;
        let length = usize::from(self.order.u16_at(self.bytes, 2).ok_or(UnreadableOption)?);
        if code == 0 {
            return Ok(Read::End);
        }
        let value = self.bytes.get(4..4 + length).ok_or(UnreadableOption)?;
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
pub(super) struct UnreadableOption;

impl<'a> Iterator for Options<'a> {
    type Item = Result<FileOption<'a>, UnreadableOption>;

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
pub(super) struct DescribedInterface {
    pub(super) clock: Clock,
    pub(super) interface: InterfaceDescription,
    pub(super) are_options_readable: bool,
}

/// What the body of an interface description says; `None` where it is too short.
pub(super) fn parse_interface(body: &[u8], order: ByteOrder) -> Option<DescribedInterface> {
    let link = order.u16_at(body, 0)?;
    let snap_length = order.u32_at(body, 4)?;
    let mut described = DescribedInterface {
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
            Err(UnreadableOption) => described.are_options_readable = false,
        }
    }
    Some(described)
}

/// What the body of a section header says of its origin, and whether all of it could be read.
pub(super) fn parse_section(body: &[u8], order: ByteOrder) -> (Section, bool) {
    let mut section = Section::default();
    let mut are_options_readable = true;
    for option in Options::new(body.get(16..).unwrap_or_default(), order) {
        match option {
            Ok((1, text)) => section.comment = Some(words(text)),
            Ok((2, text)) => section.hardware = Some(words(text)),
            Ok((3, text)) => section.operating_system = Some(words(text)),
            Ok((4, text)) => section.application = Some(words(text)),
            Ok(_) => {}
            Err(UnreadableOption) => are_options_readable = false,
        }
    }
    (section, are_options_readable)
}

/// Packets that an interface says to have missed: by the machine (`isb_ifdrop`) and by the operating
/// system (`isb_osdrop`), since the capture began.
pub(super) fn parse_missed(body: &[u8], order: ByteOrder) -> u64 {
    let number = |value: &[u8]| order.u64_at(value, 0).unwrap_or_default();
    let options = Options::new(body.get(12..).unwrap_or_default(), order).flatten();
    let drops = options.filter(|(code, _)| matches!(code, 5 | 7)).map(|(_, value)| number(value));
    drops.fold(0, u64::saturating_add)
}

/// Packets that were missed before this one, by its own word (option `epb_dropcount`).
#[cold]
pub(super) fn parse_missed_before(options: &[u8], order: ByteOrder) -> u64 {
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

/// Interfaces that one section may have; more are not read.
const MOST_INTERFACES: usize = 1 << 16;

/// Interfaces and sections with available descriptions.
const MOST_DESCRIPTIONS: usize = 1024;

/// What a file says of one of its sections.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SectionDescription {
    /// Its origin.
    pub section: Section,
    /// Those of its interfaces that can be read, in their order; at most the first 1024 of a file.
    pub interfaces: Vec<InterfaceDescription>,
}

/// An interface as its packets need it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Point {
    pub(super) clock: Clock,
    pub(super) link: LinkType,
    snap_length: u32,
    /// Packets that it has said to have missed so far.
    missed: u64,
}

/// The section that is being read, and what those before said of themselves.
#[derive(Debug)]
pub(super) struct CurrentSection {
    pub(super) order: ByteOrder,
    /// `None` for one with an unreadable description, which still counts.
    points: Vec<Option<Point>>,
    descriptions: Vec<SectionDescription>,
    described_interfaces: usize,
}

impl CurrentSection {
    pub(super) fn new(order: ByteOrder) -> Self {
        Self { order, points: Vec::new(), descriptions: Vec::new(), described_interfaces: 0 }
    }

    pub(super) fn descriptions(&self) -> &[SectionDescription] {
        &self.descriptions
    }

    #[inline]
    pub(super) fn point(&self, interface: u32) -> Option<&Point> {
        self.points.get(narrowed(interface))?.as_ref()
    }

    /// A section begins, and forgets the interfaces of the one before.
    pub(super) fn begin(
        &mut self,
        body: &[u8],
        order: ByteOrder,
        offset: u64,
        journal: &mut Journal,
    ) {
        self.order = order;
        self.points.clear();
        let (section, are_options_readable) = parse_section(body, order);
        if !are_options_readable {
            journal.note(kinds::OPTIONS, offset, || "of a section header".to_owned());
        }
        if self.descriptions.len() < MOST_DESCRIPTIONS {
            self.descriptions.push(SectionDescription { section, interfaces: Vec::new() });
        }
    }

    pub(super) fn add_interface(&mut self, body: &[u8], offset: u64, journal: &mut Journal) {
        if self.points.len() >= MOST_INTERFACES {
            journal.note(kinds::TOO_MANY_INTERFACES, offset, String::new);
            return;
        }
        let described = parse_interface(body, self.order);
        match &described {
            None => {
                let which = || "of an interface without fields".to_owned();
                journal.note(kinds::OPTIONS, offset, which);
            }
            Some(described) if !described.are_options_readable => {
                journal.note(kinds::OPTIONS, offset, || "of an interface".to_owned());
            }
            Some(_) => {}
        }
        self.points.push(described.as_ref().map(|described| Point {
            clock: described.clock,
            link: described.interface.link,
            snap_length: described.interface.snap_length.map_or(u32::MAX, NonZeroU32::get),
            missed: 0,
        }));
        self.describe(described.map(|described| described.interface));
    }

    /// Keeps the description of an interface; an unreadable one has none.
    fn describe(&mut self, interface: Option<InterfaceDescription>) {
        if self.described_interfaces < MOST_DESCRIPTIONS
            && let (Some(section), Some(interface)) = (self.descriptions.last_mut(), interface)
        {
            self.described_interfaces += 1;
            section.interfaces.push(interface);
        }
    }

    /// Statistics count from the beginning of the capture, so only new losses are noted.
    pub(super) fn note_statistics(&mut self, body: &[u8], offset: u64, journal: &mut Journal) {
        let missed = parse_missed(body, self.order);
        let interface = self.order.u32_at(body, 0).unwrap_or(u32::MAX);
        let point = self.points.get_mut(narrowed(interface)).and_then(Option::as_mut);
        let Some(point) = point else { return };
        let new = missed.saturating_sub(point.missed);
        point.missed = missed.max(point.missed);
        if new > 0 {
            journal.note_many(kinds::MISSED, new, offset, || format!("on interface {interface}"));
        }
    }

    /// An enhanced packet that is not as usual.
    pub(super) fn enhanced(
        &self,
        body: &[u8],
        offset: u64,
        journal: &mut Journal,
    ) -> Option<Found> {
        let field = |at| self.order.u32_at(body, at);
        let (interface, high, low) = (field(0)?, field(4)?, field(8)?);
        let lengths = Lengths { captured: field(12)?, original: field(16)?, at: 20 };
        self.timed(interface, (high, low), lengths, body, offset, journal)
    }

    /// A packet of the block that the enhanced one has replaced.
    pub(super) fn obsolete(
        &self,
        body: &[u8],
        offset: u64,
        journal: &mut Journal,
    ) -> Option<Found> {
        let field = |at| self.order.u32_at(body, at);
        let interface = self.order.u16_at(body, 0)?;
        let missed = self.order.u16_at(body, 2)?;
        // All ones mean unknown.
        if missed != 0 && missed != u16::MAX {
            journal.note_many(kinds::MISSED, missed.into(), offset, String::new);
        }
        let lengths = Lengths { captured: field(12)?, original: field(16)?, at: 20 };
        self.timed(interface.into(), (field(4)?, field(8)?), lengths, body, offset, journal)
    }

    /// A packet that says no time, of the first interface.
    pub(super) fn simple(
        &self,
        body: &[u8],
        offset: u64,
        at: Instant,
        journal: &mut Journal,
    ) -> Option<Found> {
        let original = self.order.u32_at(body, 0)?;
        let Some(point) = self.point(0) else {
            unknown_interface(0, offset, journal);
            return None;
        };
        journal.note(kinds::NO_TIME, offset, String::new);
        let room = u32::try_from(body.len().saturating_sub(4)).unwrap_or(u32::MAX);
        let captured = original.min(point.snap_length).min(room);
        let lengths = Lengths { captured, original, at: 4 };
        found(at, 0, point, lengths, body, offset, journal)
    }

    fn timed(
        &self,
        interface: u32,
        (high, low): (u32, u32),
        lengths: Lengths,
        body: &[u8],
        offset: u64,
        journal: &mut Journal,
    ) -> Option<Found> {
        let Some(point) = self.point(interface) else {
            unknown_interface(interface, offset, journal);
            return None;
        };
        let at = point.clock.instant(u64::from(high) << 32 | u64::from(low));
        found(at, interface, point, lengths, body, offset, journal)
    }
}

/// What a block says of its packet's lengths, and where in the body it begins.
#[derive(Debug, Clone, Copy)]
struct Lengths {
    captured: u32,
    original: u32,
    at: usize,
}

fn unknown_interface(interface: u32, offset: u64, journal: &mut Journal) {
    journal.note(kinds::UNKNOWN_INTERFACE, offset, || format!("interface {interface}"));
}

/// A packet with bytes that begin so many bytes behind the block's head.
fn found(
    at: Instant,
    interface: u32,
    point: &Point,
    lengths: Lengths,
    body: &[u8],
    offset: u64,
    journal: &mut Journal,
) -> Option<Found> {
    let Lengths { captured, original, at: start } = lengths;
    let room = widened(body.len().saturating_sub(start));
    if captured > LARGEST_CAPTURED_BYTES || u64::from(captured) > room {
        journal.note(kinds::DAMAGED, offset, || {
            format!("a packet keeps {captured} bytes, but its block has room for {room}")
        });
        return None;
    }
    if captured > original {
        journal.note_longer_than_packet(captured, original, offset);
    }
    let is_possible = original < LARGEST_PACKET_BYTES;
    if !is_possible {
        journal.note(kinds::LENGTH_ON_LINK, offset, || format!("{original} bytes"));
    }
    Some(Found {
        at,
        link: point.link,
        interface,
        original_bytes: if is_possible { original.max(captured) } else { captured }.into(),
        start,
        length: narrowed(captured),
        offset,
    })
}
