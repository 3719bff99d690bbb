//! The smallest parts of a script, and where they stand.

/// A place in a script's text, both counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Line.
    pub line: u32,
    /// Column, in characters.
    pub column: u32,
}

/// One token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Token {
    /// `--name` or `--name=value`, as far as the next white space, without the hyphens.
    Option(String),
    /// `-D NAME=value` at the beginning of a line: what stands behind `-D`.
    Definition(String),
    /// A name, or hexadecimal digits that are no number (`01ab`).
    Word(String),
    /// A whole number, decimal or hexadecimal (`0x1f`).
    Integer(u64),
    /// A decimal number, as it is written.
    Decimal(String),
    /// Text in double quotes, as it is written between them.
    Text(String),
    /// A command in back quotes.
    Command(String),
    /// Code between `%{` and `}%`.
    Code(String),
    /// `...`
    Ellipsis,
    /// Any other character.
    Sign(char),
    /// After the last one.
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
            Self::Sign(sign) => write!(f, "`{sign}`"),
            Self::End => f.write_str("the end of the script"),
        }
    }
}

/// A token and where it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Placed {
    pub(crate) token: Token,
    pub(crate) at: Position,
}
