//! An application that writes little, and seldom.

use crate::sampler::Sampler;
use fairwind_units::{Instant, Span};
use rand::SeedableRng as _;
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};

/// Writes a small message at intervals that do not depend on the network: games, telephony,
/// remote terminals.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Thin {
    payload: Sampler,
    interval: Sampler,
    random: Pcg64Mcg,
    next: Instant,
}

impl Thin {
    /// An application that draws payloads in bytes and intervals in nanoseconds.
    pub fn new(payload: Sampler, interval: Sampler, seed: u64) -> Self {
        Self { payload, interval, random: Pcg64Mcg::seed_from_u64(seed), next: Instant::MAX }
    }

    pub(crate) fn seed(&mut self, seed: u64) {
        self.random = Pcg64Mcg::seed_from_u64(seed);
    }

    pub(crate) fn begin(&mut self, now: Instant) {
        self.next = now;
    }

    pub(crate) fn end(&mut self) {
        self.next = Instant::MAX;
    }

    pub(crate) fn next_write(&self) -> Instant {
        self.next
    }

    /// The message that is due at `now`; the next is due an interval after this one was.
    pub(crate) fn poll_write(&mut self, now: Instant) -> Option<u64> {
        if self.next > now {
            return None;
        }
        let bytes = self.payload.draw(&mut self.random);
        self.next += Span::from_nanos(self.interval.draw(&mut self.random));
        Some(bytes)
    }
}
