//! Connections that the host answers: they are accepted, and read as fast as data comes.

use super::Facilities;
use crate::host::protocol::{Fact, IncomingPlan};
use crate::host::sockets;
use crate::sys::{self, Ready};
use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsRawFd as _, OwnedFd};

/// What is read at once: more than arrives between two looks.
const READ_BYTES: usize = 1 << 20;
/// The same where every byte is looked at.
const CHECKED_BYTES: usize = 1 << 16;

/// A connection that was accepted.
#[derive(Debug)]
struct Reader {
    flow: u32,
    socket: OwnedFd,
    /// Bytes read since the stream began.
    offset: u64,
}

/// All of them.
#[derive(Debug)]
pub(super) struct Readers {
    listeners: Vec<OwnedFd>,
    /// The flow that begins when the second address calls at the first.
    expected: BTreeMap<(SocketAddr, SocketAddr), u32>,
    accepted: Vec<Option<Reader>>,
    buffer: Vec<u8>,
}

impl Readers {
    /// Listens wherever the plan says that somebody will call.
    pub(super) fn new(incoming: &[IncomingPlan]) -> Result<Self, String> {
        let mut places = BTreeMap::new();
        for plan in incoming {
            places.entry(plan.local).or_insert(&plan.socket);
        }
        let listeners = places
            .into_iter()
            .map(|(local, settings)| sockets::listening(local, settings))
            .collect::<Result<_, _>>()?;
        let expected = incoming.iter().map(|plan| ((plan.local, plan.remote), plan.flow)).collect();
        Ok(Self { listeners, expected, accepted: Vec::new(), buffer: vec![0; CHECKED_BYTES] })
    }

    /// The sockets that connections come to.
    pub(super) fn listeners(&self) -> &[OwnedFd] {
        &self.listeners
    }

    /// Accepts what waits at a listener; `token` is what a connection in this place is watched with.
    pub(super) fn accept(
        &mut self,
        listener: usize,
        token: impl Fn(usize) -> u64,
        facilities: &mut Facilities,
    ) -> Result<(), String> {
        while let Some(socket) =
            sys::accept_connection(&self.listeners[listener]).map_err(|error| error.to_string())?
        {
            let stream = TcpStream::from(socket);
            let ends = stream.local_addr().and_then(|local| Ok((local, stream.peer_addr()?)));
            let Some(flow) = ends.ok().and_then(|ends| self.expected.remove(&ends)) else {
                facilities.statistics.unexpected_connections += 1;
                continue;
            };
            let reader = Reader { flow, socket: stream.into(), offset: 0 };
            let place = self.accepted.len();
            facilities
                .poll
                .add(&reader.socket, token(place), libc::EPOLLIN)
                .map_err(|error| error.to_string())?;
            self.accepted.push(Some(reader));
        }
        Ok(())
    }

    /// Reads what has come on a connection.
    pub(super) fn on_ready(&mut self, place: usize, _: Ready, facilities: &mut Facilities) {
        let Some(reader) = &mut self.accepted[place] else { return };
        let raw = if facilities.payload.is_checked() {
            sys::receive(reader.socket.as_raw_fd(), &mut self.buffer, libc::MSG_DONTWAIT)
        } else {
            sys::discard(&reader.socket, READ_BYTES)
        };
        let at = facilities.outbox.now();
        match (u64::try_from(raw.value), raw.errno) {
            (Ok(0), _) => {
                facilities.outbox.tell(at, reader.flow, Fact::Finished);
                self.accepted[place] = None;
            }
            (Ok(bytes), _) => {
                if facilities.payload.is_checked() {
                    let received = usize::try_from(bytes).unwrap_or(0);
                    facilities.check(reader.offset, &self.buffer[..received]);
                }
                reader.offset += bytes;
                facilities.outbox.tell(at, reader.flow, Fact::Read(reader.offset));
            }
            (Err(_), libc::EAGAIN | libc::EINTR) => {}
            (Err(_), _) => {
                facilities.statistics.broken_while_reading += 1;
                self.accepted[place] = None;
            }
        }
    }
}
