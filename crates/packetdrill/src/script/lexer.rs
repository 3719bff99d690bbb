//! Tokens of a script, the cursor over them, and parse errors.

use fairwind_units::Span;
use std::collections::BTreeMap;

/// Splits a script into tokens; the last one is [`Token::End`].
pub(crate) fn tokens(text: &str) -> Result<Vec<SpannedToken>, Unexpected> {
    let mut lexer = Lexer::new(text);
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blanks()?;
        let at = lexer.at();
        let token = lexer.next_token(at)?;
        let last = token == Token::End;
        tokens.push(SpannedToken { token, at });
        if last {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    rest: &'a str,
    line: u32,
    column: u32,
    /// Only white space precedes this position in its line.
    begins_line: bool,
}

impl<'a> Lexer<'a> {
    fn new(text: &'a str) -> Self {
        Self { rest: text, line: 1, column: 1, begins_line: true }
    }

    fn at(&self) -> Position {
        Position { line: self.line, column: self.column }
    }

    /// Consumes `bytes` bytes and returns them.
    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        for character in taken.chars() {
            if character == '\n' {
                self.line = self.line.saturating_add(1);
                self.column = 1;
                self.begins_line = true;
            } else {
                self.column = self.column.saturating_add(1);
                self.begins_line &= character.is_whitespace();
            }
        }
        self.rest = rest;
        taken
    }

    fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|character| !belongs(character)).unwrap_or(self.rest.len());
        self.take(end)
    }

    fn skip_blanks(&mut self) -> Result<(), Unexpected> {
        loop {
            self.take_while(char::is_whitespace);
            if self.rest.starts_with("//") || self.rest.starts_with('#') {
                self.take_while(|character| character != '\n');
            } else if self.rest.starts_with("/*") {
                self.take_delimited("/*", "*/", self.at())?;
            } else {
                return Ok(());
            }
        }
    }

    /// Takes `open ... close` and returns the text between.
    fn take_delimited(
        &mut self,
        open: &str,
        close: &str,
        at: Position,
    ) -> Result<&'a str, Unexpected> {
        self.take(open.len());
        let Some(length) = self.rest.find(close) else {
            return Err(Unexpected {
                at,
                expected: format!("`{close}` after `{open}`"),
                found: "the end of the script".to_owned(),
            });
        };
        let inner = self.take(length);
        self.take(close.len());
        Ok(inner)
    }

    fn next_token(&mut self, at: Position) -> Result<Token, Unexpected> {
        let Some(first) = self.rest.chars().next() else { return Ok(Token::End) };
        let token = match first {
            '`' => Token::Command(self.take_delimited("`", "`", at)?.trim().to_owned()),
            '"' => Token::Text(self.take_delimited("\"", "\"", at)?.to_owned()),
            '%' if self.rest.starts_with("%{") => {
                Token::Code(self.take_delimited("%{", "}%", at)?.to_owned())
            }
            '.' if self.rest.starts_with("...") => {
                self.take(3);
                Token::Ellipsis
            }
            '-' if self.begins_line && self.rest.starts_with("-D") => self.definition(),
            '-' if self.begins_line && self.rest.starts_with("--") => self.option(),
            '0'..='9' | '.' => self.number(at)?,
            _ if is_word(first) => Token::Word(self.take_while(is_word).to_owned()),
            _ => self.punct(first),
        };
        Ok(token)
    }

    fn punct(&mut self, sign: char) -> Token {
        self.take(sign.len_utf8());
        Token::Punct(sign)
    }

    fn definition(&mut self) -> Token {
        self.take(2);
        self.take_while(|character| character == ' ' || character == '\t');
        Token::Definition(self.take_while(|character| !character.is_whitespace()).to_owned())
    }

    fn option(&mut self) -> Token {
        self.take(2);
        Token::Option(self.take_while(|character| !character.is_whitespace()).to_owned())
    }

    /// `12`, `0x1f`, `1.5`, `.5`, or the hexadecimal digits of a cookie.
    fn number(&mut self, at: Position) -> Result<Token, Unexpected> {
        let text = self.rest;
        let whole = text.find(|character| !is_word(character)).unwrap_or(text.len());
        let fraction = text[whole..]
            .strip_prefix('.')
            .map_or(0, |behind| behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len()));
        let digits = &text[..whole];
        if fraction > 0 && digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Ok(Token::Decimal(self.take(whole + 1 + fraction).to_owned()));
        }
        if whole == 0 {
            return Ok(self.punct('.'));
        }
        self.take(whole);
        integer(digits, at)
    }
}

fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

fn integer(digits: &str, at: Position) -> Result<Token, Unexpected> {
    // A leading zero begins the digits of a cookie, not a number.
    if digits.strip_prefix('0').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
        return Ok(Token::Word(digits.to_owned()));
    }
    let parsed = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hexadecimal) => u64::from_str_radix(hexadecimal, 16),
        None if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse(),
        None => return Ok(Token::Word(digits.to_owned())),
    };
    parsed.map(Token::Integer).map_err(|_| Unexpected {
        at,
        expected: "a number of at most 64 bits".to_owned(),
        found: format!("`{digits}`"),
    })
}

/// A place in a script's text, both counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Line.
    pub line: u32,
    /// Column, in characters.
    pub column: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Token {
    /// `--name` or `--name=value`, as far as the next white space, without the hyphens.
    Option(String),
    /// `-D NAME=value` at the beginning of a line: the text after `-D`.
    Definition(String),
    /// A name, or hexadecimal digits that are no number (`01ab`).
    Word(String),
    /// A whole number, decimal or hexadecimal (`0x1f`).
    Integer(u64),
    /// A decimal number, as written.
    Decimal(String),
    /// Text in double quotes, without them.
    Text(String),
    /// A command in back quotes.
    Command(String),
    /// Code between `%{` and `}%`.
    Code(String),
    /// `...`
    Ellipsis,
    /// Punctuation: any other character.
    Punct(char),
    End,
}

