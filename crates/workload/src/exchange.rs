//! Requests and responses: one side asks, the other answers, in turn.
//!
//! Both sides draw the same exchanges from the same seed, so each knows how many bytes to expect and
//! no byte's value matters: bytes are counted on real sockets as in the simulator.
//!
//! A transfer is an exchange on a separate connection: the server sends so many bytes and closes. Source:
//! the programs `httpsims` and `httpsimc` of *Aggregating Congestion Information Over Sequences of TCP Connections*
//! (Boston University, BUCS-1998-001, §4), which are to the network what a server and a client of HTTP/1.0 are. There the
//! server begins as soon as it is called; with a request it waits for that, as HTTP does.

use crate::sampler::Sampler;
use crate::senders::Greedy;
use fairwind_units::{Instant, Span};
use rand::{Rng, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};

/// The exchanges of one connection, drawn one after the other.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Exchanges {
    /// Bytes of a request.
    request: Sampler,
    /// Bytes of a response.
    response: Sampler,
    /// Nanoseconds from the end of a request to its response.
    think_time: Sampler,
    /// Nanoseconds from the end of a response to the next request.
    pause: Sampler,
    /// If responses are the objects of pages: the draws instead of response and pause.
    pages: Option<Box<(Pages, Place)>>,
    /// How many exchanges, or pages, are left; `None` for endless.
    left: Option<u64>,
    pub(crate) random: Pcg64Mcg,
}

/// One of them.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Exchange {
    request_bytes: u64,
    response_bytes: u64,
    think_time: Span,
    pause: Span,
}

impl Exchanges {
    /// Endless exchanges of these sizes in bytes and times in nanoseconds, without a pause between them.
    pub fn new(request: Sampler, response: Sampler, seed: u64) -> Self {
        Self {
            request,
            response,
            think_time: Sampler::Constant(0),
            pause: Sampler::Constant(0),
            pages: None,
            left: None,
            random: Pcg64Mcg::seed_from_u64(seed),
        }
    }

    /// Endless requests of this size in bytes, answered at once by the objects of pages.
    pub fn of_pages(request: Sampler, pages: Pages, seed: u64) -> Self {
        let pages = Some(Box::new((pages, Place::default())));
        Self { pages, ..Self::new(request, Sampler::Constant(1), seed) }
    }

    /// The same, with the time that the answering side takes, and that between a response and the
    /// next request, in nanoseconds; both may be zero.
    #[must_use]
    pub fn with_times(self, think_time: Sampler, pause: Sampler) -> Self {
        Self { think_time, pause, ..self }
    }

    /// The same, with a limit of exchanges, or pages.
    #[must_use]
    pub fn limited_to(self, exchanges: u64) -> Self {
        Self { left: Some(exchanges), ..self }
    }

    fn is_exhausted(&self) -> bool {
        self.left == Some(0)
    }

    fn draw(&mut self) -> Exchange {
        let random = &mut self.random;
        let request_bytes = self.request.draw(random);
        let Some(pages) = &mut self.pages else {
            let exchange = Exchange {
                request_bytes,
                response_bytes: self.response.draw(random),
                think_time: Span::from_nanos(self.think_time.draw_time(random)),
                pause: Span::from_nanos(self.pause.draw_time(random)),
            };
            self.count_one();
            return exchange;
        };
        let (pages, place) = &mut **pages;
        let object = pages.draw(place, random);
        if object.ends_page {
            self.count_one();
        }
        Exchange {
            request_bytes,
            response_bytes: object.bytes,
            think_time: Span::ZERO,
            pause: object.pause,
        }
    }

    fn count_one(&mut self) {
        if let Some(left) = &mut self.left {
            *left = left.saturating_sub(1);
        }
    }
}

/// The side that asks: writes a request, reads the response, pauses, and asks again.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Client {
    pub(crate) exchanges: Exchanges,
    /// When the next request is written; [`Instant::MAX`] while there is none to write.
    due: Instant,
    awaited: Option<PendingResponse>,
    has_ended: bool,
}

/// A response under way.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct PendingResponse {
    asked: Instant,
    remaining_bytes: u64,
    pause: Span,
}

