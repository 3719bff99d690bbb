//! One open file, whichever format it has.

use super::error::{ReadError, SAMPLE_BYTES, guess};
use super::fields::ByteOrder;
use super::journal::{Journal, Step};
use super::kinds;
use super::pcap::{FILE_HEADER_BYTES, PcapReader};
use super::pcapng::{PcapNgReader, SectionDescription};
use super::window::{CAPACITY_BYTES, Fill, Window, unpacked};

/// Bytes of records that are looked at to tell variants of pcap: two small packets or more. Of a pipe no
/// more is waited for.
const FIRST_RECORDS_BYTES: usize = 256;

/// One file that is being read.
pub(crate) struct CaptureFile {
    pub(crate) window: Window,
    format: Format,
}

/// The format of a file.
enum Format {
    /// Too little has been written to tell.
    Unknown,
    Pcap(PcapReader),
    PcapNg(PcapNgReader),
}

impl CaptureFile {
    /// Looks at the beginning of a file, and through its compression.
    pub(crate) fn new(window: Window, journal: &mut Journal) -> Result<Self, ReadError> {
        let window = unpacked(window)
            .map_err(|source| ReadError::Read { file: journal.file.to_string(), source })?;
        let mut file = Self { window, format: Format::Unknown };
        file.format = file.detect(journal)?;
        Ok(file)
    }

    /// The next frame.
    #[expect(clippy::inline_always, reason = "a frame that was found stays in registers")]
    #[inline(always)]
    pub(crate) fn step(&mut self, journal: &mut Journal) -> Step {
        let step = if let Format::Pcap(reader) = &mut self.format {
            reader.step(&mut self.window, journal)
        } else {
            self.step_otherwise(journal)
        };
        if matches!(step, Step::End) {
            self.note_failure(journal);
        }
        step
    }

    /// The next frame of a file of another format than the simplest.
    #[inline(never)]
    fn step_otherwise(&mut self, journal: &mut Journal) -> Step {
        match &mut self.format {
            Format::Pcap(reader) => reader.step(&mut self.window, journal),
            Format::PcapNg(reader) => reader.step(&mut self.window, journal),
            Format::Unknown => self.detect_late(journal),
        }
    }

    /// No more is going to be written to the file. Whether that is new: a stream ends when it says so.
    pub(crate) fn ends(&mut self) -> bool {
        self.window.ends()
    }

    /// What the file says of its sections so far; a pcap file is one with one interface.
    pub(crate) fn sections(&self) -> &[SectionDescription] {
        match &self.format {
            Format::PcapNg(reader) => reader.sections(),
            Format::Pcap(reader) => std::slice::from_ref(reader.description()),
            Format::Unknown => &[],
        }
    }

    fn detect(&mut self, journal: &mut Journal) -> Result<Format, ReadError> {
        let fill = self.window.fill(FILE_HEADER_BYTES);
        let rest = self.window.rest();
        if rest.first_chunk().is_some_and(PcapNgReader::begins) {
            let mut reader = PcapNgReader::new();
            reader.read_front(&mut self.window, journal);
            return Ok(Format::PcapNg(reader));
        }
        if let Some(reader) = rest.first_chunk().and_then(PcapReader::from_header) {
            self.window.fill(FILE_HEADER_BYTES + FIRST_RECORDS_BYTES);
            self.window.consume(FILE_HEADER_BYTES);
            let records = self.window.rest();
            let records = &records[..records.len().min(FIRST_RECORDS_BYTES)];
            return Ok(Format::Pcap(reader.with_fitting_records(records)));
        }
        if fill == Fill::Waiting && may_begin(rest) {
            return Ok(Format::Unknown);
        }
        if let Some((beginning, what)) = salvage(&mut self.window) {
            journal.note(kinds::BEGINNING, 0, || what);
            return Ok(match beginning {
                Beginning::Pcap(reader) => Format::Pcap(reader),
                Beginning::PcapNg(mut reader) => {
                    reader.read_front(&mut self.window, journal);
                    Format::PcapNg(reader)
                }
            });
        }
        Err(self.refusal(journal))
    }

    /// Why nothing can be read.
    fn refusal(&mut self, journal: &Journal) -> ReadError {
        self.window.fill(SAMPLE_BYTES);
        let file = journal.file.to_string();
        if let Some(source) = self.window.take_failure() {
            return ReadError::Read { file, source };
        }
        if self.window.rest().is_empty() {
            return ReadError::Empty { file };
        }
        let guess = guess(self.window.rest());
        ReadError::NotACapture { file, seems: guess.seems.into(), advice: guess.advice.into() }
    }

    /// Looks again at the beginning of a file that was too short before.
    #[cold]
    fn detect_late(&mut self, journal: &mut Journal) -> Step {
        let window = std::mem::replace(&mut self.window, Window::of_nothing());
        match Self::new(window, journal) {
            Ok(file) => *self = file,
            Err(error) => {
                journal.note(kinds::NOT_READ, 0, || error.to_string());
                return Step::End;
            }
        }
        match self.format {
            Format::Unknown => Step::Wait,
            Format::Pcap(_) | Format::PcapNg(_) => self.step(journal),
        }
    }

    #[cold]
    fn note_failure(&mut self, journal: &mut Journal) {
        if let Some(error) = self.window.take_failure() {
            journal.note(kinds::READING_FAILED, self.window.offset(), || error.to_string());
        }
    }
}

/// First bytes of captures, plain and compressed.
const BEGINNINGS: [&[u8]; 9] = [
    &[0xa1, 0xb2, 0xc3, 0xd4],
    &[0xd4, 0xc3, 0xb2, 0xa1],
    &[0xa1, 0xb2, 0x3c, 0x4d],
    &[0x4d, 0x3c, 0xb2, 0xa1],
    &[0xa1, 0xb2, 0xcd, 0x34],
    &[0x34, 0xcd, 0xb2, 0xa1],
    &[0x0a, 0x0d, 0x0d, 0x0a],
    &[0x1f, 0x8b],
    &[0x28, 0xb5, 0x2f, 0xfd],
];

/// Whether a file that has so few bytes yet may become a capture.
fn may_begin(bytes: &[u8]) -> bool {
    BEGINNINGS.iter().any(|known| bytes.iter().zip(*known).all(|(byte, known)| byte == known))
}

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
