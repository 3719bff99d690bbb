//! Control messages of `recvmsg`, those of the error queue included.
//!
//! | control message | when |
//! |---|---|
//! | `TCP_CM_INQ` | with `TCP_INQ`: how many bytes are left to be read |
//! | `SCM_TIMESTAMPING`, `SCM_TIMESTAMPNS`, `SCM_TIMESTAMP` | when it arrived, with the options of `stamping` |
//! | `SCM_TIMESTAMPING`, `IP_RECVERR` or `IPV6_RECVERR`, origin `SO_EE_ORIGIN_TIMESTAMPING` | when it was sent and acknowledged |
//! | the same, origin `SO_EE_ORIGIN_ZEROCOPY` | bytes sent with `MSG_ZEROCOPY` are acknowledged; they were copied, as on every device without scatter-gather |

use super::request::{Read, SocketOption, Write};
use super::{
    CallProgress, MSG_ERRQUEUE, MSG_PEEK, MSG_TRUNC, MSG_ZEROCOPY, Role, SUCCESS, Socket, Sockets,
    fails, returns,
};
use crate::outcome::{Step, Stop};
use crate::run::error_queue::{ExtendedError, Form};
use crate::run::host::{self, Host};
use crate::run::verify::{verify_control_messages, verify_error_fields, verify_timestamp};
use crate::script::Expression;
use crate::script::constants::{
    IP_RECVERR, IPV6_RECVERR, SCM_TIMESTAMP, SCM_TIMESTAMPING, SCM_TIMESTAMPNS, SOL_IP, SOL_IPV6,
    SOL_SOCKET, SOL_TCP, TCP_CM_INQ,
};
use fairwind_tcp::IcmpError;
use fairwind_units::{Instant, Span};

type ControlMessage = (i64, i64, Content);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    Number(i64),
    Error(ExtendedError),
    Time(Instant),
}

impl Sockets {
    /// Writes, and queues the requested completions and timestamps.
    pub(super) fn write_noted(&mut self, write: &mut Write, host: &mut Host) -> Step<CallProgress> {
        if let Some(attempt) = self.write_pipe(write) {
            return Ok(attempt);
        }
        let attempt = self.write(write, host)?;
        let CallProgress::Returns(returned) = attempt else { return Ok(attempt) };
        let asked = write.flags & MSG_ZEROCOPY != 0;
        let socket = self.get(write.descriptor)?;
        let granted = socket.held.get("SO_ZEROCOPY").is_some_and(|set| *set != 0);
        if let (true, true, Role::Connected { endpoint, .. }) = (asked, granted, socket.role)
            && returned.value > 0
        {
            let endpoint = &mut host.endpoints[endpoint];
            endpoint.errors.note_zero_copy(&endpoint.connection);
        }
        let stamping = socket.stamping.for_call(write.stamping);
        if let (true, Role::Connected { endpoint, .. }) =
            (stamping.timestamps_sending(), socket.role)
            && returned.value > 0
        {
            let (now, endpoint) = (host.now, &mut host.endpoints[endpoint]);
            endpoint.errors.note_timestamped(stamping, &endpoint.connection, now);
        }
        Ok(attempt)
    }

    /// `recvmsg` of the error queue: it never waits.
    pub(super) fn read_error(&mut self, read: &Read, host: &mut Host) -> Step<CallProgress> {
        debug_assert!(read.flags & MSG_ERRQUEUE != 0, "the error queue is asked for");
        let Some(index) = self.endpoint(read.descriptor)? else { return Ok(fails("EAGAIN")) };
        let errors = &mut host.endpoints[index].errors;
        let next = if read.flags & MSG_PEEK != 0 { errors.peek() } else { errors.take() };
        let Some(error) = next else { return Ok(fails("EAGAIN")) };
        let mut controls = Vec::new();
        let is_reported = self.get(read.descriptor)?.stamping.is_reported();
        if let Some(stamp) = error.stamp.filter(|_| is_reported) {
            let content = Content::Time(stamp);
            controls.push((SOL_SOCKET, SCM_TIMESTAMPING, content));
        }
        let content = Content::Error(error);
        let (level, kind) =
            if self.of_v6 { (SOL_IPV6, IPV6_RECVERR) } else { (SOL_IP, IP_RECVERR) };
        controls.push((level, kind, content));
        let copied = error.packet_bytes.min(read.bytes);
        let cut = if copied < error.packet_bytes { MSG_TRUNC } else { 0 };
        verify_message(read.message.as_ref(), MSG_ERRQUEUE | cut, &controls, self.clock)?;
        Ok(returns(copied))
    }