impl Client {
    /// The asking side of `exchanges`.
    pub fn new(exchanges: Exchanges) -> Self {
        Self { exchanges, due: Instant::MAX, awaited: None, has_ended: false }
    }

    pub(crate) fn begin(&mut self, now: Instant) {
        if !self.exchanges.is_exhausted() {
            self.due = now;
        }
    }

    /// Nothing more is asked; a response under way is still read.
    pub(crate) fn end(&mut self) {
        self.due = Instant::MAX;
        self.has_ended = true;
    }

    pub(crate) fn next_write(&self) -> Instant {
        self.due
    }

    pub(crate) fn poll_write(&mut self, now: Instant) -> Option<u64> {
        if self.due > now {
            return None;
        }
        self.due = Instant::MAX;
        let exchange = self.exchanges.draw();
        self.awaited = Some(PendingResponse {
            asked: now,
            remaining_bytes: exchange.response_bytes,
            pause: exchange.pause,
        });
        Some(exchange.request_bytes)
    }

    pub(crate) fn on_read(&mut self, now: Instant, bytes: u64) -> Option<Instant> {
        let awaited = self.awaited.as_mut()?;
        awaited.remaining_bytes = awaited.remaining_bytes.saturating_sub(bytes);
        if awaited.remaining_bytes > 0 {
            return None;
        }
        let PendingResponse { asked, pause, .. } = self.awaited.take()?;
        if !self.has_ended && !self.exchanges.is_exhausted() {
            self.due = now + pause;
        }
        Some(asked)
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.awaited.is_none() && (self.has_ended || self.exchanges.is_exhausted())
    }
}

/// The side that answers: reads a request, thinks, and writes the response.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Server {
    pub(crate) exchanges: Exchanges,
    /// The request that is being read, or answered.
    current: Option<Current>,
    /// When the response is written; [`Instant::MAX`] while there is none to write.
    due: Instant,
    has_ended: bool,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Current {
    exchange: Exchange,
    unread_bytes: u64,
}

impl Server {
    /// The answering side of `exchanges`.
    pub fn new(exchanges: Exchanges) -> Self {
        Self { exchanges, current: None, due: Instant::MAX, has_ended: false }
    }

    /// The other side sends no more requests; received ones are still answered.
    pub(crate) fn end(&mut self) {
        self.has_ended = true;
    }

    pub(crate) fn next_write(&self) -> Instant {
        self.due
    }

    pub(crate) fn poll_write(&mut self, now: Instant) -> Option<u64> {
        if self.due > now {
            return None;
        }
        self.due = Instant::MAX;
        self.current.take().map(|current| current.exchange.response_bytes)
    }

    pub(crate) fn on_read(&mut self, now: Instant, bytes: u64) {
        let exchanges = &mut self.exchanges;
        let current = self.current.get_or_insert_with(|| {
            let exchange = exchanges.draw();
            Current { exchange, unread_bytes: exchange.request_bytes }
        });
        current.unread_bytes = current.unread_bytes.saturating_sub(bytes);
        if current.unread_bytes == 0 && self.due == Instant::MAX {
            self.due = now + current.exchange.think_time;
        }
    }

    /// Whether the other side asks nothing more, and has its answers but for a request that it
    /// has not sent whole.
    pub(crate) fn is_finished(&self) -> bool {
        self.has_ended && self.due == Instant::MAX
    }
}

/// The pages of one connection, drawn one after the other; sizes in bytes, times in nanoseconds.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Pages {
    /// Size of a page's main object.
    pub main: Sampler,
    /// How many objects are embedded in it; there may be none.
    pub embedded_objects: Sampler,
    /// Size of an embedded object.
    pub embedded: Sampler,
    /// Time from a main object to the first embedded one: the browser reads it.
    pub parsing: Sampler,
    /// Time from the last object of a page to the next page: the person reads it.
    pub reading: Sampler,
}

/// Where in a page a browser is.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Place {
    /// Embedded objects that are still to be asked for.
    embedded_left: u64,
}

/// The next response, and what follows it.
struct Object {
    bytes: u64,
    pause: Span,
    ends_page: bool,
}

