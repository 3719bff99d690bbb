//! Notes on an input that could be read though something was wrong: counts by kind, with the first place of each.

use std::fmt;
use std::sync::Arc;

/// A kind of oddity: a name for tables and a sentence for people. Whoever reads something further
/// defines its own kinds.
#[derive(Debug, Clone, Copy)]
pub struct NoteKind {
    name: &'static str,
    says: &'static str,
    counts: Counted,
}

/// What the number of a note counts, in the singular and in the plural.
#[derive(Debug, Clone, Copy)]
struct Counted {
    one: &'static str,
    many: &'static str,
}

impl NoteKind {
    /// A kind that is counted in `one` and `many` (`"packet"`, `"packets"`). `name` distinguishes kinds;
    /// `says` is a sentence without full stop.
    pub const fn new(
        name: &'static str,
        says: &'static str,
        one: &'static str,
        many: &'static str,
    ) -> Self {
        Self { name, says, counts: Counted { one, many } }
    }

    /// Its name, in lower case with underscores.
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// What it means, as a sentence without full stop.
    pub const fn says(self) -> &'static str {
        self.says
    }
}

/// Kinds are the same where their names are.
impl PartialEq for NoteKind {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for NoteKind {}

/// A place in an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// The file, as it was named.
    pub file: Arc<str>,
    /// Bytes before it in the file, or in what the file becomes when it is decompressed.
    pub offset: u64,
    /// Number of the frame in this file, counted from 1; what stands between frames has the number of
    /// the next one.
    pub packet: u64,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {} of {} (packet {})", self.offset, self.file, self.packet)
    }
}

/// How often something was odd, and where first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// What is odd.
    pub kind: NoteKind,
    /// How often; in which unit is the kind's business.
    pub count: u64,
    /// Where it was seen first.
    pub first: Location,
    /// What exactly was seen there; empty where the kind says it all.
    pub detail: String,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = if self.count == 1 { self.kind.counts.one } else { self.kind.counts.many };
        write!(f, "{}: {} {counted}, ", self.kind.says, self.count)?;
        let first = if self.count == 1 { "at" } else { "the first at" };
        write!(f, "{first} {}", self.first)?;
        if self.detail.is_empty() { Ok(()) } else { write!(f, ": {}", self.detail) }
    }
}

/// Notes on an input, one for each kind, in the order in which the kinds were first seen.
///
/// It holds as many notes as there are kinds, however long the input is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Notes(Vec<Note>);

impl Notes {
    /// No notes.
    pub const NONE: Self = Self(Vec::new());

    /// Counts one of `kind`; `first` is asked for the place if it is the first.
    pub fn record(&mut self, kind: NoteKind, first: impl FnOnce() -> Location) {
        self.record_many(kind, 1, || (first(), String::new()));
    }

    /// Counts `count` of `kind`; `first` is asked for place and detail if they are the first.
    pub fn record_many(
        &mut self,
        kind: NoteKind,
        count: u64,
        first: impl FnOnce() -> (Location, String),
    ) {
        if let Some(note) = self.0.iter_mut().find(|note| note.kind == kind) {
            note.count = note.count.saturating_add(count);
        } else {
            let (first, detail) = first();
            self.0.push(Note { kind, count, first, detail });
        }
    }

    /// Adds the notes of another input, or of another reader of the same one.
    pub fn merge(&mut self, others: &Self) {
        for note in &others.0 {
            self.record_many(note.kind, note.count, || (note.first.clone(), note.detail.clone()));
        }
    }

    /// The note of a kind, if there is one.
    pub fn of(&self, kind: NoteKind) -> Option<&Note> {
        self.0.iter().find(|note| note.kind == kind)
    }

    /// All of them.
    pub fn iter(&self) -> std::slice::Iter<'_, Note> {
        self.0.iter()
    }

    /// Whether nothing was odd.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'a> IntoIterator for &'a Notes {
    type Item = &'a Note;
    type IntoIter = std::slice::Iter<'a, Note>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TORN: NoteKind = NoteKind::new("torn", "pages are torn", "page", "pages");

    fn place(offset: u64) -> Location {
        Location { file: "a book".into(), offset, packet: 3 }
    }

    #[test]
    fn note_kind_is_counted_with_first_place() {
        let mut notes = Notes::NONE;
        notes.record(TORN, || place(7));
        notes.record_many(TORN, 4, || (place(9), "not the first".to_owned()));
        let note = notes.of(TORN).expect("a note of torn pages");
        assert_eq!((note.count, note.first.offset, note.detail.as_str()), (5, 7, ""));
        assert_eq!(
            note.to_string(),
            "pages are torn: 5 pages, the first at byte 7 of a book (packet 3)"
        );
    }

    #[test]
    fn merged_notes_add_up_by_kind() {
        let other = NoteKind::new("wet", "pages are wet", "page", "pages");
        let mut notes = Notes::NONE;
        notes.record(TORN, || place(7));
        let mut others = Notes::NONE;
        others.record(TORN, || place(1));
        others.record_many(other, 1, || (place(2), "by rain".to_owned()));
        notes.merge(&others);
        let text: Vec<String> = notes.iter().map(ToString::to_string).collect();
        assert_eq!(
            text,
            [
                "pages are torn: 2 pages, the first at byte 7 of a book (packet 3)",
                "pages are wet: 1 page, at byte 2 of a book (packet 3): by rain"
            ]
        );
    }
}
