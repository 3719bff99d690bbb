//! The words of code, and the statements that they make up.

use crate::outcome::{Step, Stop};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Word {
    Number(i64),
    Text(String),
    Name(String),
    /// An operator or parenthesis.
    Sign(&'static str),
}

/// Longer signs come before those that they begin with.
const SIGNS: [&str; 21] = [
    "==", "!=", "<=", ">=", "<<", ">>", "//", "<", ">", "=", "+", "-", "*", "/", "%", "(", ")",
    ",", "&", "|", "[",
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
            Word::Sign("(") => depth += 1,
            Word::Sign(")") => depth -= 1,
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
    let is_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let length = rest.find(|character| !is_name(character)).unwrap_or(rest.len());
    if length > 0 {
        return Ok((name_or_number(&rest[..length])?, length));
    }
    match SIGNS.iter().find(|sign| rest.starts_with(*sign)) {
        Some(sign) => Ok((Word::Sign(sign), sign.len())),
        None => Err(Stop::unsupported(format!("code: `{first}` is not understood"))),
    }
}

fn name_or_number(text: &str) -> Step<Word> {
    if !text.starts_with(|character: char| character.is_ascii_digit()) {
        return Ok(Word::Name(text.to_owned()));
    }
    let number = match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    number
        .map(Word::Number)
        .map_err(|_| Stop::unsupported(format!("code: `{text}` is no number of 64 bits")))
}
