//! Bundles of old and new data, byte for byte: what the analyser reports from two captures, and what
//! bookkeeping of single bytes tells from the same packets.

use crate::agreement::{Simulated, Taps};
use fairwind_analyse::Outcome;
use fairwind_measure::Tables;
use std::collections::BTreeMap;

/// A separate flow with losses that make bundles matter; it stops long before the run does.
fn scenario(loss: &str, bounds: &str) -> String {
    format!(
        r#"
        name = "bundles"
        duration = "60 s"
        [path]
        rate = "10 Mbit/s"
        rtt = "80 ms"
        loss = "{loss}"
        [[flows]]
        name = "thin"
        stop = "50 s"
        workload = {{ kind = "thin", payload = "120 B", interval = "30 ms" }}
        tcp = {{ redundant_bundling = true, {bounds} }}
        [capture]
        points = ["sender", "receiver"]
    "#
    )
}

/// Bundles of single bytes.
#[derive(Debug, Default, PartialEq, Eq)]
struct Truth {
    sent: u64,
    bytes_sent: u64,
    hits: u64,
    misses: u64,
    bytes_hit: u64,
    bytes_missed: u64,
}

fn truth(simulated: &Simulated) -> Truth {
    let (left, arrived) = (simulated.data_packets("sender"), simulated.data_packets("receiver"));
    let mut truth = Truth::default();
    // Old bytes of each bundle, by where it lies: the same place is taken by one bundle only.
    let mut bundles: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    let mut highest = 0;
    for (start, end) in left {
        if start < highest && highest < end {
            truth.sent += 1;
            truth.bytes_sent += highest - start;
            assert_eq!(bundles.insert((start, end), highest), None, "a bundle was sent twice");
        }
        highest = highest.max(end);
    }
    let mut has_arrived = vec![false; usize::try_from(highest).expect("a place")];
    for (start, end) in arrived {
        let place = |offset: u64| usize::try_from(offset).expect("a place");
        if let Some(new_from) = bundles.get(&(start, end)) {
            let old = &has_arrived[place(start)..place(*new_from)];
            let hit = old.iter().filter(|has_arrived| !**has_arrived).count() as u64;
            truth.hits += u64::from(hit > 0);
            truth.misses += u64::from(hit == 0);
            truth.bytes_hit += hit;
            truth.bytes_missed += old.len() as u64 - hit;
        }
        has_arrived[place(start)..place(end)].fill(true);
    }
    assert!(has_arrived.iter().all(|arrived| *arrived), "the whole stream arrived");
    truth
}

fn count(outcome: &Outcome, table: &str, column: &str) -> u64 {
    count_in(&outcome.tables, table, column)
}

fn count_in(tables: &Tables, table: &str, column: &str) -> u64 {
    let table = tables.get(table).unwrap_or_else(|| panic!("no table {table}"));
    let values = table.column(column).unwrap_or_else(|| panic!("no column {column}"));
    // Some tables have a row for the group of the flow, too.
    let scope = table.column("scope");
    let of_flow = |row: &usize| scope.is_none_or(|scope| scope.text(*row) == Some("flow"));
    let sum: f64 = (0..table.rows()).filter(of_flow).filter_map(|row| values.number(row)).sum();
    format!("{sum:.0}").parse().expect("a number")
}

fn measured(outcome: &Outcome) -> Truth {
    let passages = |column| count(outcome, "passages", column);
    Truth {
        sent: passages("bundles_sent"),
        bytes_sent: passages("bundled_bytes_sent"),
        hits: passages("bundle_hits"),
        misses: passages("bundle_misses"),
        bytes_hit: passages("bundled_bytes_hit"),
        bytes_missed: passages("bundled_bytes_missed"),
    }
}

#[test]
fn bundle_hits_and_misses_are_exact() {
    let variants = [
        ("seldom", "1 %", ""),
        ("often", "6 %", ""),
        ("many", "4 %", "redundant_segments = 0"),
        ("bounded", "4 %", "redundant_segments = 0, redundant_bytes = \"400 B\""),
    ];
    for (name, loss, bounds) in variants {
        let simulated = Simulated::run(&format!("bundles-{name}"), &scenario(loss, bounds), 5);
        let known = truth(&simulated);
        assert!(known.sent > 500 && known.hits > 5, "{name}: {known:?}, which is no test");
        assert_eq!(measured(&simulated.analyse(Taps::Both)), known, "{name}");
        let at_sender = simulated.analyse(Taps::Sender);
        assert_eq!(count(&at_sender, "transport", "bundles"), known.sent, "{name}");
        assert_eq!(count(&at_sender, "transport", "bundled_bytes"), known.bytes_sent, "{name}");
    }
}

/// Bundles and retransmissions in a table of the run, or of its captures.
fn counted(tables: &Tables) -> [u64; 6] {
    let of = |table, column| count_in(tables, table, column);
    [
        of("flows", "data_segments_sent"),
        of("flows", "bundles_sent"),
        of("flows", "bundled_bytes_sent"),
        of("flows", "data_segments_retransmitted"),
        of("flows", "bytes_retransmitted"),
        of("groups", "bundled_bytes_sent"),
    ]
}

/// Connected after 90 ms, it writes every so often from then until 620 ms, and each write goes at once: with 60 ms
/// between them nine, each but the first with the one before, which is acknowledged 90 ms after it left; with
/// 100 ms six, each of which finds all before it acknowledged.
#[test]
fn run_and_captures_count_equal_timed_bundles() {
    for (interval, counted_by_hand) in
        [("60 ms", [9, 8, 8 * 120, 0, 0, 8 * 120]), ("100 ms", [6, 0, 0, 0, 0, 0])]
    {
        let text = format!(
            r#"
            name = "few"
            duration = "5 s"
            [path]
            rate = "10 Mbit/s"
            rtt = "90 ms"
            [[flows]]
            name = "thin"
            stop = "620 ms"
            workload = {{ kind = "thin", payload = "120 B", interval = "{interval}" }}
            tcp = {{ redundant_bundling = true }}
            [capture]
            points = ["sender", "receiver"]
            "#
        );
        let simulated = Simulated::run(&format!("few-{interval}"), &text, 1);
        assert_eq!(counted(&simulated.tables), counted_by_hand, "{interval}");
        for taps in [Taps::Both, Taps::Sender] {
            let found = counted(&simulated.analyse(taps).tables);
            assert_eq!(found, counted_by_hand, "{interval} {taps:?}");
        }
    }
}

#[test]
fn run_and_captures_count_equal_bundles_and_retransmissions() {
    for (name, loss) in [("without", "0 %"), ("with", "5 %")] {
        let simulated = Simulated::run(&format!("same-{name}"), &scenario(loss, ""), 7);
        let known = truth(&simulated);
        // What ends where something before it has ended brings nothing new.
        let mut highest = 0;
        let old = simulated.data_packets("sender").into_iter().filter_map(|(start, end)| {
            let is_old = end <= highest;
            highest = highest.max(end);
            is_old.then_some(end - start)
        });
        let old: Vec<u64> = old.collect();
        assert_eq!(old.is_empty(), loss == "0 %", "{name}");
        let by_run = counted(&simulated.tables);
        let repeated = [old.len() as u64, old.iter().sum()];
        assert_eq!(by_run[1..3], [known.sent, known.bytes_sent], "{name}");
        assert_eq!(by_run[3..5], repeated, "{name}");
        for taps in [Taps::Both, Taps::Sender] {
            assert_eq!(counted(&simulated.analyse(taps).tables), by_run, "{name} {taps:?}");
        }
    }
}
