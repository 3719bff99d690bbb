//! Repair episodes, and which retransmissions were spurious.
//!
//! Source: RFC 2883 §4, RFC 3708 (the receiver reports duplicates: D-SACK); RFC 3522 (Eifel: the acknowledgment that
//! first covers a retransmission of the oldest segment echoes a timestamp older than that of the retransmission). Only
//! the oldest segment is judged by timestamps, because a delayed acknowledgment of several segments echoes that of
//! the first (RFC 7323 §4.3).
//! Memory: the last [`KEPT`] retransmissions.

use super::measures::Cause;
use std::collections::VecDeque;

/// Kind of repair in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Repair {
    /// None.
    #[default]
    None,
    /// Fast recovery (RFC 6582, RFC 6675).
    Fast,
    /// After a timeout (RFC 5681 §3.1).
    Timeout,
}

/// The repair in progress.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RepairEpisode {
    /// Its kind.
    pub(super) repair: Repair,
    /// Offset behind the last byte sent when it began.
    until: u64,
    /// Number of the episode, from 1, or 0 before the first; wraps past 0.
    pub(super) number: u16,
    pub(super) is_refuted: bool,
}

impl RepairEpisode {
    /// Begins a repair of data before `highest`.
    pub(super) fn begin(&mut self, repair: Repair, highest: u64) {
        self.repair = repair;
        self.until = highest;
        self.is_refuted = false;
        self.number = self.number.wrapping_add(1).max(1);
    }

    #[inline]
    pub(super) fn is_under_way(self) -> bool {
        self.repair != Repair::None
    }

    /// Data before `offset` is acknowledged. Without SACK the repair lasts until more is acknowledged, so that
    /// duplicates caused by it begin no new one (RFC 6582 §3.2).
    #[inline]
    pub(super) fn follow(&mut self, offset: u64, has_sack: bool) {
        if self.is_under_way() && (offset > self.until || offset == self.until && has_sack) {
            self.repair = Repair::None;
        }
    }

    /// Ends the repair.
    pub(super) fn give_up(&mut self) {
        self.repair = Repair::None;
    }

    /// The repair was spurious; some senders undo it (RFC 4015).
    pub(super) fn refute(&mut self) {
        self.is_refuted = true;
    }
}

/// Retransmissions that are remembered: reports come a round trip later.
const KEPT: usize = 256;

/// A remembered retransmission.
#[derive(Debug, Clone, Copy)]
struct PastRetransmission {
    start: u64,
    end: u64,
    /// Its timestamp, 0 without.
    stamp: u32,
    cause: Cause,
    /// Whether the cause is provisional.
    is_provisional: bool,
    /// Whether it is known to be spurious.
    is_needless: bool,
    /// Whether a D-SACK has reported it.
    is_reported: bool,
}

/// The last retransmissions of a stream.
#[derive(Debug, Clone, Default)]
pub(super) struct RetransmissionHistory {
    last: VecDeque<PastRetransmission>,
}

impl RetransmissionHistory {
    /// Adds the retransmission of `start` to before `end`.
    pub(super) fn add(&mut self, start: u64, end: u64, stamp: u32, cause: Cause) {
        if self.last.len() == KEPT {
            self.last.pop_front();
        }
        self.last.push_back(PastRetransmission {
            start,
            end,
            stamp,
            cause,
            is_provisional: false,
            is_needless: false,
            is_reported: false,
        });
    }

    /// Marks the last cause as provisional.
    pub(super) fn doubt_last(&mut self) {
        if let Some(last) = self.last.back_mut() {
            last.is_provisional = true;
        }
    }

    /// The cause of the last retransmission of the byte at `offset`, and whether it is provisional.
    pub(super) fn last_of(&self, offset: u64) -> Option<(Cause, bool)> {
        let mut newest_first = self.last.iter().rev();
        let last = newest_first.find(|one| one.start <= offset && offset < one.end)?;
        Some((last.cause, last.is_provisional))
    }

