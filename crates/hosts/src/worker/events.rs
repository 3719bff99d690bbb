//! Events on their way to the parent, the clock of the run, and the lateness of writes.
//!
//! How late applications wrote that were due at an instant.

use crate::protocol::{EventBatch, EventKind, FromHost, HostEvent, HostStatistics, append_frame};
use fairwind_linux::{Clock as _, MonotonicClock, Poll};
use fairwind_units::{Instant, Span};
use hdrhistogram::Histogram;
use std::io::{ErrorKind, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

/// Events of a batch at most.
const BATCH_EVENTS: usize = 1024;
/// Timeout for sending the last message.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// The run's clock: the machine's less its origin.
#[derive(Debug)]
pub(super) struct Clock {
    origin: Instant,
    machine: MonotonicClock,
}

impl Clock {
    pub(super) fn new(origin: Instant, machine: MonotonicClock) -> Self {
        Self { origin, machine }
    }

    /// Time since the origin; zero before it.
    pub(super) fn now(&self) -> Instant {
        Instant::ZERO + self.machine.now().saturating_since(self.origin)
    }

    /// Whether the origin has come.
    pub(super) fn has_begun(&self) -> bool {
        self.machine.now() >= self.origin
    }

    /// Waits until descriptors are ready, at most until `due` and for `longest`; returns how many are.
    /// Right also before the origin.
    pub(super) fn wait(&self, poll: &mut Poll, due: Instant, longest: Span) -> usize {
        let due = self.origin + due.since_origin();
        let ready = poll.wait(due.saturating_since(self.machine.now()).min(longest));
        self.machine.note_wait();
        ready
    }
}

/// Events on their way to the parent. A slow parent never holds the host up: what the socket does
/// not take is kept.
#[derive(Debug)]
pub(super) struct EventSender {
    socket: Arc<UnixStream>,
    pub(super) clock: Clock,
    events: Vec<HostEvent>,
    unsent: Vec<u8>,
    next_flush: Instant,
    /// The parent hears at least this often how far the host is.
    interval: Span,
}

impl EventSender {
    /// Over a socket that does not block.
    pub(super) fn new(socket: Arc<UnixStream>, clock: Clock, interval: Span) -> Self {
        let next_flush = clock.now() + interval;
        Self { socket, clock, events: Vec::new(), unsent: Vec::new(), next_flush, interval }
    }

    /// The run's time.
    pub(super) fn now(&self) -> Instant {
        self.clock.now()
    }

    /// Reports an event. `at` was read from the clock after all instants reported before.
    pub(super) fn report(&mut self, at: Instant, flow: u32, kind: EventKind) {
        self.events.push(HostEvent { at, flow, kind });
        if self.events.len() >= BATCH_EVENTS {
            self.flush();
        }
    }

    /// When the parent receives from this host next.
    pub(super) fn next_flush(&self) -> Instant {
        self.next_flush
    }

    /// Sends what there is, and how far the clock has come.
    pub(super) fn flush(&mut self) {
        let watermark = self.clock.now();
        self.next_flush = watermark + self.interval;
        let batch = EventBatch { watermark, events: std::mem::take(&mut self.events) };
        let message = FromHost::Events(batch);
        append_frame(&message, &mut self.unsent);
        // The room of the events serves again.
        if let FromHost::Events(mut batch) = message {
            batch.events.clear();
            self.events = batch.events;
        }
        self.send();
    }

    fn send(&mut self) {
        let mut sent = 0;
        while sent < self.unsent.len() {
            match (&*self.socket).write(&self.unsent[sent..]) {
                Ok(bytes) => sent += bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // There is room again later; or the parent has gone, which reading will show.
                Err(_) => break,
            }
        }
        self.unsent.drain(..sent);
    }

    /// Sends everything, with a last message, and waits until the socket has taken it.
    pub(super) fn finish(mut self, last: &FromHost) -> std::io::Result<()> {
        self.flush();
        append_frame(&last, &mut self.unsent);
        self.send_all()
    }

    /// Sends the rest of a partial message, so that the next message on the socket can be parsed.
    /// An error does not matter: the parent has stopped reading.
    pub(super) fn give_up(mut self) {
        let _ = self.send_all();
    }

    fn send_all(&mut self) -> std::io::Result<()> {
        self.socket.set_nonblocking(false)?;
        self.socket.set_write_timeout(Some(WRITE_TIMEOUT))?;
        (&*self.socket).write_all(&self.unsent)
    }
}

/// The writes that were due at an instant, by their lateness.
#[derive(Debug)]
pub(super) struct Lateness {
    nanoseconds: Histogram<u64>,
}

impl Default for Lateness {
    fn default() -> Self {
        // Two digits: a hundredth of the value.
        Self { nanoseconds: Histogram::new(2).expect("two digits are allowed") }
    }
}

impl Lateness {
    pub(super) fn record(&mut self, lateness: Span) {
        // It grows as far as is needed, which fails for no number of 64 bits.
        let _ = self.nanoseconds.record(lateness.as_nanos());
    }

    /// Fills in what is known of it.
    pub(super) fn fill_in(&self, statistics: &mut HostStatistics) {
        statistics.timed_writes = self.nanoseconds.len();
        statistics.mean_lateness = Span::from_secs_f64(self.nanoseconds.mean() / 1e9);
        statistics.p99_lateness = Span::from_nanos(self.nanoseconds.value_at_quantile(0.99));
        statistics.greatest_lateness = Span::from_nanos(self.nanoseconds.max());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::take_frame;
    use std::io::Read as _;

    #[test]
    fn message_after_give_up_is_parsed() {
        let (host, mut parent) = UnixStream::pair().expect("sockets");
        host.set_nonblocking(true).expect("an option");
        let host = Arc::new(host);
        let machine = MonotonicClock::default();
        let clock = Clock::new(machine.now(), machine);
        let mut events = EventSender::new(host.clone(), clock, Span::from_millis(10));
        while events.unsent.is_empty() {
            events.report(events.now(), 0, EventKind::Established);
        }
        let reading = std::thread::spawn(move || {
            let mut heard = Vec::new();
            parent.read_to_end(&mut heard).map(|_| heard)
        });
        events.give_up();
        let failure = FromHost::Failed("no more files".to_owned());
        let mut last = Vec::new();
        append_frame(&failure, &mut last);
        (&*host).write_all(&last).expect("somebody reads");
        drop(host);
        let heard = reading.join().expect("no panic").expect("bytes");
        let (mut rest, mut messages) = (heard.as_slice(), Vec::new());
        while let Some((message, length)) = take_frame::<FromHost>(rest).expect("whole frames") {
            rest = &rest[length..];
            messages.push(message);
        }
        assert_eq!((messages.pop(), rest.len()), (Some(failure), 0));
    }

    #[test]
    fn lateness_has_one_percent_precision() {
        let mut lateness = Lateness::default();
        for _ in 0..199 {
            lateness.record(Span::from_micros(50));
        }
        lateness.record(Span::from_secs(2));
        let mut statistics = HostStatistics::default();
        lateness.fill_in(&mut statistics);
        let near = |span: Span, wanted: u64| span.as_nanos().abs_diff(wanted) <= wanted / 100;
        assert_eq!(statistics.timed_writes, 200);
        assert!(near(statistics.p99_lateness, 50_000), "{statistics:?}");
        assert!(near(statistics.greatest_lateness, 2_000_000_000), "{statistics:?}");
        assert!(near(statistics.mean_lateness, 10_049_750), "{statistics:?}");
    }
}
