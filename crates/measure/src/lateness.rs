//! How well a network that is driven in real time kept time.
//!
//! What should happen at an instant happens when somebody wakes up for it: a packet is handed over
//! later than it was due. An experiment is what it claims to be only as far as that is short.
//!
//! Cost per delivery: one sample of a [distribution](crate::distribution).

use crate::distribution::{Counts, Times};
use crate::formula::seconds;
use crate::summary::{Percentiles, Summary};
use crate::table::{Table, TableBuilder};
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

struct Row<'a> {
    lateness: &'a Lateness,
    deliveries: Summary,
    batches: Summary,
}

/// The percentiles that the columns show.
const SHOWN_PERCENTILES: [f64; 4] = [50.0, 90.0, 99.0, 99.9];

/// One row.
fn lateness_table(lateness: &Lateness) -> Table {
    let percentiles = &Percentiles::new(SHOWN_PERCENTILES);
    let rows = [Row {
        lateness,
        deliveries: Summary::of(lateness.deliveries(), percentiles),
        batches: Summary::of(lateness.batches(), percentiles),
    }];
    let [p50, p90, p99, p99_9] = SHOWN_PERCENTILES.map(|percentile| percentiles.place(percentile));
    TableBuilder::new("lateness", &rows)
        .with("bound_s", |row| seconds(row.lateness.bound().as_nanos()))
        .with("exceeds_bound", |row| row.lateness.exceeds_bound())
        .with("deliveries", |row| row.deliveries.count)
        .with("deliveries_beyond_bound", |row| row.lateness.beyond_bound())
        .with("lateness_mean_s", |row| row.deliveries.mean_s())
        .with("lateness_p50_s", |row| row.deliveries.percentile_s(p50))
        .with("lateness_p90_s", |row| row.deliveries.percentile_s(p90))
        .with("lateness_p99_s", |row| row.deliveries.percentile_s(p99))
        .with("lateness_p99_9_s", |row| row.deliveries.percentile_s(p99_9))
        .with("lateness_max_s", |row| row.deliveries.maximum_s())
        .with("batch_mean_packets", |row| row.batches.mean)
        .with("batch_p99_packets", |row| row.batches.percentile(p99))
        .with("batch_max_packets", |row| row.batches.maximum)
        .with("packets_taken", |row| row.lateness.packets.taken)
        .with("packets_unmeasured", |row| row.lateness.packets.unmeasured)
        .with("packets_discarded", |row| row.lateness.packets.discarded)
        .with("packets_refused", |row| row.lateness.packets.refused)
        .with("datagrams_missing", |row| row.lateness.packets.missing)
        .with("events_missed", |row| row.lateness.events_missed)
        .build()
}
