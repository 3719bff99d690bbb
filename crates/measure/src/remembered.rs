//! What hosts remember of their peers when a run is over.

use crate::table::{Table, TableBuilder};
use fairwind_units::Span;
use std::net::IpAddr;

/// A peer of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedWindow {
    /// Who remembers.
    pub host: String,
    /// Whom.
    pub peer: IpAddr,
    /// The window in segments.
    pub window_packets: u32,
    /// How old it is.
    pub age: Span,
}

/// The table `remembered`, by host and address.
pub fn remembered_table(mut peers: Vec<CachedWindow>) -> Table {
    peers.sort_by(|one, other| (&one.host, one.peer).cmp(&(&other.host, other.peer)));
    TableBuilder::new("remembered", &peers)
        .with("host", |row| row.host.clone())
        .with("peer", |row| row.peer.to_string())
        .with("window_packets", |row| u64::from(row.window_packets))
        .with("age_s", |row| row.age.as_secs_f64())
        .build()
}
