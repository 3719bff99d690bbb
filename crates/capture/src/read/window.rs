//! Window on a file: the part in memory, in one buffer that is filled by large reads.

use flate2::read::MultiGzDecoder;
use std::io::{Cursor, ErrorKind, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes asked for at once. They fit the second-level cache, so what is read is still there when it
/// is looked at.
const READ_BYTES: usize = 1 << 18;

/// Bytes that the window holds at most: room to look ahead for several records of the largest size.
pub(crate) const CAPACITY_BYTES: usize = 1 << 20;

/// A source of bytes.
pub(crate) type Source = Box<dyn Read + Send>;

/// What a window's end means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndOfWindow {
    /// There is no more.
    Ends,
    /// More may be appended to the file later.
    Grows,
}

/// Whether the requested bytes are in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fill {
    /// It is.
    Ready,
    /// The file ends before.
    Ended,
    /// The file has not grown that far yet.
    Waiting,
}

/// A window that moves over a file from its beginning to its end.
pub(crate) struct Window {
    source: Source,
    buffer: Vec<u8>,
    /// Where in the buffer the unread bytes begin and end.
    start: usize,
    end: usize,
    /// Bytes of the file before those in the buffer.
    before: u64,
    /// Bytes that are gone over as soon as they come; while there are any, no unread ones are in memory.
    owed: u64,
    at_end: EndOfWindow,
    /// The error of a failed source, until it is taken.
    failure: Option<std::io::Error>,
    has_failed: bool,
}

impl Window {
    pub(crate) fn new(source: Source, at_end: EndOfWindow) -> Self {
        Self {
            source,
            buffer: Vec::new(),
            start: 0,
            end: 0,
            before: 0,
            owed: 0,
            at_end,
            failure: None,
            has_failed: false,
        }
    }

    /// The window of an empty file.
    pub(crate) fn of_nothing() -> Self {
        Self::new(Box::new(std::io::empty()), EndOfWindow::Ends)
    }

    /// The file does not grow any more. Whether that is new.
    pub(crate) fn ends(&mut self) -> bool {
        std::mem::replace(&mut self.at_end, EndOfWindow::Ends) == EndOfWindow::Grows
    }

