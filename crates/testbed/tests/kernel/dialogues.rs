//! Requests and responses between the kernel's endpoints, through our network, into tables.

use super::is_available;
use fairwind_assembly::{CaptureFiles, Control};
use fairwind_hosts::HostCommand;
use fairwind_measure::{Table, Tables};
use fairwind_scenario::Document;
use fairwind_testbed::KernelRun;

fn run(text: &str) -> Tables {
    let document = Document::parse("test.toml", text).unwrap_or_else(|errors| panic!("{errors}"));
    let point = &document.grid().expect("a grid")[0];
    let experiment = document.experiment(point).unwrap_or_else(|errors| panic!("{errors}"));
    let program = env!("CARGO_BIN_EXE_fairwind-host").into();
    let host = HostCommand { program, arguments: Vec::new() };
    let run = KernelRun::new(&experiment, 1, CaptureFiles::default(), host);
    let run = run.unwrap_or_else(|error| panic!("{error}"));
    run.run(&Control::default()).unwrap_or_else(|error| panic!("{error}")).tables
}

/// The row with `name` in column `key`.
fn row(table: &Table, key: &str, name: &str) -> usize {
    let names = table.column(key).expect("rows have names");
    let found = (0..table.rows()).find(|&row| names.text(row) == Some(name));
    found.unwrap_or_else(|| panic!("no {key} {name}"))
}

fn value(tables: &Tables, group: &str, column: &str) -> Option<f64> {
    let table = tables.get("groups").expect("there is always a table of groups");
    table.column(column).expect("the column exists").number(row(table, "group", group))
}

/// The value of a column for one flow.
fn of_flow(tables: &Tables, name: &str, column: &str) -> f64 {
    let flows = tables.get("flows").expect("there is always a table of flows");
    let values = flows.column(column).expect("the column exists");
    values.number(row(flows, "name", name)).expect(column)
}

/// What does not depend on how fast the machine is: every exchange takes place, its response is no
/// sooner than light allows, and each byte and packet is counted once.
fn every_exchange_is_measured(ip_version: u8) {
    let text = format!(
        r#"
        name = "dialogue"
        duration = "6 s"
        [path]
        rate = "10 Mbit/s"
        rtt = "40 ms"
        loss = "1 %"
        reverse_loss = "1 %"
        ip_version = {ip_version}
        [[flows]]
        name = "web"
        count = 5
        workload = {{ kind = "request-response", request = "400 B", response = "20 kB", think_time = "10 ms", exchanges = 4 }}
        "#
    );
    let tables = run(&text);
    let number = |group, column| value(&tables, group, column).unwrap_or_default();
    let whole = |group, column, expected: f64| {
        let found = number(group, column);
        assert!((found - expected).abs() < 0.5, "{column} of {group} is {found}");
    };
    whole("web", "responses", 20.0);
    whole("web", "payload_bytes_read", 8_000.0);
    whole("web-responses", "payload_bytes_read", 400_000.0);
    for group in ["web", "web-responses"] {
        whole(group, "flows_established", 5.0);
        whole(group, "flows_finished", 5.0);
        whole(group, "flows_failed", 0.0);
        assert!(number(group, "delivery_latency_mean_s") >= 0.02, "{group}");
        assert!(number(group, "ack_latency_mean_s") >= 0.04, "{group}");
        let distinct =
            number(group, "payload_bytes_received") - number(group, "payload_bytes_duplicate");
        whole(group, "payload_bytes_read", distinct);
    }
    // The round trip and the time to think; the rest is the packets' way through the bottleneck.
    assert!(number("web", "response_time_mean_s") >= 0.05);
    assert_eq!(value(&tables, "web-responses", "response_time_mean_s"), None);
    // Responses need 14 segments each, requests one; acknowledgments of responses are theirs.
    assert!(number("web-responses", "data_segments_sent") >= 20.0 * 14.0);
    assert!(number("web", "data_segments_sent") >= 20.0);
    assert!(number("web-responses", "ack_packets_sent") >= 20.0);
}

