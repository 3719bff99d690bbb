//! Connections that come to the host: they are accepted, and read as fast as data comes; those that
//! are to be answered are handed to whoever writes the answers.

use super::Facilities;
use crate::host::protocol::{Fact, IncomingPlan};
use crate::host::sockets;
use crate::sys::{self, Ready};
use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;

/// Who is expected to call.
#[derive(Debug, Clone, Copy)]
struct Caller {
    flow: u32,
    /// The place of the sender that answers, where one does.
    answering: Option<usize>,
}

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
    /// Whose connection begins when the second address calls at the first.
    expected: BTreeMap<(SocketAddr, SocketAddr), Caller>,
    accepted: Vec<Option<Reader>>,
}

impl Readers {
    /// Listens wherever the plan says that somebody will call. The first connection that is to be
    /// answered is so by the sender in place `first_answering`, the next by the next.
    pub(super) fn new(incoming: &[IncomingPlan], first_answering: usize) -> Result<Self, String> {
        let mut places = BTreeMap::new();
        for plan in incoming {
            places.entry(plan.local).or_insert(&plan.socket);
        }
        let listeners = places
            .into_iter()
            .map(|(local, settings)| sockets::listening(local, settings))
            .collect::<Result<_, _>>()?;
        let mut answering = first_answering..;
        let caller = |plan: &IncomingPlan| Caller {
            flow: plan.flow,
            answering: plan.answer.as_ref().and_then(|_| answering.next()),
        };
        let expected = incoming.iter().map(caller);
        let ends = incoming.iter().map(|plan| (plan.local, plan.remote));
        let expected = ends.zip(expected).collect();
        Ok(Self { listeners, expected, accepted: Vec::new() })
    }

    /// The sockets that connections come to.
    pub(super) fn listeners(&self) -> &[OwnedFd] {
        &self.listeners
    }

    /// Accepts what waits at a listener; `token` is what a connection in this place is watched with.
    /// Connections that are to be answered come back, each with the place of its sender.
    pub(super) fn accept(
        &mut self,
        listener: usize,
        token: impl Fn(usize) -> u64,
        facilities: &mut Facilities,
    ) -> Result<Vec<(usize, OwnedFd)>, String> {
        let mut answered = Vec::new();
        while let Some(socket) =
            sys::accept_connection(&self.listeners[listener]).map_err(|error| error.to_string())?
        {
            let stream = TcpStream::from(socket);
            let ends = stream.local_addr().and_then(|local| Ok((local, stream.peer_addr()?)));
            let Some(caller) = ends.ok().and_then(|ends| self.expected.remove(&ends)) else {
                facilities.statistics.unexpected_connections += 1;
                continue;
            };
            if let Some(place) = caller.answering {
                answered.push((place, stream.into()));
                continue;
            }
            let reader = Reader { flow: caller.flow, socket: stream.into(), offset: 0 };
            let place = self.accepted.len();
            facilities
                .poll
                .add(&reader.socket, token(place), libc::EPOLLIN)
                .map_err(|error| error.to_string())?;
            self.accepted.push(Some(reader));
        }
        Ok(answered)
    }

    /// Reads what has come on a connection.
    pub(super) fn on_ready(&mut self, place: usize, _: Ready, facilities: &mut Facilities) {
        let Some(reader) = &mut self.accepted[place] else { return };
        let raw = facilities.receive(&reader.socket, reader.offset);
        let at = facilities.outbox.now();
        match (u64::try_from(raw.value), raw.errno) {
            (Ok(0), _) => {
                facilities.outbox.tell(at, reader.flow, Fact::Finished);
                self.accepted[place] = None;
            }
            (Ok(bytes), _) => {
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
