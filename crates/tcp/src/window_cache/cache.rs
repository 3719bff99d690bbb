//! The host's end: what opens, tells and ends goes through here to the policy.

use super::careful::CarefulResume;
use super::classic::Classic;
use super::interdependence::ControlBlocks;
use super::lesson::{Advice, Lesson, Unused};
use super::metrics::Metrics;
use super::{
    Collection, ConnectionId, Moment, Opener, Opening, Openings, Policy, PolicyConfig, Remembered,
    Share, Sharing,
};
use fairwind_units::Instant;
use std::net::IpAddr;

/// A host's memory of its connections.
#[derive(Debug)]
pub struct WindowCache {
    policy: Box<dyn Policy>,
    openings: Openings,
    collection: Collection,
    is_capturing: bool,
}

impl WindowCache {
    /// An empty memory that captures.
    pub fn new(settings: &Sharing) -> Self {
        let policy: Box<dyn Policy> = match &settings.policy {
            PolicyConfig::Classic(classic) => Box::new(Classic::new(settings, classic.clone())),
            PolicyConfig::Interdependence(shared) => {
                Box::new(ControlBlocks::new(settings, shared.clone()))
            }
            PolicyConfig::Metrics(metrics) => Box::new(Metrics::new(settings, *metrics)),
            PolicyConfig::CarefulResume(careful) => {
                Box::new(CarefulResume::new(settings, careful.clone()))
            }
        };
        Self::with_policy(settings, policy)
    }

    /// The same with a policy of one's own.
    pub fn with_policy(settings: &Sharing, policy: Box<dyn Policy>) -> Self {
        let Sharing { openings, collection, .. } = *settings;
        Self { policy, openings, collection, is_capturing: true }
    }

    /// Remembers from now on, and uses what is remembered (the report's magic address `cs1`).
    pub fn start(&mut self) {
        self.is_capturing = true;
    }

    /// Remembers nothing any longer, and forgets all (the report's `cs2`, which frees the list).
    pub fn stop(&mut self) {
        self.is_capturing = false;
        self.policy.clear();
    }

    /// Whether windows are remembered and used.
    pub fn is_capturing(&self) -> bool {
        self.is_capturing
    }

    /// Open connections to `peer` whose lessons are wanted, as samples, before
    /// [`on_opening`](Self::on_opening).
    pub fn companions(&self, peer: IpAddr) -> Vec<ConnectionId> {
        self.policy.companions(peer)
    }

    /// What a connection is to begin with, or why not with what is remembered. Afterwards, drain
    /// [`poll_share`](Self::poll_share).
    ///
    /// # Errors
    /// Nothing that is remembered fits the connection, which is no failure.
    pub fn on_opening(&mut self, opening: &Opening) -> Result<Advice, Unused> {
        if self.serves(opening.opener) {
            self.policy.advise(opening)
        } else {
            Err(Unused::NotServed)
        }
    }

    /// Whether connections that are opened by `opener` are told what is remembered.
    fn serves(&self, opener: Opener) -> bool {
        self.is_capturing && (self.openings == Openings::All || opener == Opener::Peer)
    }

    /// The next window that another open connection is to have.
    pub fn poll_share(&mut self) -> Option<Share> {
        self.policy.poll_share()
    }

    /// A connection tells what it has found out.
    pub fn on_lesson(&mut self, now: Instant, peer: IpAddr, lesson: &Lesson, moment: Moment) {
        let is_wanted = match moment {
            Moment::Sampled => true,
            Moment::Closed => self.collection == Collection::Close,
            Moment::Ended => self.collection == Collection::End,
        };
        if self.is_capturing && is_wanted {
            self.policy.learn(now, peer, lesson, moment);
        }
    }

    /// A connection does not use what it was advised any longer, because that was wrong where `failed`.
    pub fn on_release(&mut self, peer: IpAddr, connection: ConnectionId, failed: bool) {
        self.policy.release(peer, connection, failed);
    }

    /// A connection is over, whatever the reason.
    pub fn on_over(&mut self, peer: IpAddr, connection: ConnectionId) {
        self.policy.release(peer, connection, false);
        self.policy.leave(peer, connection);
    }

    /// What is remembered of one peer, even if it is outdated; this is no look-up, and deletes nothing.
    pub fn known(&self, peer: IpAddr, now: Instant) -> Option<Remembered> {
        self.policy.known(peer, now)
    }

    /// All that is remembered, by address (the report's `/proc/project`).
    pub fn list(&self, now: Instant) -> Vec<Remembered> {
        self.policy.list(now)
    }

    /// How many peers are remembered, outdated ones included.
    pub fn len(&self) -> usize {
        self.policy.len()
    }

    /// Whether nothing is remembered.
    pub fn is_empty(&self) -> bool {
        self.policy.is_empty()
    }
}
