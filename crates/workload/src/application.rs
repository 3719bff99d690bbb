//! Interface of all applications: at the end of a connection, or as a stream of datagrams.

use crate::exchange::{Caller, Client, Provider, Server};
use crate::senders::{Greedy, OnOff, Relay, Replay, Steady, Thin};
use fairwind_units::Instant;
use rand::SeedableRng as _;
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};

/// The application at one end of a connection. It can be handed to another process, and goes on
/// there as it would have here.
///
/// Its driver calls [`begin`](Self::begin) when the connection is open, asks
/// [`poll_write`](Self::poll_write) until it writes nothing more (when [`next_write`](Self::next_write)
/// is due, when something was sent, and after each read), tells it with
/// [`on_read`](Self::on_read) what it reads, tells it with [`end`](Self::end) that nothing more is wanted of
/// it, and closes the writing half of the connection when it [`is_finished`](Self::is_finished) and
/// all that it wrote is with the sender.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[non_exhaustive]
#[repr(u8)] // A separate tag is compared in one step.
pub enum Application {
    /// Always has more to send.
    Greedy(Greedy),
    /// Writes little, and seldom.
    Thin(Thin),
    /// Asks, and reads the answers.
    Client(Box<Client>),
    /// Answers requests. Its driver calls [`end`](Self::end) when the other side has
    /// closed its half.
    Server(Box<Server>),
    /// Writes at a constant rate.
    Steady(Box<Steady>),
    /// Writes in bursts.
    OnOff(Box<OnOff>),
    /// Writes what another application wrote.
    Replay(Box<Replay>),
    /// Writes the data read on another connection. Its driver reads there no more than there is
    /// [room](Relay::room) for, says how much that was, and tells it of the [`end`](Self::end).
    Relay(Box<Relay>),
    /// Reads until the other side closes. Its driver calls [`end`](Self::end) then.
    Caller(Box<Caller>),
    /// Sends so much and closes.
    Provider(Box<Provider>),
}

impl Application {
    /// The same application before it has written anything, with independent draws.
    #[must_use]
    pub fn seeded(&self, seed: u64) -> Self {
        let mut application = self.clone();
        let random = match &mut application {
            // Nothing of these is drawn.
            Self::Greedy(_) | Self::Steady(_) | Self::Replay(_) | Self::Relay(_) => None,
            Self::OnOff(on_off) => Some(&mut on_off.random),
            Self::Thin(thin) => Some(&mut thin.random),
            Self::Client(client) => Some(&mut client.exchanges.random),
            Self::Server(server) => Some(&mut server.exchanges.random),
            Self::Caller(caller) => Some(&mut caller.transfer.random),
            Self::Provider(provider) => Some(&mut provider.transfer.random),
        };
        if let Some(random) = random {
            *random = Pcg64Mcg::seed_from_u64(seed);
        }
        application
    }

    /// The connection is open: writing begins.
    pub fn begin(&mut self, now: Instant) {
        match self {
            Self::Thin(thin) => thin.begin(now),
            Self::Client(client) => client.begin(now),
            Self::Greedy(greedy) => greedy.begin(),
            Self::Server(_) => {}
            Self::Steady(steady) => steady.begin(now),
            Self::OnOff(on_off) => on_off.begin(now),
            Self::Replay(replay) => replay.begin(now),
            Self::Caller(caller) => caller.begin(now),
            Self::Provider(provider) => provider.begin(),
            Self::Relay(relay) => relay.begin(),
        }
    }

    /// The relay, where it is one.
    pub fn as_relay(&mut self) -> Option<&mut Relay> {
        match self {
            Self::Relay(relay) => Some(relay),
            _ => None,
        }
    }

    /// Whether it is greedy, always or in bursts: how much is unsent matters to it.
    pub fn is_greedy(&self) -> bool {
        match self {
            Self::Greedy(_) | Self::Relay(_) | Self::Provider(_) => true,
            Self::OnOff(on_off) => on_off.is_greedy(),
            _ => false,
        }
    }

    /// Whether it writes now as soon as little enough is unsent, and not by the clock.
    pub fn is_filling(&self) -> bool {
        match self {
            Self::Greedy(greedy) => !greedy.is_finished(),
            Self::OnOff(on_off) => on_off.is_filling(),
            Self::Relay(relay) => relay.is_filling(),
            Self::Provider(provider) => provider.is_filling(),
            _ => false,
        }
    }

