//! What `recvmsg` hands back beside bytes: control messages, among them those of the error queue.
//!
//! | control message | when |
//! |---|---|
//! | `TCP_CM_INQ` | with `TCP_INQ`: how many bytes are left to be read |
//! | `IP_RECVERR`, origin `SO_EE_ORIGIN_ZEROCOPY` | bytes sent with `MSG_ZEROCOPY` are acknowledged; they were copied, as on every device without scatter-gather |

use super::arguments::field;
use super::constants::{self, ERROR_QUEUE, PEEK, value};
use super::request::{Read, Write};
use super::{Attempt, Returned, Role, Sockets, fails};
use crate::outcome::{Step, Stop};
use crate::run::errors::ExtendedError;
use crate::run::host::Host;
use crate::script::Expression;

/// A control message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Control {
    level: i64,
    kind: i64,
    content: Content,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    Number(i64),
    Error(ExtendedError),
}

/// `SOL_IP`
const LEVEL_IP: i64 = 0;
/// `SOL_TCP`
const LEVEL_TCP: i64 = 6;
/// `IP_RECVERR`
const RECEIVE_ERRORS: i64 = 11;
/// `TCP_CM_INQ`
const BYTES_LEFT: i64 = 36;

impl Sockets {
    /// Writes, and notes what is to be told of once it is acknowledged.
    pub(super) fn write_noted(&mut self, write: &mut Write, host: &mut Host) -> Step<Attempt> {
        if let Some(attempt) = self.write_pipe(write) {
            return Ok(attempt);
        }
        let attempt = self.write(write, host)?;
        let Attempt::Returns(returned) = attempt else { return Ok(attempt) };
        let asked = write.flags & constants::ZEROCOPY != 0;
        let socket = self.get(write.descriptor)?;
        let granted = socket.held.get("SO_ZEROCOPY").is_some_and(|set| *set != 0);
        if let (true, true, Role::Connected { endpoint, .. }) = (asked, granted, socket.role)
            && returned.value > 0
        {
            let endpoint = &mut host.endpoints[endpoint];
            endpoint.errors.note_uncopied(&endpoint.connection);
        }
        Ok(attempt)
    }

    /// `recvmsg` of the error queue: it never waits.
    pub(super) fn read_error(&mut self, read: &Read, host: &mut Host) -> Step<Attempt> {
        debug_assert!(read.flags & ERROR_QUEUE != 0, "the error queue is asked for");
        let Some(index) = self.endpoint(read.descriptor)? else { return Ok(fails("EAGAIN")) };
        let errors = &mut host.endpoints[index].errors;
        let next = if read.flags & PEEK != 0 { errors.peek() } else { errors.take() };
        let Some(error) = next else { return Ok(fails("EAGAIN")) };
        let content = Content::Error(error);
        let control = Control { level: LEVEL_IP, kind: RECEIVE_ERRORS, content };
        judge_message(read.message.as_ref(), ERROR_QUEUE, &[control])?;
        Ok(Attempt::Returns(Returned::value(0)))
    }

    /// Returns what was read, and judges what `recvmsg` hands back besides.
    pub(super) fn has_read(&mut self, read: &Read, bytes: u32, host: &Host) -> Step<Attempt> {
        let mut controls = Vec::new();
        let tells = self.get(read.descriptor)?.held.get("TCP_INQ").is_some_and(|set| *set != 0);
        if let (true, Some(index)) = (tells, self.endpoint(read.descriptor)?) {
            let content = Content::Number(i64::from(host.endpoints[index].inquired()));
            controls.push(Control { level: LEVEL_TCP, kind: BYTES_LEFT, content });
        }
        judge_message(read.message.as_ref(), 0, &controls)?;
        Ok(Attempt::Returns(Returned::value(i64::from(bytes))))
    }
}

/// Flags and control messages are compared where they are written.
fn judge_message(expected: Option<&Expression>, flags: i64, seen: &[Control]) -> Step<()> {
    let Some(expected) = expected else { return Ok(()) };
    if let Some(expected) = field(expected, "msg_flags") {
        judge_number("msg_flags", expected, flags)?;
    }
    let Some(Expression::List(parts)) = field(expected, "msg_control") else { return Ok(()) };
    if parts.len() != seen.len() {
        return Err(Stop::failed(format!(
            "control messages: expected {}, seen {}",
            parts.len(),
            seen.len()
        )));
    }
    parts.iter().zip(seen).try_for_each(|(part, seen)| {
        let written = |name| field(part, name).unwrap_or(&Expression::Any);
        judge_number("cmsg_level", written("cmsg_level"), seen.level)?;
        judge_number("cmsg_type", written("cmsg_type"), seen.kind)?;
        judge_content(written("cmsg_data"), seen.content)
    })
}

fn judge_content(expected: &Expression, seen: Content) -> Step<()> {
    match (expected, seen) {
        (Expression::Any, _) => Ok(()),
        (_, Content::Number(seen)) => judge_number("cmsg_data", expected, seen),
        (Expression::Record(fields), Content::Error(seen)) => fields.iter().try_for_each(|one| {
            let name = one.name.as_deref().unwrap_or_default();
            let Some(seen) = seen.field(name) else {
                return Err(Stop::unsupported(format!("the field {name} is not known here")));
            };
            judge_number(name, &one.value, seen)
        }),
        (_, Content::Error(_)) => Err(Stop::failed("cmsg_data is a record, `{ee_errno=...}`")),
    }
}

fn judge_number(what: &str, expected: &Expression, seen: i64) -> Step<()> {
    if *expected == Expression::Any || value(expected)? == seen {
        return Ok(());
    }
    Err(Stop::failed(format!("{what}: expected {expected}, seen {seen}")))
}
