//! pcap files: a header, then records, each with a header.
//!
//! Source: the IETF draft "PCAP Capture File Format" (draft-ietf-opsawg-pcap); the variant with longer
//! record headers is that of Alexey Kuznetzov's patches, of which Linux systems about 1999 left files.
//!
//! A record with lengths that agree with each other and with the snap length is accepted at once. Any other is
//! believed where a record that can be follows it, since only the chain distinguishes damage from an odd writer.

use super::fields::ByteOrder;
use super::journal::{Found, Journal, Step, go_on_behind_damage, kinds};
use super::pcapng::{InterfaceDescription, SectionDescription};
use super::window::{Fill, Window, narrowed};
use crate::{LinkType, Section};
use fairwind_units::Instant;
use std::num::NonZeroU32;

/// Bytes of the file's header.
pub(crate) const FILE_HEADER_BYTES: usize = 24;

/// Bytes of a record at most, as other readers and writers have it (libpcap's largest snap length).
const LARGEST_RECORD_BYTES: u32 = 1 << 18;

/// Bytes that a packet can have had on a link, at most; offload makes packets of half a mebibyte.
const LARGEST_PACKET_BYTES: u32 = 1 << 24;

/// Records in a row that must be possible for a place to be taken as the beginning of one.
const CHAIN_RECORDS: usize = 3;

/// Lengths of record headers in patched programs.
const LONGER_HEADERS: [usize; 3] = [20, 24, 28];

/// Seconds between records of one chain at most.
const CHAIN_SECONDS: u32 = 86_400;

/// Records of one pcap file.
#[derive(Debug)]
pub(crate) struct PcapReader {
    order: ByteOrder,
    /// Parts of a second that timestamps count, and how many nanoseconds one has.
    parts: u32,
    nanos_per_part: u32,
    record_header_bytes: usize,
    /// Captured and original length may stand in the other order (files older than version 2.4).
    has_old_lengths: bool,
    snap_length: u32,
    /// The most that was kept of longer packets: the snap length, or what files have shown with a header that says a
    /// larger one than they were written with.
    kept: u32,
    /// When the last record was made that was handed out.
    last_seconds: Option<u32>,
    link: LinkType,
    description: SectionDescription,
}

/// The header of a record.
#[derive(Debug, Clone, Copy)]
struct Record {
    seconds: u32,
    parts: u32,
    captured: u32,
    original: u32,
}

impl PcapReader {
    /// Reads a file's header; `None` where it is not that of a pcap file.
    pub(crate) fn from_header(header: &[u8; FILE_HEADER_BYTES]) -> Option<Self> {
        let magic: [u8; 4] = [header[0], header[1], header[2], header[3]];
        let (order, parts, record_header_bytes) = match u32::from_be_bytes(magic) {
            0xa1b2_c3d4 => (ByteOrder::Big, 1_000_000, 16),
            0xd4c3_b2a1 => (ByteOrder::Little, 1_000_000, 16),
            0xa1b2_3c4d => (ByteOrder::Big, 1_000_000_000, 16),
            0x4d3c_b2a1 => (ByteOrder::Little, 1_000_000_000, 16),
            0xa1b2_cd34 => (ByteOrder::Big, 1_000_000, 24),
            0x34cd_b2a1 => (ByteOrder::Little, 1_000_000, 24),
            _ => return None,
        };
        Some(Self::of_kind(header, order, parts, record_header_bytes))
    }

    /// Reads a file header with a wrong magic number; `None` where the rest is not that of a pcap file
    /// of this byte order either.
    pub(crate) fn with_damaged_magic(
        header: &[u8; FILE_HEADER_BYTES],
        order: ByteOrder,
        parts: u32,
    ) -> Option<Self> {
        let major = order.u16([header[4], header[5]]);
        let minor = order.u16([header[6], header[7]]);
        (major == 2 && minor <= 4).then(|| Self::of_kind(header, order, parts, 16))
    }

    fn of_kind(
        header: &[u8; FILE_HEADER_BYTES],
        order: ByteOrder,
        parts: u32,
        record_header_bytes: usize,
    ) -> Self {
        let major = order.u16([header[4], header[5]]);
        let minor = order.u16([header[6], header[7]]);
        let snap_length = order.u32([header[16], header[17], header[18], header[19]]);
        let link = order.u32([header[20], header[21], header[22], header[23]]);
        let says_check_sequence = link & 0x0400_0000 != 0;
        let check_sequence_words = u8::try_from(link >> 28).unwrap_or_default();
        let link = LinkType::from_number(link & 0xffff);
        let interface = InterfaceDescription {
            name: None,
            description: None,
            comment: None,
            link,
            snap_length: NonZeroU32::new(snap_length),
            check_sequence_bytes: says_check_sequence.then_some(check_sequence_words * 2),
        };
        let largest = if snap_length == 0 { LARGEST_RECORD_BYTES } else { snap_length };
        Self {
            order,
            parts,
            nanos_per_part: 1_000_000_000 / parts,
            record_header_bytes,
            has_old_lengths: major == 2 && minor < 4,
            snap_length: largest,
            kept: largest,
            last_seconds: None,
            link,
            description: SectionDescription {
                section: Section::default(),
                interfaces: vec![interface],
            },
        }
    }

