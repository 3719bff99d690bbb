//! A cursor over the text of a filter.

use super::error::{FilterError, FilterProblem};

/// Takes symbols and words from the front of a text.
#[derive(Clone, Copy)]
pub(super) struct Scanner<'a> {
    text: &'a str,
    /// Bytes taken so far; what follows begins with no blank.
    at: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let mut scanner = Self { text, at: 0 };
        scanner.skip_blanks();
        scanner
    }

    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.rest().is_empty()
    }

    /// Takes this many bytes, and blanks behind them.
    pub(super) fn take(&mut self, bytes: usize) {
        self.at += bytes;
        self.skip_blanks();
    }

    fn skip_blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Takes a symbol if it is next.
    pub(super) fn take_symbol(&mut self, symbol: &str) -> bool {
        let is_next = self.rest().starts_with(symbol);
        if is_next {
            self.take(symbol.len());
        }
        is_next
    }

    /// What stands next of letters, digits and what addresses, ranges and names have between them.
    pub(super) fn run(&self) -> &'a str {
        self.run_of(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':' | '-' | '\\'))
    }

    /// What stands next of letters, digits and, as names of constants have them, hyphens.
    pub(super) fn name(&self) -> &'a str {
        self.run_of(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
    }

    /// What stands next of letters and digits.
    pub(super) fn letters_and_digits(&self) -> &'a str {
        self.run_of(|c| c.is_ascii_alphanumeric())
    }

    fn run_of(&self, belongs: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        rest.get(..end).unwrap_or_default()
    }

    /// Takes a word if it is all of the next run.
    pub(super) fn take_word(&mut self, word: &str) -> bool {
        let is_next = self.run() == word;
        if is_next {
            self.take(word.len());
        }
        is_next
    }

    /// What stands next, for people.
    pub(super) fn found(&self) -> String {
        let run = self.run();
        match (run.is_empty(), self.rest().chars().next()) {
            (false, _) => format!("`{}`", shortened(run)),
            (true, Some(symbol)) => format!("`{symbol}`"),
            (true, None) => "the end".to_owned(),
        }
    }

    /// An error at what stands next.
    pub(super) fn error(&self, problem: FilterProblem) -> FilterError {
        let before = self.text.get(..self.at).unwrap_or_default();
        let character = before.chars().count() + 1;
        FilterError { filter: shortened(self.text), character, problem }
    }

    pub(super) fn expected(&self, expected: &'static str) -> FilterError {
        self.error(FilterProblem::Expected { found: self.found(), expected })
    }
}

/// A text that fits into a message.
pub(super) fn shortened(text: &str) -> String {
    const MOST: usize = 200;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
