//! Agenda of flows: a timing wheel of their deadlines.

use fairwind_measure::FlowDescription;
use fairwind_units::{Instant, Span};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A time-ordered agenda of flows, kept as a wheel of short stretches of time; equal instants come
/// in the order in which they were entered.
///
/// A flow's turn may come before its deadline, never after: a deadline that moves back, as a
/// retransmission timer does with every acknowledgment, costs nothing until the old one comes
/// round, and one beyond the wheel's horizon is looked at again when the horizon is reached.
/// Cost of an entry: constant, or the logarithm of how many share its stretch.
#[derive(Debug)]
pub(crate) struct Agenda {
    /// One flow of each stretch that has any; the others follow by their links, in no order.
    heads: Box<[u32; STRETCHES]>,
    turns: Vec<Turn>,
    occupied: Bitmap,
    /// The entries of one stretch that has many, with some that are no longer valid.
    sorted: BinaryHeap<Reverse<u128>>,
    /// Which stretch that is; [`STRETCHES`] if it is none.
    sorted_stretch: usize,
    /// The least entry of all.
    first: u128,
    entered: u64,
}

/// A flow's turn, and its neighbours in the same stretch.
#[derive(Debug, Clone, Copy)]
struct Turn {
    /// Instant, number of entry and flow, packed so that they compare as one number; [`NEVER`] for a flow
    /// without a turn.
    entry: u128,
    before: u32,
    after: u32,
}

const NOBODY: u32 = u32::MAX;
const NEVER: u128 = u128::MAX;
const FLOW_BITS: u32 = 24;
/// A stretch is 2^19 ns, about half a millisecond; the wheel spans a second.
const STRETCH_BITS: u32 = 19;
const STRETCHES: usize = 2048;
/// So many entries of a stretch are compared each time; more are sorted once.
const FEW: usize = 32;
const HORIZON: Span = Span::from_nanos((STRETCHES as u64 - 1) << STRETCH_BITS);

impl Agenda {
    /// The largest number of flows.
    pub(crate) const MOST_FLOWS: u64 = 1 << FLOW_BITS;

    pub(crate) fn with_flows(flows: usize) -> Self {
        Self {
            heads: Box::new([NOBODY; STRETCHES]),
            turns: vec![Turn { entry: NEVER, before: NOBODY, after: NOBODY }; flows],
            occupied: Bitmap::default(),
            sorted: BinaryHeap::new(),
            sorted_stretch: STRETCHES,
            first: NEVER,
            entered: 0,
        }
    }

    /// Sees to it that `flow` gets its turn at `deadline`, or earlier if it already had one then.
    /// It is `now`, which never goes back.
    #[inline]
    pub(crate) fn schedule(&mut self, now: Instant, flow: u32, deadline: Instant) {
        if deadline < instant_of(self.turns[flow as usize].entry) {
            self.advance(now, flow, deadline);
        }
    }

    /// Gives a flow an earlier turn, which is rare.
    #[inline(never)]
    fn advance(&mut self, now: Instant, flow: u32, deadline: Instant) {
        let turn = self.turns[flow as usize];
        if turn.entry != NEVER {
            self.remove(turn);
        }
        let entry = self.enter(now, flow, deadline);
        self.first = self.first.min(entry);
    }

    /// The flow with a turn due at `now`, if one is. Its turn stands until
    /// [`reschedule`](Self::reschedule) sets the next.
    #[inline]
    pub(crate) fn due(&self, now: Instant) -> Option<u32> {
        (instant_of(self.first) <= now).then_some(flow_of(self.first))
    }

    /// Sets the next turn of a flow with a turn due at `now`.
    #[inline]
    pub(crate) fn reschedule(&mut self, now: Instant, flow: u32, deadline: Instant) {
        let turn = self.turns[flow as usize];
        if turn.entry != NEVER {
            self.remove(turn);
        }
        self.enter(now, flow, deadline);
        self.first = self.least(now);
    }

    /// When the next turn is.
    #[inline]
    pub(crate) fn next(&self) -> Instant {
        instant_of(self.first)
    }

    /// Enters a flow that has no turn, and returns its entry. A flow whose start is pending gets no turn: looking at
    /// all of them whenever the horizon is reached would cost the square of their number.
    #[inline]
    fn enter(&mut self, now: Instant, flow: u32, deadline: Instant) -> u128 {
        if deadline >= FlowDescription::START_PENDING {
            self.turns[flow as usize].entry = NEVER;
            return NEVER;
        }
        let at = deadline.clamp(now, now + HORIZON);
        self.entered += 1;
        let order = (self.entered << FLOW_BITS) | u64::from(flow);
        let entry = (u128::from(at.as_nanos()) << 64) | u128::from(order);
        let stretch = stretch_of(at);
        let after = std::mem::replace(&mut self.heads[stretch], flow);
        self.turns[flow as usize] = Turn { entry, before: NOBODY, after };
        if after == NOBODY {
            self.occupied.set(stretch);
        } else {
            self.turns[after as usize].before = flow;
        }
        if stretch == self.sorted_stretch {
            self.sorted.push(Reverse(entry));
        }
        entry
    }

