//! Tables of a simulation beside those of its captures, value by value.

use super::captured::{Simulated, Taps};
use fairwind_assembly::{FIRST_RECEIVER_PORT, FIRST_SENDER_PORT};
use fairwind_measure::{Table, Tables, Values};
use std::collections::BTreeMap;
use std::fmt;

/// The tables that both have.
const TABLES: [&str; 6] =
    ["flows", "groups", "intervals", "latencies", "latency_histogram", "fairness"];

/// How a column of a table agrees.
#[derive(Debug, Default, Clone)]
pub(crate) struct Agreement {
    /// Values that can be known, and those that are equal: both missing counts as equal.
    pub(crate) values: u64,
    pub(crate) equal: u64,
    /// Values or rows that only one side has, though both should, or neither.
    pub(crate) one_sided: u64,
    /// The largest difference, and the largest as a share of the simulation's value.
    pub(crate) worst: f64,
    pub(crate) worst_share: f64,
    /// The sums of what the simulation knows, and of what is found.
    pub(crate) sums: (f64, f64),
    /// Where the largest difference was.
    pub(crate) example: String,
}

impl Agreement {
    pub(crate) fn is_exact(&self) -> bool {
        self.equal == self.values
    }

    /// The difference of the sums, as a share of what the simulation knows.
    pub(crate) fn sum_share(&self) -> f64 {
        let (known, found) = self.sums;
        let difference = (found - known).abs();
        if difference > 0.0 { difference / known.abs() } else { 0.0 }
    }

    fn compare(&mut self, known: Option<f64>, found: Option<f64>, place: &str) {
        self.values += 1;
        let (Some(known), Some(found)) = (known, found) else {
            if known.is_some() || found.is_some() {
                self.one_sided += 1;
                self.example = format!("{place}: {known:?}, found {found:?}");
            } else {
                self.equal += 1;
            }
            return;
        };
        self.sums = (self.sums.0 + known, self.sums.1 + found);
        if known.to_bits() == found.to_bits() {
            self.equal += 1;
            return;
        }
        let difference = (found - known).abs();
        if difference > self.worst || self.example.is_empty() {
            self.example = format!("{place}: {known}, found {found}");
        }
        self.worst = self.worst.max(difference);
        let share = if known == 0.0 { f64::INFINITY } else { difference / known.abs() };
        self.worst_share = self.worst_share.max(share);
    }
}

impl fmt::Display for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} equal", self.equal, self.values)?;
        if self.one_sided > 0 {
            write!(f, ", {} at one side only", self.one_sided)?;
        }
        write!(f, ", worst {:.6} ({:.4} %)", self.worst, self.worst_share * 100.0)?;
        write!(f, ", sums {:.4} %, e.g. {}", self.sum_share() * 100.0, self.example)
    }
}

/// How all columns agree, by table and column; rows that only one side has are the column `(rows)`.
#[derive(Debug, Default, Clone)]
pub(crate) struct Agreements(pub(crate) BTreeMap<(String, String), Agreement>);

impl Agreements {
    fn entry(&mut self, table: &str, column: &str) -> &mut Agreement {
        self.0.entry((table.to_owned(), column.to_owned())).or_default()
    }

    /// Compares the results of the captures of `taps`, and adds them; examples name `name`.
    pub(crate) fn add(&mut self, name: &str, taps: Taps, simulated: &Simulated, found: &Tables) {
        let groups = simulated.groups();
        for table in TABLES {
            let truth = simulated.tables.get(table).expect(table);
            let found = found.get(table).expect(table);
            let (known_rows, found_rows) = (rows(truth, &groups), rows(found, &groups));
            for (key, &row) in &known_rows {
                let place = format!("{name} {key}");
                match found_rows.get(key) {
                    Some(&found_row) => {
                        self.add_row(taps, (truth, row), (found, found_row), &place);
                    }
                    None if is_row_unseen(taps, truth, row, key) => {}
                    None => {
                        let there = self.entry(table, "(rows)");
                        (there.values, there.one_sided) = (there.values + 1, there.one_sided + 1);
                        there.example = place;
                    }
                }
            }
            for key in found_rows.keys().filter(|key| !known_rows.contains_key(*key)) {
                let there = self.entry(table, "(rows)");
                (there.values, there.one_sided) = (there.values + 1, there.one_sided + 1);
                there.example = format!("{name} {key}, found only");
            }
        }
    }

    fn add_row(
        &mut self,
        taps: Taps,
        (truth, row): (&Table, usize),
        (found, found_row): (&Table, usize),
        place: &str,
    ) {
        for column in truth.columns.iter().filter(|it| is_compared(&it.name)) {
            let Some(values) = found.column(&column.name) else {
                panic!("captures have no {}.{}", truth.name, column.name)
            };
            let known = value(&column.values, row);
            let is_seen = is_seen(taps, truth.name, &column.name, is_answer(place));
            self.entry(truth.name, &column.name).compare(
                known.filter(|_| is_seen),
                value(values, found_row),
                place,
            );
        }
    }
}

/// Whether a row, or its flow, is about data that goes against the opener's.
fn is_answer(key: &str) -> bool {
    key.contains("-responses")
}

