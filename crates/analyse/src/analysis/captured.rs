//! Packets out of capture files.

use super::source::{Frames, Next, PacketSource};
use crate::connection::Side;
use fairwind_capture::{
    Advance, CaptureReader, Ending, Filter, Input, NoteKind, Notes, Oddities, Packet, Place,
    ReadError, Skipped, decode,
};
use std::path::PathBuf;

/// The TCP packets of the files of one tap.
pub struct Captured {
    reader: CaptureReader,
    /// What is read, where all of it can be read again.
    paths: Option<Vec<PathBuf>>,
    filter: Option<Filter>,
    frames: Frames,
    notes: Notes,
}

/// What captures say that were made of a program behind a path.
const SHELL: &str = "fairwind shell";

/// The frame ends before the TCP header does.
const CUT_SHORT: NoteKind = NoteKind::new(
    "cut_short",
    "the kept bytes of a packet end before its TCP header does, so it is left out",
    "packet",
    "packets",
);
/// A header cannot be what it says.
const MALFORMED: NoteKind = NoteKind::new(
    "malformed",
    "a header says what cannot be, so its packet is left out",
    "packet",
    "packets",
);
/// Parts of datagrams without a TCP header.
const FRAGMENTS: NoteKind = NoteKind::new(
    "fragments",
    "fragments of datagrams are not put together, so the bytes in all but the first are left out",
    "fragment",
    "fragments",
);
/// What packets are in is not known.
const UNKNOWN_LINK: NoteKind = NoteKind::new(
    "unknown_link",
    "a link type is not read, so its packets are left out",
    "packet",
    "packets",
);

impl Captured {
    /// The packets in `inputs`, which are one tap's; at the end of a file it goes on as `ending` says.
    ///
    /// # Errors
    /// Where something cannot be opened, or is no capture.
    pub fn open(inputs: Vec<Input>, ending: Ending) -> Result<Self, ReadError> {
        let paths = inputs.iter().map(path_of).collect();
        let reader = CaptureReader::open(inputs, ending)?;
        Ok(Self { reader, paths, filter: None, frames: Frames::default(), notes: Notes::NONE })
    }

    /// The same packets, without those that do not match `filter`.
    #[must_use]
    pub fn filtered(self, filter: Filter) -> Self {
        Self { filter: Some(filter), ..self }
    }

    /// How far reading has come.
    pub fn progress(&self) -> fairwind_capture::Progress {
        self.reader.progress()
    }

    #[cold]
    fn skip(&mut self, skipped: Skipped) {
        let frames = &mut self.frames;
        let (kind, detail) = match skipped {
            Skipped::OtherProtocol(_) => {
                frames.other_protocols += 1;
                return;
            }
            Skipped::NotIp => {
                frames.not_ip += 1;
                return;
            }
            Skipped::Fragment { bytes } => {
                frames.fragments += 1;
                frames.fragment_bytes += u64::from(bytes);
                (FRAGMENTS, String::new())
            }
            Skipped::UnknownLink(number) => {
                frames.unknown_links += 1;
                (UNKNOWN_LINK, format!("link type {number}"))
            }
            Skipped::CutShort => {
                frames.cut_short += 1;
                (CUT_SHORT, String::new())
            }
            Skipped::Malformed(what) => {
                frames.malformed += 1;
                (MALFORMED, what.to_owned())
            }
        };
        let place = || self.reader.place();
        self.notes.record_many(kind, 1, || (place(), detail));
    }

    #[cold]
    fn note(&mut self, oddities: Oddities) {
        for (oddity, kind) in Oddities::ALL {
            if oddities.contains(oddity) {
                self.notes.record(kind, || self.reader.place());
            }
        }
    }
}

/// The file or folder that an input is, if it is one.
fn path_of(input: &Input) -> Option<PathBuf> {
    match input {
        // Not a pipe that has a name.
        Input::Path(path) if path.is_file() || path.is_dir() => Some(path.clone()),
        _ => None,
    }
}

impl PacketSource for Captured {
    #[expect(clippy::inline_always, reason = "calls and returns take a tenth of reading a packet")]
    #[inline(always)]
    fn next(&mut self, packet: &mut Packet) -> Next {
        loop {
            match self.reader.advance() {
                Advance::Frame => {}
                Advance::Wait => return Next::Wait,
                Advance::End => return Next::End,
            }
            let frame = self.reader.frame();
            self.frames.all += 1;
            if let Err(skipped) = decode(&frame, packet) {
                self.skip(skipped);
                continue;
            }
            if let Some(filter) = &self.filter
                && !filter.matches(packet, &self.reader.frame())
            {
                self.frames.filtered += 1;
                continue;
            }
            if !packet.oddities.is_empty() {
                self.note(packet.oddities);
            }
            return Next::Packet;
        }
    }

    fn again(&self) -> Option<Self> {
        let inputs = self.paths.as_ref()?.iter().cloned().map(Input::Path).collect();
        let again = Self::open(inputs, Ending::Final).ok()?;
        Some(Self { filter: self.filter.clone(), ..again })
    }

    #[inline]
    fn is_at_hand(&self) -> bool {
        self.reader.is_at_hand()
    }

    fn place(&self) -> Option<Place> {
        Some(self.reader.place())
    }

    fn notes(&self) -> Notes {
        let mut notes = self.reader.notes().clone();
        notes.merge(&self.notes);
        notes
    }

    fn frames(&self) -> Frames {
        self.frames
    }

    fn is_own(&self) -> bool {
        self.reader.is_own()
    }

    fn near(&self) -> Option<Side> {
        // Behind a path of ours a program may open connections or answer them: its handshakes tell.
        if self
            .reader
            .sections()
            .any(|section| section.section.application.as_deref() == Some(SHELL))
        {
            return None;
        }
        let sections = || self.reader.sections().flat_map(|section| &section.interfaces);
        let are_all = |point: &str| {
            self.is_own() && sections().all(|interface| interface.name.as_deref() == Some(point))
        };
        if are_all("sender") {
            Some(Side::Opener)
        } else if are_all("receiver") {
            Some(Side::Answerer)
        } else {
            None
        }
    }
}

impl std::fmt::Debug for Captured {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Captured").field("frames", &self.frames).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwind_capture::{CaptureWriter, Interface, InterfaceId, Section};
    use fairwind_units::Instant;

    /// A capture of the point `point`, by `application`.
    fn capture(application: &str, point: &str) -> Captured {
        let section = Section { application: Some(application.to_owned()), ..Section::default() };
        let interfaces = vec![Interface::new(point)];
        let mut file = CaptureWriter::new(Vec::new(), &section, interfaces).unwrap();
        file.write_packet(Instant::from_secs(1), InterfaceId(0), &[0x45; 40], 40).unwrap();
        let bytes = Box::new(std::io::Cursor::new(file.finish().unwrap()));
        let input = Input::Source { name: point.to_owned(), bytes };
        Captured::open(vec![input], Ending::Final).unwrap()
    }

    #[test]
    fn captures_of_ours_say_whom_they_are_near_unless_programs_may_answer() {
        assert_eq!(capture("fairwind simulation", "sender").near(), Some(Side::Opener));
        assert_eq!(capture("fairwind testbed", "receiver").near(), Some(Side::Answerer));
        assert_eq!(capture("fairwind shell", "sender").near(), None);
        assert_eq!(capture("dumpcap", "sender").near(), None);
    }
}