impl std::fmt::Display for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Option(text) => write!(f, "the option --{text}"),
            Self::Definition(text) => write!(f, "the definition -D {text}"),
            Self::Word(text) | Self::Decimal(text) => write!(f, "`{text}`"),
            Self::Integer(number) => write!(f, "`{number}`"),
            Self::Text(text) => write!(f, "\"{text}\""),
            Self::Command(_) => f.write_str("a command in back quotes"),
            Self::Code(_) => f.write_str("code in %{ }%"),
            Self::Ellipsis => f.write_str("`...`"),
            Self::Punct(sign) => write!(f, "`{sign}`"),
            Self::End => f.write_str("the end of the script"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SpannedToken {
    pub(crate) token: Token,
    pub(crate) at: Position,
}

/// Seconds, to the nanosecond.
pub(super) fn seconds(cursor: &mut Cursor) -> ParseResult<Span> {
    let nanos = match cursor.peek() {
        Token::Integer(whole) => whole.checked_mul(1_000_000_000),
        Token::Decimal(text) => decimal_nanos(text),
        _ => return Err(cursor.unexpected("a time in seconds")),
    };
    let Some(nanos) = nanos.filter(|nanos| *nanos <= MAX_TIME.as_nanos()) else {
        return Err(cursor.unexpected("a time below 30 days with at most nine decimals"));
    };
    cursor.take();
    Ok(Span::from_nanos(nanos))
}

/// Maximum time in a script; sums of such times cannot overflow.
const MAX_TIME: Span = Span::from_secs(30 * 24 * 3600);

fn decimal_nanos(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.')?;
    if fraction.len() > 9 {
        return None;
    }
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let fraction: u64 = format!("{fraction:0<9}").parse().ok()?;
    whole.checked_mul(1_000_000_000)?.checked_add(fraction)
}

/// A place among the tokens of a script.
pub(super) struct Cursor {
    tokens: Vec<SpannedToken>,
    next: usize,
    /// Definitions by `-D` and by the caller.
    pub(super) definitions: BTreeMap<String, String>,
}

pub(super) type ParseResult<T> = Result<T, Unexpected>;

impl Cursor {
    /// `tokens` must end with [`Token::End`].
    pub(super) fn new(tokens: Vec<SpannedToken>, definitions: BTreeMap<String, String>) -> Self {
        Self { tokens, next: 0, definitions }
    }

    pub(super) fn peek(&self) -> &Token {
        self.peek_nth(0)
    }

    /// The token `distance` tokens after the next one.
    pub(super) fn peek_nth(&self, distance: usize) -> &Token {
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

    /// Takes the next token, which means `meaning`.
    pub(super) fn taking<T>(&mut self, meaning: T) -> T {
        self.take();
        meaning
    }

    /// Takes the rest of the line as text.
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

    pub(super) fn is_punct(&self, sign: char) -> bool {
        *self.peek() == Token::Punct(sign)
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Token::Word(found) if found == word)
    }

    pub(super) fn take_if_punct(&mut self, sign: char) -> bool {
        self.is_punct(sign) && self.taking(true)
    }

    pub(super) fn take_if_word(&mut self, word: &str) -> bool {
        self.is_word(word) && self.taking(true)
    }

    pub(super) fn punct(&mut self, sign: char) -> ParseResult<()> {
        if self.take_if_punct(sign) { Ok(()) } else { Err(self.unexpected(format!("`{sign}`"))) }
    }

    pub(super) fn word(&mut self, expected: &str) -> ParseResult<String> {
        let Token::Word(word) = self.peek() else { return Err(self.unexpected(expected)) };
        let word = word.clone();
        Ok(self.taking(word))
    }

    /// A whole number, or a defined name for one, that fits its field.
    pub(super) fn number<N: TryFrom<u64>>(&mut self, expected: &str) -> ParseResult<N> {
        let number = match self.peek() {
            Token::Integer(number) => Some(*number),
            Token::Word(name) => self.definitions.get(name).and_then(|value| value.parse().ok()),
            _ => None,
        };
        let fitting = number.and_then(|number| N::try_from(number).ok());
        let Some(number) = fitting else { return Err(self.unexpected(expected)) };
        Ok(self.taking(number))
    }
}

/// A parse error: position, expected and found token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}:{}:{}: expected {expected}, found {found}", at.line, at.column)]
pub struct ParseError {
    /// Name of the script, as its reader gave it.
    pub name: String,
    /// Where.
    pub at: Position,
    /// Expected token.
    pub expected: String,
    /// Found token.
    pub found: String,
}

/// A parse error before the script's name is added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unexpected {
    pub(crate) at: Position,
    pub(crate) expected: String,
    pub(crate) found: String,
}

impl Unexpected {
    pub(crate) fn named(self, name: &str) -> ParseError {
        let Self { at, expected, found } = self;
        ParseError { name: name.to_owned(), at, expected, found }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Token> {
        tokens(text).unwrap().into_iter().map(|placed| placed.token).collect()
    }

    #[test]
    fn an_ellipsis_ends_a_number() {
        let decimal = |text: &str| Token::Decimal(text.to_owned());
        assert_eq!(
            kinds("0.1...0.2 1...2 .5 ."),
            [
                decimal("0.1"),
                Token::Ellipsis,
                decimal("0.2"),
                Token::Integer(1),
                Token::Ellipsis,
                Token::Integer(2),
                decimal(".5"),
                Token::Punct('.'),
                Token::End,
            ]
        );
    }

    #[test]
    fn three_kinds_of_comments_are_skipped() {
        let all = tokens("# one\n// two\n/* three\n four */ word").unwrap();
        assert_eq!(all[0].token, Token::Word("word".to_owned()));
        assert_eq!(all[0].at, Position { line: 4, column: 10 });
    }

    #[test]
    fn options_and_definitions_begin_a_line() {
        assert_eq!(
            kinds("--mss=1000\n  -D SIZE=5\n 1 --2"),
            [
                Token::Option("mss=1000".to_owned()),
                Token::Definition("SIZE=5".to_owned()),
                Token::Integer(1),
                Token::Punct('-'),
                Token::Punct('-'),
                Token::Integer(2),
                Token::End,
            ]
        );
    }

    #[test]
    fn unclosed_text_is_reported_at_its_start() {
        let error = tokens("1 `sysctl").unwrap_err();
        assert_eq!(error.at, Position { line: 1, column: 3 });
        assert_eq!(error.expected, "``` after ```");
    }
}
