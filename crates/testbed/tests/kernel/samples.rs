//! Tests of the observations of kernel tracepoints within a run.

use super::kernel_router::{experiment, has_programs, number, run};

#[test]
fn every_arriving_ack_gives_a_sample() {
    if !has_programs("every_arriving_ack_gives_a_sample") {
        return;
    }
    let path = "rate = \"2 Mbit/s\"\nrtt = \"20 ms\"\n";
    let flows = "[[flows]]\nname = \"greedy\"\nworkload = { kind = \"greedy\" }\n\
                 [measure]\nendpoint_every_ack = true\n";
    let tables = run(&experiment(path, flows)).expect("a run");
    let endpoint = tables.iter().find(|one| one.name == "endpoint").expect("a table");
    let sent = number(&tables, "flows", "ack_packets_sent");
    let samples = f64::from(u32::try_from(endpoint.rows()).expect("few rows"));
    // All but the SYN's acknowledgment, and those under way when the experiment ends.
    assert!(samples < sent && samples > 0.8 * sent, "{samples} samples, {sent} sent");
}
