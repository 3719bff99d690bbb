//! Samples of data senders' state.

use crate::run::{sum, tables};

fn greedy(measure: &str) -> String {
    format!(
        r#"
        name = "samples"
        duration = "10 s"
        [path]
        rate = "2 Mbit/s"
        rtt = "40 ms"
        [[flows]]
        name = "greedy"
        workload = {{ kind = "greedy" }}
        [measure]
        {measure}
        "#
    )
}

/// All but the SYN's acknowledgment, which finds no established connection.
#[test]
fn every_ack_gives_a_sample() {
    let tables = tables(&greedy("endpoint_every_ack = true"), 1);
    let flows = tables.get("flows").expect("a table");
    let lost = sum(flows, "ack_packets_lost");
    assert!(lost.abs() < 0.5, "acknowledgments wait in a queue of their own");
    let endpoint = tables.get("endpoint").expect("a table");
    let sent = sum(flows, "ack_packets_sent");
    #[expect(clippy::cast_precision_loss, reason = "a count of rows")]
    let samples = endpoint.rows() as f64;
    // Some acknowledgments are under way when the experiment ends.
    assert!(samples <= sent - 1.0 && samples > sent - 40.0, "{samples} samples, {sent} sent");
}

#[test]
fn samples_at_acknowledgments_change_nothing_else() {
    let with = tables(&greedy("endpoint_every_ack = true"), 1);
    let without = tables(&greedy(""), 1);
    let goodput = |tables| {
        let tables: &fairwind_measure::Tables = tables;
        sum(tables.get("flows").expect("a table"), "goodput_bits_per_second")
    };
    assert_eq!(goodput(&with).to_bits(), goodput(&without).to_bits());
    assert_eq!(without.get("endpoint").expect("a table").rows(), 0);
}
