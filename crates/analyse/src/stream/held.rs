//! What is outstanding longest, and what has been done about it.

use super::kind::Cause;
use super::outstanding::Marks;
use super::stream::{ORIGIN, Stream};
use fairwind_units::Instant;

/// A segment that is outstanding, and what lies behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Held {
    /// Bytes of the stream before it.
    pub(crate) start: u64,
    /// Its bytes.
    pub(crate) bytes: u64,
    /// When it was first sent.
    pub(crate) sent_at: Instant,
    /// How often it was sent again.
    pub(crate) repeats: u16,
    /// Why it was sent again the last time.
    pub(crate) cause: Option<Cause>,
    /// That is taken for a probe until the stream is finished.
    pub(crate) is_provisional: bool,
    /// Segments that are outstanding behind it.
    pub(crate) behind: usize,
}

impl Held {
    /// Bytes of the stream before its end.
    pub(crate) const fn end(&self) -> u64 {
        self.start + self.bytes
    }
}

impl Stream {
    /// When the oldest segment that is outstanding was first sent.
    #[inline]
    pub(crate) fn oldest_sent_at(&self) -> Option<Instant> {
        self.outstanding.oldest().map(|oldest| oldest.first_at)
    }

    /// The oldest segment that is outstanding, if it was seen.
    #[cold]
    pub(crate) fn oldest_held(&self) -> Option<Held> {
        self.held(0)
    }

    /// The segment in which the byte behind so many bytes of the stream lies, if it is outstanding and was
    /// seen, as was the beginning of the stream.
    #[cold]
    pub(crate) fn held_at(&self, place: u64) -> Option<Held> {
        let offset = ORIGIN.checked_add(place).filter(|_| self.own_sack.is_some())?;
        let index = self.outstanding.index_of(offset);
        self.held(index).filter(|held| held.start <= place)
    }

    /// Segments that are outstanding.
    pub(crate) fn outstanding_segments(&self) -> usize {
        self.outstanding.len()
    }

    /// Segments that are outstanding and begin before the byte behind so many bytes of the stream.
    pub(crate) fn segments_before(&self, place: u64) -> usize {
        let last = ORIGIN.saturating_add(place).saturating_sub(1);
        (self.outstanding.index_of(last) + 1).min(self.outstanding.len())
    }

    fn held(&self, index: usize) -> Option<Held> {
        let sent = self.outstanding.get(index)?;
        if sent.marks.contains(Marks::MISSING) {
            return None;
        }
        let start = self.outstanding.start_of(index);
        let last = self.repeats.as_ref().filter(|_| sent.repeats > 0);
        let last = last.and_then(|repeats| repeats.last_of(start));
        Some(Held {
            start: start.checked_sub(ORIGIN)?,
            bytes: sent.end.saturating_sub(start),
            sent_at: sent.first_at,
            repeats: sent.repeats,
            cause: last.map(|(cause, _)| cause),
            is_provisional: last.is_some_and(|(_, is_provisional)| is_provisional),
            behind: self.outstanding.len().saturating_sub(index + 1),
        })
    }
}
