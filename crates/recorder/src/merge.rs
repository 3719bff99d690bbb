//! Merge of the batches of many observers by time.
//!
//! An entry is released once every other observer has reported a later entry or a later watermark.
//! Entries of one observer keep their order: a late entry gets the latest instant before it.
//!
//! Cost: one comparison per entry; one look at each observer per change of the observer.

use super::observations::{Batch, Dispatch, Entry};
use fairwind_units::{Instant, Span};
use std::collections::VecDeque;

/// Batches of one observer that were not yet released.
struct Source {
    batches: VecDeque<Batch>,
    /// Next entry of the first batch.
    next: usize,
    /// The latest instant of an entry so far.
    latest: Instant,
    complete_until: Instant,
    /// Approximate memory of the batches.
    held_bytes: usize,
}

impl Source {
    /// The next entry's place in the order of all.
    fn head(&self) -> Option<Instant> {
        let entry = self.batches.front()?.entries.get(self.next)?;
        Some(entry.at.max(self.latest))
    }

    /// All further entries of this observer are at this instant or later.
    fn bound(&self) -> Instant {
        self.head().unwrap_or(self.complete_until)
    }

    /// The latest instant of its entries.
    fn reach(&self) -> Instant {
        let entries = self.batches.iter().rev().filter_map(|batch| batch.entries.last());
        entries.map(|entry| entry.at).next().unwrap_or(self.latest)
    }

    /// Drops batches that were given out, to `used`.
    fn drop_used(&mut self, mut used: impl FnMut(Batch)) {
        while self.batches.front().is_some_and(|batch| self.next >= batch.entries.len()) {
            self.next = 0;
            if let Some(batch) = self.batches.pop_front() {
                self.held_bytes -= batch.memory_bytes();
                used(batch);
            }
        }
    }
}

/// Orders the entries of all observers by time.
pub(super) struct Merge {
    sources: Vec<Source>,
}

impl Merge {
    /// A merge of observers 0 to `sources`.
    pub(super) fn new(sources: usize) -> Self {
        let source = || Source {
            batches: VecDeque::new(),
            next: 0,
            latest: Instant::ZERO,
            complete_until: Instant::ZERO,
            held_bytes: 0,
        };
        Self { sources: (0..sources).map(|_| source()).collect() }
    }

    /// Whether all observers are finished and all entries were released.
    pub(super) fn is_finished(&self) -> bool {
        self.sources.iter().all(|source| source.bound() == Instant::MAX)
    }

    /// Until when all entries were released, or wait to be.
    pub(super) fn complete_until(&self) -> Instant {
        self.sources.iter().map(Source::bound).min().unwrap_or_default()
    }

    pub(super) fn add(&mut self, dispatch: Dispatch) {
        let source = &mut self.sources[dispatch.source];
        source.complete_until = source.complete_until.max(dispatch.batch.complete_until);
        source.held_bytes += dispatch.batch.memory_bytes();
        source.batches.push_back(dispatch.batch);
    }

    /// Approximate memory of all entries that wait for release, in bytes.
    pub(super) fn held_bytes(&self) -> usize {
        self.sources.iter().map(|source| source.held_bytes).sum()
    }

    /// The observer that all others wait for, and how far it is behind their latest entry.
    pub(super) fn hindmost(&self) -> (usize, Span) {
        let bounds = self.sources.iter().map(Source::bound).enumerate();
        let (place, bound) = bounds.min_by_key(|&(_, bound)| bound).unwrap_or_default();
        let reach = self.sources.iter().map(Source::reach).max().unwrap_or_default();
        (place, reach.saturating_since(bound))
    }

    /// Releases the entries that are in order by now, and used batches.
    pub(super) fn give_out(
        &mut self,
        mut entry: impl FnMut(&Batch, &Entry),
        mut used: impl FnMut(usize, Batch),
    ) {
        while let Some((first, limit)) = self.next_stretch() {
            let source = &mut self.sources[first];
            while let Some(at) = source.head().filter(|&at| at <= limit) {
                source.latest = at;
                let batch = &source.batches[0];
                entry(batch, &batch.entries[source.next]);
                source.next += 1;
                source.drop_used(|batch| used(first, batch));
            }
        }
    }