    /// Whether its driver calls [`end`](Self::end) when the other side has closed its half.
    pub fn ends_with_other(&self) -> bool {
        matches!(self, Self::Server(_) | Self::Caller(_))
    }

    /// Writes nothing more, except for responses to received requests.
    pub fn end(&mut self) {
        match self {
            Self::Greedy(greedy) => *greedy = Greedy::new(Some(0)),
            Self::Thin(thin) => thin.end(),
            Self::Client(client) => client.end(),
            Self::Server(server) => server.end(),
            Self::Steady(steady) => steady.end(),
            Self::OnOff(on_off) => on_off.end(),
            Self::Replay(replay) => replay.end(),
            Self::Relay(relay) => relay.end(),
            Self::Caller(caller) => caller.end(),
            Self::Provider(provider) => provider.end(),
        }
    }

    /// When [`poll_write`](Self::poll_write) must be called next by the clock; [`Instant::MAX`] for
    /// never. One that is filling is asked whenever something has been sent.
    #[inline]
    pub fn next_write(&self) -> Instant {
        match self {
            Self::Greedy(_) => Instant::MAX,
            Self::Thin(thin) => thin.next_write(),
            _ => self.next_write_of_others(),
        }
    }

    /// Bytes that the application writes now, given how many it wrote that are unsent.
    #[inline]
    pub fn poll_write(&mut self, now: Instant, unsent: u64) -> Option<u64> {
        match self {
            Self::Greedy(greedy) => greedy.poll_write(unsent),
            Self::Thin(thin) => thin.poll_write(now),
            _ => self.poll_write_of_others(now, unsent),
        }
    }

    /// The application has read `bytes` in order. Where they complete an answer, gives the instant
    /// at which the first byte of the request was written.
    #[inline]
    pub fn on_read(&mut self, now: Instant, bytes: u64) -> Option<Instant> {
        match self {
            Self::Client(client) => client.on_read(now, bytes),
            Self::Server(server) => {
                server.on_read(now, bytes);
                None
            }
            Self::Provider(provider) => {
                provider.on_read(bytes);
                None
            }
            _ => None,
        }
    }

    /// Whether everything that the application ever wanted to write is written, and every answer
    /// that it waits for is read.
    #[inline]
    pub fn is_finished(&self) -> bool {
        match self {
            Self::Greedy(greedy) => greedy.is_finished(),
            Self::Thin(_) => false,
            _ => self.is_other_finished(),
        }
    }

    // What writes for each packet or acknowledgment does not pay for those that write seldom.

    #[cold]
    fn next_write_of_others(&self) -> Instant {
        match self {
            Self::Client(client) => client.next_write(),
            Self::Server(server) => server.next_write(),
            Self::Steady(steady) => steady.next_write(),
            Self::OnOff(on_off) => on_off.next_write(),
            Self::Replay(replay) => replay.next_write(),
            Self::Caller(caller) => caller.next_write(),
            Self::Greedy(_) | Self::Thin(_) | Self::Relay(_) | Self::Provider(_) => Instant::MAX,
        }
    }

    #[cold]
    fn poll_write_of_others(&mut self, now: Instant, unsent: u64) -> Option<u64> {
        match self {
            Self::Client(client) => client.poll_write(now),
            Self::Server(server) => server.poll_write(now),
            Self::Steady(steady) => steady.poll_write(now),
            Self::OnOff(on_off) => on_off.poll_write(now, unsent),
            Self::Replay(replay) => replay.poll_write(now),
            Self::Relay(relay) => relay.poll_write(unsent),
            Self::Caller(caller) => caller.poll_write(now),
            Self::Provider(provider) => provider.poll_write(unsent),
            Self::Greedy(_) | Self::Thin(_) => None,
        }
    }

    #[cold]
    fn is_other_finished(&self) -> bool {
        match self {
            Self::Client(client) => client.is_finished(),
            Self::Server(server) => server.is_finished(),
            Self::Replay(replay) => replay.is_finished(),
            Self::Relay(relay) => relay.is_finished(),
            Self::Caller(caller) => caller.is_finished(),
            Self::Provider(provider) => provider.is_finished(),
            _ => false,
        }
    }
}

/// An application that writes datagrams: one for each write, or several for a write that is larger than one holds.
#[derive(Debug, Clone)]
pub struct Datagrams {
    application: Application,
    /// When the application begins; [`Instant::MAX`] once it has.
    start: Instant,
    /// When the application stops.
    stop: Instant,
    most_payload: u32,
    /// Bytes of the last write that are in no datagram yet.
    unsent_bytes: u64,
}

