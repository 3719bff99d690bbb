//! Inputs: files in the order of their packets, each opened in the format that it has.

use super::error::{ReadError, SAMPLE_BYTES, guess};
use super::fields::ByteOrder;
use super::journal::{Journal, Step, kinds};
use super::pcap::{FILE_HEADER_BYTES, PcapReader};
use super::pcapng::{PcapNgReader, SectionDescription};
use super::window::{CAPACITY_BYTES, CountingSource, EndOfWindow, Fill, Source, Window, unpacked};
use fairwind_units::Instant;
use std::collections::{BTreeSet, VecDeque};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Something that packets are read from.
pub enum Input {
    /// A file, or a folder with the files that one capture was rotated through.
    Path(PathBuf),
    /// Standard input.
    Standard,
    /// Any other source of bytes.
    Source {
        /// What messages call it.
        name: String,
        /// Its bytes.
        bytes: Box<dyn Read + Send>,
    },
}

impl Input {
    /// The input that a command line names: `-` is standard input.
    pub fn named(name: &str) -> Self {
        if name == "-" { Self::Standard } else { Self::Path(name.into()) }
    }
}

impl std::fmt::Debug for Input {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Path(path) => f.debug_tuple("Path").field(path).finish(),
            Self::Standard => f.write_str("Standard"),
            Self::Source { name, .. } => f.debug_tuple("Source").field(name).finish(),
        }
    }
}

/// What happens at the end of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EndOfFile {
    /// It is the end.
    #[default]
    Final,
    /// More may be written to it, or to a new file in the same folder. Compressed files and pipes end
    /// nevertheless; a file written again under a name that was read already is not read.
    Followed,
}

/// A file that is still to be read.
enum Waiting {
    File(PathBuf),
    Stream(Arc<str>, Source),
}

/// The files of an input, those that are still to be read first.
pub(crate) struct Queue {
    waiting: VecDeque<Waiting>,
    /// Folders in which new files may appear, and the files of them that are known.
    folders: Vec<PathBuf>,
    known: BTreeSet<PathBuf>,
    ending: EndOfFile,
    /// Bytes that were read of files as they are stored, and how many they have if that is known.
    pub(crate) read: Arc<AtomicU64>,
    pub(crate) total: Option<u64>,
}

impl Queue {
    /// Files in the order of their first packets, then of their names; streams behind them.
    pub(crate) fn new(
        inputs: Vec<Input>,
        ending: EndOfFile,
        journal: &mut Journal,
    ) -> Result<Self, ReadError> {
        if inputs.is_empty() {
            return Err(ReadError::NoInput);
        }
        let mut queue = Self {
            waiting: VecDeque::new(),
            folders: Vec::new(),
            known: BTreeSet::new(),
            ending,
            read: Arc::default(),
            total: Some(0),
        };
        let (mut named, mut found, mut streams) = (Vec::new(), Vec::new(), Vec::new());
        for input in inputs {
            match input {
                Input::Path(path) if path.is_dir() => {
                    found.extend(queue.add_folder(path, journal)?);
                }
                // What can be read only once, such as a named pipe, is not looked at beforehand.
                Input::Path(path) if path.exists() && !path.is_file() => {
                    let file = File::open(&path).map_err(|source| ReadError::Open {
                        file: path.display().to_string(),
                        source,
                    })?;
                    streams.push(Waiting::Stream(name_of(&path), Box::new(file)));
                }
                Input::Path(path) => named.push(path),
                Input::Standard => {
                    streams
                        .push(Waiting::Stream("standard input".into(), Box::new(std::io::stdin())));
                }
                Input::Source { name, bytes } => {
                    streams.push(Waiting::Stream(name.into(), bytes));
                }
            }
        }
        if !streams.is_empty() {
            queue.total = None;
        }
        // A single file is judged when it is opened.
        if found.is_empty() && named.len() == 1 {
            found.extend(named.into_iter().map(|path| (None, path)));
        } else {
            for path in named {
                found.push((first_instant(&path, ending)?, path));
            }
        }
        queue.add_files(found);
        queue.waiting.extend(streams);
        Ok(queue)
    }

    /// Whether new files may come.
    pub(crate) fn is_watching(&self) -> bool {
        self.ending == EndOfFile::Followed && !self.folders.is_empty()
    }

    /// Whether there is another file; looks for new ones in the folders.
    pub(crate) fn has_next(&mut self, journal: &mut Journal) -> bool {
        if self.waiting.is_empty() && self.is_watching() {
            let mut new: Vec<PathBuf> =
                self.folders.iter().flat_map(|folder| files_in(folder)).collect();
            new.retain(|path| !self.known.contains(path));
            let new = self.captures_among(new, journal);
            self.add_files(new);
        }
        !self.waiting.is_empty()
    }