    /// The observer with the earliest entries, and up to which instant; none while another observer is
    /// behind.
    fn next_stretch(&mut self) -> Option<(usize, Instant)> {
        for source in &mut self.sources {
            // Batches without entries only advance the watermark of an observer.
            source.drop_used(drop);
        }
        let bounds = self.sources.iter().map(Source::bound).enumerate();
        let (first, bound) = bounds.clone().min_by_key(|&(_, bound)| bound)?;
        let limit = bounds.filter(|&(place, _)| place != first).map(|(_, bound)| bound).min();
        let has_entry = self.sources[first].head().is_some();
        (has_entry && bound < Instant::MAX).then(|| (first, limit.unwrap_or(Instant::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::observations::RecordedEvent;
    use super::*;
    use fairwind_measure::{FlowId, Observation};

    /// A batch of an observer; the flow of an entry identifies it.
    fn dispatch(source: usize, entries: &[(u64, u32)], complete_until: u64) -> Dispatch {
        let entry = |&(at, number): &(u64, u32)| Entry {
            at: Instant::from_millis(at),
            event: RecordedEvent::Observed(Observation::Timeout { flow: FlowId(number) }),
        };
        let entries = entries.iter().map(entry).collect();
        let complete_until = match complete_until {
            u64::MAX => Instant::MAX,
            millis => Instant::from_millis(millis),
        };
        Dispatch { source, batch: Batch { entries, complete_until, ..Batch::default() } }
    }

    fn given(merge: &mut Merge) -> Vec<u32> {
        let mut numbers = Vec::new();
        let number = |_: &Batch, entry: &Entry| match entry.event {
            RecordedEvent::Observed(Observation::Timeout { flow }) => numbers.push(flow.0),
            _ => unreachable!("nothing else was written"),
        };
        merge.give_out(number, |_, _| {});
        numbers
    }

    #[test]
    fn entry_waits_for_all_observers() {
        let mut merge = Merge::new(2);
        merge.add(dispatch(0, &[(1, 10), (5, 11)], 6));
        assert!(given(&mut merge).is_empty());
        merge.add(dispatch(1, &[(2, 20)], 3));
        assert_eq!(given(&mut merge), [10, 20]);
        merge.add(dispatch(1, &[], 9));
        assert_eq!(given(&mut merge), [11]);
    }

    #[test]
    fn late_entry_keeps_its_observers_order() {
        let mut merge = Merge::new(2);
        merge.add(dispatch(0, &[(4, 10), (1, 11), (6, 12)], u64::MAX));
        merge.add(dispatch(1, &[(2, 20), (5, 21)], u64::MAX));
        assert_eq!(given(&mut merge), [20, 10, 11, 21, 12]);
        assert!(merge.is_finished());
    }

    #[test]
    fn held_bytes_count_until_release() {
        let mut merge = Merge::new(3);
        merge.add(dispatch(0, &[(1, 10), (5, 11)], 6));
        let of_two = merge.held_bytes();
        assert!(of_two >= 2 * size_of::<Entry>());
        merge.add(dispatch(1, &[(2, 20)], 3));
        merge.add(dispatch(2, &[(3, 30), (4, 31)], 5));
        assert_eq!(merge.held_bytes(), 2 * of_two + of_two / 2);
        // The second observer may still report an entry of 3 ms; the first has reported one of 5 ms.
        assert_eq!(given(&mut merge), [10, 20]);
        assert_eq!(merge.hindmost(), (1, Span::from_millis(2)));
        merge.add(dispatch(1, &[], u64::MAX));
        assert_eq!(given(&mut merge), [30, 31, 11]);
        assert_eq!(merge.held_bytes(), 0);
    }

    #[test]
    fn merge_finishes_with_last_observer() {
        let mut merge = Merge::new(2);
        merge.add(dispatch(0, &[(1, 10)], u64::MAX));
        assert!(!merge.is_finished());
        merge.add(dispatch(1, &[], u64::MAX));
        assert_eq!(given(&mut merge), [10]);
        assert!(merge.is_finished());
    }
}