    /// Takes a D-SACK of `start` to before `end`. It confirms a retransmission that a timestamp has proved
    /// spurious; otherwise it proves the oldest unreported one spurious. Returns its cause, or `None` if
    /// nothing new is known.
    pub(super) fn report(&mut self, start: u64, end: u64) -> Option<Cause> {
        let is_meant =
            |one: &&mut PastRetransmission| !one.is_reported && one.start < end && one.end > start;
        if let Some(known) = self.last.iter_mut().filter(is_meant).find(|one| one.is_needless) {
            known.is_reported = true;
            return None;
        }
        let repetition = self.last.iter_mut().find(is_meant)?;
        (repetition.is_needless, repetition.is_reported) = (true, true);
        Some(repetition.cause)
    }

    /// The byte `oldest`, retransmitted `times` times, is acknowledged with the timestamp `echo`: returns the
    /// causes of its retransmissions that were sent after the echoed transmission.
    pub(super) fn judge(
        &mut self,
        oldest: u64,
        times: u16,
        echo: u32,
    ) -> impl Iterator<Item = Cause> {
        let newest_first = self.last.iter_mut().rev();
        let meant = newest_first.filter(move |one| one.start <= oldest && oldest < one.end);
        // At most `times` of them match.
        meant.take(times.into()).filter_map(move |one| {
            if !one.is_needless && one.stamp != 0 && is_earlier(echo, one.stamp) {
                one.is_needless = true;
                return Some(one.cause);
            }
            None
        })
    }
}

/// Whether the timestamp `one` is earlier than `other`, modulo 2^32 (RFC 7323 §5.2).
#[inline]
pub(super) const fn is_earlier(one: u32, other: u32) -> bool {
    other.wrapping_sub(one).wrapping_sub(1) < 0x7fff_ffff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dsack_explains_one_retransmission() {
        let mut repeats = RetransmissionHistory::default();
        repeats.add(1000, 2000, 5, Cause::Timeout);
        repeats.add(2000, 3000, 5, Cause::AfterTimeout);
        assert_eq!(repeats.report(1000, 2000), Some(Cause::Timeout));
        assert_eq!(repeats.report(1000, 2000), None);
        assert_eq!(repeats.report(2500, 3000), Some(Cause::AfterTimeout));
    }

    #[test]
    fn dsack_after_timestamp_proof_counts_once() {
        let mut repeats = RetransmissionHistory::default();
        repeats.add(1000, 2000, 50, Cause::FastRetransmit);
        repeats.add(1000, 2000, 90, Cause::Timeout);
        // The first one was needed; the second was sent after the echoed transmission.
        assert!(repeats.judge(1000, 2, 50).eq([Cause::Timeout]));
        assert_eq!(repeats.report(1000, 2000), None);
        // A second report: the original arrived, too.
        assert_eq!(repeats.report(1000, 2000), Some(Cause::FastRetransmit));
        assert_eq!(repeats.report(1000, 2000), None);
    }

    #[test]
    fn older_echo_proves_spurious_retransmission_across_wrap() {
        let mut repeats = RetransmissionHistory::default();
        repeats.add(1000, 2000, 3, Cause::Timeout);
        assert_eq!(repeats.judge(1000, 1, 3).count(), 0);
        assert_eq!(repeats.judge(2000, 1, u32::MAX - 5).count(), 0);
        assert!(repeats.judge(1000, 1, u32::MAX - 5).eq([Cause::Timeout]));
        assert_eq!(repeats.judge(1000, 1, u32::MAX - 5).count(), 0);
    }

    #[test]
    fn only_the_last_ones_are_remembered() {
        let mut repeats = RetransmissionHistory::default();
        for at in 0..10_000 {
            repeats.add(at * 10, at * 10 + 10, 0, Cause::Unknown);
        }
        assert_eq!(repeats.report(0, 10), None);
        assert_eq!(repeats.report(99_990, 100_000), Some(Cause::Unknown));
    }
}
