//! Parser of scripts: options, events and times.

use super::calls::call;
use super::lexer::{Cursor, ParseError, Parsed, Token, seconds, tokens};
use super::packets::packet;
use super::syntax::{Action, Command, Event, EventTime, OptionLine, Script};
use fairwind_units::Span;
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
    script.preparation = bare_command(cursor);
    while *cursor.peek() != Token::End {
        if matches!(cursor.peek(), Token::Command(_)) && *cursor.peek_behind(1) == Token::End {
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
