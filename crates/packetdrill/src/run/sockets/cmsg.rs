//! Control messages of `recvmsg`, those of the error queue included.
//!
//! | control message | when |
//! |---|---|
//! | `TCP_CM_INQ` | with `TCP_INQ`: how many bytes are left to be read |
//! | `SCM_TIMESTAMPING`, `SCM_TIMESTAMPNS`, `SCM_TIMESTAMP` | when it arrived, with the options of `stamping` |
//! | `SCM_TIMESTAMPING`, `IP_RECVERR`, origin `SO_EE_ORIGIN_TIMESTAMPING` | when it was sent and acknowledged |
//! | `IP_RECVERR`, origin `SO_EE_ORIGIN_ZEROCOPY` | bytes sent with `MSG_ZEROCOPY` are acknowledged; they were copied, as on every device without scatter-gather |

use super::arguments::field;
use super::constants::{self, ERROR_QUEUE, PEEK, value};
use super::request::{Read, SocketOption, Write};
use super::{CallProgress, Returned, Role, SUCCESS, Socket, Sockets, fails};
use crate::outcome::{Step, Stop};
use crate::run::error_queue::{ExtendedError, Form};

use crate::run::host::{self, Host};
use crate::script::Expression;
use fairwind_tcp::IcmpError;
use fairwind_units::{Instant, Span};

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
    Time(Instant),
}

/// `SOL_SOCKET`
const LEVEL_SOCKET: i64 = 1;
/// `SCM_TIMESTAMPING`
const STAMPING: i64 = 37;
/// `SCM_TIMESTAMPNS`
const STAMP_NANOSECONDS: i64 = 35;
/// `SCM_TIMESTAMP`
const STAMP_MICROSECONDS: i64 = 29;
/// `MSG_TRUNC`
const TRUNCATED: i64 = 0x20;
/// `SOL_IP`
const LEVEL_IP: i64 = 0;
/// `SOL_TCP`
const LEVEL_TCP: i64 = 6;
/// `IP_RECVERR`
const RECEIVE_ERRORS: i64 = 11;
/// `TCP_CM_INQ`
const BYTES_LEFT: i64 = 36;

impl Sockets {
    /// Writes, and queues the requested completions and timestamps.
    pub(super) fn write_noted(&mut self, write: &mut Write, host: &mut Host) -> Step<CallProgress> {
        if let Some(attempt) = self.write_pipe(write) {
            return Ok(attempt);
        }
        let attempt = self.write(write, host)?;
        let CallProgress::Returns(returned) = attempt else { return Ok(attempt) };
        let asked = write.flags & constants::ZEROCOPY != 0;
        let socket = self.get(write.descriptor)?;
        let granted = socket.held.get("SO_ZEROCOPY").is_some_and(|set| *set != 0);
        if let (true, true, Role::Connected { endpoint, .. }) = (asked, granted, socket.role)
            && returned.value > 0
        {
            let endpoint = &mut host.endpoints[endpoint];
            endpoint.errors.note_uncopied(&endpoint.connection);
        }
        let stamping = socket.stamping.for_call(write.stamping);
        if let (true, Role::Connected { endpoint, .. }) = (stamping.stamps_sending(), socket.role)
            && returned.value > 0
        {
            let (now, endpoint) = (host.now, &mut host.endpoints[endpoint]);
            endpoint.errors.note_stamped(stamping, &endpoint.connection, now);
        }
        Ok(attempt)
    }

    /// `recvmsg` of the error queue: it never waits.
    pub(super) fn read_error(&mut self, read: &Read, host: &mut Host) -> Step<CallProgress> {
        debug_assert!(read.flags & ERROR_QUEUE != 0, "the error queue is asked for");
        let Some(index) = self.endpoint(read.descriptor)? else { return Ok(fails("EAGAIN")) };
        let errors = &mut host.endpoints[index].errors;
        let next = if read.flags & PEEK != 0 { errors.peek() } else { errors.take() };
        let Some(error) = next else { return Ok(fails("EAGAIN")) };
        let mut controls = Vec::new();
        let is_reported = self.get(read.descriptor)?.stamping.is_reported();
        if let Some(stamp) = error.stamp.filter(|_| is_reported) {
            let content = Content::Time(stamp);
            controls.push(Control { level: LEVEL_SOCKET, kind: STAMPING, content });
        }
        let content = Content::Error(error);
        controls.push(Control { level: LEVEL_IP, kind: RECEIVE_ERRORS, content });
        let copied = error.packet_bytes.min(read.bytes);
        let cut = if copied < error.packet_bytes { TRUNCATED } else { 0 };
        judge_message(read.message.as_ref(), ERROR_QUEUE | cut, &controls, self.clock)?;
        Ok(CallProgress::Returns(Returned::value(i64::from(copied))))
    }

    /// Returns what was read, and judges what `recvmsg` hands back besides.
    pub(super) fn has_read(
        &mut self,
        read: &Read,
        bytes: u32,
        host: &mut Host,
    ) -> Step<CallProgress> {
        let mut controls = self.receipts(read, host)?;
        let reports_inq =
            self.get(read.descriptor)?.held.get("TCP_INQ").is_some_and(|set| *set != 0);
        if let (true, Some(index)) = (reports_inq, self.endpoint(read.descriptor)?) {
            let content = Content::Number(i64::from(host.endpoints[index].inquired()));
            controls.push(Control { level: LEVEL_TCP, kind: BYTES_LEFT, content });
        }
        judge_message(read.message.as_ref(), 0, &controls, self.clock)?;
        Ok(CallProgress::Returns(Returned::value(i64::from(bytes))))
    }
}

