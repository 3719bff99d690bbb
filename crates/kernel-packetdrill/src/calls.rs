//! System calls of a script.
//!
//! Calls that move bytes.
//!
//! ICMP messages as bytes.

use super::call::{Descriptors, Effect, Made, Prepared, Stamps, buffers, vector_of};
use super::names::{Arguments, buffer, bytes, expect_number, field, int, members};
use super::namespace::{HOP_LIMIT, Ports};
use super::namespace::{Side, socket_address_of};
use super::{application, options};
use crate::namespace::{IpVersion, Path};
use fairwind_linux as linux;
use fairwind_linux::{Buffer, Message, Transfer};
use fairwind_packetdrill::{Call, Expression, Icmp, Step, Stop};
use fairwind_wire::bytes::{Addresses, IcmpMessage, IpHeader, Payload, emit_icmp, emit_prefix};
use fairwind_wire::{Flags, Segment, SequenceNumber};

/// Understands a call.
pub(super) fn prepare(
    call: &Call,
    open: &Descriptors,
    path: &Path,
    stamps: Stamps,
) -> Step<Prepared> {
    let given = Arguments(call);
    match call.function.as_str() {
        "socket" => socket(given, path),
        "bind" | "connect" => with_address(given, open, path),
        "listen" => {
            let (descriptor, backlog) = (open.live(given.get(0)?)?, given.int(1)?);
            let effect = Effect::Listens(super::names::number(given.get(0)?)?);
            Ok(Prepared::new(move || Made::now(linux::listen(descriptor, backlog))).with(effect))
        }
        "accept" | "accept4" => {
            let (descriptor, flags) = (open.live(given.get(0)?)?, given.int_or(3, 0)?);
            Ok(Prepared::new(move || Made::now(linux::accept(descriptor, flags)))
                .with(Effect::Accepts))
        }
        "shutdown" => {
            let (descriptor, how) = (open.live(given.get(0)?)?, given.int(1)?);
            Ok(Prepared::new(move || Made::now(linux::shutdown(descriptor, how))))
        }
        "close" => {
            let descriptor = open.live(given.get(0)?)?;
            let effect = Effect::Closes(super::names::number(given.get(0)?)?);
            Ok(Prepared::new(move || Made::now(linux::close(descriptor))).with(effect))
        }
        "fcntl" => {
            let descriptor = open.live(given.get(0)?)?;
            let (command, argument) = (given.int(1)?, given.int_or(2, 0)?);
            Ok(Prepared::new(move || Made::now(linux::control(descriptor, command, argument))))
        }
        "setsockopt" => options::set(given, open),
        "getsockopt" => options::get(given, open),
        "ioctl" => query(given, open),
        "poll" => application::poll(given, open),
        "epoll_create" | "epoll_create1" => {
            let flags = if call.function == "epoll_create1" { given.int(0)? } else { 0 };
            Ok(Prepared::new(move || Made::now(linux::epoll_create(flags))).with(Effect::Opens))
        }
        "epoll_ctl" => application::epoll_control(given, open),
        "epoll_wait" => application::epoll_wait(given, open),
        "open" => file(given),
        "pipe" => pipe(given),
        "splice" | "sendfile" => between(given, open),
        "getsockname" | "getpeername" => {
            let descriptor = open.live(given.get(0)?)?;
            let of_peer = call.function == "getpeername";
            Ok(Prepared::new(move || Made::now(linux::name_of(descriptor, of_peer))))
        }
        "recvmsg" => options::receive_message(given, open, stamps),
        _ => prepare_transfer(given, open, path),
    }
}

fn socket(given: Arguments<'_>, path: &Path) -> Step<Prepared> {
    let domain = match (given.get(0)?, path.version) {
        (Expression::Any, IpVersion::V4) => libc::AF_INET,
        (Expression::Any, IpVersion::V6 | IpVersion::V4Mapped) => libc::AF_INET6,
        (expression, _) => int(expression)?,
    };
    let (kind, protocol) = (given.int(1)?, given.int_or(2, 0)?);
    Ok(Prepared::new(move || Made::now(linux::socket(domain, kind, protocol))).with(Effect::Opens))
}

