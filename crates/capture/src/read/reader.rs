//! Reader of one point of observation, in one or more files.

use super::error::ReadError;
use super::input::{CaptureFile, EndOfFile, Input, Queue};
use super::journal::{Journal, Step, kinds};
use super::pcapng::SectionDescription;
use crate::{Frame, Location, Notes};
use fairwind_units::{Instant, Span};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// From here on, time without a packet is noted.
const LONG_SILENCE: Span = Span::from_secs(3_600);

/// What programs of this project call themselves in the files that they write.
const OWN_NAME: &str = "fairwind";

/// What comes next.
#[derive(Debug, Clone, Copy)]
pub enum Next<'a> {
    /// A frame.
    Frame(Frame<'a>),
    /// Nothing yet: the file that is followed has not grown. The caller asks again after a while.
    Wait,
    /// Nothing more.
    End,
}

/// What [`CaptureReader::advance`] has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advance {
    /// A frame.
    Frame,
    /// Nothing yet, as [`Next::Wait`].
    Wait,
    /// Nothing more.
    End,
}

/// How far reading has come, in bytes as they are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes read so far.
    pub read_bytes: u64,
    /// Bytes that all files have; `None` where a stream is among them.
    pub total_bytes: Option<u64>,
}

/// Reads the frames of one point of observation.
///
/// ```no_run
/// use fairwind_capture::{CaptureReader, EndOfFile, Input, Next};
///
/// let mut reader = CaptureReader::open(vec![Input::named("sender.pcap")], EndOfFile::Final)?;
/// let mut bytes = 0;
/// while let Next::Frame(frame) = reader.next() {
///     bytes += u64::from(frame.original_bytes);
/// }
/// for note in reader.notes() {
///     eprintln!("{note}");
/// }
/// # Ok::<(), fairwind_capture::ReadError>(())
/// ```
pub struct CaptureReader {
    queue: Queue,
    current: Option<CaptureFile>,
    journal: Journal,
    /// Frames handed out of all files.
    frames: u64,
    /// When the last frame was captured, and where its record begins.
    last: Instant,
    last_offset: u64,
    /// What finished files say of their sections.
    sections: Vec<SectionDescription>,
}

/// Sections of finished files that are kept.
const MOST_SECTIONS: usize = 1024;

impl CaptureReader {
    /// Opens files that one point of observation was captured to. Several are read one after the other, in
    /// the order of their first packets; streams come last.
    ///
    /// # Errors
    /// Where a file cannot be opened or is no capture. In a folder, such files are only noted.
    pub fn open(inputs: Vec<Input>, ending: EndOfFile) -> Result<Self, ReadError> {
        let mut journal = Journal::new("".into());
        let queue = Queue::new(inputs, ending, &mut journal)?;
        let mut reader = Self {
            queue,
            current: None,
            journal,
            frames: 0,
            last: Instant::ZERO,
            last_offset: 0,
            sections: Vec::new(),
        };
        if let Some(file) = reader.queue.open_next(&mut reader.journal) {
            reader.current = Some(file?);
        }
        Ok(reader)
    }