/// Columns about what leaves, about what arrives, about what happens between, and about applications: each
/// by the beginning of its name.
const LEAVING: [&str; 16] = [
    "packets_sent",
    "wire_bytes_sent",
    "data_segments",
    "payload_bytes_sent",
    "bytes_retransmitted",
    "retransmission_ratio",
    "bundle",
    "ack_latency",
    "timeouts",
    "fast_retransmits",
    "syn_retries",
    "zero_window_probes",
    "problematic",
    "flows_problematic",
    "flows_with",
    "ack",
];
const ARRIVING: [&str; 9] = [
    "packets_received",
    "wire_bytes_received",
    "payload_bytes_received",
    "payload_bytes_duplicate",
    "ack_packets_sent",
    "throughput",
    "packets_marked",
    "wire_bytes_marked",
    "packet_mark",
];
const BETWEEN: [&str; 8] = [
    "packets_lost",
    "wire_bytes_lost",
    "payload_bytes_lost",
    "packet_loss",
    "wire_byte_loss",
    "payload_byte_loss",
    "ack_packets_lost",
    "ack_loss",
];
const APPLICATION: [&str; 5] =
    ["delivery", "response", "responses", "longest_wait", "flows_with_long_waits"];

/// Whether the taps can know a column: of flows that answer, the sender's tap is the receiver's.
fn is_seen(taps: Taps, table: &str, column: &str, is_answer: bool) -> bool {
    let is_one_of = |names: &[&str]| names.iter().any(|name| column.starts_with(name));
    if table == "fairness" {
        true
    } else if is_one_of(&APPLICATION) {
        false
    } else if is_one_of(&BETWEEN) {
        taps == Taps::Both
    } else if is_one_of(&ARRIVING) {
        taps == Taps::Both || (taps == Taps::Receiver) != is_answer
    } else if is_one_of(&LEAVING) {
        taps == Taps::Both || (taps == Taps::Sender) != is_answer
    } else {
        true
    }
}

/// Whether a row need not be there: of latencies that cannot be known, of windows before a flow's first
/// packet or after its last; before the first data of a flow that answers there are the set-up's packets.
fn is_row_unseen(taps: Taps, table: &Table, row: usize, key: &str) -> bool {
    if table.name == "intervals" {
        let counts = table.columns.iter().filter(|it| is_compared(&it.name));
        // At the receiver a flow begins with the first SYN that arrives.
        let begins_late = is_answer(key) || taps == Taps::Receiver;
        let no_counts: &[&str] = if begins_late {
            &[
                "interval_s",
                "start_s",
                "packets_sent",
                "wire_bytes_sent",
                "packets_received",
                "packets_lost",
                "wire_bytes_lost",
                "packet_loss_ratio",
                "wire_byte_loss_ratio",
                "throughput_bits_per_second",
            ]
        } else {
            &["interval_s", "start_s"]
        };
        let is_count = |name: &str| !no_counts.contains(&name);
        let mut counts = counts.filter(|column| is_count(&column.name));
        return key.starts_with("flow ")
            && counts.all(|column| value(&column.values, row).is_none_or(|count| count == 0.0));
    }
    let kind = table.column("kind").and_then(|kinds| kinds.text(row));
    kind.is_some_and(|kind| !is_seen(taps, table.name, kind, is_answer(key)))
}

/// Names and numbers of flows are the captures' own.
fn is_compared(column: &str) -> bool {
    !["name", "flow", "group", "scope", "kind"].contains(&column)
}

fn value(values: &Values, row: usize) -> Option<f64> {
    match values {
        Values::Bool(values) => values.get(row).map(|&value| f64::from(u8::from(value))),
        Values::OptionalBool(values) => {
            values.get(row).copied().flatten().map(|value| f64::from(u8::from(value)))
        }
        other => other.number(row),
    }
}

/// Rows by what they are about, whatever flows are called. The group of what is in no group is left out.
fn rows(table: &Table, groups: &[String]) -> BTreeMap<String, usize> {
    const KEYS: [&str; 7] = ["scope", "group", "name", "kind", "interval_s", "start_s", "lower_s"];
    let keys: &[&str] = if table.name == "flows" { &["name"] } else { &KEYS };
    let mut rows = BTreeMap::new();
    for row in 0..table.rows() {
        let text = |column: &str| -> Option<String> {
            let values = table.column(column)?;
            let number = || values.number(row).map(|number| format!("{number:.9}"));
            values.text(row).map(|text| common_name(text, groups)).or_else(number)
        };
        let parts: Vec<String> = keys.iter().filter_map(|key| text(key)).collect();
        if !parts.iter().any(|part| part == "other") {
            rows.insert(parts.join(" "), row);
        }
    }
    rows
}

/// What a flow is called by both: a capture calls it by its ends, which count groups and flows.
fn common_name(name: &str, groups: &[String]) -> String {
    let port = |end: &str| end.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
    let ends = name.split_once('>').and_then(|(from, to)| Some((port(from)?, port(to)?)));
    let Some((from, to)) = ends else { return name.to_owned() };
    let (own, other) = (from.min(to), from.max(to));
    let group = &groups[usize::from(other - FIRST_RECEIVER_PORT)];
    let number = own - FIRST_SENDER_PORT + 1;
    if from < to { format!("{group}-{number}") } else { format!("{group}-responses-{number}") }
}