    /// Takes the flow with this turn out of its stretch.
    #[inline]
    fn remove(&mut self, Turn { entry, before, after }: Turn) {
        if after != NOBODY {
            self.turns[after as usize].before = before;
        }
        if before != NOBODY {
            self.turns[before as usize].after = after;
            return;
        }
        let stretch = stretch_of(instant_of(entry));
        self.heads[stretch] = after;
        if after == NOBODY {
            self.occupied.clear(stretch);
        }
    }

    /// The least entry, all of which lie between `now` and the horizon.
    #[inline]
    fn least(&mut self, now: Instant) -> u128 {
        let Some(stretch) = self.occupied.first_from(stretch_of(now)) else { return NEVER };
        if stretch == self.sorted_stretch {
            return self.least_sorted();
        }
        let mut least = NEVER;
        let mut count = 0;
        let mut flow = self.heads[stretch];
        while flow != NOBODY {
            let turn = &self.turns[flow as usize];
            least = least.min(turn.entry);
            flow = turn.after;
            count += 1;
        }
        if count > FEW {
            self.sort(stretch);
        }
        least
    }

    /// Sorts the entries of a stretch, since to compare all of them at each turn would cost the square of their number.
    #[inline(never)]
    fn sort(&mut self, stretch: usize) {
        let mut entries = std::mem::take(&mut self.sorted).into_vec();
        entries.clear();
        let mut flow = self.heads[stretch];
        while flow != NOBODY {
            let turn = &self.turns[flow as usize];
            entries.push(Reverse(turn.entry));
            flow = turn.after;
        }
        self.sorted = entries.into();
        self.sorted_stretch = stretch;
    }

    /// The least entry of the sorted stretch that is still valid.
    #[inline(never)]
    fn least_sorted(&mut self) -> u128 {
        while let Some(Reverse(entry)) = self.sorted.peek() {
            if self.turns[flow_of(*entry) as usize].entry == *entry {
                return *entry;
            }
            self.sorted.pop();
        }
        NEVER
    }
}

