//! The script language: options, events, times and system calls, from text to a [`Script`].

mod constants;
mod lexer;
mod packets;
mod syntax;
mod values;

pub use lexer::{ParseError, Position};
pub(crate) use syntax::decimal;
pub use syntax::{
    Action, Call, Command, Direction, Event, EventTime, Expression, Field, Icmp, Mark, OptionLine,
    Packet, Script, TcpOption,
};
pub(crate) use values::{constant, header_constant, header_constants, option_name};
pub use values::{errno_name, text_bytes};

use fairwind_units::Span;
use lexer::{Cursor, Parsed, Token, seconds, tokens};
use packets::packet;
use std::collections::BTreeMap;

impl Script {
    /// Reads a script.
    ///
    /// `name` is for messages. `definitions` are names that stand for numbers or for other constants,
    /// besides those that the script defines itself by `-D NAME=VALUE`; its own count more.
    ///
    /// # Errors
    /// Where the text is not a script: the place, and what could have stood there.
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

fn script(name: &str, cursor: &mut Cursor) -> Parsed<Script> {
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

/// Defines the names that the kernel's own scripts leave to whoever runs them, as its runner does,
/// where they mean nothing yet. They are other ones where an IP version is given.
pub(crate) fn define_usual(version: Option<&str>, definitions: &mut BTreeMap<String, String>) {
    let (level, kind) = match version {
        Some("ipv6" | "ipv4-mapped-ipv6") => ("SOL_IPV6", "IPV6_RECVERR"),
        _ => ("SOL_IP", "IP_RECVERR"),
    };
    // The cookies of the usual addresses, with the key of those scripts and with one of zeros.
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
    let text = text.clone();
    cursor.take();
    Some(Command { line, text })
}

/// `-D NAME=VALUE` or `--define=NAME=VALUE`
fn definition(cursor: &mut Cursor) -> Parsed<()> {
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
fn option_line(cursor: &mut Cursor) -> Parsed<OptionLine> {
    let line = cursor.line();
    let Token::Option(text) = cursor.peek() else { return Err(cursor.unexpected("an option")) };
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
        None => (text.clone(), None),
    };
    cursor.take();
    Ok(OptionLine { line, name, value })
}

fn event(cursor: &mut Cursor) -> Parsed<Event> {
    let line = cursor.line();
    let time = event_time(cursor)?;
    let action = match cursor.peek() {
        Token::Sign('<' | '>') => packet(cursor)?,
        Token::Command(text) => {
            let action = Action::Command(text.clone());
            cursor.take();
            action
        }
        Token::Code(text) => {
            let action = Action::Code(text.clone());
            cursor.take();
            action
        }
        Token::Word(_) | Token::Ellipsis => Action::Call(call(cursor)?),
        _ => return Err(cursor.unexpected("a packet, a system call, a command or code")),
    };
    Ok(Event { line, time, action })
}

/// A time; a command or code without one follows at once.
fn event_time(cursor: &mut Cursor) -> Parsed<EventTime> {
    match cursor.peek() {
        Token::Command(_) | Token::Code(_) => Ok(EventTime::Relative(Span::ZERO)),
        Token::Sign('*') => {
            cursor.take();
            Ok(EventTime::Any)
        }
        Token::Sign('+') => {
            cursor.take();
            let first = seconds(cursor)?;
            if !cursor.take_if_sign('~') {
                return Ok(EventTime::Relative(first));
            }
            cursor.sign('+')?;
            Ok(EventTime::RelativeRange(first, range_end(cursor, first)?))
        }
        _ => {
            let first = seconds(cursor)?;
            if !cursor.take_if_sign('~') {
                return Ok(EventTime::Absolute(first));
            }
            Ok(EventTime::AbsoluteRange(first, range_end(cursor, first)?))
        }
    }
}

fn range_end(cursor: &mut Cursor, first: Span) -> Parsed<Span> {
    let place = cursor.unexpected("a time that is not before the beginning of its range");
    let end = seconds(cursor)?;
    if end < first { Err(place) } else { Ok(end) }
}

/// Deeper nesting than this is no script.
const DEEPEST: u32 = 32;

/// `[...end] function(arguments) = result [ERROR] [(note)]`
fn call(cursor: &mut Cursor) -> Parsed<Call> {
    let end = if *cursor.peek() == Token::Ellipsis {
        cursor.take();
        cursor.take_if_sign('+');
        Some(seconds(cursor)?)
    } else {
        None
    };
    let function = cursor.word("the name of a system call")?;
    cursor.sign('(')?;
    let arguments = list(cursor, ')', DEEPEST)?;
    cursor.sign('=')?;
    let result = expression(cursor, DEEPEST)?;
    let error = match cursor.peek() {
        Token::Word(_) => Some(cursor.word("an error's name")?),
        _ => None,
    };
    skip_note(cursor)?;
    Ok(Call { end, function, arguments, result, error })
}

/// The error's description, for human readers.
fn skip_note(cursor: &mut Cursor) -> Parsed<()> {
    if !cursor.take_if_sign('(') {
        return Ok(());
    }
    while !cursor.is_sign(')') {
        if *cursor.peek() == Token::End {
            return Err(cursor.unexpected("`)` behind the note"));
        }
        cursor.take();
    }
    cursor.sign(')')
}

/// Expressions parted by commas, up to `close`, which is taken.
fn list(cursor: &mut Cursor, close: char, depth: u32) -> Parsed<Vec<Expression>> {
    let mut members = Vec::new();
    if cursor.take_if_sign(close) {
        return Ok(members);
    }
    loop {
        members.push(expression(cursor, depth)?);
        if cursor.take_if_sign(close) {
            return Ok(members);
        }
        if !cursor.take_if_sign(',') {
            return Err(cursor.unexpected(format!("`,` or `{close}`")));
        }
    }
}

fn expression(cursor: &mut Cursor, depth: u32) -> Parsed<Expression> {
    let Some(depth) = depth.checked_sub(1) else {
        return Err(cursor.unexpected("a value that is nested less deeply"));
    };
    let first = single(cursor, depth)?;
    if !cursor.is_sign('|') {
        return Ok(first);
    }
    let mut members = vec![first];
    while cursor.take_if_sign('|') {
        members.push(single(cursor, depth)?);
    }
    Ok(Expression::Union(members))
}

fn single(cursor: &mut Cursor, depth: u32) -> Parsed<Expression> {
    match cursor.peek().clone() {
        Token::Ellipsis => {
            cursor.take();
            Ok(Expression::Any)
        }
        Token::Text(text) => {
            cursor.take();
            // `"abc"...` is a longer text that begins so.
            if *cursor.peek() == Token::Ellipsis {
                cursor.take();
            }
            Ok(Expression::Text(text))
        }
        Token::Integer(_) => integer(cursor, 1),
        Token::Sign('-') => {
            cursor.take();
            integer(cursor, -1)
        }
        Token::Sign('[') => {
            cursor.take();
            Ok(Expression::List(list(cursor, ']', depth)?))
        }
        Token::Sign('{') => {
            cursor.take();
            record(cursor, depth)
        }
        Token::Word(_) => named(cursor, depth),
        _ => Err(cursor.unexpected("a value")),
    }
}

fn integer(cursor: &mut Cursor, sign: i64) -> Parsed<Expression> {
    let number: i64 = cursor.number("a whole number of at most 63 bits")?;
    Ok(Expression::Integer(sign * number))
}

/// A name, a defined name, or a function's value.
fn named(cursor: &mut Cursor, depth: u32) -> Parsed<Expression> {
    let name = cursor.word("a name")?;
    if cursor.take_if_sign('(') {
        return Ok(Expression::Function(name, list(cursor, ')', depth)?));
    }
    let meant = cursor.definitions.get(&name).cloned().unwrap_or(name);
    Ok(meant.parse().map_or(Expression::Name(meant), Expression::Integer))
}

/// `{name = value, value, name(...) = value}`, behind the opening brace.
fn record(cursor: &mut Cursor, depth: u32) -> Parsed<Expression> {
    let mut fields = Vec::new();
    while !cursor.take_if_sign('}') {
        if !fields.is_empty() && !cursor.take_if_sign(',') {
            return Err(cursor.unexpected("`,` or `}`"));
        }
        fields.push(field(cursor, depth)?);
    }
    Ok(Expression::Record(fields))
}

fn field(cursor: &mut Cursor, depth: u32) -> Parsed<Field> {
    let value = expression(cursor, depth)?;
    if !cursor.take_if_sign('=') {
        return Ok(Field { name: None, value });
    }
    let (Expression::Name(name) | Expression::Function(name, _)) = value else {
        return Err(cursor.unexpected("a field's name before `=`"));
    };
    Ok(Field { name: Some(name), value: expression(cursor, depth)? })
}
