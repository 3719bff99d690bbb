//! One transfer per connection: the side that is called sends so many bytes and closes; the side that calls reads until
//! then.
//!
//! Source: the programs `httpsims` and `httpsimc` of *Aggregating Congestion Information Over Sequences of TCP
//! Connections* (Boston University, BUCS-1998-001, §4), which are to the network what a server and a client of HTTP/1.0
//! are. There the server begins as soon as it is called; with a request it waits for that, as HTTP does.

use crate::greedy::Greedy;
use crate::sampler::Sampler;
use fairwind_units::Instant;
use rand::SeedableRng as _;
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};

/// What both sides of a transfer know before it begins; with the same seed they draw the same.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Transfer {
    /// Bytes of the request; zero for none.
    request: Sampler,
    /// Bytes that the server sends.
    volume: Sampler,
    random: Pcg64Mcg,
}

impl Transfer {
    /// A transfer of `volume` bytes upon a request of `request` bytes; where these are zero, upon the call.
    pub fn new(request: Sampler, volume: Sampler, seed: u64) -> Self {
        Self { request, volume, random: Pcg64Mcg::seed_from_u64(seed) }
    }

    fn seed(&mut self, seed: u64) {
        self.random = Pcg64Mcg::seed_from_u64(seed);
    }

    /// Bytes of the request and of what is sent upon it.
    fn draw(&mut self) -> (u64, u64) {
        let request = self.request.draw_count(&mut self.random);
        (request, self.volume.draw(&mut self.random))
    }
}

/// The side that calls: it asks where there is a request, and reads to the end.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Caller {
    transfer: Transfer,
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

    pub(crate) fn seed(&mut self, seed: u64) {
        self.transfer.seed(seed);
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
    transfer: Transfer,
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

    pub(crate) fn seed(&mut self, seed: u64) {
        self.transfer.seed(seed);
    }

    pub(crate) fn begin(&mut self) {
        if self.sends.is_none() {
            self.draw();
        }
    }

    /// Finds out what is to be asked for and sent: at the latest when something is read, which may be before the
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

    /// Nothing more is written.
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
