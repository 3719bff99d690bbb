//! Flight: matching of arrivals with departures by their bytes, and losses.
//!
//! Three queues hold what has departed and not arrived: first transmissions in the order of their bytes, those
//! of them that were overtaken, and retransmissions. An arrival of the oldest first transmission costs one
//! comparison. Others are searched by their end offset, which no two first transmissions share, and among the
//! few retransmissions. An arrival that was not sent as a whole is composed of parts of departures, so that
//! segmentation offload at the first tap and receive offload at the second lose no bytes.
//!
//! Copies are distinguished by the timestamp value, which differs between a transmission and its retransmission
//! (RFC 3522); then by the IPv4 identification; then by order: a packet that left before one that has arrived
//! is more likely lost than late. Otherwise the recent delay decides.

use super::clock_offset::signed_since;
use super::transmission::{
    Attempt, Loss, MatchedPiece, MissingRanges, SearchBudget, Transmission, TransmissionMark,
};
use fairwind_units::Instant;
use std::cmp::Reverse;
use std::collections::VecDeque;
use std::ops::Range;

/// Overlapping first transmissions that are searched for one byte.
const OVERLAPPING: usize = 8;

/// Retransmissions that are searched for one arrival; lost ones stay among them for a while.
const MOST_SEARCHED: usize = 1 << 12;

/// Largest number of bytes that an arrival may be ahead of its departure; clocks are never so far apart.
const MOST_AHEAD: u64 = 1 << 28;

/// Queue of a transmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Queue {
    Fresh,
    Overdue,
    Again,
}

/// Fitness of a part: not overtaken, and a delay like the recent one.
type MatchRank = (bool, Reverse<u64>);

/// Result of matching an arrival.
#[derive(Debug)]
pub(super) enum ArrivalMatch {
    /// The oldest first transmission, whole and new, with its departure.
    Oldest(Instant),
    /// Parts of transmissions, in the caller's list.
    Pieces,
    /// Its departure was not seen yet.
    Early,
    /// No departure matches.
    Nothing,
}

/// Departures with payload that have not arrived.
#[derive(Debug, Clone, Default)]
pub(super) struct Flight {
    /// First transmissions, by ascending end.
    fresh: VecDeque<Transmission>,
    /// Overtaken first transmissions, by ascending end.
    overtaken: VecDeque<Transmission>,
    /// Retransmissions, in the order of departure.
    retransmitted: VecDeque<Transmission>,
    /// End of the retransmitted bytes.
    retransmitted_end: u64,
    gaps: MissingRanges,
    budget: SearchBudget,
    /// Offset behind all departed bytes; 0 at first.
    pub(super) highest: u64,
    departed: u32,
    /// Order of the latest departure that has arrived.
    last_arrived: u32,
    /// The last one-way delay in nanoseconds.
    recent_delay: i64,
    last_stamp: Option<u32>,
    /// Whether the path rewrites timestamps.
    is_restamped: bool,
    /// Whether the path rewrites IPv4 identifications.
    is_renumbered: bool,
}

/// A departure with payload.
#[derive(Debug, Clone, Copy)]
pub(super) struct Departing {
    pub(super) at: Instant,
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) mark: TransmissionMark,
    pub(super) wire_bytes: u32,
    pub(super) ticket: u64,
}

