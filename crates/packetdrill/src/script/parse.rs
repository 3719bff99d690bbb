//! Parser of scripts: options, events, times and system calls.

use super::ast::{Action, Call, Command, Event, EventTime, Expression, Field, OptionLine, Script};
use super::lexer::{Cursor, ParseError, ParseResult, Token, seconds, tokens};
use super::packets::packet;
use fairwind_units::Span;
use std::collections::BTreeMap;

impl Script {
    /// Reads a script.
    ///
    /// `name` is for messages. `definitions` map names to numbers or other constants; definitions of the
    /// script itself (`-D NAME=VALUE`) override them.
    ///
    /// # Errors
    /// If the text is not a script: the position, and the expected token.
    pub fn parse(
        name: &str,
        text: &str,
        definitions: &BTreeMap<String, String>,
    ) -> Result<Self, ParseError> {
        let script = tokens(text).and_then(|tokens| {
            let mut cursor = Cursor::new(tokens, definitions.clone());
            script(name, &mut cursor)
        });
        script.map_err(|unexpected| unexpected.named(name))
    }
}

fn script(name: &str, cursor: &mut Cursor) -> ParseResult<Script> {
    let mut script = Script { name: name.to_owned(), ..Script::default() };
    loop {
        match cursor.peek() {
            Token::Definition(_) => definition(cursor)?,
            Token::Option(text) if text.starts_with("define=") => definition(cursor)?,
            Token::Option(_) => script.options.push(option_line(cursor)?),
            _ => break,
        }
    }
    let version = script.options.iter().rev().find(|option| option.name == "ip_version");
    define_usual(version.and_then(|option| option.value.as_deref()), &mut cursor.definitions);
    script.preparation = bare_command(cursor);
    while *cursor.peek() != Token::End {
        if matches!(cursor.peek(), Token::Command(_)) && *cursor.peek_nth(1) == Token::End {
            script.cleanup = bare_command(cursor);
        } else {
            script.events.push(event(cursor)?);
        }
    }
    if script.events.is_empty() {
        return Err(cursor.unexpected("an event"));
    }
    Ok(script)
}

/// Adds the default definitions of the kernel's test runner, which depend on the IP version.
pub(crate) fn define_usual(version: Option<&str>, definitions: &mut BTreeMap<String, String>) {
    let (level, kind) = match version {
        Some("ipv6" | "ipv4-mapped-ipv6") => ("SOL_IPV6", "IPV6_RECVERR"),
        _ => ("SOL_IP", "IP_RECVERR"),
    };
    // The cookies of the default addresses, with the key of those scripts and with an all-zero key.
    let (cookie, cookie_of_zeros) = match version {
        Some("ipv6") => ("c1d1e9742a47a9bc", "82af1a8f9a205c34"),
        _ => ("3021b9d889017eeb", "b7c12350a90dc8f5"),
    };
    let usual = [
        ("CMSG_LEVEL_IP", level),
        ("CMSG_TYPE_RECVERR", kind),
        ("TFO_COOKIE", cookie),
        ("TFO_COOKIE_ZERO", cookie_of_zeros),
    ];
    for (name, value) in usual {
        definitions.entry(name.to_owned()).or_insert_with(|| value.to_owned());
    }
}

fn bare_command(cursor: &mut Cursor) -> Option<Command> {
    let line = cursor.line();
    let Token::Command(text) = cursor.peek() else { return None };
    Some(cursor.taking(Command { line, text: text.clone() }))
}

/// `-D NAME=VALUE` or `--define=NAME=VALUE`
fn definition(cursor: &mut Cursor) -> ParseResult<()> {
    let (Token::Definition(text) | Token::Option(text)) = cursor.peek() else {
        return Err(cursor.unexpected("a definition"));
    };
    let Some((name, value)) = text.trim_start_matches("define=").split_once('=') else {
        return Err(cursor.unexpected("a definition NAME=VALUE"));
    };
    let (name, value) = (name.to_owned(), value.to_owned());
    cursor.definitions.insert(name, value);
    cursor.take();
    Ok(())
}

/// `--name` or `--name=value`
fn option_line(cursor: &mut Cursor) -> ParseResult<OptionLine> {
    let line = cursor.line();
    let Token::Option(text) = cursor.peek() else { return Err(cursor.unexpected("an option")) };
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
        None => (text.clone(), None),
    };
    cursor.take();
    Ok(OptionLine { line, name, value })
}

fn event(cursor: &mut Cursor) -> ParseResult<Event> {
    let line = cursor.line();
    let time = event_time(cursor)?;
    let action = match cursor.peek() {
        Token::Punct('<' | '>') => packet(cursor)?,
        Token::Command(text) => cursor.taking(Action::Command(text.clone())),
        Token::Code(text) => cursor.taking(Action::Code(text.clone())),
        Token::Word(_) | Token::Ellipsis => Action::Call(call(cursor)?),
        _ => return Err(cursor.unexpected("a packet, a system call, a command or code")),
    };
    Ok(Event { line, time, action })
}

/// The time of an event; a command or code without one follows immediately.
fn event_time(cursor: &mut Cursor) -> ParseResult<EventTime> {
    match cursor.peek() {
        Token::Command(_) | Token::Code(_) => Ok(EventTime::Relative(Span::ZERO)),
        Token::Punct('*') => Ok(cursor.taking(EventTime::Any)),
        Token::Punct('+') => {
            cursor.take();
            let first = seconds(cursor)?;
            if !cursor.take_if_punct('~') {
                return Ok(EventTime::Relative(first));
            }
            cursor.punct('+')?;
            Ok(EventTime::RelativeRange(first, range_end(cursor, first)?))
        }
        _ => {
            let first = seconds(cursor)?;
            if !cursor.take_if_punct('~') {
                return Ok(EventTime::Absolute(first));
            }
            Ok(EventTime::AbsoluteRange(first, range_end(cursor, first)?))
        }
    }
}

