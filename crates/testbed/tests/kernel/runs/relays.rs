//! Split connections between real sockets: a process reads on one and writes on the other.

use super::stage::{experiment, number, run, table};
use crate::is_available;
use fairwind_measure::Tables;

/// A server, a proxy and a client in a row; `links` are further keys of the two links.
fn split(links: [&str; 2], workload: &str, buffer: &str, duration: &str) -> Tables {
    let [near, far] = links;
    let experiment = experiment(&format!(
        r#"
        name = "a split connection"
        duration = "{duration}"
        [topology]
        hosts = ["server", "proxy", "client"]
        links = [
            {{ from = "server", to = "proxy", {near} }},
            {{ from = "proxy", to = "client", {far} }},
        ]
        [[flows]]
        name = "near"
        from = "server"
        to = "proxy"
        workload = {workload}
        [[flows]]
        name = "far"
        from = "proxy"
        to = "client"
        workload = {{ kind = "relay", of = "near", buffer = "{buffer}" }}
        "#
    ));
    run(&experiment, "fairwind-test-relays").unwrap().tables
}

#[test]
fn relay_forwards_everything_and_closes() {
    if !is_available("relay_forwards_everything_and_closes") {
        return;
    }
    let greedy = "{ kind = \"greedy\", volume = \"300 kB\" }";
    let tables = split(["delay = \"5 ms\"", "delay = \"15 ms\""], greedy, "20 kB", "3 s");
    let flows = table(&tables, "flows");
    let of = |column, row| number(flows, column, row);
    for row in [0, 1] {
        assert!((of("payload_bytes_read", row) - 3e5).abs() < 0.5, "{row}");
    }
    // 10 ms and half a round trip until the proxy knows, 30 ms for the second handshake.
    assert!((0.045..0.055).contains(&of("setup_time_s", 1)), "{}", of("setup_time_s", 1));
    assert!(of("completion_time_s", 1) > of("completion_time_s", 0));
}

#[test]
fn relay_latency_covers_whole_path() {
    if !is_available("relay_latency_covers_whole_path") {
        return;
    }
    let thin = "{ kind = \"thin\", payload = \"100 B\", interval = \"50 ms\" }";
    let tables = split(["delay = \"10 ms\"", "delay = \"30 ms\""], thin, "20 kB", "3 s");
    let median = number(table(&tables, "groups"), "delivery_latency_p50_s", 1);
    // 40 ms of propagation; machines that are busy wake processes late.
    assert!((0.040..0.060).contains(&median), "{median}");
    assert!(number(table(&tables, "groups"), "delivery_latency_p50_s", 0) < median - 0.029);
}

#[test]
fn relay_reads_only_into_free_space() {
    if !is_available("relay_reads_only_into_free_space") {
        return;
    }
    let slow = ["rate = \"100 Mbit/s\"", "rate = \"1 Mbit/s\""];
    let tables = split(slow, "{ kind = \"greedy\" }", "50 kB", "3 s");
    let flows = table(&tables, "flows");
    let [read, sent] = [("payload_bytes_read", 0), ("payload_bytes_sent", 1)]
        .map(|(column, row)| number(flows, column, row));
    // The buffer, and less than 96 KiB that the socket has not sent.
    assert!((5e4..5e4 + 98_304.0).contains(&(read - sent)), "{read} {sent}");
}