fn with_address(given: Arguments<'_>, open: &Descriptors, path: &Path) -> Step<Prepared> {
    let descriptor = open.live(given.get(0)?)?;
    if given.0.function == "bind" {
        let address = socket_address_of(given.get(1)?, Side::Local, path)?;
        return Ok(Prepared::new(move || Made::now(linux::bind(descriptor, &address))));
    }
    let address = socket_address_of(given.get(1)?, Side::Remote, path)?;
    let effect = Effect::Connects(super::names::number(given.get(0)?)?);
    Ok(Prepared::new(move || Made::now(linux::connect(descriptor, &address))).with(effect))
}

fn query(given: Arguments<'_>, open: &Descriptors) -> Step<Prepared> {
    let descriptor = open.live(given.get(0)?)?;
    let what = given.get(1)?.to_string();
    let request = u64::from(given.int(1)?.cast_unsigned());
    let argument = given.get(2)?.clone();
    let sets = what == "FIONBIO";
    let mut number = if sets { int(&argument)? } else { 0 };
    Ok(Prepared::new(move || {
        let raw = linux::query(descriptor, request, &mut number);
        let made = Made::now(raw);
        if sets || raw.value < 0 {
            return made;
        }
        let expected = match &argument {
            Expression::List(members) if members.len() == 1 => &members[0],
            other => other,
        };
        made.checked(expect_number(&what, expected, i64::from(number)))
    }))
}

fn file(given: Arguments<'_>) -> Step<Prepared> {
    let Expression::Text(name) = given.get(0)? else {
        return Err(Stop::failed("open needs a name in double quotes"));
    };
    let name = std::ffi::CString::new(name.as_str())
        .map_err(|_| Stop::failed("a file's name has no zero byte"))?;
    let flags = given.int(1)?;
    Ok(Prepared::new(move || Made::now(linux::open(&name, flags))).with(Effect::Opens))
}

fn pipe(given: Arguments<'_>) -> Step<Prepared> {
    let numbers =
        members(given.get(0)?)?.iter().map(super::names::number).collect::<Step<Vec<_>>>()?;
    Ok(Prepared::new(move || {
        let (raw, ends) = linux::pipe();
        let mut made = Made::now(raw);
        if raw.value == 0 {
            made.descriptors = numbers.into_iter().zip(ends).collect();
        }
        made
    }))
}

/// `splice(from, ..., to, ..., bytes, flags)`, `sendfile(to, from, offset, bytes)`
fn between(given: Arguments<'_>, open: &Descriptors) -> Step<Prepared> {
    if given.0.function == "splice" {
        let (from, to) = (open.live(given.get(0)?)?, open.live(given.get(2)?)?);
        let (length, flags) = (given.bytes(4)?, given.int_or(5, 0)?.cast_unsigned());
        return Ok(Prepared::new(move || Made::now(linux::splice(from, to, length, flags))));
    }
    let (to, from) = (open.live(given.get(0)?)?, open.live(given.get(1)?)?);
    let offset = match given.get(2)? {
        Expression::Any => None,
        expression => Some(super::names::number(expression)?),
    };
    let length = bytes(given.get(3)?)?;
    Ok(Prepared::new(move || Made::now(linux::transmit_file(to, from, offset, length))))
}

fn prepare_transfer(given: Arguments<'_>, open: &Descriptors, path: &Path) -> Step<Prepared> {
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
        Some(socket_address_of(given.get(4)?, Side::Remote, path)?)
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
        return Ok(prepared.with(Effect::Connects(super::names::number(given.get(0)?)?)));
    }
    Ok(prepared)
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

