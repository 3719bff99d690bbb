//! The event loop of a host process: ready sockets, due applications, samples, and messages of the parent.
//!
//! | module | concern |
//! |---|---|
//! | `sender` | connections that the host writes on: it opened them, or it answers requests on them |
//! | `reader` | accepted connections that the host only reads, and relays |
//! | `datagrams` | streams of datagrams, sent and received |
//! | `timers` | deadlines of senders, and the times of samples |
//! | `tcp_info` | `TCP_INFO` of a sender, and the losses that it shows |
//! | `events` | events on their way to the parent, the clock, and the lateness of writes |
//! | `payload` | the bytes of streams |

mod datagrams;
mod events;
mod payload;
mod reader;
mod sender;
mod tcp_info;
mod timers;

pub use datagrams::number_of;

use super::plan::{HostPlan, Sampling};
use super::protocol::{FromHost, HostStatistics, ParentSocket, ToHost};
use datagrams::{DatagramReaders, DatagramSender};
use events::{Clock, EventSender, Lateness};
use fairwind_linux::{self as linux, MonotonicClock, Poll, Raw, Ready};
use fairwind_units::{Instant, Span};
use payload::Payload;
use reader::{Readers, Relays};
use sender::Sender;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use timers::{SamplingSchedule, TimerQueue};

/// Descriptors that are served between two looks at the clock.
const AT_ONCE: usize = 256;
/// Senders that are looked at between two looks at the clock.
const LOOKS_AT_ONCE: usize = 64;
/// The longest wait, should a timer be missed.
const LONGEST_WAIT: Span = Span::from_millis(100);
/// What is read at once: more than arrives between two looks.
const READ_BYTES: usize = 1 << 20;
/// The same where every byte is looked at.
const CHECKED_BYTES: usize = 1 << 16;

/// Shared context of connections.
#[derive(Debug)]
struct HostContext {
    poll: Poll,
    events: EventSender,
    payload: Payload,
    /// Where bytes that are looked at are read to.
    buffer: Vec<u8>,
    lateness: Lateness,
    statistics: HostStatistics,
    /// Whether this host reports time-outs and recoveries.
    reports_losses: bool,
}

impl HostContext {
    /// Waits until descriptors are ready, at most until `due`; returns how many are.
    fn wait(&mut self, due: Instant) -> usize {
        self.events.clock.wait(&mut self.poll, due, LONGEST_WAIT)
    }

    /// Reads what has come at `offset` of a stream, at most so much, and holds it against the pattern where that is
    /// wanted.
    fn receive(&mut self, socket: &OwnedFd, offset: u64, most: usize) -> Raw {
        if !self.payload.is_checked() {
            return linux::discard(socket, most);
        }
        let most = most.min(self.buffer.len());
        let raw = linux::receive(socket.as_raw_fd(), &mut self.buffer[..most], libc::MSG_DONTWAIT);
        if let Ok(received) = usize::try_from(raw.value) {
            self.statistics.checked_bytes += u64::try_from(received).unwrap_or(u64::MAX);
            let received = &self.buffer[..received];
            self.statistics.wrong_bytes += self.payload.wrong_bytes(offset, received);
        }
        raw
    }
}

/// Who is watched: the kind in the high half, the place in the low one.
mod token {
    pub(super) const PARENT: u64 = 0;
    pub(super) const LISTENER: u64 = 1 << 32;
    pub(super) const SENDER: u64 = 2 << 32;
    pub(super) const READER: u64 = 3 << 32;
    pub(super) const DATAGRAMS: u64 = 4 << 32;

    pub(super) fn of(kind: u64, place: usize) -> u64 {
        kind | u64::try_from(place).unwrap_or(0)
    }

    pub(super) fn parts(token: u64) -> (u64, usize) {
        let low = u64::from(u32::MAX);
        (token & !low, usize::try_from(token & low).unwrap_or(0))
    }
}

/// A host's sockets before the run begins.
#[derive(Debug)]
pub(super) struct HostSockets {
    senders: Vec<Sender>,
    readers: Readers,
    relays: Relays,
    datagram_senders: Vec<DatagramSender>,
    datagram_readers: DatagramReaders,
    sampling: Sampling,
    report_interval: Span,
    is_time_virtual: bool,
    payload: Payload,
}