#[test]
fn exchanges_on_kernel_are_measured_over_ipv4() {
    if is_available("exchanges_on_kernel_are_measured_over_ipv4") {
        every_exchange_is_measured(4);
    }
}

#[test]
fn exchanges_on_kernel_are_measured_over_ipv6() {
    if is_available("exchanges_on_kernel_are_measured_over_ipv6") {
        every_exchange_is_measured(6);
    }
}

/// Transfers follow one another. Each is a separate connection from a new port. The next one begins a pause after the
/// end of the one before. Transfers that do not begin before the end of the run are in no table.
#[test]
fn kernel_transfers_run_in_sequence() {
    if !is_available("kernel_transfers_run_in_sequence") {
        return;
    }
    let tables = run(r#"
        name = "transfers"
        duration = "4 s"
        [path]
        rate = "20 Mbit/s"
        rtt = "50 ms"
        [[flows]]
        name = "web"
        count = 2
        workload = { kind = "transfers", volume = "200 kB", transfers = 20, pause = "500 ms" }
        [[flows]]
        name = "asking"
        workload = { kind = "transfers", volume = "3 kB", transfers = 4, request = "300 B" }
        stop = "3 s"
        "#);
    let number = |group, column| value(&tables, group, column).unwrap_or_default();
    // A round trip to open, four or more for 138 segments from a window of ten, and half a second.
    let (begun, finished) = (number("web", "flows"), number("web-responses", "flows_finished"));
    assert!((6.0..=11.0).contains(&begun), "{begun} began");
    assert!(begun - 2.0 <= finished && finished <= begun, "{finished} of {begun}");
    assert!(number("web-responses", "payload_bytes_read") >= finished * 200_000.0);
    let whole = |group, column, expected: f64| {
        let found = number(group, column);
        assert!((found - expected).abs() < 0.5, "{column} of {group} is {found}");
    };
    whole("asking", "flows_finished", 4.0);
    whole("asking", "payload_bytes_read", 1200.0);
    whole("asking-responses", "payload_bytes_read", 12_000.0);
    for group in ["web", "web-responses", "asking", "asking-responses"] {
        whole(group, "flows_failed", 0.0);
    }
    let cell = |name: &str, column: &str| of_flow(&tables, name, column);
    let pause = cell("web-1-2", "start_s") - cell("web-responses-1-1", "finished_s");
    assert!((0.5..0.6).contains(&pause), "{pause} s from the end of one to the start of the next");
    assert!(cell("web-responses-1-2", "completion_time_s") >= 0.25);
}

/// The router holds back what a client only acknowledges, and not its call: the server's answer is acknowledged late by
/// the delay, and windows of ten, twenty and forty segments take three rounds with it.
#[test]
fn kernel_client_delays_only_its_acks() {
    if !is_available("kernel_client_delays_only_its_acks") {
        return;
    }
    let tables = run(r#"
        name = "held back"
        duration = "6 s"
        [path]
        rate = "20 Mbit/s"
        rtt = "20 ms"
        [[flows]]
        name = "web"
        workload = { kind = "transfers", volume = "100 kB", transfers = 2, ack_delay = "400 ms" }
        "#);
    let cell = |name: &str, column: &str| of_flow(&tables, name, column);
    for number in [1, 2] {
        let (opening, response) = (format!("web-1-{number}"), format!("web-responses-1-{number}"));
        let (setup, took) = (cell(&opening, "setup_time_s"), cell(&response, "completion_time_s"));
        assert!((0.02..0.3).contains(&setup), "a call was answered after {setup} s");
        assert!(took >= 0.02 + 3.0 * 0.42, "a transfer took {took} s");
        let acknowledged = cell(&response, "ack_latency_mean_s");
        assert!(acknowledged >= 0.42, "data was acknowledged after {acknowledged} s");
        assert!(cell(&response, "timeouts").abs() < 0.5);
    }
}