fn range_end(cursor: &mut Cursor, first: Span) -> ParseResult<Span> {
    let place = cursor.unexpected("a time that is not before the beginning of its range");
    let end = seconds(cursor)?;
    if end < first { Err(place) } else { Ok(end) }
}

/// Maximum nesting depth.
const MAX_DEPTH: u32 = 32;

/// `[...end] function(arguments) = result [ERROR] [(note)]`
fn call(cursor: &mut Cursor) -> ParseResult<Call> {
    let end = if *cursor.peek() == Token::Ellipsis {
        cursor.take();
        cursor.take_if_punct('+');
        Some(seconds(cursor)?)
    } else {
        None
    };
    let function = cursor.word("the name of a system call")?;
    cursor.punct('(')?;
    let arguments = list(cursor, ')', MAX_DEPTH)?;
    cursor.punct('=')?;
    let result = expression(cursor, MAX_DEPTH)?;
    let error = match cursor.peek() {
        Token::Word(_) => Some(cursor.word("an error's name")?),
        _ => None,
    };
    skip_note(cursor)?;
    Ok(Call { end, function, arguments, result, error })
}

/// The error's description, for human readers.
fn skip_note(cursor: &mut Cursor) -> ParseResult<()> {
    if !cursor.take_if_punct('(') {
        return Ok(());
    }
    while !cursor.is_punct(')') {
        if *cursor.peek() == Token::End {
            return Err(cursor.unexpected("`)` behind the note"));
        }
        cursor.take();
    }
    cursor.punct(')')
}

/// Expressions separated by commas, up to and including `close`.
fn list(cursor: &mut Cursor, close: char, depth: u32) -> ParseResult<Vec<Expression>> {
    let mut members = Vec::new();
    if cursor.take_if_punct(close) {
        return Ok(members);
    }
    loop {
        members.push(expression(cursor, depth)?);
        if cursor.take_if_punct(close) {
            return Ok(members);
        }
        if !cursor.take_if_punct(',') {
            return Err(cursor.unexpected(format!("`,` or `{close}`")));
        }
    }
}

fn expression(cursor: &mut Cursor, depth: u32) -> ParseResult<Expression> {
    let Some(depth) = depth.checked_sub(1) else {
        return Err(cursor.unexpected("a value that is nested less deeply"));
    };
    let first = single(cursor, depth)?;
    if !cursor.is_punct('|') {
        return Ok(first);
    }
    let mut members = vec![first];
    while cursor.take_if_punct('|') {
        members.push(single(cursor, depth)?);
    }
    Ok(Expression::Union(members))
}

fn single(cursor: &mut Cursor, depth: u32) -> ParseResult<Expression> {
    match cursor.peek().clone() {
        Token::Ellipsis => Ok(cursor.taking(Expression::Any)),
        Token::Text(text) => {
            cursor.take();
            // `"abc"...` is a longer text with this prefix.
            if *cursor.peek() == Token::Ellipsis {
                cursor.take();
            }
            Ok(Expression::Text(text))
        }
        Token::Integer(_) => integer(cursor, 1),
        Token::Punct('-') => {
            cursor.take();
            integer(cursor, -1)
        }
        Token::Punct('[') => {
            cursor.take();
            Ok(Expression::List(list(cursor, ']', depth)?))
        }
        Token::Punct('{') => {
            cursor.take();
            record(cursor, depth)
        }
        Token::Word(_) => named(cursor, depth),
        _ => Err(cursor.unexpected("a value")),
    }
}

fn integer(cursor: &mut Cursor, sign: i64) -> ParseResult<Expression> {
    let number: i64 = cursor.number("a whole number of at most 63 bits")?;
    Ok(Expression::Integer(sign * number))
}

/// A name, a defined name, or a function's value.
fn named(cursor: &mut Cursor, depth: u32) -> ParseResult<Expression> {
    let name = cursor.word("a name")?;
    if cursor.take_if_punct('(') {
        return Ok(Expression::Function(name, list(cursor, ')', depth)?));
    }
    let meant = cursor.definitions.get(&name).cloned().unwrap_or(name);
    Ok(meant.parse().map_or(Expression::Name(meant), Expression::Integer))
}

/// `{name = value, value, name(...) = value}`, after the opening brace.
fn record(cursor: &mut Cursor, depth: u32) -> ParseResult<Expression> {
    let mut fields = Vec::new();
    while !cursor.take_if_punct('}') {
        if !fields.is_empty() && !cursor.take_if_punct(',') {
            return Err(cursor.unexpected("`,` or `}`"));
        }
        fields.push(field(cursor, depth)?);
    }
    Ok(Expression::Record(fields))
}

fn field(cursor: &mut Cursor, depth: u32) -> ParseResult<Field> {
    let value = expression(cursor, depth)?;
    if !cursor.take_if_punct('=') {
        return Ok(Field { name: None, value });
    }
    let (Expression::Name(name) | Expression::Function(name, _)) = value else {
        return Err(cursor.unexpected("a field's name before `=`"));
    };
    Ok(Field { name: Some(name), value: expression(cursor, depth)? })
}
