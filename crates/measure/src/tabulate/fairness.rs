//! The table `fairness`: how evenly goodput is spread.

use super::{Measurement, OpenFlow};
use crate::fairness::Fairness;
use crate::formula::bits_per_second;
use crate::points::ObservationPoints;
use crate::table::{Table, TableBuilder};

struct Row<'a> {
    scope: &'static str,
    name: &'a str,
    fairness: Fairness,
}

/// Rows: all flows; the flows of each group; the groups, each by its mean per flow. Flows whose reader
/// nobody watches do not compete.
pub(super) fn fairness_table(measurement: &Measurement<'_>) -> Table {
    let goodputs = goodput_by_group(measurement);
    let open: Vec<f64> = goodputs.iter().flatten().copied().collect();
    // Of retired flows only the bytes are kept, in sums.
    let unit = bits_per_second(1, measurement.basis.measured());
    let with_retired = |fairness: Fairness, group: usize| match unit {
        Some(unit) => fairness.and(&measurement.retired[group].bytes_read, unit),
        None => fairness,
    };
    let groups: Vec<Fairness> = goodputs
        .iter()
        .enumerate()
        .map(|(group, goodputs)| with_retired(Fairness::among(goodputs), group))
        .collect();
    let all = (0..groups.len()).fold(Fairness::among(&open), with_retired);
    let means: Vec<f64> = groups.iter().filter_map(Fairness::mean).collect();
    let mut rows = vec![Row { scope: "all", name: "all", fairness: all }];
    for (name, fairness) in measurement.basis.settings.groups.iter().zip(groups) {
        rows.push(Row { scope: "group", name, fairness });
    }
    rows.push(Row { scope: "between_groups", name: "all", fairness: Fairness::among(&means) });
    TableBuilder::new("fairness", &rows)
        .with("scope", |row| row.scope.to_owned())
        .with("name", |row| row.name.to_owned())
        .with("members", |row| row.fairness.members)
        .with("jain_index", |row| row.fairness.jain_index())
        .with("minimum_to_maximum_ratio", |row| row.fairness.minimum_to_maximum())
        .with("goodput_min_bits_per_second", |row| row.fairness.minimum)
        .with("goodput_max_bits_per_second", |row| row.fairness.maximum)
        .build()
}

/// Goodput of the open flows of each group in bits per second; nobody where nothing was measured.
fn goodput_by_group(measurement: &Measurement<'_>) -> Vec<Vec<f64>> {
    let mut groups = vec![Vec::new(); measurement.basis.settings.groups.len()];
    for OpenFlow { description, flow, .. } in measurement.open {
        if description.seen_at.contains(ObservationPoints::READER) {
            let bytes = flow.totals().payload_bytes_read;
            let goodput = bits_per_second(bytes, measurement.basis.measured());
            groups[description.group_index()].extend(goodput);
        }
    }
    groups
}