impl Flight {
    /// Transmissions in the queues.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.fresh.len() + self.overtaken.len() + self.retransmitted.len()
    }

    /// A packet departs; returns how many of its bytes are old, and which attempt it is.
    #[inline]
    pub(super) fn on_departure(&mut self, packet: Departing) -> (u32, Attempt) {
        self.departed = self.departed.wrapping_add(1);
        if packet.mark.stamp.is_some() {
            self.last_stamp = packet.mark.stamp;
        }
        let is_first = packet.end > self.highest;
        let old = self.highest.saturating_sub(packet.start).min(packet.end - packet.start);
        let old_bytes = u32::try_from(old).unwrap_or(u32::MAX);
        let copy =
            if is_first { Attempt::First } else { Attempt::Again(self.repeat(packet.start)) };
        let transmission = Transmission {
            start: packet.start,
            end: packet.end,
            arrived_to: packet.start,
            at: packet.at,
            ticket: packet.ticket,
            order: self.departed,
            wire_bytes: packet.wire_bytes,
            gap_bytes: 0,
            old_bytes,
            mark: packet.mark,
            copy,
            repeats: 0,
            is_settled: false,
        };
        if is_first {
            self.highest = packet.end;
            self.fresh.push_back(transmission);
        } else {
            self.retransmitted_end = self.retransmitted_end.max(packet.end);
            self.retransmitted.push_back(transmission);
        }
        (old_bytes, copy)
    }

    /// Counts a retransmission of the bytes from `start` on; returns its number.
    fn repeat(&mut self, start: u64) -> u8 {
        let Some((queue, place)) = self.first_with(start) else { return 1 };
        let Some(first) = self.queue_mut(queue).get_mut(place) else { return 1 };
        first.repeats = first.repeats.saturating_add(1);
        first.repeats
    }

    /// Matches an arrival.
    #[inline]
    pub(super) fn on_arrival(
        &mut self,
        at: Instant,
        (start, end): (u64, u64),
        mark: TransmissionMark,
        pieces: &mut Vec<MatchedPiece>,
    ) -> ArrivalMatch {
        if let Some(front) = self.fresh.front()
            && front.start == start
            && front.end == end
            && front.is_untouched()
            && front.old_bytes == 0
            && start >= self.retransmitted_end
        {
            let (departed, order) = (front.at, front.order);
            self.is_restamped |= front.mark.differs_in_stamp(mark);
            self.is_renumbered |= front.mark.identification != mark.identification;
            self.fresh.pop_front();
            self.note_arrival(at, departed, order);
            return ArrivalMatch::Oldest(departed);
        }
        self.search(at, (start, end), mark, pieces)
    }

    #[inline]
    const fn note_arrival(&mut self, at: Instant, departed: Instant, order: u32) {
        self.recent_delay = signed_since(at, departed);
        if order.wrapping_sub(self.last_arrived).cast_signed() > 0 {
            self.last_arrived = order;
        }
    }

    fn search(
        &mut self,
        at: Instant,
        (start, end): (u64, u64),
        mark: TransmissionMark,
        pieces: &mut Vec<MatchedPiece>,
    ) -> ArrivalMatch {
        pieces.clear();
        if end > self.highest {
            // Damaged, or its departure was missed: later arrivals must not wait for it.
            let is_far = self.highest > 0 && start > self.highest + MOST_AHEAD;
            return if is_far { ArrivalMatch::Nothing } else { ArrivalMatch::Early };
        }
        self.budget.begin(self.departed);
        let found = self.exact(at, (start, end), mark);
        self.budget.spend(self.looked_at(start));
        if let Some((queue, place)) = found {
            pieces.extend(self.take(at, (queue, place), (start, end)));
            return ArrivalMatch::Pieces;
        }
        self.collect(at, (start, end), ((start, end), mark), pieces);
        if !pieces.is_empty() {
            return ArrivalMatch::Pieces;
        }
        let is_newer = |last: u32, stamp: u32| stamp.wrapping_sub(last).cast_signed() > 0;
        match (self.last_stamp, mark.stamp) {
            (Some(last), Some(stamp)) if !self.is_restamped && is_newer(last, stamp) => {
                ArrivalMatch::Early
            }
            _ => ArrivalMatch::Nothing,
        }
    }

    /// Composes an arrival of `start..end` of missing parts of transmissions, within the search budget.
    fn collect(
        &mut self,
        at: Instant,
        (start, end): (u64, u64),
        (range, mark): ((u64, u64), TransmissionMark),
        pieces: &mut Vec<MatchedPiece>,
    ) {
        let mut cursor = start;
        while cursor < end && self.budget.left() > 0 {
            let found = self.with_missing(at, cursor, range, mark);
            self.budget.spend(self.looked_at(cursor));
            if let Some((spot, missing_to)) = found {
                let to = missing_to.min(end);
                pieces.extend(self.take(at, spot, (cursor, to)));
                cursor = to;
                continue;
            }
            let next = self.next_beginning(cursor);
            self.budget.spend(self.looked_at(cursor));
            cursor = next.unwrap_or(end);
        }
    }

    /// Transmissions that are searched for the byte at `place`.
    fn looked_at(&self, place: u64) -> usize {
        2 * OVERLAPPING + self.retransmissions_below(place).len()
    }

    /// The transmission of exactly this range, if nothing of it has arrived.
    fn exact(
        &self,
        at: Instant,
        range: (u64, u64),
        mark: TransmissionMark,
    ) -> Option<(Queue, usize)> {
        let by_end = |queue: &VecDeque<Transmission>| {
            queue.partition_point(|transmission| transmission.end < range.1)
        };
        let firsts =
            [(Queue::Fresh, by_end(&self.fresh)), (Queue::Overdue, by_end(&self.overtaken))];
        let agains = self.retransmissions_below(range.0).map(|place| (Queue::Again, place));
        let mut best = None;
        for (queue, place) in firsts.into_iter().chain(agains) {
            let Some(transmission) = self.queue(queue).get(place) else { continue };
            if (transmission.start, transmission.end) != range
                || !transmission.is_untouched()
                || !self.may_be(transmission, range, mark)
            {
                continue;
            }
            let score = self.score(at, transmission, mark);
            if best.is_none_or(|(known, _)| score > known) {
                best = Some((score, (queue, place)));
            }
            if score.0 && transmission.mark.stamp.is_some() {
                break;
            }
        }
        best.map(|(_, spot)| spot)
    }

    /// A transmission that misses the byte at `cursor`, and up to where.
    fn with_missing(
        &self,
        at: Instant,
        cursor: u64,
        range: (u64, u64),
        mark: TransmissionMark,
    ) -> Option<((Queue, usize), u64)> {
        let covering = |queue: Queue| {
            let first = self.queue(queue).partition_point(|known| known.end <= cursor);
            (first..first + OVERLAPPING).map(move |place| (queue, place))
        };
        let agains = self.retransmissions_below(cursor).map(|place| (Queue::Again, place));
        let spots = covering(Queue::Fresh).chain(covering(Queue::Overdue)).chain(agains);
        let mut best: Option<(MatchRank, (Queue, usize), u64)> = None;
        for (queue, place) in spots {
            let Some(transmission) = self.queue(queue).get(place) else { continue };
            if !(transmission.start..transmission.end).contains(&cursor)
                || !self.may_be(transmission, range, mark)
            {
                continue;
            }
            let Some(missing_to) = self.missing_to(transmission, cursor) else { continue };
            // For parts, identifications decide nothing: offload increments them.
            let (_, follows, nearness) = self.score(at, transmission, mark);
            let score = (follows, nearness);
            if best.is_none_or(|(known, ..)| score > known) {
                best = Some((score, (queue, place), missing_to));
            }
        }
        best.map(|(_, spot, missing_to)| (spot, missing_to))
    }

    /// The retransmissions that may have the byte at `place`; of many only the last.
    fn retransmissions_below(&self, place: u64) -> Range<usize> {
        let behind = if place < self.retransmitted_end { self.retransmitted.len() } else { 0 };
        behind.saturating_sub(MOST_SEARCHED.min(self.budget.left()))..behind
    }

    /// Where the next missing bytes behind `cursor` begin.
    fn next_beginning(&self, cursor: u64) -> Option<u64> {
        let behind = |queue: Queue| {
            let queue = self.queue(queue);
            let first = queue.partition_point(|known| known.end <= cursor);
            queue.range(first..).take(OVERLAPPING)
        };
        let retransmitted = self.retransmitted.range(self.retransmissions_below(cursor));
        let known = behind(Queue::Fresh).chain(behind(Queue::Overdue)).chain(retransmitted);
        let known = known.filter(|known| !known.is_settled && known.end > cursor);
        known.filter_map(|known| self.missing_behind(known, cursor)).min()
    }

    /// Where the next missing bytes of one transmission behind `cursor` begin.
    fn missing_behind(&self, known: &Transmission, cursor: u64) -> Option<u64> {
        let gap = (known.gap_bytes > 0).then(|| self.gaps.next_beginning(known.order, cursor));
        gap.flatten().or_else(|| (known.arrived_to > cursor).then_some(known.arrived_to))
    }

    /// Whether an arrival may be of `transmission`, or of a part of it.
    fn may_be(
        &self,
        transmission: &Transmission,
        range: (u64, u64),
        mark: TransmissionMark,
    ) -> bool {
        let is_restamped = !self.is_restamped && transmission.mark.differs_in_stamp(mark);
        // Offload numbers the parts of a packet, so that only the same range has its identification.
        let is_renumbered = !self.is_renumbered
            && range == (transmission.start, transmission.end)
            && transmission.mark.identification != mark.identification;
        !transmission.is_settled && !is_restamped && !is_renumbered
    }

    /// Fitness of a transmission for an arrival.
    fn score(
        &self,
        at: Instant,
        transmission: &Transmission,
        mark: TransmissionMark,
    ) -> (bool, bool, Reverse<u64>) {
        let is_same = transmission.mark.identification == mark.identification;
        let follows = transmission.order.wrapping_sub(self.last_arrived).cast_signed() > 0;
        let delay = signed_since(at, transmission.at);
        (is_same, follows, Reverse(delay.abs_diff(self.recent_delay)))
    }

    /// End of the missing bytes of `transmission` from `cursor` on; `None` if that byte is not missing.
    fn missing_to(&self, transmission: &Transmission, cursor: u64) -> Option<u64> {
        if cursor >= transmission.arrived_to {
            return Some(transmission.end);
        }
        if transmission.gap_bytes == 0 {
            return None;
        }
        self.gaps.around(transmission.order, cursor).map(|(_, end)| end)
    }

    /// Takes bytes of a transmission; overtaken transmissions change queues.
    fn take(
        &mut self,
        at: Instant,
        (queue, place): (Queue, usize),
        (start, end): (u64, u64),
    ) -> Option<MatchedPiece> {
        let place = if queue == Queue::Fresh {
            self.overtaken.extend(self.fresh.drain(..place));
            0
        } else {
            place
        };
        let mut of = *self.queue(queue).get(place)?;
        let before = of;
        if start >= of.arrived_to {
            if start > of.arrived_to {
                self.gaps.add(of.order, of.arrived_to, start);
                of.gap_bytes += u32::try_from(start - of.arrived_to).unwrap_or(u32::MAX);
            }
            of.arrived_to = end;
        } else {
            self.gaps.fill(of.order, start, end);
            of.gap_bytes -= u32::try_from(end - start).unwrap_or(u32::MAX).min(of.gap_bytes);
        }
        let is_whole = of.missing_bytes() == 0;
        if is_whole {
            self.queue_mut(queue).remove(place);
            if queue == Queue::Again && self.retransmitted.is_empty() {
                self.retransmitted_end = 0;
            }
        } else if let Some(kept) = self.queue_mut(queue).get_mut(place) {
            *kept = of;
        }
        self.note_arrival(at, of.at, of.order);
        Some(MatchedPiece { start, end, of: before, is_whole })
    }

    /// When the byte at `place` was first sent, and the end of that transmission; `None` if forgotten.
    pub(super) fn first_sent(&self, place: u64) -> Option<(Instant, u64)> {
        let (queue, index) = self.first_with(place)?;
        let first = self.queue(queue).get(index)?;
        Some((first.at, first.end))
    }

    /// The transmission in which the byte at `place` was new.
    fn first_with(&self, place: u64) -> Option<(Queue, usize)> {
        [Queue::Overdue, Queue::Fresh].into_iter().find_map(|queue| {
            let index = self.queue(queue).partition_point(|known| known.end <= place);
            let first = self.queue(queue).get(index)?;
            (first.new_from() <= place).then_some((queue, index))
        })
    }

    const fn queue(&self, queue: Queue) -> &VecDeque<Transmission> {
        match queue {
            Queue::Fresh => &self.fresh,
            Queue::Overdue => &self.overtaken,
            Queue::Again => &self.retransmitted,
        }
    }

    const fn queue_mut(&mut self, queue: Queue) -> &mut VecDeque<Transmission> {
        match queue {
            Queue::Fresh => &mut self.fresh,
            Queue::Overdue => &mut self.overtaken,
            Queue::Again => &mut self.retransmitted,
        }
    }
}

