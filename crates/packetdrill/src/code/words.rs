//! The words of code, and the statements that they make up.

use crate::outcome::{Step, Stop};

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Word {
    Number(i64),
    Real(f64),
    Text(String),
    Name(String),
    /// An operator or parenthesis.
    Sign(&'static str),
}

/// Longer signs come before those that they begin with.
const SIGNS: [&str; 26] = [
    "==", "!=", "<=", ">=", "<<", ">>", "//", "**", "<", ">", "=", "+", "-", "*", "/", "%", "(",
    ")", ",", "&", "|", "^", "~", "[", "]", ":",
];

/// Divides code into statements, and these into words. A statement ends with its line, unless a
/// parenthesis is open, or with `;`.
pub(super) fn statements(code: &str) -> Step<Vec<Vec<Word>>> {
    let mut statements = vec![Vec::new()];
    let mut depth = 0_i32;
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        if first == '\n' && depth <= 0 || first == ';' {
            statements.push(Vec::new());
        }
        if first.is_whitespace() || first == ';' || first == '\\' {
            rest = &rest[first.len_utf8()..];
            continue;
        }
        if first == '#' {
            rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
            continue;
        }
        let (word, length) = word(rest)?;
        match word {
            Word::Sign("(" | "[") => depth += 1,
            Word::Sign(")" | "]") => depth -= 1,
            _ => {}
        }
        statements.last_mut().expect("there is always a last statement").push(word);
        rest = &rest[length..];
    }
    statements.retain(|statement| !statement.is_empty());
    Ok(statements)
}

/// The first word and its length in bytes.
fn word(rest: &str) -> Step<(Word, usize)> {
    let first = rest.chars().next().unwrap_or(' ');
    if first == '"' || first == '\'' {
        let Some(length) = rest[1..].find(first) else {
            return Err(Stop::failed(format!("code: a text is not closed: {rest}")));
        };
        return Ok((Word::Text(rest[1..=length].to_owned()), length + 2));
    }
    if first.is_ascii_digit() || first == '.' {
        return number(rest);
    }
    let is_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let length = rest.find(|character| !is_name(character)).unwrap_or(rest.len());
    if length > 0 {
        return Ok((Word::Name(rest[..length].to_owned()), length));
    }
    match SIGNS.iter().find(|sign| rest.starts_with(*sign)) {
        Some(sign) => Ok((Word::Sign(sign), sign.len())),
        None => Err(Stop::unsupported(format!("code: `{first}` is not understood"))),
    }
}

/// A whole or decimal number; `_` between digits and Python 2's `L` behind them mean nothing.
fn number(rest: &str) -> Step<(Word, usize)> {
    let belongs = |character: char| character.is_ascii_alphanumeric() || "._".contains(character);
    let length = rest.find(|character| !belongs(character)).unwrap_or(rest.len());
    let text = rest[..length].replace('_', "");
    let digits = text.strip_suffix('L').unwrap_or(&text);
    let word = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hexadecimal) => i64::from_str_radix(hexadecimal, 16).ok().map(Word::Number),
        None if digits.contains(['.', 'e']) => digits.parse().ok().map(Word::Real),
        None => digits.parse().ok().map(Word::Number),
    };
    let word =
        word.ok_or_else(|| Stop::unsupported(format!("code: `{text}` is no number of 64 bits")))?;
    Ok((word, length))
}