impl Sockets {
    /// An open connection lives on when the path complains of it; but with `IP_RECVERR` the next call
    /// is reported (Linux `tcp_v4_err`).
    pub(crate) fn on_icmp_error(&mut self, index: usize, complaint: IcmpError, host: &mut Host) {
        let role = |socket: &&Socket| matches!(socket.role, Role::Connected { endpoint, .. } if endpoint == index);
        let Some(socket) = self.open.values().find(role) else { return };
        let asked = ["IP_RECVERR", "IPV6_RECVERR"];
        let asks = asked.iter().any(|name| socket.held.get(*name).is_some_and(|set| *set != 0));
        let endpoint = &mut host.endpoints[index];
        if let IcmpError::Unreachable(reason) = complaint
            && asks
            && endpoint.established
            && !endpoint.is_over()
        {
            endpoint.error = Some(host::errno_of(reason));
            endpoint.happened += 1;
        }
    }

    /// When the last byte read arrived, as often as it is asked for (Linux `tcp_recv_timestamp`).
    fn receipts(&mut self, read: &Read, host: &mut Host) -> Step<Vec<Control>> {
        let stamping = self.get(read.descriptor)?.stamping;
        let Some(index) = self.endpoint(read.descriptor)? else { return Ok(Vec::new()) };
        let endpoint = &mut host.endpoints[index];
        let connection = &endpoint.connection;
        let left = u64::from(connection.readable_bytes());
        let Some(at) = endpoint.errors.stamps.arrival(connection.received_bytes() - left) else {
            return Ok(Vec::new());
        };
        let simple = match stamping.receipt {
            Some(Form::Nanoseconds) => Some(STAMP_NANOSECONDS),
            Some(Form::Microseconds) => Some(STAMP_MICROSECONDS),
            None => None,
        };
        let kinds = simple.into_iter().chain(stamping.reports_timestamps().then_some(STAMPING));
        let content = Content::Time(at);
        Ok(kinds.map(|kind| Control { level: LEVEL_SOCKET, kind, content }).collect())
    }
}

/// Flags and control messages are compared where they are written.
fn judge_message(
    expected: Option<&Expression>,
    flags: i64,
    seen: &[Control],
    clock: (Instant, Span),
) -> Step<()> {
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
        judge_content(written("cmsg_data"), seen.content, clock)
    })
}

fn judge_content(expected: &Expression, seen: Content, clock: (Instant, Span)) -> Step<()> {
    match (expected, seen) {
        (Expression::Any, _) => Ok(()),
        (_, Content::Time(seen)) => judge_time(expected, seen, clock),
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

impl Socket {
    /// Whether times of arrival are asked for.
    pub(super) fn reports_timestamps(&self) -> bool {
        self.stamping.receipt.is_some() || self.stamping.reports_timestamps()
    }
}

impl Sockets {
    /// Sets one of the options; `None` where it is another one.
    pub(super) fn set_stamping(
        &mut self,
        option: &SocketOption,
        host: &mut Host,
    ) -> Step<Option<CallProgress>> {
        let form = match option.name.as_str() {
            "SO_TIMESTAMPING" => None,
            "SO_TIMESTAMP" => Some(Form::Microseconds),
            "SO_TIMESTAMPNS" => Some(Form::Nanoseconds),
            _ => return Ok(None),
        };
        let number = value(&option.value)?;
        let index = self.endpoint(option.descriptor)?;
        let socket = self.get(option.descriptor)?;
        if form.is_some() {
            socket.stamping.receipt = form.filter(|_| number != 0);
        } else {
            let open = index.map(|index| &host.endpoints[index].connection);
            let open = open.filter(|connection| connection.state() != fairwind_tcp::State::Closed);
            let flags = u32::try_from(number).ok();
            if flags.is_none_or(|flags| socket.stamping.set(flags, open).is_err()) {
                return Ok(Some(fails("EINVAL")));
            }
        }
        if let Some(index) = index {
            host.endpoints[index].errors.stamps.of_receipts = socket.reports_timestamps();
        }
        Ok(Some(SUCCESS))
    }
}

/// Judges `{scm_sec=..., scm_nsec=...}`, which counts from when the script began.
fn judge_time(expected: &Expression, seen: Instant, clock: (Instant, Span)) -> Step<()> {
    let part = |name| match super::arguments::field(expected, name) {
        Some(written) => Ok(u64::try_from(value(written)?).unwrap_or(0)),
        None => Err(Stop::failed(format!("`{expected}` has no field {name}"))),
    };
    let (origin, tolerance) = clock;
    let wanted = Span::from_secs(part("scm_sec")?) + Span::from_nanos(part("scm_nsec")?);
    let seen = seen.saturating_since(origin);
    if wanted.saturating_sub(seen).max(seen.saturating_sub(wanted)) <= tolerance {
        return Ok(());
    }
    Err(Stop::failed(format!(
        "the stamp: expected {} ns, seen {} ns",
        wanted.as_nanos(),
        seen.as_nanos()
    )))
}
