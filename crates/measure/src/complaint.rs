//! What was amiss with congestion controls from outside.

use crate::table::{Table, TableBuilder};

/// Something that one group's congestion control did and should not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlComplaint {
    /// The group of flows.
    pub group: String,
    /// The congestion control's name.
    pub congestion: String,
    /// What was amiss.
    pub complaint: String,
    /// Connections of the group with which it was.
    pub connections: u64,
    /// How often altogether, where that is counted.
    pub times: Option<u64>,
}

/// The table `control_complaints`, one row for each.
pub fn control_complaints_table(complaints: &[ControlComplaint]) -> Table {
    TableBuilder::new("control_complaints", complaints)
        .with("group", |row| row.group.clone())
        .with("congestion", |row| row.congestion.clone())
        .with("complaint", |row| row.complaint.clone())
        .with("connections", |row| row.connections)
        .with("times", |row| row.times)
        .build()
}
