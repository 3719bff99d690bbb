//! Reading and writing.

use super::constants::{DO_NOT_WAIT, PEEK};
use super::request::{Read, Write};
use super::{Attempt, FOREVER, Returned, Role, Sockets, fails};
use crate::outcome::Step;
use crate::run::host::Host;
use fairwind_tcp::State;

impl Sockets {
    pub(super) fn read(&mut self, read: Read, host: &mut Host) -> Step<Attempt> {
        let socket = self.get(read.descriptor)?;
        let Role::Connected { endpoint: index, .. } = socket.role else {
            return Ok(fails("ENOTCONN"));
        };
        let nonblocking = socket.nonblocking || read.flags & DO_NOT_WAIT != 0;
        let endpoint = &mut host.endpoints[index];
        let bytes = endpoint.connection.readable_bytes().min(read.bytes);
        if bytes > 0 {
            if read.flags & PEEK == 0 {
                host.act(index, |connection| connection.read(bytes));
            }
            return Ok(Attempt::Returns(Returned::value(i64::from(bytes))));
        }
        if let Some(error) = endpoint.error.take() {
            return Ok(fails(error));
        }
        let ended = endpoint.peer_finished || endpoint.is_closed() || socket.deaf;
        Ok(match (ended || read.bytes == 0, nonblocking) {
            (true, _) => Attempt::Returns(Returned::value(0)),
            (false, true) => fails("EAGAIN"),
            (false, false) => FOREVER,
        })
    }

    pub(super) fn write(&mut self, write: &mut Write, host: &mut Host) -> Step<Attempt> {
        let socket = self.get(write.descriptor)?;
        let Role::Connected { endpoint: index, .. } = socket.role else {
            return Ok(fails("EPIPE"));
        };
        let nonblocking = socket.nonblocking || write.flags & DO_NOT_WAIT != 0;
        let endpoint = &mut host.endpoints[index];
        if write.taken == 0 {
            if let Some(error) = endpoint.error.take() {
                return Ok(fails(error));
            }
            if !may_write(endpoint.connection.state()) {
                return Ok(fails("EPIPE"));
            }
        }
        let left = u64::from(write.bytes - write.taken);
        let taken = if endpoint.established {
            host.act(index, |connection| connection.write(left))
        } else {
            0
        };
        write.taken += u32::try_from(taken).expect("no more than was offered");
        let closed = !may_write(host.endpoints[index].connection.state());
        let done = write.taken == write.bytes || closed || nonblocking && write.taken > 0;
        Ok(match (done, nonblocking) {
            (true, _) => Attempt::Returns(Returned::value(i64::from(write.taken))),
            (false, true) => fails("EAGAIN"),
            (false, false) => FOREVER,
        })
    }
}

/// Whether the application has not closed its direction, nor anybody the connection.
fn may_write(state: State) -> bool {
    matches!(state, State::SynSent | State::SynReceived | State::Established | State::CloseWait)
}