/// Lost first transmissions that are remembered for the instant of the first sending, until their bytes arrive.
const MOST_JUDGED: usize = 1 << 14;

impl Flight {
    /// The oldest departure without outcome.
    pub(super) fn oldest(&self) -> Option<Instant> {
        let overtaken = self.overtaken.iter().find(|known| !known.is_settled);
        let oldest = [self.fresh.front(), overtaken, self.retransmitted.front()];
        oldest.into_iter().flatten().map(|known| known.at).min()
    }

    /// Departure time of the middle of the longest queue.
    pub(super) fn middle(&self) -> Option<Instant> {
        let queues = [&self.fresh, &self.overtaken, &self.retransmitted];
        let longest = queues.into_iter().max_by_key(|queue| queue.len())?;
        longest.get(longest.len() / 2).map(|known| known.at)
    }

    /// Counts departures before `before` as lost. `in_order_to` is the receiver's offset, and `segment_bytes`
    /// the largest payload of a packet in the network.
    pub(super) fn settle(
        &mut self,
        before: Instant,
        in_order_to: u64,
        segment_bytes: u64,
        losses: &mut Vec<Loss>,
    ) {
        let aged = self.fresh.iter().take_while(|known| known.at < before).count();
        self.overtaken.extend(self.fresh.drain(..aged));
        let mut overtaken = std::mem::take(&mut self.overtaken);
        overtaken.retain_mut(|known| {
            if !known.is_settled && known.at < before {
                losses.push(self.loss(known, segment_bytes));
                known.is_settled = true;
                known.gap_bytes = 0;
            }
            !(known.is_settled && known.end <= in_order_to)
        });
        self.overtaken = overtaken;
        while self.overtaken.len() > MOST_JUDGED
            && self.overtaken.front().is_some_and(|known| known.is_settled)
        {
            self.overtaken.pop_front();
        }
        let aged = self.retransmitted.iter().take_while(|known| known.at < before).count();
        for known in self.retransmitted.drain(..aged).collect::<Vec<_>>() {
            losses.push(self.loss(&known, segment_bytes));
        }
        if self.retransmitted.is_empty() {
            self.retransmitted_end = 0;
        }
    }

