//! COBALT: CoDel for those that respond, and BLUE for those that do not.
//!
//! Source: Palmei, Gupta, Imputato and others, "Design and Evaluation of COBALT Queue Discipline", 2019, and
//! Høiland-Jørgensen, Täht and Morton, "Piece of CAKE", 2018. Unlike RFC 8289 the count is not forgotten when the
//! waiting time falls below the target: it is taken back step by step, at the instants at which it would have dropped.
//! The kernel takes a count back when it happens to look at an empty flow; here it is reckoned from the time that has
//! passed, so that it does not matter how often somebody looks.

use super::super::codel::control_law;
use super::super::{QueueActions, QueuedPacket};
use fairwind_units::{Instant, Span};
use rand::RngExt as _;
use rand_pcg::Pcg32;

/// So many packets' time a packet may wait whatever the target is: with fewer there is no standing queue. Only shapers of
/// incoming packets (`ingress`) multiply it by the number of flows.
const SPARED_PACKETS: u64 = 4;
/// By how much BLUE's probability rises when the queue is full, and falls while the flow has nothing, of 2^32.
const RISE: u32 = 1 << 24;
const FALL: u32 = 1 << 20;

/// What it was told.
#[derive(Debug, Clone, Copy)]
pub(super) struct CobaltSettings {
    pub(super) target: Span,
    pub(super) interval: Span,
    /// Time of a full packet at the rate.
    pub(super) packet_time: Span,
}

/// The state of one flow.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cobalt {
    count: u32,
    /// When the next packet is to be dropped; where there is no count, until when the flow is remembered.
    drop_next: Instant,
    is_dropping: bool,
    /// BLUE's probability, of 2^32.
    probability: u32,
    /// When it last changed.
    changed: Instant,
    /// Since when the flow has had nothing.
    empty_since: Option<Instant>,
}

impl Cobalt {
    /// The flow gave up a packet for want of room.
    pub(super) fn on_overflow(&mut self, now: Instant, settings: &CobaltSettings) {
        if now.saturating_since(self.changed) > settings.target {
            self.probability = self.probability.saturating_add(RISE);
            self.changed = now;
        }
        self.is_dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// The flow has nothing any more.
    pub(super) fn on_empty(&mut self, now: Instant) {
        self.is_dropping = false;
        self.empty_since = Some(now);
    }

    /// Does what was due while the flow had nothing.
    pub(super) fn catch_up(&mut self, now: Instant, settings: &CobaltSettings) {
        let Some(since) = self.empty_since else { return };
        self.take_back(now, settings);
        let begin = since.max(self.changed);
        let target = settings.target.as_nanos().max(1);
        let steps = now.saturating_since(begin).as_nanos() / target;
        if steps > 0 && self.probability > 0 {
            let falls = u32::try_from(steps).unwrap_or(u32::MAX).saturating_mul(FALL);
            self.probability = self.probability.saturating_sub(falls);
            self.changed = begin + settings.target * steps;
        }
    }

    /// A packet has come.
    pub(super) fn on_arrival(&mut self, now: Instant, settings: &CobaltSettings) {
        self.catch_up(now, settings);
        self.empty_since = None;
    }

    /// Whether nothing is to be remembered of an empty flow.
    pub(super) fn is_at_rest(&self, now: Instant) -> bool {
        self.count == 0 && self.probability == 0 && now >= self.drop_next
    }

    /// Whether a packet that leaves is to be dropped instead; it may be marked in its place.
    pub(super) fn should_drop(
        &mut self,
        now: Instant,
        waiting: &mut QueuedPacket,
        settings: &CobaltSettings,
        generator: &mut Pcg32,
        effects: &mut QueueActions,
    ) -> bool {
        let sojourn = waiting.sojourn(now);
        let is_due = self.count > 0 && now >= self.drop_next;
        if sojourn <= settings.target || sojourn <= settings.packet_time * SPARED_PACKETS {
            self.is_dropping = false;
        } else {
            if !self.is_dropping {
                self.is_dropping = true;
                self.drop_next = now + control_law(settings.interval, self.count);
            }
            self.count = self.count.max(1);
        }
        let mut is_dropped = false;
        if is_due && self.is_dropping {
            is_dropped = !effects.mark(waiting);
            self.count = self.count.saturating_add(1);
            self.drop_next += control_law(settings.interval, self.count);
        } else if is_due {
            self.take_back(now, settings);
        }
        // BLUE drops what could be marked, too: it is there for those that do not respond.
        is_dropped |= self.probability > 0 && generator.random::<u32>() < self.probability;
        if self.count == 0 {
            self.drop_next = now + settings.interval;
        } else if !is_dropped && self.drop_next < now {
            self.drop_next = now;
        }
        is_dropped
    }

    /// Takes the count back by one for each drop that was due and not needed.
    fn take_back(&mut self, now: Instant, settings: &CobaltSettings) {
        while self.count > 0 && now >= self.drop_next {
            self.count -= 1;
            self.drop_next += control_law(settings.interval, self.count);
        }
    }
}
