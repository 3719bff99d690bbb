//! Parser of system calls.

use super::lexer::{Cursor, Parsed, Token, seconds};
use super::syntax::{Call, Expression, Field};

/// Deeper nesting than this is no script.
const DEEPEST: u32 = 32;

/// `[...end] function(arguments) = result [ERROR] [(note)]`
pub(super) fn call(cursor: &mut Cursor) -> Parsed<Call> {
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
