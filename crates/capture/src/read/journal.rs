//! Journal of a reader: its position in a file, and its notes on the file.

use super::window::{CAPACITY_BYTES, Fill, Window};
use crate::{Location, NoteKind, Notes};
use fairwind_units::Instant;
use std::sync::Arc;

/// A frame that was found: where its bytes are in the window, and what its record says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found {
    pub(crate) at: Instant,
    pub(crate) link: crate::LinkType,
    pub(crate) interface: u32,
    /// Wide, so that it is not copied in one with its neighbour: read as one what was written as two, both
    /// would have to wait until they are in the cache.
    pub(crate) original_bytes: u64,
    /// Where in the window's buffer its bytes are.
    pub(crate) start: usize,
    pub(crate) length: usize,
    /// Where in the file its record begins.
    pub(crate) offset: u64,
}

impl Found {
    /// Nothing was found yet.
    const NONE: Self = Self {
        at: Instant::ZERO,
        link: crate::LinkType::Raw,
        interface: 0,
        original_bytes: 0,
        start: 0,
        length: 0,
        offset: 0,
    };
}

/// Result of one step of a reader.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step {
    /// A frame, which stands in the journal: so large a value would be copied several times on its way.
    Frame,
    /// The file has not grown far enough.
    Wait,
    End,
}

/// Notes about one file.
#[derive(Debug)]
pub(crate) struct Journal {
    pub(crate) notes: Notes,
    pub(crate) file: Arc<str>,
    /// Frames handed out of this file.
    pub(crate) frames: u64,
    /// The last frame that was found.
    pub(crate) found: Found,
    /// Where reading lost its way, until it goes on.
    lost_at: Option<u64>,
}

impl Journal {
    pub(crate) fn new(file: Arc<str>) -> Self {
        Self { notes: Notes::NONE, file, frames: 0, found: Found::NONE, lost_at: None }
    }

    /// Another file begins.
    pub(crate) fn begin(&mut self, file: Arc<str>) {
        self.file = file;
        self.frames = 0;
        self.lost_at = None;
    }

    /// Something odd about what begins at `offset`.
    pub(crate) fn note(&mut self, kind: NoteKind, offset: u64, detail: impl FnOnce() -> String) {
        self.note_many(kind, 1, offset, detail);
    }

    pub(crate) fn note_many(
        &mut self,
        kind: NoteKind,
        count: u64,
        offset: u64,
        detail: impl FnOnce() -> String,
    ) {
        let place = || Location { file: self.file.clone(), offset, packet: self.frames + 1 };
        self.notes.record_many(kind, count, || (place(), detail()));
    }

    /// A record keeps more bytes than its packet is said to have had.
    #[cold]
    pub(crate) fn note_longer_than_packet(&mut self, captured: u32, original: u32, offset: u64) {
        self.note(kinds::LONGER_THAN_PACKET, offset, || {
            format!("{captured} bytes of a packet of {original}")
        });
    }

    /// Something about a file as a whole that is not the one that is being read.
    pub(crate) fn note_of_another(&mut self, file: Arc<str>, kind: NoteKind, detail: String) {
        let place = Location { file, offset: 0, packet: 1 };
        self.notes.record_many(kind, 1, || (place, detail));
    }

    /// The bytes at the window's beginning are impossible; noted once until reading goes on.
    pub(crate) fn lost(&mut self, window: &Window, why: impl FnOnce() -> String) {
        if self.lost_at.is_none() {
            self.lost_at = Some(window.offset());
            self.note(kinds::DAMAGED, window.offset(), why);
        }
    }

    /// Reading goes on at the window's beginning, or has come to the end.
    pub(crate) fn found_again(&mut self, window: &Window) {
        if let Some(from) = self.lost_at.take() {
            let passed_over = window.offset().saturating_sub(from);
            self.note_many(kinds::BYTES_PASSED_OVER, passed_over, from, String::new);
        }
    }

    /// The file ends in mid-record; goes over what there is of it.
    pub(crate) fn cut_off(&mut self, window: &mut Window, wanted: usize) {
        let there = window.rest().len();
        self.note(kinds::CUT_OFF, window.offset(), || {
            format!("{there} of at least {wanted} bytes are there")
        });
        window.consume(there);
    }
}

/// Bytes beyond a candidate that are in memory when it is judged, unless the file ends before: enough
/// for a record of the largest size and the beginning of the next.
const LOOK_AHEAD_BYTES: usize = CAPACITY_BYTES / 2;

/// How a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Search {
    /// The window begins where reading can go on.
    Found,
    /// There is nothing more; the window is at the end.
    Ended,
    /// The written part has no such place.
    Waiting,
}

/// Notes that the bytes at the window's beginning are impossible, and why, and goes on to the next place that
/// is a `beginning`. `None` where reading can go on there.
pub(crate) fn go_on_behind_damage(
    window: &mut Window,
    journal: &mut Journal,
    why: impl FnOnce() -> String,
    beginning: impl FnMut(&[u8]) -> bool,
) -> Option<Step> {
    journal.lost(window, why);
    let search = search(window, beginning);
    if search == Search::Waiting {
        return Some(Step::Wait);
    }
    journal.found_again(window);
    (search == Search::Ended).then_some(Step::End)
}

