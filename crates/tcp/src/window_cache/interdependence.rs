//! Control blocks that depend on each other.
//!
//! Source: RFC 9040 §6 (temporal sharing) and §7 (ensemble sharing).
//!
//! Over time: a connection begins with the round trip, its variation, the threshold and the window that earlier
//! ones left; at their end what they found is merged with what is known. The RFC leaves the function open
//! (§6.2); here it is the mean of the two. The segment size is kept with them, and not used: the SYN brings it.
//!
//! At the same time: windows and thresholds act as a sum over the connections that are open to one peer (§7.2).
//! The RFC leaves open how it is divided: here each of `n` connections, the new one among them, gets an `n`th of
//! what was there, and those that were there one segment more each until nothing is left over, so that the sum stays
//! as it was; who leaves takes its share along.

use super::entries::{Entries, WhenFull};
use super::lesson::{Advice, Lesson, TimeoutSeed, Unused};
use super::{ConnectionId, Interdependence, Moment, Opening, Policy, Remembered, Share, Sharing};
use fairwind_units::{Instant, Span};
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

/// What is kept of connections that have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Kept {
    rtt: Option<Span>,
    rtt_variation: Span,
    threshold: Option<u32>,
    window: u32,
}

/// What an open connection has at present.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Member {
    window: u32,
    threshold: Option<u32>,
    rtt: Option<Span>,
    rtt_variation: Span,
}

/// The blocks of a host.
#[derive(Debug)]
pub(super) struct ControlBlocks {
    kept: Entries<Kept>,
    open: BTreeMap<IpAddr, BTreeMap<ConnectionId, Option<Member>>>,
    shares: VecDeque<Share>,
    config: Interdependence,
}

fn mean(left: u32, right: u32) -> u32 {
    u32::midpoint(left, right)
}

fn mean_of_spans(left: Span, right: Span) -> Span {
    (left + right) / 2
}

impl Kept {
    fn of(lesson: &Lesson) -> Self {
        Self {
            rtt: lesson.smoothed_rtt,
            rtt_variation: lesson.rtt_variation,
            threshold: lesson.slow_start_threshold,
            window: lesson.window,
        }
    }

    /// RFC 9040 §6.2: `merge(curr, old)`.
    fn merged(self, old: Self) -> Self {
        let either = |one: Option<u32>, other: Option<u32>| match (one, other) {
            (Some(one), Some(other)) => Some(mean(one, other)),
            (one, other) => one.or(other),
        };
        let (rtt, rtt_variation) = match (self.rtt, old.rtt) {
            (Some(new), Some(known)) => {
                let variation = mean_of_spans(self.rtt_variation, old.rtt_variation);
                (Some(mean_of_spans(new, known)), variation)
            }
            (Some(new), None) => (Some(new), self.rtt_variation),
            (None, known) => (known, old.rtt_variation),
        };
        Self {
            rtt,
            rtt_variation,
            threshold: either(self.threshold, old.threshold),
            window: mean(self.window, old.window),
        }
    }

    fn advice(self) -> Advice {
        Advice {
            window: Some(self.window),
            slow_start_threshold: self.threshold,
            timeout: self
                .rtt
                .map(|rtt| TimeoutSeed::Estimator { rtt, variation: self.rtt_variation }),
            ..Advice::default()
        }
    }
}

impl ControlBlocks {
    pub(super) fn new(settings: &Sharing, config: Interdependence) -> Self {
        Self {
            kept: Entries::new(settings.lifetime, settings.entries, WhenFull::Replace),
            open: BTreeMap::new(),
            shares: VecDeque::new(),
            config,
        }
    }

    /// What the newcomer gets of what is open, and what the others are left with; nothing where it is alone.
    fn join(&mut self, opening: &Opening) -> Option<Advice> {
        let members = self.open.entry(opening.peer).or_default();
        let told: Vec<(ConnectionId, Member)> =
            members.iter().filter_map(|(id, member)| Some((*id, (*member)?))).collect();
        members.insert(opening.connection, None);
        let last = told.last()?.1;
        let count = u32::try_from(told.len() + 1).unwrap_or(u32::MAX);
        let sum: u32 = told.iter().map(|(_, member)| member.window).sum();
        let share = (sum / count).max(1);
        let left_over = usize::try_from(sum.saturating_sub(share * count)).unwrap_or(usize::MAX);
        let thresholds: Vec<u32> = told.iter().filter_map(|(_, member)| member.threshold).collect();
        let slow_start_threshold =
            (!thresholds.is_empty()).then(|| (thresholds.iter().sum::<u32>() / count).max(2));
        for (place, (connection, _)) in told.into_iter().enumerate() {
            let window = share + u32::from(place < left_over);
            self.shares.push_back(Share { connection, window, slow_start_threshold });
        }
        Some(Advice {
            window: Some(share),
            slow_start_threshold,
            timeout: last
                .rtt
                .map(|rtt| TimeoutSeed::Estimator { rtt, variation: last.rtt_variation }),
            ..Advice::default()
        })
    }
}

fn line((peer, age, kept): (IpAddr, Span, &Kept)) -> Remembered {
    Remembered { peer, window: kept.window, age }
}

impl Policy for ControlBlocks {
    fn advise(&mut self, opening: &Opening) -> Result<Advice, Unused> {
        let shared = if self.config.ensemble { self.join(opening) } else { None };
        let kept = || self.kept.look_up(opening.peer, opening.now).map(|kept| kept.advice());
        let mut advice = shared.map_or_else(kept, Ok)?;
        let most = self.config.largest_window.unwrap_or(u32::MAX);
        advice.window = advice.window.map(|window| window.min(most));
        Ok(advice)
    }

    fn learn(&mut self, now: Instant, peer: IpAddr, lesson: &Lesson, moment: Moment) {
        if moment == Moment::Sampled {
            let members = self.open.get_mut(&peer);
            if let Some(member) = members.and_then(|open| open.get_mut(&lesson.connection)) {
                *member = Some(Member {
                    window: lesson.window,
                    threshold: lesson.slow_start_threshold,
                    rtt: lesson.smoothed_rtt,
                    rtt_variation: lesson.rtt_variation,
                });
            }
            return;
        }
        let known = self.kept.look_up(peer, now).ok().copied();
        let new = Kept::of(lesson);
        self.kept.put(peer, known.map_or(new, |old| new.merged(old)), now);
        self.leave(peer, lesson.connection);
    }

    fn leave(&mut self, peer: IpAddr, connection: ConnectionId) {
        if let Some(members) = self.open.get_mut(&peer) {
            members.remove(&connection);
            if members.is_empty() {
                self.open.remove(&peer);
            }
        }
    }

    fn companions(&self, peer: IpAddr) -> Vec<ConnectionId> {
        self.open.get(&peer).map(|open| open.keys().copied().collect()).unwrap_or_default()
    }

    fn poll_share(&mut self) -> Option<Share> {
        self.shares.pop_front()
    }

    fn list(&self, now: Instant) -> Vec<Remembered> {
        self.kept.iter(now).map(line).collect()
    }

    fn known(&self, peer: IpAddr, now: Instant) -> Option<Remembered> {
        self.kept.known(peer, now).map(line)
    }

    fn len(&self) -> usize {
        self.kept.len()
    }

    fn clear(&mut self) {
        self.kept.clear();
        self.open.clear();
        self.shares.clear();
    }
}

#[cfg(test)]
mod tests;