impl Pages {
    fn draw(&self, place: &mut Place, random: &mut impl Rng) -> Object {
        let is_main = place.embedded_left == 0;
        let bytes = if is_main {
            let bytes = self.main.draw(random);
            place.embedded_left = self.embedded_objects.draw_count(random);
            bytes
        } else {
            place.embedded_left -= 1;
            self.embedded.draw(random)
        };
        let ends_page = place.embedded_left == 0;
        let pause = if ends_page {
            self.reading.draw_time(random)
        } else if is_main {
            self.parsing.draw_time(random)
        } else {
            0
        };
        Object { bytes, pause: Span::from_nanos(pause), ends_page }
    }
}

/// What both sides of a transfer know before it begins; with the same seed they draw the same.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Transfer {
    /// Bytes of the request; zero for none.
    request: Sampler,
    /// Bytes that the server sends.
    volume: Sampler,
    pub(crate) random: Pcg64Mcg,
}

impl Transfer {
    /// A transfer of `volume` bytes upon a request of `request` bytes; where these are zero, upon the call.
    pub fn new(request: Sampler, volume: Sampler, seed: u64) -> Self {
        Self { request, volume, random: Pcg64Mcg::seed_from_u64(seed) }
    }

    /// Bytes of the request and of the response.
    fn draw(&mut self) -> (u64, u64) {
        let request = self.request.draw_count(&mut self.random);
        (request, self.volume.draw(&mut self.random))
    }
}

/// The side that calls: it asks where there is a request, and reads to the end.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Caller {
    pub(crate) transfer: Transfer,
    /// When the request is written; [`Instant::MAX`] where there is none to write.
    due: Instant,
    request_bytes: u64,
    has_ended: bool,
}

impl Caller {
    /// The calling side of `transfer`.
    pub fn new(transfer: Transfer) -> Self {
        Self { transfer, due: Instant::MAX, request_bytes: 0, has_ended: false }
    }

    pub(crate) fn begin(&mut self, now: Instant) {
        (self.request_bytes, _) = self.transfer.draw();
        if self.request_bytes > 0 {
            self.due = now;
        }
    }

    /// The other side has closed, or nothing more is wanted.
    pub(crate) fn end(&mut self) {
        self.due = Instant::MAX;
        self.has_ended = true;
    }

    pub(crate) fn next_write(&self) -> Instant {
        self.due
    }

    pub(crate) fn poll_write(&mut self, now: Instant) -> Option<u64> {
        if self.due > now {
            return None;
        }
        self.due = Instant::MAX;
        Some(self.request_bytes)
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.has_ended
    }
}

/// The side that is called: it sends, and closes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Provider {
    pub(crate) transfer: Transfer,
    /// Bytes of the request that have not come.
    unread_bytes: u64,
    /// What is sent, once it is known.
    sends: Option<Greedy>,
}

impl Provider {
    /// The called side of `transfer`.
    pub fn new(transfer: Transfer) -> Self {
        Self { transfer, unread_bytes: 0, sends: None }
    }

    pub(crate) fn begin(&mut self) {
        if self.sends.is_none() {
            self.draw();
        }
    }

    /// Determines the requests and responses: at the latest when something is read, which may be before the
    /// connection is known to be open, where the handshake's last packet is lost or late.
    fn draw(&mut self) {
        let (request_bytes, volume) = self.transfer.draw();
        self.unread_bytes = request_bytes;
        let mut sends = Greedy::new(Some(volume));
        if request_bytes == 0 {
            sends.begin();
        }
        self.sends = Some(sends);
    }

    pub(crate) fn end(&mut self) {
        self.sends = Some(Greedy::new(Some(0)));
    }

    pub(crate) fn on_read(&mut self, bytes: u64) {
        self.begin();
        let was_waiting = self.unread_bytes > 0;
        self.unread_bytes = self.unread_bytes.saturating_sub(bytes);
        if was_waiting
            && self.unread_bytes == 0
            && let Some(sends) = &mut self.sends
        {
            sends.begin();
        }
    }

    pub(crate) fn poll_write(&mut self, unsent: u64) -> Option<u64> {
        self.sends.as_mut()?.poll_write(unsent)
    }

    /// Whether it writes whenever there is room.
    pub(crate) fn is_filling(&self) -> bool {
        self.unread_bytes == 0 && self.sends.is_some() && !self.is_finished()
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.sends.as_ref().is_some_and(Greedy::is_finished)
    }
}
