//! Packet sources: the trait, and packets out of capture files.

use crate::connection::Side;
use fairwind_capture::{
    Advance, Anomalies, CaptureReader, EndOfFile, Filter, Input, Location, NoteKind, Notes, Packet,
    ReadError, SkipReason, decode,
};
use std::path::PathBuf;

/// What a source has next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextPacket {
    /// A packet, which has been put where it was asked for.
    Packet,
    /// Nothing now, but more may come.
    Wait,
    /// Nothing any more.
    End,
}

/// Frames that a source has read, and those of them that are no TCP packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FrameCounts {
    /// All of them.
    pub all: u64,
    /// IP packets of another protocol.
    pub other_protocols: u64,
    /// Frames without an IP packet.
    pub not_ip: u64,
    /// Fragments without a TCP header.
    pub fragments: u64,
    /// Payload bytes of datagrams in these.
    pub fragment_bytes: u64,
    /// Frames of link types that are not read.
    pub unknown_links: u64,
    /// Frames whose kept bytes end before the TCP header does.
    pub cut_short: u64,
    /// TCP packets that were not asked for.
    pub filtered: u64,
    /// Frames whose headers cannot be what they say.
    pub malformed: u64,
}

/// Packets of one tap, in the order in which they were captured.
pub trait PacketSource {
    /// Puts the next packet into `packet`.
    fn next(&mut self, packet: &mut Packet) -> NextPacket;

    /// The same packets from the first one to the last one that there is now, to be looked at beforehand;
    /// `None` where they can be read once only.
    fn reopen(&self) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }

    /// Whether the next packet, if there is one, can be had without waiting for it.
    fn is_ready(&self) -> bool {
        true
    }

    /// Where the last packet stands.
    fn place(&self) -> Option<Location> {
        None
    }

    /// What was odd so far.
    fn notes(&self) -> Notes {
        Notes::NONE
    }

    /// What was read so far.
    fn frames(&self) -> FrameCounts {
        FrameCounts::default()
    }

    /// Whether a program of this project captured it, so that two sources of one run have one clock, which
    /// counts from the beginning of the run.
    fn is_own_capture(&self) -> bool {
        false
    }

    /// Which side of every connection the tap is near, where that is said.
    fn near_side(&self) -> Option<Side> {
        None
    }
}

/// The TCP packets of the files of one tap.
pub struct CaptureSource {
    reader: CaptureReader,
    /// What is read, where all of it can be read again.
    paths: Option<Vec<PathBuf>>,
    filter: Option<Filter>,
    frames: FrameCounts,
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

impl CaptureSource {
    /// The packets in `inputs`, which are one tap's; at the end of a file it goes on as `ending` says.
    ///
    /// # Errors
    /// Where something cannot be opened, or is no capture.
    pub fn open(inputs: Vec<Input>, ending: EndOfFile) -> Result<Self, ReadError> {
        let paths = inputs.iter().map(path_of).collect();
        let reader = CaptureReader::open(inputs, ending)?;
        Ok(Self { reader, paths, filter: None, frames: FrameCounts::default(), notes: Notes::NONE })
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
    fn skip(&mut self, skipped: SkipReason) {
        let frames = &mut self.frames;
        let (kind, detail) = match skipped {
            SkipReason::OtherProtocol(_) => {
                frames.other_protocols += 1;
                return;
            }
            SkipReason::NotIp => {
                frames.not_ip += 1;
                return;
            }
            SkipReason::Fragment { bytes } => {
                frames.fragments += 1;
                frames.fragment_bytes += u64::from(bytes);
                (FRAGMENTS, String::new())
            }
            SkipReason::UnknownLink(number) => {
                frames.unknown_links += 1;
                (UNKNOWN_LINK, format!("link type {number}"))
            }
            SkipReason::CutShort => {
                frames.cut_short += 1;
                (CUT_SHORT, String::new())
            }
            SkipReason::Malformed(what) => {
                frames.malformed += 1;
                (MALFORMED, what.to_owned())
            }
        };
        let place = || self.reader.place();
        self.notes.record_many(kind, 1, || (place(), detail));
    }

    #[cold]
    fn note(&mut self, anomalies: Anomalies) {
        for (anomaly, kind) in Anomalies::ALL {
            if anomalies.contains(anomaly) {
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

impl PacketSource for CaptureSource {
    #[expect(clippy::inline_always, reason = "calls and returns take a tenth of reading a packet")]
    #[inline(always)]
    fn next(&mut self, packet: &mut Packet) -> NextPacket {
        loop {
            match self.reader.advance() {
                Advance::Frame => {}
                Advance::Wait => return NextPacket::Wait,
                Advance::End => return NextPacket::End,
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
            if !packet.anomalies.is_empty() {
                self.note(packet.anomalies);
            }
            return NextPacket::Packet;
        }
    }

    fn reopen(&self) -> Option<Self> {
        let inputs = self.paths.as_ref()?.iter().cloned().map(Input::Path).collect();
        let again = Self::open(inputs, EndOfFile::Final).ok()?;
        Some(Self { filter: self.filter.clone(), ..again })
    }

    #[inline]
    fn is_ready(&self) -> bool {
        self.reader.is_ready()
    }

    fn place(&self) -> Option<Location> {
        Some(self.reader.place())
    }

    fn notes(&self) -> Notes {
        let mut notes = self.reader.notes().clone();
        notes.merge(&self.notes);
        notes
    }

    fn frames(&self) -> FrameCounts {
        self.frames
    }

    fn is_own_capture(&self) -> bool {
        self.reader.is_own_capture()
    }

    fn near_side(&self) -> Option<Side> {
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
            self.is_own_capture()
                && sections().all(|interface| interface.name.as_deref() == Some(point))
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

impl std::fmt::Debug for CaptureSource {
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
    fn capture(application: &str, point: &str) -> CaptureSource {
        let section = Section { application: Some(application.to_owned()), ..Section::default() };
        let interfaces = vec![Interface::new(point)];
        let mut file = CaptureWriter::new(Vec::new(), &section, interfaces).unwrap();
        file.write_packet(Instant::from_secs(1), InterfaceId(0), &[0x45; 40], 40).unwrap();
        let bytes = Box::new(std::io::Cursor::new(file.finish().unwrap()));
        let input = Input::Source { name: point.to_owned(), bytes };
        CaptureSource::open(vec![input], EndOfFile::Final).unwrap()
    }

    #[test]
    fn captures_of_ours_say_whom_they_are_near_unless_programs_may_answer() {
        assert_eq!(capture("fairwind simulation", "sender").near_side(), Some(Side::Opener));
        assert_eq!(capture("fairwind testbed", "receiver").near_side(), Some(Side::Answerer));
        assert_eq!(capture("fairwind shell", "sender").near_side(), None);
        assert_eq!(capture("dumpcap", "sender").near_side(), None);
    }
}
