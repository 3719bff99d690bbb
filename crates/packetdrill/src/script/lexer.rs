//! From text to tokens. White space and comments (`// ...`, `# ...`, `/* ... */`) only part them.

use super::error::Unexpected;
use super::token::{Placed, Position, Token};

/// Divides a whole script; the last token is [`Token::End`].
pub(crate) fn tokens(text: &str) -> Result<Vec<Placed>, Unexpected> {
    let mut lexer = Lexer::new(text);
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blanks()?;
        let at = lexer.at();
        let token = lexer.next_token(at)?;
        let last = token == Token::End;
        tokens.push(Placed { token, at });
        if last {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    rest: &'a str,
    line: u32,
    column: u32,
    /// Nothing but white space stands before this place in its line.
    begins_line: bool,
}

impl<'a> Lexer<'a> {
    fn new(text: &'a str) -> Self {
        Self { rest: text, line: 1, column: 1, begins_line: true }
    }

    fn at(&self) -> Position {
        Position { line: self.line, column: self.column }
    }

    /// Moves over the first `bytes` bytes and returns them.
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
                self.take_quoted("/*", "*/", self.at())?;
            } else {
                return Ok(());
            }
        }
    }

    /// Takes `open ... close` and returns what stands between.
    fn take_quoted(
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
            '`' => Token::Command(self.take_quoted("`", "`", at)?.trim().to_owned()),
            '"' => Token::Text(self.take_quoted("\"", "\"", at)?.to_owned()),
            '%' if self.rest.starts_with("%{") => {
                Token::Code(self.take_quoted("%{", "}%", at)?.to_owned())
            }
            '.' if self.rest.starts_with("...") => {
                self.take(3);
                Token::Ellipsis
            }
            '-' if self.begins_line && self.rest.starts_with("-D") => self.definition(),
            '-' if self.begins_line && self.rest.starts_with("--") => self.option(),
            '0'..='9' | '.' => self.number(at)?,
            _ if is_word(first) => Token::Word(self.take_while(is_word).to_owned()),
            _ => self.sign(first),
        };
        Ok(token)
    }

    fn sign(&mut self, sign: char) -> Token {
        self.take(sign.len_utf8());
        Token::Sign(sign)
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
            return Ok(self.sign('.'));
        }
        self.take(whole);
        integer(digits, at)
    }
}

fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

fn integer(digits: &str, at: Position) -> Result<Token, Unexpected> {
    // A number does not begin so, but the digits of a cookie may.
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
                Token::Sign('.'),
                Token::End,
            ]
        );
    }

    #[test]
    fn comments_of_three_kinds_are_skipped_and_lines_counted() {
        let all = tokens("# one\n// two\n/* three\n four */ word").unwrap();
        assert_eq!(all[0].token, Token::Word("word".to_owned()));
        assert_eq!(all[0].at, Position { line: 4, column: 10 });
    }

    #[test]
    fn options_and_definitions_stand_at_the_beginning_of_a_line() {
        assert_eq!(
            kinds("--mss=1000\n  -D SIZE=5\n 1 --2"),
            [
                Token::Option("mss=1000".to_owned()),
                Token::Definition("SIZE=5".to_owned()),
                Token::Integer(1),
                Token::Sign('-'),
                Token::Sign('-'),
                Token::Integer(2),
                Token::End,
            ]
        );
    }

    #[test]
    fn what_is_never_closed_is_reported_where_it_opened() {
        let error = tokens("1 `sysctl").unwrap_err();
        assert_eq!(error.at, Position { line: 1, column: 3 });
        assert_eq!(error.expected, "``` after ```");
    }
}
