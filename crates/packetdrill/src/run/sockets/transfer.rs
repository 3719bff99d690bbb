//! Reads, writes, pipes and `splice`.

use super::request::{Read, Splice, Write};
use super::{
    CallProgress, MSG_DONTWAIT, MSG_EOR, MSG_ERRQUEUE, MSG_MORE, MSG_OOB, MSG_PEEK, MSG_WAITALL,
    Other, Role, SUCCESS, Sockets, fails, returns,
};
use crate::outcome::Step;
use crate::run::host::Host;
use fairwind_tcp::{Connection, Part, State, UrgentRead, WriteFlags};
use fairwind_units::{Instant, Span};

impl Sockets {
    pub(super) fn read(&mut self, read: &mut Read, host: &mut Host) -> Step<CallProgress> {
        if let Some(attempt) = self.read_pipe(read) {
            return Ok(attempt);
        }
        if read.flags & MSG_ERRQUEUE != 0 {
            return self.read_error(read, host);
        }
        let socket = self.get(read.descriptor)?;
        let Role::Connected { endpoint: index, .. } = socket.role else {
            return Ok(fails("ENOTCONN"));
        };
        if read.flags & MSG_OOB != 0 {
            return Ok(read_urgent(read, index, host));
        }
        let nonblocking = socket.nonblocking || read.flags & MSG_DONTWAIT != 0;
        let (deaf, timeout) = (socket.deaf, socket.read_timeout);
        let min = if read.flags & MSG_WAITALL != 0 { u32::MAX } else { socket.low_water };
        let available = take_readable(read, index, host);
        if available >= min.min(read.bytes).max(1) {
            return self.has_read(read, available, host);
        }
        let now = host.now;
        let until = *read.until.get_or_insert_with(|| limit(now, timeout));
        let endpoint = &mut host.endpoints[index];
        let ended = endpoint.peer_finished || endpoint.is_closed() || deaf || read.bytes == 0;
        if available > 0 {
            let waits = !ended && !nonblocking && endpoint.error.is_none() && now < until;
            return if waits {
                Ok(CallProgress::Waits { until })
            } else {
                self.has_read(read, available, host)
            };
        }
        // The end of the stream comes before any error (Linux `SOCK_DONE`).
        if !endpoint.peer_finished
            && let Some(error) = endpoint.error.take()
        {
            return Ok(fails(error));
        }
        Ok(match (ended, nonblocking || now >= until) {
            (true, _) => returns(0),
            (false, true) => fails("EAGAIN"),
            (false, false) => CallProgress::Waits { until },
        })
    }

    pub(super) fn write(&mut self, write: &mut Write, host: &mut Host) -> Step<CallProgress> {
        let socket = self.get(write.descriptor)?;
        if (write.is_fast() || socket.fast_open.deferred) && !write.begun {
            return self.write_fast(write, host);
        }
        let Role::Connected { endpoint: index, .. } = socket.role else {
            return Ok(fails("EPIPE"));
        };
        let nonblocking = socket.nonblocking || write.flags & MSG_DONTWAIT != 0;
        let (now, timeout) = (host.now, socket.write_timeout);
        let until = *write.until.get_or_insert_with(|| limit(now, timeout));
        let endpoint = &mut host.endpoints[index];
        if write.taken == 0 || write.begun && !endpoint.established {
            if let Some(error) = endpoint.error.take() {
                return Ok(fails(error));
            }
            if !endpoint.connection.may_write() {
                return Ok(fails("EPIPE"));
            }
        }
        // A writer waiting for room wakes when a third of the buffer is free
        // (`sk_stream_write_space`).
        if endpoint.established && (!write.wants_room || endpoint.is_writable()) {
            take(write, index, host);
            write.wants_room = true;
        }
        let opening = host.endpoints[index].connection.state() == State::SynSent;
        if opening && !nonblocking {
            host.act(index, Connection::expect_data);
        }
        let nonblocking = nonblocking || now >= until;
        let closed = !host.endpoints[index].connection.may_write();
        let done = write.taken == write.bytes || closed || nonblocking && write.taken > 0;
        Ok(match (done, nonblocking) {
            (true, _) => returns(write.taken),
            (false, true) => fails("EAGAIN"),
            (false, false) => CallProgress::Waits { until },
        })
    }
}

/// Until when a call waits that begins now.
pub(super) fn limit(now: Instant, timeout: Option<Span>) -> Instant {
    timeout.map_or(Instant::MAX, |timeout| now + timeout)
}

/// Takes readable bytes, up to the requested number; returns the total of the call. Peeked bytes
/// stay.
fn take_readable(read: &mut Read, index: usize, host: &mut Host) -> u32 {
    let left = read.bytes - read.taken;
    let bytes = host.endpoints[index].connection.readable_bytes().min(left);
    if read.flags & MSG_PEEK != 0 {
        return bytes;
    }
    if left > 0 {
        let now = host.now;
        read.taken += host.act(index, |connection| connection.read(now, bytes.max(1)));
    }
    read.taken
}

