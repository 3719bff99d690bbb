//! A text as words, each with its place.

use super::error::{TcError, advice};
use super::number;
use fairwind_units::{BitRate, Ratio, Span};

/// Where something stands in a text, both from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) line: usize,
    pub(super) column: usize,
}

impl Place {
    pub(super) fn error(self, rule: impl Into<String>) -> TcError {
        TcError { line: self.line, column: self.column, rule: rule.into() }
    }
}

/// A word and where it begins.
#[derive(Debug, Clone, Copy)]
pub(super) struct Word<'t> {
    pub(super) text: &'t str,
    pub(super) place: Place,
}

/// The words of a line.
pub(super) fn split(text: &str, line: usize) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut begin = None;
    for (column, (offset, c)) in (1..).zip(text.char_indices().chain([(text.len(), ' ')])) {
        match (c.is_whitespace(), begin) {
            (false, None) => begin = Some((offset, column)),
            (true, Some((start, column))) => {
                words.push(Word { text: &text[start..offset], place: Place { line, column } });
                begin = None;
            }
            _ => {}
        }
    }
    words
}

/// Words that are read one after the other.
#[derive(Debug, Clone)]
pub(super) struct Words<'t> {
    rest: std::slice::Iter<'t, Word<'t>>,
    /// Where the last word stands.
    pub(super) last: Place,
    /// What the parameters are of.
    pub(super) subject: &'static str,
}

impl<'t> Words<'t> {
    pub(super) fn new(words: &'t [Word<'t>], before: Place) -> Self {
        Self { rest: words.iter(), last: before, subject: "tc" }
    }

    /// The next word, where there is one.
    pub(super) fn next(&mut self) -> Option<&'t str> {
        let word = self.rest.next()?;
        self.last = word.place;
        Some(word.text)
    }

    /// The next word, left where it is.
    pub(super) fn peek(&self) -> Option<&'t str> {
        self.rest.as_slice().first().map(|word| word.text)
    }

    /// Takes the next word where it is `word`.
    pub(super) fn take(&mut self, word: &str) -> bool {
        let found = self.peek() == Some(word);
        if found {
            self.next();
        }
        found
    }

    /// The next word, which has to be there.
    pub(super) fn value(&mut self, what: &str) -> Result<&'t str, TcError> {
        let before = self.last;
        self.next().ok_or_else(|| before.error(format!("behind this word {what} is missing")))
    }

    /// The next word as one of `known`; `None` behind the last one.
    pub(super) fn option(
        &mut self,
        known: &[&'static str],
    ) -> Result<Option<&'static str>, TcError> {
        let Some(word) = self.next() else { return Ok(None) };
        if let Some(name) = known.iter().find(|name| **name == word) {
            return Ok(Some(*name));
        }
        let rule =
            format!("\"{word}\" is no parameter of {}; {}", self.subject, advice(word, known));
        Err(self.wrong(rule))
    }

    /// The words before the first `word`, and those from it on, where it is there. This takes none of them.
    pub(super) fn split_at(&self, word: &str) -> (Self, Option<Self>) {
        let words = self.rest.as_slice();
        let Some(index) = words.iter().position(|other| other.text == word) else {
            return (self.clone(), None);
        };
        let (before, behind) = words.split_at(index);
        let part = |words: &'t [Word<'t>]| Self { rest: words.iter(), ..self.clone() };
        (part(before), Some(part(behind)))
    }

    /// An error about the last word.
    pub(super) fn wrong(&self, rule: impl Into<String>) -> TcError {
        self.last.error(rule)
    }

    fn number<T>(
        &mut self,
        what: &str,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<T, TcError> {
        let word = self.value(what)?;
        read(word).map_err(|rule| self.wrong(rule))
    }

    pub(super) fn rate(&mut self) -> Result<BitRate, TcError> {
        self.number("a rate such as 5mbit", number::rate)
    }

    pub(super) fn bytes(&mut self) -> Result<u64, TcError> {
        self.number("a size such as 1520 or 64kb", number::size)
    }

    /// A size that fits in 32 bits.
    pub(super) fn size(&mut self) -> Result<u32, TcError> {
        let bytes = self.bytes()?;
        u32::try_from(bytes).map_err(|_| self.wrong("it must be less than 4 GiB"))
    }

    pub(super) fn time(&mut self) -> Result<Span, TcError> {
        self.number("a time such as 5ms", number::time)
    }

    pub(super) fn share(&mut self) -> Result<Ratio, TcError> {
        self.number("a probability such as 0.02 or 2%", number::share)
    }

    /// A number of per cent, with or without its sign.
    pub(super) fn per_cent(&mut self) -> Result<Ratio, TcError> {
        let is_bare = self.peek().is_some_and(|word| !word.ends_with('%'));
        let share = self.number("a share such as 2%", number::share)?;
        let hundredth = Ratio::from_parts_per_billion(share.as_parts_per_billion() / 100);
        Ok(if is_bare { hundredth } else { share })
    }

    /// A whole number, in any notation of C.
    pub(super) fn count<T: TryFrom<u64>>(&mut self) -> Result<T, TcError> {
        self.number("a whole number", |word| {
            let number = number::whole(word)?;
            T::try_from(number).map_err(|_| format!("{number} is too large"))
        })
    }
}
