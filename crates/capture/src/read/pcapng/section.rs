//! A section of a pcapng file: its interfaces, and the blocks that need to know them.

use super::super::clock::Clock;
use super::super::journal::{Found, Journal};
use super::super::kinds;
use super::super::order::ByteOrder;
use super::super::window::{narrowed, widened};
use super::blocks::{self, InterfaceDescription, LARGEST_CAPTURED_BYTES, LARGEST_PACKET_BYTES};
use crate::{LinkType, Section};
use fairwind_units::Instant;
use std::num::NonZeroU32;

/// Interfaces that one section may have; more are not read.
const MOST_INTERFACES: usize = 1 << 16;

/// Interfaces and sections that are described to whoever asks.
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
    /// `None` for one whose description cannot be read, which counts all the same.
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
        let (section, are_options_readable) = blocks::section(body, order);
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
        let described = blocks::interface(body, self.order);
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

    /// Keeps what is told of an interface to whoever asks; of one that cannot be read there is nothing.
    fn describe(&mut self, interface: Option<InterfaceDescription>) {
        if self.described_interfaces < MOST_DESCRIPTIONS
            && let (Some(section), Some(interface)) = (self.descriptions.last_mut(), interface)
        {
            self.described_interfaces += 1;
            section.interfaces.push(interface);
        }
    }

    /// Statistics count from the beginning of the capture, so only what is new is told.
    pub(super) fn note_statistics(&mut self, body: &[u8], offset: u64, journal: &mut Journal) {
        let missed = blocks::missed(body, self.order);
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
        // All ones say that nobody knows.
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

/// A packet whose bytes begin so many bytes behind the block's head.
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
            format!("a packet is said to keep {captured} bytes, and its block has room for {room}")
        });
        return None;
    }
    if captured > original {
        journal.note(kinds::LONGER_THAN_PACKET, offset, || {
            format!("{captured} bytes of a packet of {original}")
        });
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
