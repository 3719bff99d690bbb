//! System calls of a script, and ICMP messages as bytes.

use super::call::{
    Descriptors, Effect, Made, Prepared, Stamps, buffer, buffers, byte_count, vector_of,
};
use super::namespace::{HOP_LIMIT, Ports, Side, socket_address_of};
use super::{application, options};
use crate::namespace::{IpVersion, Path};
use fairwind_linux as linux;
use fairwind_linux::{Buffer, Message, Transfer};
use fairwind_packetdrill::{Call, Expression, Icmp, Step, Stop, text_bytes};
use fairwind_wire::bytes::{Addresses, IcmpMessage, IpHeader, Payload, emit_icmp, emit_prefix};
use fairwind_wire::{Flags, Segment, SequenceNumber};

/// Understands a call.
pub(super) fn prepare(
    call: &Call,
    open: &Descriptors,
    path: &Path,
    stamps: Stamps,
) -> Step<Prepared> {
    match call.function.as_str() {
        "socket" => socket(call, path),
        "bind" | "connect" => with_address(call, open, path),
        "listen" => {
            let (descriptor, backlog) = (open.live(call.argument(0)?)?, call.int(1)?);
            let effect = Effect::Listens(call.argument(0)?.number()?);
            Ok(Prepared::new(move || Made::now(linux::listen(descriptor, backlog))).with(effect))
        }
        "accept" | "accept4" => {
            let (descriptor, flags) = (open.live(call.argument(0)?)?, call.int_or(3, 0)?);
            let flags = flags | libc::SOCK_CLOEXEC;
            Ok(Prepared::new(move || Made::now(linux::accept(descriptor, flags)))
                .with(Effect::Accepts))
        }
        "shutdown" => {
            let (descriptor, how) = (open.live(call.argument(0)?)?, call.int(1)?);
            Ok(Prepared::new(move || Made::now(linux::shutdown(descriptor, how))))
        }
        "close" => {
            let descriptor = open.live(call.argument(0)?)?;
            let effect = Effect::Closes(call.argument(0)?.number()?);
            Ok(Prepared::new(move || Made::now(linux::close(descriptor))).with(effect))
        }
        "fcntl" => {
            let descriptor = open.live(call.argument(0)?)?;
            let (command, argument) = (call.int(1)?, call.int_or(2, 0)?);
            Ok(Prepared::new(move || Made::now(linux::control(descriptor, command, argument))))
        }
        "setsockopt" => options::set(call, open),
        "getsockopt" => options::get(call, open),
        "ioctl" => query(call, open),
        "poll" => application::poll(call, open),
        "epoll_create" | "epoll_create1" => {
            let flags = if call.function == "epoll_create1" { call.int(0)? } else { 0 };
            let flags = flags | libc::EPOLL_CLOEXEC;
            Ok(Prepared::new(move || Made::now(linux::epoll_create(flags))).with(Effect::Opens))
        }
        "epoll_ctl" => application::epoll_control(call, open),
        "epoll_wait" => application::epoll_wait(call, open),
        "open" => file(call),
        "pipe" => pipe(call),
        "splice" | "sendfile" => between(call, open),
        "getsockname" | "getpeername" => {
            let descriptor = open.live(call.argument(0)?)?;
            let of_peer = call.function == "getpeername";
            Ok(Prepared::new(move || Made::now(linux::name_of(descriptor, of_peer))))
        }
        "recvmsg" => options::receive_message(call, open, stamps),
        _ => prepare_transfer(call, open, path),
    }
}

fn socket(call: &Call, path: &Path) -> Step<Prepared> {
    let domain = match (call.argument(0)?, path.version) {
        (Expression::Any, IpVersion::V4) => libc::AF_INET,
        (Expression::Any, IpVersion::V6 | IpVersion::V4Mapped) => libc::AF_INET6,
        (expression, _) => expression.int()?,
    };
    // Commands that another script runs at the same time must not keep a socket open.
    let (kind, protocol) = (call.int(1)? | libc::SOCK_CLOEXEC, call.int_or(2, 0)?);
    Ok(Prepared::new(move || Made::now(linux::socket(domain, kind, protocol))).with(Effect::Opens))
}

fn with_address(call: &Call, open: &Descriptors, path: &Path) -> Step<Prepared> {
    let descriptor = open.live(call.argument(0)?)?;
    if call.function == "bind" {
        let address = socket_address_of(call.argument(1)?, Side::Local, path)?;
        return Ok(Prepared::new(move || Made::now(linux::bind(descriptor, &address))));
    }
    let address = socket_address_of(call.argument(1)?, Side::Remote, path)?;
    let effect = Effect::Connects(call.argument(0)?.number()?);
    Ok(Prepared::new(move || Made::now(linux::connect(descriptor, &address))).with(effect))
}

fn query(call: &Call, open: &Descriptors) -> Step<Prepared> {
    let descriptor = open.live(call.argument(0)?)?;
    let what = call.argument(1)?.to_string();
    let request = u64::from(call.int(1)?.cast_unsigned());
    let argument = call.argument(2)?.clone();
    let sets = what == "FIONBIO";
    let mut number = if sets { argument.int()? } else { 0 };
    Ok(Prepared::new(move || {
        let raw = linux::query(descriptor, request, &mut number);
        let made = Made::now(raw);
        if sets || raw.value < 0 {
            return made;
        }
        made.checked(argument.only_member().expect_number(&what, i64::from(number)))
    }))
}

