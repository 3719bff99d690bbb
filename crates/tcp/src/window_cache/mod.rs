//! What a host remembers of its connections, for the next ones to the same peer.
//!
//! A [`WindowCache`] belongs to a host. Its driver tells it of connections that open, close and end, and
//! hands on what it advises to them; connections do not know it. How that is decided is a [`Policy`]:
//!
//! | module | policy | source |
//! |---|---|---|
//! | `classic` | a list of peers with their largest windows | Hartmann and Bestavros, BU technical report 1998-001 |
//! | `interdependence` | round trip, threshold and window, over time and among open connections | RFC 9040 |
//! | `metrics` | first time-out, reordering, and where asked for the threshold | Linux `tcp_metrics.c` |
//! | `careful` | half of a saved window, paced and with a way back | RFC 9959 |
//!
//! Further modules: `settings` (what is configured), `entries` (a bounded list of peers), `cache` (the host's
//! end), `lesson` (what connections report, and the advice).
//!
//! **The driver's part.** A connection whose behaviour says [`Growth::shares`](crate::Growth::shares) tells of
//! the peer's SYN ([`Event::PeerAsks`](crate::Event::PeerAsks)), of being closed
//! ([`Event::Closing`](crate::Event::Closing)), of the end of all that it sent
//! ([`Event::AllAcknowledged`](crate::Event::AllAcknowledged)) and of its phase
//! ([`Event::Resumption`](crate::Event::Resumption)). At the first, or before it sends a SYN of its own, the
//! driver asks [`WindowCache::on_opening`] and hands the advice, if there is any, to
//! [`Connection::advise`](crate::Connection::advise); why a connection that is open did not follow it says
//! [`Connection::why_unused`](crate::Connection::why_unused). At the second and third it hands
//! [`Connection::lesson`](crate::Connection::lesson) to [`WindowCache::on_lesson`].
//!
//! Cost: a look-up and an update are logarithmic in the number of peers; memory is bounded by
//! [`Sharing::entries`].

mod cache;
mod careful;
mod classic;
mod entries;
mod interdependence;
mod lesson;
mod metrics;
mod settings;
#[cfg(test)]
mod testing;

pub use crate::sender::congestion::resumption::{Resumption, ResumptionEnd, ResumptionPhase};
pub use cache::WindowCache;
pub use lesson::{Advice, Lesson, TimeoutSeed, Unused};
pub use settings::{
    CarefulResumeConfig, ClassicConfig, Collection, Interdependence, MetricsConfig, Openings,
    PolicyConfig, Sharing, Trust,
};

use fairwind_units::{Instant, Span};
use std::fmt::Debug;
use std::net::IpAddr;

/// A connection as its host tells it from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u64);

/// Who opens a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opener {
    /// The peer: the connection is incoming.
    Peer,
    /// This host.
    Host,
}

/// A connection that is about to be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opening {
    /// When.
    pub now: Instant,
    /// With whom.
    pub peer: IpAddr,
    /// Which one it is.
    pub connection: ConnectionId,
    /// Who opens it.
    pub opener: Opener,
}

/// When a connection tells what it has found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// In between.
    Sampled,
    /// The application has closed it.
    Closed,
    /// All that it sent is acknowledged.
    Ended,
}

/// One line of the list of what is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remembered {
    /// The peer's address.
    pub peer: IpAddr,
    /// The window in segments.
    pub window: u32,
    /// How old the entry is.
    pub age: Span,
}

/// A new window for a connection that is open already, because another one to the same peer has joined it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Whose window it is.
    pub connection: ConnectionId,
    /// Segments.
    pub window: u32,
    /// Slow-start threshold in segments, where any of the connections has one.
    pub slow_start_threshold: Option<u32>,
}

/// How what connections find out is remembered and used.
pub trait Policy: Debug + Send {
    /// What a connection that opens now begins with, or why not with what is remembered.
    ///
    /// # Errors
    /// Nothing that is remembered fits the connection, which is no failure.
    fn advise(&mut self, opening: &Opening) -> Result<Advice, Unused>;

    /// A connection tells what it has found out.
    fn learn(&mut self, now: Instant, peer: IpAddr, lesson: &Lesson, moment: Moment);

    /// The connection does not use what it was advised any longer; where `failed`, that was wrong.
    fn release(&mut self, _peer: IpAddr, _connection: ConnectionId, _failed: bool) {}

    /// The connection is over.
    fn leave(&mut self, _peer: IpAddr, _connection: ConnectionId) {}

    /// Connections to `peer` that share their windows while they are open: the policy wants to learn from
    /// them before it gives advice.
    fn companions(&self, _peer: IpAddr) -> Vec<ConnectionId> {
        Vec::new()
    }

    /// The next window that an open connection is to have, after advice was given.
    fn poll_share(&mut self) -> Option<Share> {
        None
    }

    /// All that is remembered, by address.
    fn list(&self, now: Instant) -> Vec<Remembered>;

    /// What is remembered of one peer, even if it is outdated; nothing is deleted.
    fn known(&self, peer: IpAddr, now: Instant) -> Option<Remembered> {
        self.list(now).into_iter().find(|remembered| remembered.peer == peer)
    }

    /// How many peers are remembered, outdated ones included.
    fn len(&self) -> usize;

    /// Whether no peer is remembered.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets all.
    fn clear(&mut self);
}