fn send_message(given: Arguments<'_>, open: &Descriptors, path: &Path) -> Step<Prepared> {
    let descriptor = open.live(given.get(0)?)?;
    let written = given.get(1)?;
    let flags = given.int_or(2, 0)?;
    let to = match field(written, "msg_name") {
        Some(name) if flags & libc::MSG_FASTOPEN != 0 || matches!(name, Expression::Record(_)) => {
            Some(socket_address_of(name, Side::Remote, path)?)
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
    let number = |name| int(super::names::needed_field(part, name)?);
    let content = match field(part, "cmsg_data") {
        None => Vec::new(),
        Some(content) => int(content)?.to_ne_bytes().to_vec(),
    };
    Ok((number("cmsg_level")?, number("cmsg_type")?, content))
}

/// Type and code of RFC 792, by the script's names.
const V4: &[(&str, u8, u8)] = &[
    ("unreachable net_unreachable", 3, 0),
    ("unreachable host_unreachable", 3, 1),
    ("unreachable protocol_unreachable", 3, 2),
    ("unreachable port_unreachable", 3, 3),
    ("unreachable frag_needed", 3, 4),
    ("unreachable source_route_failed", 3, 5),
    ("unreachable net_unknown", 3, 6),
    ("unreachable host_unknown", 3, 7),
    ("unreachable source_host_isolated", 3, 8),
    ("unreachable net_prohibited", 3, 9),
    ("unreachable host_prohibited", 3, 10),
    ("unreachable net_unreachable_for_tos", 3, 11),
    ("unreachable host_unreachable_for_tos", 3, 12),
    ("unreachable packet_filtered", 3, 13),
    ("source_quench", 4, 0),
    ("time_exceeded exceeded_in_transit", 11, 0),
    ("time_exceeded", 11, 0),
    ("parameter_problem", 12, 0),
];

/// Type and code of RFC 4443.
const V6: &[(&str, u8, u8)] = &[
    ("unreachable noroute", 1, 0),
    ("unreachable admin_prohibited", 1, 1),
    ("unreachable not_neighbour", 1, 2),
    ("unreachable addr_unreachable", 1, 3),
    ("unreachable port_unreachable", 1, 4),
    ("packet_too_big", 2, 0),
    ("time_exceeded exceeded_in_transit", 3, 0),
    ("time_exceeded", 3, 0),
    ("parameter_problem", 4, 0),
];

/// Bytes of the TCP header that a message quotes: the ports and the sequence number.
const QUOTED_BYTES: u32 = 8;

/// The bytes of a message to the kernel about a packet that it has sent.
pub(super) fn to_bytes(message: &Icmp, inward: Addresses, ports: Ports) -> Step<Vec<u8>> {
    let table = match inward {
        Addresses::V4 { .. } => V4,
        Addresses::V6 { .. } => V6,
    };
    let (_, kind, code) =
        table.iter().find(|(name, _, _)| *name == message.kind).ok_or_else(|| {
            Stop::unsupported(format!("the message `icmp {}` is not known here", message.kind))
        })?;
    let (sequence, payload_bytes) = message.quoted.unwrap_or((0, 0));
    let segment = Segment {
        source_port: ports.local,
        destination_port: ports.remote,
        sequence: SequenceNumber::new(sequence),
        flags: Flags::ACK,
        payload_bytes,
        ..Segment::default()
    };
    let ip = IpHeader::new(inward.reversed());
    let mut quoted = Vec::new();
    let limit = ip.header_bytes() + QUOTED_BYTES;
    emit_prefix(&ip, &segment, Payload::Pattern { stream_offset: 0 }, limit, &mut quoted)
        .map_err(|error| Stop::failed(error.to_string()))?;
    let outer = IpHeader { hop_limit: HOP_LIMIT, ..IpHeader::new(inward) };
    let rest = message.mtu.unwrap_or(0);
    let message = IcmpMessage { kind: *kind, code: *code, rest, quoted: &quoted };
    let mut bytes = Vec::new();
    emit_icmp(&outer, &message, &mut bytes).map_err(|error| Stop::failed(error.to_string()))?;
    Ok(bytes)
}
