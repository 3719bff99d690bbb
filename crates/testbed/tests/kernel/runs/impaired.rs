//! Tests of impairments of real packets: reordering, duplication and damage.

use super::stage::{number, path, run, table};
use crate::is_available;
use fairwind_measure::Tables;
use fairwind_scenario::Experiment;

/// One connection with 200 kB to send.
fn impaired(impairments: &str) -> Experiment {
    path(
        "8 s",
        &format!(
            "impairments = \"tc: netem {impairments}\"\n\
             [[flows]]\nname = \"greedy\"\nworkload = {{ kind = \"greedy\", volume = \"200 kB\" }}\n"
        ),
    )
}

fn of_the_flow(tables: &Tables, column: &str) -> f64 {
    number(table(tables, "flows"), column, 0)
}

fn at_the_bottleneck(tables: &Tables, column: &str) -> f64 {
    number(table(tables, "queues"), column, 0)
}

#[test]
fn reordered_packets_are_counted_without_loss() {
    if !is_available("reordered_packets_are_counted_without_loss") {
        return;
    }
    // One packet in four leaves at once, and the others 10 ms later, in which the path carries four.
    let tables =
        run(&impaired("delay 10ms reorder 25%"), "fairwind-test-overtaken").unwrap().tables;
    assert!((of_the_flow(&tables, "payload_bytes_read") - 200_000.0).abs() < 0.5);
    let overtaken = at_the_bottleneck(&tables, "reordered_packets");
    assert!(overtaken > 10.0, "{overtaken} of some 140");
}

#[test]
fn duplicated_packets_are_read_once() {
    if !is_available("duplicated_packets_are_read_once") {
        return;
    }
    let tables = run(&impaired("duplicate 100%"), "fairwind-test-twice").unwrap().tables;
    let of = |column| of_the_flow(&tables, column);
    assert!((of("payload_bytes_read") - 200_000.0).abs() < 0.5);
    let (sent, lost, received) = (of("packets_sent"), of("packets_lost"), of("packets_received"));
    assert!((received - 2.0 * (sent - lost)).abs() < 0.5, "{received} of {sent} less {lost}");
    assert!(of("payload_bytes_duplicate") >= 200_000.0);
    let doubled = at_the_bottleneck(&tables, "duplicated_packets");
    assert!((doubled - (sent - lost)).abs() < 0.5, "{doubled}");
}

#[test]
fn damaged_packets_are_retransmitted() {
    if !is_available("damaged_packets_are_retransmitted") {
        return;
    }
    let tables = run(&impaired("corrupt 5%"), "fairwind-test-damaged").unwrap().tables;
    let of = |column| of_the_flow(&tables, column);
    assert!((of("payload_bytes_read") - 200_000.0).abs() < 0.5);
    assert!(of("packets_lost") > 0.0, "of some 140 packets, one in twenty is damaged");
    assert!((at_the_bottleneck(&tables, "damaged_packets") - of("packets_lost")).abs() < 0.5);
    assert!(of("bytes_retransmitted") > 0.0, "what its host refuses is sent again");
    // A kernel that took damaged bytes would never get to establish what it takes all of them for.
    let tables = run(&impaired("corrupt 100%"), "fairwind-test-all-damaged").unwrap().tables;
    let of = |column| of_the_flow(&tables, column);
    assert!(of("packets_sent") > 1.0, "the handshake is tried again");
    assert!(of("payload_bytes_read") < 0.5 && of("data_segments_sent") < 0.5);
}