    /// Returns the bytes read, and verifies the control messages of `recvmsg`.
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
            controls.push((SOL_TCP, TCP_CM_INQ, content));
        }
        verify_message(read.message.as_ref(), 0, &controls, self.clock)?;
        Ok(returns(bytes))
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
            endpoint.wakeups += 1;
        }
    }

    /// Arrival timestamps of the last byte read, one per requested kind (Linux
    /// `tcp_recv_timestamp`).
    fn receipts(&mut self, read: &Read, host: &mut Host) -> Step<Vec<ControlMessage>> {
        let stamping = self.get(read.descriptor)?.stamping;
        let Some(index) = self.endpoint(read.descriptor)? else { return Ok(Vec::new()) };
        let endpoint = &mut host.endpoints[index];
        let connection = &endpoint.connection;
        let left = u64::from(connection.readable_bytes());
        let Some(at) = endpoint.errors.arrival(connection.received_bytes() - left) else {
            return Ok(Vec::new());
        };
        let simple = match stamping.receipt {
            Some(Form::Nanoseconds) => Some(SCM_TIMESTAMPNS),
            Some(Form::Microseconds) => Some(SCM_TIMESTAMP),
            None => None,
        };
        let kinds =
            simple.into_iter().chain(stamping.reports_timestamps().then_some(SCM_TIMESTAMPING));
        let content = Content::Time(at);
        Ok(kinds.map(|kind| (SOL_SOCKET, kind, content)).collect())
    }
}

/// Flags and control messages are compared where they are written.
fn verify_message(
    expected: Option<&Expression>,
    flags: i64,
    seen: &[ControlMessage],
    clock: (Instant, Span),
) -> Step<()> {
    let Some(expected) = expected else { return Ok(()) };
    if let Some(expected) = expected.field("msg_flags") {
        expected.expect_number("msg_flags", flags)?;
    }
    let Some(Expression::List(parts)) = expected.field("msg_control") else { return Ok(()) };
    verify_control_messages(parts, seen, |expected, seen| match (expected, seen) {
        (Expression::Any, _) => Ok(()),
        (_, Content::Time(seen)) => {
            let (origin, tolerance) = clock;
            verify_timestamp(expected, seen.saturating_since(origin).as_nanos(), tolerance)
        }
        (_, Content::Number(seen)) => expected.expect_number("cmsg_data", *seen),
        (Expression::Record(fields), Content::Error(seen)) => {
            verify_error_fields(fields, |name| seen.field(name))
        }
        (_, Content::Error(_)) => Err(Stop::failed("cmsg_data is a record, `{ee_errno=...}`")),
    })
}

impl Socket {
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
        let number = option.value.number()?;
        let index = self.endpoint(option.descriptor)?;
        let socket = self.get(option.descriptor)?;
        if form.is_some() {
            socket.stamping.receipt = form.filter(|_| number != 0);
        } else {
            let open = index.map(|index| &host.endpoints[index].connection);
            let open = open.filter(|connection| connection.state() != fairwind_tcp::State::Closed);
            if u32::try_from(number).is_err() || socket.stamping.set(number, open).is_err() {
                return Ok(Some(fails("EINVAL")));
            }
        }
        if let Some(index) = index {
            host.endpoints[index].errors.timestamps_receive = socket.reports_timestamps();
        }
        Ok(Some(SUCCESS))
    }
}