/// The urgent byte alone (`tcp_recv_urg`).
fn read_urgent(read: &Read, index: usize, host: &mut Host) -> CallProgress {
    let peek = read.flags & MSG_PEEK != 0;
    let outcome = host.act(index, |connection| connection.read_urgent(peek));
    let endpoint = &host.endpoints[index];
    match outcome {
        UrgentRead::Byte => returns(read.bytes.min(1)),
        UrgentRead::NotYet if endpoint.peer_finished || endpoint.is_closed() => returns(0),
        UrgentRead::NotYet => fails("EAGAIN"),
        UrgentRead::Nothing => fails("EINVAL"),
    }
}

/// Writes as much as the connection accepts, which sends meanwhile.
fn take(write: &mut Write, index: usize, host: &mut Host) {
    let whole = WriteFlags {
        more: write.flags & MSG_MORE != 0,
        ends_record: write.flags & MSG_EOR != 0,
        urgent: write.flags & MSG_OOB != 0,
    };
    while write.taken < write.bytes {
        let packet = write.packet_bytes.unwrap_or(write.bytes).max(1);
        let end = ((write.taken / packet + 1) * packet).min(write.bytes);
        let writing = if end < write.bytes {
            WriteFlags { ends_record: true, ..WriteFlags::default() }
        } else {
            whole
        };
        let left = u64::from(end - write.taken);
        let part = if write.taken == 0 { Part::First } else { Part::Later };
        let taken = host.act(index, |connection| connection.write_part(left, writing, part));
        if taken == 0 {
            break;
        }
        write.taken += u32::try_from(taken).expect("no more than was offered");
    }
}

/// Bytes that a pipe holds.
const CAPACITY: u32 = 65_536;

impl Sockets {
    pub(super) fn make_pipe(&mut self, ends: [i64; 2]) -> Step<CallProgress> {
        let pipe = self.pipes.len();
        self.pipes.push(0);
        for end in ends {
            self.make(Some(end), &Other::Pipe(pipe))?;
        }
        Ok(SUCCESS)
    }

    fn pipe(&mut self, descriptor: i64) -> Option<&mut u32> {
        match self.others.get(&descriptor) {
            Some(Other::Pipe(pipe)) => self.pipes.get_mut(*pipe),
            _ => None,
        }
    }

    /// Writes to a pipe, if the descriptor is one's.
    pub(super) fn write_pipe(&mut self, write: &Write) -> Option<CallProgress> {
        let held = self.pipe(write.descriptor)?;
        let taken = write.bytes.min(CAPACITY - *held);
        *held += taken;
        Some(returns(taken))
    }

    /// Reads from a pipe, if the descriptor is one's.
    pub(super) fn read_pipe(&mut self, read: &Read) -> Option<CallProgress> {
        let held = self.pipe(read.descriptor)?;
        let taken = read.bytes.min(*held);
        *held -= taken;
        Some(if taken == 0 { fails("EAGAIN") } else { returns(taken) })
    }

    /// Whether only the urgent byte is readable, which `splice` neither moves nor waits for
    /// (`tcp_splice_read`).
    fn is_at_urgent_byte(&self, descriptor: i64, host: &Host) -> bool {
        let Some(Role::Connected { endpoint, .. }) = self.open.get(&descriptor).map(|it| &it.role)
        else {
            return false;
        };
        let connection = &host.endpoints[*endpoint].connection;
        connection.readable_bytes() == 0 && connection.is_at_mark()
    }

    pub(super) fn splice(&mut self, splice: &mut Splice, host: &mut Host) -> Step<CallProgress> {
        let flags = splice.transfer_flags();
        if let Some(held) = self.pipe(splice.from) {
            let bytes = splice.bytes.min(*held);
            if bytes == 0 {
                return Ok(fails("EAGAIN"));
            }
            let mut write = Write::plain(splice.to, bytes, flags);
            let attempt = self.write(&mut write, host)?;
            // Moved bytes are consumed; the call does not wait for the rest.
            let taken = write.taken;
            if let (Some(held), true) = (self.pipe(splice.from), taken > 0) {
                *held -= taken;
                return Ok(returns(taken));
            }
            return Ok(attempt);
        }
        let Some(held) = self.pipe(splice.to) else { return Ok(fails("EINVAL")) };
        let bytes = splice.bytes.min(CAPACITY - *held);
        if self.is_at_urgent_byte(splice.from, host) {
            return Ok(returns(0));
        }
        let attempt =
            self.read(&mut Read::plain(splice.from, bytes, flags & MSG_DONTWAIT), host)?;
        if let (CallProgress::Returns(returned), Some(held)) = (attempt, self.pipe(splice.to)) {
            *held += u32::try_from(returned.value).unwrap_or(0);
        }
        Ok(attempt)
    }
}
