//! The table `fairness`: how evenly goodput is spread.

use super::{Measurement, group_index};
use crate::fairness::Fairness;
use crate::formula::{bits_per_second, real};
use crate::table::{Table, TableBuilder};

struct Row<'a> {
    scope: &'static str,
    name: &'a str,
    fairness: Fairness,
}

/// Rows: all flows; the flows of each group; the groups, each by its mean per flow.
pub(super) fn fairness_table(measurement: &Measurement<'_>) -> Table {
    let groups = goodput_by_group(measurement);
    let all: Vec<f64> = groups.iter().flatten().copied().collect();
    let means: Vec<f64> = groups.iter().filter_map(|group| mean(group)).collect();
    let mut rows = vec![Row { scope: "all", name: "all", fairness: Fairness::among(&all) }];
    for (name, goodputs) in measurement.settings.groups.iter().zip(&groups) {
        rows.push(Row { scope: "group", name, fairness: Fairness::among(goodputs) });
    }
    rows.push(Row { scope: "between_groups", name: "all", fairness: Fairness::among(&means) });
    TableBuilder::new("fairness", &rows)
        .with("scope", |row| row.scope.to_owned())
        .with("name", |row| row.name.to_owned())
        .with("members", |row| u64::try_from(row.fairness.members).unwrap_or(u64::MAX))
        .with("jain_index", |row| row.fairness.jain_index)
        .with("minimum_to_maximum_ratio", |row| row.fairness.minimum_to_maximum())
        .with("goodput_min_bits_per_second", |row| row.fairness.minimum)
        .with("goodput_max_bits_per_second", |row| row.fairness.maximum)
        .build()
}

/// Goodput of the flows of each group in bits per second; nobody where nothing was measured.
fn goodput_by_group(measurement: &Measurement<'_>) -> Vec<Vec<f64>> {
    let mut groups = vec![Vec::new(); measurement.settings.groups.len()];
    for (description, flow) in measurement.described_flows() {
        let goodput = bits_per_second(flow.totals().payload_bytes_read, measurement.measured);
        groups[group_index(description)].extend(goodput);
    }
    groups
}

fn mean(values: &[f64]) -> Option<f64> {
    let count = u64::try_from(values.len()).ok().filter(|count| *count > 0)?;
    Some(values.iter().sum::<f64>() / real(count))
}