fn file(call: &Call) -> Step<Prepared> {
    let Expression::Text(name) = call.argument(0)? else {
        return Err(Stop::failed("open needs a name in double quotes"));
    };
    let name = std::ffi::CString::new(name.as_str())
        .map_err(|_| Stop::failed("a file's name has no zero byte"))?;
    let flags = call.int(1)? | libc::O_CLOEXEC;
    Ok(Prepared::new(move || Made::now(linux::open(&name, flags))).with(Effect::Opens))
}

fn pipe(call: &Call) -> Step<Prepared> {
    let numbers =
        call.argument(0)?.members()?.iter().map(Expression::number).collect::<Step<Vec<_>>>()?;
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
fn between(call: &Call, open: &Descriptors) -> Step<Prepared> {
    if call.function == "splice" {
        let (from, to) = (open.live(call.argument(0)?)?, open.live(call.argument(2)?)?);
        let (length, flags) = (byte_count(call.argument(4)?)?, call.int_or(5, 0)?.cast_unsigned());
        return Ok(Prepared::new(move || Made::now(linux::splice(from, to, length, flags))));
    }
    let (to, from) = (open.live(call.argument(0)?)?, open.live(call.argument(1)?)?);
    let offset = call.argument(2)?.given().map(Expression::number).transpose()?;
    let length = byte_count(call.argument(3)?)?;
    Ok(Prepared::new(move || Made::now(linux::transmit_file(to, from, offset, length))))
}

fn prepare_transfer(call: &Call, open: &Descriptors, path: &Path) -> Step<Prepared> {
    let function = call.function.as_str();
    match function {
        "read" | "recv" | "recvfrom" => receive(call, open),
        "write" | "send" | "sendto" => send(call, open, path),
        "readv" | "writev" => vectors(call, open),
        "sendmsg" => send_message(call, open, path),
        other => Err(Stop::unsupported(format!("the call {other} is not known here"))),
    }
}

fn receive(call: &Call, open: &Descriptors) -> Step<Prepared> {
    let descriptor = open.live(call.argument(0)?)?;
    let mut buffer = vec![0; byte_count(call.argument(2)?)?];
    let text = match call.argument(1)? {
        Expression::Text(text) => Some(text.clone()),
        _ => None,
    };
    let flags = if call.function == "read" { None } else { Some(call.int_or(3, 0)?) };
    if matches!(call.argument(1)?, Expression::Name(name) if name == "NULL") {
        let transfer = Transfer { buffers: vec![Buffer::Nowhere(buffer.len())] };
        let mut message = Message { transfer, ..Message::default() };
        return Ok(Prepared::new(move || {
            Made::now(linux::receive_message(descriptor, &mut message, flags.unwrap_or(0)))
        }));
    }
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
        Some(text) if !read.is_empty() && !read.starts_with(&text_bytes(text)) => {
            Err(Stop::failed(format!(
                "the bytes: expected \"{text}\", seen \"{}\"",
                read.escape_ascii()
            )))
        }
        _ => Ok(()),
    }
}

fn send(call: &Call, open: &Descriptors, path: &Path) -> Step<Prepared> {
    let descriptor = open.live(call.argument(0)?)?;
    let written = buffer(call.argument(1)?, call.argument(2)?)?;
    let writes = call.function == "write";
    let flags = if writes { 0 } else { call.int_or(3, 0)? };
    let to = if call.function == "sendto" && flags & libc::MSG_FASTOPEN != 0 {
        Some(socket_address_of(call.argument(4)?, Side::Remote, path)?)
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
        return Ok(prepared.with(Effect::Connects(call.argument(0)?.number()?)));
    }
    Ok(prepared)
}

/// A vector of buffers is a message that is nothing but them.
fn vectors(call: &Call, open: &Descriptors) -> Step<Prepared> {
    let descriptor = open.live(call.argument(0)?)?;
    let transfer = buffers(call.argument(1)?)?;
    let mut message = Message { transfer, ..Message::default() };
    let writes = call.function == "writev";
    Ok(Prepared::new(move || {
        Made::now(if writes {
            linux::send_message(descriptor, &mut message, 0)
        } else {
            linux::receive_message(descriptor, &mut message, 0)
        })
    }))
}

fn send_message(call: &Call, open: &Descriptors, path: &Path) -> Step<Prepared> {
    let descriptor = open.live(call.argument(0)?)?;
    let written = call.argument(1)?;
    let flags = call.int_or(2, 0)?;
    let to = match written.field("msg_name") {
        Some(name) if flags & libc::MSG_FASTOPEN != 0 || matches!(name, Expression::Record(_)) => {
            Some(socket_address_of(name, Side::Remote, path)?)
        }
        _ => None,
    };
    let control = match written.field("msg_control") {
        None | Some(Expression::Any) => Vec::new(),
        Some(list) => list.members()?.iter().map(control_message).collect::<Step<_>>()?,
    };
    let mut message =
        Message { transfer: vector_of(written)?, address: to, control, ..Message::default() };
    Ok(Prepared::new(move || Made::now(linux::send_message(descriptor, &mut message, flags))))
}

/// `{cmsg_level=SOL_SOCKET, cmsg_type=..., cmsg_data=4}`: a number is a C `int`.
fn control_message(part: &Expression) -> Step<(i32, i32, Vec<u8>)> {
    let number = |name| part.required_field(name)?.int();
    let content = match part.field("cmsg_data") {
        None => Vec::new(),
        Some(content) => content.int()?.to_ne_bytes().to_vec(),
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
    ("unreachable", 3, 0),
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
    ("unreachable", 1, 0),
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