    /// Opens the next file, if there is one.
    pub(crate) fn open_next(
        &mut self,
        journal: &mut Journal,
    ) -> Option<Result<CaptureFile, ReadError>> {
        let next = self.waiting.pop_front()?;
        Some(match next {
            Waiting::File(path) => {
                journal.begin(name_of(&path));
                open(&path, self.ending, Some(self.read.clone()))
                    .and_then(|window| CaptureFile::new(window, journal))
            }
            Waiting::Stream(name, source) => {
                journal.begin(name);
                let source = Box::new(CountingSource::new(source, self.read.clone()));
                CaptureFile::new(Window::new(source, EndOfWindow::Ends), journal)
            }
        })
    }

    /// The captures in a folder, which is looked into again where captures are followed.
    fn add_folder(
        &mut self,
        folder: PathBuf,
        journal: &mut Journal,
    ) -> Result<Vec<DatedFile>, ReadError> {
        if let Err(source) = std::fs::read_dir(&folder) {
            return Err(ReadError::Open { file: folder.display().to_string(), source });
        }
        let all = files_in(&folder);
        let count = all.len();
        let captures = self.captures_among(all, journal);
        if captures.is_empty() && self.ending == EndOfFile::Final {
            let folder = folder.display().to_string();
            return Err(ReadError::NothingInFolder { folder, files: count });
        }
        self.folders.push(folder);
        Ok(captures)
    }

    /// Files that can be read; the others are noted. Where captures are followed, a file without bytes is
    /// not there yet: it must not end the one before.
    fn captures_among(&mut self, files: Vec<PathBuf>, journal: &mut Journal) -> Vec<DatedFile> {
        let mut captures = Vec::new();
        for path in files {
            if self.ending == EndOfFile::Followed && size_of(&path) == Some(0) {
                continue;
            }
            match first_instant(&path, self.ending) {
                Ok(first) => captures.push((first, path)),
                Err(error) => {
                    journal.note_of_another(name_of(&path), kinds::NOT_READ, error.to_string());
                    self.known.insert(path);
                }
            }
        }
        captures
    }

    /// Puts files behind those that wait, in the order of their first packets, then of their names. One
    /// without packets is the last: where captures are followed, packets are still to come into it.
    fn add_files(&mut self, mut files: Vec<DatedFile>) {
        files.sort_by_cached_key(|(first, path)| (first.is_none(), *first, path.clone()));
        for (_, path) in files {
            let both = self.total.zip(size_of(&path));
            self.total = both.map(|(total, bytes)| total.saturating_add(bytes));
            self.known.insert(path.clone());
            self.waiting.push_back(Waiting::File(path));
        }
    }
}

/// A file, and when its first packet was captured; `None` where it has none yet, or was not looked into.
type DatedFile = (Option<Instant>, PathBuf);

/// The files in a folder, not those in folders of it, in the order of their names.
fn files_in(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = paths.filter(|path| path.is_file()).collect();
    files.sort();
    files
}

/// Bytes of a regular file.
fn size_of(path: &Path) -> Option<u64> {
    let metadata = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file);
    metadata.map(|metadata| metadata.len())
}

/// When the first packet of a file was captured; `None` where it has none yet.
fn first_instant(path: &Path, ending: EndOfFile) -> Result<Option<Instant>, ReadError> {
    let mut journal = Journal::new(name_of(path));
    let mut file = CaptureFile::new(open(path, ending, None)?, &mut journal)?;
    Ok(match file.step(&mut journal) {
        Step::Frame => Some(journal.found.at),
        Step::Wait | Step::End => None,
    })
}

fn open(path: &Path, ending: EndOfFile, read: Option<Arc<AtomicU64>>) -> Result<Window, ReadError> {
    let failed = |source| ReadError::Open { file: path.display().to_string(), source };
    let file = File::open(path).map_err(failed)?;
    let is_regular = file.metadata().map_err(failed)?.is_file();
    let at_end = match ending {
        EndOfFile::Followed if is_regular => EndOfWindow::Grows,
        EndOfFile::Final | EndOfFile::Followed => EndOfWindow::Ends,
    };
    let source: Source = match read {
        Some(read) => Box::new(CountingSource::new(Box::new(file), read)),
        None => Box::new(file),
    };
    Ok(Window::new(source, at_end))
}

fn name_of(path: &Path) -> Arc<str> {
    path.display().to_string().into()
}

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
    /// Too little has been written to decide.
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

/// A section, or an interface of a section with a damaged header.
fn blocks(bytes: &[u8]) -> Option<PcapNgReader> {
    let orders = [ByteOrder::Little, ByteOrder::Big];
    orders.into_iter().map(PcapNgReader::in_order).find(|reader| reader.can_begin_file(bytes))
}
