//! Whose turn is next, of many flows with a deadline each.

use fairwind_units::Instant;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A time-ordered agenda of flows; equal instants come in the order of insertion.
///
/// A flow's entry is moved lazily: a deadline that moves back, as a retransmission timer does with
/// every acknowledgment, costs nothing until the old one comes round.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    /// Instant, number of insertion and flow, packed so that they compare as one number.
    entries: BinaryHeap<Reverse<u128>>,
    /// The instant of the entry that counts, for each flow.
    scheduled: Vec<Instant>,
    inserted: u64,
}

const FLOW_BITS: u32 = 24;

impl Agenda {
    /// The most flows that can be told apart.
    pub(crate) const MOST_FLOWS: u64 = 1 << FLOW_BITS;

    pub(crate) fn with_flows(flows: usize) -> Self {
        Self { scheduled: vec![Instant::MAX; flows], ..Self::default() }
    }

    /// Sees to it that `flow` gets its turn at `deadline`, or earlier if it already had one then.
    #[inline]
    pub(crate) fn schedule(&mut self, flow: u32, deadline: Instant) {
        let scheduled = &mut self.scheduled[flow as usize];
        if deadline < *scheduled {
            *scheduled = deadline;
            self.inserted += 1;
            let order = (self.inserted << FLOW_BITS) | u64::from(flow);
            self.entries.push(Reverse((u128::from(deadline.as_nanos()) << 64) | u128::from(order)));
        }
    }

    /// When the next turn is.
    #[inline]
    pub(crate) fn next(&self) -> Instant {
        self.entries.peek().map_or(Instant::MAX, |entry| instant_of(entry.0))
    }

    /// The flow whose turn is next, if that entry still counts.
    #[expect(clippy::cast_possible_truncation, reason = "the flow is in the lowest bits")]
    pub(crate) fn take(&mut self) -> Option<u32> {
        let Reverse(entry) = self.entries.pop()?;
        let flow = (entry as u32) & ((1 << FLOW_BITS) - 1);
        let scheduled = &mut self.scheduled[flow as usize];
        if *scheduled != instant_of(entry) {
            return None;
        }
        *scheduled = Instant::MAX;
        Some(flow)
    }
}

fn instant_of(entry: u128) -> Instant {
    Instant::from_nanos((entry >> 64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_come_in_the_order_of_time_and_then_of_insertion() {
        let mut agenda = Agenda::with_flows(3);
        agenda.schedule(2, Instant::from_secs(5));
        agenda.schedule(0, Instant::from_secs(5));
        agenda.schedule(1, Instant::from_secs(4));
        let order: Vec<_> = std::iter::from_fn(|| agenda.take()).collect();
        assert_eq!(order, [1, 2, 0]);
    }

    #[test]
    fn a_later_deadline_costs_nothing_and_an_earlier_one_replaces_the_entry() {
        let mut agenda = Agenda::with_flows(1);
        agenda.schedule(0, Instant::from_secs(5));
        agenda.schedule(0, Instant::from_secs(9));
        assert_eq!((agenda.entries.len(), agenda.next()), (1, Instant::from_secs(5)));
        agenda.schedule(0, Instant::from_secs(2));
        assert_eq!(agenda.take(), Some(0));
        assert_eq!(agenda.take(), None, "the old entry no longer counts");
    }
}