    /// Settles everything at the end: departures before one that arrived, or before `lost_before`, are lost.
    /// Returns packets, bytes and ranges that are unjudged.
    pub(super) fn finish(
        &mut self,
        lost_before: Instant,
        segment_bytes: u64,
        losses: &mut Vec<Loss>,
    ) -> (u64, u64, u64) {
        let mut unjudged = (0, 0, 0);
        let rest: Vec<Transmission> = self
            .overtaken
            .drain(..)
            .chain(self.fresh.drain(..))
            .chain(self.retransmitted.drain(..))
            .collect();
        for known in rest.iter().filter(|known| !known.is_settled) {
            let is_overtaken = known.order.wrapping_sub(self.last_arrived).cast_signed() < 0;
            if is_overtaken || known.at < lost_before {
                losses.push(self.loss(known, segment_bytes));
            } else {
                unjudged.0 += u64::from(known.is_untouched());
                unjudged.1 += known.missing_bytes();
                unjudged.2 += self.loss(known, segment_bytes).ranges;
            }
        }
        self.retransmitted_end = 0;
        unjudged
    }

    /// Removes bytes that must have arrived, though the capture misses them.
    pub(super) fn take_unseen(
        &mut self,
        at: Instant,
        (start, end): (u64, u64),
        pieces: &mut Vec<MatchedPiece>,
    ) {
        pieces.clear();
        self.budget.begin(self.departed);
        // No range and no mark: any copy matches.
        self.collect(at, (start, end), ((0, 0), TransmissionMark::default()), pieces);
    }

    /// What `known` has lost; removes its missing ranges.
    fn loss(&mut self, known: &Transmission, segment_bytes: u64) -> Loss {
        let mut loss = Loss {
            at: known.at,
            ticket: known.ticket,
            start: known.end,
            is_whole: known.is_untouched(),
            payload_bytes: known.missing_bytes(),
            new_bytes: 0,
            ranges: 0,
            header_bytes: u64::from(known.wire_bytes).saturating_sub(known.payload_bytes()),
            is_bundle: known.is_bundle(),
        };
        let mut add = |start: u64, end: u64| {
            loss.start = loss.start.min(start);
            loss.ranges += (end - start).div_ceil(segment_bytes.max(1));
            loss.new_bytes += end.saturating_sub(start.max(known.new_from()));
        };
        if known.arrived_to < known.end {
            add(known.arrived_to, known.end);
        }
        if known.gap_bytes > 0 {
            self.gaps.take(known.order, add);
        }
        loss
    }
}

#[cfg(test)]
mod tests;