    /// The unread bytes that are in memory.
    #[inline]
    pub(crate) fn rest(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// Bytes of the file before [`Window::rest`].
    #[inline]
    pub(crate) fn offset(&self) -> u64 {
        self.before + widened(self.start)
    }

    /// The unread bytes as far as [`Window::fill`] promises them: how many there are does not depend on the
    /// sizes in which the source gave them.
    pub(crate) fn reach(&self) -> &[u8] {
        let rest = self.rest();
        &rest[..rest.len().min(CAPACITY_BYTES)]
    }

    /// Goes on by `bytes`, at most to the end of what is in memory, and tells where in the buffer they
    /// were.
    #[inline]
    pub(crate) fn consume(&mut self, bytes: usize) -> usize {
        let at = self.start;
        self.start = self.end.min(at.saturating_add(bytes));
        at
    }

    /// Bytes of the buffer, for as long as the window is not filled again.
    #[inline]
    pub(crate) fn bytes(&self, at: usize, length: usize) -> &[u8] {
        self.buffer.get(at..at + length).unwrap_or_default()
    }

    /// Brings at least `wanted` unread bytes into memory, where the file has as many; more than
    /// [`CAPACITY_BYTES`] are never there.
    #[cold]
    #[inline(never)]
    pub(crate) fn fill(&mut self, wanted: usize) -> Fill {
        let wanted = wanted.min(CAPACITY_BYTES);
        while self.owed > 0 || self.end - self.start < wanted {
            self.make_room(wanted);
            match self.read_once() {
                ReadOutcome::Bytes(0) if self.at_end == EndOfWindow::Grows && !self.has_failed => {
                    return Fill::Waiting;
                }
                ReadOutcome::Bytes(0) => return Fill::Ended,
                ReadOutcome::Bytes(bytes) => {
                    self.end += bytes;
                    self.pay();
                }
                ReadOutcome::Interrupted => {}
                ReadOutcome::NothingYet => return Fill::Waiting,
            }
        }
        Fill::Ready
    }

    /// Goes over `bytes` of the file: those in memory at once, the others when they come.
    pub(crate) fn skip(&mut self, bytes: u64) {
        self.owed += bytes;
        self.pay();
    }

    fn pay(&mut self) {
        let here = self.rest().len();
        let step = usize::try_from(self.owed).unwrap_or(usize::MAX).min(here);
        self.consume(step);
        self.owed -= widened(step);
    }

    /// Bytes to go over that have not come.
    pub(crate) const fn owed(&self) -> u64 {
        self.owed
    }

    /// What was wrong with the source, reported once.
    pub(crate) fn take_failure(&mut self) -> Option<std::io::Error> {
        self.failure.take()
    }

    /// The whole rest of the file, read or unread, as a source again.
    pub(crate) fn into_source(self) -> Source {
        let read = self.rest().to_vec();
        Box::new(Cursor::new(read).chain(self.source))
    }

    /// Moves the unread bytes to the beginning, where they are few or `wanted` would not fit, so that
    /// the same memory is used again and again.
    fn make_room(&mut self, wanted: usize) {
        let are_few = self.end - self.start < READ_BYTES / 8;
        if are_few || self.start + wanted.max(READ_BYTES) > self.buffer.len() {
            self.buffer.copy_within(self.start..self.end, 0);
            self.before += widened(self.start);
            self.end -= self.start;
            self.start = 0;
        }
        let needed = wanted.max(self.end + READ_BYTES).next_multiple_of(READ_BYTES);
        if self.buffer.len() < needed {
            self.buffer.resize(needed.min(CAPACITY_BYTES + READ_BYTES), 0);
        }
    }

    /// Reads once.
    fn read_once(&mut self) -> ReadOutcome {
        if self.has_failed {
            return ReadOutcome::Bytes(0);
        }
        let until = self.buffer.len().min(self.end + READ_BYTES);
        match self.source.read(&mut self.buffer[self.end..until]) {
            Ok(bytes) => ReadOutcome::Bytes(bytes),
            Err(error) if error.kind() == ErrorKind::Interrupted => ReadOutcome::Interrupted,
            Err(error) if error.kind() == ErrorKind::WouldBlock => ReadOutcome::NothingYet,
            Err(error) => {
                self.failure = Some(error);
                self.has_failed = true;
                ReadOutcome::Bytes(0)
            }
        }
    }
}

/// Result of one read.
enum ReadOutcome {
    /// Number of bytes; 0 at the end.
    Bytes(usize),
    /// Nothing, since a signal came between.
    Interrupted,
    /// Nothing, since a stream that does not block has nothing yet.
    NothingYet,
}

/// A source that counts the bytes read.
pub(crate) struct CountingSource {
    source: Source,
    read: Arc<AtomicU64>,
}

impl CountingSource {
    pub(crate) fn new(source: Source, read: Arc<AtomicU64>) -> Self {
        Self { source, read }
    }
}

impl Read for CountingSource {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let bytes = self.source.read(buffer)?;
        self.read.fetch_add(widened(bytes), Ordering::Relaxed);
        Ok(bytes)
    }
}

/// A size of memory as a size in a file.
#[inline]
pub(crate) fn widened(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// A size in a file as one of memory; what does not fit is more than there can be.
#[inline]
pub(crate) fn narrowed(bytes: u32) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// A way of compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compression {
    Gzip,
    Zstandard,
}

fn of_beginning(bytes: &[u8]) -> Option<Compression> {
    match *bytes {
        [0x1f, 0x8b, ..] => Some(Compression::Gzip),
        // A frame, or one to skip, which some programs put first.
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => {
            Some(Compression::Zstandard)
        }
        _ => None,
    }
}

/// A window on the decompressed bytes where those of `window` are compressed, or `window` itself. What was
/// compressed twice stays so: a few bytes could become more than anybody can read.
///
/// # Errors
/// Where a decompression cannot begin.
pub(crate) fn unpacked(mut window: Window) -> std::io::Result<Window> {
    window.fill(4);
    match of_beginning(window.rest()) {
        Some(compression) => {
            Ok(Window::new(decoder(compression, window.into_source())?, EndOfWindow::Ends))
        }
        None => Ok(window),
    }
}

fn decoder(compression: Compression, source: Source) -> std::io::Result<Source> {
    Ok(match compression {
        Compression::Gzip => Box::new(SmallReads(MultiGzDecoder::new(source))),
        Compression::Zstandard => Box::new(SmallReads(zstd::stream::read::Decoder::new(source)?)),
    })
}

/// Reads a decoder in small portions: at damage, the output of that call is lost.
struct SmallReads<R>(R);

/// Bytes that are asked for at once.
const SPARING_BYTES: usize = 4096;

impl<R: Read> Read for SmallReads<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = buffer.len().min(SPARING_BYTES);
        self.0.read(&mut buffer[..length])
    }
}