    /// Takes another length of record headers where only with that the records at the beginning are
    /// possible. Patched programs about 1999 and some routers wrote 4, 8 or 12 bytes more under the usual
    /// magic numbers.
    pub(crate) fn with_fitting_records(mut self, beginning: &[u8]) -> Self {
        if self.begins_chain(beginning) {
            return self;
        }
        let usual = self.record_header_bytes;
        for bytes in LONGER_HEADERS {
            self.record_header_bytes = bytes;
            if self.has_chain(beginning, Chain::TwoOrMore) {
                return self;
            }
        }
        self.record_header_bytes = usual;
        self
    }

    /// The file's header as a section with one interface.
    pub(crate) fn description(&self) -> &SectionDescription {
        &self.description
    }

    /// The next record.
    #[expect(clippy::inline_always, reason = "a record that was found stays in registers")]
    #[inline(always)]
    pub(crate) fn step(&mut self, window: &mut Window, journal: &mut Journal) -> Step {
        loop {
            let rest = window.rest();
            if let Some(record) = self.record(rest)
                && self.is_usual(&record, self.kept)
                && rest.len() >= self.size(&record)
            {
                self.hand_out(&record, window, journal);
                return Step::Frame;
            }
            if let Some(step) = self.unusual(window, journal) {
                return step;
            }
        }
    }

    /// The header of the record that begins `bytes`.
    #[inline]
    fn record(&self, bytes: &[u8]) -> Option<Record> {
        let header: &[u8; 16] = bytes.first_chunk()?;
        let [seconds, parts, captured, original] = self.order.four(header);
        let mut record = Record { seconds, parts, captured, original };
        if self.has_old_lengths && record.captured > record.original {
            (record.captured, record.original) = (record.original, record.captured);
        }
        Some(record)
    }

    /// Whether every field is as nearly all writers have it, if `kept` bytes were kept of longer packets.
    #[inline]
    fn is_usual(&self, record: &Record, kept: u32) -> bool {
        record.captured == record.original.min(kept)
            && record.captured.wrapping_sub(1) < LARGEST_RECORD_BYTES
            && record.original < LARGEST_PACKET_BYTES
            && record.parts < self.parts
    }

    /// Whether there can be such a record, where nothing says that one begins here.
    fn is_possible(&self, record: &Record) -> bool {
        has_length(record)
            && record.captured > 0
            && record.original < LARGEST_PACKET_BYTES
            && record.captured <= record.original
            && record.parts < self.parts
    }

    /// Bytes of the record with its header.
    #[inline]
    fn size(&self, record: &Record) -> usize {
        narrowed(record.captured).saturating_add(self.record_header_bytes)
    }

    #[inline]
    fn hand_out(&mut self, record: &Record, window: &mut Window, journal: &mut Journal) {
        self.last_seconds = Some(record.seconds);
        let offset = window.offset();
        let start = window.consume(self.size(record)) + self.record_header_bytes;
        let nanos = u64::from(record.seconds) * 1_000_000_000
            + u64::from(record.parts) * u64::from(self.nanos_per_part);
        journal.found = Found {
            at: Instant::from_nanos(nanos),
            link: self.link,
            interface: 0,
            original_bytes: record.original.into(),
            start,
            length: narrowed(record.captured),
            offset,
        };
    }

    /// What stands at the window's beginning is incomplete, odd or damaged. `None` where it is complete
    /// now.
    #[cold]
    #[inline(never)]
    fn unusual(&mut self, window: &mut Window, journal: &mut Journal) -> Option<Step> {
        match window.fill(self.record_header_bytes) {
            Fill::Ready => {}
            Fill::Waiting => return Some(Step::Wait),
            Fill::Ended => {
                if !window.rest().is_empty() {
                    journal.cut_off(window, self.record_header_bytes);
                }
                return Some(Step::End);
            }
        }
        let record = self.record(window.rest())?;
        if self.is_usual(&record, self.snap_length) {
            return match window.fill(self.size(&record)) {
                Fill::Ready => {
                    self.kept = self.kept.max(record.captured);
                    None
                }
                Fill::Waiting => Some(Step::Wait),
                Fill::Ended => {
                    journal.cut_off(window, self.size(&record));
                    Some(Step::End)
                }
            };
        }
        match self.is_continued(&record, window) {
            Continuation::Yes => {
                if self.is_possible(&record) && record.captured <= self.snap_length {
                    self.kept = record.captured;
                }
                Some(self.believe(record, window, journal))
            }
            Continuation::Unknown => Some(Step::Wait),
            Continuation::No => {
                let begins = |bytes: &[u8]| self.begins_chain(bytes);
                go_on_behind_damage(window, journal, || describe(&record), begins)
            }
        }
    }

