//! Walking over tokens: look, take, or say what was expected.

use super::error::Unexpected;
use super::token::{Placed, Position, Token};
use std::collections::BTreeMap;

/// A place among the tokens of a script.
pub(super) struct Cursor {
    tokens: Vec<Placed>,
    next: usize,
    /// What `-D` and the caller have defined.
    pub(super) definitions: BTreeMap<String, String>,
}

pub(super) type Parsed<T> = Result<T, Unexpected>;

impl Cursor {
    /// `tokens` must end with [`Token::End`].
    pub(super) fn new(tokens: Vec<Placed>, definitions: BTreeMap<String, String>) -> Self {
        Self { tokens, next: 0, definitions }
    }

    pub(super) fn peek(&self) -> &Token {
        self.peek_behind(0)
    }

    /// The token `distance` tokens behind the next one.
    pub(super) fn peek_behind(&self, distance: usize) -> &Token {
        let last = self.tokens.len() - 1;
        &self.tokens[(self.next + distance).min(last)].token
    }

    pub(super) fn at(&self) -> Position {
        self.tokens[self.next].at
    }

    pub(super) fn line(&self) -> u32 {
        self.at().line
    }

    /// Takes the next token; the end is never passed.
    pub(super) fn take(&mut self) -> Token {
        let token = self.peek().clone();
        if token != Token::End {
            self.next += 1;
        }
        token
    }

    /// Takes what is left of the line, and writes it down.
    pub(super) fn rest_of_line(&mut self) -> String {
        let line = self.line();
        let mut words = Vec::new();
        while self.line() == line && *self.peek() != Token::End {
            words.push(self.take().to_string().replace('`', ""));
        }
        words.join(" ")
    }

    pub(super) fn unexpected(&self, expected: impl Into<String>) -> Unexpected {
        Unexpected { at: self.at(), expected: expected.into(), found: self.peek().to_string() }
    }

    pub(super) fn is_sign(&self, sign: char) -> bool {
        *self.peek() == Token::Sign(sign)
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Token::Word(found) if found == word)
    }

    pub(super) fn take_if_sign(&mut self, sign: char) -> bool {
        let found = self.is_sign(sign);
        if found {
            self.take();
        }
        found
    }

    pub(super) fn take_if_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.take();
        }
        found
    }

    pub(super) fn sign(&mut self, sign: char) -> Parsed<()> {
        if self.take_if_sign(sign) { Ok(()) } else { Err(self.unexpected(format!("`{sign}`"))) }
    }

    pub(super) fn word(&mut self, expected: &str) -> Parsed<String> {
        let Token::Word(word) = self.peek() else { return Err(self.unexpected(expected)) };
        let word = word.clone();
        self.take();
        Ok(word)
    }

    /// A whole number, or a defined name that stands for one, that fits its field.
    pub(super) fn number<N: TryFrom<u64>>(&mut self, expected: &str) -> Parsed<N> {
        let number = match self.peek() {
            Token::Integer(number) => Some(*number),
            Token::Word(name) => self.definitions.get(name).and_then(|value| value.parse().ok()),
            _ => None,
        };
        let fitting = number.and_then(|number| N::try_from(number).ok());
        let Some(number) = fitting else { return Err(self.unexpected(expected)) };
        self.take();
        Ok(number)
    }
}
