//! Whose turn is next, of many flows with a deadline each.

use fairwind_units::Instant;

/// A time-ordered agenda of flows, kept as a tournament: equal instants come in the order in which
/// they were entered.
///
/// A flow's entry is moved lazily: a deadline that moves back, as a retransmission timer does with
/// every acknowledgment, costs nothing until the old one comes round. Moving an entry costs one
/// comparison for each doubling of the number of flows.
#[derive(Debug)]
pub(crate) struct Agenda {
    /// A tree of entries, the root at 1, the flows' own in the second half: every inner node holds
    /// the lesser of its two children. An entry packs instant, number of entry and flow, so that
    /// they compare as one number; [`NEVER`] is that of a flow without a turn.
    entries: Vec<u128>,
    entered: u64,
}

const NEVER: u128 = u128::MAX;
const FLOW_BITS: u32 = 24;

impl Agenda {
    /// The most flows that can be told apart.
    pub(crate) const MOST_FLOWS: u64 = 1 << FLOW_BITS;

    pub(crate) fn with_flows(flows: usize) -> Self {
        Self { entries: vec![NEVER; 2 * flows.next_power_of_two()], entered: 0 }
    }

    #[inline]
    fn leaf(&self, flow: u32) -> usize {
        self.entries.len() / 2 + flow as usize
    }

    /// Sees to it that `flow` gets its turn at `deadline`, or earlier if it already had one then.
    #[inline]
    pub(crate) fn schedule(&mut self, flow: u32, deadline: Instant) {
        if deadline < instant_of(self.entries[self.leaf(flow)]) {
            self.enter(flow, deadline);
        }
    }

    /// The flow whose turn is due at `now`, if one is. Its turn stands until
    /// [`reschedule`](Self::reschedule) sets the next.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the flow is in the lowest bits")]
    pub(crate) fn due(&self, now: Instant) -> Option<u32> {
        let first = self.entries[1];
        (instant_of(first) <= now).then_some(first as u32 & ((1 << FLOW_BITS) - 1))
    }

    /// Sets the next turn of a flow whose turn was due.
    #[inline]
    pub(crate) fn reschedule(&mut self, flow: u32, deadline: Instant) {
        if deadline != instant_of(self.entries[self.leaf(flow)]) {
            self.enter(flow, deadline);
        }
    }

    /// When the next turn is.
    #[inline]
    pub(crate) fn next(&self) -> Instant {
        instant_of(self.entries[1])
    }

    #[inline]
    fn enter(&mut self, flow: u32, deadline: Instant) {
        let mut node = self.leaf(flow);
        let mut lesser = if deadline == Instant::MAX {
            NEVER
        } else {
            self.entered += 1;
            let order = (self.entered << FLOW_BITS) | u64::from(flow);
            (u128::from(deadline.as_nanos()) << 64) | u128::from(order)
        };
        self.entries[node] = lesser;
        while node > 1 {
            lesser = lesser.min(self.entries[node ^ 1]);
            node /= 2;
            if std::mem::replace(&mut self.entries[node], lesser) == lesser {
                return;
            }
        }
    }
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the upper half of the number")]
fn instant_of(entry: u128) -> Instant {
    Instant::from_nanos((entry >> 64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn take(agenda: &mut Agenda) -> Option<u32> {
        let flow = agenda.due(Instant::from_nanos(u64::MAX - 1))?;
        agenda.reschedule(flow, Instant::MAX);
        Some(flow)
    }

    #[test]
    fn turns_come_in_the_order_of_time_and_then_of_entry() {
        let mut agenda = Agenda::with_flows(3);
        agenda.schedule(2, Instant::from_secs(5));
        agenda.schedule(0, Instant::from_secs(5));
        agenda.schedule(1, Instant::from_secs(4));
        let order: Vec<_> = std::iter::from_fn(|| take(&mut agenda)).collect();
        assert_eq!(order, [1, 2, 0]);
        assert_eq!(agenda.next(), Instant::MAX);
    }

    #[test]
    fn a_later_deadline_waits_for_the_old_one_and_an_earlier_one_replaces_it() {
        let mut agenda = Agenda::with_flows(1);
        agenda.schedule(0, Instant::from_secs(5));
        agenda.schedule(0, Instant::from_secs(9));
        assert_eq!(agenda.next(), Instant::from_secs(5));
        agenda.schedule(0, Instant::from_secs(2));
        assert_eq!(agenda.due(Instant::from_secs(1)), None);
        assert_eq!(agenda.due(Instant::from_secs(2)), Some(0));
        agenda.reschedule(0, Instant::from_secs(9));
        assert_eq!(agenda.next(), Instant::from_secs(9));
    }

    proptest! {
        /// Whatever is entered in whatever order, the first is always the least in (time, entry).
        #[test]
        fn the_first_is_always_the_least(
            flows in 1_usize..40,
            moves in prop::collection::vec((0_usize..40, 0_u64..50), 1..200),
        ) {
            let mut agenda = Agenda::with_flows(flows);
            let mut model: Vec<Option<(u64, usize)>> = vec![None; flows];
            for (entry, (flow, at)) in moves.into_iter().enumerate() {
                let flow = flow % flows;
                let number = u32::try_from(flow).expect("a small number");
                if model[flow].map(|known| known.0) != Some(at) {
                    model[flow] = Some((at, entry));
                }
                agenda.reschedule(number, Instant::from_nanos(at));
                let expected = (0..flows).filter_map(|f| model[f].map(|key| (key, f))).min();
                let due = agenda.due(Instant::from_secs(1)).map(|flow| flow as usize);
                prop_assert_eq!(due, expected.map(|(_, flow)| flow));
            }
        }
    }
}
