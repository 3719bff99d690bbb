//! How it went at the hosts, as a table.

use fairwind_hosts::HostStatistics;
use fairwind_measure::{HostLateness, Table};

/// One row for each host, by name.
pub(super) fn hosts_table(hosts: &[(String, HostStatistics)]) -> Table {
    let rows: Vec<HostLateness> = hosts
        .iter()
        .map(|(name, statistics)| HostLateness {
            host: name.clone(),
            timed_writes: statistics.timed_writes,
            mean: statistics.mean_lateness,
            p99: statistics.p99_lateness,
            maximum: statistics.greatest_lateness,
            unexpected_connections: statistics.unexpected_connections,
            broken_connections: statistics.broken_while_reading,
        })
        .collect();
    fairwind_measure::hosts_table(&rows)
}
