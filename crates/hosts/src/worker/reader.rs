//! Connections that a host accepts, reads and relays.
//!
//! A relay reads as much as its outgoing connection can take, and writes it there.

use super::{HostContext, READ_BYTES, Worker, token};
use crate::network;
use crate::plan::{HostPlan, IncomingPlan};
use crate::protocol::EventKind;
use fairwind_linux as linux;
use fairwind_linux::Poll;
use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;

/// An expected caller.
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
    watching: Interest,
}

/// All of them.
#[derive(Debug)]
pub(super) struct Readers {
    listeners: Vec<OwnedFd>,
    /// The expected callers, by local and remote address.
    expected: BTreeMap<(SocketAddr, SocketAddr), Caller>,
    accepted: Vec<Option<Reader>>,
    /// How many of them [`Readers::take_new`] has returned.
    taken: usize,
}

impl Readers {
    /// Listens at all addresses of the plan's incoming connections. The first connection that is to be
    /// answered is so by the sender in place `first_answering`, the next by the next.
    pub(super) fn new(incoming: &[IncomingPlan], first_answering: usize) -> Result<Self, String> {
        let mut places = BTreeMap::new();
        for plan in incoming {
            places.entry(plan.local).or_insert(&plan.socket);
        }
        let listeners = places
            .into_iter()
            .map(|(local, settings)| network::listening(local, settings))
            .collect::<Result<_, _>>()?;
        let mut answering = first_answering..;
        let caller = |plan: &IncomingPlan| Caller {
            flow: plan.flow,
            answering: plan.answer.as_ref().and_then(|_| answering.next()),
        };
        let expected = incoming.iter().map(caller);
        let ends = incoming.iter().map(|plan| (plan.local, plan.remote));
        let expected = ends.zip(expected).collect();
        Ok(Self { listeners, expected, accepted: Vec::new(), taken: 0 })
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
        context: &mut HostContext,
    ) -> Result<Vec<(usize, OwnedFd)>, String> {
        let mut answered = Vec::new();
        while let Some(socket) = linux::accept_connection(&self.listeners[listener])
            .map_err(|error| error.to_string())?
        {
            let stream = TcpStream::from(socket);
            let ends = stream.local_addr().and_then(|local| Ok((local, stream.peer_addr()?)));
            let Some(caller) = ends.ok().and_then(|ends| self.expected.remove(&ends)) else {
                context.statistics.unexpected_connections += 1;
                continue;
            };
            if let Some(place) = caller.answering {
                answered.push((place, stream.into()));
                continue;
            }
            let (flow, socket) = (caller.flow, stream.into());
            let reader = Reader { flow, socket, offset: 0, watching: Interest::Data };
            let place = self.accepted.len();
            context
                .poll
                .add(&reader.socket, token(place), libc::EPOLLIN)
                .map_err(|error| error.to_string())?;
            self.accepted.push(Some(reader));
        }
        Ok(answered)
    }

    /// The connections that came since this was last asked: place and flow of each.
    pub(super) fn take_new(&mut self) -> Vec<(usize, u32)> {
        let from = std::mem::replace(&mut self.taken, self.accepted.len());
        let new = self.accepted.iter().enumerate().skip(from);
        new.filter_map(|(place, reader)| Some((place, reader.as_ref()?.flow))).collect()
    }

    /// The flow of the connection in this place, while it is open.
    pub(super) fn flow_of(&self, place: usize) -> Option<u32> {
        self.accepted.get(place)?.as_ref().map(|reader| reader.flow)
    }

    /// Reads what has come on a connection, at most so much.
    pub(super) fn read(
        &mut self,
        place: usize,
        most: usize,
        context: &mut HostContext,
    ) -> ReadOutcome {
        let Some(reader) = &mut self.accepted[place] else { return ReadOutcome::Nothing };
        let raw = context.receive(&reader.socket, reader.offset, most);
        let at = context.events.now();
        match (u64::try_from(raw.value), raw.errno) {
            (Ok(0), _) => {
                context.events.report(at, reader.flow, EventKind::Finished);
                self.accepted[place] = None;
                ReadOutcome::End
            }
            (Ok(bytes), _) => {
                reader.offset += bytes;
                context.events.report(at, reader.flow, EventKind::Read(reader.offset));
                ReadOutcome::Bytes(bytes)
            }
            (Err(_), libc::EAGAIN | libc::EINTR) => ReadOutcome::Nothing,
            (Err(_), _) => {
                self.lose(place, context);
                ReadOutcome::Broken
            }
        }
    }

