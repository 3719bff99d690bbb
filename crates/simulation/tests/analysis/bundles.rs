//! Bundles of old and new data, byte for byte: what the analyser tells of them from two captures, and what
//! bookkeeping of single bytes tells from the same packets.

use crate::agreement::{Simulated, Taps};
use fairwind_analyse::Outcome;
use std::collections::BTreeMap;

/// A flow of its own, whose losses make bundles matter; it stops long before the run does.
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

/// What single bytes tell of bundles.
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
    let table = outcome.tables.get(table).unwrap_or_else(|| panic!("no table {table}"));
    let values = table.column(column).unwrap_or_else(|| panic!("no column {column}"));
    // Some tables have a row for the group of the flow, too.
    let scope = table.column("scope");
    let of_flow = |row: &usize| scope.is_none_or(|scope| scope.text(*row) == Some("flow"));
    let sum: f64 = (0..table.rows()).filter(of_flow).filter_map(|row| values.number(row)).sum();
    format!("{sum:.0}").parse().expect("a number")
}

fn told(outcome: &Outcome) -> Truth {
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
fn hits_and_misses_of_bundles_are_told_as_they_happened() {
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
        assert_eq!(told(&simulated.analyse(Taps::Both)), known, "{name}");
        let at_sender = simulated.analyse(Taps::Sender);
        assert_eq!(count(&at_sender, "transport", "bundles"), known.sent, "{name}");
        assert_eq!(count(&at_sender, "transport", "bundled_bytes"), known.bytes_sent, "{name}");
    }
}