#[inline]
fn instant_of(entry: u128) -> Instant {
    Instant::from_nanos((entry >> 64) as u64)
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the flow is in the lowest bits")]
fn flow_of(entry: u128) -> u32 {
    entry as u32 & ((1 << FLOW_BITS) - 1)
}

#[inline]
fn stretch_of(at: Instant) -> usize {
    (at.as_nanos() >> STRETCH_BITS) as usize % STRETCHES
}

/// Which stretches have entries.
#[derive(Debug)]
struct Bitmap {
    words: [u64; STRETCHES / 64],
    /// Which words have bits.
    summary: u64,
}

impl Default for Bitmap {
    fn default() -> Self {
        Self { words: [0; STRETCHES / 64], summary: 0 }
    }
}

impl Bitmap {
    #[inline]
    fn set(&mut self, stretch: usize) {
        self.words[stretch / 64] |= 1 << (stretch % 64);
        self.summary |= 1 << (stretch / 64);
    }

    #[inline]
    fn clear(&mut self, stretch: usize) {
        let word = &mut self.words[stretch / 64];
        *word &= !(1 << (stretch % 64));
        if *word == 0 {
            self.summary &= !(1 << (stretch / 64));
        }
    }

    /// The first occupied stretch from `start` on, going round.
    #[inline]
    fn first_from(&self, start: usize) -> Option<usize> {
        let (word, bit) = (start / 64, start % 64);
        let here = self.words[word] & (u64::MAX << bit);
        if here != 0 {
            return Some(word * 64 + here.trailing_zeros() as usize);
        }
        if self.summary == 0 {
            return None;
        }
        // Words after this one first, then from the beginning; this one's lower bits come last.
        let after = self.summary & (u64::MAX << word << 1);
        let words = if after == 0 { self.summary } else { after };
        let next = words.trailing_zeros() as usize;
        Some(next * 64 + self.words[next].trailing_zeros() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn take(agenda: &mut Agenda) -> Option<u32> {
        let now = agenda.next();
        let flow = agenda.due(now).filter(|_| now != Instant::MAX)?;
        agenda.reschedule(now, flow, Instant::MAX);
        Some(flow)
    }

    #[test]
    fn turns_are_ordered_by_time_then_entry() {
        let mut agenda = Agenda::with_flows(3);
        agenda.schedule(Instant::ZERO, 2, Instant::from_millis(5));
        agenda.schedule(Instant::ZERO, 0, Instant::from_millis(5));
        agenda.schedule(Instant::ZERO, 1, Instant::from_millis(4));
        let order: Vec<_> = std::iter::from_fn(|| take(&mut agenda)).collect();
        assert_eq!(order, [1, 2, 0]);
        assert_eq!(agenda.next(), Instant::MAX);
    }

    #[test]
    fn earlier_deadline_replaces_later_one() {
        let mut agenda = Agenda::with_flows(1);
        agenda.schedule(Instant::ZERO, 0, Instant::from_millis(5));
        agenda.schedule(Instant::ZERO, 0, Instant::from_millis(9));
        assert_eq!(agenda.next(), Instant::from_millis(5));
        agenda.schedule(Instant::ZERO, 0, Instant::from_millis(2));
        assert_eq!(agenda.due(Instant::from_millis(1)), None);
        assert_eq!(agenda.due(Instant::from_millis(2)), Some(0));
        agenda.reschedule(Instant::from_millis(2), 0, Instant::from_millis(9));
        assert_eq!(agenda.next(), Instant::from_millis(9));
    }

    #[test]
    fn pending_start_gets_no_turn() {
        let mut agenda = Agenda::with_flows(2);
        agenda.schedule(Instant::ZERO, 0, FlowDescription::START_PENDING);
        assert_eq!(agenda.next(), Instant::MAX);
        agenda.schedule(Instant::from_millis(3), 0, Instant::from_millis(4));
        assert_eq!(agenda.due(Instant::from_millis(4)), Some(0));
    }

    /// Far more turns at one instant than are compared each time, some of them moved or taken away.
    #[test]
    fn many_turns_of_a_stretch_come_in_order() {
        const FLOWS: u32 = 1000;
        let mut agenda = Agenda::with_flows(FLOWS as usize);
        for flow in 0..FLOWS {
            let at = Instant::from_nanos(5_000_000 + u64::from(flow * 7 % FLOWS) * 10);
            agenda.schedule(Instant::ZERO, flow, at);
        }
        let now = agenda.next();
        assert_eq!(agenda.due(now), Some(0));
        agenda.reschedule(now, 0, Instant::MAX);
        // The last of all is now the next, and the first one comes back as the last.
        let last = (0..FLOWS).max_by_key(|flow| flow * 7 % FLOWS).expect("some flows");
        agenda.schedule(now, last, now);
        agenda.schedule(now, 0, Instant::from_nanos(5_000_000 + u64::from(FLOWS) * 10));
        let mut expected: Vec<_> = (1..FLOWS).filter(|flow| *flow != last).collect();
        expected.sort_by_key(|flow| flow * 7 % FLOWS);
        let order: Vec<_> = std::iter::from_fn(|| take(&mut agenda)).collect();
        assert_eq!(order.first(), Some(&last));
        assert_eq!(order[1..order.len() - 1], expected);
        assert_eq!(order.last(), Some(&0));
    }

    proptest! {
        /// With every turn taken when it comes, and deadlines far and near, each flow is woken at
        /// its deadline exactly, in the order of time.
        #[test]
        fn deadlines_fire_in_time_order(
            flows in 1_u32..40,
            deadlines in prop::collection::vec((0_u32..40, 0_u64..5_000_000_000), 1..200),
        ) {
            let mut agenda = Agenda::with_flows(40);
            let mut model = vec![Instant::MAX; 40];
            let mut now = Instant::ZERO;
            for (flow, after) in deadlines {
                let flow = flow % flows;
                // A turn or two pass between one deadline that is set and the next.
                for _ in 0..2 {
                    if agenda.next() == Instant::MAX {
                        break;
                    }
                    now = agenda.next();
                    let due = agenda.due(now).expect("the next turn is due");
                    let deadline = model[due as usize];
                    let earliest = model.iter().min().copied().expect("some flows");
                    prop_assert!(now <= earliest, "{earliest} was missed at {now}");
                    if deadline <= now {
                        model[due as usize] = Instant::MAX;
                    }
                    agenda.reschedule(now, due, model[due as usize]);
                }
                let deadline = now + Span::from_nanos(after);
                if deadline < model[flow as usize] {
                    model[flow as usize] = deadline;
                    agenda.schedule(now, flow, deadline);
                }
            }
        }

        #[test]
        fn first_occupied_slot_is_found_circularly(
            occupied in prop::collection::btree_set(0_usize..STRETCHES, 0..20),
            start in 0_usize..STRETCHES,
        ) {
            let mut bitmap = Bitmap::default();
            for &stretch in &occupied {
                bitmap.set(stretch);
            }
            let after = occupied.range(start..).next();
            let expected = after.or_else(|| occupied.first()).copied();
            prop_assert_eq!(bitmap.first_from(start), expected);
            for &stretch in &occupied {
                bitmap.clear(stretch);
            }
            prop_assert_eq!(bitmap.first_from(start), None);
        }
    }
}
