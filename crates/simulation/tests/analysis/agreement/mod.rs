//! Agreement of captures with the counts of the simulation that wrote them.
#![expect(clippy::print_stdout, reason = "what differs stands in the documentation")]

mod captured;
mod compare;
mod estimates;
mod scenarios;

pub(crate) use captured::{Simulated, Taps};
use compare::Agreements;
use estimates::{Estimate, USUAL};
use fairwind_measure::{Table, Tables};
use scenarios::scenarios;

/// Every scenario, analysed by these taps.
fn agreements(taps: Taps) -> Agreements {
    let mut agreements = Agreements::default();
    for (name, text) in scenarios() {
        let name = format!("{name} {taps:?}");
        let simulated = Simulated::run(&name, &text, 8);
        let outcome = simulated.analyse(taps);
        agreements.add(&name, taps, &simulated, &outcome.tables);
        if taps == Taps::Both {
            packets_are_conserved_in_runs(&simulated.tables, &outcome.tables);
        }
    }
    agreements
}

/// All columns are equal but those that are known to be estimates, which are as far off as is said and no
/// farther; and nothing is said of a column that is equal.
fn hold(taps: Taps) {
    let agreements = agreements(taps);
    let mut faults = Vec::new();
    let estimates: Vec<&Estimate> = USUAL.iter().filter(|it| it.taps.contains(&taps)).collect();
    let mut needed = vec![false; estimates.len()];
    for ((table, column), agreement) in &agreements.0 {
        assert!(agreement.values > 0);
        if agreement.is_exact() {
            continue;
        }
        println!("{taps:?} {table}.{column}: {agreement}");
        let place = estimates.iter().position(|estimate| estimate.is_of(table, column));
        match place {
            Some(place) if estimates[place].bound.holds(agreement) => needed[place] = true,
            _ => faults.push(format!("{table}.{column}: {agreement}")),
        }
    }
    assert!(faults.is_empty(), "{taps:?}:\n{}", faults.join("\n"));
    for (estimate, needed) in estimates.iter().zip(needed) {
        assert!(needed, "{:?} are equal and need no excuse", estimate.columns);
    }
}

#[test]
fn sender_capture_measures_departures_exactly() {
    hold(Taps::Sender);
}

#[test]
fn receiver_capture_measures_arrivals_exactly() {
    hold(Taps::Receiver);
}

#[test]
fn both_captures_measure_all_but_applications() {
    hold(Taps::Both);
}

/// What leaves in the instant in which it comes is not lost, nor what comes in the instant in which it leaves.
#[test]
fn one_capture_for_both_sides_has_no_losses() {
    for (name, text) in scenarios() {
        let simulated = Simulated::run(&format!("{name} alone"), &text, 5);
        let outcome = simulated.analyse(Taps::Alone);
        let passages = outcome.tables.get("passages").expect("two taps");
        for column in ["packets_lost", "packets_duplicated", "packets_departure_unseen"] {
            let sum: f64 = numbers(passages, column).iter().sum();
            assert!(sum < 0.5, "{name}: {sum} {column}");
        }
        let (sent, came) =
            (numbers(passages, "packets_sent"), numbers(passages, "packets_received"));
        assert_eq!(sent, came, "{name}");
    }
}

fn numbers(table: &Table, column: &str) -> Vec<f64> {
    let values = table.column(column).unwrap_or_else(|| panic!("no {}.{column}", table.name));
    (0..table.rows()).map(|row| values.number(row).expect("a number")).collect()
}

/// What left has arrived, is lost, or is under way, in packets and in bytes; and what the simulation lost
/// is lost or under way here.
fn packets_are_conserved_in_runs(truth: &Tables, found: &Tables) {
    let of = |column: &str| numbers(found.get("passages").expect("two taps"), column);
    let sums = |parts: &[&str]| -> Vec<f64> {
        let parts: Vec<Vec<f64>> = parts.iter().map(|part| of(part)).collect();
        (0..parts[0].len()).map(|row| parts.iter().map(|part| part[row]).sum()).collect()
    };
    assert_eq!(
        of("packets_sent"),
        sums(&["packets_received", "packets_lost", "packets_unjudged"]),
        "no packet is copied, cut or merged here"
    );
    assert_eq!(
        of("payload_bytes_sent"),
        sums(&["payload_bytes_matched", "payload_bytes_lost", "payload_bytes_unjudged"])
    );
    assert_eq!(of("payload_bytes_received"), of("payload_bytes_matched"));
    let total = |tables: &Tables, column| -> f64 {
        numbers(tables.get("groups").expect("groups"), column).iter().sum()
    };
    let (known, lost) = (total(truth, "packets_lost"), total(found, "packets_lost"));
    let scope = found.get("passages").and_then(|table| table.column("scope")).expect("a scope");
    let unjudged = of("packets_unjudged");
    let is_flow = |row: &usize| scope.text(*row) == Some("flow");
    let unjudged: f64 = (0..unjudged.len()).filter(is_flow).map(|row| unjudged[row]).sum();
    println!("lost {known}, found {lost}, under way {unjudged}");
    assert!(lost <= known && known <= lost + unjudged, "{lost} {known} {unjudged}");
}