impl HostSockets {
    /// Makes every socket, so that what is wrong with any shows before anything runs.
    pub(super) fn new(plan: HostPlan) -> Result<Self, String> {
        // Those that answer stand behind those that open.
        let relays = Relays::of(&plan);
        let readers = Readers::new(&plan.incoming, plan.outgoing.len())?;
        let mut senders =
            plan.outgoing.into_iter().map(Sender::new).collect::<Result<Vec<_>, _>>()?;
        senders.extend(plan.incoming.into_iter().filter_map(Sender::answering));
        let datagram_senders = plan.outgoing_datagrams.into_iter().map(DatagramSender::new);
        Ok(Self {
            senders,
            readers,
            relays,
            datagram_senders: datagram_senders.collect::<Result<_, _>>()?,
            datagram_readers: DatagramReaders::new(&plan.incoming_datagrams)?,
            sampling: plan.sampling,
            report_interval: plan.report_interval,
            is_time_virtual: plan.is_time_virtual,
            payload: Payload::new(plan.payload),
        })
    }

    /// Runs until the parent says stop, and reports statistics. An error ends the host.
    pub(super) fn run(
        self,
        origin: Instant,
        socket: Arc<UnixStream>,
        parent: ParentSocket,
    ) -> Result<(), String> {
        let clock = Clock::new(origin, MonotonicClock::of(self.is_time_virtual));
        let context = HostContext {
            poll: Poll::new(AT_ONCE).map_err(|error| error.to_string())?,
            events: EventSender::new(socket, clock, self.report_interval),
            payload: self.payload,
            buffer: vec![0; CHECKED_BYTES],
            lateness: Lateness::default(),
            statistics: HostStatistics::default(),
            reports_losses: self.sampling.loss_interval.is_some(),
        };
        let count = self.senders.len();
        let mut worker = Worker {
            timers: TimerQueue::new(count + self.datagram_senders.len()),
            senders: self.senders,
            readers: self.readers,
            relays: self.relays,
            datagram_senders: self.datagram_senders,
            datagram_readers: self.datagram_readers,
            samples: SamplingSchedule::new(self.sampling.endpoint_interval, count),
            looks: SamplingSchedule::new(self.sampling.loss_interval, count),
            context,
            parent,
            has_to_stop: false,
        };
        match worker.work() {
            Ok(()) => worker.finish(),
            Err(reason) => {
                worker.context.events.give_up();
                Err(reason)
            }
        }
    }
}

/// A host at work.
#[derive(Debug)]
struct Worker {
    senders: Vec<Sender>,
    readers: Readers,
    relays: Relays,
    /// Their timers follow those of `senders`.
    datagram_senders: Vec<DatagramSender>,
    datagram_readers: DatagramReaders,
    timers: TimerQueue,
    samples: SamplingSchedule,
    looks: SamplingSchedule,
    context: HostContext,
    parent: ParentSocket,
    has_to_stop: bool,
}

impl Worker {
    fn work(&mut self) -> Result<(), String> {
        self.begin()?;
        while !self.has_to_stop {
            self.turn()?;
        }
        Ok(())
    }

    fn begin(&mut self) -> Result<(), String> {
        let poll = &self.context.poll;
        poll.add(self.parent.socket(), token::PARENT, libc::EPOLLIN).map_err(|e| e.to_string())?;
        for (place, listener) in self.readers.listeners().iter().enumerate() {
            poll.add(listener, token::of(token::LISTENER, place), libc::EPOLLIN)
                .map_err(|error| error.to_string())?;
        }
        for (place, socket) in self.datagram_readers.sockets().enumerate() {
            poll.add(socket, token::of(token::DATAGRAMS, place), libc::EPOLLIN)
                .map_err(|error| error.to_string())?;
        }
        let deadlines = self.senders.iter().map(Sender::deadline);
        let deadlines = deadlines.chain(self.datagram_senders.iter().map(DatagramSender::deadline));
        for (place, deadline) in deadlines.enumerate() {
            self.timers.schedule(place, deadline);
        }
        Ok(())
    }

