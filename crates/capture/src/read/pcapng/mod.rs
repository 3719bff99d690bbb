//! pcapng files: blocks with their length at both ends, in sections that each have a byte order and
//! interfaces of their own.
//!
//! Source: the IETF draft "PCAP Now Generic" (draft-ietf-opsawg-pcapng), sections 3 and 4. Blocks of packets
//! (enhanced, simple and obsolete ones), sections, interfaces and interface statistics are read, all others
//! are passed over.
//!
//! A block is believed at once where its two lengths agree. One with other lengths is believed where a block
//! that can be follows it.

mod blocks;

use super::fields::ByteOrder;
use super::journal::{Found, Journal, Step, go_on_behind_damage, kinds};
use super::window::{CAPACITY_BYTES, Fill, Window, narrowed};
use blocks::{
    CurrentSection, ENHANCED_PACKET, FOOT_BYTES, HEAD_BYTES, LARGEST_CAPTURED_BYTES,
    LARGEST_PACKET_BYTES, SECTION_HEADER,
};
pub use blocks::{InterfaceDescription, SectionDescription};
use fairwind_units::Instant;

/// Bytes of an enhanced packet block without packet and options.
const ENHANCED_BYTES: usize = 32;

/// Bytes of a block that is looked into, at most. Larger ones can only be of a kind that is passed over.
const LARGEST_READ_BYTES: u32 = 1 << 19;

/// Blocks of one pcapng file.
#[derive(Debug)]
pub(crate) struct PcapNgReader {
    section: CurrentSection,
    /// When the last packet was captured, for those that do not say.
    last: Instant,
    /// The last block that was passed over unread, and where it begins.
    passed_over: Option<(Block, u64)>,
}

/// Beginning and length of a block.
#[derive(Debug, Clone, Copy)]
struct Block {
    kind: u32,
    /// As the block says, its head and foot included.
    total: u32,
}

/// What is known of the block at the window's beginning.
enum Next {
    /// It is completely in memory; its size with padding.
    Block(Block, usize),
    /// It was dealt with; the window is behind it.
    Over,
    /// Its fields are impossible.
    Damaged(String),
    Wait,
    End,
}

impl PcapNgReader {
    /// Whether a file that begins so is a pcapng file.
    pub(crate) fn begins(bytes: &[u8; 12]) -> bool {
        let Some((kind, rest)) = bytes.split_first_chunk() else { return false };
        let magic = rest.last_chunk().copied().unwrap_or_default();
        u32::from_be_bytes(*kind) == SECTION_HEADER && blocks::order_of(magic).is_some()
    }

    pub(crate) fn new() -> Self {
        Self::in_order(ByteOrder::Little)
    }

    /// A reader of blocks in this byte order, until a section says another one.
    pub(crate) fn in_order(order: ByteOrder) -> Self {
        Self { section: CurrentSection::new(order), last: Instant::ZERO, passed_over: None }
    }

    /// Whether a section, or an interface and another block, begins here.
    pub(crate) fn can_begin_file(&self, bytes: &[u8]) -> bool {
        let Some(block) = self.head(bytes).filter(|_| self.can_begin(bytes)) else { return false };
        let behind = || bytes.get(narrowed(block.total)..).unwrap_or_default();
        match block.kind {
            SECTION_HEADER => true,
            blocks::INTERFACE_DESCRIPTION => behind().is_empty() || self.can_begin(behind()),
            _ => false,
        }
    }

    /// Reads section and interfaces at the window's beginning, as far as they have been written, so that
    /// they are known before the first packet.
    pub(crate) fn read_front(&mut self, window: &mut Window, journal: &mut Journal) {
        while window.fill(HEAD_BYTES + FOOT_BYTES) == Fill::Ready {
            let Some(block) = self.head(window.rest()) else { break };
            let is_front = matches!(block.kind, SECTION_HEADER | blocks::INTERFACE_DESCRIPTION);
            let size = narrowed(block.total);
            if !is_front || block.total > LARGEST_READ_BYTES || window.fill(size) != Fill::Ready {
                break;
            }
            if self.unusual(window, journal).is_some() {
                break;
            }
        }
    }

    /// What the file says of its sections so far.
    pub(crate) fn sections(&self) -> &[SectionDescription] {
        self.section.descriptions()
    }

    /// The next packet.
    #[inline]
    pub(crate) fn step(&mut self, window: &mut Window, journal: &mut Journal) -> Step {
        loop {
            if self.usual(window, journal).is_some() {
                return Step::Frame;
            }
            if let Some(step) = self.unusual(window, journal) {
                return step;
            }
        }
    }