    /// Watches a connection for data, or only for its breaking off.
    pub(super) fn watch(&mut self, place: usize, watching: Interest, token: u64, poll: &Poll) {
        let Some(reader) = &mut self.accepted[place] else { return };
        if reader.watching != watching
            && poll.change(&reader.socket, token, watching.interest()).is_ok()
        {
            reader.watching = watching;
        }
    }

    /// A connection was broken off by the other side.
    pub(super) fn lose(&mut self, place: usize, context: &mut HostContext) {
        context.statistics.broken_while_reading += 1;
        self.accepted[place] = None;
    }

    /// Aborts a connection: closing it with unread data resets it.
    pub(super) fn give_up(&mut self, place: usize) {
        if let Some(reader) = self.accepted[place].take() {
            linux::reset_at_close(&reader.socket);
        }
    }
}

/// Result of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadOutcome {
    /// So many bytes.
    Bytes(u64),
    /// The other side has closed, and all is read.
    End,
    /// Nothing has come.
    Nothing,
    /// The connection was broken off.
    Broken,
}

/// What a connection is watched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Interest {
    /// Data.
    Data,
    /// Nothing but errors, of which one hears in any case.
    Errors,
}

impl Interest {
    fn interest(self) -> i32 {
        match self {
            Self::Data => libc::EPOLLIN,
            Self::Errors => 0,
        }
    }
}

/// Which sender passes on which connection.
#[derive(Debug, Default)]
pub(super) struct Relays {
    /// By flow that comes, the place of the sender that passes it on.
    senders: BTreeMap<u32, usize>,
    /// By place of a sender, that of the connection that it passes on, once that has come.
    readers: BTreeMap<usize, usize>,
}

impl Relays {
    /// The relays of `plan`; senders have the order of its outgoing connections.
    pub(super) fn of(plan: &HostPlan) -> Self {
        let relays = plan.outgoing.iter().enumerate();
        let senders = relays.filter_map(|(place, outgoing)| Some((outgoing.relays?, place)));
        Self { senders: senders.collect(), readers: BTreeMap::new() }
    }

    /// The place of the sender that passes this flow on.
    pub(super) fn of_flow(&self, flow: u32) -> Option<usize> {
        self.senders.get(&flow).copied()
    }
}

impl Worker {
    /// Opens the outgoing connections of relays with a newly accepted connection.
    pub(super) fn open_relays(&mut self) -> Result<(), String> {
        for (reader, flow) in self.readers.take_new() {
            let Some(relay) = self.relays.of_flow(flow) else { continue };
            self.relays.readers.insert(relay, reader);
            let sender = &mut self.senders[relay];
            sender.connect(token::of(token::SENDER, relay), &mut self.context)?;
            self.timers.schedule(relay, sender.deadline());
        }
        Ok(())
    }

    /// Reads on connection `reader` what the sender in place `relay` has room for, and lets it write.
    pub(super) fn pass_on(&mut self, reader: usize, relay: usize) {
        let (sender, context) = (&mut self.senders[relay], &mut self.context);
        let token = token::of(token::SENDER, relay);
        if sender.is_over() {
            return self.readers.give_up(reader);
        }
        let room = usize::try_from(sender.room()).unwrap_or(READ_BYTES).min(READ_BYTES);
        if room > 0 {
            match self.readers.read(reader, room, context) {
                ReadOutcome::Bytes(bytes) => sender.pass_on(bytes, token, context),
                ReadOutcome::End => sender.end_relaying(token, context),
                ReadOutcome::Nothing => {}
                ReadOutcome::Broken => sender.break_off(context),
            }
        }
        let watching = if sender.room() > 0 { Interest::Data } else { Interest::Errors };
        let reader_token = token::of(token::READER, reader);
        self.readers.watch(reader, watching, reader_token, &context.poll);
        self.timers.schedule(relay, self.senders[relay].deadline());
    }

    /// Connection `reader` was reset; resets its outgoing connection as well.
    pub(super) fn break_off(&mut self, reader: usize, relay: usize) {
        self.readers.lose(reader, &mut self.context);
        self.senders[relay].break_off(&mut self.context);
        self.timers.schedule(relay, self.senders[relay].deadline());
    }

    /// The sender in this place may have room again, where it passes on what comes.
    pub(super) fn refill(&mut self, relay: usize) {
        if let Some(&reader) = self.relays.readers.get(&relay)
            && self.readers.flow_of(reader).is_some()
        {
            self.pass_on(reader, relay);
        }
    }
}