    /// Whether an unusual record is followed by one that can be, or ends the file.
    fn is_continued(&self, record: &Record, window: &mut Window) -> Continuation {
        if !has_length(record) {
            return Continuation::No;
        }
        let size = self.size(record);
        match window.fill(size) {
            Fill::Ready => {}
            Fill::Waiting => return Continuation::Unknown,
            Fill::Ended => return Continuation::No,
        }
        window.fill(size + self.record_header_bytes);
        let next = &window.rest()[size..];
        let follows = match self.record(next) {
            // An anomaly of one record often occurs in all, so the check is weaker than in a search.
            Some(next) => has_length(&next) && is_near(next.seconds, record.seconds),
            // A piece of a header cannot be judged, but says that something was to follow.
            None => self.is_possible(record) || next.is_empty(),
        };
        if follows { Continuation::Yes } else { Continuation::No }
    }

    /// Returns an unusual record, with notes on its anomalies.
    fn believe(&mut self, mut record: Record, window: &mut Window, journal: &mut Journal) -> Step {
        let offset = window.offset();
        let Record { captured, original, parts, .. } = record;
        if captured > self.snap_length {
            journal.note(kinds::BEYOND_SNAP_LENGTH, offset, || {
                format!("{captured} bytes, but the snap length is {}", self.snap_length)
            });
        }
        if captured > original {
            journal.note_longer_than_packet(captured, original, offset);
        }
        if original >= LARGEST_PACKET_BYTES {
            journal.note(kinds::LENGTH_ON_LINK, offset, || format!("{original} bytes"));
        }
        if parts >= self.parts {
            journal.note(kinds::FRACTION_OF_SECOND, offset, || {
                format!("{parts} parts, and a second has {}", self.parts)
            });
        }
        if captured > original || original >= LARGEST_PACKET_BYTES {
            record.original = captured;
        }
        self.hand_out(&record, window, journal);
        Step::Frame
    }

    /// Whether some records in a row, near each other in time, begin here, or fewer with which the file
    /// ends. Where their lengths do not agree as usual, they must be near the last record, too: else the
    /// fields behind the seconds could pass for a header, from record to record.
    pub(crate) fn begins_chain(&self, bytes: &[u8]) -> bool {
        self.has_chain(bytes, Chain::AlsoOne)
    }

    fn has_chain(&self, bytes: &[u8], chain: Chain) -> bool {
        let mut at = 0;
        let mut before = self.last_seconds;
        let mut is_doubtful = false;
        for records in 0..CHAIN_RECORDS {
            let rest = bytes.get(at..).unwrap_or_default();
            let Some(record) = self.record(rest) else {
                let ends_here = at == bytes.len();
                // The last record is whole, or the next one is what the file ends within.
                let is_known = self.last_seconds.is_some() && !is_doubtful && at < bytes.len();
                let is_one = chain == Chain::AlsoOne && records == 1;
                return records > 1 || (is_one && (ends_here || is_known));
            };
            let is_near_before = before.is_none_or(|before| is_near(record.seconds, before));
            is_doubtful |= !(is_near_before && self.is_usual(&record, self.snap_length));
            let may_be_far = records == 0 && self.is_usual(&record, self.snap_length);
            if !self.is_possible(&record) || !(is_near_before || may_be_far) {
                return false;
            }
            before = Some(record.seconds);
            at += self.size(&record);
        }
        true
    }
}

/// How many records are needed where the file ends with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chain {
    AlsoOne,
    TwoOrMore,
}

/// Whether a record is followed by what can follow it.
enum Continuation {
    Yes,
    No,
    /// The file has not grown that far.
    Unknown,
}

/// Whether a record keeps a number of bytes that can be; none only of a packet that had some, since zeros
/// are no records.
fn has_length(record: &Record) -> bool {
    match record.captured {
        0 => record.original > 0,
        kept => kept <= LARGEST_RECORD_BYTES,
    }
}

fn is_near(seconds: u32, other: u32) -> bool {
    seconds.abs_diff(other) <= CHAIN_SECONDS
}

fn describe(record: &Record) -> String {
    let Record { seconds, parts, captured, original } = record;
    format!(
        "a record header says {captured} kept of {original} bytes at {seconds} s and {parts} parts"
    )
}