    /// An enhanced packet of a known interface, in memory as a whole and in order: it is put into the
    /// journal.
    #[inline]
    fn usual(&mut self, window: &mut Window, journal: &mut Journal) -> Option<()> {
        let rest = window.rest();
        let head: &[u8; ENHANCED_BYTES - FOOT_BYTES] = rest.first_chunk()?;
        let order = self.section.order;
        let number = |at: usize| order.u32([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (kind, total, captured) = (number(0), number(4), number(20));
        let size = narrowed(total);
        if kind != ENHANCED_PACKET
            || !total.is_multiple_of(4)
            || size > rest.len()
            || captured > LARGEST_CAPTURED_BYTES
            || number(24) >= LARGEST_PACKET_BYTES
        {
            return None;
        }
        let behind = ENHANCED_BYTES + narrowed(captured).next_multiple_of(4);
        let foot = rest.get(size.wrapping_sub(FOOT_BYTES)..size)?.first_chunk()?;
        if size < behind || order.u32(*foot) != total {
            return None;
        }
        let interface = number(8);
        let point = self.section.point(interface)?;
        let at = point.clock.instant(u64::from(number(12)) << 32 | u64::from(number(16)));
        let link = point.link;
        let original = number(24);
        if size > behind {
            self.note_missed_before(window, size, captured, journal);
        }
        if captured > original {
            journal.note_longer_than_packet(captured, original, window.offset());
        }
        self.last = at;
        let offset = window.offset();
        let start = window.consume(size) + (ENHANCED_BYTES - FOOT_BYTES);
        journal.found = Found {
            at,
            link,
            interface,
            original_bytes: original.max(captured).into(),
            start,
            length: narrowed(captured),
            offset,
        };
        Some(())
    }

    /// Deals with anything else that stands at the window's beginning. `None`: with that done, there is
    /// more.
    #[cold]
    #[inline(never)]
    fn unusual(&mut self, window: &mut Window, journal: &mut Journal) -> Option<Step> {
        match self.next(window, journal) {
            // An enhanced packet may only have been incomplete before.
            Next::Block(block, size) => {
                if self.usual(window, journal).is_none() {
                    journal.found = self.read(block, size, window, journal)?;
                }
                Some(Step::Frame)
            }
            Next::Over => None,
            Next::Wait => Some(Step::Wait),
            Next::End => Some(Step::End),
            Next::Damaged(why) => {
                go_on_behind_damage(window, journal, || why, |bytes| self.can_begin(bytes))
            }
        }
    }

    /// Brings the next block into memory and judges its lengths.
    fn next(&mut self, window: &mut Window, journal: &mut Journal) -> Next {
        let least = HEAD_BYTES + FOOT_BYTES;
        match window.fill(least) {
            Fill::Ready => {}
            Fill::Waiting => return Next::Wait,
            Fill::Ended => {
                if !window.rest().is_empty() {
                    journal.cut_off(window, least);
                }
                self.note_missing_end(window, journal);
                return Next::End;
            }
        }
        let Some(block) = self.head(window.rest()) else {
            return Next::Damaged("a section header without a byte-order magic".to_owned());
        };
        if narrowed(block.total) < least {
            return Next::Damaged(describe(block));
        }
        if block.total > LARGEST_READ_BYTES {
            return self.pass_over(block, window);
        }
        let size = narrowed(block.total);
        match window.fill(size) {
            Fill::Ready => self.judge(block, window, journal),
            Fill::Waiting => Next::Wait,
            Fill::Ended if blocks::is_known(block.kind) && !self.is_more_behind(window) => {
                journal.cut_off(window, size);
                Next::End
            }
            Fill::Ended => Next::Damaged(describe(block)),
        }
    }

    /// A block that is too large to be looked into. None that is looked into can be so large.
    fn pass_over(&mut self, block: Block, window: &mut Window) -> Next {
        let is_looked_into = matches!(block.kind, 1..=3 | 5 | 6 | SECTION_HEADER);
        if is_looked_into || !block.total.is_multiple_of(4) || !blocks::is_known(block.kind) {
            return Next::Damaged(describe(block));
        }
        self.passed_over = Some((block, window.offset()));
        window.skip(u64::from(block.total));
        Next::Over
    }

    /// The file has ended within a block that was passed over, if it has.
    fn note_missing_end(&self, window: &Window, journal: &mut Journal) {
        if let (Some((block, at)), missing @ 1..) = (self.passed_over, window.owed()) {
            journal.note(kinds::CUT_OFF, at, || {
                let there = u64::from(block.total).saturating_sub(missing);
                format!("{there} of {} bytes of a block are there", block.total)
            });
        }
    }

    /// The head of the block that begins `bytes`; a section header says its byte order itself.
    fn head(&self, bytes: &[u8]) -> Option<Block> {
        let order = match bytes.first_chunk() {
            Some(&kind) if u32::from_be_bytes(kind) == SECTION_HEADER => {
                blocks::order_of(*bytes.get(8..)?.first_chunk()?)?
            }
            _ => self.section.order,
        };
        Some(Block { kind: order.u32_at(bytes, 0)?, total: order.u32_at(bytes, 4)? })
    }

    fn order_of(&self, block: Block, bytes: &[u8]) -> ByteOrder {
        let magic = bytes.get(8..).and_then(|magic| magic.first_chunk());
        match magic {
            Some(&magic) if block.kind == SECTION_HEADER => {
                blocks::order_of(magic).unwrap_or(self.section.order)
            }
            _ => self.section.order,
        }
    }

    /// A block that is in memory: whether its lengths can be believed.
    fn judge(&self, block: Block, window: &mut Window, journal: &mut Journal) -> Next {
        let size = narrowed(block.total);
        let foot = self.order_of(block, window.rest()).u32_at(window.rest(), size - FOOT_BYTES);
        let agrees = foot == Some(block.total);
        if agrees && block.total.is_multiple_of(4) {
            return Next::Block(block, size);
        }
        // The next block is judged by its end.
        window.fill(CAPACITY_BYTES);
        let rest = window.reach();
        // A block that begins before the end would be swallowed.
        let places = HEAD_BYTES + FOOT_BYTES..=size.next_multiple_of(4).min(rest.len());
        let next = places.into_iter().find(|&at| at == rest.len() || self.can_begin(&rest[at..]));
        let Some(end) = next.filter(|&end| end >= size) else {
            return Next::Damaged(describe(block));
        };
        if block.total.is_multiple_of(4) {
            journal.note(kinds::TRAILING_LENGTH, window.offset(), || {
                format!("{}, and {} at its end", describe(block), foot.unwrap_or_default())
            });
        } else {
            journal.note(kinds::UNPADDED_LENGTH, window.offset(), || describe(block));
        }
        Next::Block(block, end)
    }

    /// Whether a block with agreeing lengths begins `bytes`.
    fn can_begin(&self, bytes: &[u8]) -> bool {
        let Some(block) = self.head(bytes) else { return false };
        let size = narrowed(block.total);
        if !blocks::is_known(block.kind)
            || size < HEAD_BYTES + FOOT_BYTES
            || !block.total.is_multiple_of(4)
            || block.total > LARGEST_READ_BYTES
        {
            return false;
        }
        self.order_of(block, bytes).u32_at(bytes, size - FOOT_BYTES) == Some(block.total)
    }

    /// Whether the rest of a file, in which a block is said to go on beyond the end, has another block.
    fn is_more_behind(&self, window: &Window) -> bool {
        let rest = window.rest();
        (4..rest.len()).any(|place| self.can_begin(&rest[place..]))
    }

    /// Reads a block that is in memory, and goes over it; hands out the packet if it has one.
    fn read(
        &mut self,
        block: Block,
        size: usize,
        window: &mut Window,
        journal: &mut Journal,
    ) -> Option<Found> {
        let offset = window.offset();
        let order = self.order_of(block, window.rest());
        let body = &window.rest()[HEAD_BYTES..narrowed(block.total) - FOOT_BYTES];
        let packet = match block.kind {
            SECTION_HEADER => {
                self.section.begin(body, order, offset, journal);
                None
            }
            blocks::INTERFACE_DESCRIPTION => {
                self.section.add_interface(body, offset, journal);
                None
            }
            blocks::INTERFACE_STATISTICS => {
                self.section.note_statistics(body, offset, journal);
                None
            }
            ENHANCED_PACKET => self.section.enhanced(body, offset, journal),
            blocks::OBSOLETE_PACKET => self.section.obsolete(body, offset, journal),
            blocks::SIMPLE_PACKET => self.section.simple(body, offset, self.last, journal),
            other => {
                if !blocks::is_known(other) {
                    journal.note(kinds::UNKNOWN_BLOCK, offset, || describe(block));
                }
                None
            }
        };
        let found = packet.map(|packet| {
            self.last = packet.at;
            let start = window.consume(0) + HEAD_BYTES + packet.start;
            Found { start, ..packet }
        });
        window.consume(size);
        found
    }

    #[cold]
    #[inline(never)]
    fn note_missed_before(
        &self,
        window: &Window,
        size: usize,
        captured: u32,
        journal: &mut Journal,
    ) {
        let options = ENHANCED_BYTES - FOOT_BYTES + narrowed(captured).next_multiple_of(4);
        let options = window.rest().get(options..size - FOOT_BYTES).unwrap_or_default();
        let missed = blocks::parse_missed_before(options, self.section.order);
        if missed > 0 {
            journal.note_many(kinds::MISSED, missed, window.offset(), String::new);
        }
    }
}

fn describe(block: Block) -> String {
    format!("a block of type {:#x} has a length of {} bytes", block.kind, block.total)
}
