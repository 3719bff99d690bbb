//! A list of peers with their largest windows.
//!
//! Source: O. Hartmann and A. Bestavros, "Aggregating Congestion Information Over Sequences of TCP
//! Connections", Boston University technical report 1998-001.
//! Differs: the report looks up a peer by walking through a list. Where it is silent, this is assumed: an
//! entry's age is that of its window, so a smaller one does not make it younger; a list that is full of entries
//! that are not outdated takes no further peer; an entry is outdated when it is *older* than the lifetime.
//! The report's authors name two things for later, which are switches here: a forgetfulness factor, by which a
//! smaller window pulls the remembered one down by that share of the difference (how it is to work they do not
//! say), and samples in the course of a connection, which are the driver's. A bound on trust is ours.
//! Parameters: [`ClassicConfig`], [`Sharing::lifetime`](super::Sharing::lifetime),
//! [`Sharing::entries`](super::Sharing::entries).

use super::entries::{Entries, WhenFull};
use super::lesson::{Advice, Lesson, Unused};
use super::{ClassicConfig, Moment, Opening, Policy, Remembered, Sharing, Trust};
use fairwind_units::{Instant, Span};
use std::net::IpAddr;

/// What is remembered of a peer.
#[derive(Debug, Clone, Copy)]
struct Known {
    window: u32,
    /// Least round-trip time of the connection that it is of.
    least_rtt: Option<Span>,
}

/// The list.
#[derive(Debug)]
pub(super) struct Classic {
    windows: Entries<Known>,
    config: ClassicConfig,
}

impl Classic {
    pub(super) fn new(settings: &Sharing, config: ClassicConfig) -> Self {
        let windows = Entries::new(settings.lifetime, settings.entries, WhenFull::Refuse);
        Self { windows, config }
    }

    /// What a window is remembered as, where `before` was; `None` where that stays as it is.
    fn merged(&self, before: Option<u32>, lesson: &Lesson) -> Option<u32> {
        if self.config.trust == Trust::Safe && lesson.has_lost() {
            return Some((before.unwrap_or(0).max(lesson.window) / 2).max(1));
        }
        match before {
            Some(before) if lesson.window < before => {
                let excess = u64::from(before - lesson.window);
                let pull = u32::try_from(self.config.forgetfulness.of(excess)).unwrap_or(u32::MAX);
                (pull > 0).then(|| before.saturating_sub(pull))
            }
            _ => Some(lesson.window),
        }
    }
}

fn line((peer, age, of): (IpAddr, Span, &Known)) -> Remembered {
    Remembered { peer, window: of.window, age }
}

impl Policy for Classic {
    fn advise(&mut self, opening: &Opening) -> Result<Advice, Unused> {
        let Known { window, least_rtt } = *self.windows.look_up(opening.peer, opening.now)?;
        let trusted = match self.config.trust {
            Trust::Exact => window,
            Trust::Safe => (window / 2).max(1),
        };
        let bounded = trusted.min(self.config.largest_window.unwrap_or(u32::MAX));
        Ok(match self.config.trust {
            Trust::Exact => Advice { window: Some(bounded), ..Advice::default() },
            // A bound on trust is none where connections would begin with less than without a memory.
            Trust::Safe => {
                Advice { least_window: Some(bounded), path_rtt: least_rtt, ..Advice::default() }
            }
        })
    }

    fn learn(&mut self, now: Instant, peer: IpAddr, lesson: &Lesson, moment: Moment) {
        // A loss counts once, when the connection tells for the last time.
        let is_last = moment != Moment::Sampled;
        let before = self.windows.look_up(peer, now).ok().map(|known| known.window);
        if !is_last && lesson.has_lost() && self.config.trust == Trust::Safe {
            return;
        }
        if let Some(window) = self.merged(before, lesson) {
            self.windows.put(peer, Known { window, least_rtt: lesson.least_rtt }, now);
        }
    }

    fn list(&self, now: Instant) -> Vec<Remembered> {
        self.windows.iter(now).map(line).collect()
    }

    fn known(&self, peer: IpAddr, now: Instant) -> Option<Remembered> {
        self.windows.known(peer, now).map(line)
    }

    fn len(&self) -> usize {
        self.windows.len()
    }

    fn clear(&mut self) {
        self.windows.clear();
    }
}

#[cfg(test)]
mod tests;
