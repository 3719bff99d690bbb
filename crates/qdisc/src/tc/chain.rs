//! The short form: one line, in which `/` leads to what is held.

use super::disciplines;
use super::draft::{
    Body, ClassBody, ClassDraft, DisciplineDraft, Draft, FilterDraft, Handle, read_handle,
    read_matches,
};
use super::words::TcError;
use super::words::{Place, Word, Words, split};
use fairwind_units::BitRate;

/// Reads a chain.
pub(super) fn read(text: &str, bandwidth: BitRate) -> Result<Draft, TcError> {
    let lines: Vec<&str> = text.lines().collect();
    let words: Vec<Word<'_>> =
        (1..).zip(lines).flat_map(|(line, text)| split(text, line)).collect();
    let mut chain = Chain { draft: Draft::default(), open: Vec::new(), bandwidth };
    let mut before = Place { line: 1, column: 1 };
    let mut read = 0;
    for part in words.split(|word| word.text == "/") {
        if part.is_empty() {
            return Err(before.error("a queue discipline or a class is missing here"));
        }
        chain.part(&mut Words::new(part, before))?;
        read += part.len() + 1;
        before = words.get(read - 1).map_or(before, |slash| slash.place);
    }
    Ok(chain.draft)
}

/// A place for a discipline.
struct Open {
    /// The class, in the sense of `tc`.
    handle: Handle,
    /// How many disciplines may still come here, one after the other: the bands of a prio.
    rooms: u32,
}

struct Chain {
    draft: Draft,
    /// The deepest one last.
    open: Vec<Open>,
    bandwidth: BitRate,
}

impl Chain {
    fn part(&mut self, words: &mut Words<'_>) -> Result<(), TcError> {
        if words.take("class") {
            return self.class(words);
        }
        if words.take("filter") {
            return self.filter(words);
        }
        self.discipline(words)
    }

    fn discipline(&mut self, words: &mut Words<'_>) -> Result<(), TcError> {
        let kind = disciplines::kind(words)?;
        let place = words.last;
        let parent = self.take_room(place, kind)?;
        let (body, class) = disciplines::body(kind, words, self.bandwidth)?;
        let major = self.draft.next_major();
        let first = Handle { major, minor: 1 };
        let mut body = body;
        if let (Body::Htb(htb), Some(class)) = (&mut body, class) {
            htb.default = Some((1, place));
            let body = ClassBody::Htb(class);
            self.draft.classes.push(ClassDraft { handle: first, parent: None, body, place });
            self.open.push(Open { handle: first, rooms: 1 });
        }
        match &body {
            Body::Prio { bands, .. } => {
                let rooms = u32::try_from(*bands).unwrap_or(u32::MAX);
                self.open.push(Open { handle: first, rooms });
            }
            Body::Tbf(_) | Body::Classless(crate::Qdisc::Red(_)) => {
                self.open.push(Open { handle: first, rooms: 1 });
            }
            _ => {}
        }
        self.draft.disciplines.push(DisciplineDraft { major, parent, body, place });
        Ok(())
    }

    /// The deepest place that is open; `None` at the root.
    fn take_room(&mut self, place: Place, kind: &str) -> Result<Option<Handle>, TcError> {
        while let Some(open) = self.open.last_mut() {
            if open.rooms == 0 {
                self.open.pop();
                continue;
            }
            let handle = open.handle;
            open.rooms -= 1;
            open.handle.minor += 1;
            return Ok(Some(handle));
        }
        if self.draft.disciplines.is_empty() {
            return Ok(None);
        }
        let full = "nothing before it has room for another queue";
        Err(place.error(format!("there is no place for {kind}: {full}")))
    }

    /// The innermost discipline that has classes of its own.
    fn classful(&self) -> Option<(u32, &'static str)> {
        self.draft.disciplines.iter().rev().find_map(|discipline| match discipline.body {
            Body::Htb(_) => Some((discipline.major, "htb")),
            Body::Drr => Some((discipline.major, "drr")),
            _ => None,
        })
    }

    fn class(&mut self, words: &mut Words<'_>) -> Result<(), TcError> {
        let begin = words.last;
        let Some((innermost, _)) = self.classful() else {
            return Err(begin.error("a class belongs to an htb or a drr, and none comes before it"));
        };
        let handle = read_handle(words, Some(innermost))?;
        let place = words.last;
        let kind = self.kind_of(handle, place)?;
        let parent = if words.take("parent") {
            Some(read_handle(words, Some(handle.major))?).filter(|parent| parent.minor != 0)
        } else {
            None
        };
        if words.peek() == Some(kind) {
            words.next();
        }
        let (mut options, conditions) = words.split_at("match");
        let body = disciplines::class_body(kind, &mut options)?;
        self.draft.classes.push(ClassDraft { handle, parent, body, place });
        if let Some(mut conditions) = conditions {
            let filter = read_matches(&mut conditions)?;
            if let Some(word) = conditions.next() {
                return Err(
                    conditions.wrong(format!("\"{word}\" is not expected behind what is matched"))
                );
            }
            self.draft.filters.push(FilterDraft { target: handle, filter, priority: 0, place });
        }
        self.open.retain(|open| open.handle.major < handle.major);
        self.open.push(Open { handle, rooms: 1 });
        Ok(())
    }

    fn kind_of(&self, handle: Handle, place: Place) -> Result<&'static str, TcError> {
        let of = |discipline: &&DisciplineDraft| discipline.major == handle.major;
        match self.draft.disciplines.iter().find(of).map(|discipline| &discipline.body) {
            Some(Body::Htb(_)) => Ok("htb"),
            Some(Body::Drr) => Ok("drr"),
            _ => Err(place.error(format!("no htb or drr has the number {:x}:", handle.major))),
        }
    }

    fn filter(&mut self, words: &mut Words<'_>) -> Result<(), TcError> {
        let place = words.last;
        let filter = read_matches(words)?;
        if !(words.take("flowid") || words.take("classid")) {
            return Err(
                words.wrong("behind what a filter matches comes flowid and a class: flowid 1:10")
            );
        }
        let major = self.draft.disciplines.first().map(|discipline| discipline.major);
        let target = read_handle(words, major)?;
        self.draft.filters.push(FilterDraft { target, filter, priority: 0, place });
        Ok(())
    }
}
