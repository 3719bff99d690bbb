//! Losses: departures that did not arrive.

use super::{Flight, MatchedPiece, Transmission};
use crate::one_way::transmission::{Loss, TransmissionMark};
use fairwind_units::Instant;

/// Lost first transmissions that are remembered for the instant of the first sending, until their bytes arrive.
const MOST_JUDGED: usize = 1 << 14;

impl Flight {
    /// The oldest departure without outcome.
    pub(in super::super) fn oldest(&self) -> Option<Instant> {
        let overtaken = self.overtaken.iter().find(|known| !known.is_settled);
        let oldest = [self.fresh.front(), overtaken, self.retransmitted.front()];
        oldest.into_iter().flatten().map(|known| known.at).min()
    }

    /// Departure time of the middle of the longest queue.
    pub(in super::super) fn middle(&self) -> Option<Instant> {
        let queues = [&self.fresh, &self.overtaken, &self.retransmitted];
        let longest = queues.into_iter().max_by_key(|queue| queue.len())?;
        longest.get(longest.len() / 2).map(|known| known.at)
    }

    /// Counts departures before `before` as lost. `in_order_to` is the receiver's offset, and `segment_bytes`
    /// the largest payload of a packet in the network.
    pub(in super::super) fn settle(
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
    pub(in super::super) fn finish(
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
    pub(in super::super) fn take_unseen(
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
