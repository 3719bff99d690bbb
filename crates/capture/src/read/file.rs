//! One open file, whichever format it has.

use super::compression::unpacked;
use super::error::ReadError;
use super::guess::{SAMPLE_BYTES, guess};
use super::journal::{Journal, Step};
use super::kinds;
use super::pcap::{FILE_HEADER_BYTES, PcapReader};
use super::pcapng::{PcapNgReader, SectionDescription};
use super::salvage::{Beginning, salvage};
use super::window::{Fill, Window};

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
