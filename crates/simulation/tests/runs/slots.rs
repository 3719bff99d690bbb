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

/// What a greedy flow of a stack of 2004 to 2006 does in a minute.
struct Stack {
    timeouts: f64,
    packets_lost: f64,
    /// Payload per second from 20 s on, by what 28 slots of 44 kbit/s carry in packets of 1500 bytes.
    rate_ratio: f64,
    /// Deviation of the windows of a second by their mean, from 20 s on.
    irregularity_ratio: f64,
}

/// One run of a stack over 28 slots of the platform, at most.
fn stack(tcp: &str, packets: u32, carrier: &str, multiplier: f64) -> Stack {
    let text = format!(
        r#"
        name = "a stack of the time"
        duration = "60 s"
        [path]
        rtt = "840 ms"
        carrier = {{ {carrier} }}
        terminal = {{ most_slots = 28, requests = {{ policy = "rbdc", multiplier = {multiplier:.1} }} }}
        reverse_rate = "2 Mbit/s"
        queue = {{ discipline = "pfifo", limit = "{packets} packets" }}
        [[flows]]
        name = "greedy"
        start = "1 s"
        workload = {{ kind = "greedy" }}
        tcp = {{ {tcp} }}
        [measure]
        intervals = ["1 s"]
        "#
    );
    let tables = tables(&text, 1);
    let intervals = tables.get("intervals").expect("windows were asked for");
    let column = |name| intervals.column(name).expect("the table has the column");
    let (starts, goodput) = (column("start_s"), column("goodput_bits_per_second"));
    let settled = (0..intervals.rows()).filter(|&row| starts.number(row) >= Some(20.0));
    let rates: Vec<f64> = settled.map(|row| goodput.number(row).unwrap_or(0.0)).collect();
    let count = f64::from(u32::try_from(rates.len()).expect("a minute's windows"));
    let mean = rates.iter().sum::<f64>() / count;
    let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / (count - 1.0);
    Stack {
        timeouts: number(&tables, "flows", "timeouts"),
        packets_lost: number(&tables, "flows", "packets_lost"),
        rate_ratio: mean / (28.0 * 44_000.0 * 1448.0 / 1500.0),
        irregularity_ratio: variance.sqrt() / mean,
    }
}

/// Slots apart, in frames that begin when plans come.
const SPREAD: &str = "placement = \"spread\", frame_offset = \"147 ms\"";

#[test]
fn linux_without_sack_times_out_after_burst() {
    let run = stack("profile = \"linux-2.6\", sack = false", 300, "", 1.0);
    assert!(run.packets_lost > 50.0, "{} lost", run.packets_lost);
    assert!(run.timeouts > 0.0, "no time-out");
    assert!(run.rate_ratio < 0.5, "{} of the channel", run.rate_ratio);
}

#[test]
fn linux_with_sack_fills_channel_irregularly() {
    let run = stack("profile = \"linux-2.6\"", 100, "", 1.0);
    assert!(run.packets_lost > 50.0, "{} lost", run.packets_lost);
    assert_eq!(run.timeouts, 0.0);
    assert!(run.rate_ratio > 0.85, "{} of the channel", run.rate_ratio);
    assert!(run.irregularity_ratio > 0.1, "{} deviation", run.irregularity_ratio);
}

#[test]
fn freebsd_is_regular_without_loss_on_spread_slots() {
    let run = stack("profile = \"freebsd-5.4\"", 300, SPREAD, 4.8);
    assert_eq!((run.packets_lost, run.timeouts), (0.0, 0.0));
    assert!(run.rate_ratio > 0.85, "{} of the channel", run.rate_ratio);
    assert!(run.irregularity_ratio < 0.1, "{} deviation", run.irregularity_ratio);
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
fn rate_multiplier_speeds_start_and_wastes_slots() {
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