    /// The next frame. In a file that is followed, a frame may come after [`Next::Wait`].
    #[expect(clippy::should_implement_trait, reason = "an iterator cannot lend out its own bytes")]
    #[inline]
    pub fn next(&mut self) -> Next<'_> {
        match self.advance() {
            Advance::Frame => Next::Frame(self.frame()),
            Advance::Wait => Next::Wait,
            Advance::End => Next::End,
        }
    }

    /// Goes to the next frame, which [`frame`](Self::frame) then gives: as [`next`](Self::next), for those
    /// in a hurry, since a frame that is part of an answer is copied on its way.
    #[expect(clippy::inline_always, reason = "a frame that was found stays in registers")]
    #[inline(always)]
    pub fn advance(&mut self) -> Advance {
        loop {
            let step = match &mut self.current {
                Some(file) => file.step(&mut self.journal),
                None => Step::End,
            };
            match step {
                Step::Frame => {
                    self.pass();
                    return Advance::Frame;
                }
                Step::Wait => {
                    if !self.ends_followed_file() {
                        return self.without_frame(Advance::Wait);
                    }
                }
                Step::End => match self.go_to_next_file() {
                    Turn::Page => {}
                    Turn::Wait => return self.without_frame(Advance::Wait),
                    Turn::End => return self.without_frame(Advance::End),
                },
            }
        }
    }

    /// Whether bytes are in memory that have not been handed out: what [`advance`](Self::advance) does next
    /// then seldom waits.
    #[inline]
    pub fn is_ready(&self) -> bool {
        self.current.as_ref().is_some_and(|file| !file.window.rest().is_empty())
    }

    /// Counts the frame that was found.
    #[inline]
    fn pass(&mut self) {
        let (at, offset) = (self.journal.found.at, self.journal.found.offset);
        let since = at.as_nanos().wrapping_sub(self.last.as_nanos());
        if since > LONG_SILENCE.as_nanos() {
            self.note_time();
        }
        self.last = at;
        self.last_offset = offset;
        self.frames += 1;
        self.journal.frames += 1;
    }

    /// The bytes of the last frame are in memory no more.
    #[cold]
    fn without_frame(&mut self, answer: Advance) -> Advance {
        self.journal.found.length = 0;
        answer
    }

    /// The frame that [`advance`](Self::advance) has reached; one without bytes where it has reached none.
    #[inline]
    pub fn frame(&self) -> Frame<'_> {
        let found = &self.journal.found;
        let bytes = match &self.current {
            Some(file) => file.window.bytes(found.start, found.length),
            None => &[],
        };
        Frame {
            at: found.at,
            link: found.link,
            interface: found.interface,
            original_bytes: u32::try_from(found.original_bytes).unwrap_or(u32::MAX),
            bytes,
            number: self.frames,
            offset: found.offset,
        }
    }

    /// Place of the last frame, for notes about its content.
    pub fn place(&self) -> Location {
        Location {
            file: Arc::clone(&self.journal.file),
            offset: self.last_offset,
            packet: self.journal.frames,
        }
    }

    /// Notes so far.
    pub fn notes(&self) -> &Notes {
        &self.journal.notes
    }

    /// How far reading has come.
    pub fn progress(&self) -> Progress {
        Progress {
            read_bytes: self.queue.read.load(Ordering::Relaxed),
            total_bytes: self.queue.total,
        }
    }

    /// What the files read so far say of their sections and interfaces; a pcap file is a section with one
    /// interface. Those before the
    /// first packet are known at once.
    pub fn sections(&self) -> impl Iterator<Item = &SectionDescription> {
        let current = self.current.as_ref().map_or(&[][..], CaptureFile::sections);
        self.sections.iter().chain(current)
    }

    /// Whether every section so far was written by a program of this project. Two such captures of one run
    /// have the same clock.
    pub fn is_own_capture(&self) -> bool {
        let is_own_capture = |section: &SectionDescription| {
            let application = section.section.application.as_deref().unwrap_or_default();
            let begins = application.get(..OWN_NAME.len());
            begins.is_some_and(|begins| begins.eq_ignore_ascii_case(OWN_NAME))
        };
        self.sections().next().is_some() && self.sections().all(is_own_capture)
    }

    /// A file that is followed has not grown; where there is a newer one, it will not any more. Whether it
    /// is to be read on, to its end.
    #[cold]
    fn ends_followed_file(&mut self) -> bool {
        self.queue.has_next(&mut self.journal)
            && self.current.as_mut().is_some_and(CaptureFile::ends)
    }

    #[cold]
    fn go_to_next_file(&mut self) -> Turn {
        if let Some(file) = self.current.take() {
            let room = MOST_SECTIONS.saturating_sub(self.sections.len());
            self.sections.extend(file.sections().iter().take(room).cloned());
        }
        if !self.queue.has_next(&mut self.journal) {
            return if self.queue.is_watching() { Turn::Wait } else { Turn::End };
        }
        match self.queue.open_next(&mut self.journal) {
            Some(Ok(file)) => self.current = Some(file),
            Some(Err(error)) => self.journal.note(kinds::NOT_READ, 0, || error.to_string()),
            None => {}
        }
        Turn::Page
    }

    #[cold]
    #[inline(never)]
    fn note_time(&mut self) {
        if self.frames == 0 {
            return;
        }
        let (last, at, offset) = (self.last, self.journal.found.at, self.journal.found.offset);
        if at < last {
            let by = last.saturating_since(at);
            self.journal.note(kinds::TIME_RAN_BACK, offset, || format!("by {by}"));
        } else {
            let silence = at.saturating_since(last);
            self.journal.note(kinds::LONG_SILENCE, offset, || format!("{silence}"));
        }
    }
}

impl std::fmt::Debug for CaptureReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CaptureReader")
            .field("place", &self.place())
            .field("progress", &self.progress())
            .finish_non_exhaustive()
    }
}

/// Next step after the end of a file.
enum Turn {
    /// Another file.
    Page,
    /// Perhaps another file, later.
    Wait,
    /// Nothing.
    End,
}
