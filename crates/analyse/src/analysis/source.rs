//! Packet sources: the trait, and packets out of capture files.

use crate::connection::Side;
use fairwind_capture::{
    Advance, Anomalies, CaptureReader, EndOfFile, Filter, Input, Location, NoteKind, Notes, Packet,
    ReadError, SkipReason, decode,
};
use std::path::PathBuf;

/// What a source returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextPacket {
    /// A packet, in the buffer of the caller.
    Packet,
    /// No packet now; more may come.
    Wait,
    /// The end.
    End,
}

/// Counts of frames that a source has read, and of those that are no TCP packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FrameCounts {
    /// All frames.
    pub all: u64,
    /// IP packets of another protocol.
    pub other_protocols: u64,
    /// Frames without an IP packet.
    pub not_ip: u64,
    /// Fragments without a TCP header.
    pub fragments: u64,
    /// Payload bytes of datagrams in these.
    pub fragment_bytes: u64,
    /// Frames of unsupported link types.
    pub unknown_links: u64,
    /// Frames that were captured only in part, without a whole TCP header.
    pub cut_short: u64,
    /// TCP packets that the filter excludes.
    pub filtered: u64,
    /// Frames with impossible headers.
    pub malformed: u64,
}

/// Packets of one tap, in the order in which they were captured.
pub trait PacketSource {
    /// Puts the next packet into `packet`.
    fn next(&mut self, packet: &mut Packet) -> NextPacket;

    /// The same packets again from the first to the last one there is now; `None` if they can be read only
    /// once.
    fn reopen(&self) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }

    /// Whether the next packet can be read without blocking.
    fn is_ready(&self) -> bool {
        true
    }

    /// The location of the last packet.
    fn place(&self) -> Option<Location> {
        None
    }

    /// Anomalies so far.
    fn notes(&self) -> Notes {
        Notes::NONE
    }

    /// Counts of frames so far.
    fn frames(&self) -> FrameCounts {
        FrameCounts::default()
    }

    /// Whether a program of this project captured the packets. Two such sources of one run share a clock, which
    /// starts with the run.
    fn is_own_capture(&self) -> bool {
        false
    }

    /// The side of every connection that the tap is near, if the capture says so.
    fn near_side(&self) -> Option<Side> {
        None
    }
}

/// TCP packets out of the capture files of one tap.
pub struct CaptureSource {
    reader: CaptureReader,
    /// The paths of the inputs, if all can be read again.
    paths: Option<Vec<PathBuf>>,
    filter: Option<Filter>,
    frames: FrameCounts,
    notes: Notes,
}

/// The application name in captures of the shell.
const SHELL: &str = "fairwind shell";

/// The frame was cut before the end of its TCP header.
const CUT_SHORT: NoteKind = NoteKind::new(
    "cut_short",
    "the kept bytes of a packet end before its TCP header does, so it is left out",
    "packet",
    "packets",
);
/// A header has impossible values.
const MALFORMED: NoteKind = NoteKind::new(
    "malformed",
    "a header has impossible values, so its packet is left out",
    "packet",
    "packets",
);
/// Fragments without a TCP header.
const FRAGMENTS: NoteKind = NoteKind::new(
    "fragments",
    "fragments of datagrams are not reassembled, so the bytes in all but the first are left out",
    "fragment",
    "fragments",
);
/// The link type is not supported.
const UNKNOWN_LINK: NoteKind = NoteKind::new(
    "unknown_link",
    "a link type is not supported, so its packets are left out",
    "packet",
    "packets",
);

impl CaptureSource {
    /// Opens the `inputs`, which are of one tap; `ending` says what happens at the end of a file.
    ///
    /// # Errors
    /// If an input cannot be opened, or is no capture.
    pub fn open(inputs: Vec<Input>, ending: EndOfFile) -> Result<Self, ReadError> {
        let paths = inputs.iter().map(path_of).collect();
        let reader = CaptureReader::open(inputs, ending)?;
        Ok(Self { reader, paths, filter: None, frames: FrameCounts::default(), notes: Notes::NONE })
    }

    /// The same packets without those that `filter` excludes.
    #[must_use]
    pub fn filtered(self, filter: Filter) -> Self {
        Self { filter: Some(filter), ..self }
    }

    /// Progress of reading.
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

/// The path of an input that is a file or folder.
fn path_of(input: &Input) -> Option<PathBuf> {
    match input {
        // A named pipe cannot be read again.
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
        // In a shell, a program may open connections or accept them; the handshakes show which.
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

    /// A capture of one packet at `point`, written by `application`.
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
    fn own_captures_name_their_near_side() {
        assert_eq!(capture("fairwind simulation", "sender").near_side(), Some(Side::Opener));
        assert_eq!(capture("fairwind testbed", "receiver").near_side(), Some(Side::Answerer));
        assert_eq!(capture("fairwind shell", "sender").near_side(), None);
        assert_eq!(capture("dumpcap", "sender").near_side(), None);
    }
}