impl Datagrams {
    /// Of `application` from `start` until `stop`, [`Instant::MAX`] for never; a datagram holds at most `most_payload`
    /// bytes.
    pub fn new(
        application: Application,
        (start, stop): (Instant, Instant),
        most_payload: u32,
    ) -> Self {
        Self { application, start, stop, most_payload, unsent_bytes: 0 }
    }

    /// When there is something to do by the clock; [`Instant::MAX`] once there is nothing more.
    pub fn deadline(&self) -> Instant {
        if self.start != Instant::MAX {
            return self.start;
        }
        // At its stop it writes nothing more, which needs no separate turn.
        let next = self.application.next_write();
        if next < self.stop { next } else { Instant::MAX }
    }

    /// Payload in bytes of the next datagram that leaves now, if one does; to be asked until none does.
    ///
    /// How many there are does not depend on when it is asked: one that was due before the stop leaves after it, if
    /// the driver is late.
    pub fn poll_payload(&mut self, now: Instant) -> Option<u32> {
        if self.start <= now {
            self.application.begin(self.start);
            self.start = Instant::MAX;
        }
        if self.unsent_bytes == 0 && self.application.next_write() < self.stop {
            let last = Instant::from_nanos(self.stop.as_nanos() - 1);
            self.unsent_bytes = self.application.poll_write(now.min(last), 0).unwrap_or(0);
        }
        let payload = self.most_payload.min(u32::try_from(self.unsent_bytes).unwrap_or(u32::MAX));
        self.unsent_bytes -= u64::from(payload);
        (payload > 0).then_some(payload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BurstLength, Pace, Sampler, Thin, Write};
    use fairwind_units::{BitRate, ByteCount, Span};

    #[test]
    fn write_is_limited_to_datagram() {
        let every = Sampler::Constant(Span::from_millis(10).as_nanos());
        let application = Application::Thin(Thin::new(Sampler::Constant(250), every, 1));
        let (start, stop) = (Instant::from_millis(5), Instant::from_millis(25));
        let mut datagrams = Datagrams::new(application, (start, stop), 100);
        assert_eq!(datagrams.poll_payload(Instant::ZERO), None);
        for milliseconds in [5, 15] {
            let now = Instant::from_millis(milliseconds);
            assert_eq!(datagrams.deadline(), now);
            let payloads: Vec<_> = std::iter::from_fn(|| datagrams.poll_payload(now)).collect();
            assert_eq!(payloads, [100, 100, 50]);
        }
        assert_eq!(datagrams.deadline(), Instant::MAX);
        assert_eq!(datagrams.poll_payload(stop), None);
    }

    /// The writes at 5, 15 and 25 ms are due before the stop at 26 ms.
    #[test]
    fn late_driver_sends_what_was_due_before_stop() {
        let interval = Span::from_millis(10);
        let every = Sampler::Constant(interval.as_nanos());
        let write = |number: u64| Write { after: interval * number, bytes: 100 };
        let pace = Pace::new(100, ByteCount::new(100), BitRate::from_bits_per_second(80_000));
        let silence = Sampler::Constant(1);
        let bursts = |length| OnOff::new(length, silence.clone(), Some(pace), 1);
        let applications = [
            Application::Thin(Thin::new(Sampler::Constant(100), every, 1)),
            Application::Steady(Box::new(Steady::new(pace))),
            Application::Replay(Box::new(Replay::new((0..4).map(write).collect()))),
            Application::OnOff(Box::new(bursts(BurstLength::Volume(Sampler::Constant(400))))),
            Application::OnOff(Box::new(bursts(BurstLength::Time(Sampler::Constant(
                (interval * 4).as_nanos(),
            ))))),
        ];
        let (start, stop) = (Instant::from_millis(5), Instant::from_millis(26));
        for application in applications {
            for late in [0, 8, 30] {
                let mut datagrams = Datagrams::new(application.clone(), (start, stop), 100);
                let mut sent = 0;
                while datagrams.deadline() < Instant::MAX {
                    let now = datagrams.deadline() + Span::from_millis(late);
                    sent += std::iter::from_fn(|| datagrams.poll_payload(now)).count();
                }
                assert_eq!(sent, 3, "{late} ms late: {application:?}");
            }
        }
    }
}
