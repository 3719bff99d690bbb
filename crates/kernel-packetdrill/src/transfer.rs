//! Calls that move bytes.

use super::addresses::{Side, address};
use super::application::Made;
use super::calls::{Effect, Prepared};
use super::system::Descriptors;
use super::values::{Arguments, buffer, bytes, field, int, members};
use crate::path::Path;
use fairwind_linux::{self as linux, Buffer, Message, Transfer};
use fairwind_packetdrill::{Expression, Step, Stop};

pub(super) fn prepare(given: Arguments<'_>, open: &Descriptors, path: &Path) -> Step<Prepared> {
    let function = given.0.function.as_str();
    match function {
        "read" | "recv" | "recvfrom" => receive(given, open),
        "write" | "send" | "sendto" => send(given, open, path),
        "readv" | "writev" => vectors(given, open),
        "sendmsg" => send_message(given, open, path),
        other => Err(Stop::unsupported(format!("the call {other} is not known here"))),
    }
}

fn receive(given: Arguments<'_>, open: &Descriptors) -> Step<Prepared> {
    let descriptor = open.live(given.get(0)?)?;
    let mut buffer = vec![0; given.bytes(2)?];
    let text = match given.get(1)? {
        Expression::Text(text) => Some(text.clone()),
        _ => None,
    };
    let flags = if given.0.function == "read" { None } else { Some(given.int_or(3, 0)?) };
    Ok(Prepared::new(move || {
        let raw = match flags {
            None => linux::read_plain(descriptor, &mut buffer),
            Some(flags) => linux::receive(descriptor, &mut buffer, flags),
        };
        let made = Made::now(raw);
        let read = usize::try_from(raw.value).unwrap_or(0).min(buffer.len());
        made.checked(expect_text(text.as_deref(), &buffer[..read]))
    }))
}

/// A text that is expected is what was read begins with.
fn expect_text(expected: Option<&str>, read: &[u8]) -> Step<()> {
    match expected {
        Some(text) if !read.is_empty() && !read.starts_with(text.as_bytes()) => Err(Stop::failed(
            format!("the bytes: expected \"{text}\", seen \"{}\"", read.escape_ascii()),
        )),
        _ => Ok(()),
    }
}

fn send(given: Arguments<'_>, open: &Descriptors, path: &Path) -> Step<Prepared> {
    let descriptor = open.live(given.get(0)?)?;
    let written = buffer(given.get(1)?, given.bytes(2)?);
    let writes = given.0.function == "write";
    let flags = if writes { 0 } else { given.int_or(3, 0)? };
    let to = if given.0.function == "sendto" && flags & libc::MSG_FASTOPEN != 0 {
        Some(address(given.get(4)?, Side::Remote, path)?)
    } else {
        None
    };
    // Data with the SYN: the call begins the connection.
    let begins = to.is_some();
    let prepared = Prepared::new(move || {
        Made::now(match written {
            Buffer::Bytes(bytes) if writes => linux::write_plain(descriptor, &bytes),
            Buffer::Bytes(bytes) => linux::send(descriptor, &bytes, flags, to.as_deref()),
            nowhere @ Buffer::Nowhere(_) => {
                let transfer = Transfer { buffers: vec![nowhere] };
                let mut message = Message { transfer, address: to, ..Message::default() };
                linux::send_message(descriptor, &mut message, flags)
            }
        })
    });
    if begins {
        return Ok(prepared.with(Effect::Connects(super::values::number(given.get(0)?)?)));
    }
    Ok(prepared)
}

/// The buffers of `[{..., 100}, {..., 200}]`.
fn buffers(vector: &Expression) -> Step<Transfer> {
    let one = |written: &Expression| match written {
        Expression::Record(fields) if fields.len() == 2 => {
            Ok(buffer(&fields[0].value, bytes(&fields[1].value)?))
        }
        _ => Err(Stop::failed(format!("`{written}` is no buffer {{..., bytes}}"))),
    };
    Ok(Transfer { buffers: members(vector)?.iter().map(one).collect::<Step<_>>()? })
}

/// A vector of buffers is a message that is nothing but them.
fn vectors(given: Arguments<'_>, open: &Descriptors) -> Step<Prepared> {
    let descriptor = open.live(given.get(0)?)?;
    let transfer = buffers(given.get(1)?)?;
    let mut message = Message { transfer, ..Message::default() };
    let writes = given.0.function == "writev";
    Ok(Prepared::new(move || {
        Made::now(if writes {
            linux::send_message(descriptor, &mut message, 0)
        } else {
            linux::receive_message(descriptor, &mut message, 0)
        })
    }))
}

pub(super) fn vector_of(message: &Expression) -> Step<Transfer> {
    match field(message, "msg_iov") {
        None | Some(Expression::Any) => Ok(Transfer::default()),
        Some(vector) => buffers(vector),
    }
}

fn send_message(given: Arguments<'_>, open: &Descriptors, path: &Path) -> Step<Prepared> {
    let descriptor = open.live(given.get(0)?)?;
    let written = given.get(1)?;
    let flags = given.int_or(2, 0)?;
    let to = match field(written, "msg_name") {
        Some(name) if flags & libc::MSG_FASTOPEN != 0 || matches!(name, Expression::Record(_)) => {
            Some(address(name, Side::Remote, path)?)
        }
        _ => None,
    };
    let control = match field(written, "msg_control") {
        None | Some(Expression::Any) => Vec::new(),
        Some(list) => members(list)?.iter().map(control_message).collect::<Step<_>>()?,
    };
    let mut message =
        Message { transfer: vector_of(written)?, address: to, control, ..Message::default() };
    Ok(Prepared::new(move || Made::now(linux::send_message(descriptor, &mut message, flags))))
}

/// `{cmsg_level=SOL_SOCKET, cmsg_type=..., cmsg_data=4}`: a number is a C `int`.
fn control_message(part: &Expression) -> Step<(i32, i32, Vec<u8>)> {
    let number = |name| int(super::values::needed_field(part, name)?);
    let content = match field(part, "cmsg_data") {
        None => Vec::new(),
        Some(content) => int(content)?.to_ne_bytes().to_vec(),
    };
    Ok((number("cmsg_level")?, number("cmsg_type")?, content))
}
