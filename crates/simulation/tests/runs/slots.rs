//! Slots that are assigned on demand, as whole runs see them.

use crate::run::tables;
use fairwind_measure::Tables;

fn number(tables: &Tables, table: &str, column: &str) -> f64 {
    let column = tables.get(table).expect("every run has the table").column(column);
    column.expect("the table has the column").number(0).expect("a number")
}

/// One connection over slots of a large packet each; `terminal` says what it may have.
fn scenario(terminal: &str, workload: &str) -> String {
    format!(
        r#"
        name = "a terminal"
        duration = "60 s"
        [path]
        rtt = "840 ms"
        carrier = {{}}
        terminal = {terminal}
        reverse_rate = "10 Mbit/s"
        queue = {{ discipline = "pfifo", limit = "4000 packets" }}
        [[flows]]
        name = "greedy"
        start = "1 s"
        workload = {workload}
        tcp = {{ congestion = "reno", initial_window = 3, delayed_ack = false }}
        "#
    )
}

#[test]
fn constant_slots_are_filled_and_counted() {
    let constant = "{ guaranteed_slots = 10, most_slots = 10, requests = { policy = \"none\" } }";
    let tables = tables(&scenario(constant, "{ kind = \"greedy\" }"), 1);
    // 60 s / 273 ms: 220 frames have begun, of ten slots each.
    assert_eq!(number(&tables, "slots", "slots_assigned"), 2200.0);
    assert_eq!(number(&tables, "slots", "requests"), 0.0);
    let assigned = number(&tables, "slots", "assigned_bits_per_second");
    assert!((assigned - 10.0 * 1502.0 * 8.0 / 0.273).abs() < 1e-6, "{assigned}");
    // Slow start from three segments fills ten slots a frame after three or four round trips.
    let used = number(&tables, "slots", "slot_use_ratio");
    assert!((0.88..0.98).contains(&used), "{used}");
}

#[test]
fn several_times_the_measured_rate_brings_a_start_sooner_and_leaves_slots_unused() {
    let run = |multiplier: f64| {
        let terminal = format!(
            "{{ most_slots = 28, requests = {{ policy = \"rbdc\", multiplier = {multiplier:.1} }} }}"
        );
        let volume = "{ kind = \"greedy\", volume = \"144800 B\" }";
        let tables = tables(&scenario(&terminal, volume), 1);
        (
            number(&tables, "flows", "completion_time_s"),
            number(&tables, "slots", "capacity_use_ratio"),
        )
    };
    let (plain, paper) = (run(1.0), run(4.8));
    // A reconstruction of the paper's platform gives 10.15 and 5.89 s after the handshake, which takes a round trip
    // and a wait for a slot.
    assert!(
        (10.0..13.0).contains(&plain.0) && (6.0..8.5).contains(&paper.0),
        "{plain:?} {paper:?}"
    );
    assert!(paper.1 < plain.1, "{plain:?} {paper:?}");
}
