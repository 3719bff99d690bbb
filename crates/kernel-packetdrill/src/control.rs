//! `recvmsg`, and the control messages that it hands back.

use super::application::Made;
use super::calls::Prepared;
use super::system::Descriptors;
use super::transfer::vector_of;
use super::values::{Arguments, expect_number, field, members, needed_field, number};
use fairwind_linux::{self as linux, Message};
use fairwind_packetdrill::{Expression, Step, Stop};
use fairwind_units::Span;

/// How stamps of the wall clock are read: from when the script began, in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stamps {
    pub(super) origin: u64,
    pub(super) tolerance: Span,
}

impl Stamps {
    /// Judges `{scm_sec=..., scm_nsec=...}` beside a `struct timespec`, of which that of software is
    /// the first of a `struct scm_timestamping`.
    fn judge(self, expected: &Expression, content: &[u8]) -> Step<()> {
        let word = |place: usize| {
            let bytes = content.get(place..place + 8).and_then(|bytes| bytes.first_chunk());
            bytes.map_or(0, |bytes| i64::from_ne_bytes(*bytes))
        };
        let nanoseconds =
            |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
        let origin = i64::try_from(self.origin).unwrap_or(i64::MAX);
        let seen = nanoseconds(word(0), word(8)).saturating_sub(origin);
        let seconds = number(needed_field(expected, "scm_sec")?)?;
        let wanted = nanoseconds(seconds, number(needed_field(expected, "scm_nsec")?)?);
        if wanted.abs_diff(seen) <= self.tolerance.as_nanos() {
            return Ok(());
        }
        Err(Stop::failed(format!("the stamp: expected {wanted} ns, seen {seen} ns")))
    }
}

/// `recvmsg`
pub(super) fn receive_message(
    given: Arguments<'_>,
    open: &Descriptors,
    stamps: Stamps,
) -> Step<Prepared> {
    let descriptor = open.live(given.get(0)?)?;
    let expected = given.get(1)?.clone();
    let flags = given.int_or(2, 0)?;
    let mut message = Message { transfer: vector_of(&expected)?, ..Message::default() };
    Ok(Prepared::new(move || {
        let raw = linux::receive_message(descriptor, &mut message, flags);
        let made = Made::now(raw);
        if raw.value < 0 { made } else { made.checked(judge_message(&expected, &message, stamps)) }
    }))
}

/// Flags and control messages where they are written.
fn judge_message(expected: &Expression, seen: &Message, stamps: Stamps) -> Step<()> {
    if let Some(flags) = field(expected, "msg_flags") {
        // What the caller asks for with MSG_CMSG_CLOEXEC comes back; nobody writes it.
        let flags_seen = seen.flags & !libc::MSG_CMSG_CLOEXEC;
        expect_number("msg_flags", flags, i64::from(flags_seen))?;
    }
    let parts = match field(expected, "msg_control") {
        None | Some(Expression::Any) => return Ok(()),
        Some(list) => members(list)?,
    };
    if parts.len() != seen.control.len() {
        return Err(Stop::failed(format!(
            "control messages: expected {}, seen {}",
            parts.len(),
            seen.control.len()
        )));
    }
    parts.iter().zip(&seen.control).try_for_each(|(part, (level, kind, content))| {
        let written = |name| field(part, name).unwrap_or(&Expression::Any);
        expect_number("cmsg_level", written("cmsg_level"), i64::from(*level))?;
        expect_number("cmsg_type", written("cmsg_type"), i64::from(*kind))?;
        expect_content(written("cmsg_data"), content, stamps)
    })
}

/// The content of a control message: a number, a time, or an extended error.
fn expect_content(expected: &Expression, content: &[u8], stamps: Stamps) -> Step<()> {
    let word = |place: usize| {
        let bytes = content.get(place..place + 4).and_then(|bytes| bytes.first_chunk());
        bytes.map_or(-1, |bytes| i64::from(i32::from_ne_bytes(*bytes)))
    };
    let byte = |place: usize| content.get(place).map_or(-1, |byte| i64::from(*byte));
    let Expression::Record(fields) = expected else {
        return expect_number("cmsg_data", expected, word(0));
    };
    if field(expected, "scm_sec").is_some() {
        return stamps.judge(expected, content);
    }
    // struct sock_extended_err
    fields.iter().try_for_each(|one| {
        let name = one.name.as_deref().unwrap_or_default();
        let seen = match name {
            "ee_errno" => word(0),
            "ee_origin" => byte(4),
            "ee_type" => byte(5),
            "ee_code" => byte(6),
            "ee_info" => word(8),
            "ee_data" => word(12),
            other => {
                return Err(Stop::unsupported(format!("the field {other} is not known here")));
            }
        };
        expect_number(name, &one.value, seen)
    })
}
