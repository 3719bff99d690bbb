//! Streams of datagrams between real sockets.

use super::stage::{number, path, run, table};
use crate::is_available;
use fairwind_measure::Tables;

/// A constant bit rate of packets of 1000 bytes, for two seconds.
fn constant(rate: &str) -> String {
    format!(
        "[[flows]]\nname = \"call\"\nstop = \"2 s\"\n\
         workload = {{ kind = \"constant\", rate = \"{rate}\", packet = \"1000 B\" }}\n"
    )
}

/// A number of the last flow: flows without a connection stand behind the others.
fn of_the_call(tables: &Tables, column: &str) -> f64 {
    let flows = table(tables, "flows");
    number(flows, column, flows.rows() - 1)
}

#[test]
fn constant_rate_datagrams_arrive_within_capacity() {
    if !is_available("constant_rate_datagrams_arrive_within_capacity") {
        return;
    }
    let greedy =
        "[[flows]]\nname = \"greedy\"\nworkload = { kind = \"greedy\", volume = \"9 kB\" }\n";
    for ip_version in [4, 6] {
        let further = format!("ip_version = {ip_version}\n{greedy}{}", constant("2 Mbit/s"));
        let outcome = run(&path("3 s", &further), "fairwind-test-constant").unwrap();
        let of = |column| of_the_call(&outcome.tables, column);
        // 2 Mbit/s for 2 s in packets of 8000 bits, the first one at once.
        assert!((of("packets_sent") - 500.0).abs() < 1.5, "{}", of("packets_sent"));
        assert!((of("packets_received") - of("packets_sent")).abs() < 0.5);
        assert!((of("wire_bytes_sent") - 1000.0 * of("packets_sent")).abs() < 0.5);
        let payload = if ip_version == 4 { 972.0 } else { 952.0 };
        assert!((of("payload_bytes_read") - payload * of("packets_sent")).abs() < 0.5);
        // Half of the round trip, and 1.6 ms on the bottleneck.
        assert!(of("delivery_latency_p50_s") >= 0.0116, "{}", of("delivery_latency_p50_s"));
        let flows = table(&outcome.tables, "flows");
        assert!((number(flows, "payload_bytes_read", 0) - 9_000.0).abs() < 0.5);
        assert_eq!(outcome.lateness.packets.unmeasured, 0);
        assert_eq!(outcome.lateness.packets.missing, 0);
    }
}

#[test]
fn a_datagram_that_comes_twice_is_read_once() {
    if !is_available("a_datagram_that_comes_twice_is_read_once") {
        return;
    }
    let further = format!("impairments = \"tc: netem duplicate 100%\"\n{}", constant("1 Mbit/s"));
    let outcome = run(&path("3 s", &further), "fairwind-test-copied").unwrap();
    let of = |column| of_the_call(&outcome.tables, column);
    let (sent, received) = (of("packets_sent"), of("packets_received"));
    assert!(sent > 200.0 && (received - 2.0 * sent).abs() < 0.5, "{received} of {sent}");
    assert!((of("payload_bytes_read") - of("payload_bytes_sent")).abs() < 0.5);
}

/// The router goes first, and the hosts' devices with it.
#[test]
fn unstopped_stream_ends_with_run() {
    if !is_available("unstopped_stream_ends_with_run") {
        return;
    }
    let endless = constant("2 Mbit/s").replace("stop = \"2 s\"\n", "");
    for ip_version in [4, 6] {
        let further = format!("ip_version = {ip_version}\n{endless}");
        let outcome = run(&path("1 s", &further), "fairwind-test-endless").unwrap();
        // 2 Mbit/s for 1 s in packets of 8000 bits.
        let sent = of_the_call(&outcome.tables, "packets_sent");
        assert!((sent - 250.0).abs() < 3.5, "{sent}");
    }
}

#[test]
fn excess_datagrams_drop_only_at_router() {
    if !is_available("excess_datagrams_drop_only_at_router") {
        return;
    }
    let outcome = run(&path("3 s", &constant("10 Mbit/s")), "fairwind-test-beyond").unwrap();
    let of = |column| of_the_call(&outcome.tables, column);
    let (sent, received, lost) = (of("packets_sent"), of("packets_received"), of("packets_lost"));
    assert!((sent - 2500.0).abs() < 1.5, "{sent}");
    assert!((sent - received - lost).abs() < 0.5, "{sent}, {received}, {lost}");
    let dropped = number(table(&outcome.tables, "queues"), "drops_queue_full_packets", 0);
    assert!((lost - dropped).abs() < 0.5, "{lost} and {dropped}");
    // 5 Mbit/s for 2 s, and the queue's 20 behind them.
    assert!((received - 1270.0).abs() < 15.0, "{received}");
    assert!((of("payload_bytes_read") - 972.0 * received).abs() < 0.5);
}

#[test]
fn shortest_datagrams_have_no_latency() {
    if !is_available("shortest_datagrams_have_no_latency") {
        return;
    }
    for (payload, has_timestamp) in [(5.0, true), (2.0, false)] {
        let thin = format!(
            "[[flows]]\nname = \"thin\"\nstop = \"1 s\"\nworkload = {{ kind = \"thin\", \
             payload = \"{payload} B\", interval = \"50 ms\", transport = \"udp\" }}\n"
        );
        let outcome = run(&path("2 s", &thin), "fairwind-test-short").unwrap();
        let flows = table(&outcome.tables, "flows");
        let (sent, read) =
            (number(flows, "packets_sent", 0), number(flows, "payload_bytes_read", 0));
        assert!(sent >= 20.0 && (read - payload * sent).abs() < 0.5, "{read} of {sent}");
        let latency = flows.column("delivery_latency_p50_s").unwrap().number(0);
        assert_eq!(latency.is_some_and(|seconds| seconds >= 0.010), has_timestamp, "{latency:?}");
    }
}

#[test]
fn kernel_router_reports_datagrams() {
    if !is_available("kernel_router_reports_datagrams") {
        return;
    }
    let text = format!(
        "name = \"router\"\nduration = \"3 s\"\n[path]\nrate = \"5 Mbit/s\"\nrtt = \"0 ms\"\n\
         router = \"kernel\"\nqueue = {{ limit = \"20 packets\" }}\n{}",
        constant("10 Mbit/s")
    );
    let outcome = run(&super::stage::experiment(&text), "fairwind-test-kernels").unwrap();
    let of = |column| of_the_call(&outcome.tables, column);
    let missed = number(table(&outcome.tables, "lateness"), "events_missed", 0);
    let (sent, received, lost) = (of("packets_sent"), of("packets_received"), of("packets_lost"));
    assert!((sent - 2500.0).abs() < missed + 2.0, "{sent}");
    assert!((sent - received - lost).abs() < missed + 2.0, "{sent}, {received}, {lost}");
    assert!((received - 1270.0).abs() < missed + 40.0, "{received}");
    assert!((of("payload_bytes_read") - 972.0 * received).abs() < 972.0 * (missed + 2.0));
}
