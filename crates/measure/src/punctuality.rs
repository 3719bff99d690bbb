//! How it went at hosts that live in real time.

use crate::formula::seconds;
use crate::table::{Table, TableBuilder};
use fairwind_units::Span;

/// How punctual the applications of one host were, and what it met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostLateness {
    /// The host's name.
    pub host: String,
    /// Writes that were due at an instant.
    pub timed_writes: u64,
    /// How late they were on average.
    pub mean: Span,
    /// How late 99 of 100 were at most.
    pub p99: Span,
    /// How late the latest was.
    pub maximum: Span,
    /// Connections that came from where nobody was expected.
    pub unexpected_connections: u64,
    /// Connections that the other end broke off while this host was reading.
    pub broken_connections: u64,
}

/// The table `hosts`, one row for each.
pub fn hosts_table(hosts: &[HostLateness]) -> Table {
    let late =
        |host: &HostLateness, late: Span| (host.timed_writes > 0).then(|| seconds(late.as_nanos()));
    TableBuilder::new("hosts", hosts)
        .with("host", |row| row.host.clone())
        .with("timed_writes", |row| row.timed_writes)
        .with("late_write_mean_s", |row| late(row, row.mean))
        .with("late_write_p99_s", |row| late(row, row.p99))
        .with("late_write_max_s", |row| late(row, row.maximum))
        .with("unexpected_connections", |row| row.unexpected_connections)
        .with("broken_connections", |row| row.broken_connections)
        .build()
}
