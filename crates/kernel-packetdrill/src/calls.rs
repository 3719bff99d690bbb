//! A script's calls as calls that are ready to be made.

use super::addresses::{Side, address};
use super::application::{Job, Made};
use super::control::{self, Stamps};
use super::system::Descriptors;
use super::values::{Arguments, bytes, expect_number, int, members};
use super::{options, transfer, watch};
use crate::path::{IpVersion, Path};
use fairwind_linux as linux;
use fairwind_packetdrill::{Call, Expression, Step, Stop};

/// What the runner has to know of a call beside its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    None,
    /// It returns a descriptor.
    Opens,
    /// A descriptor of a connection.
    Accepts,
    /// It begins a connection on this descriptor.
    Connects(i64),
    /// This descriptor listens from now on.
    Listens(i64),
    /// This one is gone.
    Closes(i64),
}

/// A call that is ready to be made.
pub(super) struct Prepared {
    pub(super) job: Job,
    pub(super) effect: Effect,
}

impl Prepared {
    pub(super) fn new(job: impl FnOnce() -> Made + Send + 'static) -> Self {
        Self { job: Box::new(job), effect: Effect::None }
    }

    pub(super) fn with(self, effect: Effect) -> Self {
        Self { effect, ..self }
    }
}

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
            let effect = Effect::Listens(super::values::number(given.get(0)?)?);
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
            let effect = Effect::Closes(super::values::number(given.get(0)?)?);
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
        "poll" => watch::poll(given, open),
        "epoll_create" | "epoll_create1" => {
            let flags = if call.function == "epoll_create1" { given.int(0)? } else { 0 };
            Ok(Prepared::new(move || Made::now(linux::epoll_create(flags))).with(Effect::Opens))
        }
        "epoll_ctl" => watch::epoll_control(given, open),
        "epoll_wait" => watch::epoll_wait(given, open),
        "open" => file(given),
        "pipe" => pipe(given),
        "splice" | "sendfile" => between(given, open),
        "getsockname" | "getpeername" => {
            let descriptor = open.live(given.get(0)?)?;
            let of_peer = call.function == "getpeername";
            Ok(Prepared::new(move || Made::now(linux::name_of(descriptor, of_peer))))
        }
        "recvmsg" => control::receive_message(given, open, stamps),
        _ => transfer::prepare(given, open, path),
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
        let address = address(given.get(1)?, Side::Local, path)?;
        return Ok(Prepared::new(move || Made::now(linux::bind(descriptor, &address))));
    }
    let address = address(given.get(1)?, Side::Remote, path)?;
    let effect = Effect::Connects(super::values::number(given.get(0)?)?);
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
        members(given.get(0)?)?.iter().map(super::values::number).collect::<Step<Vec<_>>>()?;
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
        expression => Some(super::values::number(expression)?),
    };
    let length = bytes(given.get(3)?)?;
    Ok(Prepared::new(move || Made::now(linux::transmit_file(to, from, offset, length))))
}
