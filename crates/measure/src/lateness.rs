//! How well a network that is driven in real time kept time.
//!
//! What should happen at an instant happens when somebody wakes up for it: a packet is handed over
//! later than it was due. An experiment is what it claims to be only as far as that is short.
//!
//! Cost per delivery: one sample of a [distribution](crate::distribution).

use crate::distribution::{Counts, Times};
use crate::table::Table;
use crate::tabulate::lateness_table;
use fairwind_units::Span;

/// What became of packets that hosts gave to a router.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RoutedPackets {
    /// Taken from hosts, whatever became of them.
    pub taken: u64,
    /// Of these, carried although they belong to no flow that is measured.
    pub unmeasured: u64,
    /// Of these, for nobody here, or not to be understood: thrown away and counted nowhere else.
    pub discarded: u64,
    /// Carried, but refused by the kernel at their destination.
    pub refused: u64,
    /// Datagrams that never came out of their host's device, as far as the router can tell.
    pub missing: u64,
}

/// Lateness of deliveries, and the bound that it is judged by.
#[derive(Debug, Clone)]
pub struct Lateness {
    bound: Span,
    deliveries: Times,
    beyond_bound: u64,
    batches: Counts,
    /// What became of packets.
    pub packets: RoutedPackets,
    /// Events of the kernel's endpoints that were lost because they came faster than they were read.
    pub events_missed: u64,
}

impl Lateness {
    /// Of nothing yet.
    pub fn new(bound: Span) -> Self {
        Self {
            bound,
            deliveries: Times::new(),
            beyond_bound: 0,
            batches: Counts::new(),
            packets: RoutedPackets::default(),
            events_missed: 0,
        }
    }

    /// A packet was handed over `late` after it was due.
    #[inline]
    pub fn on_delivery(&mut self, late: Span) {
        self.beyond_bound += u64::from(late > self.bound);
        self.deliveries.record(late.as_nanos());
    }

    /// So many packets of one host were waiting when the router looked: all but the last of them
    /// had been ready before.
    #[inline]
    pub fn on_batch(&mut self, packets: u64) {
        self.batches.record(packets);
    }

    /// What its 99th percentile may be.
    pub const fn bound(&self) -> Span {
        self.bound
    }

    /// The lateness that this per cent of the deliveries do not exceed, at most 1 % (or 0.5 us)
    /// above the true one; `None` without deliveries.
    pub fn percentile(&self, percentile: f64) -> Option<Span> {
        let rank = crate::formula::rank(percentile, self.deliveries.count())?;
        let values = self.deliveries.values_of_ranks(&[rank]);
        values.first().copied().map(Span::from_nanos)
    }

    /// Whether the 99th percentile is above the bound.
    pub fn exceeds_bound(&self) -> bool {
        self.percentile(99.0).is_some_and(|late| late > self.bound)
    }

    /// The table `lateness`, of one row.
    pub fn table(&self) -> Table {
        lateness_table(self)
    }

    pub(crate) const fn deliveries(&self) -> &Times {
        &self.deliveries
    }

    pub(crate) const fn beyond_bound(&self) -> u64 {
        self.beyond_bound
    }

    pub(crate) const fn batches(&self) -> &Counts {
        &self.batches
    }
}