    /// Waits for what comes next, and does it.
    fn turn(&mut self) -> Result<(), String> {
        let sampling = self.samples.next().min(self.looks.next());
        let due = self.timers.next().min(sampling).min(self.context.events.next_flush());
        let ready = self.context.wait(due);
        for place in 0..ready {
            let readiness = self.context.poll.readiness(place);
            self.on_ready(readiness)?;
        }
        let now = self.run_due_timers()?;
        self.sample_senders(now);
        if self.context.events.next_flush() <= now {
            self.context.events.flush();
        }
        Ok(())
    }

    fn on_ready(&mut self, readiness: Ready) -> Result<(), String> {
        let (kind, place) = token::parts(readiness.token);
        match kind {
            token::LISTENER => {
                let token = |place| token::of(token::READER, place);
                let answered = self.readers.accept(place, token, &mut self.context)?;
                self.open_relays()?;
                answered.into_iter().try_for_each(|(place, socket)| self.answer(place, socket))
            }
            token::READER => {
                match self.readers.flow_of(place).and_then(|flow| self.relays.of_flow(flow)) {
                    Some(relay) if readiness.has(libc::EPOLLERR) => self.break_off(place, relay),
                    Some(relay) => self.pass_on(place, relay),
                    None => {
                        self.readers.read(place, READ_BYTES, &mut self.context);
                    }
                }
                Ok(())
            }
            token::SENDER => {
                let sender = &mut self.senders[place];
                sender.on_ready(readiness, &mut self.context);
                self.timers.schedule(place, sender.deadline());
                self.refill(place);
                self.take_next(place);
                Ok(())
            }
            token::DATAGRAMS => {
                self.datagram_readers.on_ready(place, &mut self.context);
                Ok(())
            }
            _ => self.listen_to_parent(),
        }
    }

    /// Hands a connection to the sender in `place`, which answers what it is asked.
    fn answer(&mut self, place: usize, socket: OwnedFd) -> Result<(), String> {
        let sender = &mut self.senders[place];
        sender.adopt(socket, token::of(token::SENDER, place), &mut self.context)?;
        self.timers.schedule(place, sender.deadline());
        Ok(())
    }

    /// Where the connection in `place` is over, and another one follows it, that one is opened when it is to be.
    fn take_next(&mut self, place: usize) {
        let Some((flow, start)) = self.senders[place].take_next(self.context.events.now()) else {
            return;
        };
        let is_next = |sender: &Sender| sender.flow() == flow;
        if let Some(next) = self.senders.iter().position(is_next) {
            self.senders[next].follow(start);
            self.timers.schedule(next, self.senders[next].deadline());
        }
    }

    fn listen_to_parent(&mut self) -> Result<(), String> {
        while let Some(message) = self.parent.receive()? {
            self.has_to_stop |= matches!(message, ToHost::Stop);
        }
        Ok(())
    }

    /// Runs what is due, and returns when nothing was any more.
    fn run_due_timers(&mut self) -> Result<Instant, String> {
        let mut now = self.context.events.now();
        for _ in 0..AT_ONCE {
            // Before the origin the clock stands still.
            if self.timers.next() == Instant::ZERO && !self.context.events.clock.has_begun() {
                break;
            }
            let Some(place) = self.timers.due(now) else { break };
            if let Some(stream) = place.checked_sub(self.senders.len()) {
                let sender = &mut self.datagram_senders[stream];
                sender.on_deadline(&mut self.context)?;
                self.timers.schedule(place, sender.deadline());
            } else {
                let sender = &mut self.senders[place];
                let token = token::of(token::SENDER, place);
                sender.on_deadline(now, token, &mut self.context)?;
                self.timers.schedule(place, sender.deadline());
                self.take_next(place);
            }
            now = self.context.events.now();
        }
        Ok(now)
    }

    fn sample_senders(&mut self, now: Instant) {
        for place in self.samples.due(now, LOOKS_AT_ONCE) {
            self.senders[place].sample(&mut self.context);
        }
        for place in self.looks.due(now, LOOKS_AT_ONCE) {
            self.senders[place].look(&mut self.context);
        }
    }

    fn finish(mut self) -> Result<(), String> {
        for sender in &mut self.senders {
            sender.look(&mut self.context);
            sender.account(&mut self.context);
        }
        let mut statistics = self.context.statistics;
        self.context.lateness.fill_in(&mut statistics);
        let last = FromHost::Done(statistics);
        self.context.events.finish(&last).map_err(|error| format!("report to the parent: {error}"))
    }
}
