//! The table `lateness`: how well a network in real time kept time.

use crate::formula::seconds;
use crate::lateness::Lateness;
use crate::summary::{Percentiles, Summary};
use crate::table::{Table, TableBuilder};

struct Row<'a> {
    lateness: &'a Lateness,
    deliveries: Summary,
    batches: Summary,
}

/// The percentiles that the columns show.
const SHOWN_PERCENTILES: [f64; 4] = [50.0, 90.0, 99.0, 99.9];

/// One row.
pub(crate) fn lateness_table(lateness: &Lateness) -> Table {
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
