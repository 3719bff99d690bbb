//! Measures that captures can only estimate: the reason and the tolerance.

use super::captured::Taps;
use super::compare::Agreement;

/// How far off.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Bound {
    /// Each value by this much at most, in the column's unit.
    Difference(f64),
    /// Each value by this share of the true one.
    Share(f64),
    /// Single values as they come, but their sum by this share at most.
    Sum(f64),
    /// A quotient of such values: where nothing is counted below the line, there is none.
    Quotient(f64),
}

impl Bound {
    pub(crate) fn holds(self, agreement: &Agreement) -> bool {
        let is_there = agreement.one_sided == 0 || matches!(self, Self::Quotient(_));
        is_there
            && match self {
                Self::Difference(most) => agreement.worst <= most,
                Self::Share(most) => agreement.worst_share <= most,
                Self::Sum(most) | Self::Quotient(most) => agreement.sum_share() <= most,
            }
    }
}

/// Columns that are estimates where these taps see them.
#[derive(Debug)]
pub(crate) struct Estimate {
    pub(crate) taps: &'static [Taps],
    pub(crate) tables: &'static [&'static str],
    pub(crate) columns: &'static [&'static str],
    pub(crate) bound: Bound,
}

impl Estimate {
    pub(crate) fn is_of(&self, table: &str, column: &str) -> bool {
        self.tables.contains(&table) && self.columns.contains(&column)
    }
}

const TOTALS: &[&str] = &["flows", "groups"];
const WINDOWS: &[&str] = &["intervals"];

/// In scenarios with connections that are established and do not fail. The page about captures has the same table
/// (`docs/concepts/analyser.md`).
pub(crate) const USUAL: &[Estimate] = &[
    // Inferred; the matrices of `causes` say how well.
    Estimate {
        taps: &[Taps::Sender, Taps::Receiver, Taps::Both],
        tables: TOTALS,
        columns: &["fast_retransmits"],
        bound: Bound::Sum(0.02),
    },
    Estimate {
        taps: &[Taps::Sender, Taps::Receiver, Taps::Both],
        tables: TOTALS,
        columns: &["timeouts"],
        bound: Bound::Sum(0.1),
    },
    // What is under way when the captures end is not lost yet.
    Estimate {
        taps: &[Taps::Both],
        tables: TOTALS,
        columns: &["packets_lost", "ack_packets_lost"],
        bound: Bound::Difference(2.0),
    },
    Estimate {
        taps: &[Taps::Both],
        tables: TOTALS,
        columns: &["wire_bytes_lost", "payload_bytes_lost"],
        bound: Bound::Difference(3000.0),
    },
    Estimate {
        taps: &[Taps::Both],
        tables: TOTALS,
        columns: &[
            "packet_loss_ratio",
            "wire_byte_loss_ratio",
            "payload_byte_loss_ratio",
            "ack_loss_ratio",
        ],
        bound: Bound::Difference(0.003),
    },
    // By the instant at which the packet left, not at which it was lost.
    Estimate {
        taps: &[Taps::Both],
        tables: WINDOWS,
        columns: &["packets_lost", "wire_bytes_lost"],
        bound: Bound::Sum(0.001),
    },
    Estimate {
        taps: &[Taps::Both],
        tables: WINDOWS,
        columns: &["packet_loss_ratio", "wire_byte_loss_ratio"],
        bound: Bound::Quotient(0.02),
    },
    // Inferred time-outs: one more or less may end a row of them.
    Estimate {
        taps: &[Taps::Sender, Taps::Receiver, Taps::Both],
        tables: &["flows"],
        columns: &["timeouts_in_a_row_max"],
        bound: Bound::Difference(1.0),
    },
    // The packets of a set-up, where the first answer comes in a later window.
    Estimate {
        taps: &[Taps::Sender, Taps::Receiver, Taps::Both],
        tables: WINDOWS,
        columns: &["packets_sent", "wire_bytes_sent", "packets_received"],
        bound: Bound::Sum(0.001),
    },
    Estimate {
        taps: &[Taps::Sender, Taps::Receiver, Taps::Both],
        tables: WINDOWS,
        columns: &["throughput_bits_per_second"],
        bound: Bound::Sum(0.001),
    },
    // What a receiver throws away for lack of room has arrived nevertheless.
    Estimate {
        taps: &[Taps::Both],
        tables: WINDOWS,
        columns: &["goodput_bits_per_second"],
        bound: Bound::Sum(1e-6),
    },
    // The same numbers, added in another order.
    Estimate {
        taps: &[Taps::Both],
        tables: &["fairness"],
        columns: &[
            "jain_index",
            "minimum_to_maximum_ratio",
            "goodput_min_bits_per_second",
            "goodput_max_bits_per_second",
        ],
        bound: Bound::Share(1e-12),
    },
    // What is acknowledged stands for what has arrived: later by the way back.
    Estimate {
        taps: &[Taps::Sender, Taps::Receiver],
        tables: TOTALS,
        columns: &[
            "payload_bytes_read",
            "goodput_bits_per_second",
            "goodput_per_flow_bits_per_second",
        ],
        bound: Bound::Share(0.03),
    },
    Estimate {
        taps: &[Taps::Sender, Taps::Receiver],
        tables: &["fairness"],
        columns: &[
            "jain_index",
            "minimum_to_maximum_ratio",
            "goodput_min_bits_per_second",
            "goodput_max_bits_per_second",
        ],
        bound: Bound::Share(0.03),
    },
    Estimate {
        taps: &[Taps::Sender, Taps::Receiver],
        tables: WINDOWS,
        columns: &["goodput_bits_per_second"],
        bound: Bound::Sum(0.005),
    },
    // Later by the way back.
    Estimate {
        taps: &[Taps::Sender],
        tables: TOTALS,
        columns: &["finished_s", "completion_time_s"],
        bound: Bound::Difference(0.2),
    },
    // Reported by D-SACK alone, on acknowledgments that may be lost.
    Estimate {
        taps: &[Taps::Sender],
        tables: TOTALS,
        columns: &["payload_bytes_duplicate"],
        bound: Bound::Difference(1448.0),
    },
    // At the receiver a flow begins when its first SYN arrives, of which earlier ones may have been lost,
    // and is established when the third packet of the set-up does.
    Estimate {
        taps: &[Taps::Receiver],
        tables: TOTALS,
        columns: &[
            "start_s",
            "setup_time_s",
            "setup_time_mean_s",
            "completion_time_s",
            "finished_s",
        ],
        bound: Bound::Difference(1.2),
    },
];