/// Goes on, at least by one byte, to the first place that is a `beginning`, which is asked about the bytes
/// from a place on.
///
/// Each place is judged once or, where a growing file is waited for, once per call; a judgement looks at a
/// bounded number of records.
fn search(window: &mut Window, mut beginning: impl FnMut(&[u8]) -> bool) -> Search {
    let mut from = 1;
    loop {
        let fill = window.fill(CAPACITY_BYTES);
        let rest = window.reach();
        let until = match fill {
            Fill::Ready => rest.len().saturating_sub(LOOK_AHEAD_BYTES),
            Fill::Ended | Fill::Waiting => rest.len(),
        };
        let places = from..until;
        if let Some(place) = places.into_iter().find(|&place| beginning(&rest[place..])) {
            window.consume(place);
            return Search::Found;
        }
        match fill {
            Fill::Ready => {
                window.consume(until);
                from = 0;
            }
            Fill::Ended => {
                window.consume(until);
                return Search::Ended;
            }
            Fill::Waiting => return Search::Waiting,
        }
    }
}

/// Kinds of notes on capture files that are read nevertheless.
pub mod kinds {
    use crate::NoteKind;

    macro_rules! kinds {
        ($($(#[$doc:meta])* $kind:ident: $name:literal, $one:literal, $many:literal, $says:literal;)*) => {
            $($(#[$doc])* pub const $kind: NoteKind = NoteKind::new($name, $says, $one, $many);)*
        };
    }

    kinds! {
        /// The file ends within a record or block.
        CUT_OFF: "cut_off", "record", "records",
            "the file ends within a record, perhaps because its writer was stopped";
        /// A record or block has impossible fields; reading went on at the next plausible place.
        DAMAGED: "damaged", "place", "places",
            "record headers are impossible; reading went on at the next plausible one";
        /// Bytes between a damaged place and the one where reading went on.
        BYTES_PASSED_OVER: "bytes_passed_over", "byte", "bytes",
            "bytes after damage were not read";
        /// A record keeps more bytes than the snap length allows.
        BEYOND_SNAP_LENGTH: "beyond_snap_length", "record", "records",
            "records keep more bytes than the file's snap length; they were read completely";
        /// A record keeps more bytes than the packet is said to have had.
        LONGER_THAN_PACKET: "longer_than_packet", "record", "records",
            "records keep more bytes than their packet had; the kept bytes count";
        /// A record says a packet length that cannot be.
        LENGTH_ON_LINK: "length_on_link", "record", "records",
            "records have an impossible length on the link; the kept bytes count";
        /// The fraction of a second is a second or more.
        FRACTION_OF_SECOND: "fraction_of_second", "record", "records",
            "timestamps have a fraction of more than a second, which was added";
        /// A block's two lengths differ.
        TRAILING_LENGTH: "trailing_length", "block", "blocks",
            "blocks have different lengths at their begin and end; the first one was used";
        /// A block's length is no multiple of four.
        UNPADDED_LENGTH: "unpadded_length", "block", "blocks",
            "blocks have a length that is not a multiple of four";
        /// A block of an unknown kind.
        UNKNOWN_BLOCK: "unknown_block", "block", "blocks",
            "blocks of an unknown kind were skipped";
        /// A packet names an interface that its section has not described.
        UNKNOWN_INTERFACE: "unknown_interface", "packet", "packets",
            "packets of an interface that the section does not describe were not read";
        /// More interfaces than are kept.
        TOO_MANY_INTERFACES: "too_many_interfaces", "interface", "interfaces",
            "a section describes more interfaces than are kept; packets of the others are not read";
        /// Options of a block cannot be read.
        OPTIONS: "options", "block", "blocks",
            "options of blocks cannot be read and were skipped";
        /// A packet has no timestamp (pcapng's simple packets).
        NO_TIME: "no_time", "packet", "packets",
            "packets without timestamp have the time of the previous packet";
        /// The beginning of the file is not what a capture begins with, but what follows is.
        BEGINNING: "beginning", "file", "files",
            "the file does not begin like a capture; the rest was read";
        /// Packets that the capture itself missed, by its own word.
        MISSED: "missed", "packet", "packets",
            "according to the file, the capture missed packets";
        /// A timestamp is earlier than the one before.
        TIME_RAN_BACK: "time_ran_back", "packet", "packets",
            "timestamps are earlier than the previous packet";
        /// An hour or more without a packet.
        LONG_SILENCE: "long_silence", "time", "times",
            "an hour or more lies between two packets";
        /// Reading failed.
        READING_FAILED: "reading_failed", "file", "files",
            "reading failed, and the rest of the file is unread";
        /// A file among others that is no capture, or holds nothing.
        NOT_READ: "not_read", "file", "files",
            "files are not captures and were skipped";
    }
}
